"""A captured array has the name that the source has for it."""

import numpy as np

import entrepot.kernel as dppy

WEIGHTS = np.ones(3, "f4")


@dppy.kernel
def program(a):
    WEIGHTS[0] = a[0]


ARGUMENTS = (np.zeros(4, "f4"),)

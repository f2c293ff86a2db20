"""A captured array has the name that the source has for it, not that of what is assigned."""

import numpy as np

import entrepot.kernel as dppy

WEIGHTS = np.ones(3, "f4")


@dppy.kernel
def program(a):
    v = WEIGHTS[0] + WEIGHTS[5]
    a[0] = v


ARGUMENTS = (np.zeros(4, "f4"),)

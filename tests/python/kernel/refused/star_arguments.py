"""Parameters are named."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a, *rest):
    a[0] = 1


ARGUMENTS = (np.zeros(4, "f4"),)

"""A loop moves."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    for k in range(0, 4, 0):
        a[k] = 1


ARGUMENTS = (np.zeros(4, "f4"),)

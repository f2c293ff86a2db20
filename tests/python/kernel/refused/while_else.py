"""Python's else of loops."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    while a[0] > 0:
        a[0] -= 1
    else:
        a[0] = 5


ARGUMENTS = (np.zeros(4, "f4"),)

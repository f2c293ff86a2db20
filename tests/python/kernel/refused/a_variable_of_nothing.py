"""A device function that returns nothing has no value to keep."""

import numpy as np

import entrepot.kernel as dppy


@dppy.func
def clears(a):
    a[0] = 0


@dppy.kernel
def program(a):
    v = clears(a)
    a[1] = v


ARGUMENTS = (np.zeros(4, "f4"),)

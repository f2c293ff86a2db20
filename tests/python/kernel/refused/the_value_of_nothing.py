"""A device function that returns nothing has no value."""

import numpy as np

import entrepot.kernel as dppy


@dppy.func
def clears(a):
    a[0] = 0


@dppy.kernel
def program(a):
    a[1] = clears(a)


ARGUMENTS = (np.zeros(4, "f4"),)

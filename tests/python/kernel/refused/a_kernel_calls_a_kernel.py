"""A kernel is launched, not called."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def inner(a):
    a[0] = 1


@dppy.kernel
def program(a):
    inner(a)


ARGUMENTS = (np.zeros(4, "f4"),)

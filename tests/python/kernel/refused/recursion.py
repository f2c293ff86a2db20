"""A function that calls itself."""

import numpy as np

import entrepot.kernel as dppy


@dppy.func
def again(x):
    return again(x - 1)


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    a[i] = again(a[i])


ARGUMENTS = (np.zeros(4, "f4"),)

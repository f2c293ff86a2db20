"""A device function gets what it names."""

import numpy as np

import entrepot.kernel as dppy


@dppy.func
def both(x, y):
    return x + y


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    a[i] = both(a[i])


ARGUMENTS = (np.zeros(4, "f4"),)

"""A kernel has no value."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    return a[i]


ARGUMENTS = (np.zeros(4, "f4"),)

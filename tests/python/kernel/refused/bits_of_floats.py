"""Bit operators are of integers."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    a[i] = a[i] & 1


ARGUMENTS = (np.zeros(4, "f4"),)

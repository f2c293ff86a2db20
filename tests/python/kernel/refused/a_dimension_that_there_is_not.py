"""Dimensions are 0, 1 and 2."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(3)
    a[i] = 1


ARGUMENTS = (np.zeros(4, "f4"),)

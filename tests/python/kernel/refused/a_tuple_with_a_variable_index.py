"""The index of a tuple is a constant."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    t = (1, 2, 3)
    a[i] = t[i]


ARGUMENTS = (np.zeros(4, "f4"),)

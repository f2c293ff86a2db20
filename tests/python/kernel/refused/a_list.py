"""A list."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    values = [1, 2, 3]
    a[i] = values[0]


ARGUMENTS = (np.zeros(4, "f4"),)

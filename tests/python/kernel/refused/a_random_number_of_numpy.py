"""A random number of NumPy."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    a[i] = np.random.rand()


ARGUMENTS = (np.zeros(4, "f4"),)

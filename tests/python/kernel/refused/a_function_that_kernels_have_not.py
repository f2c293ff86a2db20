"""A function of a library."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    a[i] = np.linalg.norm(a)


ARGUMENTS = (np.zeros(4, "f4"),)

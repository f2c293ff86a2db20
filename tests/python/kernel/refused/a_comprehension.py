"""A comprehension."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    a[i] = sum([k for k in range(3)])


ARGUMENTS = (np.zeros(4, "f4"),)

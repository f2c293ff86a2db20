"""A lambda."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    f = lambda x: x + 1
    a[i] = f(a[i])


ARGUMENTS = (np.zeros(4, "f4"),)

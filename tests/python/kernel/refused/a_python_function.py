"""A function of Python's that is no device function."""

import numpy as np

import entrepot.kernel as dppy


def helper(x):
    return x + 1


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    a[i] = helper(a[i])


ARGUMENTS = (np.zeros(4, "f4"),)

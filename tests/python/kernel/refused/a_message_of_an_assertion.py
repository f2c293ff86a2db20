"""The message of an assertion is a constant text."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a, n):
    i = dppy.get_global_id(0)
    assert i < n, f"{i} is too large"
    a[i] = 1


ARGUMENTS = (np.zeros(4, "f4"), 1)

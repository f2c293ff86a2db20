"""A number has no elements."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a, n):
    a[0] = n[0]


ARGUMENTS = (np.zeros(4, "f4"), 3)

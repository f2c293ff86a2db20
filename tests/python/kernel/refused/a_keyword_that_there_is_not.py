"""Keyword arguments have names."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    dppy.barrier(flags=1)
    a[0] = 1


ARGUMENTS = (np.zeros(4, "f4"),)

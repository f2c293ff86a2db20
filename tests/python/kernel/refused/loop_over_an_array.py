"""Loops go over ranges."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    for v in a:
        a[0] += v


ARGUMENTS = (np.zeros(4, "f4"),)

"""Constant indices of arrays with literal extents are checked."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    t = dppy.private.array(4, dppy.float32)
    t[4] = 1
    a[0] = t[0]


ARGUMENTS = (np.zeros(4, "f4"),)

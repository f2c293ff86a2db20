"""The extents of local memory are literals."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a, n):
    t = dppy.local.array(n, dppy.float32)
    t[0] = 1
    a[0] = t[0]


ARGUMENTS = (
    np.zeros(4, "f4"),
    4,
)

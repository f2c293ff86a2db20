"""A vector is made of as many numbers as it has."""

import numpy as np

import entrepot.kernel as dppy

POINT = np.dtype([("x", "f4"), ("y", "f4"), ("mass", "f8")])


@dppy.kernel
def program(p, out):
    v = dppy.float4(1, 2, out[0])
    out[0] = v.x


ARGUMENTS = (np.zeros(2, POINT), np.zeros(4, "f4"))

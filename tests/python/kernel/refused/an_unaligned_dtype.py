"""The fields of a struct are aligned."""

import numpy as np

import entrepot.kernel as dppy

POINT = np.dtype([("x", "f4"), ("y", "f4"), ("mass", "f8")])
PACKED = np.dtype([("flag", "u1"), ("x", "f4")])


@dppy.kernel
def program(p, out):
    own = dppy.private.array(2, PACKED)
    out[0] = own[0].x


ARGUMENTS = (np.zeros(2, POINT), np.zeros(4, "f4"))

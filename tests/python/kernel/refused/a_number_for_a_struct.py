"""An element that is a struct takes all its fields."""

import numpy as np

import entrepot.kernel as dppy

POINT = np.dtype([("x", "f4"), ("y", "f4"), ("mass", "f8")])


@dppy.kernel
def program(p, out):
    p[0] = out[0]


ARGUMENTS = (np.zeros(2, POINT), np.zeros(4, "f4"))

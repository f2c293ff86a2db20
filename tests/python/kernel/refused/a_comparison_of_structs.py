"""Structs are not compared."""

import numpy as np

import entrepot.kernel as dppy

POINT = np.dtype([("x", "f4"), ("y", "f4"), ("mass", "f8")])


@dppy.kernel
def program(p, out):
    if p[0] == p[1]:
        out[0] = 1


ARGUMENTS = (np.zeros(2, POINT), np.zeros(4, "f4"))

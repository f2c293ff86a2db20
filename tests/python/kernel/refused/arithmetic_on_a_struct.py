"""A struct is no number."""

import numpy as np

import entrepot.kernel as dppy

POINT = np.dtype([("x", "f4"), ("y", "f4"), ("mass", "f8")])


@dppy.kernel
def program(p, out):
    out[0] = p[0] + 1


ARGUMENTS = (np.zeros(2, POINT), np.zeros(4, "f4"))

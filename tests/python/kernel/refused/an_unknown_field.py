"""A field of another name is not in the struct."""

import numpy as np

import entrepot.kernel as dppy

POINT = np.dtype([("x", "f4"), ("y", "f4"), ("mass", "f8")])


@dppy.kernel
def program(p, out):
    out[0] = p[0].mas


ARGUMENTS = (np.zeros(2, POINT), np.zeros(4, "f4"))

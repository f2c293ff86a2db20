"""An if-else expression chooses between numbers."""

import numpy as np

import entrepot.kernel as dppy

POINT = np.dtype([("x", "f4"), ("y", "f4"), ("mass", "f8")])


@dppy.kernel
def program(p, out):
    q = p[0] if out[0] > 0 else p[1]
    out[0] = q.x


ARGUMENTS = (np.zeros(2, POINT), np.zeros(4, "f4"))

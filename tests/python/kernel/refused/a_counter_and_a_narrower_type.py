"""An integer that is no literal is int64, and is not cut to the type of what its variable is assigned later."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(out, x):
    n = 300
    w = n
    out[0] = w
    w = x[0]
    out[1] = w


ARGUMENTS = (np.zeros(2, "i8"), np.array([5], "u1"))

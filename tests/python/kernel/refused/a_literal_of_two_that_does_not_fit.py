"""Each literal that a variable may begin with has to be one of the variable's type."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(out, x):
    total = 0 if x[0] < 7 else 300
    total += x[0]
    out[0] = total


ARGUMENTS = (np.zeros(1, "i8"), np.array([5], "u1"))

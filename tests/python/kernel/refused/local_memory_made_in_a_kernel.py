"""LocalAccessor is an argument."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    scratch = dppy.LocalAccessor(4, dppy.float32)
    scratch[0] = 1
    a[0] = scratch[0]


ARGUMENTS = (np.zeros(4, "f4"),)

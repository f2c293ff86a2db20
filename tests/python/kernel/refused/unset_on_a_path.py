"""Rule 3: a variable is assigned on every path to where it is read."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    if a[i] > 0:
        v = 1.0
    a[i] = v


ARGUMENTS = (np.zeros(4, "f4"),)

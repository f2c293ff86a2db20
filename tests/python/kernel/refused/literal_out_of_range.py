"""Rule 1: a literal takes the type of what it meets, and has to fit it."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    a[i] = a[i] + 300


ARGUMENTS = (np.zeros(4, "u1"),)

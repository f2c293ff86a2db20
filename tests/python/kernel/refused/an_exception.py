"""try."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    try:
        a[i] = 1
    except ValueError:
        a[i] = 2


ARGUMENTS = (np.zeros(4, "f4"),)

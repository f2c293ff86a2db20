"""More indices than dimensions."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    a[i, 0] = 1


ARGUMENTS = (np.zeros(4, "f4"),)

"""raise."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    if a[i] < 0:
        raise ValueError("negative")


ARGUMENTS = (np.zeros(4, "f4"),)

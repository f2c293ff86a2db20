"""An array that NumPy would make."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    a[i] = np.zeros(4)[0]


ARGUMENTS = (np.zeros(4, "f4"),)

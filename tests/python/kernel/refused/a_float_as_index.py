"""An index is an integer."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a, b):
    i = dppy.get_global_id(0)
    a[b[i]] = 1


ARGUMENTS = (
    np.zeros(4, "f4"),
    np.zeros(4, "f4"),
)

"""Rule 2: a variable has one type."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a, b):
    i = dppy.get_global_id(0)
    v = a[i]
    v = b[i]
    a[i] = v


ARGUMENTS = (
    np.zeros(4, "f4"),
    np.zeros(4, "i4"),
)

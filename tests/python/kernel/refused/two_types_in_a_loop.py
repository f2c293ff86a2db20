"""Rule 2: also where a loop comes round."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a, b):
    i = dppy.get_global_id(0)
    v = a[i]
    for k in range(3):
        v = v + b[k]
    a[i] = v


ARGUMENTS = (
    np.zeros(4, "i4"),
    np.zeros(4, "f4"),
)

"""Rule 3: a loop may not run at all."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a, n):
    i = dppy.get_global_id(0)
    for k in range(n):
        v = k
    a[i] = v


ARGUMENTS = (
    np.zeros(4, "f4"),
    3,
)

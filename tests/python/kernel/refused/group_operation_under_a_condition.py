"""Rule 4: operations of a group are barriers."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    if i < 2:
        v = dppy.group.reduce(a[i], "add")
        a[i] = v


ARGUMENTS = (np.zeros(4, "f4"),)

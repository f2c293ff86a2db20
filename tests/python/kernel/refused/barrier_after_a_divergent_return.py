"""Rule 4: a work-item that has returned comes to no barrier."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    if i > 2:
        return
    dppy.barrier()
    a[i] = 0


ARGUMENTS = (np.zeros(4, "f4"),)

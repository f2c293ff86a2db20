"""Rule 4: a barrier is reached by all work-items of a group, or by none."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    if i < 2:
        dppy.barrier()
    a[i] = 0


ARGUMENTS = (np.zeros(4, "f4"),)

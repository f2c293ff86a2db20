"""Rule 4: what is loaded may differ between work-items."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    if a[i] > 0:
        dppy.barrier()
    a[i] = 0


ARGUMENTS = (np.zeros(4, "f4"),)

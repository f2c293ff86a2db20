"""Rule 4: nor does one that has left the loop."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    for k in range(4):
        if k == i:
            break
        dppy.barrier()
    a[i] = 0


ARGUMENTS = (np.zeros(4, "f4"),)

"""Rule 4: work-items may not go round a different number of times."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    for _ in range(i):
        dppy.barrier()
    a[i] = 0


ARGUMENTS = (np.zeros(4, "f4"),)

"""Rule 3: a name that is a variable here, and is read before."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    a[i] = v
    v = 1.0


ARGUMENTS = (np.zeros(4, "f4"),)

"""A complex number does not become a real one by itself."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a, z):
    i = dppy.get_global_id(0)
    a[i] = z[i]


ARGUMENTS = (
    np.zeros(4, "f4"),
    np.zeros(4, "c8"),
)

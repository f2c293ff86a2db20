"""A name that nobody has assigned."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    a[i] = nowhere


ARGUMENTS = (np.zeros(4, "f4"),)

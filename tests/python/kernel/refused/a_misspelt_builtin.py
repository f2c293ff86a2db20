"""A function of ours that there is not."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_globl_id(0)
    a[i] = 1


ARGUMENTS = (np.zeros(4, "f4"),)

"""A function of ours without its module."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    a[get_global_id(0)] = 1


ARGUMENTS = (np.zeros(4, "f4"),)

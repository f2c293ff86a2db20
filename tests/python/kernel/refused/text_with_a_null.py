"""Text ends at a null in C."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    print("before\0behind", a[0])


ARGUMENTS = (np.zeros(4, "f4"),)

"""A function of math without its module."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    a[0] = sqrt(a[0])


ARGUMENTS = (np.zeros(4, "f4"),)

"""A part of an array is not assigned to."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a, b):
    a[1:3] = b[0]


ARGUMENTS = (
    np.zeros(4, "f4"),
    np.zeros(4, "f4"),
)

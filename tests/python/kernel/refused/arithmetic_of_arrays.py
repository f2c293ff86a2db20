"""Arithmetic is of elements."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a, b):
    a[0] = a + b


ARGUMENTS = (
    np.zeros(4, "f4"),
    np.zeros(4, "f4"),
)

"""Bits of floats."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    dppy.atomic.and_(a, 0, 1)


ARGUMENTS = (np.zeros(4, "f4"),)

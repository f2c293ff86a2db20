"""Attributes of arrays."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    a[0] = a.mean()


ARGUMENTS = (np.zeros(4, "f4"),)

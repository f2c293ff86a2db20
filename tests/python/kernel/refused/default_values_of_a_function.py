"""A device function's arguments are given, too."""

import numpy as np

import entrepot.kernel as dppy


@dppy.func
def scaled(x, by=2):
    return x * by


@dppy.kernel
def program(a):
    a[0] = scaled(a[0])


ARGUMENTS = (np.zeros(4, "f4"),)

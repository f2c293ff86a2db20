"""An argument of a device function, by a name that is nearly its own."""

import numpy as np

import entrepot.kernel as dppy


@dppy.func
def scaled(value, factor):
    return value * factor


@dppy.kernel
def program(a):
    a[0] = scaled(a[0], facto=2)


ARGUMENTS = (np.zeros(4, "f4"),)

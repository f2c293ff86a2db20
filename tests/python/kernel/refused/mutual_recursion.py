"""Functions that call each other."""

import numpy as np

import entrepot.kernel as dppy


@dppy.func
def ping(x):
    return pong(x)


@dppy.func
def pong(x):
    return ping(x)


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    a[i] = ping(a[i])


ARGUMENTS = (np.zeros(4, "f4"),)

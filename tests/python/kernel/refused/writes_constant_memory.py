"""Constant memory is not written."""

import numpy as np

import entrepot.kernel as dppy

VALUES = np.ones(3)


@dppy.kernel
def program(a):
    t = dppy.constant.array(VALUES)
    t[0] = 1
    a[0] = t[0]


ARGUMENTS = (np.zeros(4, "f4"),)

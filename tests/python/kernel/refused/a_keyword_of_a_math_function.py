"""Python's math takes no arguments by name."""

import math

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    a[0] = math.pow(x=a[0], y=2.0)


ARGUMENTS = (np.zeros(4, "f4"),)

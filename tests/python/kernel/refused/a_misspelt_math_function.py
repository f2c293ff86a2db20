"""A function that math has not."""

import math

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    a[0] = math.sqr(a[0])


ARGUMENTS = (np.zeros(4, "f4"),)

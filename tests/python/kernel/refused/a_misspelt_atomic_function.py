"""A function that a namespace of ours has not."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    dppy.atomic.ad(a, 0, 1)


ARGUMENTS = (np.zeros(4, "f4"),)

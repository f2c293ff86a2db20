"""A kernel's arguments are given."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a, by=2):
    a[0] = by


ARGUMENTS = (np.zeros(4, "f4"), 1)

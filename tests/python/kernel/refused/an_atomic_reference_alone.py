"""A reference to an element is no value."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    a[0] = dppy.AtomicRef(a, 0)


ARGUMENTS = (np.zeros(4, "f4"),)

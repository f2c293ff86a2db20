"""The arguments of a reference have names."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    dppy.AtomicRef(a, at=1).fetch_add(1)


ARGUMENTS = (np.zeros(4, "f4"),)

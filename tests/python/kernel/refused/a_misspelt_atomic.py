"""A method that references to elements have not."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    dppy.AtomicRef(a, 0).fetch_ad(1)


ARGUMENTS = (np.zeros(4, "f4"),)

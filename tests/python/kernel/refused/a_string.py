"""Text is for print."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    name = "x"
    a[0] = len(name)


ARGUMENTS = (np.zeros(4, "f4"),)

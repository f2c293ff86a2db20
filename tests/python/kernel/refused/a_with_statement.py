"""with."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    with open("file"):
        a[0] = 1


ARGUMENTS = (np.zeros(4, "f4"),)

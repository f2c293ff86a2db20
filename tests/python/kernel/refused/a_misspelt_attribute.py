"""An attribute that is nearly one of arrays."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    a[0] = a.shpae[0]


ARGUMENTS = (np.zeros(4, "f4"),)

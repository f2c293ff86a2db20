"""10**19 does not fit into an int64."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    a[0] = round(a[0], -19)


ARGUMENTS = (np.zeros(4, "i4"),)

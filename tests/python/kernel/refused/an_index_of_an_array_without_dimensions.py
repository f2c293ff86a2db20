"""An array without dimensions has no index."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a, total):
    a[0] = total[0]


ARGUMENTS = (
    np.zeros(4, "f4"),
    np.array(3.0),
)

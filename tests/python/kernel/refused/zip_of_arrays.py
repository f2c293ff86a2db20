"""zip."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(left, right):
    for x, y in zip(left, right):
        left[0] += x * y


ARGUMENTS = (
    np.zeros(4, "f4"),
    np.zeros(4, "f4"),
)

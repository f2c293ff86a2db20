"""enumerate."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(values):
    for i, value in enumerate(values):
        values[i] = value


ARGUMENTS = (np.zeros(4, "f4"),)

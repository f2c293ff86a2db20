"""A name that is nearly that of a variable."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(values):
    index = dppy.get_global_id(0)
    values[indx] = 1


ARGUMENTS = (np.zeros(4, "f4"),)

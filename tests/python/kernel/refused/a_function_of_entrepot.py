"""A kernel makes no arrays in global memory."""

import numpy as np

import entrepot as ep
import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    made = ep.zeros(4)
    a[dppy.get_global_id(0)] = made[0]


ARGUMENTS = (np.zeros(4, "f4"),)

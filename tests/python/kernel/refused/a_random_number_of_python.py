"""Python's random numbers."""

import random

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    a[dppy.get_global_id(0)] = random.random()


ARGUMENTS = (np.zeros(4, "f4"),)

"""A function with a barrier is put in the place of its call, where a return within a loop has no place to go."""

import numpy as np

import entrepot.kernel as dppy


@dppy.func
def first_above(a, limit):
    for k in range(len(a)):
        dppy.barrier()
        if a[k] > limit:
            return k
    return -1


@dppy.kernel
def program(a):
    a[dppy.get_global_id(0)] = first_above(a, 2)


ARGUMENTS = (np.zeros(4, "f4"),)

"""A function with a barrier stands for what is in it: where not all work-items call it, not all reach the barrier."""

import numpy as np

import entrepot.kernel as dppy


@dppy.func
def waits():
    dppy.barrier()


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    if i > 2:
        waits()
    a[i] = 0


ARGUMENTS = (np.zeros(4, "f4"),)

"""Barriers stand in the kernel."""

import numpy as np

import entrepot.kernel as dppy


@dppy.func
def waits():
    dppy.barrier()


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    waits()
    a[i] = 0


ARGUMENTS = (np.zeros(4, "f4"),)

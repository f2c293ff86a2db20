"""A function in a kernel."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)

    def f(x):
        return x

    a[i] = f(a[i])


ARGUMENTS = (np.zeros(4, "f4"),)

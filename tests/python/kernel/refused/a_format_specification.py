"""print has no formats."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    print(f"{a[0]:.3f}")


ARGUMENTS = (np.zeros(4, "f4"),)

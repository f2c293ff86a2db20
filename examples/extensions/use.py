"""Hands arrays of several libraries to the four extensions; each one scales them all, where they
lie.
"""

import array
from importlib import import_module

import numpy as np

import entrepot as ep

numbers = [1.0, 2.0, 3.0, 4.0]
for name in ("scale_c", "scale_nanobind", "scale_pybind11", "scale_cython"):
    extension = import_module(name)
    strided = np.repeat(np.array(numbers), 2)[::2]
    plain = array.array("d", numbers)
    ours = ep.full((2, 2), 1.5, "float32")
    for target in (strided, plain, ours):
        extension.scale(target, 2.0)
    for other in (np.ones(3, "int32"), ep.zeros(2, "float32x4")):
        try:
            extension.scale(other, 2.0)
        except ValueError as error:
            print(f"{name}: {error}")
    print(f"{name}: {strided.tolist()} {plain.tolist()} {ours.numpy().tolist()}")

"""Methods of work-items take no arguments by name."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(item: dppy.Item, a):
    a[item.get_id(dim=0)] = 1


ARGUMENTS = (np.zeros(4, "f4"),)

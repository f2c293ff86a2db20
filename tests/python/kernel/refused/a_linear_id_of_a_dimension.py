"""A linear id is of all dimensions."""

import numpy as np

import entrepot.kernel as dppy


@dppy.kernel
def program(item: dppy.Item, a):
    a[item.get_linear_id(1)] = 1


ARGUMENTS = (np.zeros(4, "f4"),)

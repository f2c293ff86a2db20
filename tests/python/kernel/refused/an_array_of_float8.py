"""A type that exists to be stored."""

import entrepot as ep
import entrepot.kernel as dppy


@dppy.kernel
def program(a):
    i = dppy.get_global_id(0)
    a[i] = a[i] + 1


ARGUMENTS = (ep.zeros(4, "float8_e4m3fn", device="host"),)

"""Tests the installed package on the host, and prints its version."""

import sys
from pathlib import Path
from typing import Any

import entrepot as ep


@ep.kernel
def double_index(numbers: Any) -> None:
    i = ep.kernel.get_global_id(0)
    numbers[i] = 2 * i


assert Path(ep.__file__).is_relative_to(sys.prefix), f"{ep.__file__} is not in {sys.prefix}"
array = ep.empty(8, "int32", device="host")
double_index[8](array).wait()
assert memoryview(array).tolist() == list(range(0, 16, 2))
print(ep.__version__)

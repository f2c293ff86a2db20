"""The kernel API of numba-dpex: what kernels call, and what Python calls to try them.

Compiled kernels and plain functions use the same names. ``call_kernel`` of this module runs a
plain function in Python, one work-item at a time.

Examples
--------
>>> from entrepot.numba_dpex import kernel_api as kapi
>>> def add(item: kapi.Item, a, b):
...     i = item.get_id(0)
...     b[i] += a[i]
>>> numbers = np.arange(4)
>>> kapi.call_kernel(add, kapi.Range(4), numbers, numbers)
>>> numbers.tolist()
[0, 2, 4, 6]
"""

from __future__ import annotations

from ..errors import refuse_unknown
from ..launches import call_kernel
from ..ranges import NdRange, Range
from .enums import AddressSpace, FlagEnum, MemoryOrder, MemoryScope
from .functions import AtomicRef, LocalAccessor, PrivateArray, atomic_fence, group_barrier
from .items import Group, Item, NdItem

__all__ = [
    "AddressSpace",
    "AtomicRef",
    "FlagEnum",
    "Group",
    "Item",
    "LocalAccessor",
    "MemoryOrder",
    "MemoryScope",
    "NdItem",
    "NdRange",
    "PrivateArray",
    "Range",
    "atomic_fence",
    "call_kernel",
    "group_barrier",
]


def __getattr__(name: str) -> object:
    refuse_unknown(__name__, name)

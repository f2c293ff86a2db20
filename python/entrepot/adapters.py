"""Adapters: Python objects that stand for an address in a call of a C function, after HIP Python's adapter types.

Any adapter can be passed wherever an adapter is expected, and ``int(adapter)`` is its address. What an adapter is made from lives
as long as the adapter.
"""

from __future__ import annotations

from ._core import (
    CStr,
    DeviceArray,
    HipModuleLaunchKernel_extra,
    ListOfBytes,
    ListOfInt,
    ListOfInt64,
    ListOfLong,
    ListOfPointer,
    ListOfUInt64,
    ListOfUnsigned,
    ListOfUnsignedLong,
    Pointer,
    PointerToInt,
    PointerToInt64,
    PointerToLong,
    PointerToUInt64,
    PointerToUnsigned,
    PointerToUnsignedLong,
)

__all__ = [
    "CStr",
    "DeviceArray",
    "HipModuleLaunchKernel_extra",
    "ListOfBytes",
    "ListOfInt",
    "ListOfInt64",
    "ListOfLong",
    "ListOfPointer",
    "ListOfUInt64",
    "ListOfUnsigned",
    "ListOfUnsignedLong",
    "Pointer",
    "PointerToInt",
    "PointerToInt64",
    "PointerToLong",
    "PointerToUInt64",
    "PointerToUnsigned",
    "PointerToUnsignedLong",
]

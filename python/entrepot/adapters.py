"""Adapters: Python objects that represent an address in a call of a C function, after HIP Python's
adapter types.

Any adapter can be passed where an adapter is expected, and ``int(adapter)`` is its address. An
adapter holds a reference to the object that it was made from.
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

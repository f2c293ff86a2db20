"""The adapter types by the name that HIP Python's documentation has for them; see ``entrepot.adapters``."""

from __future__ import annotations

from ...adapters import (
    CStr,
    DeviceArray,
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

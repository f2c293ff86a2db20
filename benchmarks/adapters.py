"""Adapters made from every kind of source, against those of HIP Python."""

from __future__ import annotations

import ctypes
from typing import Any

import entrepot.adapters as ours

from .harness import Pair

AT_LEAST = 1.0
#: Three arguments of a kernel, from the documentation of hipModuleLaunchKernel.
EXTRA_AT_LEAST = 5.0


class _Cai:
    __cuda_array_interface__ = {  # noqa: RUF012
        "shape": (2, 3),
        "typestr": "<f4",
        "data": (0x1000, False),
        "strides": None,
        "version": 3,
    }


#: (type, expression of the source object)
SOURCES = [
    ("Pointer", "None"),
    ("Pointer", "address"),
    ("Pointer", "void_pointer"),
    ("Pointer", "pointer_of_ours"),
    ("Pointer", "number"),
    ("Pointer", "goods"),
    ("Pointer", "cai"),
    ("CStr", "'text'"),
    ("CStr", "b'text'"),
    ("ListOfInt", "[1, 2, 3, 4]"),
    ("ListOfUnsigned", "[1, 2, 3, 4]"),
    ("ListOfLong", "[1, 2, 3, 4]"),
    ("ListOfUnsignedLong", "[1, 2, 3, 4]"),
    ("ListOfInt64", "[1, 2, 3, 4]"),
    ("ListOfUInt64", "[1, 2, 3, 4]"),
    ("ListOfInt", "goods"),
    ("ListOfBytes", "[b'a', b'b', b'c']"),
    ("ListOfPointer", "[None, address, pointer_of_ours]"),
    ("PointerToInt", "[5]"),
    ("PointerToUnsigned", "[5]"),
    ("PointerToLong", "[5]"),
    ("PointerToUnsignedLong", "[5]"),
    ("PointerToInt64", "[5]"),
    ("PointerToUInt64", "[5]"),
    ("DeviceArray", "None"),
    ("DeviceArray", "address"),
    ("DeviceArray", "void_pointer"),
    ("DeviceArray", "pointer_of_ours"),
    ("DeviceArray", "cai"),
    ("CStr", "text_of_ours"),
    ("ListOfBytes", "pointer_of_ours"),
    ("ListOfPointer", "pointer_of_ours"),
    ("ListOfInt", "pointer_of_ours"),
    ("ListOfInt", "address"),
    ("HipModuleLaunchKernel_extra", "[number, real, void_pointer]"),
]


def _peer() -> Any:
    """HIP Python's types in one namespace; None where it is not installed."""
    try:
        from rocm.bindings import _hip_helpers
        from rocm.bindings.util import types
    except ImportError:
        return None
    return {**vars(types), "HipModuleLaunchKernel_extra": _hip_helpers.HipModuleLaunchKernel_extra}


def _numpy() -> dict[str, Any]:
    try:
        import numpy as np
    except ImportError:
        return {}
    return {"array": np.zeros(16, "i4")}


def pairs() -> list[Pair]:
    """A construction, and what goes with it, of each type from each source."""
    peer = _peer()
    if peer is None:
        return []
    names = {
        "address": 0x7F00_0000_1000,
        "void_pointer": ctypes.c_void_p(0x7F00_0000_1000),
        "number": ctypes.c_int(3),
        "real": ctypes.c_float(1.5),
        "goods": bytearray(16),
        "cai": _Cai(),
        **_numpy(),
    }
    sources = [
        *SOURCES,
        *([("Pointer", "array"), ("ListOfInt", "array")] if "array" in names else []),
    ]
    return [
        Pair(
            f"{name}({source})",
            f"adapter({source})",
            f"peer({source.replace('_of_ours', '_of_peer')})",
            EXTRA_AT_LEAST if name == "HipModuleLaunchKernel_extra" else AT_LEAST,
            {
                **names,
                "adapter": getattr(ours, name),
                "peer": peer[name],
                "pointer_of_ours": ours.Pointer(5),
                "pointer_of_peer": peer["Pointer"](5),
                "text_of_ours": ours.CStr(b"text"),  # HIP Python's finds the NUL at once
                "text_of_peer": peer["CStr"](b"text"),
            },
        )
        for name, source in sources
    ]

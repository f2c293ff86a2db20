"""The table of functions for extensions, include/entrepot/python/c_api.h, in ctypes. Requires:
the GIL."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    PYFUNCTYPE,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint32,
    c_void_p,
    py_object,
)

import entrepot as ep
from support.capsules import pointer_in


class CInterface(ctypes.Structure):
    _fields_ = (
        ("version", c_uint32),
        ("from_object", PYFUNCTYPE(c_void_p, py_object, c_uint32)),
        ("to_object", PYFUNCTYPE(py_object, c_void_p)),
        ("retain", PYFUNCTYPE(None, c_void_p)),
        ("release", PYFUNCTYPE(None, c_void_p)),
        ("view", c_void_p),
        (
            "empty",
            PYFUNCTYPE(c_void_p, c_int32, POINTER(c_int64), c_uint8, c_uint8, c_char_p, c_int32),
        ),
        ("native_queue", PYFUNCTYPE(c_void_p, c_void_p)),
        ("before_use", PYFUNCTYPE(c_int, c_void_p, c_int)),
        ("after_use", PYFUNCTYPE(c_int, c_void_p, c_int)),
        ("wait_for_host", PYFUNCTYPE(c_int, c_void_p, c_int)),
        (
            "argument",
            PYFUNCTYPE(
                c_int,
                py_object,
                c_char_p,
                c_int,
                c_char_p,
                c_char_p,
                POINTER(c_void_p),
                POINTER(c_void_p),
            ),
        ),
    )


def c_interface() -> CInterface:
    return CInterface.from_address(pointer_in(ep._core.c_api, b"entrepot._core.c_api"))

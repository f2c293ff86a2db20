"""``PyArrayInterface``, the struct behind ``__array_struct__``, in ctypes."""

from __future__ import annotations

import ctypes

WRITABLE, NATIVE, ALIGNED = 0x400, 0x200, 0x100


class ArrayStruct(ctypes.Structure):
    _fields_ = (
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("data", ctypes.c_void_p),
        ("descr", ctypes.c_void_p),
    )

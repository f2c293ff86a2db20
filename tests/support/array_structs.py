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


def array_struct_capsule(pointer: object, name: bytes | None = None) -> object:
    """Capsule of a struct that the caller keeps alive."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    return new(pointer, name, None)


def array_struct_in(capsule: object) -> ArrayStruct:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return ArrayStruct.from_address(pointer(capsule, None))

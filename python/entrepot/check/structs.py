"""The C structs and capsules of the protocols, in ctypes: what clauses read and what fabricated
exporters are made of.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_ssize_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)
from typing import Any

#: The interpreter's C functions. Not ``ctypes.pythonapi``, whose argument types are shared by the
#: whole process.
python_api = ctypes.PyDLL(None)

# ---------------------------------------------------------------- DLPack

CPU, CUDA, CUDA_HOST, ROCM, ROCM_HOST, CUDA_MANAGED, ONE_API, WEB_GPU = 1, 2, 3, 10, 11, 13, 14, 15
DEVICE_TYPES = {*range(1, 5), *range(7, 19)}
HAS_STREAMS = {CUDA, CUDA_MANAGED, ROCM}
HOST_READABLE = {CPU, CUDA_HOST, ROCM_HOST, CUDA_MANAGED}
READ_ONLY, IS_COPIED, PADDED = 1, 2, 4
OPAQUE = 3
TYPE_CODES = {
    0: "int",
    1: "uint",
    2: "float",
    OPAQUE: "opaque",
    4: "bfloat",
    5: "complex",
    6: "bool",
    **dict.fromkeys(range(7, 18), "small"),
}


class DLDevice(ctypes.Structure):
    _fields_ = (("device_type", c_int32), ("device_id", c_int32))


class DLDataType(ctypes.Structure):
    _fields_ = (("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16))


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


class Legacy(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p))


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("dl_tensor", DLTensor),
    )


# Form of tensor → name of its capsule, fresh and used. Capsules do not copy names, so these must
# never be freed.
CAPSULE_NAMES: dict[type[ctypes.Structure], tuple[bytes, bytes]] = {
    Legacy: (b"dltensor", b"used_dltensor"),
    Versioned: (b"dltensor_versioned", b"used_dltensor_versioned"),
}
Deleter = ctypes.CFUNCTYPE(None, c_void_p)
DeleterWithGil = ctypes.PYFUNCTYPE(None, c_void_p)

EXCHANGE_API = b"dlpack_exchange_api"


class ExchangeApi(ctypes.Structure):
    """DLPackExchangeAPI with its header. Functions that run Python code are called with the GIL
    held.
    """

    SetError = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)
    Allocate = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p), c_void_p, SetError)
    FromObject = ctypes.PYFUNCTYPE(c_int, py_object, POINTER(c_void_p))
    ToObject = ctypes.PYFUNCTYPE(c_int, c_void_p, POINTER(c_void_p))
    Borrow = ctypes.PYFUNCTYPE(c_int, py_object, c_void_p)
    CurrentStream = ctypes.PYFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))


# Functions are stored as addresses, so that an absent one reads as None.
ExchangeApi._fields_ = (
    ("major", c_uint32),
    ("minor", c_uint32),
    ("prev_api", c_void_p),
    ("managed_tensor_allocator", c_void_p),
    ("managed_tensor_from_py_object_no_sync", c_void_p),
    ("managed_tensor_to_py_object_no_sync", c_void_p),
    ("dltensor_from_py_object_no_sync", c_void_p),
    ("current_work_stream", c_void_p),
)

# ---------------------------------------------------------------- array struct

CONTIGUOUS, ALIGNED, NOT_SWAPPED, WRITABLE = 0x1, 0x100, 0x200, 0x400


class ArrayStruct(ctypes.Structure):
    """PyArrayInterface."""

    _fields_ = (
        ("two", c_int),
        ("nd", c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", c_int),
        ("flags", c_int),
        ("shape", POINTER(c_ssize_t)),
        ("strides", POINTER(c_ssize_t)),
        ("data", c_void_p),
        ("descr", c_void_p),
    )


# ---------------------------------------------------------------- buffers


class PyBuffer(ctypes.Structure):
    """Py_buffer."""

    _fields_ = (
        ("buf", c_void_p),
        ("obj", c_void_p),
        ("len", c_ssize_t),
        ("itemsize", c_ssize_t),
        ("readonly", c_int),
        ("ndim", c_int),
        ("format", c_char_p),
        ("shape", POINTER(c_ssize_t)),
        ("strides", POINTER(c_ssize_t)),
        ("suboffsets", POINTER(c_ssize_t)),
        ("internal", c_void_p),
    )


# Flags of a request, as in CPython's Buffer Protocol.
SIMPLE, WRITE, FORMAT, ND = 0, 0x1, 0x4, 0x8
STRIDES = 0x10 | ND
C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS = 0x20 | STRIDES, 0x40 | STRIDES, 0x80 | STRIDES
INDIRECT = 0x100 | STRIDES
FULL_RO = INDIRECT | FORMAT

# ---------------------------------------------------------------- capsules

_new = python_api.PyCapsule_New
_new.restype, _new.argtypes = py_object, (c_void_p, c_char_p, c_void_p)
_name = python_api.PyCapsule_GetName
_name.restype, _name.argtypes = c_char_p, (py_object,)
_pointer = python_api.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, (py_object, c_char_p)
_rename = python_api.PyCapsule_SetName
_rename.restype, _rename.argtypes = c_int, (py_object, c_char_p)
# A destructor gets an object that is being destroyed, which must be passed by address only.
_raw_name = ctypes.PYFUNCTYPE(c_char_p, c_void_p)(("PyCapsule_GetName", python_api))
_raw_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", python_api))
_Destructor = ctypes.PYFUNCTYPE(None, c_void_p)

Capsule = type(_new(1, b"any", None))


def new_capsule(address: int, name: bytes | None, destructor: Any = None) -> Any:
    return _new(address, name, ctypes.cast(destructor, c_void_p) if destructor else None)


def name_of(capsule: Any) -> bytes | None:
    name: bytes | None = _name(capsule)
    return name


def address_in(capsule: Any) -> int:
    """The pointer of a capsule with any name."""
    address: int = _pointer(capsule, _name(capsule))
    return address


def rename(capsule: Any, name: bytes) -> None:
    _rename(capsule, name)


def _free(capsule: int) -> None:
    for form, (fresh, _) in CAPSULE_NAMES.items():
        if _raw_name(capsule) == fresh:
            managed: Any = form.from_address(_raw_pointer(capsule, fresh))
            if managed.deleter:
                Deleter(managed.deleter)(ctypes.addressof(managed))


# Required of every producer: a capsule that was not renamed frees its tensor.
free_if_fresh = _Destructor(_free)


def integers(values: Any) -> Any:
    """An int64 array of C with these values; None for None."""
    return None if values is None else (c_int64 * len(values))(*values)


def address_of(function: Any) -> int | None:
    """The address of a ctypes function; None for a null pointer."""
    return ctypes.cast(function, c_void_p).value

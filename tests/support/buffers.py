"""Buffer exporters written by hand with ctypes: a test sets every field of the Py_buffer."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_ssize_t, c_uint, c_void_p, py_object
from typing import TYPE_CHECKING, Any


class PyBuffer(ctypes.Structure):
    """struct Py_buffer."""

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


class _Slot(ctypes.Structure):
    _fields_ = (("slot", c_int), ("function", c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", c_char_p),
        ("basicsize", c_int),
        ("itemsize", c_int),
        ("flags", c_uint),
        ("slots", POINTER(_Slot)),
    )


_GET, _RELEASE = 1, 2  # Py_bf_getbuffer, Py_bf_releasebuffer
_DEFAULT, _BASETYPE = 1 << 18, 1 << 10


def _get(exporter: Exporter, view: Any, flags: int) -> int:
    exporter.fill(view.contents)
    ctypes.pythonapi.Py_IncRef(py_object(exporter))
    view.contents.obj = id(exporter)
    exporter.given += 1
    return 0


def _release(exporter: Exporter, view: object) -> None:
    exporter.released += 1


_FUNCTIONS = {
    _GET: ctypes.PYFUNCTYPE(c_int, py_object, POINTER(PyBuffer), c_int)(_get),
    _RELEASE: ctypes.PYFUNCTYPE(None, py_object, POINTER(PyBuffer))(_release),
}


def _make_type() -> Any:
    slots = (_Slot * 3)(
        *(_Slot(slot, ctypes.cast(function, c_void_p)) for slot, function in _FUNCTIONS.items())
    )
    spec = _Spec(b"buffers.Raw", 0, 0, _DEFAULT | _BASETYPE, slots)
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = py_object, (c_void_p,)
    return make(ctypes.addressof(spec))


if TYPE_CHECKING:
    _Raw = object
else:
    _Raw = _make_type()


def _numbers(values: tuple[int, ...] | None) -> Any:
    return None if values is None else (c_ssize_t * len(values))(*values)


class Exporter(_Raw):
    """Exports its ``data`` as a buffer, by default of 4 by 3 floats. A shape, strides,
    suboffsets or format of None is NULL."""

    def __init__(
        self,
        data: object,
        address: int,
        *,
        shape: tuple[int, ...] | None = (4, 3),
        strides: tuple[int, ...] | None = (12, 4),
        suboffsets: tuple[int, ...] | None = None,
        ndim: int | None = None,
        format: bytes | None = b"f",
        itemsize: int = 4,
        length: int = 48,
        read_only: int = 0,
    ) -> None:
        self.data = data
        self.given = self.released = 0
        self._arrays = [
            _numbers(values) for values in (shape, strides, suboffsets)
        ]  # what the view points to
        self._fields = {
            "buf": address,
            "len": length,
            "itemsize": itemsize,
            "readonly": read_only,
            "ndim": len(shape or ()) if ndim is None else ndim,
            "format": format,
            "internal": None,
        }

    def fill(self, view: PyBuffer) -> None:
        for name, value in self._fields.items():
            setattr(view, name, value)
        for name, values in zip(("shape", "strides", "suboffsets"), self._arrays, strict=True):
            setattr(view, name, ctypes.cast(values, POINTER(c_ssize_t)))

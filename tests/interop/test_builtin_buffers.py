"""Python's own buffers: bytes, bytearray, array, memoryview, mmap and ctypes in; memoryview and
ctypes out.
"""

from __future__ import annotations

import array
import ctypes
import mmap
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop.pairs import (
    HOST_ACCESSIBLE,
    LAYOUTS,
    NUMPY_DTYPES,
    SHAPED,
    Cannot,
    In,
    Out,
    Peer,
    View,
    matrix,
    numbers,
)

pytestmark = [pytest.mark.host, pytest.mark.numpy]


class Run(Peer):
    """A one-dimensional object of bytes, viewed by a memoryview of it.

    ``typed`` gives, for a dtype, a maker of such objects with elements of it; ``new`` makes one
    of int32, or of bytes.
    """

    def __init__(
        self,
        name: str,
        new: Callable[[bytes], Any],
        new_read_only: Callable[[bytes], Any] | None = None,
        typed: Callable[[str], Callable[[bytes], Any]] | None = None,
    ) -> None:
        self.name, self.new, self.new_read_only, self.typed = name, new, new_read_only, typed

    def make(self, place: object, dtype: str = "int32", layout: str = "whole") -> Any:
        new = self.typed(dtype) if self.typed else self.new
        return new(numbers().astype(dtype).tobytes() if self.typed else numbers().tobytes())

    def make_read_only(self, place: object) -> Any:
        assert self.new_read_only is not None
        return self.new_read_only(numbers().tobytes())

    def view(self, obj: Any) -> View:
        with memoryview(obj) as seen:
            assert seen.shape is not None  # None: released
            return View(np.frombuffer(seen, "u1").ctypes.data, seen.shape, read_only=seen.readonly)

    def values(self, obj: Any) -> np.ndarray:
        with memoryview(obj) as seen:
            return np.array(seen)

    def write(self, obj: Any, value: int) -> None:
        with memoryview(obj) as seen, seen.cast("B") as run:
            run[0] = value

    def expected(self, values: np.ndarray) -> np.ndarray:
        return self.values(self.new(values.tobytes()))


def mapped(content: bytes) -> mmap.mmap:
    result = mmap.mmap(-1, len(content))
    result[:] = content
    return result


def mapped_for_reading(content: bytes) -> mmap.mmap:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class MemoryView(Peer):
    """A view of an exporter of any shape; NumPy reads those that memoryview cannot print."""

    name = "memoryview"

    def make(self, place: object, dtype: str = "int32", layout: str = "whole") -> memoryview:
        return memoryview(LAYOUTS[layout](numbers().astype(dtype), np.broadcast_to))

    def make_read_only(self, place: object) -> memoryview:
        return self.make(place).toreadonly()

    def view(self, obj: memoryview) -> View:
        assert obj.shape is not None and obj.strides is not None  # None: released
        strides = tuple(stride // obj.itemsize for stride in obj.strides)
        return View(np.asarray(obj).ctypes.data, obj.shape, strides, obj.readonly)

    def values(self, obj: memoryview) -> np.ndarray:
        return np.array(obj)

    def dtype_of(self, obj: memoryview) -> str:
        return np.asarray(obj).dtype.name

    def write(self, obj: memoryview, value: int) -> None:
        obj[0, 0] = value


TYPE_CODES = dict(
    zip(
        "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64".split(),
        "bBhHiIqQfd",
        strict=True,
    )
)
C_TYPES = {
    "bool": ctypes.c_bool,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    **{
        f"{sign}{bits}": getattr(ctypes, f"c_{sign}{bits}")
        for sign in ("int", "uint")
        for bits in (8, 16, 32, 64)
    },
}


def array_of(dtype: str) -> Callable[[bytes], Any]:
    return lambda content: array.array(TYPE_CODES[dtype], content)


def c_array_of(dtype: str) -> Callable[[bytes], Any]:
    return (C_TYPES[dtype] * 6 * 4).from_buffer_copy


C_ARRAY = ctypes.c_int * 6 * 4
BYTES = Run("bytes", bytes, bytes)
BYTEARRAY = Run("bytearray", bytearray)
ARRAY = Run("array.array", array_of("int32"), typed=array_of)
MMAP = Run("mmap.mmap", mapped, mapped_for_reading)
CTYPES = Run("ctypes", c_array_of("int32"), typed=c_array_of)
VIEW = MemoryView()

ONE_RUN = Cannot.lacks("it is one run of elements, all of them", *SHAPED)
ALWAYS_WRITABLE = Cannot.lacks("it may always be written", "read-only")
IMMUTABLE = {
    "our write": Cannot("bytes are immutable", ValueError),
    "their write": Cannot("bytes are immutable", TypeError),
    **Cannot.lacks("bytes are immutable", "writable"),
}
# C's pointers have no strides, and ctypes does not accept read-only memory as a buffer.
FROM_BUFFER = {
    name: Cannot("ctypes takes whole buffers in C order", (TypeError, ValueError))
    for name in SHAPED
} | {"read-only": Cannot("ctypes takes what may be written", TypeError)}

WAYS = [
    In("asarray(bytes)", BYTES, ep.asarray, dtypes=(), cannot=ONE_RUN | IMMUTABLE),
    In("asarray(bytearray)", BYTEARRAY, ep.asarray, dtypes=(), cannot=ONE_RUN | ALWAYS_WRITABLE),
    In(
        "asarray(array.array)",
        ARRAY,
        ep.asarray,
        dtypes=tuple(TYPE_CODES),
        cannot=ONE_RUN | ALWAYS_WRITABLE,
    ),
    In("asarray(mmap.mmap)", MMAP, ep.asarray, dtypes=(), cannot=ONE_RUN),
    In(
        "asarray(ctypes array)",
        CTYPES,
        ep.asarray,
        dtypes=tuple(C_TYPES),
        cannot=ONE_RUN | ALWAYS_WRITABLE,
    ),
    In("asarray(memoryview)", VIEW, ep.asarray, dtypes=NUMPY_DTYPES),
    Out("memoryview(a)", VIEW, memoryview, HOST_ACCESSIBLE, NUMPY_DTYPES),
    Out("c_array.from_buffer(a)", CTYPES, C_ARRAY.from_buffer, HOST_ACCESSIBLE, (), FROM_BUFFER),
]

test_pair = matrix(WAYS)

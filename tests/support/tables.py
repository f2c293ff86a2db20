"""DLPack exchange tables written by hand with ctypes, and types that publish them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, c_char_p, c_int, c_int32, c_uint32, c_void_p, py_object
from typing import Any

from support.capsules import new_capsule, pointer_in
from support.tensors import Producer

NAME = b"dlpack_exchange_api"


class Table(ctypes.Structure):
    """struct DLPackExchangeAPI. Functions that run Python code are called with the GIL held."""

    SetError = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)
    Allocate = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p), c_void_p, SetError)
    FromObject = ctypes.PYFUNCTYPE(c_int, py_object, POINTER(c_void_p))
    ToObject = ctypes.PYFUNCTYPE(c_int, c_void_p, POINTER(py_object))
    Borrow = ctypes.PYFUNCTYPE(c_int, py_object, c_void_p)
    CurrentStream = ctypes.PYFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))


Table._fields_ = (
    ("major", c_uint32),
    ("minor", c_uint32),
    ("prev_api", c_void_p),
    ("allocate", Table.Allocate),
    ("from_object", Table.FromObject),
    ("to_object", Table.ToObject),
    ("borrow", Table.Borrow),
    ("current_stream", Table.CurrentStream),
)


def publish(
    make: Callable[[], Producer], *, major: int = 1, older: Table | None = None
) -> tuple[type[Any], Table]:
    """A type with a table of its own, whose objects export the tensors of ``make``'s producers."""

    class Tensor:
        __dlpack_c_exchange_api__: object
        kept: tuple[Table, Table | None]

        def __init__(self) -> None:
            self.producer = make()

    def from_object(obj: Tensor, out: Any) -> int:
        out[0] = ctypes.addressof(obj.producer.tensor())
        return 0

    def unused(*_: object) -> int:
        raise AssertionError("not to be called")

    def current_stream(kind: int, number: int, out: Any) -> int:
        out[0] = None
        return 0

    table = Table(
        major=major,
        minor=3,
        prev_api=ctypes.addressof(older) if older else None,
        allocate=Table.Allocate(unused),
        from_object=Table.FromObject(from_object),
        to_object=Table.ToObject(unused),
        borrow=Table.Borrow(unused),
        current_stream=Table.CurrentStream(current_stream),
    )
    Tensor.__dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(table), NAME)
    Tensor.kept = (table, older)
    return Tensor, table


def table_of(kind: Any) -> Table:
    return Table.from_address(pointer_in(kind.__dlpack_c_exchange_api__, NAME))

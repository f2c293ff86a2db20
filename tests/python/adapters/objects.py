"""Inputs for tests of adapters: objects with a made-up CUDA array interface, and memory of C.

Also names for such tests."""

from __future__ import annotations

import ctypes
import re
from typing import Any


class Cai:
    """Speaks the CUDA array interface of unowned memory, for checks before a driver is asked."""

    def __init__(self, **changes: Any) -> None:
        described = {"shape": (2, 3), "typestr": "<f4", "data": (0x1000, False), "version": 3}
        self.__cuda_array_interface__ = described | changes


def bytes_at(adapter: object, count: int) -> bytes:
    return ctypes.string_at(int(adapter), count)  # type: ignore[call-overload]


def named(source: object) -> str:
    """Name of a test's parameter: its repr without the address, on which two processes could not
    agree."""
    return re.sub(r"( at)? 0x[0-9a-f]{6,}", "", repr(source))

"""Vectors of one component, ``float32x1(x).x``, which are numbers."""

from __future__ import annotations

from typing import Any

from ..kernel.language import DTYPES
from ..kernel.macros import Macro
from .expressions import call, function


def _of_one(name: str, dtype: Any) -> Macro:
    return function(name, "x", lambda given: call(dtype, given["x"]), f"One {dtype}, as a vector.")


int8x1 = _of_one("int8x1", DTYPES["int8"])
uint8x1 = _of_one("uint8x1", DTYPES["uint8"])
int16x1 = _of_one("int16x1", DTYPES["int16"])
uint16x1 = _of_one("uint16x1", DTYPES["uint16"])
int32x1 = _of_one("int32x1", DTYPES["int32"])
uint32x1 = _of_one("uint32x1", DTYPES["uint32"])
int64x1 = _of_one("int64x1", DTYPES["int64"])
uint64x1 = _of_one("uint64x1", DTYPES["uint64"])
float32x1 = _of_one("float32x1", DTYPES["float32"])
float64x1 = _of_one("float64x1", DTYPES["float64"])

char1, short1, int1, long1, longlong1 = int8x1, int16x1, int32x1, int64x1, int64x1
uchar1, ushort1, uint1, ulong1, ulonglong1 = uint8x1, uint16x1, uint32x1, uint64x1, uint64x1
float1, double1 = float32x1, float64x1

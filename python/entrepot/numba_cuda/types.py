"""Types of numbers and arrays, and signatures of them: ``numba.cuda.types``, and numba's types.

They are types of arrays in kernels, convert numbers there, and make signatures:
``void(float32[:], int32)``.
"""

from __future__ import annotations

from ..kernel.number_types import NumberType, VoidType
from .errors import refusing

void = none = VoidType()
boolean = bool_ = b1 = NumberType("bool")
int8 = i1 = char = NumberType("int8")
int16 = i2 = short = NumberType("int16")
int32 = i4 = intc = NumberType("int32")
int64 = i8 = intp = int_ = long_ = longlong = ssize_t = NumberType("int64")
uint8 = u1 = byte = uchar = NumberType("uint8")
uint16 = u2 = ushort = NumberType("uint16")
uint32 = u4 = uintc = NumberType("uint32")
uint64 = u8 = uintp = uint = ulong = ulonglong = size_t = NumberType("uint64")
float16 = f2 = NumberType("float16")
float32 = f4 = float_ = NumberType("float32")
float64 = f8 = double = NumberType("float64")
complex64 = c8 = NumberType("complex64")
complex128 = c16 = NumberType("complex128")
bfloat16 = NumberType("bfloat16")

__getattr__ = refusing(
    "types", otherwise="signatures have numbers, arrays as float32[:, ::1], and void"
)

"""Numba's types of numbers and arrays, which signatures are made of.

``float32`` is a Dtype, ``float32[:, ::1]`` the type of an array and ``float32(int32)`` a signature.
"""

from __future__ import annotations

from typing import Any

from .._core import Dtype


class SignatureType:
    """A type that signatures have."""


class Signature:
    """The type of a result and those of the arguments, as ``int32(int32)`` makes it."""

    def __init__(self, return_type: Any, args: tuple[Any, ...]) -> None:
        self.return_type, self.args = return_type, args

    def __repr__(self) -> str:
        return f"{self.return_type!r}{self.args!r}"


def is_type(value: Any) -> bool:
    """True for Dtypes, for the types of this module and for numba's."""
    return isinstance(value, (Dtype, SignatureType)) or type(value).__module__.startswith(
        ("numba.core.types", "numba.cuda.types")
    )


class CallableType(SignatureType):
    """A type that makes a signature if it is called with the types of arguments."""

    def __call__(self, *args: Any) -> Any:
        return Signature(self, args)


class VoidType(CallableType):
    """The result of a kernel."""

    def __repr__(self) -> str:
        return "void"


class NumberType(Dtype):
    """A type of numbers: a Dtype that is called with types or with a number.

    Parameters
    ----------
    name : str
        NumPy's name of the type.

    Examples
    --------
    >>> from entrepot.numba_cuda import float32
    >>> float32(0.5).dtype, float32(float32).return_type, float32[:, ::1]
    (dtype('float32'), NumberType('float32'), float32[:, ::1])
    """

    def __repr__(self) -> str:
        return f"NumberType({str(self)!r})"

    def __call__(self, *args: Any) -> Any:
        """A signature with this result; of a number, the number in this type."""
        if all(map(is_type, args)):
            return Signature(self, args)
        import numpy as np

        return np.dtype(str(self)).type(*args)

    def __getitem__(self, axes: Any) -> ArrayType:
        """The type of an array: ``:`` for each axis, and ``::1`` for the last of a contiguous one.

        Raises TypeError if an axis is not a slice.
        """
        return ArrayType(self, axes)


class ArrayType(CallableType):
    """The type of arrays ``float32[::1]``."""

    def __init__(self, dtype: Dtype, axes: Any) -> None:
        self.dtype = dtype
        self.axes: tuple[slice, ...] = axes if isinstance(axes, tuple) else (axes,)
        for axis in self.axes:
            if axis not in (slice(None), slice(None, None, 1)):
                raise TypeError(
                    f"{dtype}[…]: the axes of an array's type are `:` or `::1`, not {axis!r}: "
                    f"{dtype}[:, ::1] is a contiguous one of two dimensions"
                )

    def __repr__(self) -> str:
        axes = ", ".join("::1" if axis.step else ":" for axis in self.axes)
        return f"{self.dtype}[{axes}]"

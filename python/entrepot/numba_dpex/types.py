"""Types of signatures: numbers, arrays and work-items.

``kernel((ItemType(1), usm_ndarray(1, "C", float32)))`` compiles a kernel before its first launch.
Number types are Dtypes. numba's are accepted in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Dtype
from ..kernel.number_types import (
    CallableType,
    NumberType,
    Signature,
    SignatureType,
    VoidType,
    is_type,
)
from .errors import LaunchValueError, refuse_unknown, typed


class USMNdArray(CallableType):
    """Arrays of a launch, whichever library they are of.

    Parameters
    ----------
    ndim : int
        The number of dimensions.
    layout : {'C', 'F', 'A'}
        'C' for contiguous arrays; any others may have strides.
    dtype : dtype_like
        The type of the elements.

    Examples
    --------
    >>> from entrepot.numba_dpex import float32, usm_ndarray
    >>> usm_ndarray(2, "C", float32)
    USMNdArray(2, 'C', float32)
    """

    def __init__(
        self,
        ndim: int,
        layout: str = "C",
        dtype: Any = None,
        usm_type: str = "device",
        device: Any = None,
        queue: Any = None,
        readonly: bool = False,
        name: str | None = None,
        aligned: bool = True,
    ) -> None:
        self.ndim, self.layout, self.usm_type = ndim, layout, usm_type
        self.dtype = Dtype("float64" if dtype is None else str(dtype))
        if layout not in ("C", "F", "A"):
            raise ValueError(f"layout: 'C', 'F' or 'A' was expected, not {layout!r}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.ndim}, {self.layout!r}, {self.dtype})"


class DpnpNdArray(USMNdArray):
    """The type of dpnp's arrays; the same as USMNdArray here."""


class _OfIndexSpace(SignatureType):
    """The type of a work-item or work-group. It is not an argument of the launch."""

    def __init__(self, ndim: int) -> None:
        if not 1 <= ndim <= 3:
            raise typed(
                ValueError(f"{type(self).__name__}: ndim is 1, 2 or 3, not {ndim}"),
                LaunchValueError,
            )
        self.ndim = ndim

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.ndim})"


class GroupType(_OfIndexSpace):
    """The type of a work-group of ``ndim`` dimensions."""


class ItemType(_OfIndexSpace):
    """The type of a work-item of a launch over a Range of ``ndim`` dimensions."""


class NdItemType(_OfIndexSpace):
    """The type of a work-item of a launch over an NdRange of ``ndim`` dimensions."""


def is_signature(value: Any) -> bool:
    """True for a tuple of types, and for a result's type with those of the arguments."""
    if isinstance(value, tuple):
        return bool(value) and all(map(is_type, value))
    return isinstance(value, Signature) or (
        hasattr(value, "args")
        and hasattr(value, "return_type")
        and type(value).__module__.startswith("numba.")
    )


def parts_of(signature: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type of the result, None if none is stated, and those of the arguments."""
    if isinstance(signature, tuple):
        return None, signature
    returned = signature.return_type
    is_void = isinstance(returned, VoidType) or str(returned) == "none"
    return (None if is_void else returned), tuple(signature.args)


def without_items(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The types without those of work-items and work-groups."""
    return tuple(each for each in arguments if not isinstance(each, _OfIndexSpace))


usm_ndarray = USMNdArray
void = none = VoidType()
bool_ = boolean = b1 = NumberType("bool")
int32 = i4 = NumberType("int32")
int64 = i8 = NumberType("int64")
uint32 = u4 = NumberType("uint32")
uint64 = u8 = NumberType("uint64")
float32 = f4 = float_ = NumberType("float32")
float64 = f8 = double = NumberType("float64")

__all__ = [
    "DpnpNdArray",
    "USMNdArray",
    "b1",
    "bool_",
    "boolean",
    "double",
    "f4",
    "f8",
    "float32",
    "float64",
    "float_",
    "i4",
    "i8",
    "int32",
    "int64",
    "none",
    "u4",
    "u8",
    "uint32",
    "uint64",
    "usm_ndarray",
    "void",
]


def __getattr__(name: str) -> object:
    refuse_unknown(__name__, name)

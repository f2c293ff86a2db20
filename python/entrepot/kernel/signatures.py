"""Signatures: ``"void(float32[::1], int64)"`` as the types that a kernel is compiled for."""

from __future__ import annotations

import re
from typing import Any

from .._core import Dtype

# (kind, dtype, dimensions, contiguous), kind being "array", "scalar" or "local".
Parameter = tuple[str, Dtype, int, bool]
Signature = tuple[Parameter, ...]

# Numba's short names beside NumPy's.
_SHORT = {
    "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16",
    "u4": "uint32", "u8": "uint64",
    "f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128",
    "b1": "bool", "boolean": "bool",
    "intp": "int64", "uintp": "uint64", "float": "float64", "double": "float64", "int": "int64",
    "complex": "complex128",
    "void": "", "none": "",
}  # fmt: skip

_WHOLE = re.compile(r"\s*(?:(?P<returns>\w+)\s*)?\((?P<parameters>.*)\)\s*$", re.DOTALL)
_PARAMETER = re.compile(r"(?P<local>local\s+)?(?P<dtype>\w+)\s*(?:\[(?P<axes>[\s:,1]*)\])?$")


def texts_of(given: Any, decorator: str) -> list[Any]:
    """The signatures, given as one or a list of several. Raises TypeError for anything else."""
    if isinstance(given, str):
        return [given]
    try:
        return list(given)
    except TypeError:
        raise TypeError(
            f"{decorator}() takes a Python function, a signature such as 'void(float32[::1], "
            "int64)', or a list of those, "
            f"not {given!r}"
        ) from None


def signatures_of(given: Any, decorator: str) -> tuple[Signature, ...]:
    """Parses a kernel's signature, or a list of several."""
    return tuple(kernel_signature_of(each) for each in texts_of(given, decorator))


def kernel_signature_of(text: str) -> Signature:
    """The parameters. Raises ValueError for an invalid signature or one with a result, which
    kernels do not have.
    """
    returns, parameters = signature_of(text)
    if returns is not None:
        raise ValueError(
            f"signature {text!r}: a kernel returns nothing, and this says {returns}: write void, "
            "and give an array to write to"
        )
    return parameters


def signature_of(text: str) -> tuple[Dtype | None, Signature]:
    """The type of the result, None for void, and the parameters. Raises ValueError for an invalid
    signature.
    """
    whole = _WHOLE.match(text) if isinstance(text, str) else None
    if whole is None:
        raise ValueError(
            f"a signature was expected, as in 'void(float32[::1], int64)', not {text!r}"
        )
    return _dtype(whole["returns"] or "void", text), tuple(
        _parameter(each, text) for each in _split(whole["parameters"])
    )


def _dtype(name: str, text: str) -> Dtype | None:
    name = _SHORT.get(name, name)
    if not name:
        return None
    try:
        dtype = Dtype(name)
    except TypeError:
        raise ValueError(
            f"signature {text!r}: {name!r} is no type; NumPy's names are, such as float32 and int64"
        ) from None
    if dtype.lanes > 1:
        raise ValueError(
            f"signature {text!r}: {name!r} is a vector, which signatures do not name: leave the "
            "signature out"
        )
    return dtype


def _split(parameters: str) -> list[str]:
    """Splits at the commas outside brackets."""
    parts = re.split(r",(?![^\[]*\])", parameters)
    return [part.strip() for part in parts if part.strip()]


def _parameter(word: str, text: str) -> Parameter:
    found = _PARAMETER.match(word)
    if found is None:
        raise ValueError(
            f"signature {text!r}: {word!r} is no parameter; a type is expected, and of arrays its "
            "axes: float32[:, ::1]"
        )
    dtype = _dtype(found["dtype"], text)
    if dtype is None:
        raise ValueError(f"signature {text!r}: a parameter cannot be void")
    if found["axes"] is None:
        if found["local"]:
            raise ValueError(
                f"signature {text!r}: {word!r} is local memory, which is an array: local {dtype}[:]"
            )
        return "scalar", dtype, 0, False
    axes = [axis.strip() for axis in found["axes"].split(",")]
    if any(axis not in (":", "::1") for axis in axes) or "::1" in axes[:-1]:
        raise ValueError(
            f"signature {text!r}: the axes of {word!r} are ':' each, and the last of a contiguous "
            "array is '::1'"
        )
    return "local" if found["local"] else "array", dtype, len(axes), axes[-1] == "::1"

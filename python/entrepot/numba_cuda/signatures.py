"""Signatures as numba.cuda takes them: texts, types of Numba, and tuples of these."""

from __future__ import annotations

from typing import Any

from ..kernel.number_types import Signature


def is_signature(obj: Any) -> bool:
    """True for one signature: a text, a signature of types, or a tuple of types."""
    return isinstance(obj, (str, tuple, Signature)) or _is_of_numba(obj)


def text_of(signature: Any) -> str:
    """The signature as Entrepot writes it, ``"void(float32[:], int64)"``.

    Raises TypeError if it is no signature.
    """
    if isinstance(signature, str):
        return signature if "(" in signature else f"void({signature})"
    if isinstance(signature, tuple):
        return f"void({', '.join(map(_type, signature))})"
    if isinstance(signature, Signature) or (_is_of_numba(signature) and hasattr(signature, "args")):
        result = getattr(signature, "return_type", None)
        return f"{_type(result)}({', '.join(map(_type, signature.args))})"
    raise TypeError(
        "a signature is a text such as 'void(float32[:], int64)', the same of types or a tuple of "
        f"types, not {signature!r}"
    )


def _is_of_numba(obj: Any) -> bool:
    return type(obj).__module__.startswith("numba.")


def _type(each: Any) -> str:
    if each is None or str(each) in ("none", "void"):
        return "void"
    if isinstance(each, str):
        return each
    ndim = getattr(each, "ndim", None)
    if _is_of_numba(each) and ndim is not None and hasattr(each, "dtype"):
        axes = [":"] * ndim
        if getattr(each, "layout", "A") == "C":
            axes[-1] = "::1"
        return f"{each.dtype}[{', '.join(axes)}]"
    return str(getattr(each, "name", each))

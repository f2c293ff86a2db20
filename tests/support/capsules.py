"""CPython's functions for capsules, in ctypes. Requires: the GIL."""

from __future__ import annotations

import ctypes
from ctypes import PYFUNCTYPE, c_char_p, c_int, c_void_p, py_object
from typing import Any

_api = ctypes.pythonapi
_new = PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", _api))

# Lifetime: capsules do not copy their names, so the caller keeps these bytes alive.
rename = PYFUNCTYPE(c_int, py_object, c_char_p)(("PyCapsule_SetName", _api))
name_of = PYFUNCTYPE(c_char_p, py_object)(("PyCapsule_GetName", _api))
pointer_in = PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", _api))

Destructor = ctypes.CFUNCTYPE(None, c_void_p)
# The object that is passed to the destructor is being destroyed, so only its address may be used.
raw_name_of = PYFUNCTYPE(c_char_p, c_void_p)(("PyCapsule_GetName", _api))
raw_pointer_in = PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _api))


def new_capsule(pointer: Any, name: bytes | None, destructor: Any = None) -> Any:
    """Lifetime: the caller keeps the name, what ``pointer`` points to and the destructor alive."""
    return _new(pointer, name, ctypes.cast(destructor, c_void_p) if destructor else None)

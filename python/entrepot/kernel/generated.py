"""Kernels and device functions that are made of text."""

from __future__ import annotations

from typing import Any

from . import language
from .functions import DeviceFunction, KernelFunction, kernel
from .source import make

_LANGUAGE = (
    "CLK_LOCAL_MEM_FENCE",
    "atomic",
    "barrier",
    "get_global_id",
    "get_global_size",
    "get_group_id",
    "get_local_id",
    "get_num_groups",
    "group",
    "int32",
    "int64",
    "local",
    "private",
)


def kernel_of_text(name: str, text: str, **names: Any) -> KernelFunction:
    """The kernel of that name, whose text uses the kernel language and ``names``."""
    namespace: dict[str, Any] = {each: getattr(language, each) for each in _LANGUAGE}
    return kernel(make(name, text, namespace | names))


def function_of_text(name: str, text: str, **names: Any) -> DeviceFunction:
    """The device function of that name, whose text uses ``names``."""
    return DeviceFunction(make(name, text, dict(names)))

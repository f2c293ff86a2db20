"""Typed access to elements in C++ extensions, against nanobind's ``ndarray::view()``.

The loops are those of benchmarks/cpp/access.cpp; each multiplies the elements of a float32 matrix,
which fits into a second-level cache, in place.
"""

from __future__ import annotations

import importlib.util
from types import ModuleType
from typing import Any

from .harness import Pair, built


def loops() -> ModuleType | None:
    """The module of benchmarks/cpp; None if it has not been built."""
    for path in built().glob("benchmark_access.*so"):
        spec = importlib.util.spec_from_file_location("benchmark_access", path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    return None


def pairs() -> list[Pair]:
    """Each access that a layout has, against nanobind's fastest view of the layout."""
    module = loops()
    if module is None:
        return []
    import numpy as np

    matrix = np.ones((256, 256), "f4")
    layouts: list[tuple[str, Any, list[str], str]] = [
        ("contiguous", matrix, ["span", "contiguous_view", "for_each"], "contiguous_peer"),
        ("every second column", np.ones((256, 512), "f4")[:, ::2], ["view", "for_each"], "peer"),
        ("transposed", matrix.T, ["view", "for_each"], "peer"),
    ]
    return [
        Pair(
            f"{access}, {layout}",
            "access(array, 1.0)",
            "peer(array, 1.0)",
            1,
            {"access": getattr(module, access), "peer": getattr(module, peer), "array": array},
        )
        for layout, array, accesses, peer in layouts
        for access in accesses
    ]

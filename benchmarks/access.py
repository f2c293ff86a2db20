"""Typed access to elements in C++ extensions, against nanobind's ``ndarray::view()``.

The loops are those of benchmarks/cpp/access.cpp; each multiplies the elements of a float32 matrix,
which fits into a second-level cache, in place.
"""

from __future__ import annotations

from typing import Any

from .harness import Pair, built_module


def pairs() -> list[Pair]:
    """Each access that a layout has, against nanobind's fastest view of the layout."""
    module = built_module("benchmark_access")
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

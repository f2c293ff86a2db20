"""Copies on and to a CUDA device, against the best of PyTorch and CuPy: `python -m benchmarks.cuda` on a machine with a GPU.

Both sides submit and wait, so a pair is as long as its copy. What CuPy and PyTorch are asked for is the same copy in their words.
"""

from __future__ import annotations

import sys
from typing import Any

import cupy
import numpy as np
import torch

import entrepot as ep

from .harness import Pair, measure, print_table

LARGE = 1 << 30
SIDE_BYTES = 1 << 28  # of a strided array, and about as many of the window that is copied
DTYPES = ("uint8", "float16", "float32", "float64", "complex128")

# View of a square array → what is copied to, and from, in the words of all three.
STRIDED = {
    "transposition": ("{a}", "{b}.T"),
    "every second column": ("{a}[:, : {n} // 2]", "{b}[:, ::2]"),
    "a window of rows": ("{a}[:, : {n} - 32]", "{b}[:, 32:]"),
}


def transfers(queue: ep.Queue) -> list[Pair]:
    """Contiguous copies, against cudaMemcpyAsync as PyTorch calls it."""
    pinned, theirs_pinned = (
        ep.empty(LARGE, "uint8", queue=queue, kind="host"),
        torch.empty(LARGE, dtype=torch.uint8, pin_memory=True),
    )
    pageable = np.zeros(LARGE // 4, "uint8")
    names: dict[str, Any] = {
        "ep": ep, "torch": torch, "queue": queue, "pinned": pinned, "theirs_pinned": theirs_pinned,
        "a": ep.empty(LARGE, "uint8", queue=queue), "b": ep.empty(LARGE, "uint8", queue=queue),
        "c": torch.empty(LARGE, dtype=torch.uint8, device="cuda"), "d": torch.empty(LARGE, dtype=torch.uint8, device="cuda"),
        "pageable": ep.asarray(pageable), "theirs_pageable": torch.from_numpy(pageable), "part": LARGE // 4,
    }  # fmt: skip
    rows = [
        ("device → device, 1 GiB", ("a", "b"), ("c", "d")),
        ("pinned → device, 1 GiB", ("a", "pinned"), ("c", "theirs_pinned")),
        ("device → pinned, 1 GiB", ("pinned", "a"), ("theirs_pinned", "c")),
        ("pageable → device, 256 MiB", ("a[:part]", "pageable"), ("c[:part]", "theirs_pageable")),
        ("device → pageable, 256 MiB", ("pageable", "a[:part]"), ("theirs_pageable", "c[:part]")),
    ]
    return [
        Pair(
            what,
            f"ep.copy({ours[0]}, {ours[1]}, queue=queue); queue.wait()",
            f"{theirs[0]}.copy_({theirs[1]}, non_blocking=True); torch.cuda.synchronize()",
            0.97,
            names,
        )
        for what, ours, theirs in rows
    ]


def strided(queue: ep.Queue) -> list[Pair]:
    """Each view of each item size, against PyTorch and against CuPy."""
    found = []
    for dtype in DTYPES:
        n = int((SIDE_BYTES // np.dtype(dtype).itemsize) ** 0.5) // 64 * 64
        names: dict[str, Any] = {
            "ep": ep, "torch": torch, "cupy": cupy, "queue": queue,
            "a": ep.empty((n, n), dtype, queue=queue), "b": ep.empty((n, n), dtype, queue=queue),
            "c": torch.empty((n, n), dtype=getattr(torch, dtype), device="cuda"),
            "d": torch.empty((n, n), dtype=getattr(torch, dtype), device="cuda"),
            "e": cupy.empty((n, n), dtype), "f": cupy.empty((n, n), dtype),
        }  # fmt: skip
        for view, (to, source) in STRIDED.items():
            ours = f"ep.copy({to.format(a='a', n=n)}, {source.format(b='b')}, queue=queue); queue.wait()"
            torchs = f"{to.format(a='c', n=n)}.copy_({source.format(b='d')}); torch.cuda.synchronize()"
            cupys = f"{to.format(a='e', n=n)}[...] = {source.format(b='f')}; cupy.cuda.get_current_stream().synchronize()"
            found.append(Pair(f"{dtype}, {view}, against PyTorch", ours, torchs, 0.8, names))
            found.append(Pair(f"{dtype}, {view}, against CuPy", ours, cupys, 0.8, names))
    return found


def main() -> int:
    queue = ep.Queue("cuda:0")
    results = [measure(pair) for pair in [*transfers(queue), *strided(queue)]]
    print_table(results)
    return 0 if all(result.reached for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())

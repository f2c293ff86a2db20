"""CUDA: hand-overs against what the peers take among themselves, and copies against the best of PyTorch and CuPy.

`python -m benchmarks.cuda [exchange] [copies]` on a machine with a GPU. Both sides of a copy submit and wait, so a pair takes as
long as its copy; what CuPy and PyTorch are asked for is the same copy in their words.
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


def exchange() -> list[Pair]:
    """Device memory in and out, nothing pending; each against the same way between two peers."""
    from cuda.core.utils import StridedMemoryView

    ours = ep.zeros(1024, "float32", device="cuda:0")
    ours.queue.wait()
    names: dict[str, Any] = {
        "ep": ep, "torch": torch, "cupy": cupy, "view": StridedMemoryView.from_any_interface, "ours": ours,
        "tensor": torch.zeros(1024, device="cuda"), "complex_tensor": torch.zeros(1024, dtype=torch.complex64, device="cuda"),
        "array": cupy.zeros(1024, "float32"),
    }  # fmt: skip
    return [
        Pair("asarray(torch tensor), against cuda.core", "ep.asarray(tensor)", "view(tensor, -1)", 3, names),
        Pair("asarray(complex torch tensor)", "ep.asarray(complex_tensor)", "view(complex_tensor, -1)", 3, names),
        Pair("asarray(CuPy array), against cuda.core", "ep.asarray(array)", "view(array, -1)", 1.8, names),
        Pair("torch.from_dlpack(ours), of CuPy's", "torch.from_dlpack(ours)", "torch.from_dlpack(array)", 3, names),
        Pair("torch.as_tensor(ours), of CuPy's", "torch.as_tensor(ours)", "torch.as_tensor(array)", 1, names),
        Pair("cupy.from_dlpack(ours), of PyTorch's", "cupy.from_dlpack(ours)", "cupy.from_dlpack(tensor)", 4, names),
        Pair("cupy.asarray(ours), of PyTorch's", "cupy.asarray(ours)", "cupy.asarray(tensor)", 1.6, names),
        Pair("ours.__dlpack__(stream=1), of CuPy's", "ours.__dlpack__(stream=1)", "array.__dlpack__(stream=1)", 1, names),
        Pair(
            "ours.__cuda_array_interface__, of CuPy's",
            "ours.__cuda_array_interface__",
            "array.__cuda_array_interface__",
            1,
            names,
        ),
    ]


TOPICS = {"exchange": exchange, "copies": lambda: [*transfers(ep.Queue("cuda:0")), *strided(ep.Queue("cuda:0"))]}


def main() -> int:
    results = [measure(pair) for topic in sys.argv[1:] or TOPICS for pair in TOPICS[topic]()]
    print_table(results)
    return 0 if all(result.reached for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())

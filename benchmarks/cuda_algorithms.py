"""Kernels bound by memory, and the algorithms, on a CUDA device.

    python -m benchmarks.cuda bandwidth algorithms

The peers of ``bandwidth`` are a copy of as many bytes by the driver, PyTorch, and CUDA C++. Those
of ``algorithms`` are CuPy's functions, most of which call CUB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cupy
import numpy as np
import torch

import entrepot as ep
import entrepot.kernel as ek
from entrepot.kernel import algorithms

from .harness import Pair, Result, measure

SELECTOR = "cuda:0"
NUMBERS = 1 << 28
SIDE = 8192
SCANNED, SORTED = 1 << 26, 1 << 24

#: A thread computes ROWS rows of a column.
STENCIL = """
extern "C" __global__ void stencil(float *__restrict__ out, const float *__restrict__ a,
                                   long long n) {
    const long long first = ((long long)blockIdx.y * blockDim.y + threadIdx.y) * ROWS;
    const long long j = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (j < 1 || j >= n - 1)
        return;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const long long i = first + r;
        if (i > 0 && i < n - 1)
            out[i * n + j] = 0.25f * (a[(i - 1) * n + j] + a[(i + 1) * n + j] +
                                      a[i * n + j - 1] + a[i * n + j + 1]);
    }
}
"""
#: Rows of a thread, and the shape of a block.
VARIANTS = [(rows, block) for rows in (1, 2, 4, 8) for block in ((128, 1), (256, 1), (64, 4))]


@ek.kernel
def axpy(out, x, y, factor):
    i = ek.get_global_id(0)
    out[i] = factor * x[i] + y[i]


@ek.kernel
def stencil(out, a):
    i, j = ek.get_global_id(0), ek.get_global_id(1)
    if 0 < i and i < a.shape[0] - 1 and 0 < j and j < a.shape[1] - 1:
        out[i, j] = ek.float32(0.25) * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@ek.func
def add(x, y):
    return x + y


def _copied(elements: int, dtype: str) -> dict[str, Any]:
    """Names of a copy that reads and writes as many bytes as the elements have."""
    half = elements // 2
    return {
        "ep": ep, "to": ep.empty(half, dtype, device=SELECTOR),
        "source": ep.zeros(half, dtype, device=SELECTOR),
    }  # fmt: skip


_COPY = "ep.copy(to, source); queue.wait()"


def _sums(queue: ep.Queue) -> Iterator[Pair]:
    total = ek.reduce(lambda a, b: a + b, 0)
    scaled = ek.vectorize(lambda x, y: 2.5 * x + y)
    for dtype in ("float32", "float64"):
        ones = ep.full(NUMBERS, 1, dtype, device=SELECTOR)
        names = _copied(NUMBERS, dtype) | {
            "total": total, "ones": ones, "tensor": torch.from_dlpack(ones), "queue": queue,
        }  # fmt: skip
        what = f"sum of {NUMBERS:,} {dtype}"
        yield Pair(f"{what}, against a copy", "total(ones)", _COPY, 0.95, names)
        yield Pair(f"{what}, against PyTorch", "total(ones)", "tensor.sum().item()", 1, names)
        few = NUMBERS // 4
        x, y, out = (ep.full(few, 1, dtype, device=SELECTOR) for _ in range(3))
        names = _copied(3 * few, dtype) | {
            "torch": torch, "tensors": [torch.from_dlpack(each) for each in (x, y, out)],
            "scaled": scaled, "axpy": axpy[few], "x": x, "y": y, "out": out, "queue": queue,
            "factor": np.dtype(dtype).type(2.5),
        }  # fmt: skip
        what = f"2.5 * x + y of {few:,} {dtype}"
        ours = "scaled(x, y, out=out); queue.wait()"
        yield Pair(f"{what} by vectorize, against a copy", ours, _COPY, 1.0, names)
        peer = (
            "torch.add(tensors[1], tensors[0], alpha=2.5, out=tensors[2]); torch.cuda.synchronize()"
        )
        yield Pair(f"{what} by vectorize, against PyTorch", ours, peer, 1.0, names)
        ours = "axpy(out, x, y, factor); queue.wait()"
        yield Pair(f"{what} by a kernel, against a copy", ours, _COPY, 1.0, names)


def _stencils(queue: ep.Queue) -> Iterator[Pair]:
    a, out = (ep.full((SIDE, SIDE), 1, "float32", device=SELECTOR) for _ in range(2))
    names = _copied(2 * SIDE * SIDE, "float32") | {
        "stencil": stencil[(SIDE, SIDE), None], "a": a, "out": out, "queue": queue,
        "n": ep.Scalar(SIDE, "int64"),
    }  # fmt: skip
    ours = "stencil(out, a); queue.wait()"
    what = f"5-point stencil of {SIDE:,}²"
    yield Pair(f"{what}, against a copy", ours, _COPY, 0.8, names)
    for rows, block in VARIANTS:
        text = STENCIL.replace("ROWS", str(rows))
        threads = (-(-SIDE // rows), SIDE)
        whole = tuple(-(-n // b) * b for n, b in zip(threads, block[::-1], strict=True))
        launch = ep.Program(text, SELECTOR).kernel("stencil")[whole, block[::-1]]
        yield Pair(
            f"{what}, against CUDA C++ with {rows} rows in blocks of {block[0]} x {block[1]}",
            ours,
            "by_hand(out, a, n); queue.wait()",
            0.95,
            names | {"by_hand": launch},
        )


def bandwidth() -> list[Result]:
    queue = ep.device(SELECTOR).queue
    return [measure(pair) for pairs in (_sums, _stencils) for pair in pairs(queue)]


# Rows of a title, statements of Entrepot and CuPy, and the required ratio.
_SCANS = [
    ("inclusive_scan", "inclusive_scan(x, out=out)", "cupy.cumsum(c, out=c_out)", 0.9),
]
_SORTS = [
    ("sort", "sort(x)", "cupy.sort(c)", 0.9),
    ("argsort", "argsort(x)", "cupy.argsort(c)", 0.9),
]
_OF_SQUARES = [
    (f"{name} along axis {axis}", f"{ours}(x{middle}, axis={axis})", f"c.{peer}(axis={axis})", 0.9)
    for axis in (None, 0, 1)
    for name, ours, middle, peer in (
        ("a sum", "reduce", ", add, 0", "sum"),
        ("argmax", "argmax", "", "argmax"),
    )
]
_HISTOGRAMS = [
    ("select of half", "select(x, mask)", "c[c_mask]", 0.9),
    (
        "histogram of 100 bins",
        "histogram(x, 100, (0.0, 1.0))",
        "cupy.histogram(c, 100, (0, 1))",
        0.9,
    ),
]


def _algorithm_rows() -> Iterator[Pair]:
    random = np.random.default_rng(1)
    shared = vars(algorithms) | {"cupy": cupy, "add": add, "queue": ep.device(SELECTOR).queue}

    def rows_of(
        values: Any, rows: list[tuple[str, str, str, float]], **more: Any
    ) -> Iterator[Pair]:
        x = ep.asarray(values, copy=True, device=SELECTOR)
        names = shared | {"x": x, "c": cupy.asarray(values)} | more
        shape = " x ".join(f"{n:,}" for n in values.shape)
        for name, ours, peer, at_least in rows:
            yield Pair(
                f"{name}, {shape} {values.dtype}",
                f"{ours}; queue.wait()",
                f"{peer}; cupy.cuda.Device().synchronize()",
                at_least,
                names,
                "CuPy",
            )

    for dtype in ("int64", "float32"):
        values = random.integers(-1000, 1000, SCANNED).astype(dtype)
        out = {
            "out": ep.empty(SCANNED, dtype, device=SELECTOR),
            "c_out": cupy.empty(SCANNED, dtype),
        }
        yield from rows_of(values, _SCANS, **out)
    for dtype in ("int32", "int64", "float64"):
        yield from rows_of(random.integers(-(2**31), 2**31 - 1, SORTED).astype(dtype), _SORTS)
    yield from rows_of(random.random((SIDE, SIDE), "f4"), _OF_SQUARES)
    values = random.random(SCANNED)
    mask = values < 0.5
    masks = {"mask": ep.asarray(mask, copy=True, device=SELECTOR), "c_mask": cupy.asarray(mask)}
    yield from rows_of(values, _HISTOGRAMS, **masks)


def by_algorithm() -> list[Result]:
    return [measure(pair) for pair in _algorithm_rows()]


TOPICS: dict[str, Callable[[], list[Result]]] = {
    "bandwidth": bandwidth,
    "algorithms": by_algorithm,
}

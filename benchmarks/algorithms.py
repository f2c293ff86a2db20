"""Algorithms on arrays of the host, against NumPy's and Numba's."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

import entrepot as ep
from entrepot import kernel
from entrepot.kernel import algorithms

from .harness import Pair

NUMBERS = 1 << 24
SORTED = 1 << 22

NUMBA = """
import numba
import numpy as np

@numba.njit(parallel=True)
def scan(x, out):
    parts = numba.get_num_threads()
    size = x.size // parts
    totals = np.zeros(parts, x.dtype)
    for part in numba.prange(parts):
        total = x.dtype.type(0)
        for j in range(part * size, (part + 1) * size):
            total += x[j]
        totals[part] = total
    for part in numba.prange(parts):
        running = x.dtype.type(0)
        for before in range(part):
            running += totals[before]
        for j in range(part * size, x.size if part == parts - 1 else (part + 1) * size):
            running += x[j]
            out[j] = running

@numba.njit(parallel=True)
def select(x, mask):
    parts = numba.get_num_threads()
    size = x.size // parts
    counts = np.zeros(parts + 1, np.int64)
    for part in numba.prange(parts):
        count = 0
        for j in range(part * size, x.size if part == parts - 1 else (part + 1) * size):
            count += mask[j]
        counts[part + 1] = count
    ends = np.cumsum(counts)
    out = np.empty(ends[-1], x.dtype)
    for part in numba.prange(parts):
        at = ends[part]
        for j in range(part * size, x.size if part == parts - 1 else (part + 1) * size):
            if mask[j]:
                out[at] = x[j]
                at += 1
    return out
"""


@kernel.func
def add(x, y):
    return x + y


def _names() -> dict[str, Any]:
    random = np.random.default_rng(1)
    arrays = {
        "i64": random.integers(-1000, 1000, NUMBERS),
        "f32": random.random(NUMBERS, "f4"),
        "mask": random.random(NUMBERS) < 0.5,
        "keys32": random.integers(-(2**31), 2**31, SORTED, "i4"),
        "keys64": random.integers(-(2**63), 2**63 - 1, SORTED, "i8"),
        "floats": random.standard_normal(SORTED),
        "square": random.random((2048, 2048), "f4"),
        "flat": random.random(SORTED, "f4"),
        "offsets": np.arange(0, SORTED + 1, 4096),
        "out64": np.zeros(NUMBERS, "i8"),
        "out32": np.zeros(NUMBERS, "f4"),
    }
    ours = {name: ep.asarray(array, copy=True) for name, array in arrays.items()}
    names: dict[str, Any] = {f"np_{name}": array for name, array in arrays.items()}
    others = {"np": np, "queue": ours["i64"].queue, "add": add}
    return names | ours | others | vars(algorithms)


def pairs() -> list[Pair]:
    """Rows against NumPy, which uses one thread."""
    names = _names()
    scan = "inclusive_scan({0}, out={1}); queue.wait()"
    rows = [
        (
            f"host: inclusive_scan of {NUMBERS:,} int64, against np.cumsum",
            scan.format("i64", "out64"),
            "np.cumsum(np_i64, out=np_out64)",
        ),
        (
            f"host: inclusive_scan of {NUMBERS:,} float32, against np.cumsum",
            scan.format("f32", "out32"),
            "np.cumsum(np_f32, out=np_out32)",
        ),
        (
            f"host: select of half of {NUMBERS:,} int64, against x[mask]",
            "select(i64, mask); queue.wait()",
            "np_i64[np_mask]",
        ),
    ]
    rows += [
        (
            f"host: sort of {SORTED:,} {dtype}, against np.sort{', stable' if stable else ''}",
            f"sort({name}); queue.wait()",
            f"np.sort(np_{name}{stable})",
        )
        for name, dtype in (("keys32", "int32"), ("keys64", "int64"), ("floats", "float64"))
        for stable in ("", ", kind='stable'")
    ]
    rows += [
        (
            f"host: argsort of {SORTED:,} {dtype}, against np.argsort, stable",
            f"argsort({name}); queue.wait()",
            f"np.argsort(np_{name}, kind='stable')",
        )
        for name, dtype in (("keys32", "int32"), ("floats", "float64"))
    ]
    square = "of 2,048 x 2,048 float32 along axis"
    rows += [
        (
            f"host: reduce, a sum {square} {axis}, against np.sum",
            f"reduce(square, add, 0, axis={axis}); queue.wait()",
            f"np_square.sum(axis={axis})",
        )
        for axis in (0, 1)
    ]
    rows += [
        (
            f"host: argmax {square} {axis}, against np.argmax",
            f"argmax(square, {axis}); queue.wait()",
            f"np_square.argmax({axis})",
        )
        for axis in (0, 1)
    ]
    rows.append(
        (
            f"host: segmented_reduce, sums of 4,096 of {SORTED:,} float32, against np.add.reduceat",
            "segmented_reduce(flat, offsets, add, 0, check=False); queue.wait()",
            "np.add.reduceat(np_flat, np_offsets[:-1])",
        )
    )
    # Both sides of the first row are bound by the memory, which ours reads and writes once as well.
    # So are those of a sum along axis 0. In short rows of argmax, ours reads some elements twice.
    bounds = [0.75] + [1.0] * (len(rows) - 6) + [0.5, 1.0, 1.0, 0.2, 1.0]
    return [Pair(*row, bound, names, rounds=5) for row, bound in zip(rows, bounds, strict=True)]


def numba_pairs() -> list[Pair]:
    """Rows against Numba's parallel loops; none where it is not installed."""
    if importlib.util.find_spec("numba") is None:
        return []
    programs: dict[str, Any] = {}
    exec(NUMBA, programs)
    names = _names() | {"numba_scan": programs["scan"], "numba_select": programs["select"]}
    rows = [
        (
            f"host: inclusive_scan of {NUMBERS:,} int64",
            "inclusive_scan(i64, out=out64); queue.wait()",
            "numba_scan(np_i64, np_out64)",
        ),
        (
            f"host: inclusive_scan of {NUMBERS:,} float32",
            "inclusive_scan(f32, out=out32); queue.wait()",
            "numba_scan(np_f32, np_out32)",
        ),
        (
            f"host: select of half of {NUMBERS:,} int64",
            "select(i64, mask); queue.wait()",
            "numba_select(np_i64, np_mask)",
        ),
    ]
    for _, ours, peer in rows:
        for statement in (ours, peer):
            exec(statement, names)
    assert np.array_equal(names["out64"].numpy(), names["np_out64"])
    return [Pair(*row, 1, names, rounds=9, rest=0.03) for row in rows]

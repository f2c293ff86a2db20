"""Products of matrices by tile operations on a CUDA device, against PyTorch.

    python -m benchmarks.cuda tiles

PyTorch calls cuBLAS. The required ratio is for tensor cores; without them, the row tells how far
loops are from cuBLAS.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel import tile

from .harness import Pair, Result, measure

#: Rows of tiles whose groups follow each other, so that they share tiles in the L2 cache.
BAND = 8


@dataclass(frozen=True)
class Case:
    """A product: its dtype, the tiles, and the required ratio to PyTorch."""

    dtype: str
    precision: str
    rows: int
    columns: int
    depth: int
    stages: int  # tiles in local memory
    items: int  # work-items of a group
    at_least: float

    @property
    def title(self) -> str:
        return "tf32" if self.precision == "tf32" else self.dtype


CASES = [
    Case("bfloat16", "float32", 128, 256, 64, 4, 256, 0.6),
    Case("float16", "float32", 128, 256, 64, 4, 256, 0.6),
    Case("float32", "tf32", 256, 128, 32, 3, 256, 0.6),
    Case("float32", "float32", 128, 128, 16, 3, 128, 0.0),
    Case("float64", "float32", 128, 64, 16, 3, 128, 0.0),
]


def product_of(case: Case) -> Any:
    """The kernel of a case: tiles are multiplied while the next ones are loaded."""
    rows, columns, depth, stages = case.rows, case.columns, case.depth, case.stages
    ahead, precision = stages - 1, case.precision
    dtype, sums = case.dtype, "float64" if case.dtype == "float64" else "float32"

    @dppy.kernel
    def product(c, a, b):
        number = dppy.get_group_id(0)
        down, across = (c.shape[0] + rows - 1) // rows, (c.shape[1] + columns - 1) // columns
        band = number // (BAND * across)
        height = min(BAND, down - BAND * band)
        inside = number - BAND * band * across
        row, column = (BAND * band + inside % height) * rows, inside // height * columns
        a_tiles = dppy.local.array((stages, rows, depth), dtype)
        b_tiles = dppy.local.array((stages, depth, columns), dtype)
        total = tile.zeros((rows, columns), sums)
        steps = (a.shape[1] + depth - 1) // depth
        for step in range(ahead):
            if step < steps:
                tile.load_async(a_tiles[step], a, (row, step * depth))
                tile.load_async(b_tiles[step], b, (step * depth, column))
            tile.commit()
        now, later = 0, ahead
        for step in range(steps):
            tile.wait(ahead - 1)
            dppy.barrier()
            tile.matmul(a_tiles[now], b_tiles[now], total, precision)
            if step + ahead < steps:
                tile.load_async(a_tiles[later], a, (row, (step + ahead) * depth))
                tile.load_async(b_tiles[later], b, ((step + ahead) * depth, column))
            tile.commit()
            now = now + 1 if now + 1 < stages else 0
            later = later + 1 if later + 1 < stages else 0
        tile.store(c, (row, column), total)

    return product


def launch_of(case: Case, rows: int, columns: int) -> Any:
    """The launch for a result of that shape."""
    groups = -(-rows // case.rows) * -(-columns // case.columns)
    return product_of(case)[groups * case.items, case.items]


def _row(case: Case, side: int) -> Result:
    import torch

    dtype = getattr(torch, case.dtype)
    torch.backends.cuda.matmul.allow_tf32 = case.precision == "tf32"
    a, b = (torch.randn(side, side, device="cuda", dtype=dtype) for _ in range(2))
    ours, theirs = (torch.empty(side, side, device="cuda", dtype=dtype) for _ in range(2))
    launch, arguments = launch_of(case, side, side), [ep.asarray(each) for each in (ours, a, b)]
    launch(*arguments).wait()
    torch.matmul(a, b, out=theirs)
    torch.testing.assert_close(ours.double(), theirs.double(), rtol=1e-2, atol=1e-3 * side)
    names = {
        "launch": launch, "arguments": arguments, "torch": torch, "a": a, "b": b, "out": theirs,
    }  # fmt: skip
    return measure(
        Pair(
            f"product of {case.title}, {side}², against PyTorch",
            "launch(*arguments).wait()",
            "torch.matmul(a, b, out=out); torch.cuda.synchronize()",
            case.at_least,
            names,
            "PyTorch",
        )
    )


def tile_rows() -> list[Result]:
    import torch

    allowed = torch.backends.cuda.matmul.allow_tf32
    sides = (256,) if os.environ.get("ENTREPOT_SMALL_BENCHMARKS") else (4096, 8192)
    try:
        return [_row(case, side) for side in sides for case in CASES]
    finally:
        torch.backends.cuda.matmul.allow_tf32 = allowed

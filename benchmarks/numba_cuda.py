"""One program's kernels, compiled by Numba-CUDA and by entrepot.numba_cuda.

    python -m benchmarks.cuda numba_cuda

Both have the source of PROGRAM, of which only the imports differ, and equal arrays of their own.
Inputs are large, so that the launch is negligible; launches are timed by themselves. With
ENTREPOT_SMALL_BENCHMARKS=1 inputs are small. ``python -m benchmarks.numba_cuda`` runs the side of
entrepot alone on the current device, and prints the times of its kernels.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .harness import Pair, Result, Side, calls_of, measure, short_rounds_ns

IMPORTS = {
    "numba": "from numba import cuda, float32, int32\n"
    "from numba.cuda.random import (create_xoroshiro128p_states,\n"
    "    xoroshiro128p_uniform_float32)\n",
    "entrepot": "from entrepot import numba_cuda as cuda\n"
    "from entrepot.kernel import float32, int32\n"
    "from entrepot.numba_cuda.random import (create_xoroshiro128p_states,\n"
    "    xoroshiro128p_uniform_float32)\n",
}

PROGRAM = """
import math

@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = a * x[i] + y[i]

@cuda.jit
def grid_stride(a, x, y):
    for i in range(cuda.grid(1), y.size, cuda.gridsize(1)):
        y[i] = a * x[i] + y[i]

@cuda.jit(device=True)
def cdf(x):
    return 0.5 + 0.5 * math.erf(x * math.sqrt(0.5))

@cuda.jit
def black_scholes(price, strike, years, call, put):
    i = cuda.grid(1)
    if i < price.size:
        root = 0.2 * math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (0.1 + 0.5 * 0.2 * 0.2) * years[i]) / root
        discounted = strike[i] * math.exp(-0.1 * years[i])
        value = price[i] * cdf(d1) - discounted * cdf(d1 - root)
        call[i] = value
        put[i] = value - price[i] + discounted

@cuda.jit
def matmul(a, b, c):
    j, i = cuda.grid(2)
    row, column = cuda.threadIdx.y, cuda.threadIdx.x
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    total = float32(0)
    for tile in range(a.shape[1] // 16):
        a_tile[row, column] = a[i, tile * 16 + column]
        b_tile[row, column] = b[tile * 16 + row, j]
        cuda.syncthreads()
        for k in range(16):
            total += a_tile[row, k] * b_tile[k, column]
        cuda.syncthreads()
    c[i, j] = total

@cuda.jit
def transpose(a, out):
    tile = cuda.shared.array((32, 33), float32)
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    y = cuda.blockIdx.y * 32 + cuda.threadIdx.y
    for k in range(0, 32, 8):
        tile[cuda.threadIdx.y + k, cuda.threadIdx.x] = a[y + k, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * 32 + cuda.threadIdx.x
    y = cuda.blockIdx.x * 32 + cuda.threadIdx.y
    for k in range(0, 32, 8):
        out[y + k, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y + k]

@cuda.jit
def block_sums(a, sums):
    own = cuda.threadIdx.x
    part = cuda.shared.array(256, float32)
    part[own] = a[cuda.grid(1)]
    stride = 128
    while stride > 0:
        cuda.syncthreads()
        if own < stride:
            part[own] += part[own + stride]
        stride //= 2
    if own == 0:
        sums[cuda.blockIdx.x] = part[0]

@cuda.jit
def warp_sums(a, sums):
    i = cuda.grid(1)
    total = a[i]
    offset = 16
    while offset > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, offset)
        offset //= 2
    if cuda.laneid == 0:
        sums[i // 32] = total

@cuda.jit
def histogram(values, counts):
    own = cuda.shared.array(256, int32)
    own[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(own, values[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(counts, cuda.threadIdx.x, own[cuda.threadIdx.x])

@cuda.jit
def heat(now, after):
    j, i = cuda.grid(2)
    if 0 < i < now.shape[0] - 1 and 0 < j < now.shape[1] - 1:
        around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
        after[i, j] = now[i, j] + float32(0.2) * (around - float32(4) * now[i, j])

@cuda.jit
def mandelbrot(image, left, bottom, width, height):
    j, i = cuda.grid(2)
    if i < image.shape[0] and j < image.shape[1]:
        re = left + width * j / image.shape[1]
        im = bottom + height * i / image.shape[0]
        x, y = 0.0, 0.0
        steps = 0
        while steps < 100 and x * x + y * y < 4.0:
            x, y = x * x - y * y + re, 2.0 * x * y + im
            steps += 1
        image[i, j] = steps

@cuda.jit
def n_body(places, forces):
    i = cuda.grid(1)
    if i < places.shape[0]:
        x, y, z = places[i, 0], places[i, 1], places[i, 2]
        ax, ay, az = float32(0), float32(0), float32(0)
        for j in range(places.shape[0]):
            dx, dy, dz = places[j, 0] - x, places[j, 1] - y, places[j, 2] - z
            square = dx * dx + dy * dy + dz * dz + float32(0.01)
            inverse = float32(1) / math.sqrt(square)
            cube = inverse * inverse * inverse
            ax += dx * cube
            ay += dy * cube
            az += dz * cube
        forces[i, 0] = ax
        forces[i, 1] = ay
        forces[i, 2] = az

@cuda.jit
def monte_carlo(states, rounds, out):
    i = cuda.grid(1)
    inside = 0
    for k in range(rounds):
        x = xoroshiro128p_uniform_float32(states, i)
        y = xoroshiro128p_uniform_float32(states, i)
        if x * x + y * y <= 1.0:
            inside += 1
    out[i] = 4.0 * inside / rounds

@cuda.jit
def four_arrays(a, b, c, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i] + c[i]
"""


@dataclass(frozen=True)
class Work:
    """A launch of PROGRAM: the grid, the block, the arguments on the host, and which is written."""

    title: str
    grid: Any
    block: Any
    arguments: list[Any]
    written: int


def _small() -> bool:
    return bool(os.environ.get("ENTREPOT_SMALL_BENCHMARKS"))


def _work() -> dict[str, Work]:
    random = np.random.default_rng(0)
    n, side, bodies, rounds = (1 << 12, 64, 256, 10) if _small() else (1 << 26, 4096, 1 << 16, 1000)
    states = 256 if _small() else 1 << 16
    numbers, matrix = random.random(n, "f4"), random.random((side, side), "f4")
    options = [random.random(n // 4) + 0.5 for _ in range(3)]
    zeros = np.zeros_like
    tiles = (side // 16, side // 16)
    return {
        "saxpy": Work(f"saxpy, {n:,}", n // 256, 256, [2.0, numbers, numbers], 2),
        "grid_stride": Work(f"grid stride, {n:,}", 1024, 256, [2.0, numbers, numbers], 2),
        "black_scholes": Work(
            f"Black–Scholes, {n // 4:,}",
            n // 1024,
            256,
            [*options, zeros(options[0]), zeros(options[0])],
            4,
        ),
        "matmul": Work(
            f"matmul in tiles, {side}²", tiles, (16, 16), [matrix, matrix, zeros(matrix)], 2
        ),
        "transpose": Work(
            f"transpose, {side}²", (side // 32, side // 32), (32, 8), [matrix, zeros(matrix)], 1
        ),
        "block_sums": Work(
            f"sums of blocks, {n:,}", n // 256, 256, [numbers, np.zeros(n // 256, "f4")], 1
        ),
        "warp_sums": Work(
            f"sums of warps, {n:,}", n // 256, 256, [numbers, np.zeros(n // 32, "f4")], 1
        ),
        "histogram": Work(
            f"histogram, {n:,}",
            1024,
            256,
            [(numbers * 256).astype("i4"), np.zeros(256, "i4")],
            1,
        ),
        "heat": Work(f"heat, {side}²", tiles, (16, 16), [matrix, zeros(matrix)], 1),
        "mandelbrot": Work(
            f"Mandelbrot, {side}²",
            tiles,
            (16, 16),
            [np.zeros((side, side), "i4"), -2.0, -1.5, 3.0, 3.0],
            0,
        ),
        "n_body": Work(
            f"n-body, {bodies:,}",
            bodies // 256,
            256,
            [random.random((bodies, 3), "f4"), np.zeros((bodies, 3), "f4")],
            1,
        ),
        "monte_carlo": Work(
            f"Monte Carlo, {states:,} states",
            states // 256,
            256,
            ["states", rounds, np.zeros(states, "f4")],
            2,
        ),
    }


class Implementation:
    """The program with one of the imports, and its arrays."""

    def __init__(self, name: str, folder: Path) -> None:
        (folder / f"program_of_{name}.py").write_text(IMPORTS[name] + PROGRAM)
        sys.path.insert(0, str(folder))
        self.module: ModuleType = importlib.import_module(f"program_of_{name}")
        self.cuda = self.module.cuda

    def arguments(self, work: Work) -> list[Any]:
        """The arguments on the device."""
        states = work.arguments[work.written].size
        return [
            self.module.create_xoroshiro128p_states(states, seed=1)
            if isinstance(each, str)
            else self.cuda.to_device(each)
            if isinstance(each, np.ndarray)
            else each
            for each in work.arguments
        ]

    def launch(self, name: str, work: Work, arguments: list[Any]) -> Callable[[], None]:
        """A function that submits the kernel."""
        kernel, grid, block = getattr(self.module, name), work.grid, work.block
        return lambda: kernel[grid, block](*arguments)


def _same(name: str, ours: Any, theirs: Any) -> None:
    """Both sides compute the same numbers."""
    if name == "mandelbrot":
        assert (ours != theirs).mean() < 1e-3
        return
    # Sums of many numbers cancel in places, so errors are compared with the largest one.
    atol = 1e-4 * float(np.abs(theirs).max())
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=atol, err_msg=name)


def _row(name: str, work: Work, ours: Implementation, theirs: Implementation) -> Result:
    names: dict[str, Any] = {}
    results = []
    for side, each in (("ours", ours), ("theirs", theirs)):
        arguments = each.arguments(work)
        names[side] = each.launch(name, work, arguments)
        names[side]()
        each.cuda.synchronize()
        results.append(arguments[work.written].copy_to_host())
        names[f"end_of_{side}"] = each.cuda.synchronize
    _same(name, *results)
    return measure(
        Pair(
            f"{work.title}, against Numba-CUDA",
            "ours(); end_of_ours()",
            "theirs(); end_of_theirs()",
            0.95,
            names,
            "Numba-CUDA",
        )
    )


#: A launch with arrays on the device, and what it costs beside its kernel.
LAUNCHES = {
    "launch of 4 arrays": "kernel[4, 64](a, b, c, d)",
    "launch of 4 arrays, configured before": "launch(a, b, c, d)",
    "launch of 4 arrays in a stream": "kernel[4, 64, stream](a, b, c, d)",
}


def _launch_rows(ours: Implementation, theirs: Implementation) -> list[Result]:
    rows = []
    for what, statement in LAUNCHES.items():
        sides: dict[str, Side] = {}
        for side, each in (("ours", ours), ("theirs", theirs)):
            kernel = each.module.four_arrays
            arrays = [each.cuda.to_device(np.zeros(16, "f4")) for _ in range(4)]
            names = {
                "kernel": kernel,
                "launch": kernel[4, 64],
                "stream": each.cuda.stream(),
                **dict(zip("abcd", arrays, strict=True)),
            }
            sides[side] = calls_of(statement, names), each.cuda.synchronize
        ns = short_rounds_ns(sides, theirs.cuda.synchronize)
        pair = Pair(f"{what}, against Numba-CUDA", "", "", 3, peer_name="Numba-CUDA")
        rows.append(Result(pair, ns["ours"], ns["theirs"]))
    return rows


def results() -> list[Result]:
    """Rows of kernels and of launches, against Numba-CUDA on device 0."""
    with tempfile.TemporaryDirectory(prefix="entrepot-benchmark-") as name:
        ours, theirs = (Implementation(each, Path(name)) for each in ("entrepot", "numba"))
        rows = [_row(kernel, work, ours, theirs) for kernel, work in _work().items()]
        return [*rows, *_launch_rows(ours, theirs)]


def main() -> None:
    """Runs the side of entrepot alone, and prints the time of each kernel."""
    with tempfile.TemporaryDirectory(prefix="entrepot-benchmark-") as name:
        ours = Implementation("entrepot", Path(name))
        print(f"on {ours.cuda.get_current_device()}")
        for kernel, work in _work().items():
            launch = ours.launch(kernel, work, ours.arguments(work))
            launch()
            ours.cuda.synchronize()
            start = time.perf_counter()
            launch()
            ours.cuda.synchronize()
            print(f"{work.title:32} {1e3 * (time.perf_counter() - start):10.3f} ms")


if __name__ == "__main__":
    main()

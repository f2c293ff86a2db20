"""Kernels from Python on a CUDA device, against CUDA C++, Triton and Numba-CUDA.

    python -m benchmarks.cuda kernels

Launches and first calls are timed as well. Inputs are large, so that the launch is negligible.
Hand-written code is built by the same NVRTC and launched in the same way, so that only the code
differs. A library that is not installed, or does not compile here, gives no rows. Triton's rows
have no required ratio, because it works on tiles and not on work-items, and uses other algorithms.
"""

from __future__ import annotations

import importlib
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import entrepot as ep
import entrepot.kernel as dppy

from .harness import Pair, Result, Side, calls_of, measure, short_rounds_ns
from .kernels import PLACE, black_scholes, mandelbrot, matmul, pairwise_distance, reductions

SELECTOR = "cuda:0"
#: Steps of a copy's source: every second row, every third column.
STEPS = (2, 3)
GROUP = reductions.GROUP

CUDA = r"""
using L = long long;
__device__ double cdf(double x) { return 0.5 + 0.5 * erf(x * sqrt(0.5)); }
extern "C" __global__ void black_scholes(const double *__restrict__ price,
                                         const double *__restrict__ strike,
                                         const double *__restrict__ years,
                                         double *__restrict__ call, double *__restrict__ put,
                                         L n) {
    const L i = (L)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const double root = 0.2 * sqrt(years[i]);
    const double d1 = (log(price[i] / strike[i]) + (0.1 + 0.5 * 0.2 * 0.2) * years[i]) / root;
    const double discounted = strike[i] * exp(-0.1 * years[i]);
    const double value = price[i] * cdf(d1) - discounted * cdf(d1 - root);
    call[i] = value;
    put[i] = value - price[i] + discounted;
}
extern "C" __global__ void pairwise(const double *__restrict__ points,
                                    double *__restrict__ distances, L n, L d) {
    const L i = (L)blockIdx.y * blockDim.y + threadIdx.y;
    const L j = (L)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= n)
        return;
    double total = 0;
    for (L k = 0; k < d; ++k) {
        const double difference = points[i * d + k] - points[j * d + k];
        total += difference * difference;
    }
    distances[i * n + j] = sqrt(total);
}
extern "C" __global__ void matmul(const float *__restrict__ a, const float *__restrict__ b,
                                  float *__restrict__ c, L n) {
    __shared__ float at[16][16], bt[16][16];
    const L i = (L)blockIdx.y * 16 + threadIdx.y, j = (L)blockIdx.x * 16 + threadIdx.x;
    const int li = threadIdx.y, lj = threadIdx.x;
    float total = 0;
    for (L t = 0; t < n / 16; ++t) {
        at[li][lj] = a[i * n + t * 16 + lj];
        bt[li][lj] = b[(t * 16 + li) * n + j];
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            total += at[li][k] * bt[k][lj];
        __syncthreads();
    }
    c[i * n + j] = total;
}
extern "C" __global__ void reduction(const float *__restrict__ a, float *__restrict__ sums) {
    __shared__ float part[256];
    const unsigned own = threadIdx.x;
    part[own] = a[(L)blockIdx.x * 256 + own];
    for (unsigned stride = 128; stride > 0; stride /= 2) {
        __syncthreads();
        if (own < stride)
            part[own] += part[own + stride];
    }
    if (own == 0)
        sums[blockIdx.x] = part[0];
}
extern "C" __global__ void mandelbrot(int *__restrict__ image, double left, double bottom,
                                      double width, double height, L rows, L columns) {
    const L i = (L)blockIdx.y * blockDim.y + threadIdx.y;
    const L j = (L)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows || j >= columns)
        return;
    const double re = left + width * j / columns, im = bottom + height * i / rows;
    double x = 0, y = 0;
    int steps = 0;
    while (steps < 100 && x * x + y * y < 4.0) {
        const double next = x * x - y * y + re;
        y = 2.0 * x * y + im;
        x = next;
        ++steps;
    }
    image[i * columns + j] = steps;
}
extern "C" __global__ void strided_copy(const float *__restrict__ from, float *__restrict__ to,
                                        L rows, L columns, L from_row, L from_column, L to_row,
                                        L to_column) {
    const L i = (L)blockIdx.y * blockDim.y + threadIdx.y;
    const L j = (L)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows && j < columns)
        to[i * to_row + j * to_column] = from[i * from_row + j * from_column];
}
extern "C" __global__ void four_arrays(const float *__restrict__ a, const float *__restrict__ b,
                                       const float *__restrict__ c, float *__restrict__ out, L n) {
    const L i = (L)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a[i] + b[i] + c[i];
}
"""

NUMBA = """
import math
from numba import cuda, float32

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
def pairwise(points, distances):
    j, i = cuda.grid(2)
    if i < points.shape[0] and j < points.shape[0]:
        total = 0.0
        for k in range(points.shape[1]):
            difference = points[i, k] - points[j, k]
            total += difference * difference
        distances[i, j] = math.sqrt(total)

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
def reduction(a, sums):
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
def strided_copy(a, b):
    j, i = cuda.grid(2)
    if i < b.shape[0] and j < b.shape[1]:
        b[i, j] = a[i, j]

@cuda.jit
def four_arrays(a, b, c, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i] + c[i]
"""

# Triton reads the source of its functions from a file.
TRITON = """
import triton
import triton.language as tl

@triton.jit
def cdf(x):
    return 0.5 + 0.5 * tl.erf(x * 0.7071067811865476)

@triton.jit
def black_scholes(price, strike, years, call, put, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    p = tl.load(price + i, inside, 1.0)
    s = tl.load(strike + i, inside, 1.0)
    t = tl.load(years + i, inside, 1.0)
    root = 0.2 * tl.sqrt(t)
    d1 = (tl.log(p / s) + (0.1 + 0.5 * 0.2 * 0.2) * t) / root
    discounted = s * tl.exp(-0.1 * t)
    value = p * cdf(d1) - discounted * cdf(d1 - root)
    tl.store(call + i, value, inside)
    tl.store(put + i, value - p + discounted, inside)

@triton.jit
def pairwise(points, distances, n, d, BLOCK: tl.constexpr):
    i = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float64)
    for k in range(d):
        first = tl.load(points + i * d + k, i < n, 0.0)
        second = tl.load(points + j * d + k, j < n, 0.0)
        difference = first[:, None] - second[None, :]
        total += difference * difference
    inside = (i < n)[:, None] & (j < n)[None, :]
    tl.store(distances + i[:, None] * n + j[None, :], tl.sqrt(total), inside)

@triton.jit
def matmul(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, n, 32):
        k = start + tl.arange(0, 32)
        left = tl.load(a + i[:, None] * n + k[None, :])
        right = tl.load(b + k[:, None] * n + j[None, :])
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + i[:, None] * n + j[None, :], total)

@triton.jit
def mandelbrot(image, left: tl.constexpr, bottom: tl.constexpr, width: tl.constexpr,
               height: tl.constexpr, rows, columns, BLOCK: tl.constexpr):
    i = tl.program_id(1).to(tl.int64)
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    re = left + width * j.to(tl.float64) / columns
    im = bottom + height * i.to(tl.float64) / rows
    x, y = tl.zeros((BLOCK,), tl.float64), tl.zeros((BLOCK,), tl.float64)
    steps, turn, some = tl.zeros((BLOCK,), tl.int32), 0, 1
    while (turn < 100) & (some > 0):  # a tile goes on while one of its points does
        goes_on = x * x + y * y < 4.0
        steps += goes_on.to(tl.int32)
        x, y = tl.where(goes_on, x * x - y * y + re, x), tl.where(goes_on, 2.0 * x * y + im, y)
        turn += 1
        some = tl.max(goes_on.to(tl.int32), 0)
    tl.store(image + i * columns + j, steps, j < columns)

@triton.jit
def reduction(a, sums, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(sums + tl.program_id(0), tl.sum(tl.load(a + i)))

@triton.jit
def strided_copy(a, b, rows, columns, from_row, from_column, to_row, to_column,
                 BLOCK: tl.constexpr):
    i = tl.program_id(1).to(tl.int64)
    j = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = j < columns
    value = tl.load(a + i * from_row + j * from_column, inside)
    tl.store(b + i * to_row + j * to_column, value, inside)

@triton.jit
def four_arrays(a, b, c, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    total = tl.load(a + i, inside) + tl.load(b + i, inside) + tl.load(c + i, inside)
    tl.store(out + i, total, inside)
"""


@dppy.kernel
def strided_copy(a, b):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    b[i, j] = a[i, j]


@dppy.kernel
def four_arrays(a, b, c, out):
    i = dppy.get_global_id(0)
    out[i] = a[i] + b[i] + c[i]


@dataclass(frozen=True)
class Sizes:
    """How much is computed."""

    options: int
    points: int
    side: int
    numbers: int
    image: tuple[int, int]
    copied: tuple[int, int]


LARGE = Sizes(1 << 25, 1 << 13, 4096, 1 << 28, (8192, 8192), (8192, 8192))
#: Small inputs, for a trial run or a slow device.
SMALL = Sizes(1000, 100, 64, 1 << 12, (60, 70), (50, 70))


def sizes() -> Sizes:
    return SMALL if os.environ.get("ENTREPOT_SMALL_BENCHMARKS") else LARGE


@dataclass(frozen=True)
class Work:
    """A kernel of the benchmark: our launch, its arguments on the device, which of them it writes,
    and what peers are told.
    """

    title: str
    launch: Any
    arguments: list[Any]
    written: int
    range: Any
    local: Any
    tail: list[int]

    def result(self) -> Any:
        return self.arguments[self.written].copy_to_host().numpy()

    def forget(self) -> None:
        """So that a peer that writes nothing is found out."""
        ep.fill(self.arguments[self.written], 0).wait()


def _on_device(values: Any) -> ep.Array:
    return ep.asarray(values, device=SELECTOR, copy=True)


def _empty(shape: Any, dtype: str) -> ep.Array:
    return ep.empty(shape, dtype, device=SELECTOR)


def _black_scholes(of: Sizes) -> Work:
    n = of.options
    arrays = [
        *map(_on_device, black_scholes.options(n)),
        _empty(n, "float64"),
        _empty(n, "float64"),
    ]
    return Work(
        f"Black–Scholes, {n:,} options",
        black_scholes.black_scholes[n],
        arrays,
        4,
        n,
        256,
        [n],
    )


def _pairwise(of: Sizes) -> Work:
    n = of.points
    arrays = [_on_device(np.random.default_rng(0).random((n, 3))), _empty((n, n), "float64")]
    launch = pairwise_distance.pairwise_distance[(n, n), None]
    return Work(f"pairwise distance, {n:,} points", launch, arrays, 1, (n, n), (1, 256), [n, 3])


def _matmul(of: Sizes) -> Work:
    n, random = of.side, np.random.default_rng(0)
    arrays = [
        *(_on_device(random.random((n, n), "f4")) for _ in range(2)),
        _empty((n, n), "float32"),
    ]
    launch = matmul.matmul_in_tiles[(n, n), (16, 16)]
    return Work(f"matmul with local memory, {n}²", launch, arrays, 2, (n, n), (16, 16), [n])


def _reduction(of: Sizes) -> Work:
    n = of.numbers
    arrays = [_on_device(np.random.default_rng(0).random(n, "f4")), _empty(n // GROUP, "float32")]
    launch = reductions.sums_of_groups[n, GROUP]
    return Work(f"reduction of {n:,} float32", launch, arrays, 1, n, GROUP, [])


def _mandelbrot(of: Sizes) -> Work:
    arguments = [_empty(of.image, "int32"), *(ep.Scalar(each, "float64") for each in PLACE)]
    launch = mandelbrot.mandelbrot[of.image, None]
    return Work(
        f"Mandelbrot, {of.image[0]} × {of.image[1]}",
        launch,
        arguments,
        0,
        of.image,
        (1, 256),
        list(of.image),
    )


def _strided_copy(of: Sizes) -> Work:
    rows, columns = of.copied
    whole = _on_device(np.random.default_rng(0).random((rows * STEPS[0], columns * STEPS[1]), "f4"))
    arrays = [whole[:: STEPS[0], :: STEPS[1]], _empty(of.copied, "float32")]
    tail = [rows, columns, *arrays[0].strides, *arrays[1].strides]
    launch = strided_copy[of.copied, None]
    return Work(f"strided copy to {rows} × {columns}", launch, arrays, 1, of.copied, (1, 256), tail)


WORK: dict[str, Callable[[Sizes], Work]] = {
    "black_scholes": _black_scholes, "pairwise": _pairwise, "matmul": _matmul,
    "reduction": _reduction,
    "mandelbrot": _mandelbrot, "strided_copy": _strided_copy,
}  # fmt: skip


def _groups(work: Work) -> tuple[Any, Any]:
    """The range rounded up to whole groups, slowest dimension first, and the group."""
    extents = work.range if isinstance(work.range, tuple) else (work.range,)
    local = work.local if isinstance(work.local, tuple) else (work.local,)
    return tuple(-(-n // each) * each for n, each in zip(extents, local, strict=True)), local


# A call that submits the peer's work, and a function that waits for it.
Peer = tuple[Callable[[], object], Callable[[], object]]


def hand_written(name: str, work: Work) -> Peer:
    """CUDA C++ built by the NVRTC that Entrepot uses."""
    extents, local = _groups(work)
    launch = ep.Program(CUDA, SELECTOR).kernel(name)[extents, local]
    arguments = [*work.arguments, *(ep.Scalar(each, "int64") for each in work.tail)]
    return lambda: launch(*arguments), ep.device(SELECTOR).queue.wait


def cupy(name: str, work: Work) -> Peer | None:
    """The hand-written source, built and launched by CuPy."""
    try:
        import cupy
    except ImportError:
        return None
    extents, local = _groups(work)
    blocks = tuple(n // each for n, each in zip(extents, local, strict=True))
    kernel = cupy.RawKernel(CUDA, name)
    arguments = (*(cupy.asarray(each) for each in work.arguments), *work.tail)
    return lambda: kernel(
        blocks[::-1], local[::-1], arguments
    ), cupy.cuda.get_current_stream().synchronize


def numba_cuda(name: str, work: Work) -> Peer | None:
    try:
        from numba import cuda
    except ImportError:
        return None
    names: dict[str, Any] = {}
    exec(NUMBA, names)
    extents, local = _groups(work)
    blocks = tuple(n // each for n, each in zip(extents, local, strict=True))
    launch = names[name][blocks[::-1], local[::-1]]
    arguments = [
        cuda.as_cuda_array(each) if isinstance(each, ep.Array) else each.value
        for each in work.arguments
    ]
    return lambda: launch(*arguments), cuda.synchronize


def triton_module(folder: Path) -> ModuleType | None:
    try:
        import triton  # noqa: F401
    except ImportError:
        return None
    (folder / "triton_kernels.py").write_text(TRITON)
    sys.path.insert(0, str(folder))
    return importlib.import_module("triton_kernels")


def triton(name: str, work: Work, module: ModuleType | None) -> Peer | None:
    """Triton's program, where it expresses the kernel."""
    if module is None or not hasattr(module, name):
        return None
    import torch

    tensors = [
        torch.from_dlpack(each) if isinstance(each, ep.Array) else each.value
        for each in work.arguments
    ]
    tail, block = (
        work.tail,
        {"pairwise": 32, "matmul": 64, "mandelbrot": 256, "reduction": GROUP}.get(name, 1024),
    )
    extents = work.range if isinstance(work.range, tuple) else (work.range,)
    tiles = (
        [extents[0]]
        if name in ("strided_copy", "mandelbrot")
        else [-(-n // block) for n in extents[:-1]]
    )
    grid = (-(-extents[-1] // block), *tiles[::-1])
    launch = getattr(module, name)[grid]
    return lambda: launch(*tensors, *tail, BLOCK=block), torch.cuda.synchronize


def _check(name: str, expected: Any, found: Any) -> None:
    """A peer that computes something else proves nothing."""
    if name == "mandelbrot":
        assert (expected != found).mean() < 1e-3
        return
    np.testing.assert_allclose(expected, found, rtol=1e-4, atol=1e-9, err_msg=name)


_said: set[tuple[str, str]] = set()


def say_once(name: str, what: str, error: Exception) -> None:
    """Why a peer does not run; the same reason a second time is not said."""
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    if (name, reason) not in _said:
        _said.add((name, reason))
        print(f"{name} does not run {what}: {reason}", file=sys.stderr)


def _tried(name: str, what: str, made: Callable[[], Peer | None]) -> Peer | None:
    """The peer after a first call; None where it is not here, or does not do this here."""
    try:
        peer = made()
        if peer is not None:
            peer[0]()
            peer[1]()
        return peer
    except Exception as error:
        say_once(name, what, error)
        return None


def _rows_of(name: str, module: ModuleType | None) -> list[Result]:
    work = WORK[name](sizes())
    work.launch(*work.arguments).wait()
    expected = work.result()
    peers: list[tuple[str, float, Callable[[], Peer | None]]] = [
        ("CUDA C++", 0.97, lambda: hand_written(name, work)),
        ("Numba-CUDA", 1.0, lambda: numba_cuda(name, work)),
        ("Triton", 0.0, lambda: triton(name, work, module)),
    ]
    results = []
    for peer_name, at_least, made in peers:
        work.forget()
        peer = _tried(peer_name, name, made)
        if peer is None:
            continue
        _check(name, expected, work.result())
        names = {
            "launch": work.launch,
            "arguments": work.arguments,
            "call": peer[0],
            "end": peer[1],
        }
        what = f"{work.title}, against {peer_name}"
        results.append(
            measure(
                Pair(what, "launch(*arguments).wait()", "call(); end()", at_least, names, peer_name)
            )
        )
    return results


def kernel_rows() -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="entrepot-benchmark-") as folder:
        module = triton_module(Path(folder))
        return [row for name in WORK for row in _rows_of(name, module)]


#: Allowed difference to the driver's own time of a launch.
LAUNCH_MARGIN_NS = 600


def launch_rows(driver: Any, synchronize: Callable[[], object]) -> list[Result]:
    """Asynchronous launches of a compiled kernel with four arrays.

    The driver's side is `driver_launch_of_four` of benchmarks/cpp, with as many parameters. The
    arrays and their queue are private: the peers have arrays of their own. The handle of the shared
    queue has been exported, so each launch there records its event at once. The first exchange that
    exports the device's default queue makes it a shared one. CuPy has imported the exported arrays,
    so its stream and the queue wait for each other at each launch.
    """
    queue, shared_queue = ep.Queue(SELECTOR), ep.Queue(SELECTOR)
    shared_queue.__cuda_stream__()
    arrays, shared, exported, of_peers = (
        [ep.zeros(16, "float32", queue=each) for _ in range(4)]
        for each in (queue, shared_queue, queue, queue)
    )
    launch = four_arrays[16]
    for each in (arrays, shared, exported, of_peers):
        launch(*each).wait()

    def nothing() -> None:
        """Preparation of a round that needs none."""

    def of(call: Callable[[], object]) -> Side:
        return calls_of("call()", {"call": call}), nothing

    sides: dict[str, Side] = {
        "ours": (
            calls_of(
                "launch(a, b, c, d)", {"launch": launch, **dict(zip("abcd", arrays, strict=True))}
            ),
            nothing,
        ),
        "shared queue": (
            calls_of(
                "launch(a, b, c, d)", {"launch": launch, **dict(zip("abcd", shared, strict=True))}
            ),
            nothing,
        ),
    }
    held_by_cupy = _tried(
        "CuPy",
        "four_arrays",
        lambda: cupy("four_arrays", Work("", launch, exported, 3, 16, 16, [16])),
    )
    if held_by_cupy is not None:
        names = {"launch": launch, **dict(zip("abcd", exported, strict=True))}
        sides["exported"] = (calls_of("launch(a, b, c, d)", names), nothing)
    work = Work("", launch, of_peers, 3, 16, 16, [16])
    with tempfile.TemporaryDirectory(prefix="entrepot-benchmark-") as folder:
        module = triton_module(Path(folder))
        peers: dict[str, Callable[[], Peer | None]] = {
            "CuPy": lambda: cupy("four_arrays", work),
            "Triton": lambda: triton("four_arrays", work, module),
            "Numba-CUDA": lambda: numba_cuda("four_arrays", work),
        }
        for name, made in peers.items():
            peer = _tried(name, "four_arrays", made)
            if peer is not None:
                sides[name] = of(peer[0])
    if driver is not None:
        sides["driver"] = (
            lambda calls: driver.driver_launch_of_four(arrays[0].data_ptr, calls),
            nothing,
        )
        sides["driver, two waits"] = (
            lambda calls: driver.driver_launch_between_waits(arrays[0].data_ptr, calls),
            nothing,
        )
    ns = short_rounds_ns(sides, synchronize)
    found = [
        Result(Pair(f"launch of 4 Arrays, against {peer}", "", "", 1), ns["ours"], ns[peer])
        for peer in peers
        if peer in ns
    ]
    if driver is not None:
        at_least = ns["driver"] / (ns["driver"] + LAUNCH_MARGIN_NS)
        found.append(
            Result(
                Pair("launch of 4 Arrays, within 0.6 µs of cuLaunchKernel", "", "", at_least),
                ns["ours"],
                ns["driver"],
            )
        )
        found.append(
            Result(
                Pair("launch of 4 Arrays, shared queue", "", "", 0),
                ns["shared queue"],
                ns["driver"],
            )
        )
        if "exported" in ns:
            what = "launch of 4 Arrays that CuPy has too, of the driver's calls"
            found.append(Result(Pair(what, "", "", 0), ns["exported"], ns["driver, two waits"]))
    return found


_FIRST_CALL = """
import time
{imports}
start = time.perf_counter()
{call}
print(time.perf_counter() - start)
"""
_FIRST_CALLS = {
    "ours": (
        "import entrepot as ep, entrepot.kernel as dppy\n"
        "@dppy.kernel\ndef add(a, b):\n    i = dppy.get_global_id(0)\n    b[i] = a[i] * 2 + b[i]\n"
        "a, b = (ep.zeros(1000, 'float32', device='cuda:0') for _ in range(2))\nep.copy(a, "
        "b).wait()",
        "add[1000](a, b).wait()",
    ),
    "Numba-CUDA": (
        "from numba import cuda\nimport numpy as np\n"
        "@cuda.jit\ndef add(a, b):\n    i = cuda.grid(1)\n    if i < a.size:\n        b[i] = a[i] "
        "* 2 + b[i]\n"
        "a, b = (cuda.to_device(np.zeros(1000, 'f4')) for _ in range(2))\ncuda.synchronize()",
        "add[4, 256](a, b)\ncuda.synchronize()",
    ),
    "Triton": (
        "import torch, triton, triton.language as tl\n"
        "@triton.jit\ndef add(a, b, n, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.store(b + i, tl.load(a + i, i < n) * 2 + tl.load(b + i, i < n), i < n)\n"
        "a, b = (torch.zeros(1000, device='cuda') for _ in range(2))\ntorch.cuda.synchronize()",
        "add[(4,)](a, b, 1000, BLOCK=256)\ntorch.cuda.synchronize()",
    ),
}


def _first_call_seconds(folder: Path, which: str) -> float:
    """NaN where the peer is not here."""
    imports, call = _FIRST_CALLS[which]
    script = folder / f"first_call_of_{which}.py"
    script.write_text(_FIRST_CALL.format(imports=imports, call=call))
    environment = os.environ | {
        "ENTREPOT_CACHE_DIR": str(folder / "cache"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
    }
    # The driver has a cache of its own, which a first call must not find.
    environment["CUDA_CACHE_PATH"] = str(folder / "driver")
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        if which == "ours":
            raise RuntimeError(done.stderr)
        return math.nan
    return float(done.stdout)


def first_calls(times: int = 3) -> list[Result]:
    """The first call of a process, with nothing compiled before, and with what another process has
    left on disk.
    """
    seconds: dict[str, list[float]] = {which: [] for which in [*_FIRST_CALLS, "second"]}
    for _ in range(times):
        with tempfile.TemporaryDirectory(prefix="entrepot-benchmark-") as name:
            for which in _FIRST_CALLS:
                seconds[which].append(_first_call_seconds(Path(name), which))
            seconds["second"].append(_first_call_seconds(Path(name), "ours"))
    ns = {which: statistics.median(each) * 1e9 for which, each in seconds.items()}
    found = [
        Result(Pair(f"first call, against {peer}", "", "", 1), ns["ours"], ns[peer])
        for peer in ("Numba-CUDA", "Triton")
        if not math.isnan(ns[peer])
    ]
    return [*found, Result(Pair("second process, within 10 ms", "", "", 1), ns["second"], 10e6)]

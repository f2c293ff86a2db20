"""Two forms of the same work, for the advice in docs/performance.md. Both sides are Entrepot's.

Forms of GPU programs on the host are also compared with Numba's parallel loops.
"""

from __future__ import annotations

import ctypes
import importlib.util
import math
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import entrepot as ep
from entrepot import kernel

from .harness import Pair

NUMBERS = 1 << 22
ITEMS = 1 << 10
SIDE, SWEEPS = 2048, 20
POINTS, MATRIX = 8192, 512
BYTES = 1 << 24


@ep.kernel
def axpy(x, y):
    i = kernel.get_global_id(0)
    y[i] = 2 * x[i] + y[i]


@ep.kernel
def guarded_axpy(x, y, n):
    i = kernel.get_global_id(0)
    if i < n:
        y[i] = 2 * x[i] + y[i]


@ep.kernel
def axpy_by_chunks(x, y, n):
    count = n // kernel.get_global_size(0)
    first = kernel.get_global_id(0) * count
    for i in range(first, first + count):
        y[i] = 2 * x[i] + y[i]


@ep.kernel
def axpy_by_strides(x, y, n):
    for i in range(kernel.get_global_id(0), n, kernel.get_global_size(0)):
        y[i] = 2 * x[i] + y[i]


@ep.kernel
def n_body(points, forces):
    i = kernel.get_global_id(0)
    x = points[i, 0]
    y = points[i, 1]
    total = np.float32(0)
    for j in range(points.shape[0]):
        dx = points[j, 0] - x
        dy = points[j, 1] - y
        distance = dx * dx + dy * dy + np.float32(0.01)
        total += dx / (distance * math.sqrt(distance))
    forces[i] = total


@ep.kernel
def stencil(out, a):
    i, j = kernel.get_global_id(0), kernel.get_global_id(1)
    n, m = a.shape
    if 0 < i < n - 1 and 0 < j < m - 1:
        out[i, j] = np.float32(0.25) * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@ep.kernel
def histogram(out, data):
    counts = kernel.local.array(256, np.int32)
    lane = kernel.get_local_id(0)
    counts[lane] = 0
    kernel.barrier(kernel.CLK_LOCAL_MEM_FENCE)
    for k in range(kernel.get_global_id(0), data.shape[0], kernel.get_global_size(0)):
        kernel.atomic.add(counts, data[k], 1)
    kernel.barrier(kernel.CLK_LOCAL_MEM_FENCE)
    kernel.atomic.add(out, lane, counts[lane])


@ep.kernel
def matmul(out, a, b):
    i, j = kernel.get_global_id(0), kernel.get_global_id(1)
    total = np.float32(0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    out[i, j] = total


@ep.kernel(fast_math=True)
def exponential(out, x):
    i = kernel.get_global_id(0)
    out[i] = math.exp(x[i])


@ep.kernel(fast_math=True)
def logarithm(out, x):
    i = kernel.get_global_id(0)
    out[i] = math.log(x[i])


@ep.kernel(fast_math=True)
def sine(out, x):
    i = kernel.get_global_id(0)
    out[i] = math.sin(x[i])


@ep.kernel(fast_math=True)
def power(out, x):
    i = kernel.get_global_id(0)
    out[i] = x[i] ** np.float32(1.7)


@ep.kernel(fast_math=True)
def softmax(out, a):
    """A work-group for each row."""
    row, lane = kernel.get_group_id(0), kernel.get_local_id(0)
    width = kernel.get_local_size(0)
    top = a[row, 0]
    for k in range(lane, a.shape[1], width):
        top = max(top, a[row, k])
    top = kernel.group.reduce(top, "max")
    total = np.float32(0)
    for k in range(lane, a.shape[1], width):
        e = math.exp(a[row, k] - top)
        out[row, k] = e
        total += e
    total = kernel.group.reduce(total)
    for k in range(lane, a.shape[1], width):
        out[row, k] /= total


NUMBA = """
import math
import numba
import numpy as np

@numba.njit(parallel=True)
def n_body(points, forces):
    for i in numba.prange(points.shape[0]):
        total = np.float32(0)
        for j in range(points.shape[0]):
            dx = points[j, 0] - points[i, 0]
            dy = points[j, 1] - points[i, 1]
            distance = dx * dx + dy * dy + np.float32(0.01)
            total += dx / (distance * math.sqrt(distance))
        forces[i] = total

@numba.njit(parallel=True)
def matmul(out, a, b):
    for i in numba.prange(out.shape[0]):
        for j in range(out.shape[1]):
            total = np.float32(0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = total

@numba.njit(parallel=True, fastmath=True)
def exponential(out, x):
    for i in numba.prange(x.size):
        out[i] = math.exp(x[i])

@numba.njit(parallel=True, fastmath=True)
def logarithm(out, x):
    for i in numba.prange(x.size):
        out[i] = math.log(x[i])

@numba.njit(parallel=True, fastmath=True)
def sine(out, x):
    for i in numba.prange(x.size):
        out[i] = math.sin(x[i])

@numba.njit(parallel=True, fastmath=True)
def power(out, x):
    for i in numba.prange(x.size):
        out[i] = x[i] ** np.float32(1.7)

@numba.njit(parallel=True, fastmath=True)
def softmax(out, a):
    for i in numba.prange(a.shape[0]):
        top = a[i, 0]
        for k in range(a.shape[1]):
            top = max(top, a[i, k])
        total = np.float32(0)
        for k in range(a.shape[1]):
            out[i, k] = math.exp(a[i, k] - top)
            total += out[i, k]
        for k in range(a.shape[1]):
            out[i, k] /= total

@numba.njit(parallel=True)
def stencil(out, a):
    for i in numba.prange(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            out[i, j] = np.float32(0.25) * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

@numba.njit(parallel=True)
def histogram(out, data):
    parts = numba.get_num_threads()
    counts = np.zeros((parts, 256), np.int32)
    each = -(-data.size // parts)
    for part in numba.prange(parts):
        for k in range(part * each, min(data.size, (part + 1) * each)):
            counts[part, data[k]] += 1
    out += counts.sum(axis=0)
"""


#: Loops that a C programmer writes: what two threads and this machine's memory permit.
OPENMP = """
extern "C" void stencil(float *__restrict out, const float *__restrict a, long n) {
    #pragma omp parallel for schedule(static)
    for (long i = 1; i < n - 1; ++i)
        for (long j = 1; j < n - 1; ++j)
            out[i * n + j] = 0.25f * (a[(i - 1) * n + j] + a[(i + 1) * n + j]
                                      + a[i * n + j - 1] + a[i * n + j + 1]);
}
extern "C" void axpy(float *__restrict y, const float *__restrict x, long n) {
    #pragma omp parallel for schedule(static)
    for (long i = 0; i < n; ++i)
        y[i] = 2 * x[i] + y[i];
}
extern "C" void copy(float *__restrict out, const float *__restrict a, long n) {
    #pragma omp parallel for schedule(static)
    for (long i = 0; i < n; ++i)
        out[i] = a[i];
}
"""


def openmp() -> ctypes.CDLL | None:
    """The loops above, compiled as the host's kernels are; None without OpenMP."""
    compiler = os.environ.get("CXX", "c++").split()
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "loops.so"
        (Path(folder) / "loops.cpp").write_text(OPENMP)
        options = ["-O3", "-march=native", "-fopenmp", "-fPIC", "-shared"]
        done = subprocess.run(
            [*compiler, *options, "-o", library, Path(folder) / "loops.cpp"], check=False
        )
        return ctypes.CDLL(str(library)) if done.returncode == 0 else None


def on(device: str) -> dict[str, Any]:
    """Arrays and launches for one device."""
    points = ep.asarray(
        np.random.default_rng(1).random((4096, 2), dtype="float32"), copy=True, device=device
    )
    return {
        "x": ep.zeros(NUMBERS, "float32", device=device),
        "y": ep.zeros(NUMBERS, "float32", device=device),
        "n": NUMBERS,
        "points": points,
        "forces": ep.zeros(4096, "float32", device=device),
        "small": ep.zeros(16, "float32", device=device),
        "exact": axpy[NUMBERS],
        "guarded": guarded_axpy[NUMBERS],
        "chunks": axpy_by_chunks[ITEMS],
        "strides": axpy_by_strides[ITEMS],
        "n_body": n_body[4096],
        "tiny": axpy[16],
    }


def pairs() -> list[Pair]:
    host, sycl = on("host"), on("opencl:cpu")
    forms = [
        ("a work-item for each number, against a guard", "exact(x, y)", "guarded(x, y, n)"),
        ("a work-item for each number, against chunks", "exact(x, y)", "chunks(x, y, n)"),
        ("a work-item for each number, against a grid stride", "exact(x, y)", "strides(x, y, n)"),
    ]
    found = [
        Pair(f"{device}: {what}", f"{ours}.wait()", f"{peer}.wait()", 0, names)
        for device, names in (("host", host), ("opencl:cpu", sycl))
        for what, ours, peer in forms
    ]
    both = {
        "points": sycl["points"],
        "forces": sycl["forces"],
        "host_points": host["points"],
        "host_forces": host["forces"],
        "n_body": n_body[4096],
    }
    found.append(
        Pair(
            "n-body of 4096: opencl:cpu, against the host",
            "n_body(points, forces).wait()",
            "n_body(host_points, host_forces).wait()",
            0,
            both,
            rest=0.3,
        )
    )
    tiny = host | {"numbers": np.zeros(16, "float32")}
    found.append(
        Pair(
            "host: launch of 2 Arrays, against 2 ndarrays",
            "tiny(small, small)",
            "tiny(numbers, numbers)",
            0,
            tiny,
        )
    )
    return found


def numba_pairs() -> list[Pair]:
    """Rows against Numba; none where it is not installed."""
    if importlib.util.find_spec("numba") is None:
        return []
    programs: dict[str, Any] = {}
    exec(NUMBA, programs)
    random = np.random.default_rng(2)
    a, data = random.random((SIDE, SIDE), "f4"), random.integers(0, 256, BYTES, "u1")
    names: dict[str, Any] = {
        "stencil": stencil[(SIDE, SIDE), None],
        "histogram": histogram[1 << 16, 256],
        "ours": [ep.asarray(a, copy=True), ep.asarray(a, copy=True)],
        "theirs": [a.copy(), a.copy()],
        "data": ep.asarray(data),
        "numba_data": data,
        "counts": ep.zeros(256, "int64"),
        "numba_counts": np.zeros(256, "i8"),
        "n_body": n_body[POINTS],
        "matmul": matmul[(MATRIX, MATRIX), None],
        "softmax": softmax[4096 * 256, 256],
        "exponential": exponential[NUMBERS],
        "logarithm": logarithm[NUMBERS],
        "sine": sine[NUMBERS],
        "power": power[NUMBERS],
    }
    names |= {f"numba_{name}": function for name, function in programs.items()}
    inputs = {
        "points": random.random((POINTS, 2), "f4"),
        "factor": random.random((MATRIX, MATRIX), "f4"),
        "scores": random.random((4096, 1024), "f4"),
        "x": random.random(NUMBERS, "f4") + np.float32(0.1),
    }
    outputs = {
        "forces": np.zeros(POINTS, "f4"),
        "product": np.zeros((MATRIX, MATRIX), "f4"),
        "weights": np.zeros((4096, 1024), "f4"),
        "out": np.zeros(NUMBERS, "f4"),
    }
    for name, array in (inputs | outputs).items():
        names |= {name: ep.asarray(array, copy=True), f"numba_{name}": array}
    sweeps = f"for _ in range({SWEEPS // 2}):\n    "
    rows = [
        (
            f"host: {SWEEPS} guarded sweeps of a 5-point stencil over {SIDE}²",
            f"{sweeps}stencil(ours[0], ours[1]); done = stencil(ours[1], ours[0])\ndone.wait()",
            f"{sweeps}numba_stencil(theirs[0], theirs[1]); numba_stencil(theirs[1], theirs[0])",
        ),
        (
            f"host: histogram of {BYTES:,} bytes by a grid stride",
            "histogram(counts, data).wait()",
            "numba_histogram(numba_counts, numba_data)",
        ),
        (
            f"host: n-body of {POINTS:,}",
            "n_body(points, forces).wait()",
            "numba_n_body(numba_points, numba_forces)",
        ),
        (
            f"host: plain matrix product, {MATRIX}²",
            "matmul(product, factor, factor).wait()",
            "numba_matmul(numba_product, numba_factor, numba_factor)",
        ),
        (
            "host: softmax of 4096 rows of 1024, fast_math",
            "softmax(weights, scores).wait()",
            "numba_softmax(numba_weights, numba_scores)",
        ),
    ]
    rows += [
        (
            f"host: {name} of {NUMBERS:,} numbers, fast_math",
            f"{name}(out, x).wait()",
            f"numba_{name}(numba_out, numba_x)",
        )
        for name in ("exponential", "logarithm", "sine", "power")
    ]
    for _, ours, peer in rows:
        for statement in (ours, peer):
            exec(statement, names)
        for name, array in outputs.items():
            assert np.allclose(names[name].numpy(), array, rtol=1e-3, atol=1e-3), (ours, name)
    assert np.array_equal(names["ours"][0].numpy(), names["theirs"][0])
    assert np.array_equal(names["counts"].numpy(), names["numba_counts"])
    return [Pair(*row, 1, names, rounds=15, rest=0.03) for row in rows]


def openmp_pairs() -> list[Pair]:
    """Rows against loops in C on the same arrays, which bound those of memory; none without it."""
    loops = openmp()
    if loops is None:
        return []
    a = np.random.default_rng(2).random((SIDE, SIDE), "f4")
    images = [ep.asarray(a, copy=True) for _ in range(2)]
    x, y = (ep.zeros(NUMBERS, "float32", device="host") for _ in range(2))

    def address(array: ep.Array) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.__array_interface__["data"][0])

    names: dict[str, Any] = {
        "stencil": stencil[(SIDE, SIDE), None],
        "strides": axpy_by_strides[ITEMS],
        "exact": axpy[NUMBERS],
        "images": images,
        "x": x,
        "y": y,
        "n": NUMBERS,
        "loops": loops,
        "first": address(images[0]),
        "second": address(images[1]),
        "numbers": (address(y), address(x), ctypes.c_long(NUMBERS)),
        "side": ctypes.c_long(SIDE),
        "size": ctypes.c_long(SIDE * SIDE),
    }
    sweeps = f"for _ in range({SWEEPS // 2}):\n    "
    ours = (
        f"{sweeps}stencil(images[0], images[1]); done = stencil(images[1], images[0])\ndone.wait()"
    )
    rows = [
        (
            f"host: {SWEEPS} guarded sweeps of a 5-point stencil over {SIDE}²",
            ours,
            f"{sweeps}loops.stencil(first, second, side); loops.stencil(second, first, side)",
        ),
        (
            f"host: {SWEEPS} sweeps of the stencil, against {SWEEPS} copies of {SIDE}²",
            ours,
            f"{sweeps}loops.copy(first, second, size); loops.copy(second, first, size)",
        ),
        (
            f"host: a work-item for each of {NUMBERS:,} numbers",
            "exact(x, y).wait()",
            "loops.axpy(*numbers)",
        ),
        (
            f"host: a grid stride over {NUMBERS:,} numbers",
            "strides(x, y, n).wait()",
            "loops.axpy(*numbers)",
        ),
    ]
    for function in (loops.stencil, loops.axpy, loops.copy):
        function.restype = None
    return [Pair(*row, 0, names, rounds=15, rest=0.03) for row in rows]

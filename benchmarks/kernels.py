"""Kernels from Python against Numba, hand-written C++ with OpenMP, and hand-written OpenCL C on the
same device.

The kernels are those of examples/kernels. C++ is built with the flags of the host backend, and
OpenCL C by the same driver. Both are launched in the same way, so that only the code differs.
Libraries that are not installed give no rows.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import entrepot as ep
import entrepot.kernel as dppy

from . import runtime
from .harness import Pair, Result, calls_of

_EXAMPLES = Path(__file__).parents[1] / "examples" / "kernels"
sys.path.insert(0, str(_EXAMPLES))
import example  # noqa: E402, F401  # the examples' own module, not an installed one

sys.path.append(sys.path.pop(0))  # last, because examples have names such as sum and histogram

import black_scholes as black_scholes  # noqa: E402
import mandelbrot as mandelbrot  # noqa: E402
import matmul as matmul  # noqa: E402
import pairwise_distance as pairwise_distance  # noqa: E402
import reductions as reductions  # noqa: E402

OPTIONS, POINTS, SIDE, NUMBERS, IMAGE = 1_000_000, 2000, 512, 1 << 24, (800, 1000)
CHUNKS = 4096
#: A call takes milliseconds, so a round has few calls. OpenMP's threads spin for up to 20 ms after
#: their loop.
ROUNDS, REST = 15, 0.03
PLACE = (-2.0, -1.2, 2.8, 2.4)
#: The flags of src/backends/host/programs.cpp and of the emitter of host C++.
FLAGS = ["-O3", "-march=native", "-std=c++17", "-fPIC", "-shared", "-fwrapv", "-fno-trapping-math",
         "-fno-math-errno", "-fopenmp"]  # fmt: skip

CPP = """
#include <cmath>
using L = long long;
static inline double cdf(double x) { return 0.5 + 0.5 * std::erf(x * std::sqrt(0.5)); }
extern "C" void black_scholes(const double *__restrict price, const double *__restrict strike,
                              const double *__restrict years, double *__restrict call,
                              double *__restrict put, L n) {
    #pragma omp parallel for
    for (L i = 0; i < n; ++i) {
        const double root = 0.2 * std::sqrt(years[i]);
        const double d1 =
            (std::log(price[i] / strike[i]) + (0.1 + 0.5 * 0.2 * 0.2) * years[i]) / root;
        const double discounted = strike[i] * std::exp(-0.1 * years[i]);
        const double value = price[i] * cdf(d1) - discounted * cdf(d1 - root);
        call[i] = value;
        put[i] = value - price[i] + discounted;
    }
}
extern "C" void pairwise(const double *__restrict points, double *__restrict distances, L n, L d) {
    #pragma omp parallel for
    for (L i = 0; i < n; ++i)
        for (L j = 0; j < n; ++j) {
            double total = 0;
            for (L k = 0; k < d; ++k) {
                const double difference = points[i * d + k] - points[j * d + k];
                total += difference * difference;
            }
            distances[i * n + j] = std::sqrt(total);
        }
}
extern "C" void matmul(const float *__restrict a, const float *__restrict b, float *__restrict c,
                       L n) {
    constexpr L T = 16;
    #pragma omp parallel for collapse(2)
    for (L gi = 0; gi < n / T; ++gi)
        for (L gj = 0; gj < n / T; ++gj) {
            float at[T][T], bt[T][T], total[T][T] = {};
            for (L t = 0; t < n / T; ++t) {
                for (L i = 0; i < T; ++i)
                    for (L j = 0; j < T; ++j) {
                        at[i][j] = a[(gi * T + i) * n + t * T + j];
                        bt[i][j] = b[(t * T + i) * n + gj * T + j];
                    }
                for (L i = 0; i < T; ++i)
                    for (L k = 0; k < T; ++k)
                        #pragma omp simd
                        for (L j = 0; j < T; ++j)
                            total[i][j] += at[i][k] * bt[k][j];
            }
            for (L i = 0; i < T; ++i)
                for (L j = 0; j < T; ++j)
                    c[(gi * T + i) * n + gj * T + j] = total[i][j];
        }
}
extern "C" void reduction(const float *__restrict a, float *__restrict sums, L n, L chunks) {
    #pragma omp parallel for
    for (L i = 0; i < chunks; ++i) {
        float total = 0;
        for (L k = i * (n / chunks); k < (i + 1) * (n / chunks); ++k)
            total += a[k];
        sums[i] = total;
    }
}
extern "C" void mandelbrot(int *__restrict image, double left, double bottom, double width,
                           double height, L rows, L columns) {
    #pragma omp parallel for schedule(dynamic)
    for (L i = 0; i < rows; ++i)
        for (L j = 0; j < columns; ++j) {
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
}
"""

OPENCL = """
double cdf(double x) { return 0.5 + 0.5 * erf(x * sqrt(0.5)); }
kernel void black_scholes(global const double *restrict price, global const double *restrict strike,
                          global const double *restrict years, global double *restrict call,
                          global double *restrict put) {
    size_t i = get_global_id(0);
    double root = 0.2 * sqrt(years[i]);
    double d1 = (log(price[i] / strike[i]) + (0.1 + 0.5 * 0.2 * 0.2) * years[i]) / root;
    double discounted = strike[i] * exp(-0.1 * years[i]);
    double value = price[i] * cdf(d1) - discounted * cdf(d1 - root);
    call[i] = value;
    put[i] = value - price[i] + discounted;
}
kernel void pairwise(global const double *restrict points, global double *restrict distances,
                     long d) {
    size_t i = get_global_id(1), j = get_global_id(0), n = get_global_size(0);
    double total = 0;
    for (long k = 0; k < d; ++k) {
        double difference = points[i * d + k] - points[j * d + k];
        total += difference * difference;
    }
    distances[i * n + j] = sqrt(total);
}
kernel void matmul(global const float *restrict a, global const float *restrict b,
                   global float *restrict c) {
    local float at[16][16], bt[16][16];
    size_t i = get_global_id(1), j = get_global_id(0), n = get_global_size(0);
    size_t li = get_local_id(1), lj = get_local_id(0);
    float total = 0;
    for (size_t t = 0; t < n / 16; ++t) {
        at[li][lj] = a[i * n + t * 16 + lj];
        bt[li][lj] = b[(t * 16 + li) * n + j];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (size_t k = 0; k < 16; ++k)
            total += at[li][k] * bt[k][lj];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[i * n + j] = total;
}
kernel void reduction(global const float *restrict a, global float *restrict sums) {
    local float part[256];
    size_t own = get_local_id(0);
    part[own] = a[get_global_id(0)];
    for (size_t stride = 128; stride > 0; stride /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (own < stride)
            part[own] += part[own + stride];
    }
    if (own == 0)
        sums[get_group_id(0)] = part[0];
}
kernel void mandelbrot(global int *image, double left, double bottom, double width, double height) {
    size_t i = get_global_id(1), j = get_global_id(0);
    size_t rows = get_global_size(1), columns = get_global_size(0);
    double re = left + width * j / columns, im = bottom + height * i / rows, x = 0, y = 0;
    int steps = 0;
    while (steps < 100 && x * x + y * y < 4.0) {
        double next = x * x - y * y + re;
        y = 2.0 * x * y + im;
        x = next;
        ++steps;
    }
    image[i * columns + j] = steps;
}
"""

NUMBA = """
import math
import numba
import numpy as np

@numba.njit
def cdf(x):
    return 0.5 + 0.5 * math.erf(x * math.sqrt(0.5))

@numba.njit(parallel=True)
def black_scholes(price, strike, years, call, put):
    for i in numba.prange(price.size):
        root = 0.2 * math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (0.1 + 0.5 * 0.2 * 0.2) * years[i]) / root
        discounted = strike[i] * math.exp(-0.1 * years[i])
        value = price[i] * cdf(d1) - discounted * cdf(d1 - root)
        call[i] = value
        put[i] = value - price[i] + discounted

@numba.njit(parallel=True)
def pairwise(points, distances):
    for i in numba.prange(points.shape[0]):
        for j in range(points.shape[0]):
            total = 0.0
            for k in range(points.shape[1]):
                difference = points[i, k] - points[j, k]
                total += difference * difference
            distances[i, j] = math.sqrt(total)

@numba.njit(parallel=True)
def matmul(a, b, c):
    n = a.shape[0]
    groups = n // 16
    for g in numba.prange(groups * groups):
        gi, gj = g // groups, g % groups
        at, bt = np.empty((16, 16), np.float32), np.empty((16, 16), np.float32)
        total = np.zeros((16, 16), np.float32)
        for t in range(groups):
            for i in range(16):
                for j in range(16):
                    at[i, j] = a[gi * 16 + i, t * 16 + j]
                    bt[i, j] = b[t * 16 + i, gj * 16 + j]
            for i in range(16):
                for k in range(16):
                    for j in range(16):
                        total[i, j] += at[i, k] * bt[k, j]
        for i in range(16):
            for j in range(16):
                c[gi * 16 + i, gj * 16 + j] = total[i, j]

@numba.njit(parallel=True)
def reduction(a, sums):
    each = a.size // sums.size
    for i in numba.prange(sums.size):
        total = np.float32(0)
        for k in range(i * each, (i + 1) * each):
            total += a[k]
        sums[i] = total

@numba.njit(parallel=True)
def mandelbrot(image, left, bottom, width, height):
    for i in numba.prange(image.shape[0]):
        for j in range(image.shape[1]):
            re = left + width * j / image.shape[1]
            im = bottom + height * i / image.shape[0]
            x, y = 0.0, 0.0
            steps = 0
            while steps < 100 and x * x + y * y < 4.0:
                x, y = x * x - y * y + re, 2.0 * x * y + im
                steps += 1
            image[i, j] = steps

@numba.guvectorize(["void(float32[:], float32[:], float32[:], float32[:])"], "(n),(n),(n)->(n)")
def four_arrays(a, b, c, out):
    for i in range(a.shape[0]):
        out[i] = a[i] + b[i] + c[i]
"""


def _numbers() -> dict[str, Any]:
    """Arguments of every program, as NumPy arrays: inputs first, then what is written."""
    random = np.random.default_rng(0)
    return {
        "black_scholes": [*black_scholes.options(OPTIONS), np.empty(OPTIONS), np.empty(OPTIONS)],
        "pairwise": [random.random((POINTS, 3)), np.empty((POINTS, POINTS))],
        "matmul": [
            *(random.random((SIDE, SIDE), "f4") for _ in range(2)),
            np.empty((SIDE, SIDE), "f4"),
        ],
        "reduction": [random.random(NUMBERS, "f4"), np.empty(CHUNKS, "f4")],
        "mandelbrot": [np.empty(IMAGE, "i4"), *PLACE],
    }


def _ours() -> dict[str, Any]:
    """Our launches, as far as they do not depend on the device."""
    return {
        "black_scholes": black_scholes.black_scholes[OPTIONS],
        "pairwise": pairwise_distance.pairwise_distance[(POINTS, POINTS), None],
        "matmul": matmul.matmul_in_tiles[(SIDE, SIDE), (16, 16)],
        "reduction": reductions.sums_of_chunks[CHUNKS],
        "mandelbrot": mandelbrot.mandelbrot[IMAGE, None],
    }


TITLES = {
    "black_scholes": f"Black–Scholes, {OPTIONS:,} options",
    "pairwise": f"pairwise distance, {POINTS:,} points",
    "matmul": f"matmul with local memory, {SIDE}²",
    "reduction": f"reduction of {NUMBERS:,} float32",
    "mandelbrot": f"Mandelbrot, {IMAGE[0]} × {IMAGE[1]}",
}


def numba_programs() -> dict[str, Any]:
    """Numba's functions by name; empty where it is not installed."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return {}
    names: dict[str, Any] = {}
    exec(NUMBA, names)
    return names


def openmp_programs(folder: Path) -> dict[str, Callable[..., None]]:
    """Hand-written C++; empty where there is no compiler."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        return {}
    (folder / "kernels.cpp").write_text(CPP)
    subprocess.run(
        [compiler, *FLAGS, "-o", folder / "kernels.so", folder / "kernels.cpp"], check=True
    )
    library = ctypes.CDLL(str(folder / "kernels.so"))
    sizes = {
        "black_scholes": [OPTIONS], "pairwise": [POINTS, 3], "matmul": [SIDE],
        "reduction": [NUMBERS, CHUNKS],
        "mandelbrot": [*IMAGE],
    }  # fmt: skip

    def called(name: str) -> Callable[..., None]:
        function, tail = getattr(library, name), [ctypes.c_longlong(size) for size in sizes[name]]

        def call(*arguments: Any) -> None:
            function(
                *(
                    ctypes.c_double(each)
                    if isinstance(each, float)
                    else ctypes.c_void_p(each.ctypes.data)
                    for each in arguments
                ),
                *tail,
            )

        return call

    return {name: called(name) for name in sizes}


def _check(name: str, ours: Any, theirs: Any) -> None:
    """A peer that computes something else proves nothing."""
    if name == "mandelbrot":
        assert (ours != theirs).mean() < 1e-3
        return
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-9, err_msg=name)


def _written(name: str, arguments: list[Any]) -> Any:
    return arguments[0] if name == "mandelbrot" else arguments[-1]


def host_pairs() -> list[Pair]:
    """On the host, against Numba and C++ with OpenMP; each side's result is compared first."""
    with tempfile.TemporaryDirectory(
        prefix="entrepot-benchmark-"
    ) as folder:  # what is loaded stays without its file
        peers = [
            ("Numba", 1.0, numba_programs()),
            ("C++ with OpenMP", 0.9, openmp_programs(Path(folder))),
        ]
    pairs = []
    for name, launch in _ours().items():
        arguments = _numbers()[name]
        arrays = [
            ep.asarray(each, device="host") if isinstance(each, np.ndarray) else each
            for each in arguments
        ]
        with ep.device_context("host"):
            launch(*arrays).wait()
        expected = np.array(_written(name, arguments))
        for peer, at_least, programs in peers:
            if not programs:
                continue
            programs[name](*arguments)
            _check(name, expected, _written(name, arguments))
            names = {
                "launch": launch,
                "arrays": arrays,
                "peer": programs[name],
                "arguments": arguments,
            }
            what = f"host: {TITLES[name]}, against {peer}"
            pairs.append(
                Pair(
                    what,
                    "launch(*arrays).wait()",
                    "peer(*arguments)",
                    at_least,
                    names,
                    peer,
                    ROUNDS,
                    REST,
                )
            )
    return pairs


def sycl_pairs(selector: str = "opencl:cpu") -> list[Pair]:
    """On SYCL's CPU device, against OpenCL C launched by ``ep.Program``."""
    device = ep.device(selector)
    program = ep.Program(OPENCL, device)
    ours = _ours() | {"reduction": reductions.sums_of_groups[NUMBERS, reductions.GROUP]}
    ranges = {
        "black_scholes": (OPTIONS, None), "pairwise": ((POINTS, POINTS), None),
        "matmul": ((SIDE, SIDE), (16, 16)),
        "reduction": (NUMBERS, 256), "mandelbrot": (IMAGE, None),
    }  # fmt: skip
    numbers = _numbers()
    numbers["reduction"][-1] = np.empty(NUMBERS // reductions.GROUP, "f4")
    pairs = []
    for name, launch in ours.items():
        arrays = [
            ep.asarray(each, device=device, copy=True)
            if isinstance(each, np.ndarray)
            else ep.Scalar(each, "float64")
            for each in numbers[name]
        ]
        peer = program.kernel(name)[ranges[name]]
        launch(*arrays).wait()
        expected = _written(name, arrays).copy_to_host().numpy()
        arguments = [*arrays, ep.Scalar(3, "int64")] if name == "pairwise" else arrays
        peer(*arguments).wait()
        _check(name, expected, _written(name, arrays).copy_to_host().numpy())
        names = {"launch": launch, "peer": peer, "arrays": arrays, "arguments": arguments}
        what = f"{selector}: {TITLES[name]}, against OpenCL C"
        pairs.append(
            Pair(
                what,
                "launch(*arrays).wait()",
                "peer(*arguments).wait()",
                0.95,
                names,
                "OpenCL C",
                ROUNDS,
                REST,
            )
        )
    return pairs


@dppy.kernel
def four_arrays(a, b, c, out):
    i = dppy.get_global_id(0)
    out[i] = a[i] + b[i] + c[i]


def _launch_of_four_arrays() -> Any:
    """A launch of a compiled kernel of four arrays, and the arrays."""
    launch, arrays = four_arrays[16], [ep.zeros(16, "float32", device="host") for _ in range(4)]
    launch(*arrays).wait()
    return launch, arrays


def launch_pairs() -> list[Pair]:
    """Time of a launch, against a call of Numba's gufunc."""
    programs = numba_programs()
    if not programs:
        return []
    launch, arrays = _launch_of_four_arrays()
    names = {
        "launch": launch,
        "peer": programs["four_arrays"],
        "arrays": arrays,
        "a": [np.ones(16, "f4") for _ in range(4)],
    }
    what = "host: launch of 4 Arrays, against a Numba gufunc"
    return [Pair(what, "launch(*arrays)", "peer(a[0], a[1], a[2], a[3])", 1, names)]


def launch_cost() -> Result:
    """Time of a launch, against a microsecond."""
    launch, arrays = _launch_of_four_arrays()
    nanoseconds = calls_of("launch(*arrays)", {"launch": launch, "arrays": arrays})
    return within(
        "host: launch of 4 Arrays, within 1 µs", [nanoseconds(1000) for _ in range(50)], 1000
    )


def within(what: str, times: list[float], limit: float) -> Result:
    """Median of times in nanoseconds, against a constant limit."""
    return Result(
        Pair(what, "", "", 1),
        statistics.median(times),
        limit,
        limit / statistics.quantiles(times)[0],
    )


def sycl_launch_costs(selector: str = "opencl:cpu") -> list[Result]:
    """A launch of a compiled kernel, against the SYCL runtime's of the same text."""
    queue = ep.Queue(selector)
    arrays = [ep.zeros(64, "float32", kind="device", queue=queue) for _ in range(4)]
    launch = functools.partial(four_arrays[64, 64], *arrays)
    launch().wait()
    source = four_arrays.source("opencl-c", device=selector)
    return runtime.against_runtime(
        runtime.Launch(launch, source, "four_arrays", arrays), f"{selector}: launch of 4 Arrays, "
    )


_COLD = """
import sys, time
import numpy as np
{imports}
start = time.perf_counter()
{call}
print(time.perf_counter() - start)
"""
_SCRIPTS = {
    "ours": (
        "import entrepot as ep, entrepot.kernel as dppy\n"
        "@dppy.kernel\ndef add(a, b):\n    i = dppy.get_global_id(0)\n    b[i] = a[i] * 2 + b[i]\n"
        "a, b = ep.zeros(1000, 'float32', device=sys.argv[1]), ep.zeros(1000, 'float32', "
        "device=sys.argv[1])\n"
        "ep.copy(a, b).wait()",
        "add[1000](a, b).wait()",
    ),
    "numba": (
        "import numba\n"
        "@numba.njit(parallel=True, cache=True)\ndef add(a, b):\n"
        "    for i in numba.prange(a.size):\n        b[i] = a[i] * 2 + b[i]\n"
        "a = np.zeros(1000, 'f4'); b = a.copy()",
        "add(a, b)",
    ),
}


def _seconds(folder: Path, which: str, *arguments: str) -> float:
    imports, call = _SCRIPTS[which]
    script = folder / f"first_call_of_{which}.py"
    if not script.exists():
        script.write_text(_COLD.format(imports=imports, call=call))
    environment = os.environ | {
        "ENTREPOT_CACHE_DIR": str(folder / "cache"),
        "NUMBA_CACHE_DIR": str(folder / "numba"),
    }
    done = subprocess.run(
        [sys.executable, script, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def results() -> list[Result]:
    """A launch; the first call of a process, with nothing compiled before, and with what another
    process has left on disk.
    """
    has_opencl = any(device.backend == "opencl" for device in ep.devices())
    results = [launch_cost(), *(sycl_launch_costs() if has_opencl else [])]
    numbas = bool(numba_programs())
    for selector in [
        str(device) for device in ep.devices() if device.backend in ("host", "opencl")
    ]:
        cold, warm = [], []
        for _ in range(5):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                cold.append(
                    [
                        _seconds(folder, "ours", selector),
                        _seconds(folder, "numba") if numbas else float("nan"),
                    ]
                )
                warm.append(_seconds(folder, "ours", selector))
        if numbas:
            ours, peer = (statistics.median(side) * 1e9 for side in zip(*cold, strict=True))
            upper = statistics.quantiles(theirs / mine for mine, theirs in cold)[2]
            results.append(
                Result(Pair(f"{selector}: first call, against Numba", "", "", 1), ours, peer, upper)
            )
        results.append(
            within(
                f"{selector}: second process, within 10 ms",
                [seconds * 1e9 for seconds in warm],
                10e6,
            )
        )
    return results


def pairs() -> list[Pair]:
    backends = {device.backend for device in ep.devices()}
    return [*host_pairs(), *(sycl_pairs() if "opencl" in backends else []), *launch_pairs()]

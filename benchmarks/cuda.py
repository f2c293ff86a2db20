"""Benchmarks of CUDA, against PyTorch, CuPy and others.

    python -m benchmarks.cuda [--json FILE] [TOPIC]...

A program and a library in benchmarks/cpp give the driver's own times. A module there gives the
lower bounds of an exchange, with the least work that a producer or a consumer can do. Both sides of
a copy submit and wait, so a row has the time of the copy. CuPy and PyTorch make the same copy. The
kernels are in cuda_kernels.py and cuda_tiles.py.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any

import cupy
import cupyx
import numpy as np
import torch

import entrepot as ep
import entrepot.kernel as dppy

from . import cuda_algorithms, cuda_kernels, cuda_tiles, numba_cuda
from .cuda_kernels import say_once
from .harness import (
    Pair,
    Result,
    Side,
    arguments,
    built,
    built_module,
    calls_of,
    measure,
    measure_together,
    print_table,
    runtime_ns,
    short_rounds_ns,
    write_json,
)

# Numba-CUDA 0.30 asks for a function that NumPy 2.5 has dropped.
vars(np).setdefault("row_stack", np.vstack)

LARGE = 1 << 30
SIDE_BYTES = 1 << 28  # size of a strided array, and about that of the window that is copied
DTYPES = ("uint8", "float16", "float32", "float64", "complex128")

# View of a square array → destination and source of the copy, in the three libraries.
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
    numpys = np.ones(LARGE, "uint8")
    cupys = cupyx.empty_pinned(LARGE, "uint8")
    cupys[:] = 1
    names: dict[str, Any] = {
        "ep": ep, "torch": torch, "queue": queue, "pinned": pinned, "theirs_pinned": theirs_pinned,
        "a": ep.empty(LARGE, "uint8", queue=queue), "b": ep.empty(LARGE, "uint8", queue=queue),
        "c": torch.empty(LARGE, dtype=torch.uint8, device="cuda"),
        "d": torch.empty(LARGE, dtype=torch.uint8, device="cuda"),
        "pageable": ep.asarray(pageable), "theirs_pageable": torch.from_numpy(pageable),
        "part": LARGE // 4, "pinned_numpy": ep.pin(numpys, device="cuda:0"),
        "cupy": cupy, "cupys": cupys, "e": cupy.empty(LARGE, "uint8"),
    }  # fmt: skip
    ours_of_numpy = "ep.copy(a, pinned_numpy, queue=queue); queue.wait()"
    rows = [
        ("device → device, 1 GiB", ("a", "b"), ("c", "d")),
        ("pinned → device, 1 GiB", ("a", "pinned"), ("c", "theirs_pinned")),
        ("device → pinned, 1 GiB", ("pinned", "a"), ("theirs_pinned", "c")),
        ("pageable → device, 256 MiB", ("a[:part]", "pageable"), ("c[:part]", "theirs_pageable")),
        ("device → pageable, 256 MiB", ("pageable", "a[:part]"), ("theirs_pageable", "c[:part]")),
    ]
    return [
        *(
            Pair(
                what,
                f"ep.copy({ours[0]}, {ours[1]}, queue=queue); queue.wait()",
                f"{theirs[0]}.copy_({theirs[1]}, non_blocking=True); torch.cuda.synchronize()",
                0.97,
                names,
            )
            for what, ours, theirs in rows
        ),
        Pair(
            "NumPy after ep.pin → device, 1 GiB, against pinned memory of PyTorch",
            ours_of_numpy,
            "c.copy_(theirs_pinned, non_blocking=True); torch.cuda.synchronize()",
            0.95,
            names,
        ),
        Pair(
            "NumPy after ep.pin → device, 1 GiB, against pinned memory of CuPy",
            ours_of_numpy,
            "e.set(cupys); cupy.cuda.get_current_stream().synchronize()",
            0.95,
            names,
        ),
    ]


def strided(queue: ep.Queue) -> list[list[Pair]]:
    """Each view of each item size, against PyTorch and CuPy."""
    found: list[list[Pair]] = []
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
            ours = (
                f"ep.copy({to.format(a='a', n=n)}, {source.format(b='b')}, queue=queue); "
                "queue.wait()"
            )
            torchs = (
                f"{to.format(a='c', n=n)}.copy_({source.format(b='d')}); torch.cuda.synchronize()"
            )
            cupys = (
                f"{to.format(a='e', n=n)}[...] = {source.format(b='f')}; "
                "cupy.cuda.get_current_stream().synchronize()"
            )
            peers = {"PyTorch": torchs, "CuPy": cupys}
            found.append(
                [
                    Pair(f"{dtype}, {view}, against {name}", ours, each, 0.8, names)
                    for name, each in peers.items()
                ]
            )
    return found


def exchange() -> list[Pair]:
    """Device memory in and out, nothing pending; each against the same way between two peers."""
    from cuda.core.utils import StridedMemoryView

    ours = ep.zeros(1024, "float32", device="cuda:0")
    ours.queue.wait()
    names: dict[str, Any] = {
        "asarray": ep.asarray, "torch": torch, "cupy": cupy,
        "view": StridedMemoryView.from_any_interface, "ours": ours,
        "tensor": torch.zeros(1024, device="cuda"),
        "complex_tensor": torch.zeros(1024, dtype=torch.complex64, device="cuda"),
        "array": cupy.zeros(1024, "float32"),
    }  # fmt: skip
    return [
        Pair(
            "asarray(torch tensor), against cuda.core",
            "asarray(tensor)",
            "view(tensor, -1)",
            3,
            names,
        ),
        Pair(
            "asarray(complex torch tensor)",
            "asarray(complex_tensor)",
            "view(complex_tensor, -1)",
            3,
            names,
        ),
        Pair(
            "asarray(CuPy array), against cuda.core",
            "asarray(array)",
            "view(array, -1)",
            1.8,
            names,
        ),
        Pair(
            "torch.from_dlpack(ours), of CuPy's",
            "torch.from_dlpack(ours)",
            "torch.from_dlpack(array)",
            3,
            names,
        ),
        Pair(
            "torch.as_tensor(ours), of CuPy's",
            "torch.as_tensor(ours)",
            "torch.as_tensor(array)",
            1,
            names,
        ),
        Pair(
            "cupy.from_dlpack(ours), of PyTorch's",
            "cupy.from_dlpack(ours)",
            "cupy.from_dlpack(tensor)",
            4,
            names,
        ),
        Pair(
            "cupy.asarray(ours), of PyTorch's",
            "cupy.asarray(ours)",
            "cupy.asarray(tensor)",
            1.6,
            names,
        ),
        Pair(
            "ours.__dlpack__(stream=1), of CuPy's",
            "ours.__dlpack__(stream=1)",
            "array.__dlpack__(stream=1)",
            1,
            names,
        ),
        Pair(
            "ours.__cuda_array_interface__, of CuPy's",
            "ours.__cuda_array_interface__",
            "array.__cuda_array_interface__",
            1,
            names,
        ),
    ]


def others() -> list[Pair]:
    """Exchange with libraries that not every machine has; prints why one cannot run."""
    ours = ep.zeros(1024, "float32", device="cuda:0")
    ours.queue.wait()
    names: dict[str, Any] = {
        "asarray": ep.asarray, "torch": torch, "ours": ours, "array": cupy.zeros(1024, "float32"),
        "tensor": torch.zeros(1024, device="cuda"),
    }  # fmt: skip
    found = []
    try:
        from numba import cuda

        cuda.as_cuda_array(ours)
        names["as_cuda_array"] = cuda.as_cuda_array
        found.append(
            Pair(
                "as_cuda_array(ours) of Numba, of CuPy's",
                "as_cuda_array(ours)",
                "as_cuda_array(array)",
                1,
                names,
            )
        )
    except Exception as error:
        say_once("Numba-CUDA", "exchange", error)
    try:
        os.environ.setdefault(
            "XLA_PYTHON_CLIENT_PREALLOCATE", "false"
        )  # else it takes most of the GPU's memory
        import jax

        names |= {
            "jax": jax.numpy,
            "theirs": jax.device_put(np.zeros(1024, "float32"), jax.devices("cuda")[0]),
        }
        found += [
            Pair(
                "asarray(JAX array), against PyTorch",
                "asarray(theirs)",
                "torch.from_dlpack(theirs)",
                1,
                names,
            ),
            Pair(
                "jax.numpy.from_dlpack(ours), of PyTorch's",
                "jax.from_dlpack(ours)",
                "jax.from_dlpack(tensor)",
                1,
                names,
            ),
        ]
    except Exception as error:
        say_once("JAX", "exchange", error)
    return found


def floors() -> list[Pair]:
    """Exchange against lower bounds: the other side does the least possible work."""
    floor = built_module("benchmark_floors")
    if floor is None:
        return []
    ours = ep.zeros(1024, "float32", device="cuda:0")
    ours.queue.wait()
    names: dict[str, Any] = {
        "asarray": ep.asarray, "torch": torch, "cupy": cupy, "ours": ours,
        "least": floor.Producer(ours.data_ptr, ours.size),
        "lend": floor.lend, "tensor": torch.zeros(1024, device="cuda"),
    }  # fmt: skip
    return [
        Pair(
            "asarray(torch tensor), of PyTorch's exchange functions alone",
            "asarray(tensor)",
            "lend(tensor)",
            1 / 2,
            names,
        ),
        Pair(
            "torch.from_dlpack(ours), of the least producer",
            "torch.from_dlpack(ours)",
            "torch.from_dlpack(least)",
            0.9,
            names,
        ),
        Pair(
            "cupy.from_dlpack(ours), of the least producer",
            "cupy.from_dlpack(ours)",
            "cupy.from_dlpack(least)",
            0.9,
            names,
        ),
        Pair(
            "cupy.asarray(ours), of the least producer",
            "cupy.asarray(ours)",
            "cupy.asarray(least)",
            0.7,
            names,
        ),
    ]


ALLOCATED = 1 << 20


def allocation() -> list[Result]:
    """Allocates and frees a block, against the pools of other libraries and of the driver."""
    names: dict[str, Any] = {
        "empty": ep.empty,
        "torch": torch,
        "cupy": cupy,
        "queue": ep.Queue("cuda:0"),
        "n": ALLOCATED,
    }
    ours = 'empty(n, "uint8", queue=queue)'
    found = [
        measure(
            Pair("1 MiB + free, against CuPy's pool", ours, 'cupy.empty(n, "uint8")', 6.5, names)
        ),
        measure(
            Pair(
                "1 MiB + free, against PyTorch's pool",
                ours,
                'torch.empty(n, dtype=torch.uint8, device="cuda")',
                7.8,
                names,
            )
        ),
    ]
    for row, ns in runtime_ns("benchmark_cuda_driver", "allocate").items():
        found.append(
            Result(
                Pair("1 MiB + free, against cuMemAllocAsync", ours, row, 2.3), found[0].ours_ns, ns
            )
        )
    return found


NOTHING = 'extern "C" __global__ void nothing(float *a, float *b, float x, int n) {}'
#: Allowed difference to the driver's own time: for a launch, and for two waits between streams.
LAUNCH_MARGIN_NS, HANDOVER_MARGIN_NS = 400, 200


def cuda_core_names() -> dict[str, Any]:
    """The kernel as cuda.core launches it: `core_launch(stream, config, kernel, memory, memory, x,
    n)`.
    """
    from cuda.core import Device, LaunchConfig, Program, launch

    device = Device(0)
    device.set_current()
    return {
        "core_launch": launch, "stream": device.create_stream(),
        "config": LaunchConfig(grid=1, block=128),
        "kernel": Program(NOTHING, code_type="c++").compile("cubin").get_kernel("nothing"),
        "memory": cupy.zeros(4, "float32").data.ptr,
    }  # fmt: skip


def driver() -> ctypes.CDLL | None:
    """The library of benchmarks/cpp that calls the driver; None if it has not been built."""
    path = built() / "libbenchmark_cuda_launch.so"
    if not path.exists():
        return None
    library = ctypes.CDLL(str(path))
    for name in ("", "_of_four", "_of_eight", "_between_waits", "_there_and_back"):
        launch = getattr(library, f"driver_launch{name}")
        launch.restype, launch.argtypes = ctypes.c_double, [ctypes.c_uint64, ctypes.c_int]
    library.driver_hand_over.restype = ctypes.c_double
    library.driver_hand_over.argtypes = [ctypes.c_int]
    library.driver_work.argtypes = [ctypes.c_uint64, ctypes.c_size_t]
    return library


def nothing() -> None:
    """Preparation of a round that needs none."""


def launches() -> list[Result]:
    """An empty kernel with two arrays and two scalars, in a private queue and in a shared one."""
    queue, shared_queue = ep.Queue("cuda:0"), ep.Queue("cuda:0")
    shared_queue.__cuda_stream__()
    array, shared = (ep.zeros(4, "float32", queue=each) for each in (queue, shared_queue))
    names: dict[str, Any] = {
        "array": array, "shared": shared,
        "launch": ep.Program(NOTHING, "cuda:0").kernel("nothing")[128, 128],
        "typed_x": ep.Scalar(1, "float32"), "typed_n": ep.Scalar(2, "int32"), "x": np.float32(1),
        "n": np.int32(2),
        "theirs": cupy.zeros(4, "float32"), "raw": cupy.RawKernel(NOTHING, "nothing"),
        **cuda_core_names(),
    }  # fmt: skip
    sides: dict[str, Side] = {
        "ours": (calls_of("launch(array, array, typed_x, typed_n)", names), nothing),
        "shared queue": (calls_of("launch(shared, shared, typed_x, typed_n)", names), nothing),
        "of NumPy": (calls_of("launch(array, array, x, n)", names), nothing),
        "CuPy": (calls_of("raw((1,), (128,), (theirs, theirs, x, n))", names), nothing),
        "cuda.core": (
            calls_of("core_launch(stream, config, kernel, memory, memory, x, n)", names),
            nothing,
        ),
    }
    library = driver()
    if library:
        sides["driver"] = (lambda calls: library.driver_launch(array.data_ptr, calls), nothing)
    ns = short_rounds_ns(sides, torch.cuda.synchronize)
    found = [
        Result(Pair("empty kernel, against CuPy's RawKernel", "", "", 1), ns["ours"], ns["CuPy"]),
        Result(
            Pair("empty kernel, scalars of NumPy, against CuPy's RawKernel", "", "", 1),
            ns["of NumPy"],
            ns["CuPy"],
        ),
        Result(Pair("empty kernel, against cuda.core", "", "", 1), ns["ours"], ns["cuda.core"]),
    ]
    if library:
        at_least = ns["driver"] / (ns["driver"] + LAUNCH_MARGIN_NS)
        found.append(
            Result(
                Pair("empty kernel, within 0.4 µs of cuLaunchKernel", "", "", at_least),
                ns["ours"],
                ns["driver"],
            )
        )
        found.append(
            Result(Pair("empty kernel, shared queue", "", "", 0), ns["shared queue"], ns["driver"])
        )
    return found


def streams() -> list[Result]:
    """Another stream waits for what one holds, and that one then for it: with work there, and each
    time for something new.
    """
    work = ep.empty(1 << 28, "uint8", device="cuda:0")
    of_torch, of_cupy = torch.from_dlpack(work), cupy.asarray(work)
    first, torch_first, cupy_first = (
        ep.Queue("cuda:0"),
        torch.cuda.Stream(),
        cupy.cuda.Stream(non_blocking=True),
    )
    names: dict[str, Any] = {
        "first": first, "second": ep.Queue("cuda:0"),
        "torch_first": torch_first, "torch_second": torch.cuda.Stream(),
        "torch_event": torch.cuda.Event(),
        "cupy_first": cupy_first, "cupy_second": cupy.cuda.Stream(non_blocking=True),
        "cupy_event": cupy.cuda.Event(disable_timing=True),
    }  # fmt: skip
    one_way = "{0}_event.record({0}_%s); {0}_%s.wait_event({0}_event)"
    events = f"{one_way % ('first', 'second')}; {one_way % ('second', 'first')}"

    def torch_work() -> None:
        with torch.cuda.stream(torch_first):
            of_torch.fill_(1)

    sides: dict[str, Side] = {
        "ours": (
            calls_of("second.wait_for(first); first.wait_for(second)", names),
            lambda: ep.fill(work, 1, queue=first)
        ),
        "PyTorch": (calls_of(events.format("torch"), names), torch_work),
        "CuPy": (
            calls_of(events.format("cupy"), names),
            lambda: of_cupy.data.memset_async(1, of_cupy.nbytes, cupy_first)
        ),
    }  # fmt: skip
    library, floor = driver(), built_module("benchmark_floors")
    if library and floor:
        names["breathe"] = floor.breathe
        sides["driver"] = (
            library.driver_hand_over,
            lambda: library.driver_work(work.data_ptr, work.nbytes),
        )
        sides["GIL"] = (calls_of("breathe(); breathe()", names), nothing)
    ns = short_rounds_ns(sides, torch.cuda.synchronize)
    what = "hand-over there and back"
    found = [
        Result(Pair(f"{what}, against PyTorch", "", "", 1), ns["ours"], ns["PyTorch"]),
        Result(Pair(f"{what}, against CuPy", "", "", 1), ns["ours"], ns["CuPy"]),
    ]
    if library and floor:
        at_least = ns["driver"] / (ns["driver"] + HANDOVER_MARGIN_NS)
        found += [
            Result(
                Pair(f"{what}, within 2 × 100 ns of the driver", "", "", at_least),
                ns["ours"],
                ns["driver"],
            ),
            Result(
                Pair(f"{what}, of the driver and the GIL alone", "", "", 0.8),
                ns["ours"],
                ns["driver"] + ns["GIL"],
            ),
        ]
    return [*found, *launches_elsewhere()]


def launches_elsewhere() -> list[Result]:
    """Additional time of a launch if its array was last used in another queue."""
    library = driver()
    if library is None:
        return []
    queues = ep.Queue("cuda:0"), ep.Queue("cuda:0")
    array = ep.zeros(4, "float32", queue=queues[0])
    names: dict[str, Any] = {
        "array": array, "launch": ep.Program(NOTHING, "cuda:0").kernel("nothing")[128, 128],
        "x": ep.Scalar(1, "float32"), "n": ep.Scalar(2, "int32"), "here": queues[0],
        "there": queues[1],
    }  # fmt: skip
    one = "launch(array, array, x, n, queue={})"
    sides: dict[str, Side] = {
        "here": (calls_of("; ".join(map(one.format, ("here", "here"))), names), nothing),
        "there": (calls_of("; ".join(map(one.format, ("here", "there"))), names), nothing),
        "driver here": (lambda calls: 2 * library.driver_launch(array.data_ptr, calls), nothing),
        "driver there": (
            lambda calls: library.driver_launch_there_and_back(array.data_ptr, calls),
            nothing,
        ),
    }
    ns = short_rounds_ns(sides, torch.cuda.synchronize)
    ours, drivers = ns["there"] - ns["here"], ns["driver there"] - ns["driver here"]
    at_least = drivers / (drivers + HANDOVER_MARGIN_NS)
    return [
        Result(
            Pair(
                "hand-overs within two launches, within 2 × 100 ns of the driver", "", "", at_least
            ),
            ours,
            drivers,
        )
    ]


@dppy.kernel
def eight_arrays(a, b, c, d, e, f, g, out):
    i = dppy.get_global_id(0)
    out[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i]


#: Allowed difference to cuLaunchKernel for a launch on 8 tensors of PyTorch, and on 4 arrays of
#: CuPy.
TENSORS_MARGIN_NS, CUPY_MARGIN_NS = 1000, 800


def library_launches() -> list[Result]:
    """Launches on the libraries' own objects, in their current streams: importing them is part of
    the call.
    """
    names: dict[str, Any] = {"eight": eight_arrays[16], "four": cuda_kernels.four_arrays[16]}
    for letter in "abcdefgh":
        names[letter] = torch.zeros(16, device="cuda")
        names["cupy_" + letter] = cupy.zeros(16, "float32")
        names["ours_" + letter] = ep.zeros(16, "float32", device="cuda:0")
        names["imported_" + letter] = ep.asarray(names[letter])
    eight, four = (", ".join(letters) for letters in ("abcdefgh", "abcd"))

    def named(prefix: str, letters: str) -> str:
        return ", ".join(prefix + letter for letter in letters.split(", "))

    side, cupy_side = torch.cuda.Stream(), cupy.cuda.Stream(non_blocking=True)
    calls = {
        "tensors": calls_of(f"eight({eight})", names),
        "Arrays": calls_of(f"eight({named('ours_', eight)})", names),
        "imported": calls_of(f"eight({named('imported_', eight)})", names),
        "4 tensors": calls_of(f"four({four})", names),
        "CuPy": calls_of(f"four({named('cupy_', four)})", names),
    }

    def within(context: Any, call: Callable[[int], float]) -> Callable[[int], float]:
        def timed(count: int) -> float:
            with context:
                return call(count)

        return timed

    sides: dict[str, Side] = {name: (call, nothing) for name, call in calls.items()}
    sides["tensors, side stream"] = (within(torch.cuda.stream(side), calls["tensors"]), nothing)
    sides["CuPy, side stream"] = (within(cupy_side, calls["CuPy"]), nothing)
    library, floor = driver(), built_module("benchmark_floors")
    if library is None or floor is None:
        return []
    address = names["ours_a"].data_ptr
    names.update(lend_all=floor.lend_all, describe_all=floor.describe_all)
    sides["exchange functions of 8"] = (calls_of(f"lend_all({eight})", names), nothing)
    sides["attributes of 4"] = (calls_of(f"describe_all({named('cupy_', four)})", names), nothing)
    sides["driver of 8"] = (lambda count: library.driver_launch_of_eight(address, count), nothing)
    sides["driver of 4"] = (lambda count: library.driver_launch_of_four(address, count), nothing)
    ns = short_rounds_ns(sides, torch.cuda.synchronize)

    def row(
        what: str, name: str, driver_name: str, margin: float | None, of_library: str = ""
    ) -> Result:
        least = ns[driver_name] + (ns[of_library] if of_library else 0)
        return Result(
            Pair(what, "", "", least / (least + margin) if margin else 0), ns[name], least
        )

    return [
        row(
            "launch of 8 torch tensors, within 1.0 µs of cuLaunchKernel",
            "tensors",
            "driver of 8",
            TENSORS_MARGIN_NS,
        ),
        row(
            "... of that and PyTorch's exchange functions for them",
            "tensors",
            "driver of 8",
            None,
            "exchange functions of 8",
        ),
        row(
            "launch of 8 torch tensors on a side stream",
            "tensors, side stream",
            "driver of 8",
            None,
        ),
        row("launch of 8 Arrays imported from torch", "imported", "driver of 8", None),
        row("launch of 8 Arrays", "Arrays", "driver of 8", None),
        row("launch of 4 torch tensors", "4 tensors", "driver of 4", None),
        row(
            "launch of 4 CuPy arrays, within 0.8 µs of cuLaunchKernel",
            "CuPy",
            "driver of 4",
            CUPY_MARGIN_NS,
        ),
        row(
            "... of that and CuPy's attributes that describe them",
            "CuPy",
            "driver of 4",
            None,
            "attributes of 4",
        ),
        row("launch of 4 CuPy arrays on a side stream", "CuPy, side stream", "driver of 4", None),
    ]


def kernels() -> list[Result]:
    """Kernels from Python, against the same by hand and by other compilers."""
    torch.cuda.synchronize()  # makes the context current, in which the driver's own launch runs
    return [
        *cuda_kernels.kernel_rows(),
        *cuda_kernels.launch_rows(driver(), torch.cuda.synchronize),
        *cuda_kernels.first_calls(),
    ]


def measured(pairs: list[Pair]) -> list[Result]:
    return [measure(pair) for pair in pairs]


GRAPH_LAUNCHES = 100


@dppy.kernel
def nothing_much(numbers, factor):
    numbers[dppy.get_global_id(0)] *= factor


def graphs() -> list[Result]:
    """A hundred small launches replayed, against a graph that CuPy captures of the same kernel, and
    against eager launches. All sides wait for the last launch."""
    queue = ep.Queue("cuda:0")
    numbers, factor = ep.zeros(64, "float32", queue=queue), np.float32(0.5)
    launch = nothing_much[64]
    launch(numbers, factor).wait()
    with ep.record(queue) as graph:
        for _ in range(GRAPH_LAUNCHES):
            launch(numbers, factor)
    stream = cupy.cuda.Stream(non_blocking=True)
    raw = cupy.RawKernel(
        'extern "C" __global__ void scale(float *a, float f) { a[threadIdx.x] *= f; }', "scale"
    )
    theirs = cupy.zeros(64, "float32")
    with stream:
        raw((1,), (64,), (theirs, factor))
        stream.begin_capture()
        for _ in range(GRAPH_LAUNCHES):
            raw((1,), (64,), (theirs, factor))
        by_hand = stream.end_capture()
    names: dict[str, Any] = {
        "graph": graph, "queue": queue, "by_hand": by_hand, "stream": stream, "launch": launch,
        "numbers": numbers, "factor": factor, "times": range(GRAPH_LAUNCHES),
    }  # fmt: skip
    ours = "graph.replay(); queue.wait()"
    return measure_together(
        [
            Pair(
                "100 launches replayed, against a graph of CuPy's capture",
                ours,
                "by_hand.launch(stream); stream.synchronize()",
                1 / 1.2,
                names,
            ),
            Pair(
                "100 launches replayed, against eager ones",
                ours,
                "for _ in times: launch(numbers, factor)\nqueue.wait()",
                1,
                names,
            ),
        ]
    )


def copies() -> list[Result]:
    queue = ep.Queue("cuda:0")
    return [
        *measured(transfers(queue)),
        *(result for pairs in strided(queue) for result in measure_together(pairs)),
    ]


TOPICS: dict[str, Callable[[], list[Result]]] = {
    "exchange": lambda: measured([*exchange(), *others(), *floors()]),
    "allocation": allocation,
    "launches": lambda: [*launches(), *library_launches()],
    "graphs": graphs,
    "streams": streams,
    "copies": copies,
    "kernels": kernels,
    **cuda_algorithms.TOPICS,
    "tiles": cuda_tiles.tile_rows,
    "numba_cuda": numba_cuda.results,
}


def main(command_line: list[str]) -> int:
    asked = arguments(__doc__, TOPICS, command_line, "benchmarks.cuda")
    results = {}
    for topic in asked.topics or TOPICS:
        results[topic] = TOPICS[topic]()
        print(f"\n{topic}")
        print_table(results[topic])
    if asked.json:
        write_json(asked.json, "benchmarks.cuda", results)
    return 0 if all(row.reached for found in results.values() for row in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

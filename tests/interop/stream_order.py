"""Libraries with a current stream, and Entrepot operations on their memory, for tests of order.

A library here makes arrays of float32 and works on them without waiting. Its method ``spin`` keeps
its current stream busy. Methods ``add`` and ``multiply`` change all elements. Method ``on`` makes
another stream current.
An operation takes an array and, unless it is a reduction, does not wait on the host.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from entrepot.kernel import algorithms, func, get_global_id, kernel, reduce, vectorize
from support.cuda_streams import Stream

SIZE = 1 << 16

REPETITIONS = int(os.environ.get("ENTREPOT_REPETITIONS", "2"))

# How long a library keeps its stream busy: until the operation and the library's next change have
# been submitted. Every cell waits for this.
SPIN_CYCLES = 400_000  # of PyTorch and CuPy: 0.24 ms of an H100
NUMBA_TURNS = 15_000  # about as long
DPNP_ITEMS, DPNP_PASSES = 1 << 19, 2
DPCTL_TURNS = 2_000_000

# Turns of the loop in Entrepot's kernels: in an operation, and in the kernel that keeps an Entrepot
# queue busy. The latter takes longer than the work of the library's stream (0.3 ms of an H100).
TURNS = {"cuda:0": 3000, "opencl:cpu": 400}
BUSY_TURNS = {"cuda:0": 120_000, "opencl:cpu": 300_000}

DEFINITIONS = {
    "cuda:0": """
#define KERNEL extern "C" __global__ void
#define ARRAY float *
#define INDEX blockIdx.x * blockDim.x + threadIdx.x
""",
    "opencl:cpu": """
#define KERNEL __kernel void
#define ARRAY __global float *
#define INDEX get_global_id(0)
""",
}
SOURCE = """
#define SLOWLY(turns) unsigned t = 1; \\
    for (int turn = 0; turn < turns; ++turn) t = t * 1664525u + 1013904223u; \\
    if (t != 7)

KERNEL add_one(ARRAY x, int turns) {
    int i = INDEX;
    SLOWLY(turns) x[i] += 1;
}

KERNEL add_to_both(ARRAY x, ARRAY y, int turns) {
    int i = INDEX;
    SLOWLY(turns) {
        x[i] += y[i];
        y[i] += 1;
    }
}
"""


class Library:
    """A library as the tests use it; its arrays belong to its current stream."""

    name: str
    marks: tuple[str, ...]
    device = "cuda:0"
    #: False if Entrepot cannot know the stream on which the library uses an export.
    export_has_stream = True

    def stream(self) -> Any:
        """A new stream."""
        raise NotImplementedError

    def on(self, stream: Any) -> contextlib.AbstractContextManager[Any]:
        """Makes the stream the current one; None: the default stream."""
        raise NotImplementedError

    def zeros(self) -> Any:
        raise NotImplementedError

    def spin(self, x: Any) -> None:
        """Keeps the array's stream busy."""
        raise NotImplementedError

    def add(self, x: Any, value: float) -> None:
        raise NotImplementedError

    def multiply(self, x: Any, value: float) -> None:
        raise NotImplementedError

    def values(self, x: Any) -> np.ndarray:
        raise NotImplementedError

    def wait(self) -> None:
        raise NotImplementedError

    def as_cai(self, x: Any) -> Any:
        """The library's array, as an object of the CUDA array interface alone."""
        raise NotImplementedError

    def from_cai(self, array: ep.Array) -> Any:
        raise NotImplementedError

    def from_dlpack(self, array: ep.Array) -> Any:
        raise NotImplementedError

    def crosses(self, form: str, protocol: str) -> bool:
        """True if memory passes between the library and Entrepot in that form by that protocol."""
        return True

    def given(self, x: Any, protocol: str) -> Any:
        """The library's array as an operand of an Entrepot operation."""
        return self.as_cai(x) if protocol == "cai" else x

    def imported(self, x: Any, protocol: str) -> ep.Array:
        return ep.asarray(self.given(x, protocol))

    def exported(self, array: ep.Array, protocol: str) -> Any:
        return self.from_cai(array) if protocol == "cai" else self.from_dlpack(array)

    def operand(self, form: str, protocol: str, op: str) -> tuple[Any, Any]:
        """An array of zeros of the library, and the operand that Entrepot's operation of that name
        gets for it."""
        if form == "exported":
            array = ep.zeros(SIZE, "float32", device=self.device)
            array.queue.wait()
            return self.exported(array, protocol), array
        x = self.zeros()
        if form == "object":
            return x, self.given(x, protocol)
        array = self.imported(x, protocol)
        if form == "array":
            return x, array
        view = array.reshape(SIZE // 256, 256).reshape(-1)
        return x, view if op == "program" else view[
            ::-1
        ]  # a program gets a pointer, and no strides


class Named(Library):
    """A library without a current stream, whose arrays and kernels name theirs."""

    default: Any
    current: Any

    @contextlib.contextmanager
    def on(self, stream: Any) -> Iterator[None]:
        before, self.current = self.current, self.default if stream is None else stream
        try:
            yield
        finally:
            self.current = before


class CaiOnly:
    """An array that speaks the CUDA Array Interface only, and names the stream that it works on."""

    def __init__(self, array: Any, stream: int) -> None:
        self._array = array
        self._stream = stream

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self._array.__cuda_array_interface__, "version": 3, "stream": self._stream or 1}


class TorchCuda(Library):
    name = "torch"
    marks = ("cuda", "torch")

    def __init__(self) -> None:
        import torch

        self.torch = torch

    def stream(self) -> Any:
        return self.torch.cuda.Stream()

    def on(self, stream: Any) -> contextlib.AbstractContextManager[Any]:
        # The default stream by name: another one may be current.
        return self.torch.cuda.stream(
            self.torch.cuda.default_stream() if stream is None else stream
        )

    def as_cai(self, x: Any) -> Any:
        return CaiOnly(x, self.torch.cuda.current_stream().cuda_stream)

    def zeros(self) -> Any:
        return self.torch.zeros(SIZE, device="cuda")

    def spin(self, x: Any) -> None:
        self.torch.cuda._sleep(SPIN_CYCLES)

    def add(self, x: Any, value: float) -> None:
        x.add_(value)

    def multiply(self, x: Any, value: float) -> None:
        x.mul_(value)

    def from_dlpack(self, array: ep.Array) -> Any:
        return self.torch.from_dlpack(array)

    def from_cai(self, array: ep.Array) -> Any:
        return self.torch.as_tensor(array, device="cuda")

    def wait(self) -> None:
        self.torch.cuda.current_stream().synchronize()

    def values(self, x: Any) -> np.ndarray:
        return x.cpu().numpy()


class CupyCuda(Library):
    name = "cupy"
    marks = ("cuda", "cupy")

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy
        self._spin = cupy.RawKernel(
            'extern "C" __global__ void spin(long long n) { long long t = clock64(); while '
            "(clock64() - t < n); }",
            "spin",
        )

    def stream(self) -> Any:
        return self.cupy.cuda.Stream(non_blocking=True)

    def on(self, stream: Any) -> contextlib.AbstractContextManager[Any]:
        return self.cupy.cuda.Stream.null if stream is None else stream

    def as_cai(self, x: Any) -> Any:
        return CaiOnly(x, self.cupy.cuda.get_current_stream().ptr)

    def zeros(self) -> Any:
        return self.cupy.zeros(SIZE, "float32")

    def spin(self, x: Any) -> None:
        self._spin((1,), (1,), (np.int64(SPIN_CYCLES),))

    def add(self, x: Any, value: float) -> None:
        self.cupy.add(x, np.float32(value), out=x)

    def multiply(self, x: Any, value: float) -> None:
        self.cupy.multiply(x, np.float32(value), out=x)

    def from_dlpack(self, array: ep.Array) -> Any:
        return self.cupy.from_dlpack(array)

    def from_cai(self, array: ep.Array) -> Any:
        return self.cupy.asarray(array)

    def wait(self) -> None:
        self.cupy.cuda.get_current_stream().synchronize()

    def values(self, x: Any) -> np.ndarray:
        return self.cupy.asnumpy(x)


class NumbaCuda(Named):
    """Numba's arrays name the stream that they were made on; a launch names the stream of its
    kernel."""

    name = "numba"
    marks = ("cuda", "numba_cuda")
    default = 0
    export_has_stream = False

    def __init__(self) -> None:
        if not hasattr(np, "row_stack"):
            np.row_stack = np.vstack  # NumPy 2.5 dropped it, and numba-cuda 0.30 looks for it
        from numba import cuda

        self.cuda = cuda
        self.current: Any = self.default

        @cuda.jit
        def add(x, value):
            i = cuda.grid(1)
            x[i] += value

        @cuda.jit
        def multiply(x, value):
            i = cuda.grid(1)
            x[i] *= value

        @cuda.jit
        def spin(out, turns):
            t = 1
            for _ in range(turns):
                t = (t * 1664525 + 1013904223) & 0x7FFFFFFF
            if t == 7:
                out[0] = t

        self._add, self._multiply, self._spin = add, multiply, spin
        self._scratch = cuda.device_array(1, "int64")

    def stream(self) -> Any:
        """A non-blocking stream: CUDA orders the blocking ones of ``numba.cuda.stream()`` with the
        legacy default stream, so a test on them could not fail."""
        owner = Stream()
        wrapped = self.cuda.external_stream(owner.handle)
        wrapped.owner = owner
        return wrapped

    def crosses(self, form: str, protocol: str) -> bool:
        return protocol == "cai"

    def as_cai(self, x: Any) -> Any:
        return x

    def zeros(self) -> Any:
        return self.cuda.to_device(np.zeros(SIZE, "float32"), stream=self.current)

    def spin(self, x: Any) -> None:
        self._spin[1, 1, self.current](self._scratch, NUMBA_TURNS)

    def add(self, x: Any, value: float) -> None:
        self._add[SIZE // 256, 256, self.current](x, np.float32(value))

    def multiply(self, x: Any, value: float) -> None:
        self._multiply[SIZE // 256, 256, self.current](x, np.float32(value))

    def from_cai(self, array: ep.Array) -> Any:
        taken = self.cuda.as_cuda_array(array)
        taken.stream = (
            self.current
        )  # it names the stream of the export, and not the one that it is used on
        return taken

    def wait(self) -> None:
        self.cuda.synchronize()

    def values(self, x: Any) -> np.ndarray:
        self.wait()
        return x.copy_to_host()


class SuaiOnly:
    """Bytes of dpctl's memory as float32, by the SYCL USM Array Interface only."""

    def __init__(self, memory: Any, queue: Any) -> None:
        self._memory = memory
        pointer = memory.__sycl_usm_array_interface__["data"][0]
        self.__sycl_usm_array_interface__ = {
            "version": 1,
            "shape": (SIZE,),
            "typestr": "<f4",
            "data": (pointer, False),
            "strides": None,
            "offset": 0,
            "syclobj": queue,
        }


DPCTL_SOURCE = """
__kernel void add(__global float *x, float value) { x[get_global_id(0)] += value; }
__kernel void multiply(__global float *x, float value) { x[get_global_id(0)] *= value; }
__kernel void spin(__global float *x, float turns) {  // of a number that the compiler does not know
    unsigned t = 1;
    for (int turn = 0; turn < (int)turns; ++turn) t = t * 1664525u + 1013904223u;
    if (t == 7) x[0] = turns;
}
"""


class Dpnp(Named):
    """Its arrays work on the queue that they were made on."""

    name = "dpnp"
    marks = ("sycl", "dpctl", "dpnp")
    device = "opencl:cpu"
    in_order = True

    def __init__(self) -> None:
        import dpctl
        import dpnp

        self.dpctl, self.dpnp = dpctl, dpnp
        self.default = self.stream()
        self.current = self.default
        self._scratch: dict[Any, Any] = {}  # by queue
        self._numbers: dict[tuple[Any, float], Any] = {}

    def stream(self) -> Any:
        return self.dpctl.SyclQueue(self.device, property=["in_order"] if self.in_order else [])

    def crosses(self, form: str, protocol: str) -> bool:
        return form != "exported" if protocol == "suai" else form != "object"

    def zeros(self) -> Any:
        return self.dpnp.zeros(SIZE, dtype="float32", sycl_queue=self.current)

    def spin(self, x: Any) -> None:
        if x.sycl_queue not in self._scratch:
            self._scratch[x.sycl_queue] = self.dpnp.ones(
                DPNP_ITEMS, dtype="float64", sycl_queue=x.sycl_queue
            )
        scratch = self._scratch[x.sycl_queue]
        for _ in range(DPNP_PASSES):
            self.dpnp.sin(scratch, out=scratch)

    def _number(self, x: Any, value: float) -> Any:
        """A number as an array on the queue of x: for a scalar, dpnp waits for the queue."""
        key = x.sycl_queue, value
        if key not in self._numbers:
            self._numbers[key] = self.dpnp.full((), value, dtype="float32", sycl_queue=x.sycl_queue)
            x.sycl_queue.wait()
        return self._numbers[key]

    def add(self, x: Any, value: float) -> None:
        self.dpnp.add(x, self._number(x, value), out=x)

    def multiply(self, x: Any, value: float) -> None:
        self.dpnp.multiply(x, self._number(x, value), out=x)

    def from_dlpack(self, array: ep.Array) -> Any:
        return self.dpnp.from_dlpack(array)

    def wait(self) -> None:
        self.current.wait()

    def values(self, x: Any) -> np.ndarray:
        return self.dpnp.asnumpy(x)

    def imported(self, x: Any, protocol: str) -> ep.Array:
        return ep.asarray(x, protocol=protocol)


class DpnpOutOfOrder(Dpnp):
    name = "dpnp out of order"
    in_order = False


class Dpctl(Dpnp):
    """Raw memory and kernels of dpctl. On an out-of-order queue its users order their own kernels,
    here by barriers.
    """

    name = "dpctl"

    def __init__(self) -> None:
        super().__init__()
        self._kernels: dict[Any, Any] = {}

    def _submit(self, name: str, memory: Any, value: float) -> None:
        import ctypes

        from dpctl.program import create_program_from_source

        if self.current not in self._kernels:
            self._kernels[self.current] = create_program_from_source(self.current, DPCTL_SOURCE)
        one_item = [1] if name == "spin" else [SIZE]
        self.current.submit_async(
            self._kernels[self.current].get_sycl_kernel(name),
            [memory, ctypes.c_float(value)],
            one_item,
        )
        if not self.in_order:
            self.current.submit_barrier()

    def zeros(self) -> Any:
        from dpctl.memory import MemoryUSMDevice

        memory = MemoryUSMDevice(4 * SIZE, queue=self.current)
        memory.copy_from_host(np.zeros(4 * SIZE, "uint8"))
        return memory

    def spin(self, x: Any) -> None:
        if self.current not in self._scratch:
            self._scratch[self.current] = self.zeros()
        self._submit("spin", self._scratch[self.current], DPCTL_TURNS)

    def add(self, x: Any, value: float) -> None:
        self._submit("add", x, value)

    def multiply(self, x: Any, value: float) -> None:
        self._submit("multiply", x, value)

    def crosses(self, form: str, protocol: str) -> bool:
        return protocol == "suai" and form != "exported"

    def given(self, x: Any, protocol: str) -> Any:
        return SuaiOnly(x, self.current)

    def values(self, x: Any) -> np.ndarray:
        self.wait()
        return x.copy_to_host().view("float32")

    def imported(self, x: Any, protocol: str) -> ep.Array:
        return ep.asarray(x).view("float32")


class DpctlOutOfOrder(Dpctl):
    name = "dpctl out of order"
    in_order = False


# ---------------------------------------------------------------- Entrepot's operations


@func
def takes_long(turns):
    """True, after so many turns of a loop."""
    t = np.uint32(1)
    for _ in range(turns):
        t = t * np.uint32(1664525) + np.uint32(1013904223)
    return t != np.uint32(7)


@kernel
def _add_one(x, turns):
    i = get_global_id(0)
    if takes_long(turns):
        x[i] += 1


def keep_busy(queue: ep.Queue, device: str, libraries: int) -> None:
    """Delays the queue's next work for longer than that many libraries keep their streams busy."""
    turns = BUSY_TURNS[device] * libraries
    _add_one[256, 256](ep.zeros(256, "float32", queue=queue), turns, queue=queue, wait=False)


@vectorize
def plus_one(x):
    return x + np.float32(1)


@func
def plus(a, b):
    return a + b


@func
def larger(a, b):
    return max(a, b)


total = reduce(plus, identity=0)


@functools.cache
def program(device: str, name: str) -> ep.Kernel:
    return ep.Program(DEFINITIONS[device] + SOURCE, device).kernel(name)


def _launch_kernel(x: Any, queue: ep.Queue | None, device: str) -> None:
    _add_one[SIZE, 256](x, TURNS[device], queue=queue, wait=False)


def _launch_program(x: Any, queue: ep.Queue | None, device: str) -> None:
    program(device, "add_one")[SIZE, 256](x, ep.Scalar(TURNS[device], "int32"), queue=queue)


def _copy(x: Any, queue: ep.Queue | None, device: str) -> None:
    ep.copy(x, source(device), queue=queue)


@functools.cache
def source(device: str) -> ep.Array:
    fives = ep.full(SIZE, 5, "float32", device=device)
    fives.queue.wait()
    return fives


def _fill(x: Any, queue: ep.Queue | None, device: str) -> None:
    ep.fill(x, 5, queue=queue)


def _reduce(x: Any, queue: ep.Queue | None, device: str) -> float:
    return total(x, queue=queue)


def _vectorize(x: Any, queue: ep.Queue | None, device: str) -> None:
    plus_one(x, out=x, queue=queue)


class Later:
    """The last element of a result that may be pending: it is read when it is compared."""

    def __init__(self, result: ep.Array) -> None:
        self._result = result

    def __eq__(self, other: object) -> bool:
        return self._result.reshape(-1)[-1].item() == other

    __hash__ = None  # type: ignore[assignment]


def _scan(x: Any, queue: ep.Queue | None, device: str) -> None:
    algorithms.inclusive_scan(x, larger, out=x, queue=queue)


def _reduce_later(x: Any, queue: ep.Queue | None, device: str) -> Later:
    return Later(algorithms.reduce(x, plus, 0, queue=queue))


def _sort(x: Any, queue: ep.Queue | None, device: str) -> Later:
    return Later(algorithms.sort(x, queue=queue))


@dataclass(frozen=True)
class Op:
    """An operation: its effect on elements that are ``3`` when it runs, and its result."""

    name: str
    run: Callable[[Any, ep.Queue | None, str], float | Later | None]
    after: float
    returns: float | None = None


OPERATIONS = [
    Op("kernel", _launch_kernel, 4),
    Op("program", _launch_program, 4),
    Op("copy", _copy, 5),
    Op("fill", _fill, 5),
    Op("reduce", _reduce, 3, returns=3 * SIZE),
    Op("vectorize", _vectorize, 4),
    Op("scan", _scan, 3),
    Op("reduce, algorithm", _reduce_later, 3, returns=3 * SIZE),
    Op("sort", _sort, 3, returns=3),
]


def operations(*names: str) -> list[Op]:
    return [op for op in OPERATIONS if op.name in names]


# ---------------------------------------------------------------- what the tests share

made = functools.cache(lambda library: library())


@functools.cache
def side_stream(library: type) -> Any:
    return made(library).stream()


@functools.cache
def our_queue(device: str) -> ep.Queue:
    return ep.Queue(device)


def together(*libraries: Any, protocols: tuple[str, ...] = ()) -> Any:
    """A parameter: the libraries, and a second value if each has its own protocol."""
    marks = dict.fromkeys(mark for each in libraries for mark in each.marks)
    name = "+".join(each.name for each in libraries) + "".join(f", {each}" for each in protocols)
    values = (libraries, protocols) if protocols else (libraries,)
    return pytest.param(*values, id=name, marks=[getattr(pytest.mark, mark) for mark in marks])


def repeat(case: Callable[[bool], None]) -> None:
    """Runs all repetitions of a case, every second one ``late``, and tells how many failed."""
    wrong = []
    for repetition in range(REPETITIONS):
        try:
            case(repetition % 2 == 1)
        except AssertionError as error:
            wrong.append((repetition, str(error).splitlines()[0]))
    assert not wrong, f"{len(wrong)} of {REPETITIONS} repetitions: {wrong[:3]}"

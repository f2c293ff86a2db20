"""Devices by number, the current device, and what numba.cuda calls a context.

The devices are the GPUs of CUDA, HIP and SYCL, then the host, then the other devices of SYCL. So
device 0 is a GPU if a driver reports one, and a program runs everywhere. The current device is:

1. the device that ``select_device()`` chose in this thread
2. that of the innermost ``entrepot.device_context`` of this thread
3. that of the environment variable ``ENTREPOT_DEVICE``
4. device 0
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar, cast

from .. import _core
from .._core import DeviceError, Queue, devices, trim
from .errors import unsupported

_ORDER = ("cuda", "hip", "level_zero", "opencl")
_chosen = threading.local()

#: Names of devices that are not served, and what replaces them.
INSTEAD = {
    "WARP_SIZE": "cuda.warpsize in a kernel is that of its device",
    "compute_capability": "the code is made for the device it runs on; device.device has its "
    "aspects, such as has_aspect_fp64",
}


class MemoryInfo(NamedTuple):
    """Bytes of a device's memory."""

    free: int
    total: int


class Device:
    """A device by its number in ``list_devices()``.

    Parameters
    ----------
    id : int
        The number.
    device : entrepot.Device
        The device.

    Examples
    --------
    >>> from entrepot import numba_cuda as cuda
    >>> last = cuda.list_devices()[-1]
    >>> last.name == ep.device("host").name
    True
    """

    def __init__(self, id: int, device: _core.Device) -> None:
        self.id, self.device = id, device

    def __repr__(self) -> str:
        return f"<numba_cuda device {self.id}: {self.device}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.device == other.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __enter__(self) -> Device:
        _saved().append(list(stack()))
        stack().append(self)
        return self

    def __exit__(self, *_: object) -> None:
        # The stack is another one after select_device() or close() in the statement.
        stack()[:] = _saved().pop()

    @property
    def name(self) -> str:
        """Name that the driver reports."""
        return self.device.name

    @property
    def supports_float16(self) -> bool:
        """True if kernels of the device compute with float16."""
        return self.device.has_aspect_fp16 or self.device.backend == "cuda"

    def get_device_identity(self) -> str:
        """Name by which ``entrepot.device()`` finds the device."""
        return str(self.device)

    def get_primary_context(self) -> Context:
        """The device's context."""
        return Context(self)

    def reset(self) -> None:
        """Wait for all work of the device, and return unused memory of pools to the drivers."""
        _wait_for(self.device)
        trim()

    # Sizes that numba.cuda's programs ask for, under the driver's names.

    @property
    def MAX_THREADS_PER_BLOCK(self) -> int:
        """Most threads of a block."""
        return self.device.max_work_group_size

    @property
    def MULTIPROCESSOR_COUNT(self) -> int:
        """Number of compute units."""
        return self.device.max_compute_units

    @property
    def MAX_SHARED_MEMORY_PER_BLOCK(self) -> int:
        """Bytes of shared memory of a block."""
        return self.device.local_mem_size

    def __getattr__(self, name: str) -> Any:
        instead = "device.device is the entrepot.Device, whose properties describe it"
        raise unsupported(f"Device.{name}", INSTEAD.get(name, instead))


class Context:
    """The context of a device in numba.cuda's words: its memory and its default stream."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def __repr__(self) -> str:
        return f"<numba_cuda context of {self.device.device}>"

    def synchronize(self) -> None:
        """Wait for all work that this module has submitted to the device."""
        _wait_for(self.device.device)

    def get_memory_info(self) -> MemoryInfo:
        """The total memory of the device. Raises NotServedError, since Entrepot has no count of
        free memory.
        """
        raise unsupported(
            "Context.get_memory_info()",
            "device.global_mem_size of entrepot.Device is the total, and entrepot.statistics "
            "counts what this process has allocated",
        )

    def reset(self) -> None:
        """Wait for all work of the device, and return unused memory of pools to the drivers."""
        self.device.reset()

    def __getattr__(self, name: str) -> Any:
        raise unsupported(
            f"Context.{name}",
            "memory is made by device_array() and to_device(), streams by stream()",
        )


class DeviceList:
    """The devices: ``cuda.gpus[0]``, ``len(cuda.gpus)``, ``with cuda.gpus[1]: …``."""

    @property
    def lst(self) -> list[Device]:
        """The devices, in the order of their numbers."""
        return list(every_device())

    @property
    def current(self) -> Device:
        """The current device."""
        return get_current_device()

    def __len__(self) -> int:
        return len(every_device())

    def __getitem__(self, number: int) -> Device:
        devices = every_device()
        if not -len(devices) <= number < len(devices):
            raise IndexError(f"cuda.gpus has {len(devices)} devices, and no number {number}")
        return devices[number]

    def __iter__(self) -> Iterator[Device]:
        return iter(every_device())

    def __repr__(self) -> str:
        return ", ".join(map(repr, every_device()))


gpus = DeviceList()


def every_device() -> tuple[Device, ...]:
    """All devices. They are looked for once, since drivers do not report new ones."""
    # Two threads may both look, and find the same.
    if not _found:
        _found.append(_look())
    return _found[0]


_found: list[tuple[Device, ...]] = []


def _look() -> tuple[Device, ...]:

    def place(device: _core.Device) -> tuple[int, int]:
        known = _ORDER.index(device.backend) if device.backend in _ORDER else len(_ORDER)
        return (0 if device.is_gpu else 1 if device.backend == "host" else 2), known

    ordered = sorted(devices(), key=place)
    return tuple(Device(number, each) for number, each in enumerate(ordered))


def stack() -> list[Device]:
    """The devices that this thread has chosen, the last one being current."""
    if not hasattr(_chosen, "stack"):
        _chosen.stack = []
    return cast("list[Device]", _chosen.stack)


def _saved() -> list[list[Device]]:
    """The stacks of this thread before each of its ``with`` statements."""
    if not hasattr(_chosen, "saved"):
        _chosen.saved = []
    return cast("list[list[Device]]", _chosen.saved)


def current_device() -> _core.Device:
    """The current device."""
    chosen = stack()
    if chosen:
        return chosen[-1].device
    if _core._in_device_context() or os.environ.get("ENTREPOT_DEVICE"):
        return _core.device()
    return every_device()[0].device


def current_queue() -> Queue:
    """The queue of the default stream of the current device."""
    return current_device().queue


def numbered(device: _core.Device) -> Device:
    """The device with its number; a sub-device has the number of no other."""
    for each in every_device():
        if each.device == device:
            return each
    return Device(len(every_device()), device)


def select_device(device_id: int) -> Device:
    """Make a device current in this thread.

    Parameters
    ----------
    device_id : int
        Its number in ``list_devices()``.

    Returns
    -------
    Device
        The device.

    Raises
    ------
    DeviceError
        If there is no such device.

    Examples
    --------
    >>> from entrepot import numba_cuda as cuda
    >>> device = cuda.select_device(len(cuda.gpus) - 1)  # the host
    >>> cuda.get_current_device() == device
    True
    >>> cuda.close()
    """
    if not 0 <= device_id < len(every_device()):
        raise DeviceError(
            f"select_device({device_id}): there are {len(every_device())} devices, which "
            "list_devices() shows"
        )
    chosen = every_device()[device_id]
    stack()[:] = [chosen]
    return chosen


def get_current_device() -> Device:
    """Return the current device of this thread."""
    return numbered(current_device())


def list_devices() -> DeviceList:
    """Return all devices."""
    return gpus


def current_context(devnum: int | None = None) -> Context:
    """Return the context of a device, by default the current one."""
    return Context(get_current_device() if devnum is None else every_device()[devnum])


def is_available() -> bool:
    """Return True, since kernels run on the host if there is no other device."""
    return True


def cuda_error() -> None:
    """Return the reason why no device is available: None, since the host is one."""


def is_supported_version() -> bool:
    """Return True: the driver is loaded when it is needed, and reports an unsupported version."""
    return True


def is_float16_supported() -> bool:
    """Return True: the language has float16, which a device without it refuses by name."""
    return True


def detect() -> bool:
    """Print the devices.

    Returns
    -------
    bool
        True, since the host is one.
    """
    print(f"Found {len(gpus)} devices")
    for each in gpus:
        print(f"id {each.id}    {each.name:>40}    [{each.device}]")
    return True


def synchronize() -> None:
    """Wait for all work of the current device.

    Work of the default stream and of every stream of this module is waited for.
    """
    _wait_for(current_device())


def _wait_for(device: _core.Device) -> None:
    device.queue.wait()
    with _watched_lock:
        queues = [each.queue for each in _watched]
    for queue in queues:
        if queue.device == device:
            queue.wait()


class _Watched:
    """The queue of a stream, which lasts until the stream is dropped and its work is done."""

    def __init__(self, queue: Queue) -> None:
        self._owner = weakref.ref(queue)
        self.queue = Queue(queue)  # another handle, so that the owner can be dropped

    def is_needed(self) -> bool:
        return self._owner() is not None or self.queue.is_captured or not self.queue.is_idle


# Queues of streams, for synchronize(). The lock guards the list.
_watched: list[_Watched] = []
_watched_lock = threading.Lock()


def watch(queue: Queue) -> None:
    """Let synchronize() wait for the queue as long as it exists or has pending work."""
    added = _Watched(queue)
    with _watched_lock:
        _watched[:] = [*(each for each in _watched if each.is_needed()), added]


def close() -> None:
    """Wait for all work of this thread's device, and forget ``select_device()``.

    Arrays stay valid, because each holds its memory.
    """
    synchronize()
    stack().clear()


_Function = TypeVar("_Function", bound=Callable[..., Any])


def require_context(function: _Function) -> _Function:
    """Return the function: a device needs no context to be made first."""
    return function


@contextlib.contextmanager
def defer_cleanup() -> Iterator[None]:
    """Do nothing, for ``with cuda.defer_cleanup(): …``.

    Memory is freed, or reused by a pool, without blocking once its pending accesses are complete.
    """
    yield


def _call_driver(name: str) -> None:
    """Calls a function of CUDA's driver without arguments, if the current device is CUDA's."""
    if current_device().backend != "cuda":
        return
    status = getattr(ctypes.CDLL("libcuda.so.1"), name)()
    if status != 0:
        raise DeviceError(f"{name} failed with CUDA's error {status}")


def profile_start() -> None:
    """Start the collection of CUDA's profiler; without effect on other devices."""
    _call_driver("cuProfilerStart")


def profile_stop() -> None:
    """Stop the collection of CUDA's profiler; without effect on other devices."""
    _call_driver("cuProfilerStop")


@contextlib.contextmanager
def profiling() -> Iterator[None]:
    """Let CUDA's profiler collect within ``with cuda.profiling(): …``."""
    profile_start()
    try:
        yield
    finally:
        profile_stop()

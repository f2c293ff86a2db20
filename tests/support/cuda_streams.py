"""CUDA's streams and current context by the driver alone, like those of other programs."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator

import entrepot as ep

LEGACY, PER_THREAD = 1, 2
_NON_BLOCKING = 1
_CLUSTER_LAUNCH = 120  # CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH


@functools.cache
def driver() -> ctypes.CDLL:
    cuda = ctypes.CDLL("libcuda.so.1")
    check(cuda.cuInit(0))
    return cuda


def check(status: int) -> None:
    assert status == 0, f"error {status} of the driver"


def has_clusters(device: int = 0) -> bool:
    found = ctypes.c_int()
    check(driver().cuDeviceGetAttribute(ctypes.byref(found), _CLUSTER_LAUNCH, device))
    return found.value != 0


@functools.cache
def primary_context(device: int = 0) -> ctypes.c_void_p:
    context = ctypes.c_void_p()
    check(driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    return context


def current_context() -> int | None:
    context = ctypes.c_void_p()
    check(driver().cuCtxGetCurrent(ctypes.byref(context)))
    return context.value


@contextlib.contextmanager
def inside(context: ctypes.c_void_p) -> Iterator[None]:
    check(driver().cuCtxPushCurrent_v2(context))
    try:
        yield
    finally:
        check(driver().cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())))


class Stream:
    """A stream, by default a non-blocking one, which is destroyed with the object; its handle
    dangles then."""

    def __init__(self, device: int = 0, *, blocking: bool = False) -> None:
        handle = ctypes.c_void_p()
        with inside(primary_context(device)):
            check(driver().cuStreamCreate(ctypes.byref(handle), 0 if blocking else _NON_BLOCKING))
        self.handle: int = handle.value or 0

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)

    def wait(self) -> None:
        check(driver().cuStreamSynchronize(ctypes.c_void_p(self.handle)))

    def __del__(self) -> None:
        driver().cuStreamDestroy_v2(ctypes.c_void_p(self.handle))


def fill(address: int, value: int, count: int, stream: int) -> None:
    """Submits a fill of 32-bit integers to the stream. Entrepot does not see it."""
    with inside(primary_context()):
        check(
            driver().cuMemsetD32Async(
                ctypes.c_uint64(address),
                ctypes.c_uint(value),
                ctypes.c_size_t(count),
                ctypes.c_void_p(stream),
            )
        )


class NamesStream:
    """Memory with a stream, which its interface names and which is destroyed with it."""

    def __init__(self) -> None:
        self.memory, self.stream = ep.zeros((4, 3), "int32", device="cuda:0"), Stream()
        self.memory.queue.wait()
        self.__cuda_array_interface__ = {
            "shape": (4, 3),
            "typestr": "<i4",
            "data": (self.memory.data_ptr, False),
            "version": 3,
            "stream": self.stream.handle,
        }


class DefaultStream:
    """A default stream, by its number."""

    def __init__(self, handle: int = LEGACY) -> None:
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)

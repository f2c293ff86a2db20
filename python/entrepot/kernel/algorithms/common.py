"""Parts that all algorithms share: arguments, the queue they run on, and their results."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

from ..._core import Array, Device, Event, Queue, asarray, copy, empty, fill
from ..._core import device as current_device
from ..functions import DeviceFunction
from ..operands import about, copied, is_of_numpy, overlap

#: Work-items of a group, in algorithms with groups. A power of two.
GROUP = 256
#: Consecutive elements of each work-item of a group.
PER_ITEM = 8
#: Elements of a group.
TILE = GROUP * PER_ITEM
#: Chunks for each processor: several, so that threads balance them.
CHUNKS_PER_UNIT = 4
#: Elements below which another chunk costs more than it saves.
SMALLEST_CHUNK = 1 << 14

#: Statements of a kernel that find the chunk of a work-item: it is array[first:last]. The last one
#: has the remainder. max() tells the compiler that no index is negative.
CHUNK = """
    i = get_global_id(0)
    chunks = get_global_size(0)
    size = array.shape[0] // chunks
    first = max(i * size, 0)
    last = array.shape[0] if i == chunks - 1 else first + size
"""
#: Statements that find the elements of a work-item in the tile of its group.
ITEM_OF_TILE = """
    own = get_local_id(0)
    size = array.shape[0]
    first = min(get_global_id(0) * {per_item}, size)
    last = min(first + {per_item}, size)
"""


def chunks_of(size: int, device: Device) -> int:
    """Number of chunks, at least 1. It depends on the size and the device only, so that results
    are the same in each run.
    """
    return max(1, min(device.max_compute_units * CHUNKS_PER_UNIT, size // SMALLEST_CHUNK))


def tiles_of(size: int) -> int:
    """Number of groups, at least 1."""
    return max(1, -(-size // TILE))


def operator(function: str, value: Any, takes: str) -> FunctionType:
    """The function that kernels call. Raises TypeError for other objects."""
    if isinstance(value, DeviceFunction):
        return value.function
    if not isinstance(value, FunctionType):
        raise TypeError(
            f"{function}() takes a Python function of {takes}, not {value!r}: write a lambda or def"
        )
    return value


def whole(function: str, argument: str, value: Any) -> int:
    """The value as an int. Raises TypeError for bools, and for objects that are no integers."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{function}(): {argument} is an int, and {value!r} was given")
    return int(value.__index__())


class Call:
    """A call of an algorithm: its array arguments, and the queue to run on."""

    def __init__(
        self,
        name: str,
        arguments: Mapping[str, Any],
        queue: Any,
        out: Any = None,
        *,
        takes_vectors: bool = False,
    ) -> None:
        self.name = name
        self._given = tuple(arguments.values())
        self.out = out
        self._asked = queue
        found = []
        for position, (argument, value) in enumerate(arguments.items()):
            with about(f"{name}(): argument {position} ({argument})"):
                found.append(asarray(value))
                if takes_vectors and found[-1].ndim != 1:
                    raise ValueError(
                        f"one dimension is supported, and the shape is {found[-1].shape}: pass "
                        "reshape(-1), or one row at a time"
                    )
        self._first_queue = found[0].queue
        self._is_on_host = all(each.device.backend == "host" for each in found)
        self.is_numpy = all(map(is_of_numpy, self._given))
        self.queue = _queue_of(found, queue)
        #: The arguments, or copies on the queue's device if that cannot access host memory.
        self.arrays = [
            each if _is_accessible(each, self.queue.device) else each.to(queue=self.queue)
            for each in found
        ]

    def result(self, shape: tuple[int, ...], dtype: Any) -> Result:
        """The array for the result: ``out`` of any dtype, or a new one."""
        if self.out is None:
            with about(f"{self.name}(): the result"):
                return Result(self, empty(shape, dtype, queue=self._queue_of_result()))
        with about(f"{self.name}(): out"):
            array = asarray(self.out)
            if array.shape != shape:
                raise ValueError(
                    f"the shape is {array.shape}, and the result has {shape}: pass an array of "
                    "that shape"
                )
            if array.read_only:
                raise ValueError("the array is read-only: pass one that can be written")
            return Result(self, array)

    def result_of(self, shape: tuple[int, ...], dtype: Any) -> Result:
        """The array for the result, of that dtype. Raises TypeError for ``out`` of another one."""
        result = self.result(shape, dtype)
        if result.written.dtype != dtype:
            raise TypeError(
                f"{self.name}(): the result is of {dtype}, and out of {result.written.dtype}: pass "
                "an array of the result's type"
            )
        return result

    def _queue_of_result(self) -> Queue:
        """NumPy reads only host memory, so its results are there. Arrays on the host without
        ``queue=`` have results on the host as well.
        """
        stays = self.is_numpy or (self._asked is None and self._is_on_host)
        return self._first_queue if stays else self.queue

    @property
    def waits(self) -> bool:
        """True if the call waits: borrowed memory is up to date on return, as after a launch."""
        given = self._given if self.out is None else (*self._given, self.out)
        return any(not isinstance(each, Array) for each in given)


class Result:
    """The array that an algorithm returns, and the one that its kernels write.

    Both are the same unless the device cannot access host memory.
    """

    def __init__(self, call: Call, array: Array) -> None:
        self._call = call
        self._array = array
        is_direct = _is_accessible(array, call.queue.device)
        self.written = array if is_direct else empty(array.shape, array.dtype, queue=call.queue)

    def apart_from(self, array: Array) -> Array:
        """The array, or a copy if ``out`` shares its memory in another layout."""
        shares = self._call.out is not None and overlap(self.written, array)
        return copied(array) if shares else array

    def filled(self, value: Any) -> Any:
        """The result of no elements."""
        return self.returned(fill(self.written, value, queue=self._call.queue))

    def returned(self, last: Event | None) -> Any:
        """The result for the caller, after the last kernel, if any, has been submitted. An array of
        NumPy without axes is a scalar, as from NumPy.
        """
        call = self._call
        if self.written is not self._array:
            last = copy(self._array, self.written, call.queue)
        if call.waits and last is not None:
            last.wait()
        if call.out is not None:
            return call.out
        if not call.is_numpy:
            return self._array
        found = self._array.numpy()
        return found if found.ndim else found[()]


def _queue_of(arrays: list[Array], queue: Any) -> Queue:
    """The queue to run on, by the rule of launches: ``queue``, else that of the first array on a
    device, else the current one.
    """
    if isinstance(queue, Queue):
        return queue
    if queue is not None:  # of dpctl, or a stream
        return empty(0, "uint8", queue=queue).queue
    for array in arrays:
        if array.device.backend != "host":
            return array.queue
    if current_device().backend == "host":
        return arrays[0].queue
    return empty(0, "uint8").queue


def _is_accessible(array: Array, device: Device) -> bool:
    """False for host memory that must be copied before the device can use it."""
    return (
        array.device.backend != "host"
        or device.backend == "host"
        or device.has_aspect_usm_system_allocations
    )

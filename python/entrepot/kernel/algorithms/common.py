"""Parts that all algorithms share: arguments, the queue they run on, and their results."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

from ..._core import Array, Device, Event, Queue, asarray, copy, empty, fill
from ..._core import device as current_device
from ..functions import DeviceFunction
from ..operands import About, copied, is_of_numpy, overlap

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
        self.out = out
        self._asked = queue
        self._given = given = list(arguments.values())
        self._are_ours = all(type(each) is Array for each in given)
        if not self._are_ours:
            given = self._viewed(arguments)
        if takes_vectors and any(each.ndim != 1 for each in given):
            self._require_vectors(arguments, given)
        self._found = given
        self.queue = _queue_of(given, queue)
        #: The arguments, or copies on the queue's device if that cannot access host memory.
        device = self.queue.device
        self.arrays = [
            each if _is_accessible(each, device) else each.to(queue=self.queue) for each in given
        ]

    def _about(self, position: int, argument: str) -> About:
        return About(self.name, f"argument {position} ({argument})")

    def _viewed(self, arguments: Mapping[str, Any]) -> list[Array]:
        found = []
        for position, (argument, value) in enumerate(arguments.items()):
            with self._about(position, argument):
                found.append(asarray(value))
        return found

    def _require_vectors(self, arguments: Mapping[str, Any], found: list[Array]) -> None:
        for position, (argument, array) in enumerate(zip(arguments, found, strict=True)):
            if array.ndim != 1:
                with self._about(position, argument):
                    raise ValueError(
                        f"one dimension is supported, and the shape is {array.shape}: pass "
                        "reshape(-1), or one row at a time"
                    )

    @property
    def is_numpy(self) -> bool:
        """True if all arguments are NumPy's, so that the result is as well."""
        return not self._are_ours and all(map(is_of_numpy, self._given))

    def result(self, shape: tuple[int, ...], dtype: Any) -> Result:
        """The array for the result: ``out`` of any dtype, or a new one."""
        if self.out is None:
            with About(self.name, "the result"):
                return Result(self, empty(shape, dtype, queue=self._queue_of_result()))
        with About(self.name, "out"):
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
        first = self._found[0]
        if first.device.backend != "host":
            return self.queue
        is_on_host = all(each.device.backend == "host" for each in self._found)
        return first.queue if self.is_numpy or (self._asked is None and is_on_host) else self.queue

    @property
    def waits(self) -> bool:
        """True if the call waits: borrowed memory is up to date on return, as after a launch."""
        return not (self._are_ours and (self.out is None or isinstance(self.out, Array)))


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

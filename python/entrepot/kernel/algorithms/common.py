"""Parts that all algorithms share: arguments, the queue they run on, their kernels and results."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ..._core import Array, Device, Event, Queue, asarray, copy, empty
from ..._core import device as current_device
from .. import language
from ..elementwise import _copied, _is_of_numpy, _overlap, about
from ..functions import DeviceFunction, KernelFunction, kernel
from ..source import make

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


def vector(function: str, position: int, name: str, value: Any) -> Array:
    """The argument as an Array of one dimension. Raises ValueError for other dimensions."""
    with about(f"{function}(): argument {position} ({name})"):
        array = asarray(value)
        if array.ndim != 1:
            raise ValueError(
                f"one dimension is supported, and the shape is {array.shape}: pass reshape(-1), "
                "or one row at a time"
            )
    return array


def operator(function: str, value: Any, takes: str) -> DeviceFunction:
    """The function as one that kernels call. Raises TypeError for other objects."""
    if isinstance(value, DeviceFunction):
        return value
    if not isinstance(value, FunctionType):
        raise TypeError(
            f"{function}() takes a Python function of {takes}, not {value!r}: write a lambda or def"
        )
    return DeviceFunction(value)


def queue_of(arrays: list[Array], queue: Any) -> Queue:
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


def is_accessible(array: Array, device: Device) -> bool:
    """False for host memory that must be copied before the device can use it."""
    return (
        array.device.backend != "host"
        or device.backend == "host"
        or device.has_aspect_usm_system_allocations
    )


def on_queue(array: Array, queue: Queue) -> Array:
    """The array, or a copy on the queue's device if that cannot access host memory."""
    return array if is_accessible(array, queue.device) else array.to(queue=queue)


def apart_from(array: Array, out: Array) -> Array:
    """The array, or a copy if ``out`` shares its memory in another layout."""
    return _copied(array) if _overlap(out, array) else array


class Result:
    """The array that an algorithm returns, and the one that its kernels write.

    Both are the same unless the device cannot access host memory.
    """

    def __init__(
        self,
        function: str,
        given: tuple[Any, ...],
        queue: Queue,
        shape: tuple[int, ...],
        dtype: Any,
        out: Any = None,
        asked: Any = None,
    ) -> None:
        self._out = out
        self._queue = queue
        #: Borrowed memory that the host can access is up to date on return, as after a launch.
        self._waits = any(not isinstance(each, Array) for each in (*given, out) if each is not None)
        self._is_numpy = out is None and all(_is_of_numpy(each) for each in given)
        if out is None:
            with about(f"{function}(): the result"):
                where = self._place(given, queue, asked)
                self.array = empty(shape, dtype, queue=where)
        else:
            with about(f"{function}(): out"):
                self.array = asarray(out)
                if self.array.shape != shape:
                    raise ValueError(
                        f"the shape is {self.array.shape}, and the result has {shape}: pass an "
                        "array of that shape"
                    )
                if self.array.read_only:
                    raise ValueError("the array is read-only: pass one that can be written")
        is_direct = is_accessible(self.array, queue.device)
        self.written = self.array if is_direct else empty(shape, self.array.dtype, queue=queue)

    def _place(self, given: tuple[Any, ...], queue: Queue, asked: Any) -> Queue:
        """NumPy reads only host memory, so its results are there. Arrays on the host without
        ``queue=`` have results on the host as well.
        """
        on_host = [asarray(each).queue for each in given]
        stays = self._is_numpy or (
            asked is None and all(each.device.backend == "host" for each in on_host)
        )
        return on_host[0] if stays else queue

    def returned(self, last: Event | None) -> Any:
        """The result of the algorithm, after its last kernel, if any, has been submitted."""
        if self.written is not self.array:
            last = copy(self.array, self.written, self._queue)
        if self._waits and last is not None:
            last.wait()
        if self._out is not None:
            return self._out
        return self.array.numpy() if self._is_numpy else self.array


def uses_groups(device: Device) -> bool:
    """True if work-groups share the work; False if each work-item has one of few chunks."""
    return device.device_type != "cpu"


def chunks_of(size: int, device: Device) -> int:
    """Number of chunks, at least 1. It depends on the size and the device only, so that results
    are the same in each run.
    """
    return max(1, min(device.max_compute_units * CHUNKS_PER_UNIT, size // SMALLEST_CHUNK))


def tiles_of(size: int) -> int:
    """Number of groups, at least 1."""
    return max(1, -(-size // TILE))


def made(name: str, text: str, **names: Any) -> KernelFunction:
    """A kernel of that text, in which the names of the kernel language are defined."""
    namespace: dict[str, Any] = {each: getattr(language, each) for each in _LANGUAGE}
    return kernel(make(name, text, namespace | names))


def function_of(name: str, text: str, **names: Any) -> DeviceFunction:
    """A device function of that text."""
    return DeviceFunction(make(name, text, dict(names)))


_LANGUAGE = (
    "CLK_LOCAL_MEM_FENCE",
    "atomic",
    "barrier",
    "get_global_id",
    "get_global_size",
    "get_group_id",
    "get_local_id",
    "get_num_groups",
    "group",
    "int32",
    "int64",
    "local",
    "private",
)

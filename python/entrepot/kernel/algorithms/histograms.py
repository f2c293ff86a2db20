"""``histogram`` and ``bincount``: count elements by their values."""

from __future__ import annotations

import functools
import math
from typing import Any

from ..._core import Array, Dtype, Event, LocalAccessor, Queue, Scalar, asarray, empty, fill
from ..elementwise import _is_of_numpy, about
from ..functions import DeviceFunction, KernelFunction, func, kernel
from ..language import DTYPES, get_global_id
from ..reduction import _flat
from .common import Result, function_of, made, on_queue, queue_of, uses_groups
from .reductions import _reduction_of

# The estimate may be wrong by rounding. The loops after it make the edges alone decide, so every
# device finds the same bin. A nan is outside.
_BIN_OF_EDGES = """
def bin_of(element, edges, scale):
    bins = edges.shape[0] - 1
    value, low, high = convert(element), convert(edges[0]), convert(edges[bins])
    if not (low <= value and value <= high):
        return int64(-1)
    estimate = (value - low) * scale
    b = bins - 1
    if estimate < convert(bins):
        b = min(int64(estimate), bins - 1)
    while b > 0 and value < convert(edges[b]):
        b -= 1
    while b < bins - 1 and value >= convert(edges[b + 1]):
        b += 1
    return b
"""

# A uint64 above the greatest int64 is negative as an int64.
_BIN_OF_INTEGERS = """
def bin_of(element, bins, scale):
    value = int64(element)
    return value if value < bins else int64(-1)
"""

# Each work-item counts consecutive elements in a row of its own.
_IN_CHUNKS = """
def count(array, {weights}edges, scale, counts):
    c = get_global_id(0)
    n, chunks = array.shape[0], counts.shape[0]
    first, last = c * n // chunks, (c + 1) * n // chunks
    chunk, row = array[first:last], counts[c]
    for b in range(len(row)):
        row[b] = 0
    for j in range(len(chunk)):
        b = bin_of(chunk[j], edges, scale)
        if b >= 0:
            row[b] += {weight_of_chunk}
"""

# Each group counts in local memory, and stores a row.
_IN_GROUPS = """
def count(array, {weights}edges, scale, mine, counts):
    own, group_id, bins = get_local_id(0), get_group_id(0), counts.shape[1]
    for b in range(own, bins, GROUP):
        mine[b] = 0
    barrier(CLK_LOCAL_MEM_FENCE)
    for j in range(get_global_id(0), array.shape[0], get_global_size(0)):
        b = bin_of(array[j], edges, scale)
        if b >= 0:
            atomic.add(mine, b, {weight})
    barrier(CLK_LOCAL_MEM_FENCE)
    for b in range(own, bins, GROUP):
        counts[group_id, b] = mine[b]
"""

# For bins that do not fit into local memory; the only row is zero before.
_IN_GLOBAL_MEMORY = """
def count(array, {weights}edges, scale, counts):
    for j in range(get_global_id(0), array.shape[0], get_global_size(0)):
        b = bin_of(array[j], edges, scale)
        if b >= 0:
            atomic.add(counts, (0, b), {weight})
"""

_GROUP = 256
#: Bytes of local memory for the bins of a group; more would leave room for too few groups.
_MOST_LOCAL_BYTES = 48 << 10
#: Elements between the rows of work-items, so that no two write the same cache line.
_GAP = 16


@func
def _add(x, y):  # type: ignore[no-untyped-def]
    return x + y


# Each returns nan if an operand is nan.
@func
def _smaller(x, y):  # type: ignore[no-untyped-def]
    return y if y < x or y != y else x


@func
def _larger(x, y):  # type: ignore[no-untyped-def]
    return y if y > x or y != y else x


# Those of integers, whose loops are vectorized.
@func
def _min(x, y):  # type: ignore[no-untyped-def]
    return min(x, y)


@func
def _max(x, y):  # type: ignore[no-untyped-def]
    return max(x, y)


@kernel
def _convert(values, out):  # type: ignore[no-untyped-def]
    out[get_global_id(0)] = values[get_global_id(0)]


@functools.cache
def _counter(text: str, compared: Dtype | None, has_weights: bool) -> KernelFunction:
    """A kernel that counts in bins of edges, which are compared in that type, or of integers."""
    bin_of = function_of(
        "bin_of",
        _BIN_OF_INTEGERS if compared is None else _BIN_OF_EDGES,
        convert=compared,
        int64=DTYPES["int64"],
    )
    return made(
        "count",
        text.format(
            weights="weights, " if has_weights else "",
            weight="weights[j]" if has_weights else "1",
            weight_of_chunk="weights[first + j]" if has_weights else "1",
        ),
        bin_of=bin_of,
        GROUP=_GROUP,
    )


def histogram(
    array: Any,
    bins: int = 10,
    range: tuple[float, float] | None = None,
    *,
    weights: Any = None,
    queue: object = None,
) -> tuple[Any, Any]:
    """Count the elements in bins of equal width, as ``numpy.histogram`` does.

    A bin contains its lower edge, and the last bin both of its edges. Elements outside of the
    range, and nans, are not counted. With ``range``, the call does not wait, unless an argument is
    not an Array. Needs NumPy, which computes the edges.

    Parameters
    ----------
    array : array_like
        Real numbers, in any shape and layout.
    bins : int, optional
        The number of bins. The default is 10.
    range : tuple of float, optional
        The lower edge of the first bin, and the upper edge of the last one. The default is the
        range of the elements, which the call waits for.
    weights : array_like, optional
        The addend of each element, in an array of the shape of ``array``. The default is 1. On
        GPUs the order of the additions varies, and so does the rounding of floats.
    queue : Queue, optional
        The queue to use. The default is that of the first array on a device, else that of the
        innermost ``device_context``.

    Returns
    -------
    counts : Array or ndarray
        The counts, of int64, or the sums in the type of the weights. They are NumPy's if the
        arguments are, and an Array on the device of ``queue`` otherwise.
    edges : Array or ndarray
        The edges, one more than there are bins, of the type of ``array`` or, for integers, of
        float64.

    Raises
    ------
    TypeError
        If ``bins`` is not an int, or the elements or weights are not real numbers.
    ValueError
        If there is no bin, the range is not finite or descends, or the weights have another shape.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> counts, edges = algorithms.histogram(np.array([1.0, 2.0, 2.5, 4.0]), 3, (1.0, 4.0))
    >>> counts.tolist(), edges.tolist()
    ([1, 2, 1], [1.0, 2.0, 3.0, 4.0])
    """
    count = _whole("histogram", "bins", bins)
    if count < 1:
        raise ValueError(f"histogram(): bins is 1 or more, and {bins} was given")
    call = _Counting("histogram", array, weights, queue)
    edges = _edges(call.values, count, range, call.queue)
    compared = _compared(call.values.dtype, call.queue)
    width = float(edges[-1]) - float(edges[0])
    scale = Scalar(count / width if math.isfinite(width) and width > 0 else 0.0, compared)
    counts = call.counts(count, compared, on_queue(asarray(edges), call.queue), scale)
    if call.is_numpy:
        return counts, edges
    return counts, asarray(edges).to(queue=counts.queue)


def bincount(
    array: Any,
    *,
    weights: Any = None,
    minlength: int = 0,
    length: int | None = None,
    queue: object = None,
) -> Any:
    """Count how often each integer from 0 occurs, as ``numpy.bincount`` does.

    Parameters
    ----------
    array : array_like
        Integers, in any shape and layout.
    weights : array_like, optional
        The addend of each element, in an array of the shape of ``array``. The default is 1.
        On GPUs the order of the additions varies, and so does the rounding of floats.
    minlength : int, optional
        The least number of counts. There is a count for each integer up to the largest element,
        which the call waits for.
    length : int, optional
        The number of counts. Elements outside of them are not counted. The call does not wait,
        unless an argument is not an Array.
    queue : Queue, optional
        The queue to use. The default is that of the first array on a device, else that of the
        innermost ``device_context``.

    Returns
    -------
    Array or ndarray
        The counts, of int64, or the sums in the type of the weights. They are NumPy's if the
        arguments are, and an Array on the device of ``queue`` otherwise.

    Raises
    ------
    TypeError
        If the elements are not integers, the weights not real numbers, or a length is not an int.
    ValueError
        If an element is negative and ``length`` is not given, a length is negative, or the weights
        have another shape.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> algorithms.bincount(np.array([3, 0, 3, 1])).tolist()
    [1, 1, 0, 2]
    """
    call = _Counting("bincount", array, weights, queue)
    values = call.values
    if not values.dtype.name.startswith(("int", "uint")):
        raise TypeError(f"bincount() counts integers, and {values.dtype} was given: convert them")
    argument = "minlength" if length is None else "length"
    size = _whole("bincount", argument, minlength if length is None else length)
    if size < 0:
        raise ValueError(f"bincount(): {argument} is 0 or more, and {size} was given")
    if length is None and values.size:
        least = _extreme_of(values, _min, call.queue)
        if least < 0:
            raise ValueError(
                f"bincount() counts integers from 0, and {least} was found: add an offset, or give "
                "length= to ignore them"
            )
        size = max(size, _extreme_of(values, _max, call.queue) + 1)
    return call.counts(size, None, size, 0)


class _Counting:
    """Arguments of a histogram and its queue."""

    def __init__(self, name: str, array: Any, weights: Any, queue: object) -> None:
        self._name, self._asked = name, queue
        self._given = (array,) if weights is None else (array, weights)
        self.is_numpy = all(map(_is_of_numpy, self._given))
        found = []
        for argument, each in zip(("array", "weights"), self._given, strict=False):
            with about(f"{name}(): {argument}"):
                found.append(asarray(each))
        for argument, each in zip(("elements", "weights"), found, strict=False):
            if each.dtype.name not in (_REAL if argument == "elements" else _REAL[1:]):
                raise TypeError(
                    f"{name}(): {argument} are real numbers, and {each.dtype} was given: convert "
                    "them"
                )
        if found[-1].shape != found[0].shape:
            raise ValueError(
                f"{name}(): the array has the shape {found[0].shape}, and weights has "
                f"{found[-1].shape}: give a weight for each element"
            )
        self.queue = queue_of(found, queue)
        flat = [_flat(on_queue(each, self.queue)) for each in found]
        self.values = flat[0].view("uint8") if flat[0].dtype.name == "bool" else flat[0]
        self._weights = flat[1:]

    def counts(self, bins: int, compared: Dtype | None, edges: Any, scale: Any) -> Any:
        """Counts in bins of ``edges``, or without a type to compare in, of the integers below."""
        dtype = self._weights[0].dtype if self._weights else DTYPES["int64"]
        result = Result(self._name, self._given, self.queue, (bins,), dtype, None, self._asked)
        if bins == 0:
            return result.returned(None)
        if self.values.size == 0:
            return result.returned(fill(result.written, 0, queue=self.queue))
        rows = self._rows(bins, compared, edges, scale, dtype)
        return result.returned(_sum_of(rows, result.written, self.queue))

    def _rows(
        self, bins: int, compared: Dtype | None, edges: Any, scale: Any, dtype: Dtype
    ) -> Array:
        """Counts of parts of the elements, whose sums are the result."""
        device, size = self.queue.device, self.values.size
        arguments = (self.values, *self._weights, edges, scale)
        kind = _sum_type(dtype, has_float64=device.has_aspect_fp64)
        has_weights = bool(self._weights)
        if not uses_groups(device):
            chunks = max(1, min(4 * device.max_compute_units, size // max(4096, 4 * bins)))
            rows = empty((chunks, bins + _GAP), kind, queue=self.queue)[:, :bins]
            code = _counter(_IN_CHUNKS, compared, has_weights)
            code[chunks](*arguments, rows, queue=self.queue, wait=False)
            return rows
        if not has_weights:
            kind = DTYPES["int32"]
        groups = max(1, min(8 * device.max_compute_units, size // max(8 * _GROUP, 2 * bins)))
        if bins * kind.itemsize <= min(_MOST_LOCAL_BYTES, device.local_mem_size):
            rows = empty((groups, bins), kind, queue=self.queue)
            code = _counter(_IN_GROUPS, compared, has_weights)
            mine = LocalAccessor(bins, kind)
            launch = code[groups * _GROUP, _GROUP]
            launch(*arguments, mine, rows, queue=self.queue, wait=False)
            return rows
        if not has_weights and device.has_aspect_atomic64:
            kind = DTYPES["int64"]
        rows = empty((1, bins), kind, queue=self.queue)
        fill(rows, 0, queue=self.queue)
        items = min(size, device.max_compute_units * 2048)
        code = _counter(_IN_GLOBAL_MEMORY, compared, has_weights)
        code[items](*arguments, rows, queue=self.queue, wait=False)
        return rows


def _sum_of(rows: Array, out: Array, queue: Queue) -> Event:
    """Adds the rows in their type, and converts the sums."""
    addition = _reduction_of(_add.function)
    layered = rows.reshape(1, *rows.shape)
    shape = (1, 1, rows.shape[1])
    if rows.dtype.itemsize <= out.dtype.itemsize:
        return addition.along_axis(layered, out.reshape(shape), queue)
    sums = empty(shape, rows.dtype, queue=queue)
    addition.along_axis(layered, sums, queue)
    return _convert[out.size](sums.reshape(-1), out, queue=queue, wait=False)


def _extreme_of(values: Array, function: DeviceFunction, queue: Queue) -> Any:
    found = empty(1, values.dtype, queue=queue)
    layered = values.reshape(1, -1, 1)
    _reduction_of(function.function).along_axis(layered, found.reshape(1, 1, 1), queue)
    return found.item()


def _edges(values: Array, bins: int, limits: Any, queue: Queue) -> Any:
    """NumPy's edges, as an array of NumPy."""
    import numpy as np

    dtype = np.dtype(_numpy_name(values.dtype))
    if limits is None:
        functions = (_smaller, _larger) if values.size else ()
        ends = [_extreme_of(values, each, queue) for each in functions]
    else:
        low, high = limits
        if not low <= high:
            raise ValueError(f"histogram(): range ascends, and {limits} was given")
        ends = [low, high]
    if not all(math.isfinite(each) for each in ends):
        raise ValueError(
            f"histogram(): the range is finite, and {tuple(ends)} was "
            f"{'found' if limits is None else 'given'}: give a finite range="
        )
    if limits is None:
        edges = np.histogram_bin_edges(np.array(ends, dtype), bins)
    else:
        edges = np.histogram_bin_edges(np.empty(0, dtype), bins, (ends[0], ends[1]))
    return edges if queue.device.has_aspect_fp64 or edges.dtype != "f8" else edges.astype("f4")


def _numpy_name(dtype: Dtype) -> str:
    return "float32" if dtype.name == "bfloat16" else dtype.name


def _compared(dtype: Dtype, queue: Queue) -> Dtype:
    """The type that elements are compared with edges in."""
    is_narrow = dtype.name in ("float16", "bfloat16", "float32")
    return DTYPES["float32" if is_narrow or not queue.device.has_aspect_fp64 else "float64"]


def _sum_type(dtype: Dtype, *, has_float64: bool) -> Dtype:
    """The type to add weights of a type in."""
    if dtype.name.startswith(("float", "bfloat")):
        return DTYPES["float64" if has_float64 else "float32"]
    return DTYPES["uint64" if dtype.name == "uint64" else "int64"]


_REAL = (
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "bfloat16", "float32", "float64"),
)


def _whole(name: str, argument: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}(): {argument} is an int, and {value!r} was given")
    return int(value.__index__())

"""``histogram`` and ``bincount``: count elements by their values."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._core import Array, Dtype, Event, LocalAccessor, Queue, Scalar, asarray, empty, fill
from ..functions import DeviceFunction, KernelFunction, func, kernel
from ..generated import function_of_text, kernel_of_text
from ..language import DTYPES, get_global_id
from ..operands import flat
from ..reducer import reducer_of, uses_groups
from .axes import layered
from .common import Call, whole

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

# The greatest edge that is not above the element, by bisection.
_BIN_OF_ANY_EDGES = """
def bin_of(element, edges, scale):
    bins = edges.shape[0] - 1
    value = convert(element)
    if not (convert(edges[0]) <= value and value <= convert(edges[bins])):
        return int64(-1)
    low, high = int64(0), bins
    while high - low > 1:
        middle = (low + high) // 2
        if value < convert(edges[middle]):
            high = middle
        else:
            low = middle
    return low
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


class _Bins(NamedTuple):
    """The bins of a histogram: the device function that finds them, and its arguments."""

    number: int
    bin_of: DeviceFunction
    #: An Array of edges, or the number of integers.
    edges: Any
    scale: Any


@functools.cache
def _bin_of(text: str, compared: Dtype | None = None) -> DeviceFunction:
    return function_of_text("bin_of", text, convert=compared, int64=DTYPES["int64"])


@functools.cache
def _counter(text: str, bin_of: DeviceFunction, has_weights: bool) -> KernelFunction:
    return kernel_of_text(
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
    bins: Any = 10,
    range: tuple[float, float] | None = None,
    *,
    weights: Any = None,
    queue: object = None,
) -> tuple[Any, Any]:
    """Count the elements in bins, as ``numpy.histogram`` does.

    A bin contains its lower edge, and the last bin both of its edges. Elements outside of the
    range, and nans, are not counted. On a device, the call waits for the queue's pending work, in
    order to copy the edges. Needs NumPy, which computes them.

    Parameters
    ----------
    array : array_like
        Real numbers, in any shape and layout.
    bins : int or array_like, optional
        The number of bins of equal width, 10 by default, or ascending edges in one dimension.
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
        The given edges, or those of equal widths, of the type of ``array`` or, for integers, of
        float64. There is one more than there are bins.

    Raises
    ------
    TypeError
        If ``bins`` is neither an int nor edges, or elements or weights are not real numbers.
    ValueError
        If there is no bin, the range is not finite, the range or the edges descend, or the weights
        have another shape.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> counts, edges = algorithms.histogram(np.array([1.0, 2.0, 2.5, 4.0]), 3, (1.0, 4.0))
    >>> counts.tolist(), edges.tolist()
    ([1, 2, 1], [1.0, 2.0, 3.0, 4.0])
    >>> algorithms.histogram(np.array([1, 20, 300]), [0, 10, 100, 1000])[0].tolist()
    [1, 1, 1]
    """
    call = _counting("histogram", array, weights, queue)
    values = call.arrays[0]
    if isinstance(bins, (Array, Sequence)) or getattr(bins, "ndim", None):
        if range is not None:
            raise ValueError("histogram(): range= was given with edges: leave it out")
        found, edges = _bins_of_edges(bins, values, call.queue)
    else:
        found, edges = _bins_of_width(whole("histogram", "bins", bins), range, values, call.queue)
    counts = _counts(call, found)
    if call.is_numpy:
        return counts, edges
    is_there = counts.device == found.edges.device
    return counts, found.edges if is_there else asarray(edges, queue=counts.queue)


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
    call = _counting("bincount", array, weights, queue)
    values = call.arrays[0]
    if not values.dtype.name.startswith(("int", "uint")):
        raise TypeError(f"bincount() counts integers, and {values.dtype} was given: convert them")
    argument = "minlength" if length is None else "length"
    size = whole("bincount", argument, minlength if length is None else length)
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
    return _counts(call, _Bins(size, _bin_of(_BIN_OF_INTEGERS), size, 0))


def _counting(name: str, array: Any, weights: Any, queue: object) -> Call:
    """The call, whose arrays are the elements and the weights, if any."""
    arguments = {"array": array} if weights is None else {"array": array, "weights": weights}
    call = Call(name, arguments, queue)
    shapes = [each.shape for each in call.arrays]
    for argument, each in zip(("elements", "weights"), call.arrays, strict=False):
        if each.dtype.name not in (_REAL if argument == "elements" else _REAL[1:]):
            raise TypeError(
                f"{name}(): {argument} are real numbers, and {each.dtype} was given: convert them"
            )
    if shapes[-1] != shapes[0]:
        raise ValueError(
            f"{name}(): the array has the shape {shapes[0]}, and weights has {shapes[-1]}: give a "
            "weight for each element"
        )
    call.arrays = [flat(each) for each in call.arrays]
    if call.arrays[0].dtype.name == "bool":
        call.arrays[0] = call.arrays[0].view("uint8")
    return call


def _counts(call: Call, bins: _Bins) -> Any:
    values, *weights = call.arrays
    dtype = weights[0].dtype if weights else DTYPES["int64"]
    result = call.result((bins.number,), dtype)
    if bins.number == 0:
        return result.returned(None)
    if values.size == 0:
        return result.filled(0)
    count_parts = _count_groups if uses_groups(call.queue.device) else _count_chunks
    return result.returned(_sum_of(count_parts(call, bins, dtype), result.written, call.queue))


def _count_chunks(call: Call, bins: _Bins, dtype: Dtype) -> Array:
    """Counts of chunks of the elements, a row for each."""
    device, size = call.queue.device, call.arrays[0].size
    chunks = max(1, min(4 * device.max_compute_units, size // max(4096, 4 * bins.number)))
    kind = _sum_type(dtype, has_float64=device.has_aspect_fp64)
    rows = empty((chunks, bins.number + _GAP), kind, queue=call.queue)[:, : bins.number]
    _launch(_IN_CHUNKS, (chunks, None), call, bins, rows)
    return rows


def _count_groups(call: Call, bins: _Bins, dtype: Dtype) -> Array:
    """Counts of groups in local memory, a row for each, or those of all in global memory."""
    device, size, has_weights = call.queue.device, call.arrays[0].size, len(call.arrays) > 1
    kind: Dtype = DTYPES["int32"]
    if has_weights:
        kind = _sum_type(dtype, has_float64=device.has_aspect_fp64)
    if bins.number * kind.itemsize <= min(_MOST_LOCAL_BYTES, device.local_mem_size):
        most = size // max(8 * _GROUP, 2 * bins.number)
        groups = max(1, min(8 * device.max_compute_units, most))
        rows = empty((groups, bins.number), kind, queue=call.queue)
        mine = LocalAccessor(bins.number, kind)
        _launch(_IN_GROUPS, (groups * _GROUP, _GROUP), call, bins, mine, rows)
        return rows
    if not has_weights and device.has_aspect_atomic64:
        kind = DTYPES["int64"]
    rows = empty((1, bins.number), kind, queue=call.queue)
    fill(rows, 0, queue=call.queue)
    items = min(size, device.max_compute_units * 2048)
    _launch(_IN_GLOBAL_MEMORY, (items, None), call, bins, rows)
    return rows


def _launch(
    text: str, items: tuple[int, int | None], call: Call, bins: _Bins, *counts: Any
) -> None:
    code = _counter(text, bins.bin_of, len(call.arrays) > 1)
    arguments = (*call.arrays, bins.edges, bins.scale, *counts)
    code[items](*arguments, queue=call.queue, wait=False)


def _sum_of(rows: Array, out: Array, queue: Queue) -> Event:
    """Adds the rows in their type, and converts the sums."""
    addition = reducer_of(_add.function)
    columns = layered(rows, [0])
    shape = (1, 1, *columns.shape[2:])
    if rows.dtype.itemsize <= out.dtype.itemsize:
        return addition.along_axis([columns], out.reshape(shape), queue)
    sums = empty(shape, rows.dtype, queue=queue)
    addition.along_axis([columns], sums, queue)
    return _convert[out.size](sums.reshape(-1), out, queue=queue, wait=False)


def _extreme_of(values: Array, function: DeviceFunction, queue: Queue) -> Any:
    found = empty((1, 1), values.dtype, queue=queue)
    reducer_of(function.function).along_axis([values.reshape(1, -1)], found, queue)
    return found.item()


def _bins_of_width(
    count: int, limits: tuple[float, float] | None, values: Array, queue: Queue
) -> tuple[_Bins, Any]:
    """Bins of equal width, with NumPy's edges as an array of NumPy."""
    if count < 1:
        raise ValueError(f"histogram(): bins is 1 or more, and {count} was given")
    edges = _edges(count, limits, values, queue)
    compared = _compared(_numpy_dtype(values), queue)
    width = float(edges[-1]) - float(edges[0])
    scale = Scalar(count / width if math.isfinite(width) and width > 0 else 0.0, compared)
    bin_of = _bin_of(_BIN_OF_EDGES, compared)
    return _Bins(count, bin_of, _on_queue(edges, queue), scale), edges


def _on_queue(edges: Any, queue: Queue) -> Array:
    if queue.device.backend == "host":
        return asarray(edges, queue=queue)
    return asarray(edges).to(queue=queue)


def _edges(count: int, limits: tuple[float, float] | None, values: Array, queue: Queue) -> Any:
    import numpy as np

    dtype = _numpy_dtype(values)
    if limits is None:
        functions = (_smaller, _larger) if values.size else ()
        ends = [_extreme_of(values, each, queue) for each in functions]
    else:
        ends = list(limits)
        if not ends[0] <= ends[1]:
            raise ValueError(f"histogram(): range ascends, and {limits} was given")
    if not all(math.isfinite(each) for each in ends):
        raise ValueError(
            f"histogram(): the range is finite, and {tuple(ends)} was "
            f"{'found' if limits is None else 'given'}: give a finite range="
        )
    if limits is None:
        edges = np.histogram_bin_edges(np.array(ends, dtype), count)
    else:
        edges = np.histogram_bin_edges(np.empty(0, dtype), count, (ends[0], ends[1]))
    return edges if queue.device.has_aspect_fp64 or edges.dtype != "f8" else edges.astype("f4")


def _bins_of_edges(edges: Any, values: Array, queue: Queue) -> tuple[_Bins, Any]:
    """Bins of the given edges, which are copied, as an array of NumPy as well."""
    import numpy as np

    copied = np.array(edges.copy_to_host() if isinstance(edges, Array) else edges)
    if copied.ndim != 1 or copied.size < 2 or copied.dtype.kind not in "iuf":
        raise ValueError(
            "histogram(): bins is an int, or two real edges or more in one dimension, and "
            f"{edges!r} was given"
        )
    if not (copied[:-1] <= copied[1:]).all():
        raise ValueError(f"histogram(): edges ascend, and {edges!r} were given: sort them")
    common = np.result_type(_numpy_dtype(values), copied)
    if common.kind == "f":
        compared = _compared(common, queue)
    else:
        compared = DTYPES["uint64" if common.kind == "u" else "int64"]
    if compared.name == "float32" and copied.dtype == "f8":
        copied = copied.astype("f4")
    bin_of = _bin_of(_BIN_OF_ANY_EDGES, compared)
    return _Bins(copied.size - 1, bin_of, _on_queue(copied, queue), 0), copied


def _numpy_dtype(values: Array) -> Any:
    import numpy as np

    name = values.dtype.name
    return np.dtype("float32" if name == "bfloat16" else name)


def _compared(dtype: Any, queue: Queue) -> Dtype:
    """The type that elements are compared with edges in, for NumPy's type."""
    if (dtype.itemsize <= 4 and dtype.kind == "f") or not queue.device.has_aspect_fp64:
        return DTYPES["float32"]
    return DTYPES["float64"]


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

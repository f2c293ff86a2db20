"""``reduce``, ``transform_reduce``, ``argmin``, ``argmax`` and ``segmented_reduce``."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ..._core import Array, Device, Dtype, Event, Queue, Scalar, asarray, copy, empty, fill, zeros
from ..elementwise import _is_of_numpy, about
from ..functions import DeviceFunction, KernelFunction, func, kernel
from ..language import atomic, get_global_id, int64
from ..reduction import Reduction, _flat
from .common import Result, apart_from, made, on_queue, operator, queue_of, uses_groups, vector

# Arrays of an axis are (outer, n, inner): n elements are reduced for each of outer * inner results.
# A launch reduces n to a number of chunks, and the next one reduces these.
#
# Work-items of CPUs have three dimensions, which the compiler of the host turns into loops, and
# read consecutive elements. Those of GPUs have one dimension, because the last extent may be 1, and
# neighbors read neighboring elements.
#
# Chunks are slices: their indices are not negative, so the compiler of the host vectorizes.
_PLACE_ON_CPU = """
    o, c, i = get_global_id(0), get_global_id(1), get_global_id(2)
    chunks = get_global_size(1)
"""
_PLACE_ON_GPU = """
    at = get_global_id(0)
    chunks, inner = out.shape[1], out.shape[2]
    i = at % inner
    c = at // inner % chunks
    o = at // inner // chunks
"""
_ON_CPU = {
    "place": _PLACE_ON_CPU,
    "part": "c * n // chunks:(c + 1) * n // chunks",
    "first": "0",
    "rounds": "range(1, (c + 1) * n // chunks - c * n // chunks)",
    "found": "c * n // chunks + found",
}
_ON_GPU = {
    "place": _PLACE_ON_GPU,
    "part": ":",
    "first": "c",
    "rounds": "range(c + chunks, n, chunks)",
    "found": "found",
}

_ALONG_AXIS = """
def reduced(array, out):
    n = array.shape[1]
{place}
    chunk = array[o, {part}, i]
    total = convert(chunk[{first}])
    for j in {rounds}:
        total = function(total, chunk[j])
    out[o, c, i] = total
"""

# The inner extent is 1. Without its index, the compiler knows that elements are adjacent.
_ALONG_LAST = """
def reduced(array, out):
    o, c = get_global_id(0), get_global_id(1)
    n, chunks = array.shape[1], get_global_size(1)
    chunk = array[o, c * n // chunks:(c + 1) * n // chunks]
    total = convert(chunk[0])
    for j in range(1, len(chunk)):
        total = function(total, chunk[j])
    out[o, c] = total
"""

_TRANSFORMED = """
def transformed(out, {names}):
    c = get_global_id(0)
    n, chunks = a0.shape[0], out.shape[0]
{slices}
    total = convert(transform({firsts}))
    for j in {rounds}:
        total = function(total, transform({elements}))
    out[c] = total
"""

_PROBE_OF_TRANSFORM = """
def probe({names}):
    total = function(transform({names}), transform({names}))
"""

_SEARCH = """
def search(array, out):
    n = array.shape[1]
{place}
    chunk = array[o, {part}, i]
    found = {first}
    best = chunk[{first}]
    for j in {rounds}:
        value = chunk[j]
        if before(value, best):
            best = value
            found = j
    out[o, c, i] = {found}
"""

# The loop that only counts is vectorized. After the first blocks, few contain a better element.
_SEARCH_LAST = """
def search(array, out):
    o, c = get_global_id(0), get_global_id(1)
    n, chunks = array.shape[1], get_global_size(1)
    chunk = array[o, c * n // chunks:(c + 1) * n // chunks]
    found = 0
    best = chunk[0]
    for start in range(0, len(chunk), BLOCK):
        block = chunk[start:start + BLOCK]
        better = int32(0)
        for j in range(len(block)):
            better += int32(before(block[j], best))
        if better > 0:
            for j in range(len(block)):
                value = block[j]
                if before(value, best):
                    best = value
                    found = start + j
    out[o, c] = c * n // chunks + found
"""

# The places of a chunk are not ascending, so of equal elements the first one is chosen by place.
_SEARCH_PLACES = """
def search_places(array, places, out):
    n = places.shape[1]
{place}
    chunk = places[o, {part}, i]
    found = chunk[{first}]
    best = array[o, found, i]
    for j in {rounds}:
        place = chunk[j]
        value = array[o, place, i]
        if before(value, best) or (place < found and not before(best, value)):
            best = value
            found = place
    out[o, c, i] = found
"""

_SEGMENTS = """
def segments(array, offsets, identity, out):
    s = get_global_id(0)
    first, last = int64(offsets[s]), int64(offsets[s + 1])
    total = identity
    if 0 <= first and first < last and last <= array.shape[0]:
        segment = array[first:last]
        total = convert(segment[0])
        for j in range(1, len(segment)):
            total = function(total, segment[j])
    out[s] = total
"""

# One group for each segment.
_SEGMENTS_OF_GROUPS = """
def segments(array, offsets, identity, out):
    scratch = local.array(GROUP, convert)
    s, own = get_group_id(0), get_local_id(0)
    first, last = int64(offsets[s]), int64(offsets[s + 1])
    count = last - first if 0 <= first and first < last and last <= array.shape[0] else int64(0)
    if own < count:
        total = convert(array[first + own])
        for j in range(first + own + GROUP, last, GROUP):
            total = function(total, array[j])
        scratch[own] = total
    barrier(CLK_LOCAL_MEM_FENCE)
    for k in range(STEPS):
        step = GROUP >> (k + 1)
        if own < step and own + step < count:
            scratch[own] = function(scratch[own], scratch[own + step])
        barrier(CLK_LOCAL_MEM_FENCE)
    if own == 0:
        total = identity
        if count > 0:
            total = scratch[0]
        out[s] = total
"""

_GROUP, _STEPS = 64, 6
_BLOCK = 1024

# Fewest elements that are worth a work-item.
_GRAIN = 64


@func
def _is_less(x, y):  # type: ignore[no-untyped-def]
    return x < y or (x != x and y == y)


@func
def _is_greater(x, y):  # type: ignore[no-untyped-def]
    return x > y or (x != x and y == y)


# Complex numbers are ordered by their real parts, then by their imaginary parts.
@func
def _is_less_complex(x, y):  # type: ignore[no-untyped-def]
    if x != x or y != y:
        return x != x and y == y
    return x.real < y.real or (x.real == y.real and x.imag < y.imag)


@func
def _is_greater_complex(x, y):  # type: ignore[no-untyped-def]
    if x != x or y != y:
        return x != x and y == y
    return x.real > y.real or (x.real == y.real and x.imag > y.imag)


@kernel
def _find_descent(offsets, size, found):  # type: ignore[no-untyped-def]
    s = get_global_id(0)
    if offsets[s] < 0 or offsets[s] > size or offsets[max(s - 1, 0)] > offsets[s]:
        atomic.max(found, 0, 1)


class _Reduction(Reduction):
    """Kernels that reduce with one function: along an axis, transformed, and in segments."""

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function, None)
        self._others: dict[object, KernelFunction] = {}

    def _other(self, key: object, name: str, text: str, **names: Any) -> KernelFunction:
        found = self._others.get(key)
        if found is None:
            found = made(name, text, function=DeviceFunction(self.function), **names)
            self._others[key] = found
        return found

    def along_axis(self, values: Array, out: Array, queue: Queue) -> Event:
        """Reduces (outer, n, inner) to (outer, 1, inner); n is not 0."""
        outer, n, inner = values.shape
        is_cpu = not uses_groups(queue.device)
        while True:
            chunks = _chunks(queue.device, outer, n, inner)
            shape = outer, chunks, inner
            partial = out if chunks == 1 else empty(shape, out.dtype, queue=queue)
            if is_cpu and inner == 1:
                code = self._other(("last", out.dtype), "reduced", _ALONG_LAST, convert=out.dtype)
                last = code[shape[:2], None](
                    _without_last(values), _without_last(partial), queue=queue, wait=False
                )
            else:
                text = _placed(_ALONG_AXIS, is_cpu)
                code = self._other((is_cpu, out.dtype), "reduced", text, convert=out.dtype)
                last = code[_range(shape, is_cpu)](values, partial, queue=queue, wait=False)
            if chunks == 1:
                return last
            values, n = partial, chunks

    def type_of_transformed(
        self, transform: DeviceFunction, arrays: list[Array], device: Device
    ) -> Dtype:
        names = ", ".join(_names(arrays))
        text = _PROBE_OF_TRANSFORM.format(names=names)
        key = "probe", transform.function, len(arrays)
        probe = self._other(key, "probe", text, transform=transform)
        types = tuple(("scalar", each.dtype, 0, False) for each in arrays)
        total: Dtype = probe._type_of("total", types, device)
        return total

    def transformed(
        self, transform: DeviceFunction, arrays: list[Array], out: Array, queue: Queue
    ) -> Event:
        """Reduces the transformed elements of arrays of one dimension to one; the arrays are not
        empty.
        """
        is_cpu = not uses_groups(queue.device)
        names = _names(arrays)
        form = _ON_CPU if is_cpu else _ON_GPU
        slices = [f"c{at} = {each}[{form['part']}]" for at, each in enumerate(names)]
        text = _TRANSFORMED.format(
            names=", ".join(names),
            slices="\n".join(f"    {each}" for each in slices),
            firsts=", ".join(f"c{at}[{form['first']}]" for at in range(len(names))),
            elements=", ".join(f"c{at}[j]" for at in range(len(names))),
            rounds=form["rounds"],
        )
        key = "transformed", transform.function, len(arrays), is_cpu, out.dtype
        code = self._other(key, "transformed", text, transform=transform, convert=out.dtype)
        chunks = _chunks(queue.device, 1, arrays[0].size, 1)
        partial = empty(chunks, out.dtype, queue=queue)
        code[chunks](partial, *arrays, queue=queue, wait=False)
        return self.along_axis(partial.reshape(1, chunks, 1), out.reshape(1, 1, 1), queue)

    def in_segments(
        self, values: Array, offsets: Array, identity: Scalar, out: Array, queue: Queue
    ) -> Event | None:
        segments = out.size
        if segments == 0:
            return None
        in_groups = uses_groups(queue.device) and values.size >= segments * (_GROUP // 4)
        if not in_groups:
            code = self._other(("segments", out.dtype), "segments", _SEGMENTS, convert=out.dtype)
            return code[segments](values, offsets, identity, out, queue=queue, wait=False)
        names = {"convert": out.dtype, "GROUP": _GROUP, "STEPS": _STEPS}
        code = self._other(("groups", out.dtype), "segments", _SEGMENTS_OF_GROUPS, **names)
        launch = code[segments * _GROUP, _GROUP]
        return launch(values, offsets, identity, out, queue=queue, wait=False)


@functools.lru_cache(maxsize=256)
def _reduction_of(function: FunctionType) -> _Reduction:
    return _Reduction(function)


@functools.cache
def _search(name: str, text: str, before: DeviceFunction, is_cpu: bool) -> KernelFunction:
    return made(name, _placed(text, is_cpu), before=before, BLOCK=_BLOCK)


def reduce(
    array: Any,
    function: Any,
    identity: Any,
    *,
    axis: int | Sequence[int] | None = None,
    queue: object = None,
    out: Any = None,
) -> Any:
    """Combine the elements of an array, or those along axes, by a function of two numbers.

    The order of the elements is unspecified: the function has to be associative and commutative,
    rounding aside. The call does not wait, unless an argument is not an Array.

    Parameters
    ----------
    array : array_like
        The array, of any shape and layout.
    function : callable
        A Python function of two numbers, or a DeviceFunction.
    identity : scalar
        The result of no elements.
    axis : int or sequence of int, optional
        The axes that are reduced. A negative axis counts from the last one. The default is all.
    queue : Queue, optional
        The queue to use. The default is the array's on a device, else that of the innermost
        ``device_context``.
    out : array_like, optional
        The array for the result, of its shape and type.

    Returns
    -------
    Array, ndarray or scalar
        ``out``, or a new array without the reduced axes, of the type of ``function`` for two
        elements. It is NumPy's if ``array`` is, and an Array on the device of ``queue`` otherwise.

    Raises
    ------
    TypeError
        If ``function`` is not a function, ``axis`` not of ints, or ``out`` of another type.
    ValueError
        If an axis does not exist or is repeated, or ``out`` has another shape.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> algorithms.reduce(np.arange(6).reshape(2, 3), lambda a, b: a + b, 0, axis=0).tolist()
    [3, 5, 7]
    """
    combined = _reduction_of(operator("reduce", function, "two numbers").function)
    call = _Call("reduce", {"array": array}, queue, out)
    (values,) = call.arrays
    axes = _axes("reduce", axis, values.ndim)
    kept = _without(values.shape, axes)
    total = combined._total_type(values.dtype, call.queue.device)
    written = call.output(kept, total)
    if written.size == 0:
        return call.returned(None)
    if values.size == 0:
        return call.filled(identity)
    values = apart_from(values, written)
    layered = _layered(values, axes)
    return call.computed(
        (layered.shape[0], 1, layered.shape[2]),
        lambda target: combined.along_axis(layered, target, call.queue),
    )


def transform_reduce(
    transform: Any,
    function: Any,
    identity: Any,
    *arrays: Any,
    queue: object = None,
    out: Any = None,
) -> Any:
    """Combine the results of a function of an element of each array.

    The transformed elements are not stored. Their order is unspecified: ``function`` has to be
    associative and commutative, rounding aside. The call does not wait, unless an argument is not
    an Array.

    Parameters
    ----------
    transform : callable
        A Python function of an element of each array, or a DeviceFunction.
    function : callable
        A Python function of two numbers, or a DeviceFunction.
    identity : scalar
        The result of no elements.
    *arrays : array_like
        The arrays, which have one shape.
    queue : Queue, optional
        The queue to use. The default is that of the first array on a device, else that of the
        innermost ``device_context``.
    out : array_like, optional
        The array for the result, of one element and the result's type.

    Returns
    -------
    Array or scalar
        ``out``, or a new array without axes, of the type of ``function`` for two transformed
        elements. It is a NumPy scalar if all arrays are NumPy's.

    Raises
    ------
    TypeError
        If there is no array, a function is not one, or ``out`` has another type.
    ValueError
        If the arrays differ in their shapes, or ``out`` has axes.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> x, y = np.array([3, 4, 5]), np.array([1, 10, 100])
    >>> product = lambda a, b: a * b
    >>> total = lambda a, b: a + b
    >>> int(algorithms.transform_reduce(product, total, 0, x, y))
    543
    """
    combined = _reduction_of(operator("transform_reduce", function, "two numbers").function)
    mapping = operator("transform_reduce", transform, "an element of each array")
    if not arrays:
        raise TypeError("transform_reduce() takes at least one array, and no array was given")
    named = {f"arrays[{at}]": each for at, each in enumerate(arrays)}
    call = _Call("transform_reduce", named, queue, out)
    shapes = [each.shape for each in call.arrays]
    if len(set(shapes)) > 1:
        raise ValueError(
            "transform_reduce() takes arrays of one shape, and their shapes are "
            f"{', '.join(map(str, shapes))}: broadcast them first"
        )
    total = combined.type_of_transformed(mapping, call.arrays, call.queue.device)
    written = call.output((), total)
    if call.arrays[0].size == 0:
        return call.filled(identity)
    flat = [_flat(each) for each in call.arrays]
    return call.returned(combined.transformed(mapping, flat, written, call.queue))


def argmin(array: Any, axis: int | None = None, *, queue: object = None, out: Any = None) -> Any:
    """Find the first place of the smallest element, or of those along an axis.

    A nan is smaller than all numbers, and complex numbers are compared by their real parts first,
    as in NumPy. The call does not wait, unless an argument is not an Array.

    Parameters
    ----------
    array : array_like
        The array, of any shape and layout.
    axis : int, optional
        The axis to search along. The default is the whole array, in C order.
    queue : Queue, optional
        The queue to use. The default is the array's on a device, else that of the innermost
        ``device_context``.
    out : array_like, optional
        The array for the result, of its shape and of int64.

    Returns
    -------
    Array, ndarray or scalar
        ``out``, or the places as a new array of int64. It is NumPy's if ``array`` is, and an Array
        on the device of ``queue`` otherwise.

    Raises
    ------
    ValueError
        If there are no elements to search, the axis does not exist, or ``out`` has another shape.
    TypeError
        If ``axis`` is not an int, or ``out`` has another type.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> algorithms.argmin(np.array([[4, 1, 1], [0, 5, 0]]), axis=1).tolist()
    [1, 0]
    """
    return _extreme("argmin", _is_less, _is_less_complex, array, axis, queue, out)


def argmax(array: Any, axis: int | None = None, *, queue: object = None, out: Any = None) -> Any:
    """Find the first place of the largest element, or of those along an axis.

    A nan is larger than all numbers, and complex numbers are compared by their real parts first,
    as in NumPy. The call does not wait, unless an argument is not an Array.

    Parameters
    ----------
    array : array_like
        The array, of any shape and layout.
    axis : int, optional
        The axis to search along. The default is the whole array, in C order.
    queue : Queue, optional
        The queue to use. The default is the array's on a device, else that of the innermost
        ``device_context``.
    out : array_like, optional
        The array for the result, of its shape and of int64.

    Returns
    -------
    Array, ndarray or scalar
        ``out``, or the places as a new array of int64. It is NumPy's if ``array`` is, and an Array
        on the device of ``queue`` otherwise.

    Raises
    ------
    ValueError
        If there are no elements to search, the axis does not exist, or ``out`` has another shape.
    TypeError
        If ``axis`` is not an int, or ``out`` has another type.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> algorithms.argmax(np.array([[4, 1, 1], [0, 5, 5]]), axis=1).tolist()
    [0, 1]
    """
    return _extreme("argmax", _is_greater, _is_greater_complex, array, axis, queue, out)


def segmented_reduce(
    array: Any,
    offsets: Any,
    function: Any,
    identity: Any,
    *,
    check: bool = True,
    queue: object = None,
    out: Any = None,
) -> Any:
    """Combine the elements of each segment of an array by a function of two numbers.

    Segment ``s`` consists of the elements from ``offsets[s]`` to ``offsets[s + 1] - 1``, as a row
    of a CSR matrix does. The order of the elements is unspecified: the function has to be
    associative and commutative, rounding aside.

    Parameters
    ----------
    array : array_like
        The elements, of one dimension.
    offsets : array_like
        The starts of the segments and the end of the last one, in one dimension. They are integers
        that ascend from 0 or more to the number of elements or less.
    function : callable
        A Python function of two numbers, or a DeviceFunction.
    identity : scalar
        The result of an empty segment.
    check : bool, optional
        True, the default, to check the offsets before anything is reduced, for which the call
        waits. With False, the call does not wait, unless an argument is not an Array. The result of
        an invalid segment is then ``identity``, and no element of it is read.
    queue : Queue, optional
        The queue to use. The default is that of the first array on a device, else that of the
        innermost ``device_context``.
    out : array_like, optional
        The array for the result, of its shape and type.

    Returns
    -------
    Array or ndarray
        ``out``, or a new array with an element for each segment, of the type of ``function`` for
        two elements. It is NumPy's if ``array`` and ``offsets`` are, and an Array on the device of
        ``queue`` otherwise.

    Raises
    ------
    ValueError
        If an array has not one dimension, ``offsets`` has no element, or ``out`` has another shape.
        With ``check``, if an offset is less than the one before it, or outside of the array.
    TypeError
        If the offsets are not integers, ``function`` is not a function, or ``out`` has another
        type.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> values, offsets = np.array([1, 2, 3, 4]), np.array([0, 2, 2, 4])
    >>> algorithms.segmented_reduce(values, offsets, lambda a, b: a + b, 0).tolist()
    [3, 0, 7]
    """
    combined = _reduction_of(operator("segmented_reduce", function, "two numbers").function)
    call = _Call("segmented_reduce", {"array": array, "offsets": offsets}, queue, out)
    values, starts = call.arrays
    vector("segmented_reduce", 0, "array", values)
    vector("segmented_reduce", 1, "offsets", starts)
    if not starts.dtype.name.startswith(("int", "uint")):
        raise TypeError(
            f"segmented_reduce(): offsets are integers, and {starts.dtype} was given: convert them"
        )
    if starts.size == 0:
        raise ValueError(
            "segmented_reduce(): offsets has one element more than there are segments, and it is "
            "empty: give at least the start 0"
        )
    if check:
        _check_offsets(starts, values.size, call.queue)
    total = combined._total_type(values.dtype, call.queue.device)
    written = call.output((starts.size - 1,), total)
    with about("segmented_reduce(): identity"):
        neutral = Scalar(identity, total)
    values, starts = apart_from(values, written), apart_from(starts, written)
    return call.returned(combined.in_segments(values, starts, neutral, written, call.queue))


class _Call:
    """Arguments of an algorithm, its queue and its result."""

    def __init__(self, name: str, arguments: dict[str, Any], queue: object, out: Any) -> None:
        self._name, self._queue, self._out = name, queue, out
        self._given = tuple(arguments.values())
        found = []
        for position, (argument, each) in enumerate(arguments.items()):
            with about(f"{name}(): argument {position} ({argument})"):
                found.append(asarray(each))
        self.queue = queue_of(found, queue)
        self.arrays = [on_queue(each, self.queue) for each in found]

    def output(self, shape: tuple[int, ...], dtype: Dtype) -> Array:
        """The array that kernels write: ``out``, or a new one."""
        self._result = Result(
            self._name, self._given, self.queue, shape, dtype, self._out, self._queue
        )
        self._written = self._result.written
        if self._written.dtype != dtype:
            raise TypeError(
                f"{self._name}(): the result is of {dtype}, and out of {self._written.dtype}: pass "
                "an array of the result's type"
            )
        return self._written

    def computed(self, shape: tuple[int, ...], write: Callable[[Array], Event]) -> Any:
        """The result after ``write`` has written it in that shape, which has as many elements."""
        try:
            target = self._written.reshape(shape)
        except ValueError:  # the strides of ``out`` do not allow the shape
            target = empty(shape, self._written.dtype, queue=self.queue)
            write(target)
            as_given = target.reshape(self._written.shape)
            return self.returned(copy(self._written, as_given, self.queue))
        return self.returned(write(target))

    def filled(self, identity: Any) -> Any:
        with about(f"{self._name}(): identity"):
            return self.returned(fill(self._written, identity, queue=self.queue))

    def returned(self, last: Event | None) -> Any:
        """The result for the caller. An array without axes is a scalar of NumPy, as from NumPy."""
        result = self._result.returned(last)
        is_scalar = self._out is None and _is_of_numpy(result) and result.ndim == 0
        return result[()] if is_scalar else result


def _chunks(device: Device, outer: int, n: int, inner: int) -> int:
    """Parts of n elements, each for a work-item. They suffice for the device together with the
    other results, and a single work-item takes a few elements.
    """
    if not uses_groups(device):
        # The numbers of work-items are those of Reduction.
        most = device.max_compute_units * (32 if device.backend == "host" else 4)
        return max(1, min(most // (outer * inner), n // _GRAIN))
    wanted = device.max_compute_units * 1024 // (outer * inner)
    if inner == 1:
        wanted = max(wanted, 32)  # neighbors that read neighboring elements
    return max(1, min(wanted, n // _GRAIN if n > 32 * _GRAIN else n // 32))


def _placed(text: str, is_cpu: bool) -> str:
    return text.format(**(_ON_CPU if is_cpu else _ON_GPU))


def _range(shape: tuple[int, ...], is_cpu: bool) -> tuple[Any, None]:
    return (shape if is_cpu else math.prod(shape)), None


def _without_last(values: Array) -> Array:
    return values.reshape(values.shape[:-1])


def _names(arrays: list[Array]) -> list[str]:
    return [f"a{at}" for at in range(len(arrays))]


def _without(shape: tuple[int, ...], axes: list[int]) -> tuple[int, ...]:
    return tuple(extent for at, extent in enumerate(shape) if at not in axes)


def _axes(name: str, axis: Any, ndim: int) -> list[int]:
    """The axes in ascending order, from 0."""
    if axis is None:
        return list(range(ndim))
    given = list(axis) if isinstance(axis, Sequence) and not isinstance(axis, str) else [axis]
    axes = []
    for each in given:
        if isinstance(each, bool) or not hasattr(each, "__index__"):
            raise TypeError(f"{name}(): axis is an int or a tuple of ints, and {axis!r} was given")
        at = each.__index__()
        if not -ndim <= at < ndim:
            raise ValueError(
                f"{name}(): axis {at} was asked for, and the array has {ndim} dimensions"
            )
        axes.append(at % ndim)
    if len(set(axes)) < len(axes):
        raise ValueError(f"{name}(): an axis is repeated in {axis!r}: name each axis once")
    return sorted(axes)


def _layered(values: Array, axes: list[int]) -> Array:
    """The array as (outer, n, inner) with the n elements of the axes; a copy if needed."""
    if not axes:
        axes, values = [values.ndim], values.reshape((*values.shape, 1))
    if axes[-1] - axes[0] != len(axes) - 1:
        kept = [at for at in range(values.ndim) if at not in axes]
        axes, values = (
            list(range(len(kept), values.ndim)),
            values.transpose(*kept, *axes),
        )
    before, after = axes[0], axes[-1] + 1
    shape = (
        math.prod(values.shape[:before]),
        math.prod(values.shape[before:after]),
        math.prod(values.shape[after:]),
    )
    try:
        return values.reshape(shape)
    except ValueError:  # only a copy could do it
        return values.to(values.device).reshape(shape)


def _extreme(
    name: str,
    before: DeviceFunction,
    before_complex: DeviceFunction,
    array: Any,
    axis: Any,
    queue: object,
    out: Any,
) -> Any:
    call = _Call(name, {"array": array}, queue, out)
    (values,) = call.arrays
    if isinstance(axis, Sequence):
        raise TypeError(f"{name}(): axis is an int, and {axis!r} was given: name one axis")
    axes = _axes(name, axis, values.ndim)
    if math.prod(values.shape[at] for at in axes) == 0:
        raise ValueError(
            f"{name}(): at least one element is needed, and the array has the shape "
            f"{values.shape}: check its size first"
        )
    written = call.output(_without(values.shape, axes), int64)
    if written.size == 0:
        return call.returned(None)
    if values.dtype.name.startswith("complex"):
        before = before_complex
    layered = _layered(apart_from(values, written), axes)
    return call.computed(
        (layered.shape[0], 1, layered.shape[2]),
        lambda target: _search_along(layered, before, target, call.queue),
    )


def _search_along(values: Array, before: DeviceFunction, out: Array, queue: Queue) -> Event:
    """Finds the places of (outer, n, inner), as (outer, 1, inner); n is not 0."""
    outer, n, inner = values.shape
    is_cpu = not uses_groups(queue.device)
    chunks = _chunks(queue.device, outer, n, inner)
    places = out if chunks == 1 else empty((outer, chunks, inner), int64, queue=queue)
    if is_cpu and inner == 1:
        code = _search("search", _SEARCH_LAST, before, is_cpu)
        last = code[(outer, chunks), None](
            _without_last(values), _without_last(places), queue=queue, wait=False
        )
    else:
        code = _search("search", _SEARCH, before, is_cpu)
        last = code[_range(places.shape, is_cpu)](values, places, queue=queue, wait=False)
    while chunks > 1:
        found, chunks = places, _chunks(queue.device, outer, chunks, inner)
        places = out if chunks == 1 else empty((outer, chunks, inner), int64, queue=queue)
        code = _search("search_places", _SEARCH_PLACES, before, is_cpu)
        last = code[_range(places.shape, is_cpu)](values, found, places, queue=queue, wait=False)
    return last


def _check_offsets(offsets: Array, size: int, queue: Queue) -> None:
    """Raises ValueError if an offset is outside of the array, or less than the one before it."""
    found = zeros(1, "int32", queue=queue)
    _find_descent[offsets.size](offsets, size, found, queue=queue, wait=False)
    if not found.item():
        return
    before = 0
    for at, offset in enumerate(memoryview(offsets.copy_to_host()).tolist()):
        if not before <= offset <= size:
            raise ValueError(
                f"segmented_reduce(): offsets ascend from 0 to {size} at most, and offset {at} is "
                f"{offset} after {before}: give starts as in a CSR matrix"
            )
        before = offset

"""``argmin`` and ``argmax``: places of extreme elements.

The shapes and the chunks are those of ``Reducer``. Each chunk has the place of its first extreme.
The next launch compares the elements at these places.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from ..._core import Array, Dtype, Event, Queue
from ..functions import DeviceFunction, KernelFunction, func
from ..generated import kernel_of_text
from ..language import int32, int64
from ..reducer import (
    BLOCK,
    INTERLEAVED,
    ROWS,
    ROWS_OF_GROUPS,
    Part,
    as_columns,
    extents,
    in_chunks,
    launch_of,
    uses_groups,
    with_inner,
)
from .axes import along_axes, axes_of, without
from .common import Call

_SEARCH = """
def search(out, a0):
{place}
    part = a0[{elements}]
    found, best = {first}, part[{first}]
    for j in range({first} + {step}, len(part), {step}):
        value = part[j]
        if before(value, best):
            best = value
            found = j
    out[{result}] = {axis_index}
"""

# The loop that only counts is vectorized. After the first runs, few contain a better element.
_SEARCH_RUNS = """
def search(out, a0):
{place}
    part = a0[{elements}]
    found, best = 0, part[0]
    for start in range(0, len(part), RUN):
        run = part[start:start + RUN]
        better = int32(0)
        for j in range(len(run)):
            better += int32(before(run[j], best))
        if better > 0:
            for j in range(len(run)):
                value = run[j]
                if before(value, best):
                    best = value
                    found = start + j
    out[{result}] = {axis_index}
"""

# Chunks of adjacent columns, whose loops the compiler of the host vectorizes.
_SEARCH_BLOCKS = """
def search(out, a0):
    o, c, block = get_global_id(0), get_global_id(1), get_global_id(2)
    n, inner, chunks = a0.shape[1], a0.shape[2], get_global_size(1)
    left = max(block * BLOCK, 0)
    width = min(inner - left, BLOCK)
    best, found = private.array(BLOCK, dtype), private.array(BLOCK, index)
    first = c * n // chunks
    part = a0[o, first:(c + 1) * n // chunks, left:left + width]
    for i in range(width):
        best[i] = part[0, i]
        found[i] = 0
    for j in range(1, len(part)):
        for i in range(width):
            value = part[j, i]
            is_before = before(value, best[i])
            best[i] = value if is_before else best[i]
            found[i] = index(j) if is_before else found[i]
    for i in range(width):
        out[o, c, left + i] = first + found[i]
"""

# Neighbors read neighboring elements. The group then compares the extremes of its work-items in
# local memory.
_SEARCH_BY_GROUP = """
def search(out, a0{array}):
    own = get_local_id(0)
    bests, places = local.array(GROUP, dtype), local.array(GROUP, index)
{place}
    part = a0[{elements}]
    count = len(part)
    if own < count:
        found = {place_of_first}
        best = {value_of_first}
        for j in range(own + GROUP, count, GROUP):
            place = {place_of_next}
            value = {value_of_next}
            if {is_better}:
                best = value
                found = place
        bests[own] = best
        places[own] = found
    width = GROUP // 2
    while width > 0:
        barrier(CLK_LOCAL_MEM_FENCE)
        if own < width and own + width < count:
            mine, other = bests[own], bests[own + width]
            is_first = places[own + width] < places[own]
            if before(other, mine) or (is_first and not before(mine, other)):
                bests[own] = other
                places[own] = places[own + width]
        width = width // 2
    if own == 0:
        out[{result}] = {offset}places[0]
"""
_OF_ELEMENTS = {
    "array": "",
    "place_of_first": "own",
    "value_of_first": "part[own]",
    "place_of_next": "j",
    "value_of_next": "part[j]",
    "is_better": "before(value, best)",
    "offset": "start + ",
}
# The places of a part are not ascending.
_OF_PLACES = {
    "array": ", array",
    "place_of_first": "part[own]",
    "value_of_first": "array[o, found]",
    "place_of_next": "part[j]",
    "value_of_next": "array[o, place]",
    "is_better": "before(value, best) or (place < found and not before(best, value))",
    "offset": "",
}

# The places of a part are not ascending, so of equal elements the first one is chosen by place.
_SEARCH_PLACES = """
def search_places(out, a0, array):
{place}
    part = a0[{elements}]
    found = part[{first}]
    best = array[o, found, i]
    for j in range({first} + {step}, len(part), {step}):
        place = part[j]
        value = array[o, place, i]
        if before(value, best) or (place < found and not before(best, value)):
            best = value
            found = place
    out[{result}] = found
"""

#: Elements of a run.
_RUN = 64
#: Rows of so many elements are searched as columns, if they are many.
_SHORT_ROW = 128


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

    A nan is larger than all numbers. The result and the errors are those of ``argmin``.

    Parameters
    ----------
    array : array_like
        The array, of any shape and layout.
    axis : int, optional
        The axis to search along. The default is the whole array, in C order.
    queue, out : optional
        The queue to use, and the array for the result, as for ``argmin``.

    Returns
    -------
    Array, ndarray or scalar
        ``out``, or the places as a new array of int64.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> algorithms.argmax(np.array([[4, 1, 1], [0, 5, 5]]), axis=1).tolist()
    [0, 1]
    """
    return _extreme("argmax", _is_greater, _is_greater_complex, array, axis, queue, out)


def _extreme(
    name: str,
    before: DeviceFunction,
    before_complex: DeviceFunction,
    array: Any,
    axis: Any,
    queue: object,
    out: Any,
) -> Any:
    if isinstance(axis, Sequence):
        raise TypeError(f"{name}(): axis is an int, and {axis!r} was given: name one axis")
    call = Call(name, {"array": array}, queue, out)
    (values,) = call.arrays
    axes = axes_of(name, axis, values.ndim)
    if math.prod(values.shape[at] for at in axes) == 0:
        raise ValueError(
            f"{name}(): at least one element is needed, and the array has the shape "
            f"{values.shape}: check its size first"
        )
    result = call.result_of(without(values.shape, axes), int64)
    if result.written.size == 0:
        return result.returned(None)
    chosen = before_complex if values.dtype.name.startswith("complex") else before
    return along_axes(
        call,
        values,
        axes,
        result,
        lambda layered, target: _search(layered, chosen, target, call.queue),
    )


def _search(values: Array, before: DeviceFunction, out: Array, queue: Queue) -> Event:
    """Finds the place along the axis, which is not empty, for each of the other elements."""
    outer, n, inner = extents(values.shape)
    by_groups = uses_groups(queue.device)
    if n <= _SHORT_ROW and inner == 1 and outer >= BLOCK and not by_groups:
        return _search(as_columns(values), before, as_columns(out), queue)
    index = int32 if n < 1 << 31 else int64
    given, chunks = [values], n
    while True:
        launch = launch_of(queue.device, outer, chunks, inner)
        if len(given) > 1 and not by_groups:  # the last launch: a work-item for each result
            launch = INTERLEAVED, 1, outer * inner, None
        part, chunks, items, group = launch
        places = in_chunks(out, chunks, queue)
        arrays = [places, *given]
        if part is INTERLEAVED:
            arrays = [with_inner(each) for each in arrays]
        code = _kernel(part, len(given) > 1, before, values.dtype, index, _size_of(group))
        last = code[items, group](*arrays, queue=queue, wait=False)
        if chunks == 1:
            return last
        given = [places, values]


def _size_of(group: int | tuple[int, ...] | None) -> int:
    return group if isinstance(group, int) else 0


@functools.cache
def _kernel(
    part: Part | str,
    of_places: bool,
    before: DeviceFunction,
    dtype: Dtype,
    index: Dtype,
    group: int,
) -> KernelFunction:
    """The kernel for elements, or for places of the best ones."""
    names = {"before": before, "dtype": dtype, "index": index, "BLOCK": BLOCK, "RUN": _RUN}
    if isinstance(part, str):
        return kernel_of_text("search", _SEARCH_BLOCKS, **names)
    if part is ROWS_OF_GROUPS:
        text = _SEARCH_BY_GROUP.format(
            **part._asdict(), **(_OF_PLACES if of_places else _OF_ELEMENTS)
        )
        return kernel_of_text("search", text, GROUP=group, **names)
    text = _SEARCH_PLACES if of_places else _SEARCH_RUNS if part is ROWS else _SEARCH
    name = "search_places" if of_places else "search"
    return kernel_of_text(name, text.format(**part._asdict()), **names)

"""``sort``, ``argsort`` and ``sort_by_key``: stable radix sorts.

Elements are sorted by their bits, from the lowest to the highest digit. Each pass keeps the order
of elements whose digits are equal. It counts the digits in each part of the array, scans the
counts, and moves the elements of each part to their places. The parts are those of scans: chunks on
CPUs, else tiles of work-groups.

The elements themselves are moved. Each pass computes the key of an element anew, because several
values have the same key: -0.0 and 0.0, and all NaNs.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from ..._core import Array, Dtype, Event, Queue, Scalar, empty
from ..functions import DeviceFunction, KernelFunction
from ..generated import function_of_text, kernel_of_text
from ..reducer import uses_groups
from .common import (
    CHUNK,
    GROUP,
    Call,
    chunks_of,
)
from .scans import sums

#: Bits of a digit. The counts of a chunk fill half of a CPU's level-1 cache.
BITS = 8
# In a group, each work-item has the count of a digit, and one of 16 parts of 16 work-items.
assert GROUP == 1 << BITS == 16 * 16

# Keys are ordered as unsigned integers are. NaNs are last, also in descending order.
_UNSIGNED = """
def key(bits):
    return bits ^ {flip}
"""
_SIGNED = """
def key(bits):
    return bits ^ {sign} ^ {flip}
"""
_BOOL = """
def key(bits):
    return uint8(bits != 0) ^ {flip}
"""
_FLOATING = """
def key(bits):
    magnitude = bits & {magnitude}
    ordered = {sign} - magnitude if bits > {sign} else {sign} + magnitude
    return {all_bits} if magnitude > {infinity} else ordered ^ {flip}
"""

_DIGIT = """
def digit(bits, shift):
    return uint32((key(bits) >> (unsigned(shift) & {last_bit})) & {mask})
"""

_CHUNK = (
    CHUNK.replace("array", "keys")
    + """
    places = private.array({bins}, int64)
"""
)

_COUNT_CHUNKS = (
    "def count_chunks(keys, counts, shift):"
    + _CHUNK
    + """
    for d in range({bins}):
        places[d] = 0
    for j in range(first, last):
        places[digit(keys[j], shift)] += 1
    for d in range({bins}):
        counts[d * chunks + i] = places[d]
"""
)

_MOVE_CHUNKS = (
    "def move_chunks({parameters}, counts, shift):"
    + _CHUNK
    + """
    for d in range({bins}):
        places[d] = counts[d * chunks + i]
    for j in range(first, last):
        element = keys[j]
        d = int64(digit(element, shift))
        at = max(places[d], 0)
        places[d] = at + 1
        {move}
"""
)

# All passes of one chunk, in one launch: launches take longer than the passes of a small array.
_PASS_ALONE = """
    for d in range({bins}):
        places[d] = 0
    for j in range({source}.shape[0]):
        places[digit({source}[j], {shift})] += 1
    before = 0
    for d in range({bins}):
        count = places[d]
        places[d] = before
        before += count
    for j in range({source}.shape[0]):
        element = {source}[j]
        d = int64(digit(element, {shift}))
        at = max(places[d], 0)
        places[d] = at + 1
        {move}
"""

_COUNT_GROUPS = """
def count_groups(keys, counts, shift):
    own = get_local_id(0)
    groups = get_num_groups(0)
    group_id = get_group_id(0)
    bins = local.array({bins}, int32)
    if own < {bins}:
        bins[own] = 0
    barrier(CLK_LOCAL_MEM_FENCE)
    for k in range({per_item}):
        j = group_id * {tile} + k * {group} + own
        if j < keys.shape[0]:
            atomic.add(bins, digit(keys[j], shift), 1)
    barrier(CLK_LOCAL_MEM_FENCE)
    if own < {bins}:
        counts[own * groups + group_id] = bins[own]
"""

# The group sorts its tile in local memory by the lower half of the digit, then by the upper half.
# So it moves elements of equal digits together. Each work-item takes consecutive elements, and
# `places` has its number of each half digit, later the place of its next one. Elements after the
# end of the array have the largest digit, and stay behind all others.
#
# Neighbors access different banks of local memory. For that, the tile has gaps, and neighbors take
# chunks of the tile that are 16 chunks apart.
_MOVE_GROUPS = """
def move_groups({parameters}, counts, shift):
    own = uint32(get_local_id(0))
    group_id = get_group_id(0)
    groups = get_num_groups(0)
    begin = group_id * {tile}
    size = uint32(min(keys.shape[0] - begin, {tile}))
    chunk = own % 16 * 16 + own // 16
    item = chunk * {per_item}
    first = item + chunk + chunk // 16
    tile = local.array({tile} + {group} + 16, unsigned)
    {order}
    places = local.array(16 * {group}, int16)
    starts = local.array({bins}, int64)
{loads}
    barrier(CLK_LOCAL_MEM_FENCE)
{halves}
    at = own * groups + group_id
    start = counts[at]
    stop = counts[at + 1] if at + 1 < len(counts) else len(keys)
    starts[own] = start - group.exclusive_scan(int32(stop - start), "add")
    barrier(CLK_LOCAL_MEM_FENCE)
{moves}
"""

# The elements of the work-item are variables, so that they are in registers. Indices are unsigned
# and of 32 bits, in which GPUs are faster; counters of loops would not be.
_LOAD = """
    j = {k} * {group} + own
    tile[{at_j}] = keys[begin + j] if j < size else unsigned(0)
"""
_HALF = """
{loads}
{zeros}
{counts}
    barrier(CLK_LOCAL_MEM_FENCE)
    total = int32(0)
{totals}
    before = group.exclusive_scan(total, "add")
{sums}
    barrier(CLK_LOCAL_MEM_FENCE)
{places}
    barrier(CLK_LOCAL_MEM_FENCE)
"""
_HALF_LOAD = """
    e{k} = tile[first + {k}]
    p{k} = ({half} if item + {k} < size else uint32(15)) * {group} + own
"""
_HALF_ZERO = """
    places[{k} * {group} + own] = 0
"""
_HALF_COUNT = """
    places[p{k}] += 1
"""
_HALF_TOTAL = """
    total += places[own // 16 * {group} + {k} * 16 + own % 16]
"""
_HALF_SUM = """
    j = own // 16 * {group} + {k} * 16 + own % 16
    count = places[j]
    places[j] = before
    before += count
"""
_HALF_PLACE = """
    j = uint32(places[p{k}])
    places[p{k}] = j + 1
    tile[{at_j}] = e{k}
"""
#: Places of the elements in the tile, for sorts that move other arrays by them.
_ORDER_LOADS = (
    """
    o{k} = int16(item + {k})
""",
    """
    o{k} = order[first + {k}]
""",
)
_ORDER_PLACE = """
    order[{at_j}] = o{k}
"""
_HALVES = ("(digit(e{k}, shift) & 15)", "(digit(e{k}, shift) >> 4)")
_MOVE = """
    j = {k} * {group} + own
    if j < size:
        element = tile[{at_j}]
        at = max(starts[digit(element, shift)] + j, 0)
        {move}
"""

_TEXTS = {
    "count_chunks": _COUNT_CHUNKS,
    "move_chunks": _MOVE_CHUNKS,
    "count_groups": _COUNT_GROUPS,
    "move_groups": _MOVE_GROUPS,
}

#: Bits of the infinity of each floating type.
_INFINITIES = {
    "float16": 0x7C00,
    "bfloat16": 0x7F80,
    "float32": 0x7F80_0000,
    "float64": 0x7FF0_0000_0000_0000,
}


@functools.cache
def _digit_of(dtype: Dtype, descending: bool) -> DeviceFunction:
    """The device function of an element's bits and a shift that returns a digit of its key."""
    name, width = dtype.name, dtype.bits
    text = (
        _FLOATING
        if name in _INFINITIES
        else _BOOL
        if name == "bool"
        else _SIGNED
        if name.startswith("int")
        else _UNSIGNED
    )
    all_bits = (1 << width) - 1
    unsigned = Dtype(f"uint{width}")
    key = function_of_text(
        "key",
        text.format(
            sign=1 << (width - 1),
            magnitude=all_bits >> 1,
            all_bits=all_bits,
            infinity=_INFINITIES.get(name),
            flip=all_bits if descending else 0,
        ),
        uint8=unsigned,
    )
    return function_of_text(
        "digit",
        _DIGIT.format(mask=(1 << BITS) - 1, last_bit=width - 1),
        key=key,
        uint32=Dtype("uint32"),
        unsigned=unsigned,
    )


def _per_item(dtype: Dtype) -> int:
    """Elements of each work-item of a group: their tile leaves local memory for other groups."""
    return 16 if dtype.bits <= 32 else 8


@functools.cache
def _kernel(
    name: str, dtype: Dtype, descending: bool, arrays: tuple[str, ...] = ("keys",)
) -> KernelFunction:
    per_item = _per_item(dtype)
    has_order = "out_values" in arrays
    at_j = f"j + j // {per_item} + j // {16 * per_item}"
    j = f"begin + order[{at_j}]" if name == "move_groups" else "j"
    move = _move({each: each for each in arrays}, j)
    repeated = functools.partial(_repeated, per_item=per_item, group=GROUP, at_j=at_j)
    text = _TEXTS[name].format(
        bins=1 << BITS,
        group=GROUP,
        per_item=per_item,
        tile=GROUP * per_item,
        parameters=", ".join(arrays),
        order=f"order = local.array({GROUP * per_item + GROUP + 16}, int16)" if has_order else "",
        loads=repeated(_LOAD, per_item),
        halves="".join(_half(number, repeated, per_item, has_order) for number in range(2)),
        moves=repeated(_MOVE, per_item, move=move),
        move=move,
    )
    return kernel_of_text(
        name,
        text,
        digit=_digit_of(dtype, descending),
        unsigned=Dtype(f"uint{dtype.bits}"),
        int16=Dtype("int16"),
        uint32=Dtype("uint32"),
    )


def _repeated(text: str, times: int, **names: object) -> str:
    return "".join(text.format(k=k, **names) for k in range(times))


def _half(number: int, repeated: Callable[..., str], per_item: int, has_order: bool) -> str:
    """The statements that sort a tile by half a digit, 0 or 1."""
    load, place = _HALF_LOAD.replace("{half}", _HALVES[number]), _HALF_PLACE
    if has_order:
        load, place = load + _ORDER_LOADS[number], place + _ORDER_PLACE
    return _HALF.format(
        loads=repeated(load, per_item),
        zeros=repeated(_HALF_ZERO, 16),
        counts=repeated(_HALF_COUNT, per_item),
        totals=repeated(_HALF_TOTAL, 16),
        sums=repeated(_HALF_SUM, 16),
        places=repeated(place, per_item),
    )


class _Buffers:
    """Destinations of an array's elements in each pass: alternately ``out`` and a temporary, so
    that ``out`` is that of the last pass. Without ``out``, the last pass has none.
    """

    def __init__(self, out: Array | None, passes: int, queue: Queue) -> None:
        self._out = out
        self._passes = passes
        self._queue = queue
        self._temporaries: dict[int, Array] = {}

    def of_pass(self, number: int, like: Array, dtype: Dtype) -> Array | None:
        later = self._passes - 1 - number
        if self._out is not None and later % 2 == 0:
            return self._out
        if later == 0:
            return None
        if later % 2 not in self._temporaries:
            self._temporaries[later % 2] = empty(like.shape, dtype, queue=self._queue)
        return self._temporaries[later % 2]


def _sort(
    values: Array,
    queue: Queue,
    descending: bool,
    out: Array | None,
    payload: Array | None = None,
    out_payload: Array | None = None,
) -> Event:
    """Submits the passes, for at least one element.

    ``out_payload`` receives the elements of ``payload`` in the order of the sorted ``values``, or
    their indices if there is no payload.
    """
    by_groups = uses_groups(queue.device)
    passes = -(-values.dtype.bits // BITS)
    keys = _bits_of(values)
    key_buffers = _Buffers(None if out is None else _bits_of(out), passes, queue)
    buffers = _Buffers(out_payload, passes, queue)
    steps = []
    for number in range(passes):
        to = key_buffers.of_pass(number, keys, keys.dtype)
        payload_to = None
        if out_payload is not None:
            payload_to = buffers.of_pass(number, out_payload, out_payload.dtype)
        steps.append(_Step(number * BITS, keys, to, payload, payload_to))
        keys = keys if to is None else to
        payload = payload_to
    if not by_groups and chunks_of(values.size, queue.device) == 1:
        return _sort_alone(steps, values.dtype, descending, queue)
    return _sort_in_parts(steps, values.dtype, descending, queue)


@dataclasses.dataclass(frozen=True)
class _Step:
    """A pass: the lowest bit of its digit, and the arrays that it reads and writes."""

    shift: int
    keys: Array
    out: Array | None
    values: Array | None
    out_values: Array | None

    def arrays(self) -> dict[str, Array]:
        found = {"keys": self.keys, "out": self.out}
        found |= {"values": self.values, "out_values": self.out_values}
        return {name: array for name, array in found.items() if array is not None}


def _move(names: Mapping[str, str], j: str = "j") -> str:
    """The statements that move an element to its place, of the arrays' names in the kernel, and
    the index of the element.
    """
    moves = []
    if "out" in names:
        moves.append(f"{names['out']}[at] = element")
    if "out_values" in names:
        value = f"{names['values']}[{j}]" if "values" in names else j
        moves.append(f"{names['out_values']}[at] = {value}")
    return "; ".join(moves)


def _sort_alone(steps: list[_Step], dtype: Dtype, descending: bool, queue: Queue) -> Event:
    each = [step.arrays() for step in steps]
    arrays = {id(array): array for found in each for array in found.values()}
    parameter = {key: f"a{number}" for number, key in enumerate(arrays)}
    names = tuple(
        tuple((name, parameter[id(array)]) for name, array in found.items()) for found in each
    )
    code = _kernel_alone(dtype, descending, len(arrays), names)
    return code[1](*arrays.values(), queue=queue, wait=False)


@functools.cache
def _kernel_alone(
    dtype: Dtype, descending: bool, arrays: int, names: tuple[tuple[tuple[str, str], ...], ...]
) -> KernelFunction:
    """The kernel of all passes, whose arrays have these names: a0, a1 and so on."""
    parameters = ", ".join(f"a{number}" for number in range(arrays))
    text = f"def sort_alone({parameters}):\n    places = private.array({1 << BITS}, int64)\n"
    for number, each in enumerate(names):
        text += _PASS_ALONE.format(
            bins=1 << BITS,
            source=dict(each)["keys"],
            shift=number * BITS,
            move=_move(dict(each)),
        )
    return kernel_of_text("sort_alone", text, digit=_digit_of(dtype, descending))


def _sort_in_parts(steps: list[_Step], dtype: Dtype, descending: bool, queue: Queue) -> Event:
    by_groups = uses_groups(queue.device)
    size = steps[0].keys.size
    tile = GROUP * _per_item(dtype)
    parts = -(-size // tile) if by_groups else chunks_of(size, queue.device)
    kind = "groups" if by_groups else "chunks"
    launched = (parts * GROUP, GROUP) if by_groups else (parts, 1)
    of_counts = "int32" if size < 1 << 31 else "int64"
    counts = empty(parts << BITS, of_counts, queue=queue)
    last: Event
    for step in steps:
        count = _kernel(f"count_{kind}", dtype, descending)
        count[launched](step.keys, counts, step.shift, queue=queue, wait=False)
        sums().run(counts, counts, queue, start=Scalar(0, of_counts), is_exclusive=True)
        arrays = step.arrays()
        move = _kernel(f"move_{kind}", dtype, descending, tuple(arrays))
        last = move[launched](*arrays.values(), counts, step.shift, queue=queue, wait=False)
    return last


def _bits_of(array: Array) -> Array:
    """The elements as unsigned integers, which every device has."""
    return array.view(f"uint{array.dtype.bits}")


def sort(array: Any, *, descending: bool = False, queue: Any = None) -> Any:
    """Return the elements in ascending or descending order.

    The sort is stable: -0.0 and 0.0 are equal, and keep their order. NaNs are last in both orders.

    Parameters
    ----------
    array : array_like
        Bools, integers or floats, in one dimension.
    descending : bool, optional
        True for the largest element first.
    queue : Queue, optional
        The queue to run on. The default is that of launches: the queue of ``array``.

    Returns
    -------
    Array or numpy.ndarray
        A new array: a NumPy array if ``array`` is one, else an Array on its device. The call does
        not wait for the kernels, unless ``array`` is host memory of another library.

    Raises
    ------
    ValueError
        If ``array`` does not have one dimension.
    TypeError
        If the elements have no order, as complex numbers.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> algorithms.sort(np.array([3, 1, 2])).tolist()
    [1, 2, 3]
    >>> algorithms.sort(np.array([0.5, np.nan, 2.0]), descending=True).tolist()
    [2.0, 0.5, nan]
    """
    call = Call("sort", {"array": array}, queue, takes_vectors=True)
    (values,) = call.arrays
    _check_keys(call, values)
    result = call.result(values.shape, values.dtype)
    if values.size == 0:
        return result.returned(None)
    return result.returned(_sort(values, call.queue, descending, result.written))


def argsort(array: Any, *, descending: bool = False, queue: Any = None) -> Any:
    """Return the indices that sort an array.

    The sort is stable: indices of equal elements ascend, also in descending order. NaNs are last in
    both orders.

    Parameters
    ----------
    array : array_like
        Bools, integers or floats, in one dimension.
    descending : bool, optional
        True for the index of the largest element first.
    queue : Queue, optional
        The queue to run on. The default is that of launches: the queue of ``array``.

    Returns
    -------
    Array or numpy.ndarray
        A new array of int64: a NumPy array if ``array`` is one, else an Array on its device. The
        call does not wait for the kernels, unless ``array`` is host memory of another library.

    Raises
    ------
    ValueError
        If ``array`` does not have one dimension.
    TypeError
        If the elements have no order, as complex numbers.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> algorithms.argsort(np.array([3, 1, 2, 1])).tolist()
    [1, 3, 2, 0]
    """
    call = Call("argsort", {"array": array}, queue, takes_vectors=True)
    (values,) = call.arrays
    _check_keys(call, values)
    result = call.result(values.shape, "int64")
    if values.size == 0:
        return result.returned(None)
    return result.returned(_sort(values, call.queue, descending, None, None, result.written))


def sort_by_key(
    keys: Any, values: Any, *, descending: bool = False, queue: Any = None
) -> tuple[Any, Any]:
    """Return keys in order, and the values that belong to them.

    The sort is stable: values of equal keys keep their order. NaNs are last in both orders.

    Parameters
    ----------
    keys : array_like
        Bools, integers or floats, in one dimension.
    values : array_like
        A value for each key, of any dtype that kernels support.
    descending : bool, optional
        True for the largest key first.
    queue : Queue, optional
        The queue to run on. The default is that of launches: the queue of the first array on a
        device.

    Returns
    -------
    tuple of Array or numpy.ndarray
        The sorted keys and their values, in new arrays: NumPy arrays if both arguments are, else
        Arrays on their device. The call does not wait for the kernels, unless an argument is host
        memory of another library.

    Raises
    ------
    ValueError
        If an array does not have one dimension, or if their sizes differ.
    TypeError
        If the keys have no order, as complex numbers.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> keys, values = algorithms.sort_by_key(np.array([3, 1, 2]), np.array([0.3, 0.1, 0.2]))
    >>> keys.tolist(), values.tolist()
    ([1, 2, 3], [0.1, 0.2, 0.3])
    """
    call = Call("sort_by_key", {"keys": keys, "values": values}, queue, takes_vectors=True)
    ordered, payload = call.arrays
    _check_keys(call, ordered)
    if payload.shape != ordered.shape:
        raise ValueError(
            f"sort_by_key() got {ordered.size} keys and {payload.size} values: pass a value for "
            "each key"
        )
    sorted_keys = call.result(ordered.shape, ordered.dtype)
    sorted_values = call.result(ordered.shape, payload.dtype)
    last = None
    if ordered.size:
        last = _sort(
            ordered,
            call.queue,
            descending,
            sorted_keys.written,
            _movable(payload),
            _movable(sorted_values.written),
        )
    return sorted_keys.returned(last), sorted_values.returned(last)


def _movable(array: Array) -> Array:
    """The array, or its bits if the device may not have the dtype."""
    return _bits_of(array) if array.dtype.name in ("float16", "bfloat16") else array


def _check_keys(call: Call, keys: Array) -> None:
    dtype = keys.dtype
    is_number = dtype.name.startswith(("bool", "int", "uint")) or dtype.name in _INFINITIES
    if not is_number or dtype.bits not in (8, 16, 32, 64) or dtype.lanes != 1:
        raise TypeError(
            f"{call.name}() orders bools, integers and floats of 8 to 64 bits, and the elements "
            f"are {dtype.name}: sort by a number of each, such as np.abs(x)"
        )

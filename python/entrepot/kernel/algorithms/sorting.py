"""``sort``, ``argsort`` and ``sort_by_key``: stable radix sorts.

Elements are sorted by their bits, from the lowest to the highest digit. Each pass keeps the order
of elements whose digits are equal. On CPUs it counts the digits in each chunk of the array, scans
the counts, and moves the elements of each chunk to their places. On other devices one launch counts
the digits of all passes. In each pass, work-groups move tiles, and tell the next ones how many
elements of each digit they have.

The elements themselves are moved. Each pass computes the key of an element anew, because several
values have the same key: -0.0 and 0.0, and all NaNs.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from textwrap import indent
from typing import Any

from ..._core import Array, Dtype, Event, Queue, Scalar, empty, zeros
from ..functions import DeviceFunction, KernelFunction
from ..generated import function_of_text, kernel_of_text
from ..language import Builtin, sub_group, sub_group_barrier
from ..reducer import uses_groups
from .common import (
    CHUNK,
    GROUP,
    Call,
    chunks_of,
)
from .scans import sums

#: The language's function of NumPy's name, which the texts of kernels call without NumPy.
BITWISE_COUNT = Builtin("numpy.bitwise_count", "Number of bits that are set.")

#: Bits of a digit. The counts of a chunk fill half of a CPU's level-1 cache.
BITS = 8
#: Work-items that rank their elements together.
WARP = 32
#: Elements that a work-item counts before the next ones, and groups that count on each processor.
COUNTED = 16
GROUPS_PER_UNIT = 8
#: The largest size whose counts fit 32 bits beside the two flags of a state.
MOST_IN_32_BITS = (1 << 30) - 1
# In a group, each work-item has the count of a digit.
assert GROUP == 1 << BITS
assert GROUP % WARP == 0

# Keys are ordered as unsigned integers are. NaNs are last, also in descending order. The keys of
# floats from -inf to inf are 0 to twice the bits of inf. Those of all NaNs would be larger, by
# unsigned arithmetic, and become the next number.
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
    ordered = {sign} + {infinity} - bits if bits >= {sign} else {infinity} + bits
    ordered = min(ordered, {nan})
    return {key_of_float}
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

# Each group counts all digits of every few parts.
_COUNT_GROUPS = """
def count_groups(keys, totals):
    own = get_local_id(0)
    bins = local.array({passes} * {bins}, uint32)
    for k in range({passes}):
        bins[k * {bins} + own] = uint32(0)
    barrier(CLK_LOCAL_MEM_FENCE)
    for first in range(get_group_id(0) * {counted}, keys.shape[0], get_num_groups(0) * {counted}):
        size = uint32(min(keys.shape[0] - first, {counted}))
{counts}
    barrier(CLK_LOCAL_MEM_FENCE)
    for k in range({passes}):
        atomic.add(totals, k * {bins} + own, word(bins[k * {bins} + own]), order="relaxed")
"""
_COUNT = """
        j = {k} * {group} + uint32(own)
        if j < size:
            element = keys[first + j]
{adds}
"""
_ADD = """
            atomic.add(bins, {number} * {bins} + digit(element, {number} * {bits}), uint32(1),
                       order="relaxed", scope="work_group")
"""

# A group sorts its tile in local memory, and so moves elements of equal digits together. An element
# goes behind all elements of lower digits, and behind those of its own digit that come before it.
# The latter are in earlier tiles, in earlier warps of the tile, and in its own warp.
#
# A warp is 32 consecutive work-items. Its elements are consecutive too, and its work-items take
# every 32nd. So a mask of the work-items whose digits are equal numbers 32 elements at once.
# Elements after the end of the array have the largest digit, and stay behind all others.
#
# The numbers of earlier tiles come by decoupled look-back [1]. A group publishes the number of its
# tile in `states`. Then it adds those of the tiles before it, until it finds a sum of all of them.
# A state has a flag and the number in one word, so that no other memory needs to be ordered. The
# groups take tickets for their tiles. So a group waits only for groups that have started, and these
# do not wait for it. The states of the next pass are cleared, whose memory the last pass used.
#
# [1] Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016.
_MOVE_GROUPS = """
def move_groups({parameters}, totals, tickets, states, number{next_parameter}):
    own = uint32(get_local_id(0))
    masks = local.array({warps} * {bins}, uint32)
    numbers = local.array({warps} * {bins}, int16)
    starts = local.array({bins}, word)
    tile = local.array({tile}, unsigned)
    {order}
    total = totals[number * {bins} + own]
    ticket = atomic.add(tickets, number, word(1), order="relaxed") if own == 0 else word(0)
    for k in range({warps}):
        numbers[k * {group} + own] = 0
        masks[k * {group} + own] = uint32(0)
    barrier(CLK_LOCAL_MEM_FENCE)
    part = int64(group.broadcast(ticket))
{votes}
    shift = number * {bits}
    begin = part * {tile}
    size = uint32(min(keys.shape[0] - begin, {tile}))
    bit = uint32(1) << own % 32
    warp = own // 32 * {bins}
    first = own // 32 * (32 * {per_item}) + own % 32
{loads}
{ranks}
    barrier(CLK_LOCAL_MEM_FENCE)
    count = int32(0)
    for k in range({warps}):
        of_warp = numbers[k * {bins} + own]
        numbers[k * {bins} + own] = count
        count += of_warp
    own_state = part * {bins} + own
    flag = word({of_all}) if part == 0 else word({of_tile})
    atomic.store(states, own_state, flag | word(count), order="relaxed")
    {clear}
    start = group.exclusive_scan(count, "add")
    for k in range({warps}):
        numbers[k * {bins} + own] += start
    barrier(CLK_LOCAL_MEM_FENCE)
{places}
    before = word(0)
    previous = part - 1
    while previous >= 0:
        state = atomic.load(states, previous * {bins} + own, order="relaxed")
        if state >= {of_tile}:
            before += state & {value}
            previous = previous - 1 if state < {of_all} else -1
    if part > 0:
        atomic.store(states, own_state, before + word(count) | {of_all}, order="relaxed")
    of_digit = group.exclusive_scan(total, "add")
    starts[own] = of_digit + before - word(start)
    barrier(CLK_LOCAL_MEM_FENCE)
{moves}
"""

# The elements of the work-item are variables, so that they are in registers. Indices are unsigned
# and of 32 bits, in which GPUs are faster; counters of loops would not be.
_LOAD = """
    j = first + {k} * 32
    e{k} = keys[begin + j] if j < size else unsigned(0)
    d{k} = warp + (digit(e{k}, shift) if j < size else uint32({bins} - 1))
"""
# With two digits at most, the warp votes which elements have that of its first one. Atomics of so
# many work-items on two words would take their turns.
_RANK_OF_TWO = """
    differs = d{k} != first_digit
    mask = uint32(sub_group.ballot(differs))
    mask = mask if differs else ~mask
    r{k} = uint32(numbers[d{k}]) + bitwise_count(mask & (bit - 1))
    {barrier}
    if mask & (bit - 1) == 0:
        numbers[d{k}] = r{k} + bitwise_count(mask)
    {barrier}
"""
_RANKS_BY_VOTES = """
    # The last tile may have another digit, beyond the end of the array.
    first_digit = sub_group.shuffle(d0, 0)
    if digits <= 2 and size == {tile}:
{ranks_of_two}
    else:
{ranks}
"""
# The work-item with the first element of a digit counts all of them, and clears the mask for the
# next element. The barriers are those of its warp.
_RANK = """
    atomic.or_(masks, d{k}, bit, order="relaxed", scope="work_group")
    {barrier}
    mask = masks[d{k}]
    r{k} = uint32(numbers[d{k}]) + bitwise_count(mask & (bit - 1))
    {barrier}
    if mask & (bit - 1) == 0:
        numbers[d{k}] = r{k} + bitwise_count(mask)
        masks[d{k}] = uint32(0)
    {barrier}
"""
_PLACE = """
    j = uint32(numbers[d{k}]) + r{k}
    tile[j] = e{k}
"""
#: Places of the elements in the tile, for sorts that move other arrays by them.
_ORDER_PLACE = """
    order[j] = first + {k} * 32
"""
_MOVE = """
    j = {k} * {group} + own
    if j < size:
        element = tile[j]
        at = starts[digit(element, shift)] + j
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
    infinity = _INFINITIES.get(name, 0)
    unsigned = Dtype(f"uint{width}")
    key = function_of_text(
        "key",
        text.format(
            sign=1 << (width - 1),
            infinity=infinity,
            nan=2 * infinity + 1,
            key_of_float=f"{2 * infinity} - ordered" if descending else "ordered",
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


def _per_item(dtype: Dtype, has_order: bool) -> int:
    """Elements of each work-item of a group: their tile leaves local memory and registers for other
    groups.
    """
    if has_order:
        return 16 if dtype.bits <= 32 else 12
    return 19 if dtype.bits <= 32 else 15


@functools.cache
def _chunk_kernel(
    name: str, dtype: Dtype, descending: bool, arrays: tuple[str, ...] = ("keys",)
) -> KernelFunction:
    text = _TEXTS[name].format(
        bins=1 << BITS,
        parameters=", ".join(arrays),
        move=_move({each: each for each in arrays}),
    )
    return kernel_of_text(name, text, digit=_digit_of(dtype, descending))


@functools.cache
def _group_kernel(
    name: str,
    dtype: Dtype,
    descending: bool,
    word: Dtype,
    arrays: tuple[str, ...] = ("keys",),
    barrier: str = "",
    has_next: bool = False,
    has_votes: bool = False,
) -> KernelFunction:
    """A kernel of groups, with counts of the type ``word``, and perhaps a next pass. With
    ``has_votes``, a sub-group has the work-items of a warp.
    """
    has_order = "out_values" in arrays
    per_item = _per_item(dtype, has_order)
    passes = _passes_of(dtype)
    move = _move({each: each for each in arrays}, "begin + order[j]")
    sizes: dict[str, object] = {
        "bins": 1 << BITS,
        "bits": BITS,
        "group": GROUP,
        "per_item": per_item,
        "tile": GROUP * per_item,
        "warps": GROUP // WARP,
        "passes": passes,
        "counted": GROUP * COUNTED,
    }

    def repeated(text: str, times: int, **names: object) -> str:
        return "".join(text.format(k=k, **sizes, **names) for k in range(times))

    ranks = repeated(_RANK, per_item, barrier=barrier)
    if has_votes:
        of_two = repeated(_RANK_OF_TWO, per_item, barrier=barrier)
        ranks = _RANKS_BY_VOTES.format(
            **sizes, ranks_of_two=indent(of_two, "    "), ranks=indent(ranks, "    ")
        )
    adds = "".join(_ADD.format(number=number, **sizes) for number in range(passes))
    text = _TEXTS[name].format(
        **sizes,
        parameters=", ".join(arrays),
        next_parameter=", next_states" if has_next else "",
        clear="next_states[own_state] = word(0)" if has_next else "",
        order=f"order = local.array({GROUP * per_item}, int16)" if has_order else "",
        loads=repeated(_LOAD, per_item),
        votes='    digits = group.reduce(int32(total != 0), "add")' if has_votes else "",
        ranks=ranks,
        places=repeated(_PLACE + _ORDER_PLACE if has_order else _PLACE, per_item),
        moves=repeated(_MOVE, per_item, move=move),
        counts=repeated(_COUNT, COUNTED, adds=adds),
        of_tile=1 << (word.bits - 2),
        of_all=1 << (word.bits - 1),
        value=(1 << (word.bits - 2)) - 1,
    )
    return kernel_of_text(
        name,
        text,
        digit=_digit_of(dtype, descending),
        unsigned=Dtype(f"uint{dtype.bits}"),
        word=word,
        int16=Dtype("int16"),
        uint32=Dtype("uint32"),
        bitwise_count=BITWISE_COUNT,
        sub_group=sub_group,
        sub_group_barrier=sub_group_barrier,
    )


def _passes_of(dtype: Dtype) -> int:
    return -(-dtype.bits // BITS)


class _Buffers:
    """Destinations of an array's elements in each pass: alternately ``out`` and a temporary, so
    that ``out`` is that of the last pass. Without ``out``, the last pass has none. Elements of a
    shorter type use a part of ``out`` in earlier passes.
    """

    def __init__(self, out: Array | None, passes: int, queue: Queue) -> None:
        self._out = out
        self._passes = passes
        self._queue = queue
        self._temporaries: dict[int, Array] = {}

    def of_pass(self, number: int, like: Array, dtype: Dtype) -> Array | None:
        later = self._passes - 1 - number
        if self._out is not None and later % 2 == 0:
            is_whole = later == 0 or dtype == self._out.dtype
            return self._out if is_whole else self._out.view(dtype)[: len(like)]
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
    passes = _passes_of(values.dtype)
    keys = _bits_of(values)
    key_buffers = _Buffers(None if out is None else _bits_of(out), passes, queue)
    buffers = _Buffers(out_payload, passes, queue)
    # A kernel of all passes must not have the same memory under two types.
    is_alone = not uses_groups(queue.device) and chunks_of(values.size, queue.device) == 1
    has_short_indices = payload is None and not is_alone and values.size <= 1 << 32
    steps = []
    for number in range(passes):
        to = key_buffers.of_pass(number, keys, keys.dtype)
        payload_to = None
        if out_payload is not None:
            moved = Dtype("uint32") if has_short_indices else out_payload.dtype
            payload_to = buffers.of_pass(number, out_payload, moved)
        steps.append(_Step(number, keys, to, payload, payload_to))
        keys = keys if to is None else to
        payload = payload_to
    if uses_groups(queue.device):
        return _sort_in_groups(steps, values.dtype, descending, queue)
    if is_alone:
        return _sort_alone(steps, values.dtype, descending, queue)
    return _sort_in_chunks(steps, values.dtype, descending, queue)


@dataclasses.dataclass(frozen=True)
class _Step:
    """A pass: its number, and the arrays that it reads and writes."""

    number: int
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


def _sort_in_chunks(steps: list[_Step], dtype: Dtype, descending: bool, queue: Queue) -> Event:
    size = steps[0].keys.size
    chunks = chunks_of(size, queue.device)
    of_counts = "int32" if size < 1 << 31 else "int64"
    counts = empty(chunks << BITS, of_counts, queue=queue)
    last: Event
    for step in steps:
        shift = step.number * BITS
        count = _chunk_kernel("count_chunks", dtype, descending)
        count[chunks, 1](step.keys, counts, shift, queue=queue, wait=False)
        sums().run(counts, counts, queue, start=Scalar(0, of_counts), is_exclusive=True)
        arrays = step.arrays()
        move = _chunk_kernel("move_chunks", dtype, descending, tuple(arrays))
        last = move[chunks, 1](*arrays.values(), counts, shift, queue=queue, wait=False)
    return last


def _sort_in_groups(steps: list[_Step], dtype: Dtype, descending: bool, queue: Queue) -> Event:
    size, passes = steps[0].keys.size, len(steps)
    tiles = -(-size // (GROUP * _per_item(dtype, steps[0].out_values is not None)))
    word = Dtype("uint32" if size <= MOST_IN_32_BITS else "uint64")
    zeroed = zeros((passes + tiles << BITS) + passes, word, queue=queue)
    totals, tickets = zeroed[: passes << BITS], zeroed[len(zeroed) - passes :]
    states: Array | None = zeroed[passes << BITS : passes + tiles << BITS]
    next_states = empty(tiles << BITS, word, queue=queue) if passes > 1 else None
    groups = min(-(-size // (GROUP * COUNTED)), queue.device.max_compute_units * GROUPS_PER_UNIT)
    count = _group_kernel("count_groups", dtype, descending, word)
    count[groups * GROUP, GROUP](steps[0].keys, totals, queue=queue, wait=False)
    # Warps of other devices may be smaller.
    has_warps = queue.device.backend in ("cuda", "hip")
    has_votes = queue.device.backend == "cuda"
    barrier = "sub_group_barrier()" if has_warps else "barrier(CLK_LOCAL_MEM_FENCE)"
    last: Event
    for step in steps:
        arrays = step.arrays()
        has_next = step.number + 1 < passes
        move = _group_kernel(
            "move_groups", dtype, descending, word, tuple(arrays), barrier, has_next, has_votes
        )
        given = [*arrays.values(), totals, tickets, states, step.number]
        if has_next:
            given.append(next_states)
        last = move[tiles * GROUP, GROUP](*given, queue=queue, wait=False)
        states, next_states = next_states, states
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

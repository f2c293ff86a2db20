"""``inclusive_scan`` and ``exclusive_scan``: combine each element with all elements before it.

The work is reduce-then-scan. A first kernel combines the elements of each part of the array. A
second one scans each part from the total of the parts before it. So no part waits for another
within a kernel. On CPUs a part is a chunk for a work-item, and large arrays are scanned in blocks
that fit the cache. On other devices a part is a tile for a work-group, and a kernel between the two
scans the totals of the tiles.
"""

from __future__ import annotations

import functools
from typing import Any

from ..._core import Array, Device, Dtype, Event, Queue, Scalar, empty
from ..functions import DeviceFunction, KernelFunction
from ..generated import kernel_of_text
from ..operands import About
from ..reducer import reducer_of, uses_groups
from .common import (
    CHUNK,
    GROUP,
    PER_ITEM,
    TILE,
    Call,
    chunks_of,
    operator,
    tiles_of,
)

#: Bytes of a block, whose elements the second kernel finds in the cache of the first one:
#: benchmarks/algorithms.py, inclusive_scan of int64.
BLOCK_BYTES = 8 << 20

# Four independent chains of operations, whose latencies overlap. Each is a quarter of the chunk, so
# the order of the elements is kept. max() tells the compiler that no index is negative.
_CHUNK_TOTALS = """
def chunk_totals(array, totals):
    i = get_global_id(0)
    size = array.shape[0] // get_global_size(0)
    quarter = size // 4
    first = max(i * size, 0)
    a = convert(array[first])
    b = convert(array[first + quarter])
    c = convert(array[first + 2 * quarter])
    d = convert(array[first + 3 * quarter])
    for j in range(first + 1, first + quarter):
        a = convert(function(a, convert(array[j])))
        b = convert(function(b, convert(array[j + quarter])))
        c = convert(function(c, convert(array[j + 2 * quarter])))
        d = convert(function(d, convert(array[j + 3 * quarter])))
    for j in range(first + 4 * quarter, first + size):
        d = convert(function(d, convert(array[j])))
    a = convert(function(a, b))
    c = convert(function(c, d))
    totals[i] = convert(function(a, c))
"""

# The total of the last chunk is not used.
_CHUNK_SCAN = (
    "def chunk_scan(array, totals, out{start_parameter}{carry_parameters}):"
    + CHUNK
    + """
{before}
{scan}
{carry}
"""
)

# Large arrays are scanned in blocks. carries[k] has all elements up to the end of the block k.
_CHUNK_CARRY = """
    if i == chunks - 1:
        carries[block] = running
"""

_CHUNK_BEFORE_CARRY = """
    running = carries[block - 1]
    for k in range(i):
        running = convert(function(running, totals[k]))
"""

_CHUNK_BEFORE_START = """
    running = start
    for k in range(i):
        running = convert(function(running, totals[k]))
"""

_CHUNK_BEFORE = """
    running = convert(array[first])
    if i > 0:
        before = totals[0]
        for k in range(1, i):
            before = convert(function(before, totals[k]))
        running = convert(function(before, running))
"""

_INCLUSIVE_START = """
    for j in range(first, last):
        running = convert(function(running, convert({source}[j])))
        {target}[j] = running
"""

# The first element is part of `running` already.
_INCLUSIVE = """
    if first < last:
        {target}[first] = running
    for j in range(first + 1, last):
        running = convert(function(running, convert({source}[j])))
        {target}[j] = running
"""

_EXCLUSIVE_START = """
    for j in range(first, last):
        value = convert({source}[j])
        {target}[j] = running
        running = convert(function(running, value))
"""

# Neighbors load neighboring elements of the tile to local memory. There each work-item has
# consecutive elements, and a gap after them: the first elements of all lie in different banks.
#
# Work-items after the end of the array have zeros, which only reach later work-items and the total
# of the last group. That one is not used.
_ITEM_TOTAL = """
    own = get_local_id(0)
    group_id = get_group_id(0)
    begin = group_id * {tile}
    tile = local.array({group} * ({per_item} + 1), convert)
    parts = local.array({group}, convert)
    for k in range({per_item}):
        j = k * {group} + own
        if begin + j < array.shape[0]:
            tile[j + j // {per_item}] = convert(array[begin + j])
    barrier(CLK_LOCAL_MEM_FENCE)
    first = own * ({per_item} + 1)
    last = first + min(array.shape[0] - begin - own * {per_item}, {per_item})
    total = convert(0)
    if first < last:
        total = tile[first]
    for j in range(first + 1, last):
        total = convert(function(total, tile[j]))
    parts[own] = total
    barrier(CLK_LOCAL_MEM_FENCE)
"""

# A tree over neighbors, which keeps the order.
_GROUP_TOTALS = (
    "def group_totals(array, totals):"
    + _ITEM_TOTAL
    + """
    for level in range({levels}):
        step = 1 << level
        if own % (2 * step) == 0:
            parts[own] = convert(function(parts[own], parts[own + step]))
        barrier(CLK_LOCAL_MEM_FENCE)
    if own == 0:
        totals[group_id] = parts[0]
"""
)

# Afterwards parts[own] has the elements of the group up to the work-item's last one.
_GROUP_SCAN = (
    "def group_scan(array, totals, out{start_parameter}):"
    + _ITEM_TOTAL
    + """
    for level in range({levels}):
        step = 1 << level
        earlier = parts[max(own - step, 0)]
        barrier(CLK_LOCAL_MEM_FENCE)
        if own >= step:
            parts[own] = convert(function(earlier, parts[own]))
        barrier(CLK_LOCAL_MEM_FENCE)
{before}
{scan}
    barrier(CLK_LOCAL_MEM_FENCE)
    for k in range({per_item}):
        j = k * {group} + own
        if begin + j < array.shape[0]:
            out[begin + j] = tile[j + j // {per_item}]
"""
)

_GROUP_BEFORE_START = """
    running = start
    if group_id > 0:
        running = convert(function(running, totals[group_id - 1]))
    if own > 0:
        running = convert(function(running, parts[own - 1]))
"""

_GROUP_BEFORE = """
    running = convert(0)
    if first < last:
        running = tile[first]
    if own > 0:
        running = convert(function(parts[own - 1], running))
    if group_id > 0:
        running = convert(function(totals[group_id - 1], running))
"""


def _add(a: Any, b: Any) -> Any:
    return a + b


class Scan:
    """The kernels of scans by one function, and the types of their results."""

    def __init__(self, function: DeviceFunction) -> None:
        self.function = function
        self._kernels: dict[tuple[object, ...], KernelFunction] = {}

    def type_of(self, element: Dtype, device: Device) -> Dtype:
        return reducer_of(self.function.function).type_of((element,), device)

    def run(
        self,
        values: Array,
        out: Array,
        queue: Queue,
        *,
        start: Scalar | None = None,
        is_exclusive: bool = False,
    ) -> Event | None:
        """Submits the kernels. ``out`` is ``values`` itself, or shares no memory with it.

        Requires: a ``start``, of the type of ``out``, if the scan is exclusive.
        """
        assert start is not None or not is_exclusive
        if values.size == 0:
            return None
        by = self._by_groups if uses_groups(queue.device) else self._by_chunks
        return by(values, out, queue, () if start is None else (start,), is_exclusive)

    def _by_chunks(
        self, values: Array, out: Array, queue: Queue, start: tuple[Scalar, ...], exclusive: bool
    ) -> Event:
        size = values.size
        block = BLOCK_BYTES // max(values.itemsize, out.itemsize)
        if size <= block:
            return self._scan_block(values, out, queue, start, exclusive)
        carries = empty(-(-size // block), out.dtype, queue=queue)
        last: Event
        for number, first in enumerate(range(0, size, block)):
            end = min(first + block, size)
            last = self._scan_block(
                values[first:end], out[first:end], queue, start, exclusive, carries, number
            )
        return last

    def _scan_block(
        self,
        values: Array,
        out: Array,
        queue: Queue,
        start: tuple[Scalar, ...],
        exclusive: bool,
        carries: Array | None = None,
        number: int = 0,
    ) -> Event:
        chunks = chunks_of(values.size, queue.device)
        totals = empty(chunks, out.dtype, queue=queue)
        if chunks > 1:
            self._kernel("chunk_totals", out.dtype)[chunks, 1](values, totals, queue=queue)
        if number > 0:
            start = ()
        carried = () if carries is None else (carries, number)
        part = "only" if carries is None else "later" if number else "first"
        scan = self._kernel("chunk_scan", out.dtype, bool(start), exclusive, part=part)
        return scan[chunks, 1](values, totals, out, *start, *carried, queue=queue, wait=False)

    def _by_groups(
        self, values: Array, out: Array, queue: Queue, start: tuple[Scalar, ...], exclusive: bool
    ) -> Event:
        groups = tiles_of(values.size)
        totals = empty(groups, out.dtype, queue=queue)
        items = groups * GROUP
        if groups > 1:
            self._kernel("group_totals", out.dtype)[items, GROUP](values, totals, queue=queue)
            self._by_groups(totals, totals, queue, (), exclusive=False)
        scan = self._kernel("group_scan", out.dtype, bool(start), exclusive)
        return scan[items, GROUP](values, totals, out, *start, queue=queue, wait=False)

    def _kernel(
        self,
        name: str,
        dtype: Dtype,
        has_start: bool = False,
        is_exclusive: bool = False,
        part: str = "only",
    ) -> KernelFunction:
        key = (name, dtype, has_start, is_exclusive, part)
        found = self._kernels.get(key)
        if found is None:
            before = "later" if part == "later" else has_start
            scan = _EXCLUSIVE_START if is_exclusive else _INCLUSIVE_START if before else _INCLUSIVE
            in_tile = name == "group_scan"
            text = _TEXTS[name].format(
                start_parameter=", start" if has_start else "",
                carry_parameters="" if part == "only" else ", carries, block",
                before=_BEFORE.get((name, before), ""),
                scan=scan.format(
                    source="tile" if in_tile else "array", target="tile" if in_tile else "out"
                ),
                carry="" if part == "only" else _CHUNK_CARRY,
                per_item=PER_ITEM,
                tile=TILE,
                group=GROUP,
                levels=GROUP.bit_length() - 1,
            )
            found = kernel_of_text(name, text, function=self.function, convert=dtype)
            self._kernels[key] = found
        return found


_TEXTS = {
    "chunk_totals": _CHUNK_TOTALS,
    "chunk_scan": _CHUNK_SCAN,
    "group_totals": _GROUP_TOTALS,
    "group_scan": _GROUP_SCAN,
}

_BEFORE: dict[tuple[str, object], str] = {
    ("chunk_scan", "later"): _CHUNK_BEFORE_CARRY,
    ("chunk_scan", False): _CHUNK_BEFORE,
    ("chunk_scan", True): _CHUNK_BEFORE_START,
    ("group_scan", False): _GROUP_BEFORE,
    ("group_scan", True): _GROUP_BEFORE_START,
}


@functools.lru_cache(maxsize=128)
def _scan_of(function: Any) -> Scan:
    return Scan(DeviceFunction(function))


#: Scans by addition, of other algorithms.
sums = functools.partial(_scan_of, _add)


def inclusive_scan(
    array: Any,
    function: Any = None,
    *,
    identity: Any = None,
    axis: int | None = None,
    out: Any = None,
    queue: Any = None,
) -> Any:
    """Combine each element of an array with all elements before it: running totals.

    Element ``i`` of the result is ``array[0] + … + array[i]``, or the same with another function.
    The order of the elements is kept, so the function need not be commutative. It has to be
    associative, rounding aside: floats are added in another order than by ``np.cumsum``. That order
    depends on the size and the device only, so each run has the same result.

    The result has the dtype that the function returns for two elements. So sums of integers have
    the dtype of the array and wrap, where ``np.cumsum`` widens small ones, and those of bools are
    int64. With ``out``, elements are first converted to the dtype of ``out``.

    Parameters
    ----------
    array : array_like
        The elements, in one dimension.
    function : callable, optional
        An associative Python function of two numbers, or a DeviceFunction. The default adds them.
    identity : scalar, optional
        A number to start with: the first result is ``function(identity, array[0])``. The default
        starts with the first element.
    axis : int, optional
        The axis to scan, which is 0 or -1.
    out : array_like, optional
        The array for the result. It may be ``array`` itself.
    queue : Queue, optional
        The queue to run on. The default is that of launches: the queue of ``array``.

    Returns
    -------
    Array or numpy.ndarray
        ``out``, or a new array: a NumPy array if ``array`` is one, else an Array on its device. The
        call does not wait for the kernels, unless ``array`` or ``out`` is host memory of another
        library.

    Raises
    ------
    ValueError
        If ``array`` does not have one dimension, or if ``axis`` or ``out`` does not fit it.
    TypeError
        If ``function`` is not a function, or ``identity`` not a number.
    KernelError
        If the function is not supported in kernels, or the device does not have the dtype.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> algorithms.inclusive_scan(np.array([1, 2, 3, 4])).tolist()
    [1, 3, 6, 10]
    >>> largest = algorithms.inclusive_scan(np.array([1, 3, 2, 5]), lambda a, b: max(a, b))
    >>> largest.tolist()
    [1, 3, 3, 5]
    """
    return _scanned(
        "inclusive_scan", array, function, identity, axis, out, queue, is_exclusive=False
    )


def exclusive_scan(
    array: Any,
    function: Any = None,
    *,
    initial: Any = None,
    identity: Any = None,
    axis: int | None = None,
    out: Any = None,
    queue: Any = None,
) -> Any:
    """Combine all elements before each element of an array, without the element itself.

    Element ``i`` of the result is ``initial + array[0] + … + array[i - 1]``, or the same with
    another function. Dtype, order and queue are as described at ``inclusive_scan``.

    Parameters
    ----------
    array : array_like
        The elements, in one dimension.
    function : callable, optional
        An associative Python function of two numbers, or a DeviceFunction. The default adds them.
    initial : scalar, optional
        The first element of the result. The default is ``identity``, and 0 for sums.
    identity : scalar, optional
        The number that does not change others, as 1 for products. It is used without ``initial``.
    axis : int, optional
        The axis to scan, which is 0 or -1.
    out : array_like, optional
        The array for the result. It may be ``array`` itself.
    queue : Queue, optional
        The queue to run on. The default is that of launches: the queue of ``array``.

    Returns
    -------
    Array or numpy.ndarray
        ``out``, or a new array: a NumPy array if ``array`` is one, else an Array on its device. The
        call does not wait for the kernels, unless ``array`` or ``out`` is host memory of another
        library.

    Raises
    ------
    ValueError
        If ``array`` does not have one dimension, or ``axis`` or ``out`` does not fit it. Also if a
        function has no number to start with.
    TypeError
        If ``function`` is not a function, or ``initial`` not a number.
    KernelError
        If the function is not supported in kernels, or the device does not have the dtype.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> algorithms.exclusive_scan(np.array([1, 2, 3, 4])).tolist()
    [0, 1, 3, 6]
    >>> algorithms.exclusive_scan(np.array([1, 2, 3]), lambda a, b: a * b, initial=10).tolist()
    [10, 10, 20]
    """
    if initial is None:
        initial = identity
    if initial is None:
        if function is not None:
            raise ValueError(
                "exclusive_scan() by a function has no first element: pass initial=, or identity= "
                "as in identity=1 for products"
            )
        initial = 0
    return _scanned("exclusive_scan", array, function, initial, axis, out, queue, is_exclusive=True)


def _scanned(
    name: str,
    array: Any,
    function: Any,
    start: Any,
    axis: int | None,
    out: Any,
    queue: Any,
    *,
    is_exclusive: bool,
) -> Any:
    call = Call(name, {"array": array}, queue, out, takes_vectors=True)
    (values,) = call.arrays
    if axis not in (None, 0, -1):
        raise ValueError(
            f"{name}() got axis={axis!r} for an array of one dimension: pass 0, or leave it out"
        )
    scan = _scan_of(_add if function is None else operator(name, function, "two numbers"))
    result = call.result(values.shape, scan.type_of(values.dtype, call.queue.device))
    out = result.written
    number = None if start is None else _number(name, start, out.dtype, is_exclusive)
    return result.returned(
        scan.run(
            result.apart_from(values), out, call.queue, start=number, is_exclusive=is_exclusive
        )
    )


def _number(name: str, value: Any, dtype: Dtype, is_exclusive: bool) -> Scalar:
    with About(name, "initial" if is_exclusive else "identity"):
        if isinstance(value, Scalar):
            value = value.value
        elif hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # NumPy's scalars
            value = value.item()
        return Scalar(value, dtype)

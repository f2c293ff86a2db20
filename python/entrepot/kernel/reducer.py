"""``Reducer``: kernels that combine elements by one function, along an axis or in segments.

Arrays of an axis are (outer, n, inner), or (outer, n) if inner is 1. A launch combines each n
elements to a number of chunks, and the next one combines these.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

from .._core import Array, Device, Dtype, Event, Queue, Scalar, empty
from .functions import DeviceFunction, KernelFunction
from .generated import function_of_text, kernel_of_text
from .language import private


class Part(NamedTuple):
    """Elements that a work-item or a group combines, as text of a kernel.

    Parts are slices: their indices are not negative, so the compiler of the host vectorizes loops
    over them.
    """

    #: Statements that find the part of the first array, ``a0``.
    place: str
    #: The part's index in an array.
    elements: str
    #: The index of its result in ``out``.
    result: str
    #: The index along the axis of its element ``found``.
    axis_index: str = ""
    #: The first element of the work-item, and the distance to its next one.
    first: str = "0"
    step: str = "1"


_CHUNK = "c * n // chunks:(c + 1) * n // chunks"
_OF_CHUNK = "c * n // chunks + found"

#: Chunks of rows on CPUs. Without an inner index, the compiler knows that elements are adjacent.
ROWS = Part(
    """
    o, c = get_global_id(0), get_global_id(1)
    n, chunks = a0.shape[1], get_global_size(1)
""",
    f"o, {_CHUNK}",
    "o, c",
    _OF_CHUNK,
)
#: Chunks of rows on the host, with several totals for each.
_ROWS_BY_LANES = ROWS._replace(step="LANES")
#: Chunks of columns on CPUs whose compiler vectorizes over work-items.
COLUMNS = Part(
    """
    o, c, i = get_global_id(0), get_global_id(1), get_global_id(2)
    n, chunks = a0.shape[1], get_global_size(1)
""",
    f"o, {_CHUNK}, i",
    "o, c, i",
    _OF_CHUNK,
)
#: Every chunks-th element of a column, so that neighbors read neighboring elements. The range has
#: one dimension, since the last extent may be small.
INTERLEAVED = Part(
    """
    at = get_global_id(0)
    n, chunks, inner = a0.shape[1], out.shape[1], out.shape[2]
    o, c, i = at // inner // chunks, at // inner % chunks, at % inner
""",
    "o, :, i",
    "o, c, i",
    "found",
    "c",
    "chunks",
)
#: Chunks of rows for groups. They begin at multiples of 32 elements, so that the elements of
#: neighbors fill lines of the cache.
ROWS_OF_GROUPS = Part(
    """
    n, chunks = a0.shape[1], out.shape[1]
    o, c = get_group_id(0) // chunks, get_group_id(0) % chunks
    start = c * (n // 32) // chunks * 32
    stop = (c + 1) * (n // 32) // chunks * 32 if c < chunks - 1 else n
""",
    "o, start:stop",
    "o, c",
    first="own",
)

_BY_ITEM = """
def reduced(out, {arrays}):
{place}
{parts}
    total = convert({first_element})
    for j in range({first} + {step}, len(p0), {step}):
        total = function(total, {element})
    out[{result}] = total
"""

# Each lane has a total of its own, since the order of the elements is free. So the compiler of the
# host vectorizes over the lanes.
_BY_LANES = """
def reduced(out, {arrays}):
{place}
    out[{result}] = combined({slices})
"""
_COMBINED = """
def combined({parts}):
    rounds = len(p0) // LANES
    total = convert({first_element})
    first = 1
    if rounds > 1:
        totals = private.array(LANES, convert)
        for k in range(LANES):
            totals[k] = convert({lane_element})
        for r in range(1, rounds):
            first = r * LANES
            for k in range(LANES):
                totals[k] = function(totals[k], {round_element})
        total = totals[0]
        for k in range(1, LANES):
            total = function(total, totals[k])
        first = rounds * LANES
    for j in range(first, len(p0)):
        total = function(total, {element})
    return total
"""

# Neighbors read neighboring elements. The group then combines their totals in local memory.
_BY_GROUP = """
def reduced(out, {arrays}):
    totals = local.array(GROUP, convert)
    own = get_local_id(0)
{place}
{parts}
    count = len(p0)
    if own < count:
        total = convert({first_element})
        for j in range(own + GROUP, count, GROUP):
            total = function(total, {element})
        totals[own] = total
    width = GROUP // 2
    while width > 0:
        barrier(CLK_LOCAL_MEM_FENCE)
        if own < width and own + width < count:
            totals[own] = function(totals[own], totals[own + width])
        width = width // 2
    if own == 0:
        out[{result}] = {total}
"""

# A segment of invalid offsets is empty.
_SEGMENTS = """
def reduced(out, a0, offsets, identity):
    s = get_global_id(0)
    first, last = int64(offsets[s]), int64(offsets[s + 1])
    total = identity
    if 0 <= first and first < last and last <= a0.shape[0]:
        segment = a0[first:last]
        total = convert(segment[0])
        for j in range(1, len(segment)):
            total = function(total, segment[j])
    out[s] = total
"""
_SEGMENTS_BY_LANES = """
def reduced(out, a0, offsets, identity):
    s = get_global_id(0)
    first, last = int64(offsets[s]), int64(offsets[s + 1])
    total = identity
    if 0 <= first and first < last and last <= a0.shape[0]:
        total = combined(a0[first:last])
    out[s] = total
"""
_SEGMENTS_OF_GROUPS = _BY_GROUP.format(
    arrays="a0, offsets, identity",
    place="""
    s = get_group_id(0)
    first, last = int64(offsets[s]), int64(offsets[s + 1])
    if first < 0 or last < first or last > a0.shape[0]:
        last = first
""",
    parts="    p0 = a0[first:last]",
    first_element="p0[own]",
    element="p0[j]",
    result="s",
    total="totals[0] if count > 0 else identity",
)

# Chunks of adjacent columns, whose loops the compiler of the host vectorizes.
_BY_BLOCK = """
def reduced(out, a0):
    o, c, block = get_global_id(0), get_global_id(1), get_global_id(2)
    n, inner, chunks = a0.shape[1], a0.shape[2], get_global_size(1)
    left = max(block * BLOCK, 0)
    width = min(inner - left, BLOCK)
    totals = private.array(BLOCK, convert)
    part = a0[o, c * n // chunks:(c + 1) * n // chunks, left:left + width]
    for i in range(width):
        totals[i] = convert(part[0, i])
    for j in range(1, len(part)):
        for i in range(width):
            totals[i] = function(totals[i], part[j, i])
    for i in range(width):
        out[o, c, left + i] = totals[i]
"""

_PROBE = """
def probe({parameters}):
    total = function({element}, {element})
"""

#: Rows of so many elements are combined as columns, if they are many.
_SHORT_ROW = 16
#: Columns of a block, whose totals fit the level-1 cache.
BLOCK = 256
#: Totals of a work-item on the host, in vector registers.
_LANES = 16
#: Fewest elements that are worth a work-item, and a group.
_ITEM_GRAIN, _GROUP_GRAIN = 64, 32
#: Elements that CPUs combine in less time than the further launch for chunks takes.
_SMALLEST = 4096
#: Work-items of a group for few and for many elements.
_SMALL_GROUP, _LARGE_GROUP = 64, 512
#: Elements of a group in long arrays.
_GROUP_SHARE = 1 << 16

#: A launch that combines each n elements to chunks. It has a part, or the text of a kernel without
#: one, the number of chunks, the work-items, and those of a group.
Launch = tuple[Part | str, int, int | tuple[int, ...], int | tuple[int, ...] | None]

#: Launches that a reducer remembers, by the device and the shape.
_STEPS = 256


class Step(NamedTuple):
    """A launch that combines each n elements of an axis to a number of chunks."""

    launch: Callable[..., Event]
    chunks: int
    #: True if the kernel takes arrays with an inner axis.
    takes_inner: bool


def uses_groups(device: Device) -> bool:
    """True if work-groups share the work; False if each work-item has one of few chunks."""
    return device.device_type != "cpu"


def extents(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """outer, n and inner."""
    outer, n, *inner = shape
    return outer, n, inner[0] if inner else 1


def in_chunks(out: Array, chunks: int, queue: Queue) -> Array:
    """The destination of a launch, whose results become ``out``."""
    if chunks == 1:
        return out
    outer, _, *inner = out.shape
    return empty((outer, chunks, *inner), out.dtype, queue=queue)


def _launch_on_cpu(device: Device, outer: int, n: int, inner: int) -> Launch:
    is_host = device.backend == "host"
    columns = -(-inner // BLOCK) if is_host else inner
    chunks = 1
    if outer * n * inner >= _SMALLEST:
        # Eight parts for each thread of the host, each of four interleaved work-items.
        most = device.max_compute_units * (8 * 4 if is_host else 4)
        chunks = max(1, min(most // (outer * columns), n // _ITEM_GRAIN))
    if inner == 1:
        # In larger groups, the compiler of OpenCL would vectorize over rows, which are distant.
        return ROWS, chunks, (outer, chunks), None if is_host else (1, 1)
    if is_host:
        return _BY_BLOCK, chunks, (outer, chunks, columns), (1, 1, 1)
    return COLUMNS, chunks, (outer, chunks, columns), None


def _launch_interleaved(device: Device, outer: int, n: int, inner: int) -> Launch:
    """Work-items that suffice for a GPU, if they have a few elements each."""
    wanted = device.max_compute_units * 1024 // (outer * inner)
    if inner == 1:
        wanted = max(wanted, 32)  # neighbors that read neighboring elements
    chunks = max(1, min(wanted, n // _ITEM_GRAIN if n > 32 * _ITEM_GRAIN else n // 32))
    return INTERLEAVED, chunks, outer * chunks * inner, None


def _launch_of_groups(device: Device, outer: int, n: int) -> Launch:
    """Groups that fill the device. Those of a long array are more: fast processors take more of
    them.
    """
    most = max(device.max_compute_units * 4, outer * n // _GROUP_SHARE) // outer
    chunks = 1 if n <= 16 * _LARGE_GROUP else max(1, min(most, n // _LARGE_GROUP))
    group = _LARGE_GROUP if n // chunks >= 4 * _LARGE_GROUP else _SMALL_GROUP
    return ROWS_OF_GROUPS, chunks, outer * chunks * group, group


def launch_of(device: Device, outer: int, n: int, inner: int) -> Launch:
    if not uses_groups(device):
        return _launch_on_cpu(device, outer, n, inner)
    if inner == 1 and n >= _GROUP_GRAIN:
        return _launch_of_groups(device, outer, n)
    return _launch_interleaved(device, outer, n, inner)


def with_inner(array: Array) -> Array:
    """(outer, n) as (outer, n, 1)."""
    return array if array.ndim == 3 else array.reshape(*array.shape, 1)


def as_columns(rows: Array) -> Array:
    """(outer, n) as (1, n, outer). On CPUs, work on many short rows is then vectorized."""
    return rows.transpose(1, 0).reshape(1, *rows.shape[::-1])


class Reducer:
    """Kernels of a function of two numbers, which has to be associative and commutative.

    Thread safety: thread-safe.
    """

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self._types: dict[object, Dtype] = {}
        self._kernels: dict[object, KernelFunction] = {}
        self._step = functools.lru_cache(maxsize=_STEPS)(self._step_of)

    def __reduce__(self) -> tuple[Any, ...]:
        return reducer_of, (self.function,)

    def type_of(
        self, elements: tuple[Dtype, ...], device: Device, transform: DeviceFunction | None = None
    ) -> Dtype:
        """The type of the function of two elements: adding two bools gives an int64.

        With ``transform``, the elements are its results for an argument of each type.
        """
        key = elements, device, transform and transform.function
        found = self._types.get(key)
        if found is None:
            # An error of the compiler shows the name of the argument.
            names = [f"array{at}" for at in range(len(elements))] if transform else ["array"]
            together = ", ".join(names)
            element = f"transform({together})" if transform else together
            text = _PROBE.format(parameters=together, element=element)
            probe = self._of_text("probe", text, transform)
            types = tuple(("scalar", each, 0, False) for each in elements)
            found = self._types[key] = probe._type_of("total", types, device)
        return found

    def along_axis(
        self, arrays: list[Array], out: Array, queue: Queue, transform: DeviceFunction | None = None
    ) -> Event:
        """Combines the n elements of an axis to one, which is not empty.

        With ``transform``, its results for an element of each array are combined; inner is 1.
        """
        mapping = transform and transform.function
        step = self._step(queue.device, arrays[0].shape, len(arrays), out.dtype, mapping)
        if step is None:
            return self.along_axis([as_columns(arrays[0])], as_columns(out), queue)
        partial = in_chunks(out, step.chunks, queue)
        given = [partial, *arrays]
        if step.takes_inner:
            given = [with_inner(each) for each in given]
        last = step.launch(*given, queue=queue, wait=False)
        return last if step.chunks == 1 else self.along_axis([partial], out, queue)

    def _step_of(
        self,
        device: Device,
        shape: tuple[int, ...],
        arrays: int,
        total: Dtype,
        mapping: FunctionType | None,
    ) -> Step | None:
        """The launch for arrays of a shape; None if their rows are combined as columns."""
        outer, n, inner = extents(shape)
        is_short = n <= _SHORT_ROW and inner == 1 and outer >= BLOCK
        if is_short and mapping is None and not uses_groups(device):
            return None
        part, chunks, items, group = launch_of(device, outer, n, inner)
        takes_inner = part is INTERLEAVED
        if part is ROWS and device.backend == "host":
            part = _ROWS_BY_LANES
        transform = mapping and DeviceFunction(mapping)
        code = self._kernel(part, arrays, total, group, transform)
        return Step(code[items, group], chunks, takes_inner)

    def in_segments(
        self, values: Array, offsets: Array, identity: Scalar, out: Array, queue: Queue
    ) -> Event | None:
        """Combines each segment of a vector. ``identity`` is the result of an empty segment."""
        segments = out.size
        if segments == 0:
            return None
        text, items, group = _SEGMENTS, segments, None
        if uses_groups(queue.device):
            if values.size >= segments * (_SMALL_GROUP // 4):
                text, items, group = _SEGMENTS_OF_GROUPS, segments * _SMALL_GROUP, _SMALL_GROUP
        elif queue.device.backend != "host":
            group = 1  # as for rows
        elif values.size >= segments * _ITEM_GRAIN:
            text = _SEGMENTS_BY_LANES
        code = self._kernel(text, 1, out.dtype, group)
        return code[items, group](out, values, offsets, identity, queue=queue, wait=False)

    def _kernel(
        self,
        part: Part | str,
        arrays: int,
        total: Dtype,
        group: object,
        transform: DeviceFunction | None = None,
    ) -> KernelFunction:
        """The kernel of a part or a text."""
        key = part, arrays, total, group, transform and transform.function
        found = self._kernels.get(key)
        if found is None:
            text = part if isinstance(part, str) else _text(part, arrays, transform)
            names = {"convert": total, "GROUP": group, "BLOCK": BLOCK}
            names["combined"] = self._combined(arrays, total, transform)
            found = self._kernels[key] = self._of_text("reduced", text, transform, **names)
        return found

    def _combined(
        self, arrays: int, total: Dtype, transform: DeviceFunction | None
    ) -> DeviceFunction:
        """The device function that combines a part in lanes."""
        parts = [f"p{at}" for at in range(arrays)]
        elements = {
            "first_element": "0",
            "lane_element": "k",
            "round_element": "first + k",
            "element": "j",
        }
        text = _COMBINED.format(
            parts=", ".join(parts),
            **{name: _element(parts, at, transform) for name, at in elements.items()},
        )
        names = {"convert": total, "LANES": _LANES, "private": private, "transform": transform}
        return function_of_text("combined", text, function=DeviceFunction(self.function), **names)

    def _of_text(
        self, name: str, text: str, transform: DeviceFunction | None, **names: Any
    ) -> KernelFunction:
        function = DeviceFunction(self.function)
        return kernel_of_text(name, text, function=function, transform=transform, **names)


def _text(part: Part, arrays: int, transform: DeviceFunction | None) -> str:
    names, parts = ([f"{each}{at}" for at in range(arrays)] for each in "ap")
    slices = [f"{each}[{part.elements}]" for each in names]
    template = {ROWS_OF_GROUPS: _BY_GROUP, _ROWS_BY_LANES: _BY_LANES}.get(part, _BY_ITEM)
    return template.format(
        **part._asdict(),
        arrays=", ".join(names),
        slices=", ".join(slices),
        parts="\n".join(f"    {p} = {each}" for p, each in zip(parts, slices, strict=True)),
        total="totals[0]",
        first_element=_element(parts, part.first, transform),
        element=_element(parts, "j", transform),
    )


def _element(parts: list[str], index: str, transform: DeviceFunction | None) -> str:
    elements = ", ".join(f"{each}[{index}]" for each in parts)
    return f"transform({elements})" if transform else elements


@functools.lru_cache(maxsize=256)
def reducer_of(function: FunctionType) -> Reducer:
    return Reducer(function)

"""``select``: the elements of an array that a mask or a predicate chooses, in their order.

A first kernel counts the elements that each part of the array contributes. The host reads the total
and allocates the result. A last kernel writes the elements of each part after those of the parts
before it. The parts are those of scans: chunks on CPUs, else tiles of work-groups.
"""

from __future__ import annotations

import functools
from typing import Any

from ..._core import Array, empty
from ..functions import DeviceFunction, KernelFunction
from ..generated import kernel_of_text
from ..reducer import uses_groups
from .common import (
    CHUNK,
    GROUP,
    ITEM_OF_TILE,
    PER_ITEM,
    Call,
    chunks_of,
    operator,
    tiles_of,
)
from .scans import sums

_COUNT_CHUNKS = (
    "def count_chunks({parameters}, counts):"
    + CHUNK
    + """
    count = 0
    for j in range(first, last):
        count += 1 if {chosen} else 0
    counts[i] = count
"""
)

# Each element is written, and a rejected one is overwritten by the next: a branch on data that
# cannot be predicted would take longer. The place of the next element is only valid while some
# chosen element remains.
_MOVE_CHUNKS = (
    "def move_chunks({parameters}, counts, out):"
    + CHUNK
    + """
    before = 0
    for k in range(i):
        before += counts[k]
    at = max(before, 0)
    end = at + counts[i]
    for j in range(first, last):
        if at < end:
            out[at] = array[j]
        at += 1 if {chosen} else 0
"""
)

_COUNT_OF_ITEM = (
    ITEM_OF_TILE
    + """
    count = 0
    for j in range(first, last):
        count += 1 if {chosen} else 0
"""
)

_COUNT_GROUPS = (
    "def count_groups({parameters}, counts):"
    + _COUNT_OF_ITEM
    + """
    total = group.reduce(count, "add")
    if own == 0:
        counts[get_group_id(0)] = total
"""
)

# `ends` has the counts of all groups up to each one.
_MOVE_GROUPS = (
    "def move_groups({parameters}, ends, out):"
    + _COUNT_OF_ITEM
    + """
    group_id = get_group_id(0)
    at = group.exclusive_scan(count, "add")
    if group_id > 0:
        at += ends[group_id - 1]
    for j in range(first, last):
        if {chosen}:
            out[at] = array[j]
            at += 1
"""
)

_TEXTS = {
    "count_chunks": _COUNT_CHUNKS,
    "move_chunks": _MOVE_CHUNKS,
    "count_groups": _COUNT_GROUPS,
    "move_groups": _MOVE_GROUPS,
}


@functools.lru_cache(maxsize=256)
def _kernel(name: str, predicate: Any) -> KernelFunction:
    """The kernel for a predicate, or for masks if there is no predicate."""
    text = _TEXTS[name].format(
        parameters="array, mask" if predicate is None else "array",
        chosen="mask[j]" if predicate is None else "predicate(array[j])",
        per_item=PER_ITEM,
    )
    chosen = None if predicate is None else DeviceFunction(predicate)
    return kernel_of_text(name, text, predicate=chosen)


def select(array: Any, condition: Any, *, queue: Any = None) -> Any:
    """Return the elements that a condition chooses, in their order.

    It is ``array[mask]`` of NumPy. The call waits for the device, because the number of chosen
    elements is the size of the result. The elements themselves may still be pending when it
    returns.

    Parameters
    ----------
    array : array_like
        The elements, in one dimension.
    condition : array_like or callable
        A mask of bools with an element for each of ``array``, or a Python function of one number
        that is true for those to choose. It may be a DeviceFunction.
    queue : Queue, optional
        The queue to run on. The default is that of launches: the queue of ``array``.

    Returns
    -------
    Array or numpy.ndarray
        A new array of exactly the chosen elements: a NumPy array if all arrays are NumPy's, else an
        Array on their device.

    Raises
    ------
    ValueError
        If ``array`` or the mask does not have one dimension, or if their sizes differ.
    TypeError
        If the condition is neither a function nor an array of bools.
    KernelError
        If the function is not supported in kernels, or the device does not have the dtype.

    Examples
    --------
    >>> from entrepot.kernel import algorithms
    >>> numbers = np.array([3, -1, 4, -1, 5])
    >>> algorithms.select(numbers, numbers > 0).tolist()
    [3, 4, 5]
    >>> algorithms.select(numbers, lambda x: x % 2 == 0).tolist()
    [4]
    """
    predicate = None
    arguments = {"array": array}
    if callable(condition):
        predicate = operator("select", condition, "one number")
    else:
        arguments["condition"] = condition
    call = Call("select", arguments, queue, takes_vectors=True)
    if predicate is None:
        _check_mask(*call.arrays)
    return (_by_groups if uses_groups(call.queue.device) else _by_chunks)(predicate, call)


def _check_mask(values: Array, mask: Array) -> None:
    if mask.dtype.name != "bool":
        raise TypeError(
            f"select() takes a function or a mask of bools, and the mask is of {mask.dtype}: "
            "compare it, as in mask != 0"
        )
    if mask.shape != values.shape:
        raise ValueError(
            f"select() got {values.size} elements and a mask of {mask.size}: pass a mask of the "
            "same size"
        )


def _by_chunks(predicate: Any, call: Call) -> Any:
    queue = call.queue
    chunks = chunks_of(call.arrays[0].size, queue.device)
    counts = empty(chunks, "int64", queue=queue)
    _kernel("count_chunks", predicate)[chunks, 1](*call.arrays, counts, queue=queue, wait=False)
    total = sum(memoryview(counts.copy_to_host()))
    return _moved("move_chunks", predicate, call, (chunks, 1), counts, total)


def _by_groups(predicate: Any, call: Call) -> Any:
    queue = call.queue
    groups = tiles_of(call.arrays[0].size)
    ends = empty(groups, "int64", queue=queue)
    items = groups * GROUP, GROUP
    _kernel("count_groups", predicate)[items](*call.arrays, ends, queue=queue, wait=False)
    sums().run(ends, ends, queue)
    return _moved("move_groups", predicate, call, items, ends, int(ends[-1]))


def _moved(
    name: str, predicate: Any, call: Call, items: tuple[int, int], counts: Array, total: int
) -> Any:
    """The chosen elements, ``total`` of them, after the kernel of that name has moved them."""
    result = call.result((total,), call.arrays[0].dtype)
    if total == 0:
        return result.returned(None)
    move = _kernel(name, predicate)[items]
    return result.returned(move(*call.arrays, counts, result.written, queue=call.queue, wait=False))

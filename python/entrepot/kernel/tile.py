"""Tiles: products of matrices by the matrix units of a device.

The work-items of a group multiply two tiles in local memory and add the product to an accumulator,
whose elements are spread over their registers. All of them call an operation together, like a
barrier. The group has a multiple of 32 work-items, and the launch gives its size.

CUDA devices use tensor cores: ``mma`` from compute capability 8.0 on, and ``wgmma`` on 9.0. HIP
devices of CDNA use matrix cores (``mfma``). All others run loops.

Examples
--------
>>> from entrepot import kernel as ek
>>> from entrepot.kernel import tile
>>> @ek.kernel
... def matmul(c, a, b):
...     row, column = 32 * ek.get_group_id(0), 32 * ek.get_group_id(1)
...     a_tile = ek.local.array((32, 16), ek.float32)
...     b_tile = ek.local.array((16, 32), ek.float32)
...     total = tile.zeros((32, 32), ek.float32)
...     for k in range(0, a.shape[1], 16):
...         tile.load(a_tile, a, (row, k))
...         tile.load(b_tile, b, (k, column))
...         ek.barrier()
...         tile.matmul(a_tile, b_tile, total)
...         ek.barrier()
...     tile.store(c, (row, column), total)
>>> a, b = (ep.full(shape, 1, "float32", device="host") for shape in ((40, 24), (24, 50)))
>>> c = ep.zeros((40, 50), "float32", device="host")
>>> matmul[(2, 2 * 32), (1, 32)](c, a, b).wait()
>>> bool((c.numpy() == 24).all())
True
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from .functions import DeviceFunction, func
from .language import Builtin, get_local_id, get_local_size

__all__ = ["commit", "load", "load_async", "matmul", "store", "wait", "zeros"]


def _operation(function: Callable[..., Any]) -> DeviceFunction:
    """A device function that all work-items of a group call together. Dialects with matrix units
    have text of their own for it.
    """
    assert isinstance(function, FunctionType)
    function.tile_operation = function.__name__  # type: ignore[attr-defined]
    return func(function)


zeros = Builtin(
    "tile.zeros",
    """\
An accumulator of zeros, spread over the registers of a group's work-items.

Called as ``tile.zeros(shape, dtype=float32)``.

Parameters
----------
shape : tuple of int
    The rows and columns, multiples of 16 and known when the kernel is compiled. The group's
    work-items, a multiple of 32, divide its blocks of 16 x 16 evenly.
dtype : dtype_like, optional
    ``float32``, the default, or ``float64``.

Returns
-------
accumulator
    It has ``shape`` and ``dtype``. Its elements are not accessed singly: ``matmul`` adds to them,
    and ``store`` writes them to an array.

Raises
------
KernelError
    If it is called outside of a kernel.

Examples
--------
>>> from entrepot import kernel as ek
>>> from entrepot.kernel import tile
>>> @ek.kernel
... def clear(out):
...     tile.store(out, (0, 0), tile.zeros((16, 16)))
>>> out = ep.full((16, 16), 1, "float32", device="host")
>>> clear[32, 32](out).wait()
>>> float(out.numpy().sum())
0.0
""",
)


@_operation
def matmul(a, b, accumulator, precision="float32"):  # type: ignore[no-untyped-def]
    """Add the product of two tiles in local memory to an accumulator.

    A barrier separates it from the writes of the tiles.

    Parameters
    ----------
    a, b : array
        Local arrays of m x k and k x n elements, or parts of such arrays, whose shapes are known
        when compiled. Both have float16, bfloat16, float32 or float64. k is a multiple of 16 for
        16-bit elements, and of 8 for others.
    accumulator : accumulator
        m x n elements, changed in place: float64 for tiles of float64, else float32.
    precision : str, optional
        For tiles of float32: "float32", the default, or "tf32". The latter lets tensor cores
        multiply 10 bits of the elements' fractions. Other devices ignore it.

    Raises
    ------
    KernelError
        If the compiler refuses the tiles.
    """
    rows, columns = accumulator.block
    blocks_across = b.shape[1] // columns
    line = get_local_id(0) * get_local_size(1) + get_local_id(1)
    item = line * get_local_size(2) + get_local_id(2)
    top = item // blocks_across * rows
    left = item % blocks_across * columns
    for i in range(rows):
        for k in range(a.shape[1]):
            factor = accumulator.dtype.type(a[top + i, k])
            for j in range(columns):
                accumulator[i, j] += factor * accumulator.dtype.type(b[k, left + j])


@_operation
def load(tile, array, offsets):  # type: ignore[no-untyped-def]
    """Copy a part of an array in global memory to a tile in local memory.

    Elements outside of the array become zeros. A barrier separates it from reads of the tile by
    other work-items, and from earlier uses of the tile.

    Parameters
    ----------
    tile : array
        A local array of two dimensions, or a part of one, whose shape is known when compiled.
    array : array
        A global array of two dimensions and of the same dtype.
    offsets : tuple of int
        The row and the column of the tile's first element in the array.

    Raises
    ------
    KernelError
        If the compiler refuses the arrays.
    """
    row, column = offsets
    rows, columns = tile.shape
    line = get_local_id(0) * get_local_size(1) + get_local_id(1)
    item = line * get_local_size(2) + get_local_id(2)
    items = get_local_size(0) * get_local_size(1) * get_local_size(2)
    for element in range(item, rows * columns, items):
        i, j = element // columns, element % columns
        from_row, from_column = row + i, column + j
        inside = 0 <= from_row < array.shape[0] and 0 <= from_column < array.shape[1]
        tile[i, j] = array[from_row, from_column] if inside else tile.dtype.type(0)


@_operation
def load_async(tile, array, offsets):  # type: ignore[no-untyped-def]
    """Start a copy of a part of an array to a tile; ``commit`` and ``wait`` complete it.

    On CUDA, the copy runs while the work-items continue. On other devices it is ``load``.

    Parameters
    ----------
    tile, array, offsets
        Those of ``load``.

    Raises
    ------
    KernelError
        If the compiler refuses the arrays.
    """
    row, column = offsets
    rows, columns = tile.shape
    line = get_local_id(0) * get_local_size(1) + get_local_id(1)
    item = line * get_local_size(2) + get_local_id(2)
    items = get_local_size(0) * get_local_size(1) * get_local_size(2)
    for element in range(item, rows * columns, items):
        i, j = element // columns, element % columns
        from_row, from_column = row + i, column + j
        inside = 0 <= from_row < array.shape[0] and 0 <= from_column < array.shape[1]
        tile[i, j] = array[from_row, from_column] if inside else tile.dtype.type(0)


@_operation
def commit():  # type: ignore[no-untyped-def]
    """Close the group of this work-item's copies by ``load_async`` since the last ``commit``."""


@_operation
def wait(pending=0):  # type: ignore[no-untyped-def]
    """Wait until at most the last ``pending`` committed groups of copies are in flight.

    It concerns the copies of the calling work-item. A barrier after it makes the tiles visible to
    the group.

    Parameters
    ----------
    pending : int, optional
        From 0, the default, to 7, and known when the kernel is compiled.
    """


@_operation
def store(array, offsets, accumulator):  # type: ignore[no-untyped-def]
    """Write an accumulator to a part of an array, converted to its dtype.

    Elements outside of the array are left out.

    Parameters
    ----------
    array : array
        A global or local array of two dimensions: float16, bfloat16, float32 or float64.
    offsets : tuple of int
        The row and the column of the accumulator's first element in the array.
    accumulator : accumulator
        The accumulator, which is unchanged.

    Raises
    ------
    KernelError
        If the compiler refuses the array.
    """
    row, column = offsets
    rows, columns = accumulator.block
    blocks_across = accumulator.shape[1] // columns
    line = get_local_id(0) * get_local_size(1) + get_local_id(1)
    item = line * get_local_size(2) + get_local_id(2)
    top = row + item // blocks_across * rows
    left = column + item % blocks_across * columns
    for i in range(rows):
        for j in range(columns):
            to_row, to_column = top + i, left + j
            if 0 <= to_row < array.shape[0] and 0 <= to_column < array.shape[1]:
                array[to_row, to_column] = array.dtype.type(accumulator[i, j])

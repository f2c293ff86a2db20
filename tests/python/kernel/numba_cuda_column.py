"""The left column of docs/kernels/numba_cuda.md, run by Numba, with the results of the right
column in test_numba_cuda.py.

Prints the rows that it has run, and with a dash those that Numba's simulator lacks. It is a
script, as NUMBA_ENABLE_CUDASIM must be set before the import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # NumPy 2.5 dropped it, and numba-cuda 0.30 looks for it

from numba import config, cuda, float32, vectorize

CONSTANTS = np.array([3, 1, 4, 1], "f4")
#: Not supported by Numba's simulator.
ON_A_GPU_ONLY = {
    "`cuda.laneid`",
    "`cuda.warpsize`",
    "`cuda.syncwarp()`",
    "`cuda.cg.this_grid().sync()`",
    "`cuda.shfl_sync(mask, x, lane)`",
    "`cuda.shfl_xor_sync(mask, x, n)`",
    "`cuda.shfl_up_sync(mask, x, n)`",
    "`cuda.shfl_down_sync(mask, x, n)`",
    '`@vectorize(target="cuda")`',
}
ROWS: dict[str, Callable[[], None]] = {}


def row(name: str) -> Callable:
    def keep(test: Callable[[], None]) -> Callable[[], None]:
        ROWS[name] = test
        return test

    return keep


def run(kernel: Any, blocks: int, threads: int, *arrays: np.ndarray) -> list[np.ndarray]:
    moved = [cuda.to_device(array) for array in arrays]
    kernel[blocks, threads](*moved)
    cuda.synchronize()
    return [array.copy_to_host() for array in moved]


@cuda.jit
def index_functions(out):
    i = cuda.grid(1)
    out[i, 0] = cuda.gridsize(1)
    out[i, 1] = cuda.threadIdx.x
    out[i, 2] = cuda.blockIdx.x
    out[i, 3] = cuda.blockDim.x
    out[i, 4] = cuda.gridDim.x


def _index_column(column: int, expected: list[int]) -> Callable[[], None]:
    def test() -> None:
        (out,) = run(index_functions, 2, 3, np.zeros((6, 5), "i8"))
        assert out[:, column].tolist() == expected

    return test


row("`cuda.gridsize(1)`")(_index_column(0, [6] * 6))
row("`cuda.threadIdx.x`")(_index_column(1, [0, 1, 2, 0, 1, 2]))
row("`cuda.blockIdx.x`")(_index_column(2, [0, 0, 0, 1, 1, 1]))
row("`cuda.blockDim.x`")(_index_column(3, [3] * 6))
row("`cuda.gridDim.x`")(_index_column(4, [2] * 6))


@cuda.jit(device=True)
def plus_one(x):
    return x + 1


@cuda.jit
def increments(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = plus_one(a[i])


@row("`@cuda.jit`")
@row("`@cuda.jit(device=True)`")
@row("`cuda.grid(1)`")
def _():
    assert run(increments, 1, 4, np.arange(4, dtype="f4"))[0].tolist() == [1, 2, 3, 4]


@row("`k.forall(n)(…)`")
def _():
    there = cuda.to_device(np.arange(4, dtype="f4"))
    increments.forall(4)(there)
    assert there.copy_to_host().tolist() == [1, 2, 3, 4]


@row("`k[blocks, threads](…)`")
def _():
    assert run(increments, 2, 4, np.zeros(8, "f4"))[0].tolist() == [1] * 8


@row('`@cuda.jit("void(float32[:])")`')
def _():
    @cuda.jit("void(float32[:])")
    def eager(a):
        a[cuda.grid(1)] = 2

    assert run(eager, 1, 2, np.zeros(2, "f4"))[0].tolist() == [2, 2]


@cuda.jit
def lanes(out):
    i = cuda.grid(1)
    cuda.syncwarp()
    out[i, 0] = cuda.laneid
    out[i, 1] = cuda.warpsize


@row("`cuda.laneid`")
@row("`cuda.warpsize`")
@row("`cuda.syncwarp()`")
def _():
    (out,) = run(lanes, 1, 16, np.zeros((16, 2), "i8"))
    assert (out[:, 0] < out[:, 1]).all()


@cuda.jit
def shuffles(out, x):
    i = cuda.grid(1)
    out[i, 0] = cuda.shfl_sync(0xFFFFFFFF, x[i], 1)
    out[i, 1] = cuda.shfl_xor_sync(0xFFFFFFFF, x[i], 1)
    out[i, 2] = cuda.shfl_up_sync(0xFFFFFFFF, x[i], 1)
    out[i, 3] = cuda.shfl_down_sync(0xFFFFFFFF, x[i], 1)


def _shuffles(
    column: int, part: slice, other: Callable[[np.ndarray], np.ndarray]
) -> Callable[[], None]:
    def test() -> None:
        x = np.arange(32, dtype="i4") * 3
        out, _ = run(shuffles, 1, 32, np.zeros((32, 4), "i4"), x)
        assert out[part, column].tolist() == x[other(np.arange(32)[part])].tolist()

    return test


row("`cuda.shfl_sync(mask, x, lane)`")(_shuffles(0, slice(None), lambda i: i * 0 + 1))
row("`cuda.shfl_xor_sync(mask, x, n)`")(_shuffles(1, slice(None), lambda i: i ^ 1))
row("`cuda.shfl_up_sync(mask, x, n)`")(_shuffles(2, slice(1, None), lambda i: i - 1))
row("`cuda.shfl_down_sync(mask, x, n)`")(_shuffles(3, slice(0, -1), lambda i: i + 1))


@cuda.jit
def all_memory(out):
    i, own = cuda.grid(1), cuda.threadIdx.x
    shared = cuda.shared.array(4, float32)
    mine = cuda.local.array(2, float32)
    constants = cuda.const.array_like(CONSTANTS)
    shared[own] = i
    mine[0] = constants[own]
    cuda.threadfence()
    cuda.syncthreads()
    out[i, 0] = shared[3 - own]
    out[i, 1] = mine[0]
    out[i, 2] = cuda.syncthreads_or(int(own == 3)) != 0
    out[i, 3] = cuda.syncthreads_and(int(own < 3)) != 0


def _memory(column: int, expected: list[float]) -> Callable[[], None]:
    def test() -> None:
        (out,) = run(all_memory, 1, 4, np.zeros((4, 4), "f4"))
        assert out[:, column].tolist() == expected

    return test


@cuda.jit
def all_blocks(out):
    i, grid = cuda.grid(1), cuda.cg.this_grid()
    out[i] = i
    grid.sync()
    total = out[3 - i]
    grid.sync()
    out[i] = total


@row("`cuda.cg.this_grid().sync()`")
def _():
    assert run(all_blocks, 2, 2, np.zeros(4, "f4"))[0].tolist() == [3, 2, 1, 0]


row("`cuda.shared.array(shape, dtype)`")(_memory(0, [3, 2, 1, 0]))
row("`cuda.syncthreads()`")(_memory(0, [3, 2, 1, 0]))
row("`cuda.threadfence()`")(_memory(0, [3, 2, 1, 0]))
row("`cuda.local.array(shape, dtype)`")(_memory(1, CONSTANTS.tolist()))
row("`cuda.const.array_like(values)`")(_memory(1, CONSTANTS.tolist()))
row("`cuda.syncthreads_or(x)`")(_memory(2, [1] * 4))
row("`cuda.syncthreads_and(x)`")(_memory(3, [0] * 4))


@row("`cuda.shared.array(0, dtype)` and bytes at launch")
def _():
    @cuda.jit
    def reverses(out):
        own = cuda.threadIdx.x
        shared = cuda.shared.array(0, float32)
        shared[own] = own * 10
        cuda.syncthreads()
        out[own] = shared[3 - own]

    there = cuda.to_device(np.zeros(4, "f4"))
    reverses[1, 4, 0, 4 * 4](there)
    assert there.copy_to_host().tolist() == [30, 20, 10, 0]


@cuda.jit
def atomics(a):
    i = cuda.grid(1)
    cuda.atomic.add(a, 0, i)
    cuda.atomic.min(a, 1, i)
    cuda.atomic.max(a, 2, i)
    cuda.atomic.exch(a, 3, 9)
    cuda.atomic.cas(a, 4, 0, 7)


def _atomics(places: slice, expected: list[int]) -> Callable[[], None]:
    def test() -> None:
        (a,) = run(atomics, 1, 5, np.array([0, 50, 0, 0, 0], "i4"))
        assert a[places].tolist() == expected

    return test


row("`cuda.atomic.add(a, i, x)`")(_atomics(slice(0, 1), [10]))
row("`cuda.atomic.min(a, i, x)`, `max`")(_atomics(slice(1, 3), [0, 4]))
row("`cuda.atomic.exch(a, i, x)`")(_atomics(slice(3, 4), [9]))
row("`cuda.atomic.cas(a, i, old, new)`")(_atomics(slice(4, 5), [7]))


@row("`cuda.to_device(a)`")
@row("`d.copy_to_host()`")
@row("`cuda.synchronize()`")
def _():
    there = cuda.to_device(np.arange(3))
    cuda.synchronize()
    assert there.copy_to_host().tolist() == [0, 1, 2]


@row("`cuda.device_array(shape, dtype)`")
def _():
    assert cuda.device_array((2, 3), np.float32).shape == (2, 3)


@row('`@vectorize(target="cuda")`')
def _():
    @vectorize(["float64(float64)"], target="cuda")
    def doubled(x):
        return x * 2

    assert np.asarray(doubled(np.arange(3.0))).tolist() == [0, 2, 4]


POINT = np.dtype([("x", "f4"), ("y", "f4")])


@cuda.jit
def of_records(p):
    i = cuda.grid(1)
    q = p[i]
    q["x"] = 2 * p[i]["y"]
    p[i].y = p[i].x + 1


@row('`p[i].x`, `p[i]["x"]` of a record array')
def _():
    points = np.zeros(4, POINT)
    points["y"] = np.arange(4)
    (points,) = run(of_records, 1, 4, points.view(np.recarray))
    assert points["x"].tolist() == [0, 2, 4, 6]
    assert points["y"].tolist() == [1, 3, 5, 7]


@cuda.jit
def of_vectors(out):
    v = cuda.float32x4(1, 2, 3, 4)
    out[cuda.grid(1)] = v.x + v.w


@row("`cuda.float32x4(x, y, z, w)`")
def _():
    (out,) = run(of_vectors, 1, 2, np.zeros(2, "f4"))
    assert out.tolist() == [5, 5]


@row("`@cuda.reduce`")
def _():
    @cuda.reduce
    def total(x, y):
        return x + y

    assert float(total(np.arange(5.0))) == 10


@row("`NUMBA_ENABLE_CUDASIM=1`")
def _():
    assert config.ENABLE_CUDASIM in (0, 1)


if __name__ == "__main__":
    for name, test in ROWS.items():
        if config.ENABLE_CUDASIM and name in ON_A_GPU_ONLY:
            print(f"- {name}")
            continue
        test()
        print(name)

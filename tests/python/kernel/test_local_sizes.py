"""Local sizes of launches: the host specializes for the first ones, and all others are right,
too."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_backend

pytestmark = pytest.mark.numpy

#: Local sizes with specialized code (most_local_sizes), and one for all others.
ALL = 4 + 1


@dppy.kernel
def mixed(out, x):
    """Everything that a group may have on the host: kept variables and arrays, local memory, a
    loop around barriers, an early return."""
    i, own, size = dppy.get_global_id(0), dppy.get_local_id(0), dppy.get_local_size(0)
    shared = dppy.local.array(64, dppy.int64)
    mine = dppy.private.array(2, dppy.int64)
    value = x[i]
    mine[0], mine[1] = value, i
    shared[own] = value
    for turn in range(3):
        dppy.barrier()
        neighbor = shared[(own + 1) % size]
        dppy.barrier()
        value += neighbor * (turn + 1)
        shared[own] = value
    total = dppy.group.reduce(value, "add")
    out[i] = value
    if own % 2 == 1:
        return
    out[i] += total * 1000 + mine[0] + mine[1]


def mixed_by_numpy(x: np.ndarray, local: int) -> np.ndarray:
    value = x.reshape(-1, local).copy()
    for turn in range(3):
        value += np.roll(value, -1, axis=1) * (turn + 1)
    extra = (
        value.sum(axis=1, keepdims=True) * 1000
        + x.reshape(-1, local)
        + np.arange(x.size).reshape(-1, local)
    )
    return np.where(np.arange(local) % 2 == 1, value, value + extra).ravel()


@every_backend
@pytest.mark.parametrize("local", [1, 2, 3, 5, 7, 16, 35, 60])
def test_local_size_gives_same_result(backend, local):
    x = np.arange(local * 4, dtype="i8") * 7 % 31
    (out, _) = backend.run(mixed, local * 4, local, np.zeros(x.size, "i8"), x)
    assert np.array_equal(out, mixed_by_numpy(x, local))


@dppy.kernel
def turned_in_tiles(out, x):
    """Each tile is rotated by 180 degrees."""
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    row, column = dppy.get_local_id(0), dppy.get_local_id(1)
    rows, columns = dppy.get_local_size(0), dppy.get_local_size(1)
    tile = dppy.local.array((8, 8), dppy.float32)
    tile[row, column] = x[i, j]
    dppy.barrier()
    out[i, j] = tile[rows - 1 - row, columns - 1 - column]


@every_backend
@pytest.mark.parametrize("local", [(3, 5), (1, 7), (8, 1), (4, 4), (2, 8)])
def test_local_size_in_two_dimensions_gives_same_result(backend, local):
    rows, columns = local
    x = np.arange(rows * columns * 6, dtype="f4").reshape(rows * 2, columns * 3)
    (out, _) = backend.run(turned_in_tiles, x.shape, local, np.zeros_like(x), x)
    expected = x.reshape(2, rows, 3, columns)[:, ::-1, :, ::-1].reshape(x.shape)
    assert np.array_equal(out, expected)


@pytest.mark.host
def test_specialization_of_local_sizes_is_bounded():
    kernel = dppy.kernel(mixed.function)
    x = np.arange(840, dtype="i8") % 13
    for turn in range(2):  # and those of the first turn are found again in the second
        for number, local in enumerate((2, 3, 5, 7, 8, 10, 12, 14, 2, 60), 1):
            out = np.zeros(840, "i8")
            kernel[840, local](out, x)
            assert np.array_equal(out, mixed_by_numpy(x, local))
            assert kernel.specializations == (min(number, ALL) if turn == 0 else ALL)


@pytest.mark.host
def test_default_local_size_has_no_specialization():
    kernel = dppy.kernel(mixed.function)
    for items in (12, 30, 42, 8):
        x, out = np.arange(items, dtype="i8"), np.zeros(items, "i8")
        kernel[items, dppy.DEFAULT_LOCAL_SIZE](out, x)
        assert np.array_equal(out, mixed_by_numpy(x, items))
        assert kernel.specializations == 1
    x, out = np.arange(12, dtype="i8"), np.zeros(12, "i8")
    kernel[12, 12](out, x)
    assert np.array_equal(out, mixed_by_numpy(x, 12))
    assert kernel.specializations == 2


@pytest.mark.host
def test_non_dividing_local_size_is_always_refused():
    kernel = dppy.kernel(mixed.function)
    x, out = np.arange(12, dtype="i8"), np.zeros(12, "i8")
    for _ in range(2):
        with pytest.raises(
            ep.KernelError,
            match=r"dimension 0 has 12 work-items, which work-groups of 5 do not divide.*"
            r"A range of two dimensions is kernel\[\(rows, columns\), None\]",
        ):
            kernel[12, 5](out, x)
        kernel[12, 4](out, x)
        assert np.array_equal(out, mixed_by_numpy(x, 4))
    assert kernel.specializations == 1, "a refused launch compiles nothing"


@dppy.kernel
def doubled(out, x):
    i = dppy.get_global_id(0)
    out[i] = x[i] * 2


@pytest.mark.host
def test_kernels_independent_of_groups_are_compiled_once():
    kernel = dppy.kernel(doubled.function)
    for local in (1, 2, 3, None):
        out = np.zeros(6)
        kernel[6, local](out, np.arange(6.0))
        assert out.tolist() == [0, 2, 4, 6, 8, 10]
    assert kernel.specializations == 1


@pytest.mark.host
def test_threads_that_launch_with_different_sizes():
    kernel = dppy.kernel(mixed.function)
    x = np.arange(840, dtype="i8") % 17
    locals_ = [2, 3, 4, 5, 6, 7, 8, 10]
    outs = [np.zeros(840, "i8") for _ in locals_]
    together = threading.Barrier(len(locals_))

    def launch(out, local):
        together.wait()
        kernel[840, local](out, x)

    threads = [
        threading.Thread(target=launch, args=each) for each in zip(outs, locals_, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for out, local in zip(outs, locals_, strict=True):
        assert np.array_equal(out, mixed_by_numpy(x, local))
    assert kernel.specializations == ALL


@pytest.mark.host
def test_source_is_specialized_and_export_is_not(tmp_path):
    kernel = dppy.kernel(mixed.function)
    x, out = np.arange(12, dtype="i8"), np.zeros(12, "i8")
    kernel[12, 6](out, x)
    assert "local_size0 = 6;" in kernel.source("c++", device="host")
    kernel.export(tmp_path / "mixed.hpp")
    assert "local_size0 = range[4];" in (tmp_path / "mixed.hpp").read_text()

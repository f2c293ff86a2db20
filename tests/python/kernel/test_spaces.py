"""Memory of a work-group, of a work-item, and memory that nobody writes; local memory sized at launch; limits."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_compiler, every_dialect

pytestmark = pytest.mark.numpy

WEIGHTS = np.array([[1, 2, 3], [4, 5, 6]], "f4")
ANSWER = 42
RATIO = 0.5


@dppy.kernel
def private_array(out, x):
    i = dppy.get_global_id(0)
    window = dppy.private.array((2, 3), dppy.float32)
    for r in range(2):
        for c in range(3):
            window[r, c] = x[i] * (r * 3 + c)
    total = 0.0
    for r in range(2):
        for c in range(3):
            total += window[1 - r, c] * (r + 1)
    out[i] = total


@every_dialect
def test_private_memory(backend):
    x = np.arange(5, dtype="f4")
    (out, _) = backend.run(private_array, 5, None, np.zeros(5, "f4"), x)
    assert out.tolist() == [v * ((3 + 4 + 5) + 2 * (0 + 1 + 2)) for v in x.tolist()]


@dppy.kernel
def constant_array(out):
    i = dppy.get_global_id(0)
    weights = dppy.constant.array(WEIGHTS)
    out[i] = weights[i % 2, i % 3] + weights[-1, -1]


@every_dialect
def test_constant_memory(backend):
    (out,) = backend.run(constant_array, 6, None, np.zeros(6, "f4"))
    assert out.tolist() == [float(WEIGHTS[i % 2, i % 3] + 6) for i in range(6)]


@pytest.mark.host
def test_an_array_that_is_named_twice_is_compiled_in_once():
    @dppy.kernel
    def twice(out):
        out[0] = WEIGHTS[0, 1] + WEIGHTS[dppy.get_global_id(0), 2]

    source = twice.source("opencl-c", signature="void(float32[::1])", device="host")
    assert source.count("constant float ") == 1
    assert "WEIGHTS_2" not in source


@dppy.kernel
def captured(out):
    i = dppy.get_global_id(0)
    out[i] = ANSWER + i * RATIO


@every_dialect
def test_numbers_of_the_surroundings(backend):
    (out,) = backend.run(captured, 3, None, np.zeros(3, "f8"))
    assert out.tolist() == [42, 42.5, 43]


@every_dialect
def test_a_closure(backend):
    offset = 7

    @dppy.kernel
    def add_offset(out):
        out[dppy.get_global_id(0)] += offset

    (out,) = backend.run(add_offset, 3, None, np.zeros(3, "i4"))
    assert out.tolist() == [7, 7, 7]


@dppy.kernel
def sized_at_launch(out, x, scratch):
    i, lid = dppy.get_global_id(0), dppy.get_local_id(0)
    scratch[lid] = x[i]
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    out[i] = scratch[scratch.shape[0] - 1 - lid]


@every_dialect
@pytest.mark.parametrize("size", [2, 6])
def test_local_memory_sized_at_launch(backend, size):
    x = np.arange(12, dtype="f4")
    (out, _) = backend.run(sized_at_launch, 12, size, np.zeros(12, "f4"), x, dppy.LocalAccessor(size, dppy.float32))
    assert np.array_equal(out, x.reshape(-1, size)[:, ::-1].ravel())


@dppy.kernel
def too_much_local_memory(out):
    huge = dppy.local.array(100_000_000, dppy.float64)
    lid = dppy.get_local_id(0)
    huge[lid] = lid
    dppy.barrier()
    out[lid] = huge[lid]


@every_compiler
def test_local_memory_beyond_the_devices_is_refused_with_both_numbers(backend):
    array = backend.array(np.zeros(4, "f8"))
    with pytest.raises(ep.KernelError, match=rf"800.?000.?000.*{backend.device.local_mem_size}"):
        backend.launch(too_much_local_memory, 4, 4, array)


@dppy.kernel
def sub_arrays(out, x):
    i = dppy.get_global_id(0)
    row = x[i]
    part = x[1:3, ::2]
    column = x[:, 1]
    out[i, 0] = row[2] + len(row)
    out[i, 1] = part[1, 1]
    out[i, 2] = part.shape[0] * 10 + part.shape[1]
    out[i, 3] = column[i] + column[-1]
    row[0] = -1


@every_dialect
def test_parts_of_arrays(backend):
    x = np.arange(12, dtype="i8").reshape(3, 4)
    out, after = backend.run(sub_arrays, 3, None, np.zeros((3, 4), "i8"), x)
    assert out.tolist() == [[x[i, 2] + 4, x[2, 2], 22, x[i, 1] + x[2, 1]] for i in range(3)]
    assert after[:, 0].tolist() == [-1, -1, -1]


@dppy.kernel
def negative_indices(out, x):
    i = dppy.get_global_id(0)
    out[i, 0] = x[-1]
    out[i, 1] = x[i - 3]
    out[-1, -1] = 5


@every_dialect
def test_negative_indices_count_from_the_end(backend):
    x = np.array([10, 20, 30], "i4")
    (out, _) = backend.run(negative_indices, 1, None, np.zeros((2, 2), "i4"), x)
    assert out.tolist() == [[30, 10], [0, 5]]


@dppy.func
def corner(part):
    return part[0, part.shape[1] - 1]


@dppy.kernel
def transposes(out, x):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    tile = dppy.private.array((2, 3), dppy.float32)
    turned = tile.T
    turned[2, 1] = 0.5
    columns = x.T
    out.T[j, i] = columns[j, i] + x[i].T[j] + tile[1, 2] * turned.shape[0] + 100 * corner(x.T) + x.T.T[i, j] * 0


@every_dialect
def test_transposed_arrays(backend):
    x = np.arange(12, dtype="f4").reshape(3, 4)
    (out, _) = backend.run(transposes, (3, 4), None, np.zeros((3, 4), "f4"), x)
    assert out.tolist() == (2 * x + 1.5 + 100 * x.T[0, -1]).tolist()

"""Ranges of one to three dimensions, the index functions, and limits of launches."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from entrepot import memory
from kernel.backends import every_backend, every_compiler
from support.places import values_of

pytestmark = pytest.mark.numpy


@dppy.kernel
def ids_1d(out):
    i = dppy.get_global_id(0)
    out[i, 0] = dppy.get_local_id(0)
    out[i, 1] = dppy.get_group_id(0)
    out[i, 2] = dppy.get_num_groups(0)
    out[i, 3] = dppy.get_global_size(0)
    out[i, 4] = dppy.get_local_size(0)
    out[i, 5] = dppy.get_work_dim()


@every_backend
def test_ids_in_one_dimension(backend):
    (out,) = backend.run(ids_1d, 12, 4, np.full((12, 6), -1, "i8"))
    assert out.tolist() == [[i % 4, i // 4, 3, 12, 4, 1] for i in range(12)]


@dppy.kernel
def ids_from_the_last(out):
    i = (dppy.get_global_id(-3) * 10 + dppy.get_global_id(-2)) * 10 + dppy.get_global_id(-1)
    place = (
        dppy.get_global_id(0) * dppy.get_global_size(1) + dppy.get_global_id(1)
    ) * dppy.get_global_size(2) + dppy.get_global_id(2)
    out[place, 0] = i
    out[place, 1] = (
        dppy.get_local_size(-1) + 10 * dppy.get_num_groups(-2) + 100 * dppy.get_global_size(-3)
    )


@every_backend
@pytest.mark.parametrize("shape", [(6,), (3, 4), (2, 3, 4)])
def test_negative_dimensions_count_from_the_last(backend, shape):
    local = (1,) * (len(shape) - 1) + (2,)
    (out,) = backend.run(ids_from_the_last, shape, local, np.zeros((np.prod(shape), 2), "i8"))
    wide = (1,) * (3 - len(shape)) + shape
    assert out[:, 0].tolist() == [100 * i + 10 * j + k for i, j, k in np.ndindex(wide)]
    assert out[:, 1].tolist() == [2 + 10 * wide[1] + 100 * wide[0]] * len(out)


@dppy.kernel
def fourth_from_the_last(out):
    out[0] = dppy.get_global_id(-4)


@every_backend
def test_dimension_before_the_first_is_refused(backend):
    with pytest.raises(ep.KernelError, match="-4"):
        backend.run(fourth_from_the_last, 1, None, np.zeros(1))


@dppy.kernel
def ids_3d(out):
    i, j, k = dppy.get_global_id(0), dppy.get_global_id(1), dppy.get_global_id(2)
    out[i, j, k, 0] = dppy.get_local_id(0)
    out[i, j, k, 1] = dppy.get_local_id(1)
    out[i, j, k, 2] = dppy.get_local_id(2)
    out[i, j, k, 3] = dppy.get_group_id(0)
    out[i, j, k, 4] = dppy.get_group_id(1)
    out[i, j, k, 5] = dppy.get_group_id(2)
    out[i, j, k, 6] = (
        dppy.get_num_groups(0) * 100 + dppy.get_num_groups(1) * 10 + dppy.get_num_groups(2)
    )
    out[i, j, k, 7] = (
        dppy.get_global_size(0) * 100 + dppy.get_global_size(1) * 10 + dppy.get_global_size(2)
    )
    out[i, j, k, 8] = (
        dppy.get_local_size(0) * 100 + dppy.get_local_size(1) * 10 + dppy.get_local_size(2)
    )
    out[i, j, k, 9] = dppy.get_work_dim()


@every_backend
def test_ids_in_three_dimensions(backend):
    """Dimension 0 is the slowest, as in NumPy's shapes."""
    (out,) = backend.run(ids_3d, (2, 6, 4), (1, 3, 2), np.full((2, 6, 4, 10), -1, "i8"))
    expected = np.zeros((2, 6, 4, 10), "i8")
    for i, j, k in np.ndindex(2, 6, 4):
        expected[i, j, k] = [0, j % 3, k % 2, i, j // 3, k // 2, 222, 264, 132, 3]
    assert np.array_equal(out, expected)


@dppy.kernel
def places(out):
    i, j, k = dppy.get_global_id(0), dppy.get_global_id(1), dppy.get_global_id(2)
    out[i, j, k] = (i * dppy.get_global_size(1) + j) * dppy.get_global_size(2) + k


@every_compiler
@pytest.mark.parametrize("shape", [(70_000, 1, 3), (1, 70_000, 3), (66_000, 2, 5)])
def test_range_may_exceed_the_grid_limit(backend, shape):
    """CUDA and HIP allow 65,535 groups in dimensions 0 and 1. Without a local size it is no
    limit.
    """
    (out,) = backend.run(places, shape, None, np.full(shape, -1, "i8"))
    assert np.array_equal(out, np.arange(out.size).reshape(shape))


@dppy.kernel
def ids_2d(out):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    out[i, j] = i * 100 + j


@every_backend
@pytest.mark.parametrize(
    "local",
    [None, (1, 1), (2, 5), dppy.DEFAULT_LOCAL_SIZE],
    ids=["None", "ones", "some", "default"],
)
def test_ids_in_two_dimensions_for_any_local_size(backend, local):
    (out,) = backend.run(ids_2d, (4, 5), local, np.zeros((4, 5), "i8"))
    assert np.array_equal(out, np.add.outer(np.arange(4) * 100, np.arange(5)))


@every_backend
def test_empty_range_runs_no_work_item(backend):
    (out,) = backend.run(ids_2d, (0, 5), None, np.full((4, 5), 7, "i8"))
    assert (out == 7).all()


@every_backend
def test_groups_divide_the_range(backend):
    array = backend.array(np.zeros((10, 6), "i8"))
    with pytest.raises(ep.EntrepotError, match=r"10.*4|4.*10"):
        backend.launch(ids_1d, 10, 4, array)


@every_backend
def test_range_objects(backend):
    (out,) = backend.run(ids_2d, dppy.Range(4, 5), None, np.zeros((4, 5), "i8"))
    assert np.array_equal(out, np.add.outer(np.arange(4) * 100, np.arange(5)))


@every_compiler
def test_too_large_group_error_has_both_sizes(backend):
    most = backend.device.max_work_group_size
    if not 0 < most < 2**24:
        pytest.skip(f"{backend.selector} limits groups at {most} work-items")
    array = backend.array(np.zeros((2 * most, 6), "i8"))
    with pytest.raises(ep.EntrepotError, match=rf"{2 * most}.*{most}"):
        backend.launch(ids_1d, 2 * most, 2 * most, array)


@dppy.kernel
def marks_the_last(out, last):
    if dppy.get_global_id(0) == last:
        out[0] = dppy.get_global_id(0)


@every_compiler
def test_sizes_beyond_two_to_the_31(backend):
    if backend.name == "sycl":
        pytest.skip("the same range as in OpenCL C, on the same device")
    size = 2**31 + 64
    (out,) = backend.run(marks_the_last, size, None, np.zeros(1, "i8"), size - 1)
    assert out[0] == size - 1


@dppy.kernel
def marks_the_last_of_groups(out, last):
    i = dppy.get_global_id(0)
    if i == last:
        out[0] = i
        out[1] = dppy.get_group_id(0)
        out[2] = dppy.get_global_size(0)
        out[3] = dppy.get_group_id(0) * dppy.get_local_size(0) + dppy.get_local_id(0)


@every_compiler
def test_groups_of_sizes_beyond_two_to_the_31(backend):
    if backend.name == "sycl":
        pytest.skip("the same range as in OpenCL C, on the same device")
    size = 2**31 + 1024
    (out,) = backend.run(marks_the_last_of_groups, size, 256, np.zeros(4, "i8"), size - 1)
    assert out.tolist() == [size - 1, size // 256 - 1, size, size - 1]


@dppy.kernel
def marks_where_its_own_place_is_the_last(out, last):
    if dppy.get_group_id(0) * dppy.get_local_size(0) + dppy.get_local_id(0) == last:
        out[0] = dppy.get_global_id(0)


@every_compiler
def test_global_id_beyond_int32_beside_its_group_arithmetic(backend, request):
    """The first id that does not fit into an int32."""
    if backend.name == "sycl":
        pytest.skip("the same range as in OpenCL C, on the same device")
    if backend.selector == "opencl:cpu" and backend.device.driver_version.startswith("2026.22."):
        request.applymarker(
            pytest.mark.xfail(strict=True, reason="Intel's compiler, see docs/kernels/errors.md")
        )
    (out,) = backend.run(
        marks_where_its_own_place_is_the_last, 2**31 + 256, 256, np.zeros(1, "i8"), 2**31
    )
    assert out[0] == 2**31


@dppy.kernel
def marks_the_last_of_rows(out, last):
    own = dppy.get_global_id(0) * dppy.get_global_size(1) + dppy.get_global_id(1)
    if own == last:
        out[0] = own


@every_compiler
def test_two_dimensions_with_more_work_items_than_two_to_the_31(backend):
    if backend.name == "sycl":
        pytest.skip("the same range as in OpenCL C, on the same device")
    shape = (2**15 + 1, 2**16)
    (out,) = backend.run(
        marks_the_last_of_rows, shape, None, np.zeros(1, "i8"), shape[0] * shape[1] - 1
    )
    assert out[0] == shape[0] * shape[1] - 1


@dppy.kernel
def marks_the_last_of_groups_of_planes(out, last):
    i, j, k = dppy.get_global_id(0), dppy.get_global_id(1), dppy.get_global_id(2)
    own = (i * dppy.get_global_size(1) + j) * dppy.get_global_size(2) + k
    if own == last:
        out[0] = own
        out[1] = dppy.get_group_id(2) * dppy.get_local_size(2) + dppy.get_local_id(2)
        out[2] = dppy.get_num_groups(0) * dppy.get_num_groups(1) * dppy.get_num_groups(2)


@every_compiler
def test_groups_of_three_dimensions_beyond_two_to_the_31(backend):
    if backend.name == "sycl":
        pytest.skip("the same range as in OpenCL C, on the same device")
    shape, local = (2, 2, 2**29 + 2**10), (1, 2, 2**9)
    size = 4 * shape[2]
    (out,) = backend.run(
        marks_the_last_of_groups_of_planes, shape, local, np.zeros(3, "i8"), size - 1
    )
    assert out.tolist() == [size - 1, shape[2] - 1, size // 2**10]


@pytest.fixture
def trimmed():
    """Returns memory that the test has released to the driver."""
    yield
    memory.trim()


def all_zeros(*ends: ep.Array) -> None:
    for end in ends:
        ep.fill(end, 0)


@dppy.kernel
def at_both_ends(x, first):
    i = dppy.get_global_id(0)
    x[first + i] += 1
    x[i] = x.shape[0] == first + 4


@every_compiler
def test_elements_beyond_two_to_the_31(backend, trimmed):
    """2 GiB, of which the host touches a page or two."""
    size = 2**31 + 4
    x = ep.empty(size, "uint8", device=backend.selector)
    all_zeros(x[:4], x[-4:])
    backend.launch(at_both_ends, 4, None, x, size - 4)
    assert [values_of(end).tolist() for end in (x[:4], x[-4:])] == [[1] * 4] * 2


@dppy.kernel
def in_the_last_rows(rows):
    i = dppy.get_global_id(0)
    rows[rows.shape[0] - 1, i] += 2
    rows[-2, -1 - i] += 3


@every_compiler
def test_rows_of_elements_beyond_two_to_the_31(backend, trimmed):
    rows = ep.empty((2**29 + 3, 4), "uint8", device=backend.selector)
    all_zeros(rows[:2], rows[-2:])
    backend.launch(in_the_last_rows, 4, None, rows)
    assert [values_of(end).tolist() for end in (rows[:2], rows[-2:])] == [
        [[0] * 4] * 2,
        [[3] * 4, [2] * 4],
    ]

"""Memory of a work-group, of a work-item, and constant memory; sizes at launch; limits."""

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


@dppy.kernel
def every_constant(integers, small, truths, others):
    i = dppy.get_global_id(0)
    integers[i] = dppy.constant.array(INT64)[i]
    small[i] = dppy.constant.array(INT8)[i]
    truths[i] = dppy.constant.array(TRUTHS)[i]
    others[i] = dppy.constant.array(UINT64)[i]


INT64 = np.array([-(2**63), 2**63 - 1, -(2**31), 2**31, -1])
INT8 = np.array([-128, 127, -1, 0, 1], "i1")
TRUTHS = np.array([True, False, False, True, True])
UINT64 = np.array([2**64 - 1, 2**63, 0, 2**32, 7], "u8")


@every_dialect
def test_constant_integers_of_every_value(backend):
    tables = [INT64, INT8, TRUTHS, UINT64]
    for found, table in zip(
        backend.run(every_constant, 5, None, *map(np.zeros_like, tables)), tables, strict=True
    ):
        assert found.tolist() == table.tolist()


def floats_at_the_ends(dtype: str) -> np.ndarray:
    """NaN, infinities, zeros of both signs, the largest and the smallest numbers; for complex
    dtypes all pairs of them."""
    part = np.zeros(0, dtype).real.dtype
    limits = np.finfo(part)
    values = np.array(
        [np.nan, np.inf, -np.inf, -0.0, 0.0, 0.1, -1.5, limits.max, limits.smallest_normal], part
    )
    if part == dtype:
        return values
    both = np.zeros(81, dtype)
    both.real, both.imag = np.repeat(values, 9), np.tile(values, 9)
    return both


@every_dialect
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_constant_floats_of_every_value(backend, dtype):
    values = floats_at_the_ends(dtype)
    (out,) = backend.run(constants_of(values), values.size, None, np.zeros_like(values))
    for found, expected in ((out.real, values[::-1].real), (out.imag, values[::-1].imag)):
        np.testing.assert_array_equal(found, expected)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.mark.host
def test_array_named_twice_is_one_constant():
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
def test_closure_variable_is_captured(backend):
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
    (out, _) = backend.run(
        sized_at_launch, 12, size, np.zeros(12, "f4"), x, dppy.LocalAccessor(size, dppy.float32)
    )
    assert np.array_equal(out, x.reshape(-1, size)[:, ::-1].ravel())


@dppy.kernel
def too_much_local_memory(out):
    huge = dppy.local.array(100_000_000, dppy.float64)
    lid = dppy.get_local_id(0)
    huge[lid] = lid
    dppy.barrier()
    out[lid] = huge[lid]


@every_compiler
def test_too_much_local_memory_error_has_both_sizes(backend):
    array = backend.array(np.zeros(4, "f8"))
    with pytest.raises(ep.KernelError, match=rf"800.?000.?000.*{backend.device.local_mem_size}"):
        backend.launch(too_much_local_memory, 4, 4, array)


def all_local_memory(size):
    @dppy.kernel
    def sums_all(out):
        own, items = dppy.get_local_id(0), dppy.get_local_size(0)
        memory = dppy.local.array(size, dppy.uint8)
        for k in range(own, size, items):
            memory[k] = k % 251
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        total = dppy.int64(0)
        for k in range(own, size, items):
            total += memory[size - 1 - k]
        out[own] = total

    return sums_all


@every_compiler
def test_local_memory_as_large_as_the_devices(backend):
    """CUDA's compilers let a kernel declare 48 KiB; the launch asks for the rest."""
    most = backend.device.local_mem_size
    (out,) = backend.run(all_local_memory(most), 4, 4, np.zeros(4, "i8"))
    filled = np.arange(most) % 251
    assert out.tolist() == [int(filled[most - 1 - own :: -4].sum()) for own in range(4)]
    with pytest.raises(
        ep.KernelError, match=rf"local memory is {most + 1} bytes with `memory`.* has {most};"
    ):
        backend.run(all_local_memory(most + 1), 4, 4, np.zeros(4, "i8"))


def large_local_memory(first, second):
    @dppy.kernel
    def exchanges(out, scratch):
        own, items = dppy.get_local_id(0), dppy.get_local_size(0)
        a = dppy.local.array(first, dppy.uint8)
        b = dppy.local.array(second, dppy.float32)
        for k in range(own, first, items):
            a[k] = k % 7
        for k in range(own, second, items):
            b[k] = k % 11
        scratch[own] = own
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        total = 0.0
        for k in range(own, first, items):
            total += a[first - 1 - k]
        for k in range(own, second, items):
            total += b[second - 1 - k]
        out[own, 0] = total
        out[own, 1] = scratch[items - 1 - own]
        out[own, 2] = dppy.group.reduce(total)
        out[own, 3] = scratch.shape[0]

    return exchanges


@every_compiler
@pytest.mark.parametrize("share", [0.25, 0.75], ids=["a quarter", "most"])
def test_several_arrays_of_the_devices_local_memory(backend, share):
    """Declared arrays, one that the launch sizes, and the memory of a group function."""
    most = int(backend.device.local_mem_size * share)
    first, second, sized = most // 2 + 1, most // 16, most // 32
    scratch = dppy.LocalAccessor(sized, dppy.float64)
    (out,) = backend.run(large_local_memory(first, second), 8, 8, np.zeros((8, 4)), scratch)
    a, b = np.arange(first) % 7, np.arange(second) % 11
    totals = [
        float(a[first - 1 - own :: -8].sum() + b[second - 1 - own :: -8].sum()) for own in range(8)
    ]
    assert out[:, 0].tolist() == totals
    assert out[:, 1].tolist() == [7 - own for own in range(8)]
    assert out[:, 2].tolist() == [sum(totals)] * 8
    assert out[:, 3].tolist() == [sized] * 8


@every_compiler
def test_local_memory_limit_includes_accessors(backend):
    most = backend.device.local_mem_size
    kernel = large_local_memory(most // 2, most // 8)
    with pytest.raises(ep.KernelError, match=rf"needs \d+ bytes of local memory.*{most}"):
        backend.run(kernel, 8, 8, np.zeros((8, 4)), dppy.LocalAccessor(16, dppy.float64))


FIRST, SECOND, THIRD = (np.arange(10_240, dtype="f4") + offset for offset in (0, 0.25, 0.5))
FULL = np.arange(65_536) % 251


@dppy.kernel
def large_constants(out):
    i = dppy.get_global_id(0)
    a, b, c = dppy.constant.array(FIRST), dppy.constant.array(SECOND), dppy.constant.array(THIRD)
    out[i] = a[i] + b[-1 - i] + c[i]


def constants_of(values):
    @dppy.kernel
    def reads(out):
        i = dppy.get_global_id(0)
        table = dppy.constant.array(values)
        out[i] = table[table.shape[0] - 1 - i]

    return reads


@every_compiler
def test_constants_that_do_not_fit_constant_memory_together(backend):
    """Three times 40 KiB: CUDA has 64 KiB for all constants of a program."""
    (out,) = backend.run(large_constants, 10_240, None, np.zeros(10_240, "f4"))
    assert np.array_equal(out, FIRST + SECOND[::-1] + THIRD)


@every_compiler
@pytest.mark.parametrize("beyond", [0, 1])
def test_constants_as_large_as_constant_memory(backend, beyond):
    values = np.resize(FULL.astype("u1"), 65_536 + beyond)
    (out,) = backend.run(constants_of(values), 1000, None, np.zeros(1000, "u1"))
    assert np.array_equal(out, values[::-1][:1000])


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
def element_twice_as_far(part, place):
    return part[place + place]


@dppy.kernel
def indices_that_wrapped(out, whole, small, large):
    a = whole[2000:2200]
    v, most = small[0], large[0]
    if v >= 0:
        out[0] = a[v + v]
        w = v * 2
        out[1] = a[w]
        part = a[v + v :]
        out[2] = len(part)
        rest = a[: v + v]
        out[3] = len(rest)
        a[v + v] = -1
        out[5] = element_twice_as_far(a, v)
    out[4] = a[abs(small[1])]
    if most >= 0:
        out[6] = a[most + most]
        out[7] = element_twice_as_far(a, most)
        out[8] = len(a[: most + most])
        if large[1] >= most + most:
            out[9] = a[large[1]]
    power = 1
    for _ in range(large[2]):
        power = power + power
    out[10] = a[power - 1]
    h = large[3]
    if h > 0:
        out[11] = a[h * 3 >> 62]


@every_dialect
def test_index_that_wrapped_below_zero_counts_from_the_end(backend):
    """A learned bound holds for the value, not for expressions of it: int8(100) + int8(100) is
    -56."""
    small, large = np.array([100, -128], "i1"), np.array([2**63 - 1, -1, 64, 2**62])
    whole = np.arange(4096)
    out, after, *_ = backend.run(
        indices_that_wrapped, 1, None, np.zeros(12, "i8"), whole, small, large
    )
    assert out.tolist() == [2144, 2144, 56, 144, 2072, -1, 2198, 2198, 198, 2199, 2199, 2199]
    assert np.nonzero(after != whole)[0].tolist() == [2144]


@dppy.kernel
def indices_from_arrays(out, x, places, rows):
    i = dppy.get_global_id(0)
    mine = dppy.private.array(4, dppy.int64)
    for k in range(4):
        mine[k] = places[places[k]]
    out[places[i], rows[places[i]] % 2] = x[mine[places[i]]] + x[places[places[i]] - 4]
    out[mine[i], 2] += x[rows[mine[i]]]


@every_dialect
def test_indices_that_are_elements(backend):
    x, rows = np.array([1, 10, 100, 1000], "f4"), np.array([3, 0, 1, 2], "u1")
    places = np.array([2, 0, 3, 1], "i4")
    (out, *_) = backend.run(indices_from_arrays, 4, None, np.zeros((4, 3), "f4"), x, places, rows)
    mine, expected = places[places], np.zeros((4, 3), "f4")
    for i in range(4):
        expected[places[i], rows[places[i]] % 2] = x[mine[places[i]]] + x[places[places[i]] - 4]
        expected[mine[i], 2] += x[rows[mine[i]]]
    assert np.array_equal(out, expected)


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
    out.T[j, i] = (
        columns[j, i]
        + x[i].T[j]
        + tile[1, 2] * turned.shape[0]
        + 100 * corner(x.T)
        + x.T.T[i, j] * 0
    )


@every_dialect
def test_transposed_arrays(backend):
    x = np.arange(12, dtype="f4").reshape(3, 4)
    (out, _) = backend.run(transposes, (3, 4), None, np.zeros((3, 4), "f4"), x)
    assert out.tolist() == (2 * x + 1.5 + 100 * x.T[0, -1]).tolist()

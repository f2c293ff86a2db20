"""Programs whose threads exchange values in a warp, and functions of warps, atomics and bits.

The number of threads of a warp differs between devices, so programs ask for it.
"""

from __future__ import annotations

import numpy as np
import pytest

from entrepot import numba_cuda as cuda
from entrepot.kernel import float32, int32, uint32
from entrepot.numba_cuda import fp16

pytestmark = pytest.mark.numpy

FULL = 0xFFFFFFFF
N = 64


@cuda.jit
def sums_of_warps(values, out):
    i = cuda.grid(1)
    total = values[i]
    offset = cuda.warpsize // 2
    while offset > 0:
        total += cuda.shfl_down_sync(FULL, total, offset)
        offset //= 2
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, total)


def test_warp_shuffle_reduction_sums_all(runner):
    values = np.arange(N, dtype="i4")
    _, out = runner.run(sums_of_warps, 1, N, values, np.zeros(1, "i4"))
    assert out[0] == values.sum()


@cuda.jit
def shuffles(x, out):
    i, lane = cuda.grid(1), cuda.laneid
    one = cuda.shfl_sync(0xFFFFFFFF, x[i], 1)
    other = cuda.shfl_xor_sync(-1, x[i], 1)
    up = cuda.shfl_up_sync(FULL, x[i], 1)
    down = cuda.shfl_down_sync(FULL, x[i], 1)
    cuda.syncwarp()
    out[i, 0] = one == x[i - lane + 1]
    out[i, 1] = other == x[i ^ 1]
    out[i, 2] = lane == 0 or up == x[max(i - 1, 0)]
    out[i, 3] = lane == cuda.warpsize - 1 or down == x[min(i + 1, x.size - 1)]


def test_shuffles_read_other_lanes(runner):
    _, out = runner.run(shuffles, 1, N, np.arange(N, dtype="i4") * 3, np.zeros((N, 4), "i4"))
    assert (out == 1).all()


@cuda.jit
def votes(x, out):
    i = cuda.grid(1)
    out[i, 0] = cuda.any_sync(FULL, x[i] == 1)
    out[i, 1] = cuda.all_sync(FULL, x[i] < 9)
    out[i, 2] = cuda.eq_sync(FULL, x[i] > 99)
    out[i, 3] = cuda.ballot_sync(FULL, cuda.laneid < 2)
    out[i, 4] = cuda.any_sync(1, cuda.laneid == 1)
    out[i, 5] = cuda.all_sync(1, cuda.laneid == 0)
    out[i, 6] = cuda.ballot_sync(2, cuda.laneid < 2)
    out[i, 7] = cuda.popc(cuda.activemask()) == cuda.blockDim.x
    out[i, 8] = cuda.lanemask_lt() == (1 << cuda.laneid) - 1


def test_votes_count_the_lanes_of_the_mask(runner):
    _, out = runner.run(votes, 1, 8, np.ones(8, "i4"), np.zeros((8, 9), "i8"))
    assert out.tolist() == [[1, 1, 1, 3, 0, 1, 2, 1, 1]] * 8


@cuda.jit
def matches(x, out):
    i = cuda.grid(1)
    same = cuda.match_any_sync(FULL, x[i])
    every, is_every = cuda.match_all_sync(FULL, x[i])
    pair, is_pair = cuda.match_all_sync(0b11, x[i])
    out[i, 0] = same
    out[i, 1] = every + 2 * is_every
    out[i, 2] = pair + 10 * is_pair


def test_matches_find_equal_values(runner):
    x = np.array([5, 5, 7, 5, 7, 9, 9, 9], "i4")
    _, out = runner.run(matches, 1, 8, x, np.zeros((8, 3), "i8"))
    assert out[:, 0].tolist() == [int(sum(1 << j for j in range(8) if x[j] == each)) for each in x]
    assert out[:, 1].tolist() == [0] * 8
    assert out[:, 2].tolist() == [13] * 8


@cuda.jit
def updates(a):
    i = cuda.grid(1)
    cuda.atomic.add(a, 0, i)
    cuda.atomic.sub(a, 1, i)
    cuda.atomic.and_(a, 2, ~(1 << i))
    cuda.atomic.or_(a, 3, 1 << i)
    cuda.atomic.xor(a, 4, 3)
    cuda.atomic.max(a, 5, i)
    cuda.atomic.min(a, (6,), i)
    cuda.atomic.exch(a, 7, 9)
    cuda.atomic.cas(a, 8, 0, 7)
    cuda.atomic.compare_and_swap(a[9:], 0, 8)
    cuda.atomic.inc(a, 10, 2)
    cuda.atomic.dec(a, 11, 5)


def test_atomics_update_as_in_cuda(runner):
    start = np.array([0, 100, 255, 0, 0, 0, 50, 0, 0, 0, 0, 0], "i4")
    (a,) = runner.run(updates, 1, 8, start)
    assert a.tolist() == [28, 72, 0, 255, 0, 7, 0, 9, 7, 8, 2, 4]


@cuda.jit
def extremes(values, out):
    i = cuda.grid(1)
    cuda.atomic.nanmax(out, 0, values[i])
    cuda.atomic.nanmin(out, 1, values[i])


def test_extremes_leave_nan_out(runner):
    values = np.array([3, np.nan, 8, -2, np.nan], "f4")
    _, out = runner.run(extremes, 1, 5, values, np.full(2, np.nan, "f4"))
    assert out.tolist() == [8, -2]


@cuda.jit
def bits(x, out):
    i = cuda.grid(1)
    out[i, 0] = cuda.popc(x[i])
    out[i, 1] = cuda.clz(x[i])
    out[i, 2] = cuda.brev(x[i])
    out[i, 3] = cuda.ffs(x[i])


@pytest.mark.parametrize("dtype", ["u4", "u8"])
def test_bits_are_counted_in_the_width_of_the_type(runner, dtype):
    width = 8 * np.dtype(dtype).itemsize
    x = np.array([0, 1, 6, 0x80000000, 2**width - 1, 12345678], dtype)
    _, out = runner.run(bits, 1, x.size, x, np.zeros((x.size, 4), dtype))
    for value, row in zip(x.tolist(), out.tolist(), strict=True):
        text = f"{value:0{width}b}"
        leading = width - len(text.lstrip("0"))
        lowest = len(text) - text.rfind("1") if value else 0
        assert row == [text.count("1"), leading, int(text[::-1], 2), lowest]


@cuda.jit
def numbers(x, out):
    i = cuda.grid(1)
    out[i, 0] = cuda.selp(x[i] > 0, x[i], -x[i])
    out[i, 1] = cuda.fma(x[i], x[i], float32(1))
    out[i, 2] = cuda.cbrt(x[i])
    out[i, 3] = cuda.float32x1(x[i]).x + cuda.float2(x[i], 1).y
    cuda.nanosleep(10)
    cuda.threadfence()
    cuda.threadfence_block()
    cuda.threadfence_system()


def test_functions_of_numbers_equal_numpy(runner):
    x = np.array([-8, 27, 0.5], "f4")
    _, out = runner.run(numbers, 1, 3, x, np.zeros((3, 4), "f4"))
    expected = np.stack([abs(x), x * x + 1, np.cbrt(x), x + 1], 1)
    np.testing.assert_allclose(out, expected, rtol=1e-6)


@cuda.jit
def halves(x, out):
    i = cuda.grid(1)
    out[i, 0] = fp16.hadd(x[i], x[i])
    out[i, 1] = fp16.hfma(x[i], x[i], 1)
    out[i, 2] = fp16.hsqrt(fp16.habs(x[i]))
    out[i, 3] = fp16.hneg(fp16.hmax(x[i], 2))
    out[i, 4] = fp16.hlt(x[i], 2)
    out[i, 5] = fp16.hrcp(x[i])


def test_functions_of_float16_equal_numpy(runner):
    if runner.backend.device.backend == "opencl" and not runner.backend.device.has_aspect_fp16:
        pytest.skip("the device has no float16")
    x = np.array([4, -1, 0.5], "f2")
    _, out = runner.run(halves, 1, 3, x, np.zeros((3, 6), "f2"))
    expected = np.stack([x + x, x * x + 1, np.sqrt(abs(x)), -np.maximum(x, 2), x < 2, 1 / x], 1)
    np.testing.assert_allclose(out, expected, rtol=2e-3)


@cuda.jit
def typed(out):
    out[0] = uint32(cuda.ballot_sync(FULL, True)) != 0
    out[1] = int32(cuda.popc(3))


def test_results_of_warps_convert(runner):
    (out,) = runner.run(typed, 1, 1, np.zeros(2, "i4"))
    assert out.tolist() == [1, 2]

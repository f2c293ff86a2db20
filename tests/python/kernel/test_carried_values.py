"""Loops that add to several values each round: GCC 11 to 14 vectorize some of them wrongly."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot.kernel as dppy
from kernel.backends import every_backend

pytestmark = pytest.mark.numpy

ITEMS, ROUNDS = 3, 5


def private_values(count):
    """A kernel with `count` values of a work-item that grow by a number of their own each round."""

    @dppy.kernel
    def kernel(out, steps, rounds):
        i = dppy.get_global_id(0)
        total = dppy.private.array(count, out.dtype)
        value = dppy.private.array(count, out.dtype)
        for k in range(count):
            total[k] = 0
            value[k] = steps[k] * 3 + i
        for _ in range(rounds):
            for k in range(count):
                total[k] += 2 * value[k]
                value[k] += steps[k]
        for k in range(count):
            out[i, k] = total[k]

    return kernel


def elements(count):
    """A kernel with these values, updated in place in an array."""

    @dppy.kernel
    def kernel(out, steps, rounds):
        i = dppy.get_global_id(0)
        value = dppy.private.array(count, out.dtype)
        for k in range(count):
            value[k] = steps[k] * 3 + i
        q = 0
        while q < rounds:
            q += 1
            for k in range(count):
                out[i, k] += 2 * value[k]
                value[k] += steps[k]

    return kernel


@every_backend
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("count", [4, 8, 16, 32])
@pytest.mark.parametrize("kernel", [private_values, elements], ids=["private", "elements"])
def test_value_that_grows_in_a_loop(backend, kernel, count, dtype):
    steps = (np.arange(count) ** 2 % 64 - 7).astype(dtype)
    out, _ = backend.run(kernel(count), ITEMS, None, np.zeros((ITEMS, count), dtype), steps, ROUNDS)
    start = steps * 3 + np.arange(ITEMS, dtype=dtype)[:, np.newaxis]
    expected = sum(2 * (start + q * steps) for q in range(ROUNDS))
    assert out.tolist() == expected.tolist()


@dppy.kernel
def scalars(out, steps, rounds):
    i = dppy.get_global_id(0)
    a, b, c, d, e, f, g, h = i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7
    for _ in range(rounds):
        out[i, 0] += a
        out[i, 1] += b
        out[i, 2] += c
        out[i, 3] += d
        out[i, 4] += e
        out[i, 5] += f
        out[i, 6] += g
        out[i, 7] += h
        a += steps[0]
        b += steps[1]
        c += steps[2]
        d += steps[3]
        e += steps[4]
        f += steps[5]
        g += steps[6]
        h += steps[7]


@every_backend
def test_eight_variables_that_grow_in_a_loop(backend):
    steps = np.array([3, -1, 4, 1, 5, -9, 2, 6], "i8")
    out, _ = backend.run(scalars, ITEMS, None, np.zeros((ITEMS, 8), "i8"), steps, ROUNDS)
    start = np.arange(8) + np.arange(ITEMS)[:, np.newaxis]
    assert out.tolist() == sum(start + q * steps for q in range(ROUNDS)).tolist()


@dppy.kernel
def across_barriers(out, a, n):
    i = dppy.get_global_id(0)
    lid = dppy.get_local_id(0)
    shared = dppy.local.array(8, dppy.int64)
    own = dppy.private.array(4, dppy.int64)
    for k in range(4):
        own[k] = k * lid
    value = a[i]
    shared[lid] = (value % 8) - (lid - a[(i + 7) % 32])
    dppy.barrier()
    step = dppy.int64(shared[(lid + 4) % 8] // 4 + shared[(lid + 6) % 8])
    for _ in range(dppy.get_group_id(0) + 1):
        out[i] ^= 3 + n * value
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        value += max(own[lid & 3] - i, step | (lid * 3 + 1))


@every_backend
def test_value_that_grows_between_barriers(backend):
    a = np.random.default_rng(21870).integers(-20, 20, 32)
    out, _ = backend.run(across_barriers, 32, 8, np.zeros(32, "i8"), a, 2)
    expected = []
    for i in range(32):
        group, lid, value = i // 8, i % 8, int(a[i])
        shared = [
            int(a[8 * group + j]) % 8 - (j - int(a[(8 * group + j + 7) % 32])) for j in range(8)
        ]
        step = shared[(lid + 4) % 8] // 4 + shared[(lid + 6) % 8]
        result = 0
        for _ in range(group + 1):
            result ^= 3 + 2 * value
            value += max((lid & 3) * lid - i, step | (lid * 3 + 1))
        expected.append(result)
    assert out.tolist() == expected

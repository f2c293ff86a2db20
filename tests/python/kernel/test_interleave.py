"""Loops that sum floats, whose work-items the host interleaves as lanes of vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import entrepot.kernel as dppy
from kernel.backends import every_backend

pytestmark = pytest.mark.numpy

#: Rows shorter than a block of lanes, blocks of both sizes, and rests of them.
SIZES = [1, 7, 8, 9, 31, 32, 63, 64, 65, 77, 136]


@dppy.kernel
def matmul(out, a, b):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    total = a[0, 0] * 0
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    out[i, j] = total


@dppy.kernel
def guarded_matmul(out, a, b):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    if i < a.shape[0] and j < b.shape[1] - 1:
        total = a[0, 0] * 0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        out[i, j] += total


@dppy.kernel
def forces(out, points):
    i = dppy.get_global_id(0)
    x = points[i, 0]
    y = points[i, 1]
    total = np.float32(0)
    for j in range(points.shape[0]):
        dx = points[j, 0] - x
        dy = points[j, 1] - y
        distance = dx * dx + dy * dy + np.float32(0.01)
        if j != i:
            total += dx / (distance * math.sqrt(distance))
    out[i] = total


@dppy.kernel
def convolution(out, x, weights, taps):
    i = dppy.get_global_id(0)
    first = 2
    total = x[i] * 0
    for k in range(1, taps, 2):
        total = total * weights[k] + x[i + k] * first
    out[i] = total + i


@dppy.kernel
def reversed_convolution(out, x, weights, taps):
    i = dppy.get_global_id(0)
    total = x[i] * 0
    for k in range(20, 0, -1):
        total = total * weights[k - 1] + x[i + k]
    out[i] = total + taps


@dppy.kernel
def several_recurrences(out, x, scale, n):
    i = dppy.get_global_id(0)
    low = np.float32(10)
    high = np.float32(0)
    mean = np.float64(0)
    count = np.int32(0)
    for k in range(n):
        value = x[k] * scale[i]
        low = min(low, value)
        high = value if value > high else high
        mean += value
        if value > 0.5 and k < n - 1:
            count += np.int32(1)
    out[i, 0] = low
    out[i, 1] = high
    out[i, 2] = mean / n
    out[i, 3] = count


@dppy.kernel
def own_lengths(out, x, lengths):
    i = dppy.get_global_id(0)
    total = np.float32(0)
    for k in range(lengths[i]):
        total += x[k]
    out[i] = total


def in_order(terms):
    """The sum along the last axis, added from left to right in the terms' type."""
    return np.add.accumulate(terms, axis=-1)[..., -1]


def assert_same(backend, found, expected):
    """Equal on the host, which adds in the order of the source, and close elsewhere."""
    if backend.dialect == "c++":
        assert found.tolist() == expected.tolist()
    else:
        assert np.allclose(found, expected, rtol=1e-4, atol=1e-5)


def numbers(*shape, dtype="f4"):
    return np.random.default_rng(7).random(shape).astype(dtype)


@every_backend
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("columns", SIZES)
def test_matmul_of_any_width_adds_in_order(backend, dtype, columns):
    if dtype == "f8" and not backend.fp64:
        pytest.skip("the device has no float64")
    if backend.simulates and columns > 32:
        pytest.skip("too many work-items to simulate")
    a, b = numbers(3, 20, dtype=dtype), numbers(20, columns, dtype=dtype)
    expected = in_order(a[:, None, :] * b.T[None, :, :])
    out, *_ = backend.run(matmul, (3, columns), None, np.zeros((3, columns), dtype), a, b)
    assert_same(backend, out, expected)
    out, *_ = backend.run(guarded_matmul, (4, columns), None, np.ones((4, columns), dtype), a, b)
    assert_same(backend, out[:3, :-1], (1 + expected)[:, :-1])
    assert (out[3:] == 1).all() and (out[:, -1] == 1).all()


@every_backend
@pytest.mark.parametrize("count", [17, 64, 75])
def test_forces_of_points_skip_the_own_one(backend, count):
    if backend.simulates and count > 17:
        pytest.skip("too many work-items to simulate")
    points = numbers(count, 2)
    dx = points[None, :, 0] - points[:, None, 0]
    dy = points[None, :, 1] - points[:, None, 1]
    distance = dx * dx + dy * dy + np.float32(0.01)
    terms = dx / (distance * np.sqrt(distance))
    terms[np.arange(count), np.arange(count)] = 0
    out, _ = backend.run(forces, count, None, np.zeros(count, "f4"), points)
    assert_same(backend, out, in_order(terms))


@every_backend
@pytest.mark.parametrize("kernel", [convolution, reversed_convolution], ids=["up", "down"])
@pytest.mark.parametrize("taps", [0, 2, 20])
def test_loop_of_any_range_evaluates_its_rounds(backend, kernel, taps):
    count = 70 if not backend.simulates else 9
    x, weights = numbers(count + 21), numbers(20)
    expected = np.zeros(count, "f4")
    if kernel is convolution:
        for k in range(1, taps, 2):
            expected = expected * weights[k] + x[k : k + count] * np.float32(2)
        expected += np.arange(count, dtype="f4")
    else:
        for k in range(20, 0, -1):
            expected = expected * weights[k - 1] + x[k : k + count]
        expected += np.float32(taps)
    out, *_ = backend.run(kernel, count, None, np.zeros(count, "f4"), x, weights, taps)
    assert_same(backend, out, expected)


@every_backend
def test_several_recurrences_keep_their_types(backend):
    if not backend.fp64:
        pytest.skip("the device has no float64")
    count, n = (70, 40) if not backend.simulates else (9, 20)
    x, scale = numbers(n), numbers(count)
    values = x[None, :] * scale[:, None]
    expected = np.stack(
        [
            values.min(1),
            values.max(1),
            in_order(values.astype("f8")) / n,
            (values[:, :-1] > 0.5).sum(1),
        ],
        1,
    )
    out, *_ = backend.run(several_recurrences, count, None, np.zeros((count, 4)), x, scale, n)
    assert_same(backend, out, expected)


@every_backend
def test_loops_of_own_lengths_are_no_lanes(backend):
    count = 70 if not backend.simulates else 9
    x = numbers(100)
    lengths = np.random.default_rng(3).integers(0, 100, count)
    expected = np.array([in_order(np.append(np.float32(0), x[:n])) for n in lengths], "f4")
    out, *_ = backend.run(own_lengths, count, None, np.zeros(count, "f4"), x, lengths)
    assert_same(backend, out, expected)

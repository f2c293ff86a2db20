"""Programs whose threads compute one element each, or some with a stride."""

from __future__ import annotations

import math

import numpy as np
import pytest

from entrepot import numba_cuda as cuda

pytestmark = pytest.mark.numpy

N = 1000


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


def test_vector_add_with_guard_adds(runner):
    a, b = np.arange(N, dtype="f4"), np.arange(N, dtype="f4")[::-1].copy()
    *_, c = runner.run(add, math.ceil(N / 128), 128, a, b, np.zeros(N, "f4"))
    assert c.tolist() == [N - 1] * N


@cuda.jit
def saxpy(a, x, y):
    start = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(start, x.shape[0], cuda.blockDim.x * cuda.gridDim.x):
        y[i] = a * x[i] + y[i]


def test_saxpy_with_block_stride_covers_all(runner):
    x = np.linspace(0, 1, N, dtype="f4")
    _, y = runner.run(saxpy, 4, 32, 2.0, x, np.ones(N, "f4"))
    np.testing.assert_allclose(y, 2 * x + 1, rtol=1e-6)


@cuda.jit
def squares(x, out):
    start, stride = cuda.grid(1), cuda.gridsize(1)
    for i in range(start, x.size, stride):
        out[i] = x[i] ** 2


def test_grid_stride_loop_covers_all(runner):
    x = np.arange(N, dtype="i8")
    _, out = runner.run(squares, 3, 40, x, np.zeros(N, "i8"))
    assert (out == x**2).all()


@cuda.jit
def increment(image):
    x, y = cuda.grid(2)
    if x < image.shape[0] and y < image.shape[1]:
        image[x, y] += 1


def test_increment_in_two_dimensions_reaches_each_once(runner):
    (image,) = runner.run(increment, (5, 3), (8, 16), np.zeros((37, 45), "i4"))
    assert (image == 1).all()


@cuda.jit
def coordinates(out):
    x, y, z = cuda.grid(3)
    out[x, y, z, 0] = cuda.threadIdx.x + 10 * cuda.threadIdx.y + 100 * cuda.threadIdx.z
    out[x, y, z, 1] = cuda.blockIdx.x + 10 * cuda.blockIdx.y + 100 * cuda.blockIdx.z
    out[x, y, z, 2] = cuda.blockDim.x + 10 * cuda.blockDim.y + 100 * cuda.blockDim.z
    out[x, y, z, 3] = cuda.gridDim.x + 10 * cuda.gridDim.y + 100 * cuda.gridDim.z


def test_axes_in_three_dimensions_are_those_of_cuda(runner):
    (out,) = runner.run(coordinates, (2, 1, 3), (2, 4, 1), np.zeros((4, 4, 3, 4), "i8"))
    for x, y, z in np.ndindex(4, 4, 3):
        assert out[x, y, z].tolist() == [x % 2 + 10 * y, x // 2 + 100 * z, 142, 312]


@cuda.jit
def fastest(out):
    i = cuda.grid(1)
    out[i] = cuda.threadIdx.y + cuda.blockDim.y + cuda.gridDim.z


def test_absent_dimensions_have_id_0_and_size_1(runner):
    (out,) = runner.run(fastest, 2, 3, np.zeros(6, "i8"))
    assert out.tolist() == [2] * 6


@cuda.jit(device=True)
def escapes_after(re, im, limit):
    x, y = 0.0, 0.0
    for step in range(limit):
        if x * x + y * y > 4.0:
            return step
        x, y = x * x - y * y + re, 2.0 * x * y + im
    return limit


@cuda.jit
def mandelbrot(image, left, right, bottom, top, limit):
    column, row = cuda.grid(2)
    height, width = image.shape
    if column < width and row < height:
        re = left + (right - left) * column / width
        im = bottom + (top - bottom) * row / height
        image[row, column] = escapes_after(re, im, limit)


def mandelbrot_of_numpy(height, width, limit):
    image = np.zeros((height, width), "i4")
    for row, column in np.ndindex(height, width):
        image[row, column] = escapes_after(
            -2.0 + 3.0 * column / width, -1.0 + 2.0 * row / height, limit
        )
    return image


def test_mandelbrot_with_device_function_equals_python(runner):
    (image,) = runner.run(
        mandelbrot, (5, 3), (8, 8), np.zeros((20, 36), "i4"), -2.0, 1.0, -1.0, 1.0, 30
    )
    assert (image == mandelbrot_of_numpy(20, 36, 30)).all()


@cuda.jit
def julia(image, c):
    column, row = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        z = complex(-1.5 + 3.0 * column / image.shape[1], -1.5 + 3.0 * row / image.shape[0])
        count = 0
        while count < 40 and z.real * z.real + z.imag * z.imag < 4.0:
            z = z * z + c
            count += 1
        image[row, column] = count


def test_julia_set_with_complex_numbers_equals_numpy(runner):
    (image,) = runner.run(julia, (3, 3), (8, 8), np.zeros((20, 20), "u1"), -0.8 + 0.156j)
    row, column = np.mgrid[0:20, 0:20]
    z = -1.5 + 3.0 * column / 20 + 1j * (-1.5 + 3.0 * row / 20)
    expected = np.zeros((20, 20), "u1")
    for _ in range(40):
        inside = z.real**2 + z.imag**2 < 4
        expected += inside
        z = np.where(inside, z * z - 0.8 + 0.156j, z)
    assert (image == expected).mean() > 0.99  # an escape may differ by rounding


@cuda.jit
def n_body(positions, velocities, dt):
    i = cuda.grid(1)
    if i >= positions.shape[0]:
        return
    ax, ay, az = 0.0, 0.0, 0.0
    for j in range(positions.shape[0]):
        dx = positions[j, 0] - positions[i, 0]
        dy = positions[j, 1] - positions[i, 1]
        dz = positions[j, 2] - positions[i, 2]
        inverse = 1.0 / math.sqrt(dx * dx + dy * dy + dz * dz + 0.01)
        cube = inverse * inverse * inverse
        ax += dx * cube
        ay += dy * cube
        az += dz * cube
    velocities[i, 0] += dt * ax
    velocities[i, 1] += dt * ay
    velocities[i, 2] += dt * az


def test_n_body_step_equals_numpy(runner):
    places = np.random.default_rng(1).random((50, 3))
    _, moved = runner.run(n_body, 2, 32, places, np.zeros((50, 3)), 0.5)
    between = places[None] - places[:, None]
    weights = ((between**2).sum(-1) + 0.01) ** -1.5
    np.testing.assert_allclose(moved, 0.5 * (between * weights[..., None]).sum(1), rtol=1e-6)


def test_numpy_arguments_are_written_when_the_launch_returns(runner):
    a, c = np.ones(10, "f4"), np.zeros(10, "f4")
    runner.launch(add, 1, 16, a, a, c)
    assert c.tolist() == [2] * 10


def test_forall_covers_each_task(device):
    a, c = cuda.to_device(np.ones(N, "f4")), cuda.device_array(N, "f4")
    add.forall(N)(a, a, c)
    assert (c.copy_to_host() == 2).all()
    add.forall(N, tpb=64)(c, c, c)
    assert (c.copy_to_host() == 4).all()

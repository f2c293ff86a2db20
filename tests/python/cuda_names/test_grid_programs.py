"""Programs on two-dimensional grids, which read their neighbors."""

from __future__ import annotations

import numpy as np
import pytest

from entrepot import numba_cuda as cuda
from entrepot.kernel import float32

pytestmark = pytest.mark.numpy

SHAPE = (20, 28)
GRID, BLOCK = (3, 4), (8, 8)
EDGES = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], "f4")
WEIGHTS = np.array([0.25, 0.5, 0.25], "f4")


@cuda.jit
def heat_step(now, after, share):
    i, j = cuda.grid(2)
    if 0 < i < now.shape[0] - 1 and 0 < j < now.shape[1] - 1:
        around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
        after[i, j] = now[i, j] + share * (around - 4 * now[i, j])


def test_heat_equation_in_turns_equals_numpy(runner):
    start = np.zeros(SHAPE)
    start[10, 14] = 100
    now, after = cuda.to_device(start), cuda.to_device(start)
    expected = start.copy()
    for _ in range(5):
        runner.launch(heat_step, GRID, BLOCK, now, after, 0.2)
        now, after = after, now
        inner = expected[1:-1, 1:-1]
        around = expected[:-2, 1:-1] + expected[2:, 1:-1] + expected[1:-1, :-2] + expected[1:-1, 2:]
        expected = expected.copy()
        expected[1:-1, 1:-1] = inner + 0.2 * (around - 4 * inner)
    np.testing.assert_allclose(now.copy_to_host(), expected)


@cuda.jit
def laplace(now, after, change):
    i, j = cuda.grid(2)
    rows, columns = now.shape
    if i >= 1 and i < rows - 1 and j >= 1 and j < columns - 1:
        after[i, j] = 0.25 * (now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1])
        cuda.atomic.max(change, 0, abs(after[i, j] - now[i, j]))


def test_laplace_solver_with_atomic_change_converges(runner):
    start = np.zeros((10, 10))
    start[0] = 1
    now, after, change = (cuda.to_device(each) for each in (start, start, np.zeros(1)))
    for _ in range(40):
        change[:] = 0
        runner.launch(laplace, (2, 2), (8, 8), now, after, change)
        now, after = after, now
    assert 0 < change[0] < 1e-2
    values = now.copy_to_host()
    np.testing.assert_allclose(values, values[:, ::-1], atol=1e-12)


@cuda.jit(device=True)
def alive(board, i, j):
    return board[i % board.shape[0], j % board.shape[1]]


@cuda.jit
def life(board, after):
    j, i = cuda.grid(2)
    if i < board.shape[0] and j < board.shape[1]:
        count = 0
        for di in range(-1, 2):
            for dj in range(-1, 2):
                if di != 0 or dj != 0:
                    count += alive(board, i + di, j + dj)
        after[i, j] = 1 if count == 3 or (count == 2 and board[i, j] == 1) else 0


def test_game_of_life_on_a_torus_equals_numpy(runner):
    board = np.random.default_rng(6).integers(0, 2, SHAPE).astype("i4")
    _, after = runner.run(life, (4, 3), BLOCK, board, np.zeros_like(board))
    count = sum(
        np.roll(board, (di, dj), (0, 1)) for di in (-1, 0, 1) for dj in (-1, 0, 1) if di or dj
    )
    assert (after == ((count == 3) | ((count == 2) & (board == 1)))).all()


@cuda.jit
def sobel(image, out):
    weights = cuda.const.array_like(EDGES)
    j, i = cuda.grid(2)
    if 0 < i < image.shape[0] - 1 and 0 < j < image.shape[1] - 1:
        across, down = float32(0), float32(0)
        for di in range(3):
            for dj in range(3):
                pixel = image[i + di - 1, j + dj - 1]
                across += weights[di, dj] * pixel
                down += weights[dj, di] * pixel
        out[i, j] = (across**2 + down**2) ** float32(0.5)


def test_sobel_filter_with_constants_equals_numpy(runner):
    image = np.random.default_rng(7).random(SHAPE).astype("f4")
    _, out = runner.run(sobel, (4, 3), BLOCK, image, np.zeros(SHAPE, "f4"))
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    expected = np.hypot((windows * EDGES).sum((2, 3)), (windows * EDGES.T).sum((2, 3)))
    np.testing.assert_allclose(out[1:-1, 1:-1], expected, rtol=1e-4)


@cuda.jit
def blur_rows(image, out):
    window = cuda.local.array(3, float32)
    j, i = cuda.grid(2)
    if i < image.shape[0] and 0 < j < image.shape[1] - 1:
        for k in range(3):
            window[k] = image[i, j + k - 1] * WEIGHTS[k]
        out[i, j] = window[0] + window[1] + window[2]


def test_blur_with_local_array_and_captured_weights_equals_numpy(runner):
    image = np.random.default_rng(8).random(SHAPE).astype("f4")
    _, out = runner.run(blur_rows, (4, 3), BLOCK, image, np.zeros(SHAPE, "f4"))
    expected = 0.25 * image[:, :-2] + 0.5 * image[:, 1:-1] + 0.25 * image[:, 2:]
    np.testing.assert_allclose(out[:, 1:-1], expected, rtol=1e-5)

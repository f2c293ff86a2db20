"""Loops over tuples, arrays, enumerate and zip."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
from entrepot import numba_cuda as cuda

pytestmark = pytest.mark.numpy

WEIGHTS = (0.5, 1.5, 2.5)
NEIGHBORS = ((0, 1), (1, 0), (0, -1), (-1, 0))


@cuda.jit
def game_of_life(now, after):
    i, j = cuda.grid(2)
    rows, columns = now.shape
    if i < rows and j < columns:
        alive = 0
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                if down != 0 or right != 0:
                    alive += now[(i + down) % rows, (j + right) % columns]
        after[i, j] = 1 if alive == 3 or (alive == 2 and now[i, j] == 1) else 0


def test_game_of_life_follows_the_rules(runner):
    now = np.random.default_rng(1).integers(0, 2, (9, 7)).astype("u1")
    _, after = runner.run(game_of_life, (3, 2), (4, 4), now, np.zeros_like(now))
    around = sum(
        np.roll(now, (down, right), (0, 1)).astype(int)
        for down in (-1, 0, 1)
        for right in (-1, 0, 1)
        if down or right
    )
    assert (after == ((around == 3) | ((around == 2) & (now == 1)))).all()


def test_loop_over_captured_tuple_has_its_numbers(runner):
    @cuda.jit
    def total(out):
        found = 0.0
        for weight in WEIGHTS:
            found += weight * (cuda.grid(1) + 1)
        out[cuda.grid(1)] = found

    (out,) = runner.run(total, 1, 2, np.zeros(2))
    assert out.tolist() == [4.5, 9]


def test_loop_over_captured_pairs_unpacks_them(runner):
    @cuda.jit
    def total(out):
        found = 0
        for down, right in NEIGHBORS:
            found = 10 * found + 2 * down + right + 3
        out[cuda.grid(1)] = found

    (out,) = runner.run(total, 1, 1, np.zeros(1, "i8"))
    assert out[0] == 4521


def test_loop_over_values_evaluates_them_once_before(runner):
    @cuda.jit
    def total(a, out):
        i = cuda.grid(1)
        found = 0
        for value in (i, a[i], i + 2):
            a[i] = 100
            found = 10 * found + value
        out[i] = found

    _, out = runner.run(total, 1, 2, np.array([5, 6]), np.zeros(2, "i8"))
    assert out.tolist() == [52, 163]


def test_loop_over_array_has_break_and_continue(runner):
    @cuda.jit
    def total(a, out):
        found = 0
        for value in a:
            if value == 2:
                continue
            if value == 5:
                break
            found += value
        out[cuda.grid(1)] = found

    _, out = runner.run(total, 1, 1, np.arange(9), np.zeros(1, "i8"))
    assert out[0] == 0 + 1 + 3 + 4


def test_loop_over_row_has_its_elements(runner):
    @cuda.jit
    def sums(a, out):
        i = cuda.grid(1)
        for value in a[i]:
            out[i] += value

    _, out = runner.run(sums, 1, 3, np.arange(12.0).reshape(3, 4), np.zeros(3))
    assert out.tolist() == [6, 22, 38]


def test_loop_over_enumerate_and_zip_counts_from_the_start(runner):
    @cuda.jit
    def dot(a, b, out):
        found = 0
        for place, (x, y) in enumerate(zip(a, b), 1):  # noqa: B905
            found += place * x * y
        out[cuda.grid(1)] = found

    _, _, out = runner.run(dot, 1, 1, np.arange(4), np.arange(6), np.zeros(1, "i8"))
    assert out[0] == sum((k + 1) * k * k for k in range(4))


def test_start_of_enumerate_is_evaluated_before_the_loop(runner):
    @cuda.jit
    def places(a, out):
        start = 10
        for place, value in enumerate(a, start):
            start += value
            out[value] = place
        out[4] = start + cuda.grid(1)

    _, out = runner.run(places, 1, 1, np.arange(4), np.zeros(5, "i8"))
    assert out.tolist() == [10, 11, 12, 13, 16]


def test_loop_over_shared_memory_runs(runner):
    @cuda.jit
    def reverse_sums(a):
        i = cuda.threadIdx.x
        held = cuda.shared.array(4, "int64")
        held[i] = a[i]
        cuda.syncthreads()
        found = 0
        for value in held:
            found = 10 * found + value
        a[i] = found + i

    (a,) = runner.run(reverse_sums, 1, 4, np.array([1, 2, 3, 4]))
    assert a.tolist() == [1234, 1235, 1236, 1237]


def test_loop_in_device_function_and_vectorized_function_runs(device):
    @cuda.jit(device=True)
    def power_sum(x):
        total = 0.0
        for exponent in (1, 2, 3):
            total += x**exponent
        return total

    @cuda.vectorize(["float64(float64)"], target="cuda")
    def both(x):
        total = power_sum(x)
        for weight in WEIGHTS:
            total += weight
        return total

    assert both(np.array([2.0])).tolist() == [2 + 4 + 8 + 4.5]


@pytest.mark.parametrize("iterable", ["n", "a.shape", "enumerate(a, start=1)", "map(int, a)"])
def test_loop_over_something_else_is_refused(iterable, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(f"def wrong(a, n):\n    for i in {iterable}:\n        a[0] = 1\n")
    names: dict[str, object] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises(ep.KernelError, match=r"program\.py:2"):
        cuda.jit(names["wrong"])[1, 1](np.zeros(3), 3)

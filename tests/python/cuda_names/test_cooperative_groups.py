"""Programs whose blocks wait for each other: ``cuda.cg.this_grid().sync()``."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
from entrepot import numba_cuda as cuda
from entrepot.numba_cuda.cg import this_grid

pytestmark = pytest.mark.numpy

ROWS = ("void(int32[:, ::1])",)


def blocks_for(backend):
    """SYCL's devices run one block of a cooperative launch."""
    return 1 if backend.marker == "sycl" else 4


@cuda.jit
def sequential_rows(M):
    col = cuda.grid(1)
    g = cuda.cg.this_grid()

    rows = M.shape[0]
    cols = M.shape[1]

    for row in range(1, rows):
        opposite = cols - col - 1
        M[row, col] = M[row - 1, opposite] + 1
        g.sync()


@cuda.jit(device=True)
def wait():
    this_grid().sync()


@cuda.jit
def reversed_twice(a, b):
    grid, i = cuda.cg.this_grid(), cuda.grid(1)
    b[a.size - 1 - i] = a[i]
    wait()
    a[a.size - 1 - i] = b[i] * 2
    grid.sync()
    b[i] = a[0]


def test_documented_example_of_numba_runs(runner):
    blocks = blocks_for(runner.backend)
    (rows,) = runner.run(sequential_rows, blocks, 32, np.zeros((16, 32 * blocks), "i4"))
    np.testing.assert_array_equal(rows, np.tile(np.arange(16), (32 * blocks, 1)).T)


def test_device_function_that_waits_is_run_by_all_blocks(runner):
    blocks = blocks_for(runner.backend)
    a = np.arange(1, 8 * blocks + 1)
    found, last = runner.run(reversed_twice, blocks, 8, a, np.zeros_like(a))
    assert found.tolist() == (2 * a).tolist()
    assert last.tolist() == [2] * a.size


def test_most_blocks_of_a_cooperative_launch_are_accepted(device):
    made = cuda.jit(ROWS[0])(sequential_rows.py_func)
    most = made.overloads[ROWS[0]].max_cooperative_grid_blocks(16)
    assert most >= 1
    rows = cuda.to_device(np.zeros((3, 16 * most), "i4"))
    made[most, 16](rows)
    assert rows.copy_to_host()[2].tolist() == [2] * (16 * most)
    with pytest.raises(ep.KernelError, match=f"has {most + 1} work-groups"):
        made[most + 1, 16](cuda.to_device(np.zeros((3, 16 * (most + 1)), "i4")))


def test_limit_of_larger_blocks_is_no_larger(device):
    overload = sequential_rows.overloads[ROWS[0]]
    one = overload.max_cooperative_grid_blocks(32)
    assert overload.max_cooperative_grid_blocks((32, 4)) <= one
    assert overload.max_cooperative_grid_blocks(32, dynsmemsize=1024) <= one


def test_limit_of_blocks_refuses_sizes_that_are_no_sizes():
    overload = sequential_rows.overloads[ROWS[0]]
    with pytest.raises(ValueError, match="local_memory: -1 is negative"):
        overload.max_cooperative_grid_blocks(32, -1)
    with pytest.raises(TypeError, match="local_memory: an int was expected"):
        overload.max_cooperative_grid_blocks(32, dynsmemsize=1.5)
    with ep.device_context("host"):
        assert overload.max_cooperative_grid_blocks(32, 1 << 40) == 0


def test_overloads_are_those_of_the_signatures():
    made = cuda.jit(ROWS[0])(sequential_rows.py_func)
    assert list(made.overloads) == list(ROWS)
    with pytest.raises(KeyError):
        made.overloads["void(float32[:])"]
    with pytest.raises(cuda.NotServedError, match="profiler"):
        made.overloads[ROWS[0]].get_regs_per_thread()


@cuda.jit
def renamed_grid(a, b):
    g = cuda.cg.this_grid()
    h = g
    i, k = cuda.grid(1), h
    b[a.size - 1 - i] = a[i]
    k.sync()
    a[i] = b[i]
    h.sync()


def test_another_name_of_the_grid_waits(runner):
    blocks = blocks_for(runner.backend)
    a = np.arange(8 * blocks)
    found, _ = runner.run(renamed_grid, blocks, 8, a, np.zeros_like(a))
    assert found.tolist() == a[::-1].tolist()


def uses_size(a):
    g = cuda.cg.this_grid()
    g.sync()
    a[0] = g.size


def uses_another_attribute(a):
    h = g = cuda.cg.this_grid()
    g.sync()
    a[0] = h.group_index


def uses_a_value(a):
    g = cuda.cg.this_grid()
    g.sync()
    a[0] = g


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (uses_size, r"this_grid\(\)\.size` is not served: the number of threads .*gridsize\(1\)"),
        (uses_another_attribute, r"this_grid\(\)\.group_index` is not served: .*sync\(\)"),
        (uses_a_value, r"all threads of a launch, and only its method sync\(\)"),
    ],
)
def test_other_use_of_the_grid_is_refused_with_a_reason(function, reason):
    made = cuda.jit(function)
    for launch in (made[1, 1], made.simulate[1, 1]):
        with pytest.raises(ep.KernelError, match=reason):
            launch(np.zeros(1))


def test_name_with_another_value_later_is_served(runner):
    @cuda.jit
    def reused(a):
        g = cuda.cg.this_grid()
        g.sync()
        g = 3
        a[cuda.grid(1)] = g

    assert runner.run(reused, 1, 2, np.zeros(2, "i4"))[0].tolist() == [3, 3]


def test_barrier_does_not_use_the_resource_of_the_program(device):
    resource = ep.memory.statistics(ep.memory.direct())
    rows = cuda.to_device(np.zeros((3, 16), "i4"))
    with ep.memory.use_resource(resource):
        sequential_rows[1, 16](rows)
    assert rows.copy_to_host()[2].tolist() == [2] * 16
    assert resource.total_count == 0


def test_grid_that_does_not_wait_is_refused():
    @cuda.jit
    def wrong(a):
        a[0] = cuda.cg.this_grid()

    with pytest.raises(ep.KernelError, match=r"sync\(\)"):
        wrong[1, 1](np.zeros(1))

"""Grid barriers: all groups of a launch wait for each other, or the launch is refused."""

from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_compiled_dialect, every_compiler, every_dialect

pytestmark = pytest.mark.numpy

GROUP = 8


def groups_for(backend, wanted=6):
    """SYCL's devices run one group of a cooperative launch."""
    return 1 if backend.marker == "sycl" else wanted


@dppy.kernel
def count_rows(rows):
    column, columns = dppy.get_global_id(0), rows.shape[1]
    for row in range(1, rows.shape[0]):
        rows[row, column] = rows[row - 1, columns - column - 1] + 1
        dppy.grid_barrier()


@every_dialect
def test_rows_that_depend_on_other_groups_are_in_order(backend):
    items = GROUP * groups_for(backend)
    (rows,) = backend.run(count_rows, items, GROUP, np.zeros((9, items), "i4"))
    assert rows.tolist() == [[row] * items for row in range(9)]


@dppy.func
def meet():
    dppy.grid_barrier()


@dppy.kernel
def sum_of_groups(values, parts, total):
    shared = dppy.local.array(8, dppy.int64)
    own, i = dppy.get_local_id(0), dppy.get_global_id(0)
    square = values[i] * values[i]
    shared[own] = square
    meet()
    if own == 0:
        mine = np.int64(0)
        for k in range(8):
            mine += shared[k]
        parts[dppy.get_group_id(0)] = mine
    meet()
    if i == 0:
        found = np.int64(0)
        for k in range(dppy.get_num_groups(0)):
            found += parts[k]
        total[0] = found
    dppy.grid_barrier()
    values[i] = total[0] - square


@every_dialect
def test_local_memory_and_variables_live_across_grid_barriers(backend):
    groups = groups_for(backend)
    values = np.arange(GROUP * groups)
    squares = values * values
    found, _, total = backend.run(
        sum_of_groups, values.size, GROUP, values, np.zeros(groups, "i8"), np.zeros(1, "i8")
    )
    assert total.tolist() == [squares.sum()]
    assert found.tolist() == (squares.sum() - squares).tolist()


@dppy.kernel
def transposed_sums(a, b):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    b[i, j] = a[j, i]
    dppy.grid_barrier()
    a[i, j] = a[i, j] + b[b.shape[0] - 1 - i, b.shape[1] - 1 - j]


@every_dialect
def test_two_dimensions_meet_at_a_grid_barrier(backend):
    extent = 4 if backend.marker == "sycl" else 8
    a = np.arange(extent * extent).reshape(extent, extent)
    found, _ = backend.run(transposed_sums, (extent, extent), (4, 4), a, np.zeros_like(a))
    np.testing.assert_array_equal(found, a + a.T[::-1, ::-1])


@every_compiler
def test_consecutive_launches_begin_with_a_fresh_count(backend):
    """A count that another number of groups left behind would let a group pass too early."""
    most = GROUP * groups_for(backend)
    for items in (most, max(most - GROUP, GROUP)) * 3:
        rows = backend.array(np.zeros((20, items), "i4"))
        backend.launch(count_rows, items, GROUP, rows)
        assert rows.copy_to_host().numpy()[19].tolist() == [19] * items


@pytest.mark.host
def test_launches_of_several_queues_do_not_share_groups():
    failed = []

    def launch():
        queue = ep.Queue("host")
        for _ in range(5):
            rows = ep.asarray(np.zeros((20, 48), "i4"))
            count_rows[48, GROUP](rows, queue=queue).wait()
            if rows.numpy()[19].tolist() != [19] * 48:
                failed.append(rows.numpy()[19].tolist())

    threads = [threading.Thread(target=launch) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failed == []


@dppy.kernel
def shift(values, others):
    i = dppy.get_global_id(0)
    others[i] = values[i]
    dppy.grid_barrier()
    values[i] = others[i + 1]


@every_compiler
def test_index_out_of_bounds_after_a_grid_barrier_is_reported(backend):
    items = GROUP * groups_for(backend)
    checked = shift.options(debug=True)
    with pytest.raises(IndexError, match=f"index {items} is out of bounds"):
        backend.run(checked, items, GROUP, np.zeros(items), np.zeros(items))


@every_compiled_dialect
def test_launch_of_too_many_groups_names_both_numbers(backend):
    groups = 3 if backend.marker == "sycl" else 257 if backend.marker == "host" else 100_000
    most = {"sycl": "1", "host": "256"}.get(backend.marker, r"\d+")
    rows = backend.array(np.zeros((2, GROUP * groups), "i4"))
    with pytest.raises(ep.KernelError, match=rf"has {groups} work-groups, and .* runs {most} of"):
        backend.launch(count_rows, GROUP * groups, GROUP, rows)


@dppy.kernel
def under_a_condition(values):
    if dppy.get_group_id(0) == 0:
        dppy.grid_barrier()
    values[dppy.get_global_id(0)] = 1


@every_compiler
def test_grid_barrier_of_single_groups_is_refused(backend):
    with pytest.raises(ep.KernelError, match="not be reached by all work-items of the launch"):
        backend.run(under_a_condition, 16, 8, np.zeros(16))


@dppy.kernel
def in_some_groups(values):
    if values[dppy.get_group_id(0)] > 0:
        return
    dppy.grid_barrier()


@pytest.mark.host
def test_grid_barrier_after_a_return_of_some_groups_is_refused():
    with pytest.raises(ep.KernelError, match="not be reached by all work-items of the launch"):
        in_some_groups[16, 8](np.zeros(16))


@pytest.mark.host
def test_simulator_reports_groups_that_do_not_come():
    with pytest.raises(ep.KernelError, match="1 of 2 groups wait at the grid barrier"):
        under_a_condition.simulate[16, 8](np.zeros(16))


@dppy.kernel
def without_barrier(values, others):
    i = dppy.get_global_id(0)
    others[i] = values[i]
    values[i] = others[(i + 8) % others.size]


@pytest.mark.host
def test_race_of_groups_without_a_grid_barrier_is_reported():
    with pytest.raises(ep.KernelError, match=r"grid_barrier\(\)"):
        without_barrier.simulate[16, 8](np.zeros(16), np.zeros(16))


@pytest.mark.host
def test_export_of_a_kernel_with_grid_barriers_is_refused(tmp_path):
    with pytest.raises(ep.KernelError, match="grid barriers"):
        count_rows.export(tmp_path / "rows.hpp", signature="void(int32[:, ::1])")


@pytest.mark.host
@pytest.mark.parametrize("groups", [1, 2])
def test_graph_on_the_host_takes_kernels_of_one_group(groups):
    queue = ep.Queue("host")
    rows = ep.zeros((4, GROUP * groups), "int32", queue=queue)
    launch = count_rows[GROUP * groups, GROUP]
    launch(rows).wait()
    with contextlib.ExitStack() as refused:
        if groups > 1:
            refused.enter_context(pytest.raises(ep.DeviceError, match="runs the 2 groups of"))
        with ep.record(queue) as graph:
            launch(rows)
        ep.fill(rows, 0).wait()
        graph.replay()
        queue.wait()
        assert rows.numpy()[3].tolist() == [3] * GROUP

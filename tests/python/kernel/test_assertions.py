"""``assert`` in kernels: checked in debug builds and in the simulator, and dropped otherwise."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import entrepot.kernel as dppy
from kernel.backends import every_backend, every_compiled_dialect
from support.places import values_of

pytestmark = pytest.mark.numpy


def checked(backend, kernel):
    return kernel if backend.simulates else kernel.options(debug=True)


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


@dppy.kernel
def increments(a, n):
    i = dppy.get_global_id(0)
    assert i < n, "more work-items than elements"
    a[i] += 1


@every_backend
def test_assertion_that_holds_changes_nothing(backend):
    array = backend.array(np.zeros(8, "f4"))
    backend.launch(checked(backend, increments), 8, None, array, 8)
    assert values_of(array).tolist() == [1] * 8


@every_backend
def test_assertion_that_fails_names_line_message_and_work_item(backend):
    array = backend.array(np.zeros(8, "f4"))
    line = line_of(increments.function, "assert")
    with pytest.raises(AssertionError) as caught:
        backend.launch(checked(backend, increments), 8, None, array, 5)
    message = str(caught.value)
    assert re.search(rf"test_assertions\.py:{line}: ", message)
    assert "assertion failed: more work-items than elements" in message
    assert re.search(r"work-item \([567]", message)
    assert 'assert i < n, "more work-items than elements"' in message


@every_compiled_dialect
def test_assertion_that_fails_leaves_the_kernel_usable(backend):
    array = backend.array(np.zeros(8, "f4"))
    with pytest.raises(AssertionError):
        backend.launch(increments.options(debug=True), 8, None, array, 5)
    assert values_of(array).tolist() == [1] * 8, "all work-items run to their end"
    backend.launch(increments.options(debug=True), 8, None, array, 8)
    assert values_of(array).tolist() == [2] * 8


@every_compiled_dialect
def test_assertion_without_debug_is_dropped(backend):
    array = backend.array(np.zeros(8, "f4"))
    backend.launch(increments, 8, None, array, 0)
    assert values_of(array).tolist() == [1] * 8
    source = increments.source(
        dialect=backend.dialect, signature="void(float32[::1], int64)", device=backend.device
    )
    assert "report" not in source


@dppy.func
def root(x):
    assert x >= 0
    return x**0.5


@dppy.kernel
def roots(a):
    i = dppy.get_global_id(0)
    a[i] = root(a[i])


@every_backend
def test_assertion_in_a_function_names_the_line_of_the_function(backend):
    line = line_of(root.function, "assert")
    with pytest.raises(AssertionError, match=rf"test_assertions\.py:{line}: .*assertion failed"):
        backend.run(checked(backend, roots), 4, None, np.array([4, 1, -1, 0], "f4"))


@dppy.kernel
def reverses(a):
    local = dppy.local.array(4, "float32")
    i, k = dppy.get_global_id(0), dppy.get_local_id(0)
    local[k] = a[i]
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    assert local[0] < local[3], "ascending"
    a[i] = local[3 - k]


@every_backend
def test_assertion_after_a_barrier_fails_in_its_group(backend):
    values = np.array([0, 1, 2, 3, 7, 6, 5, 4, 0, 1, 2, 3], "f4")
    with pytest.raises(AssertionError, match=r"work-item \([4567]"):
        backend.run(checked(backend, reverses), 12, 4, values)
    (result,) = backend.run(checked(backend, reverses), 4, 4, values[:4])
    assert result.tolist() == [3, 2, 1, 0]


@dppy.kernel
def counts_calls(a, calls):
    assert dppy.atomic.add(calls, 0, 1) >= 0
    a[dppy.get_global_id(0)] = 1


@every_compiled_dialect
def test_condition_without_debug_has_no_effects(backend):
    arrays = [np.zeros(4, "i4"), np.zeros(1, "i4")]
    assert backend.run(counts_calls, 4, None, *arrays)[1].tolist() == [0]
    assert backend.run(counts_calls.options(debug=True), 4, None, *arrays)[1].tolist() == [4]

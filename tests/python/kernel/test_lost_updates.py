"""Unsynchronized updates of one element by all work-items are refused if there are several."""

from __future__ import annotations

import re

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_compiler

pytestmark = pytest.mark.numpy


@dppy.kernel
def augmented(s, a):
    i = dppy.get_global_id(0)
    s[0] += a[i]


@dppy.kernel
def loaded_and_stored(s, a):
    i = dppy.get_global_id(0)
    s[0] = a[i] + s[0]


@dppy.kernel
def through_a_variable(s, a):
    i = dppy.get_global_id(0)
    total = s[0]
    total += a[i]
    s[0] = total


@dppy.kernel
def counted(s, a):
    s[len(a) - len(a)] += 1


@dppy.kernel
def at_the_index_of_a_loop(s, a):
    i = dppy.get_global_id(0)
    for k in range(s.shape[0]):
        s[k] += a[i]


@dppy.kernel
def under_a_uniform_condition(s, a):
    i = dppy.get_global_id(0)
    if len(a) > 2:
        s[0] += a[i]


@dppy.kernel
def at_a_loaded_index(s, a):
    s[a[0]] += a[dppy.get_global_id(0)]


@dppy.func
def add_to(s, k, value):
    s[k] += value


@dppy.kernel
def in_a_function(s, a):
    add_to(s, 0, a[dppy.get_global_id(0)])


@dppy.kernel
def subtracted(s, a):
    s[0] -= a[dppy.get_global_id(0)]


@dppy.kernel
def greatest(s, a):
    s[0] = max(s[0], a[dppy.get_global_id(0)])


@dppy.kernel
def least(s, a):
    s[0] = min(a[dppy.get_global_id(0)], s[0])


@dppy.kernel
def bits_and(s, a):
    s[0] &= a[dppy.get_global_id(0)]


@dppy.kernel
def bits_or(s, a):
    s[0] |= a[dppy.get_global_id(0)]


@dppy.kernel
def bits_xor(s, a):
    s[0] ^= a[dppy.get_global_id(0)]


@dppy.kernel
def multiplied(s, a):
    s[0] *= a[dppy.get_global_id(0)]


REFUSED = [
    (augmented, "s[0] += a[i]", "atomic.add"),
    (loaded_and_stored, "s[0] = a[i] + s[0]", "atomic.add"),
    (through_a_variable, "s[0] = total", "atomic.add"),
    (counted, "s[len(a) - len(a)] += 1", "atomic.add"),
    (at_the_index_of_a_loop, "s[k] += a[i]", "atomic.add"),
    (under_a_uniform_condition, "s[0] += a[i]", "atomic.add"),
    (at_a_loaded_index, "s[a[0]] += a[dppy.get_global_id(0)]", "atomic.add"),
    (in_a_function, "s[k] += value", "atomic.add"),
    (subtracted, "s[0] -= a[dppy.get_global_id(0)]", "atomic.sub"),
    (greatest, "s[0] = max(s[0], a[dppy.get_global_id(0)])", "atomic.max"),
    (least, "s[0] = min(a[dppy.get_global_id(0)], s[0])", "atomic.min"),
    (bits_and, "s[0] &= a[dppy.get_global_id(0)]", "atomic.and_("),
    (bits_or, "s[0] |= a[dppy.get_global_id(0)]", "atomic.or_("),
    (bits_xor, "s[0] ^= a[dppy.get_global_id(0)]", "atomic.xor"),
    (multiplied, "s[0] *= a[dppy.get_global_id(0)]", "if get_global_id(0) == 0"),
]


def _arrays(backend):
    return backend.array(np.ones(2, "i8")), backend.array(np.ones(4, "i8"))


@every_compiler
@pytest.mark.parametrize(
    ("kernel", "line", "instead"), REFUSED, ids=[kernel.__name__ for kernel, _, _ in REFUSED]
)
def test_update_by_all_work_items_is_refused(backend, kernel, line, instead):
    with pytest.raises(ep.KernelError) as error:
        backend.launch(kernel, 4, None, *_arrays(backend))
    message = str(error.value)
    assert re.match(
        r".*test_lost_updates\.py:\d+: every work-item of the launch changes this element of `s`",
        message,
    )
    assert instead in message
    assert f"\n    {line}\n    ^^^^" in message


@every_compiler
@pytest.mark.parametrize(
    "kernel", [kernel for kernel, _, _ in REFUSED], ids=lambda kernel: kernel.__name__
)
def test_update_by_one_work_item_is_allowed(backend, kernel):
    for global_range in [1, (1, 1), 0]:
        backend.launch(kernel, global_range, None, *_arrays(backend))


@every_compiler
def test_range_is_checked_at_each_launch(backend):
    s, a = _arrays(backend)
    backend.launch(augmented, 1, None, s, a)
    for global_range in [4, (1, 2), (2, 1)]:
        with pytest.raises(ep.KernelError, match=r"atomic\.add"):
            backend.launch(augmented, global_range, None, s, a)
    backend.launch(augmented, 1, None, s, a)
    assert s.copy_to_host().numpy().tolist() == [3, 1]


@every_compiler
def test_refused_launch_in_a_function_names_the_call(backend):
    with pytest.raises(
        ep.KernelError, match=r"called here\n +add_to\(s, 0, a\[dppy.get_global_id\(0\)\]\)"
    ):
        backend.launch(in_a_function, 4, None, *_arrays(backend))


@dppy.kernel
def of_its_own(s, a):
    s[dppy.get_global_id(0) % 2] += a[0]


@dppy.kernel
def by_the_first(s, a):
    if dppy.get_global_id(0) == 0:
        s[0] += a[0]


@dppy.kernel
def after_a_return(s, a):
    i = dppy.get_global_id(0)
    if i > 0:
        return
    s[0] += a[i]


@dppy.kernel
def private(s, a):
    own = dppy.private.array(2, dppy.int64)
    own[0] = a[0]
    own[0] += a[1]
    s[dppy.get_global_id(0) % 2] = own[0]


@dppy.kernel
def with_an_atomic(s, a):
    dppy.atomic.add(s, 0, a[dppy.get_global_id(0)])


@dppy.kernel
def same_value_for_all(s, a):
    s[0] = len(a)


@dppy.kernel
def flag(s, a):
    s[0] |= 1
    s[1] = max(s[1], len(a))


@dppy.func
def add_one(s, k):
    s[k] += 1


@dppy.kernel
def in_a_function_with_an_own_index(s, a):
    add_one(s, dppy.get_global_id(0) % len(s))


@dppy.kernel
def rows(s, a):
    row = s[dppy.get_global_id(0) % 2 :]
    row[0] += a[0]


ALLOWED = [
    of_its_own,
    by_the_first,
    after_a_return,
    private,
    with_an_atomic,
    same_value_for_all,
    flag,
    in_a_function_with_an_own_index,
    rows,
]


@every_compiler
@pytest.mark.parametrize("kernel", ALLOWED, ids=lambda kernel: kernel.__name__)
def test_guarded_or_own_update_is_allowed(backend, kernel):
    backend.launch(kernel, 4, None, *_arrays(backend))


@dppy.kernel
def local_total(s, a):
    i = dppy.get_global_id(0)
    total = dppy.local.array(1, dppy.int64)
    total[0] = 0
    total[0] += a[i]
    s[i % 2] = total[0]


@dppy.kernel
def local_total_of_the_group(s, a, total):
    i = dppy.get_global_id(0)
    total[dppy.get_group_id(0) % 1] -= a[i]
    s[i % 2] = total[0]


@dppy.kernel
def local_own(s, a):
    i, own = dppy.get_global_id(0), dppy.get_local_id(0)
    total = dppy.local.array(4, dppy.int64)
    total[own] = 0
    total[own] += a[i]
    if own == 0:
        total[0] += 1
    dppy.barrier()
    s[i % 2] = total[0]


@every_compiler
def test_update_of_local_memory_by_the_group_is_refused(backend):
    with pytest.raises(
        ep.KernelError,
        match=r"every work-item of the group changes .*`total`.*atomic\.add.*group\.reduce",
    ):
        backend.launch(local_total, 4, 2, *_arrays(backend))
    accessor = dppy.LocalAccessor(1, "int64")
    with pytest.raises(
        ep.KernelError, match=r"every work-item of the group changes .*`total`.*atomic\.sub"
    ):
        backend.launch(local_total_of_the_group, 4, 2, *_arrays(backend), accessor)


@every_compiler
def test_update_of_local_memory_by_groups_of_one_is_allowed(backend):
    backend.launch(local_total, 4, 1, *_arrays(backend))
    backend.launch(local_total, 1, None, *_arrays(backend))
    backend.launch(
        local_total_of_the_group, 4, 1, *_arrays(backend), dppy.LocalAccessor(1, "int64")
    )
    backend.launch(local_own, 4, 2, *_arrays(backend))


@dppy.kernel
def below_the_size(s, a, n):
    i = dppy.get_global_id(0)
    if i < a.size:
        s[0] += a[i]


@dppy.kernel
def below_an_extent(s, a, n):
    i = dppy.get_global_id(0)
    if i <= a.shape[0] - 1:
        s[0] += a[i]


@dppy.kernel
def above_by_the_length(s, a, n):
    i = dppy.get_global_id(0)
    if len(a) > i:
        s[0] += a[i]


@dppy.kernel
def below_the_global_size(s, a, n):
    i = dppy.get_global_id(0)
    if i < dppy.get_global_size(0):
        s[0] += a[i]


@dppy.kernel
def below_a_constant(s, a, n):
    i = dppy.get_global_id(0)
    if i < 3:
        s[0] += a[i]


@dppy.kernel
def all_but_one(s, a, n):
    i = dppy.get_global_id(0)
    if i != 0:
        s[0] += a[i]


@dppy.kernel
def some_in_the_middle(s, a, n):
    i = dppy.get_global_id(0)
    if 1 <= i < 3:
        s[0] += a[i]


@dppy.kernel
def every_other(s, a, n):
    i = dppy.get_global_id(0)
    if i % 2 == 0:
        s[0] += a[i]


@dppy.kernel
def below_an_argument(s, a, n):
    i = dppy.get_global_id(0)
    if i < n:
        s[0] += a[i]


@dppy.kernel
def after_a_return_beyond_the_size(s, a, n):
    i = dppy.get_global_id(0)
    if i >= a.size:
        return
    s[0] += a[i]


@dppy.kernel
def after_a_nested_return(s, a, n):
    i = dppy.get_global_id(0)
    if len(a) > 2:
        if i >= a.size:
            return
    s[0] += a[i]


@dppy.kernel
def in_the_other_branch(s, a, n):
    i = dppy.get_global_id(0)
    if i >= a.size:
        s[1] = 0
    else:
        s[0] += a[i]


@dppy.kernel
def under_nested_guards(s, a, n):
    i = dppy.get_global_id(0)
    if i < a.size:
        if i > 0:
            s[0] += a[i]


@dppy.kernel
def under_both(s, a, n):
    i = dppy.get_global_id(0)
    if i >= 0 and i < a.size:
        s[0] += a[i]


@dppy.kernel
def under_either(s, a, n):
    i = dppy.get_global_id(0)
    if i == 0 or i == 3:
        s[0] += a[i]


@dppy.kernel
def under_not(s, a, n):
    i = dppy.get_global_id(0)
    if not (i >= a.size or i < 0):
        s[0] += a[i]


@dppy.kernel
def with_a_loop_inside(s, a, n):
    i = dppy.get_global_id(0)
    if i < a.size:
        for k in range(len(s)):
            s[k] += a[i]


@dppy.kernel
def inside_a_loop(s, a, n):
    i = dppy.get_global_id(0)
    for k in range(3):
        if i < a.size:
            s[0] += a[i] + k


@dppy.kernel
def in_a_grid_stride_loop(s, a, n):
    for k in range(dppy.get_global_id(0), a.size, dppy.get_global_size(0)):
        s[0] += a[k]


@dppy.kernel
def in_a_while_loop(s, a, n):
    i = dppy.get_global_id(0)
    while i < a.size:
        s[0] += a[i]
        i += dppy.get_global_size(0)


@dppy.kernel
def after_continue(s, a, n):
    i = dppy.get_global_id(0)
    for k in range(3):
        if i >= a.size:
            continue
        s[0] += a[i] + k


@dppy.kernel
def guarded_variables(s, a, n):
    i = dppy.get_global_id(0)
    inside = i < a.size
    if inside:
        k = len(s) - 1
        s[k] += a[i]


@dppy.kernel
def in_a_guarded_function(s, a, n):
    i = dppy.get_global_id(0)
    if i < a.size:
        add_to(s, 0, a[i])


@dppy.func
def add_below(s, i, size, value):
    if i >= size:
        return
    s[0] += value


@dppy.kernel
def in_a_function_with_a_guard(s, a, n):
    i = dppy.get_global_id(0)
    add_below(s, i, a.size, a[i])


@dppy.kernel
def by_the_first_of_each_group(s, a, n):
    if dppy.get_local_id(0) == 0:
        s[0] += a[0]


GUARDED = [
    below_the_size,
    below_an_extent,
    above_by_the_length,
    below_the_global_size,
    below_a_constant,
    all_but_one,
    some_in_the_middle,
    every_other,
    below_an_argument,
    after_a_return_beyond_the_size,
    after_a_nested_return,
    in_the_other_branch,
    under_nested_guards,
    under_both,
    under_either,
    under_not,
    with_a_loop_inside,
    inside_a_loop,
    in_a_grid_stride_loop,
    in_a_while_loop,
    after_continue,
    guarded_variables,
    in_a_guarded_function,
    in_a_function_with_a_guard,
    by_the_first_of_each_group,
]


@every_compiler
@pytest.mark.parametrize("kernel", GUARDED, ids=lambda kernel: kernel.__name__)
def test_guard_that_several_items_pass_is_refused(backend, kernel):
    s, a = _arrays(backend)
    with pytest.raises(
        ep.KernelError,
        match=r"more than one work-item of the launch changes this element of `s`.*atomic\.add",
    ):
        backend.launch(kernel, 4, 2, s, a, 4)
    backend.launch(kernel, 1, 1, s, a, 4)


@every_compiler
def test_guard_by_a_scalar_is_decided_at_each_launch(backend):
    s, a = _arrays(backend)
    for n in [1, 1, 1, 0, -1]:
        backend.launch(below_an_argument, 4, None, s, a, n)
    with pytest.raises(ep.KernelError, match=r"atomic\.add"):
        backend.launch(below_an_argument, 4, None, s, a, 2)
    assert s.copy_to_host().numpy().tolist() == [4, 1]


@every_compiler
def test_guard_by_an_extent_of_one_is_allowed(backend):
    s, one = backend.array(np.ones(2, "i8")), backend.array(np.ones(1, "i8"))
    for kernel in [below_the_size, after_a_return_beyond_the_size, in_a_grid_stride_loop]:
        backend.launch(kernel, 64, None, s, one, 1)
    assert s.copy_to_host().numpy().tolist() == [4, 1]


@dppy.kernel
def first_in_one_dimension(s, a, n):
    if dppy.get_global_id(0) == 0:
        s[0] += 1


@dppy.kernel
def first_in_two_dimensions(s, a, n):
    if dppy.get_global_id(0) == 0 and dppy.get_global_id(1) < 1:
        s[0] += 1


@every_compiler
def test_guard_of_one_dimension_of_two_is_refused(backend):
    s, a = _arrays(backend)
    with pytest.raises(ep.KernelError, match=r"atomic\.add"):
        backend.launch(first_in_one_dimension, (2, 2), None, s, a, 4)
    backend.launch(first_in_one_dimension, (2, 1), None, s, a, 4)
    backend.launch(first_in_two_dimensions, (2, 2), None, s, a, 4)
    assert s.copy_to_host().numpy().tolist() == [3, 1]


@dppy.kernel
def below_one(s, a, n):
    if dppy.get_global_id(0) < 1:
        s[0] += 1


@dppy.kernel
def at_most_zero(s, a, n):
    if dppy.get_global_id(0) <= 0:
        s[0] += 1


@dppy.kernel
def the_last(s, a, n):
    i = dppy.get_global_id(0)
    if i >= dppy.get_global_size(0) - 1:
        s[0] += a[i]


@dppy.kernel
def after_returns_of_all_but_one(s, a, n):
    i = dppy.get_global_id(0)
    if i < 2:
        return
    if i != 2:
        return
    s[0] += a[i]


@dppy.kernel
def in_turns(s, a, n):
    i = dppy.get_global_id(0)
    for k in range(4):
        if i == k:
            s[0] += a[i]
        dppy.barrier()


@dppy.kernel
def in_the_round_of_one(s, a, n):
    i = dppy.get_global_id(0)
    for k in range(2):
        if k == 1:
            if i + k < 2:
                s[0] += a[i]


@dppy.kernel
def of_those_that_have_not_left(s, a, n):
    i = dppy.get_global_id(0)
    for k in range(3):
        if k == 2:
            s[0] += a[i]
        if i > 0:
            break


@dppy.kernel
def guarded_flag(s, a, n):
    i = dppy.get_global_id(0)
    if i < a.size:
        one = 1
        s[0] |= one


@dppy.kernel
def guarded_own(s, a, n):
    i = dppy.get_global_id(0)
    if i < a.size:
        s[i % 2] += 0 * a[i]


@dppy.kernel
def by_the_first_of_all_groups(s, a, n):
    if dppy.get_group_id(0) == 0 and dppy.get_local_id(0) == 0:
        s[0] += a[0]


ONE_ITEM = [
    below_one,
    at_most_zero,
    the_last,
    after_returns_of_all_but_one,
    in_turns,
    in_the_round_of_one,
    of_those_that_have_not_left,
    guarded_flag,
    guarded_own,
    by_the_first_of_all_groups,
]


@every_compiler
@pytest.mark.parametrize("kernel", ONE_ITEM, ids=lambda kernel: kernel.__name__)
def test_guard_that_one_item_passes_is_allowed(backend, kernel):
    local = 4 if kernel is in_turns else 2
    backend.launch(kernel, 4, local, *_arrays(backend), 4)


@dppy.kernel
def where_data_is_greater(s, a, x):
    i = dppy.get_global_id(0)
    if a[i] > 0.5:
        s[0] += 1


@dppy.kernel
def where_data_is_equal(s, a, x):
    i = dppy.get_global_id(0)
    if a[i] == 1:
        s[0] += a[i]


@dppy.kernel
def where_data_is_the_id(s, a, x):
    i = dppy.get_global_id(0)
    if i == a[i]:
        s[0] += 1


@dppy.kernel
def where_data_is_true(s, a, x):
    i = dppy.get_global_id(0)
    if i < a.size and a[i]:
        s[0] += 1


@dppy.kernel
def where_a_table_is_true(s, a, x):
    if FLAGS[dppy.get_global_id(0)]:
        s[0] += 1


@dppy.kernel
def after_a_return_by_data(s, a, x):
    i = dppy.get_global_id(0)
    if a[i] < 1:
        return
    s[0] += 1


@dppy.kernel
def not_where_data_is_less(s, a, x):
    i = dppy.get_global_id(0)
    if not a[i] < 1 or i == 0:
        s[0] += 1


@dppy.kernel
def by_data_and_either_id(s, a, x):
    i = dppy.get_global_id(0)
    if (i == 0 and a[i] > 0) or (i == 1 and a[i] > 0):
        s[0] += 1


@dppy.kernel
def by_variables_of_data(s, a, x):
    i = dppy.get_global_id(0)
    value = a[i] + 1
    found = value > 1
    if found:
        s[0] += 1


@dppy.kernel
def by_a_variable_that_changes(s, a, x):
    i = dppy.get_global_id(0)
    value = a[i]
    for k in range(len(s)):
        value += a[k]
    if value == 3:
        s[0] += 1


@dppy.kernel
def by_private_memory(s, a, x):
    i = dppy.get_global_id(0)
    own = dppy.private.array(1, dppy.int64)
    own[0] = a[i]
    if own[0] > 0:
        s[0] += 1


@dppy.kernel
def by_data_in_a_grid_stride_loop(s, a, x):
    for k in range(dppy.get_global_id(0), a.size, dppy.get_global_size(0)):
        if a[k] > 0:
            s[0] += 1


@dppy.kernel
def by_a_scalar_in_a_grid_stride_loop(s, a, x):
    for k in range(dppy.get_global_id(0), a.size, dppy.get_global_size(0)):
        if x > 0:
            s[0] += a[k]


@dppy.func
def count_if(s, value):
    if value > 0:
        s[0] += 1


@dppy.kernel
def in_a_function_by_data(s, a, x):
    count_if(s, a[dppy.get_global_id(0)])


@dppy.func
def is_positive(a, i):
    return a[i] > 0


@dppy.kernel
def by_a_function_of_data(s, a, x):
    if is_positive(a, dppy.get_global_id(0)):
        s[0] += 1


@dppy.kernel
def below_a_float(s, a, x):
    if dppy.get_global_id(0) < x:
        s[0] += 1


@dppy.kernel
def below_an_element(s, a, x):
    if dppy.get_global_id(0) < a[0] + 1:
        s[0] += 1


@dppy.kernel
def by_the_element_itself(s, a, x):
    if s[0] < 10:
        s[0] += a[dppy.get_global_id(0)]


@dppy.kernel
def by_the_first_of_each_element(s, a, x):
    i = dppy.get_global_id(0)
    if dppy.atomic.exchange(a, i, 0) == 1:
        s[0] += 1


FLAGS = np.ones(4, "?")
BY_DATA = [
    where_data_is_greater,
    where_data_is_equal,
    where_data_is_the_id,
    where_data_is_true,
    where_a_table_is_true,
    after_a_return_by_data,
    not_where_data_is_less,
    by_data_and_either_id,
    by_variables_of_data,
    by_a_variable_that_changes,
    by_private_memory,
    by_data_in_a_grid_stride_loop,
    in_a_function_by_data,
    by_a_function_of_data,
    below_a_float,
    below_an_element,
    by_the_element_itself,
    by_the_first_of_each_element,
]


@every_compiler
@pytest.mark.parametrize("kernel", BY_DATA, ids=lambda kernel: kernel.__name__)
def test_guard_by_data_is_refused(backend, kernel):
    s, a = _arrays(backend)
    match = (
        r"more than one work-item of the launch may satisfy the condition, "
        r".* element of `s`.*atomic\.add"
    )
    with pytest.raises(ep.KernelError, match=match):
        backend.launch(kernel, 4, None, s, a, 4.0)
    assert s.copy_to_host().numpy().tolist() == [1, 1]
    backend.launch(kernel, 1, None, s, a, 4.0)


@dppy.kernel
def above_a_float(s, a, x):
    if x > 0.5:
        s[0] += a[dppy.get_global_id(0)]


@every_compiler
@pytest.mark.parametrize(
    "kernel", [above_a_float, by_a_scalar_in_a_grid_stride_loop], ids=lambda kernel: kernel.__name__
)
def test_guard_by_a_float_scalar_is_refused(backend, kernel):
    s, a = _arrays(backend)
    with pytest.raises(
        ep.KernelError, match=r"work-item of the launch changes this element of `s`.*atomic\.add"
    ):
        backend.launch(kernel, 4, None, s, a, 4.0)
    backend.launch(kernel, 1, None, s, a, 4.0)


@dppy.kernel
def stored_where_data_is_equal(s, a, x):
    i = dppy.get_global_id(0)
    if a[i] == 1:
        s[0] = i


@dppy.kernel
def at_an_element(s, a, x):
    if dppy.get_global_id(0) == a[0]:
        s[0] += 1


@dppy.kernel
def at_an_element_by_variables(s, a, x):
    i, chosen = dppy.get_global_id(0), a[0]
    is_chosen = i == chosen and a[i] > 0
    if is_chosen:
        s[0] += 1


@dppy.kernel
def at_a_float(s, a, x):
    if not dppy.get_global_id(0) * 2.0 != x:
        s[0] += 1


@dppy.kernel
def at_the_elements_of_a_loop(s, a, x):
    i = dppy.get_global_id(0)
    for k in range(len(s)):
        if i == a[k]:
            s[k] += a[i]


@dppy.kernel
def in_the_rounds_of_an_element(s, a, x):
    i = dppy.get_global_id(0)
    for k in range(4):
        if k == a[0]:
            if i + k < 2:
                s[0] += a[i]


@dppy.kernel
def by_the_last_to_arrive(s, a, x):
    ticket = dppy.atomic.add(a, 0, 1)
    is_last = ticket == dppy.get_global_size(0)
    if is_last:
        s[0] += 1


@dppy.kernel
def by_the_last_group_to_arrive(s, a, x):
    own = dppy.get_local_id(0)
    is_last = dppy.local.array(1, dppy.int64)
    if own == 0:
        is_last[0] = dppy.atomic.add(a, 0, 1) == dppy.get_num_groups(0)
    dppy.barrier()
    if is_last[0] and own == 0:
        s[0] += 1


@dppy.kernel
def by_the_first_where_data_is_greater(s, a, x):
    i = dppy.get_global_id(0)
    if i == 0 and a[i] > 0:
        s[0] += 1


@dppy.kernel
def below_one_where_data_is_greater(s, a, x):
    i = dppy.get_global_id(0)
    is_chosen = i < 1 and a[i] > 0
    if is_chosen:
        s[0] += 1


@dppy.kernel
def by_the_first_of_each_group_where_data_is_greater(s, a, x):
    if dppy.get_local_id(0) == 0:
        if a[dppy.get_global_id(0)] > 0:
            s[dppy.get_group_id(0)] += 1


@dppy.kernel
def by_the_first_of_a_sub_group(s, a, x):
    if dppy.get_sub_group_id() == 0 and dppy.get_sub_group_local_id() < 1:
        s[dppy.get_group_id(0)] += 1


NOT_EVALUATED = [
    stored_where_data_is_equal,
    at_an_element,
    at_an_element_by_variables,
    at_a_float,
    at_the_elements_of_a_loop,
    in_the_rounds_of_an_element,
    by_the_last_to_arrive,
    by_the_last_group_to_arrive,
    by_the_first_where_data_is_greater,
    below_one_where_data_is_greater,
    by_the_first_of_each_group_where_data_is_greater,
    by_the_first_of_a_sub_group,
]


@every_compiler
@pytest.mark.parametrize("kernel", NOT_EVALUATED, ids=lambda kernel: kernel.__name__)
def test_unknown_guard_of_one_item_is_allowed(backend, kernel):
    backend.launch(kernel, 4, 2, *_arrays(backend), 4.0)


@dppy.kernel
def guarded_local_total(s, a, n):
    i, own = dppy.get_global_id(0), dppy.get_local_id(0)
    total = dppy.local.array(1, dppy.int64)
    total[0] = 0
    if own < n:
        total[0] += a[i]
    s[i % 2] = total[0]


@every_compiler
def test_guarded_update_of_local_memory_is_refused(backend):
    with pytest.raises(ep.KernelError, match=r"the group changes .*`total`.*group\.reduce"):
        backend.launch(guarded_local_total, 4, 2, *_arrays(backend), 2)
    backend.launch(guarded_local_total, 4, 2, *_arrays(backend), 1)
    backend.launch(guarded_local_total, 4, 1, *_arrays(backend), 2)


@pytest.mark.host
@pytest.mark.parametrize(
    "kernel", [augmented, counted, subtracted], ids=lambda kernel: kernel.__name__
)
def test_simulator_names_the_atomic_function(kernel):
    s, a = ep.zeros(2, "i8", device="host"), ep.zeros(4, "i8", device="host")
    kernel.simulate[1](s, a)
    with pytest.raises(ep.KernelError, match=r"race for s\[0\].*entrepot\.kernel\.atomic\.add"):
        kernel.simulate[4](s, a)
    with pytest.raises(ep.KernelError, match=r"race for s\[0\].*entrepot\.kernel\.atomic\.add"):
        kernel.simulate[4, 4](s, a)


@dppy.kernel
def total_of_the_group(s, a):
    s[dppy.get_group_id(0)] += a[dppy.get_global_id(0)]


@dppy.kernel
def total_of_the_group_by_a_variable(s, a):
    group = dppy.get_group_id(0) % 2
    s[group] += a[dppy.get_global_id(0)]


@dppy.kernel
def total_of_the_group_in_a_guard(s, a):
    if dppy.get_local_id(0) < a.size:
        s[dppy.get_group_id(0)] += 1


@dppy.kernel
def total_of_the_group_by_its_first(s, a):
    if dppy.get_local_id(0) == 0:
        s[dppy.get_group_id(0)] += a[dppy.get_global_id(0)]


@dppy.kernel
def total_of_the_group_by_an_atomic(s, a):
    dppy.atomic.add(s, dppy.get_group_id(0), a[dppy.get_global_id(0)])


@every_compiler
@pytest.mark.parametrize(
    "kernel",
    [total_of_the_group, total_of_the_group_by_a_variable, total_of_the_group_in_a_guard],
    ids=lambda kernel: kernel.__name__,
)
def test_update_of_global_memory_by_a_group_is_refused(backend, kernel):
    with pytest.raises(
        ep.KernelError, match=r"work-item of the group changes .*`s`.*atomic\.add.*group\.reduce"
    ):
        backend.launch(kernel, 4, 2, *_arrays(backend))


@every_compiler
@pytest.mark.parametrize(
    "kernel",
    [total_of_the_group_by_its_first, total_of_the_group_by_an_atomic],
    ids=lambda kernel: kernel.__name__,
)
def test_update_of_global_memory_once_a_group_is_allowed(backend, kernel):
    backend.launch(kernel, 4, 2, *_arrays(backend))


@every_compiler
def test_update_of_global_memory_by_groups_of_one_is_allowed(backend):
    backend.launch(total_of_the_group_by_a_variable, 4, 1, *_arrays(backend))

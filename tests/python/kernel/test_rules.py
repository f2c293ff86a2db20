"""The rules of docs/kernels/language.md that no other file tests: compiled programs and their
messages."""

from __future__ import annotations

import re

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import (
    every_backend,
    every_compiled_dialect,
    every_compiler,
    every_device,
)
from support.places import values_of

pytestmark = pytest.mark.numpy

TABLE = np.arange(6, dtype="f4")


@dppy.kernel
def guarded(out, n):
    i = dppy.get_global_id(0)
    shared = dppy.local.array(4, dppy.int32)
    shared[dppy.get_local_id(0)] = i
    dppy.barrier()
    if i < n:
        out[i] = shared[3 - dppy.get_local_id(0)]


@every_backend
def test_rule_4_work_items_all_reach_a_barrier(backend):
    """A kernel that guards its writes itself, with a range that is a multiple of the group size."""
    (out,) = backend.run(guarded, 8, 4, np.full(6, -1, "i4"), 6)
    assert out.tolist() == [3, 2, 1, 0, 7, 6]


@pytest.mark.host
def test_rule_8_errors_say_where():
    @dppy.kernel
    def wrong(a):
        i = dppy.get_global_id(0)
        a[i] = nowhere  # type: ignore[name-defined]  # noqa: F821

    with ep.device_context("host"), pytest.raises(ep.KernelError) as error:
        wrong[4](np.zeros(4, "f4"))
    place, source, caret = str(error.value).splitlines()[:3]
    assert re.match(r".*test_rules\.py:\d+: ", place)
    assert "nowhere" in place
    assert source.strip().startswith("a[i] = nowhere")
    assert caret.index("^") == source.index("nowhere")
    assert caret.strip() == "^" * len("nowhere")


@dppy.kernel
def over_the_end(a, by):
    i = dppy.get_global_id(0)
    a[i + by] = 1


@every_compiled_dialect
def test_rule_9_bounds_are_checked_in_debug_mode(backend):
    array = backend.array(np.zeros(4, "f4"))
    checked = over_the_end.options(debug=True)
    backend.launch(checked, 4, None, array, 0)
    with pytest.raises(
        IndexError,
        match=r"test_rules\.py:\d+: index (4|5|6|7) is out of bounds .* 4 elements, in work-item "
        r"\([0-3], 0, 0\)",
    ):
        backend.launch(checked, 4, None, array, 4)


@dppy.kernel
def fill(a):
    i = dppy.get_global_id(0)
    a[i] = 1


@dppy.kernel
def reverse(out, x):
    i = dppy.get_global_id(0)
    out[i] = x[2 * i - 9]


@dppy.kernel
def transpose(out, x):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    for _ in range(2):
        out[j, i] += x[i, j]


@dppy.kernel
def count(counts, x):
    if x[dppy.get_global_id(0) + 2] > 0:
        dppy.atomic.add(counts, 0, 1)


@dppy.kernel
def last_of_local(out, scratch):
    scratch[dppy.get_global_id(0)] = 1
    out[-5] = scratch[0]


@every_backend
@pytest.mark.parametrize("kernel,work_items,shapes,index,extent,axis", [
    (fill, 11, [10], 10, 10, 0), (fill, 1, [0], 0, 0, 0), (reverse, 4, [4, 8], -9, 8, 0),
    (reverse, 11, [11, 11], 11, 11, 0),
    (transpose, (3, 4), [(4, 3), (3, 3)], 3, 3, 1), (transpose, (3, 4), [(3, 3), (3, 4)], 3, 3, 0),
    (count, 7, [1, 8], 8, 8, 0),
])  # fmt: skip
def test_unguarded_id_outside_raises_before_launch(
    backend, kernel, work_items, shapes, index, extent, axis
):
    arrays = [backend.array(np.zeros(shape, "i4")) for shape in shapes]
    with pytest.raises(
        IndexError, match=rf"test_rules\.py:\d+: .*index {index} is .*{axis} .*{extent} element"
    ) as error:
        backend.launch(kernel, work_items, None, *arrays)
    if not backend.simulates:
        assert "guard it with a condition\n" in str(error.value)
        assert all(not values_of(array).any() for array in arrays)


@dppy.func
def put(a, i):
    a[i] = 1


@dppy.kernel
def by_function(a):
    put(a, dppy.get_global_id(0))


@dppy.kernel
def by_view(a):
    part = a[2:]
    part[dppy.get_global_id(0) - 2] = 1


@dppy.kernel
def by_group(a):
    a[dppy.get_group_id(0) * dppy.get_local_size(0) + dppy.get_local_id(0)] = 1


@dppy.kernel
def by_narrow_integer(a):
    a[dppy.int32(dppy.get_global_id(0))] = 1


@every_compiler
@pytest.mark.parametrize(
    "kernel",
    [by_function, by_view, by_group, by_narrow_integer],
    ids=lambda kernel: kernel.__name__,
)
def test_unguarded_id_outside_by_other_ways_raises_before_launch(backend, kernel):
    a = backend.array(np.zeros(8, "i8"))
    by_axis = kernel in (by_group, by_narrow_integer)
    message = (
        "index 9 is out of bounds for axis 0 of 'a'"
        if by_axis
        else "offset 9 is out of bounds for 'a'"
    )
    with pytest.raises(
        IndexError, match=rf"test_rules\.py:\d+: {message}, which has 8 elements; .*\(10,\)"
    ):
        backend.launch(kernel, 10, 5 if kernel is by_group else None, a)
    assert not values_of(a).any()
    backend.launch(kernel, 8, 4 if kernel is by_group else None, backend.array(np.zeros(8, "i8")))


@dppy.kernel
def by_transposed(a):
    a.T[0, dppy.get_global_id(0)] = 1


@dppy.kernel
def by_row(a):
    row = a[dppy.get_global_id(0)]
    row[0] = 1


@every_compiler
@pytest.mark.parametrize("kernel", [by_transposed, by_row], ids=lambda kernel: kernel.__name__)
def test_unguarded_row_outside_raises_before_launch(backend, kernel):
    a = backend.array(np.zeros((4, 3), "i8"))
    with pytest.raises(
        IndexError, match=r"offset 12 is out of bounds for 'a', which has 12 elements; .*\(5,\)"
    ):
        backend.launch(kernel, 5, None, a)
    backend.launch(kernel, 4, None, a)


@every_compiled_dialect
def test_unguarded_id_far_outside_names_index_and_extent(backend):
    with pytest.raises(
        IndexError,
        match=r"index 999 is out of bounds for axis 0 of 'a', which has 10 elements; .* \(1000,\) ",
    ):
        backend.launch(fill, 1000, None, backend.array(np.zeros(10, "i4")))


@every_compiler
def test_local_memory_and_constants_outside_raise(backend):
    for extents, message in (
        ((5, 3), "index 3 is out of bounds for axis 0 of 'scratch', which has 3 elements"),
        ((4, 4), "index -5 is out of bounds for axis 0 of 'out', which has 4 elements"),
    ):
        with pytest.raises(IndexError, match=message):
            backend.launch(
                last_of_local,
                4,
                4,
                backend.array(np.zeros(extents[0], "i4")),
                dppy.LocalAccessor(extents[1], "i4"),
            )


@dppy.kernel
def local_by_global_id(a):
    i = dppy.get_global_id(0)
    shared = dppy.local.array(shape=4, dtype=dppy.int64)
    shared[i] = a[i]
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    a[i] += shared[3 - i]


@dppy.kernel
def local_by_local_id(a):
    i, own = dppy.get_global_id(0), dppy.get_local_id(0)
    shared = dppy.local.array(4, dppy.int64)
    shared[own] = a[i]
    dppy.barrier()
    a[i] = shared[3 - own]


@dppy.kernel
def local_by_local_id_from_end(a):
    own = dppy.get_local_id(0)
    shared = dppy.local.array(4, dppy.int64)
    shared[2 - own] = a[own]
    dppy.barrier()
    a[own] = shared[own % 4]


@dppy.kernel
def local_by_group_id(a):
    shared = dppy.local.array(4, dppy.int64)
    shared[dppy.get_group_id(0)] = 1
    dppy.barrier()
    a[0] = shared[0]


@dppy.kernel
def local_by_local_and_group_id(a):
    shared = dppy.local.array(4, dppy.int64)
    shared[3 * dppy.get_local_id(0) - dppy.get_group_id(0)] = 1
    dppy.barrier()
    a[0] = shared[0]


@dppy.kernel
def local_by_local_size(a):
    shared = dppy.local.array(4, dppy.int64)
    shared[dppy.get_local_size(0) - 1] = 1
    dppy.barrier()
    a[0] = shared[0]


@dppy.kernel
def private_by_global_id(a):
    i = dppy.get_global_id(0)
    mine = dppy.private.array(4, dppy.int64)
    mine[i] = a[i]
    a[i] = mine[i] + 1


@dppy.func
def first_of(row, value):
    mine = dppy.private.array(4, dppy.int64)
    mine[dppy.get_global_id(0)] = value
    row[0] = mine[0]


@dppy.kernel
def private_in_a_function(a):
    first_of(a, 1)


@dppy.func
def shared_first_of(row):
    shared = dppy.local.array(4, dppy.int64)
    shared[dppy.get_local_id(0)] = row[0]
    dppy.barrier()
    row[0] = shared[0]


@dppy.kernel
def local_in_a_function(a):
    shared_first_of(a[1:])


@dppy.kernel
def local_given_to_a_function(a):
    shared = dppy.local.array(4, dppy.int64)
    put(shared, dppy.get_local_id(0))
    dppy.barrier()
    a[0] = shared[0]


FOUR = np.arange(4)


@dppy.kernel
def constants_by_global_id(a):
    i = dppy.get_global_id(0)
    a[i] = FOUR[i]


@dppy.kernel
def accessor_by_local_id(a, scratch):
    own = dppy.get_local_id(0)
    scratch[own] = a[own]
    dppy.barrier()
    a[own] = scratch[own]


IN_GROUPS = (
    r"every work-item of the range \(16,\), in groups of \(8,\), makes this access: "
    r"give a smaller local range"
)
BY_DEFAULT = r"in groups of \(16,\) that the runtime chose, makes this access: give a local range"


@every_compiler
@pytest.mark.parametrize("kernel,local_range,message", [
    (local_by_global_id, 16, r"index 15 .*axis 0 of 'shared', .* 4 elements; "
        r".*\(16,\).*get_local_id.*launch fewer"),
    (local_by_local_id, 8, r"index 7 .*axis 0 of 'shared', which has 4 elements; " + IN_GROUPS),
    (local_by_local_id, None,
        r"index 15 .*axis 0 of 'shared', which has 4 elements; .*" + BY_DEFAULT),
    (local_by_local_id_from_end, 8,
        r"index -5 .*axis 0 of 'shared', which has 4 elements; " + IN_GROUPS),
    (local_by_group_id, 2, r"index 7 .*axis 0 of 'shared', which has 4 elements; .*in groups of "
        r"\(2,\)"),
    (local_by_local_and_group_id, 2, r"index -7 .*axis 0 of 'shared', which has 4 elements; .*in "
        r"groups of \(2,\)"),
    (local_by_local_size, 8, r"index 7 .*axis 0 of 'shared', which has 4 elements; " + IN_GROUPS),
    (private_by_global_id, None, r"index 15 .*axis 0 of 'mine', which has 4 elements; .*\(16,\) "
        r"makes .*: launch fewer"),
    (private_in_a_function, None, r"index 15 .*axis 0 of 'mine', which has 4 elements; .*\(16,\) "
        r"makes .*: launch fewer"),
    (local_in_a_function, 8, r"index 7 .*axis 0 of 'shared', which has 4 elements; " + IN_GROUPS),
    (local_given_to_a_function, 8, r"offset 7 .* for 'shared', which has 4 elements; " + IN_GROUPS),
    (constants_by_global_id, None, r"index 15 .*axis 0 of 'FOUR', which has 4 elements; .*\(16,\) "
        r"makes .*: launch fewer"),
    (accessor_by_local_id, 8, r"index 7 .*axis 0 of 'scratch', which has 4 elements; " + IN_GROUPS),
])  # fmt: skip
def test_own_array_left_by_an_id_raises_before_launch(backend, kernel, local_range, message):
    a = backend.array(np.full(16, 7, "i8"))
    scratch = [dppy.LocalAccessor(4, "i8")] if kernel is accessor_by_local_id else []
    with pytest.raises(IndexError, match=r"test_rules\.py:\d+: " + message) as error:
        backend.launch(kernel, 16, local_range, a, *scratch)
    assert "guard it with a condition\n" in str(error.value)
    assert (values_of(a) == 7).all()
    groups_of_four = {local_by_group_id: 4, local_by_local_and_group_id: 1}
    backend.launch(kernel, 4, groups_of_four.get(kernel, 4), a, *scratch)


@dppy.kernel
def tile_by_local_ids(a):
    own, other = dppy.get_local_id(0), dppy.get_local_id(1)
    tile = dppy.local.array((4, 8), dppy.int64)
    tile[own, other] = a[own, other]
    dppy.barrier()
    a[own, other] = tile[own, 7 - other]


@every_compiler
def test_tile_left_along_one_axis_raises_before_launch(backend):
    """The offset is within the tile."""
    a = backend.array(np.zeros((16, 16), "i8"))
    with pytest.raises(
        IndexError,
        match=r"index 15 .*axis 1 of 'tile', which has 8 elements; .*\(16, 16\), .*\(2, 16\), ",
    ):
        backend.launch(tile_by_local_ids, (16, 16), (2, 16), a)
    for local_range in [(4, 8), (2, 4), (4, 1)]:
        backend.launch(tile_by_local_ids, (16, 16), local_range, a)


@dppy.kernel
def guarded_own_arrays(a):
    i, own = dppy.get_global_id(0), dppy.get_local_id(0)
    shared = dppy.local.array(4, dppy.int64)
    mine = dppy.private.array(4, dppy.int64)
    if own < 4:
        shared[own] = i
    dppy.barrier()
    if i < 4:
        mine[i] = shared[i]
        a[i] = mine[i]
    square = dppy.private.array((2, 2), dppy.int64)
    square.T[i % 2, 0] = i
    square[::-1][0, i % 2] = i


@every_backend
def test_guarded_id_outside_own_arrays_is_no_error(backend):
    a = backend.array(np.zeros(16, "i8"))
    backend.launch(guarded_own_arrays, 16, 8, a)
    assert values_of(a).tolist() == [0, 1, 2, 3] + [0] * 12


@every_backend
def test_unguarded_id_within_the_array_runs(backend):
    """The index may count from the end, and work-items that pad the last group are not checked."""
    for items in (10, 10, 7, 0):  # the second launch is planned
        array = backend.array(np.zeros(10, "i4"))
        backend.launch(fill, items, None, array)
        assert values_of(array).tolist() == [1] * items + [0] * (10 - items)
    with pytest.raises(IndexError):
        backend.launch(fill, 11, None, array)
    out, x = backend.array(np.zeros(9, "i4")), backend.array(np.arange(9, dtype="i4"))
    backend.launch(reverse, 9, None, out, x)
    assert values_of(out).tolist() == [0, 2, 4, 6, 8, 1, 3, 5, 7]


@dppy.kernel
def guards(a, out, n):
    i = dppy.get_global_id(0)
    if i < n and a[i] == 0:
        a[i] = 1
    out[i] = a[i] if i < n else 0
    for k in range(n):
        if k == i:
            a[i] += 1
    for _ in range(3):
        if i >= n:
            break
        a[i] += 1
    if i >= n:
        return
    a[i] += 1


@every_backend
def test_guarded_id_outside_the_array_is_no_error(backend):
    array = backend.array(np.zeros(3, "i4"))
    backend.launch(guards, 100, None, array, backend.array(np.zeros(100, "i4")), 3)
    assert values_of(array).tolist() == [6, 6, 6]


@dppy.kernel
def at_nine(a):
    a[9] = 1


@every_compiler
def test_rule_9_constant_indices_are_checked_too(backend):
    with pytest.raises(IndexError, match=r"index 9 is out of bounds .* 4 elements"):
        backend.launch(at_nine.options(debug=True), 1, None, backend.array(np.zeros(4, "f4")))


@dppy.func
def second_of(row, k):
    return row[k]


@dppy.kernel
def reads(out, x, k):
    out[0] = x[k]


@dppy.kernel
def reads_a_place_of_two(out, x, k):
    out[0] = x[1, k] + x[0, 0]


@dppy.kernel
def reads_a_part(out, x, k):
    part = x[1, 1:3]
    out[0] = part[k]


@dppy.kernel
def reads_in_a_function(out, x, k):
    out[0] = second_of(x[0], k)


@dppy.kernel
def reads_local_memory(out, x, k):
    shared = dppy.local.array(5, dppy.float32)
    shared[0] = x[0, 0]
    dppy.barrier()
    out[0] = shared[k]


@dppy.kernel
def writes_private_memory(out, x, k):
    mine = dppy.private.array(3, dppy.float32)
    mine[0] = x[0, 0]
    mine[k] = 1
    out[0] = mine[0]


@dppy.kernel
def reads_constants(out, x, k):
    table = dppy.constant.array(TABLE)
    out[0] = table[k]


@dppy.kernel
def adds_atomically(out, x, k):
    dppy.atomic.add(out, k, x[0, 0])


@every_compiler
@pytest.mark.parametrize(
    "kernel,extent",
    [
        (reads, 2),
        (reads_a_place_of_two, 4),
        (reads_a_part, 2),
        (reads_in_a_function, 4),
        (reads_local_memory, 5),
        (writes_private_memory, 3),
        (reads_constants, 6),
        (adds_atomically, 1),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
@pytest.mark.parametrize("beyond", [0, -1], ids=["the end", "the beginning"])
def test_rule_9_index_bounds_are_checked(backend, kernel, extent, beyond):
    out, x = (
        backend.array(np.zeros(1, "f4")),
        backend.array(np.zeros((2, 4), "f4") if kernel is not reads else np.zeros(2, "f4")),
    )
    checked = kernel.options(debug=True)
    index = extent if beyond == 0 else -extent - 1
    backend.launch(checked, 1, 1, out, x, 0)
    with pytest.raises(
        IndexError,
        match=rf"test_rules\.py:\d+: index {index} is out of bounds for an axis of {extent} "
        rf"element{'s' * (extent != 1)}, ",
    ):
        backend.launch(checked, 1, 1, out, x, index)


@every_device
def test_rule_9_by_the_environment(device, monkeypatch):
    def beyond(a):
        a[dppy.get_global_id(0) + 4] = 1

    monkeypatch.setenv("ENTREPOT_KERNEL_DEBUG", "1")
    checked = dppy.kernel(beyond)
    monkeypatch.delenv("ENTREPOT_KERNEL_DEBUG")
    with pytest.raises(
        IndexError, match=r"index 4 is out of bounds .* 4 elements, in work-item \(0, 0, 0\)"
    ):
        checked[1](ep.zeros(4, "float32", device=device))


@every_compiled_dialect
def test_compilers_name_lines_of_python(backend):
    """Invalid text in place of a statement: the error must name the statement's line in this
    file."""
    line = over_the_end.function.__code__.co_firstlineno + 3
    source = over_the_end.source(
        backend.dialect, signature="void(float32[::1], int64)", device=backend.selector
    )
    broken = re.sub(r"^( *)a\[.*;$", r"\1there is no such statement;", source, flags=re.MULTILINE)
    assert broken != source
    # SYCL's in-process compiler counts lines of the text in the position, and shows our line's
    # number.
    place = (
        rf"\n +{line} \| +there is no"
        if backend.dialect == "sycl"
        else rf"test_rules\.py\W{line}\b"
    )
    with pytest.raises(ep.KernelError, match=place):
        ep.Program(broken, device=backend.selector, dialect=backend.dialect)


@every_compiler
def test_source_has_names_and_line_numbers(backend):
    source = over_the_end.source(backend.dialect, signature="void(float32[::1], int64)")
    assert "over_the_end" in source
    assert re.search(r"#line \d+ .*test_rules\.py", source)

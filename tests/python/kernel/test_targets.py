"""Targets of assignments: tuples of them, nested ones, and several targets of one value."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_backend

pytestmark = pytest.mark.numpy


@dppy.kernel
def nested_names(out, c):
    x, y = c[0], c[1]
    (x, y), z = (y, x), x
    out[0], out[1], out[2] = x, y, z


@dppy.kernel
def nested_names_behind(out, c):
    x, y = c[0], c[1]
    z, (x, y) = x + y, (y, x)
    out[0], out[1], out[2] = x, y, z


@dppy.kernel
def deeply_nested_names(out, c):
    x, y, z = c[0], c[1], c[2]
    ((x, y), z), w = ((z, x), y), x + 1
    out[0], out[1], out[2], out[3] = x, y, z, w


@dppy.kernel
def nested_elements(out, c):
    (c[0], y), z = (c[1], c[2]), c[0]
    out[0], out[1], out[2] = c[0], y, z


@dppy.kernel
def name_that_holds_a_tuple(out, c):
    x, y = c[0], c[1]
    pair = (x, y)
    (x, pair), y = ((y, (pair[1], pair[0])), pair[0] + x)
    out[0], out[1], out[2], out[3] = x, pair[0], pair[1], y


@dppy.kernel
def swapped_elements(out, c):
    i, j = 0, c[0] // 10
    c[i], c[j] = c[j], c[i]
    out[0], out[1], out[2] = c[0], c[1], c[2]


@dppy.kernel
def swapped_elements_in_a_nested_tuple(out, c):
    i, j = 0, 2
    (c[i], c[j]), (i, j) = (c[j], c[i]), (j, i)
    out[0], out[1], out[2], out[3] = c[0], c[2], i, j


@dppy.kernel
def index_that_is_assigned_before(out, c):
    i = 0
    (i, out[i]), out[i + 1] = (2, c[i]), c[i + 1]
    out[0] = i


@dppy.kernel
def rotated_elements(out, c):
    c[0], (c[1], c[2]) = c[1], (c[2], c[0])
    out[0], out[1], out[2] = c[0], c[1], c[2]


@dppy.kernel
def tuple_to_names_and_a_name(out, c):
    x, y = c[0], c[1]
    x, y = t = (y, x)
    out[0], out[1], out[2], out[3] = t[0], t[1], x, y


@dppy.kernel
def tuple_to_a_name_and_names(out, c):
    x, y = c[0], c[1]
    t = x, y = (y, x)
    out[0], out[1], out[2], out[3] = t[0], t[1], x, y


@dppy.kernel
def tuple_to_elements_and_a_name(out, c):
    c[0], c[1] = t = (c[1], c[0])
    out[0], out[1], out[2], out[3] = t[0], t[1], c[0], c[1]


@dppy.kernel
def nested_tuple_to_several_targets(out, c):
    x, y, z = c[0], c[1], c[2]
    (x, y), z = t = (u, v), w = (z, x), y
    out[0], out[1], out[2] = x, y, z
    out[3], out[4], out[5], out[6], out[7], out[8] = t[0][0], t[0][1], t[1], u, v, w


@dppy.kernel
def part_to_several_targets(out, c):
    a = c[0:]
    for _ in range(2):
        b = a = a[1:]
        a = b = a[1:]
        out[0], out[1], out[2] = a[0], b[0], len(b)


@dppy.kernel
def part_and_name_to_several_targets(out, c):
    a, b = c[0:], c[1:]
    for k in range(3):
        a, b = t = b, a[k:]
        out[0], out[1], out[2], out[3], out[4] = a[0], b[0], t[0][0], t[1][0], len(t[1])


@dppy.kernel
def several_targets_in_a_loop(out, c):
    x, y = c[0], c[1]
    for k in range(3):
        (x, y), k0 = t = (y, x + k), k
        out[k], out[k + 3] = t[0][1], k0


@dppy.kernel
def augmented_by_what_is_assigned_with_it(out, c):
    x, y = c[0], c[1]
    x += y
    (x, y), z = (y, x), x
    c[0] += z
    (c[0], c[1]), z = (c[1], c[0]), c[0] + z
    out[0], out[1], out[2], out[3], out[4] = x, y, z, c[0], c[1]


@dppy.kernel
def counted_in_the_index_of_a_nested_target(out, c):
    n = c[0]
    (out[dppy.atomic.add(c, 0, 1) - 10], y), z = (c[1], c[0]), c[0]
    out[1], out[2], out[3] = n, y, z


KERNELS = [
    nested_names,
    nested_names_behind,
    deeply_nested_names,
    nested_elements,
    name_that_holds_a_tuple,
    swapped_elements,
    swapped_elements_in_a_nested_tuple,
    index_that_is_assigned_before,
    rotated_elements,
    tuple_to_names_and_a_name,
    tuple_to_a_name_and_names,
    tuple_to_elements_and_a_name,
    nested_tuple_to_several_targets,
    part_to_several_targets,
    part_and_name_to_several_targets,
    several_targets_in_a_loop,
    augmented_by_what_is_assigned_with_it,
]


@every_backend
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_targets_are_assigned_as_python_does(backend, kernel):
    values = np.arange(10, 60, 10, dtype="i8")
    expected_out, expected = np.zeros(9, "i8"), values.copy()
    kernel.__wrapped__(expected_out, expected)
    out, c = backend.run(kernel, 1, None, np.zeros(9, "i8"), values)
    assert out.tolist() == expected_out.tolist()
    assert c.tolist() == expected.tolist()


@every_backend
def test_nested_target_with_an_effect_in_its_index(backend):
    out, c = backend.run(
        counted_in_the_index_of_a_nested_target,
        1,
        None,
        np.zeros(4, "i8"),
        np.array([10, 20], "i8"),
    )
    assert out.tolist() == [20, 10, 10, 10]
    assert c.tolist() == [11, 20]


@dppy.kernel
def starred_target(out, c):
    (out[0], *out[1]), out[2] = (c[0], c[1]), c[2]


@dppy.kernel
def too_many_nested_targets(out, c):
    (out[0], out[1], out[2]), out[3] = (c[0], c[1]), c[2]  # type: ignore[misc]


@dppy.kernel
def number_for_a_nested_tuple(out, c):
    (out[0], out[1]), out[2] = c[0], c[1]


@dppy.kernel
def tuple_as_loop_target(out, c):
    for out[0], out[1] in range(3):  # type: ignore[misc]
        pass


@dppy.kernel
def element_as_loop_target(out, c):
    for out[0] in range(3):
        pass


@dppy.kernel
def augmented_tuple(out, c):
    x, y = c[0], c[1]
    pair = (x, y)
    pair += (x, y)  # type: ignore[assignment]


@pytest.mark.host
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (starred_target, "a kernel has no starred names"),
        (too_many_nested_targets, "there are 2 items for 3 targets"),
        (number_for_a_nested_tuple, "a tuple of 2 items is expected, but this is int64"),
        (tuple_as_loop_target, "is one name"),
        (element_as_loop_target, "is one name"),
        (augmented_tuple, "a tuple"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_target_that_does_not_fit_is_refused(kernel, message):
    out, c = ep.zeros(9, "i8", device="host"), ep.zeros(5, "i8", device="host")
    with pytest.raises(ep.KernelError, match=message):
        kernel[1](out, c)

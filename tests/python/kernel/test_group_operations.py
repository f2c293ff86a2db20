"""Every operation of groups and of sub-groups against NumPy.

Tested: every dtype, groups of one to three dimensions, and groups that fill no whole warp.
Compilers need most of the time of these tests, so those of CPUs meet a part of the combinations.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import entrepot.kernel as dppy
from kernel.backends import (
    BACKENDS,
    Backend,
    every_backend,
    every_compiled_dialect,
    every_dialect,
    with_backend,
)

pytestmark = pytest.mark.numpy

UFUNCS = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
OF_NUMBERS, OF_BITS = ("add", "mul", "min", "max"), ("and", "or", "xor")
SYCL = next(each for each in BACKENDS if each.dialect == "sycl")
#: Forms of an operation: each kernel below writes three results per operation.
FORMS = ("reduce", "inclusive_scan", "exclusive_scan")

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]

Shapes = list[tuple[tuple[int, ...], tuple[int, ...]]]

#: Global and local sizes for every dtype: many warps with a rest, and less than a warp in three
#: dimensions.
SHAPES_OF_EVERY_DTYPE: Shapes = [
    ((300,), (150,)),
    ((4, 6, 10), (2, 3, 5)),
]
#: Those, groups one work-item larger and smaller than the warp, two dimensions, groups of one
#: work-item, the warp, and whole rows.
SHAPES: Shapes = [
    *SHAPES_OF_EVERY_DTYPE,
    ((66,), (33,)),
    ((6, 20), (3, 20)),
    ((3,), (1,)),
    ((64,), (32,)),
    ((62,), (31,)),
    ((8, 6), (4, 3)),
]
#: Dtypes that meet every shape, with kernels of each number of dimensions; on CPUs the first one
#: only. On GPUs, kernels of the others have three dimensions, the first of which may be 1.
IN_ALL_SHAPES = ("int16", "float32")


def shapes_of(backend: Backend, name: str, shapes: Shapes = SHAPES) -> Shapes:
    if name in IN_ALL_SHAPES[: 2 if backend.is_gpu else 1]:
        return shapes
    if not backend.is_gpu:
        return SHAPES_OF_EVERY_DTYPE[:1]
    return [
        ((1,) * (3 - len(shape)) + shape, (1,) * (3 - len(shape)) + local)
        for shape, local in SHAPES_OF_EVERY_DTYPE
    ]


@dppy.func
def work_item():
    """This work-item's number, the last dimension the fastest."""
    row = dppy.get_global_id(0) * dppy.get_global_size(1) + dppy.get_global_id(1)
    return row * dppy.get_global_size(2) + dppy.get_global_id(2)


@dppy.kernel
def numbers_of_the_group(out, x):
    i = work_item()
    out[0, i] = dppy.group.reduce(x[i], "add")
    out[1, i] = dppy.group.inclusive_scan(x[i], "add")
    out[2, i] = dppy.group.exclusive_scan(x[i], "add")
    out[3, i] = dppy.group.reduce(x[i], "mul")
    out[4, i] = dppy.group.inclusive_scan(x[i], "mul")
    out[5, i] = dppy.group.exclusive_scan(x[i], "mul")
    out[6, i] = dppy.group.reduce(x[i], "min")
    out[7, i] = dppy.group.inclusive_scan(x[i], "min")
    out[8, i] = dppy.group.exclusive_scan(x[i], "min")
    out[9, i] = dppy.group.reduce(x[i], "max")
    out[10, i] = dppy.group.inclusive_scan(x[i], "max")
    out[11, i] = dppy.group.exclusive_scan(x[i], "max")


@dppy.kernel
def bits_of_the_group(out, x):
    i = work_item()
    out[0, i] = dppy.group.reduce(x[i], "and")
    out[1, i] = dppy.group.inclusive_scan(x[i], "and")
    out[2, i] = dppy.group.exclusive_scan(x[i], "and")
    out[3, i] = dppy.group.reduce(x[i], "or")
    out[4, i] = dppy.group.inclusive_scan(x[i], "or")
    out[5, i] = dppy.group.exclusive_scan(x[i], "or")
    out[6, i] = dppy.group.reduce(x[i], "xor")
    out[7, i] = dppy.group.inclusive_scan(x[i], "xor")
    out[8, i] = dppy.group.exclusive_scan(x[i], "xor")


@dppy.kernel
def numbers_of_the_sub_group(out, ids, x):
    i = work_item()
    ids[0, i] = dppy.get_sub_group_id()
    ids[1, i] = dppy.get_sub_group_local_id()
    ids[2, i] = dppy.get_sub_group_size()
    out[0, i] = dppy.sub_group.reduce(x[i], "add")
    out[1, i] = dppy.sub_group.inclusive_scan(x[i], "add")
    out[2, i] = dppy.sub_group.exclusive_scan(x[i], "add")
    out[3, i] = dppy.sub_group.reduce(x[i], "mul")
    out[4, i] = dppy.sub_group.inclusive_scan(x[i], "mul")
    out[5, i] = dppy.sub_group.exclusive_scan(x[i], "mul")
    out[6, i] = dppy.sub_group.reduce(x[i], "min")
    out[7, i] = dppy.sub_group.inclusive_scan(x[i], "min")
    out[8, i] = dppy.sub_group.exclusive_scan(x[i], "min")
    out[9, i] = dppy.sub_group.reduce(x[i], "max")
    out[10, i] = dppy.sub_group.inclusive_scan(x[i], "max")
    out[11, i] = dppy.sub_group.exclusive_scan(x[i], "max")


@dppy.kernel
def bits_of_the_sub_group(out, ids, x):
    i = work_item()
    ids[0, i] = dppy.get_sub_group_id()
    ids[1, i] = dppy.get_sub_group_local_id()
    ids[2, i] = dppy.get_sub_group_size()
    out[0, i] = dppy.sub_group.reduce(x[i], "and")
    out[1, i] = dppy.sub_group.inclusive_scan(x[i], "and")
    out[2, i] = dppy.sub_group.exclusive_scan(x[i], "and")
    out[3, i] = dppy.sub_group.reduce(x[i], "or")
    out[4, i] = dppy.sub_group.inclusive_scan(x[i], "or")
    out[5, i] = dppy.sub_group.exclusive_scan(x[i], "or")
    out[6, i] = dppy.sub_group.reduce(x[i], "xor")
    out[7, i] = dppy.sub_group.inclusive_scan(x[i], "xor")
    out[8, i] = dppy.sub_group.exclusive_scan(x[i], "xor")


def dtype_of(name: str) -> np.dtype:
    if name == "bfloat16":
        return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    return np.dtype(name)


def skip_what_the_device_has_not(backend: Backend, name: str) -> None:
    if name == "float16" and backend.marker == "sycl" and not backend.device.has_aspect_fp16:
        pytest.skip(f"{backend.selector} has no float16")


def values(name: str, size: int) -> np.ndarray:
    """Values for which no result of these operations is rounded: integers wrap where devices
    allow it; the others stay small."""
    dtype, random = dtype_of(name), np.random.default_rng(size)
    if name in INTEGERS and name != "int64":
        limits = np.iinfo(dtype)
        drawn = random.integers(limits.min, limits.max, size, dtype, endpoint=True)
        return np.where(random.random(size) < 0.3, drawn | dtype.type(1), drawn)
    factors = [1, 1, 1, 1, 1, 1, 1, 2] if name == "int64" else [0.5, 1, 1, 1, 1, 1, 1, 2]
    return (random.choice(factors, size) * random.choice([1, -1], size)).astype(dtype)


def groups_of(shape: tuple[int, ...], local: tuple[int, ...]) -> list[np.ndarray]:
    """Numbers of the work-items of each group, in order."""
    ids = np.arange(np.prod(shape)).reshape(shape)
    starts = itertools.product(
        *(range(0, whole, part) for whole, part in zip(shape, local, strict=True))
    )
    return [
        ids[tuple(slice(s, s + n) for s, n in zip(start, local, strict=True))].ravel()
        for start in starts
    ]


def sub_groups_of(
    shape: tuple[int, ...], local: tuple[int, ...], ids: np.ndarray
) -> list[np.ndarray]:
    """Work-items of each sub-group, of the device's size. They split a group in its order."""
    parts = []
    for group in groups_of(shape, local):
        number, lane, size = ids[:, group]
        starts = [k for k in range(len(group)) if lane[k] == 0]
        for start, end in itertools.pairwise([*starts, len(group)]):
            assert lane[start:end].tolist() == list(range(end - start))
            assert set(size[start:end].tolist()) == {end - start}
            parts.append(group[start:end])
        assert number.tolist() == (np.cumsum(lane == 0) - 1).tolist()
    return parts


def expected_of(operations: tuple[str, ...], parts: list[np.ndarray], x: np.ndarray) -> np.ndarray:
    result = np.zeros((len(operations) * len(FORMS), x.size), x.dtype)
    for row, operation in enumerate(operations):
        ufunc = UFUNCS[operation]
        for part in parts:
            up_to = ufunc.accumulate(x[part], dtype=x.dtype)
            result[3 * row, part] = up_to[-1]
            result[3 * row + 1, part] = up_to
            result[3 * row + 2, part] = np.append(identity(operation, x.dtype), up_to[:-1])
    return result


def identity(operation: str, dtype: np.dtype) -> np.ndarray:
    """Start of an exclusive scan: the operation's neutral element."""
    if operation in ("min", "max"):
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            return np.array(limits.max if operation == "min" else limits.min, dtype)
        return np.array(np.inf if operation == "min" else -np.inf, dtype)
    return np.array({"mul": 1, "and": -1}.get(operation, 0)).astype(dtype)


def check_of_the_group(
    backend: Backend, name: str, operations: tuple[str, ...], kernel, shapes: Shapes = SHAPES
) -> None:
    for shape, local in shapes_of(backend, name, shapes):
        x = values(name, int(np.prod(shape)))
        out, _ = backend.run(
            kernel, shape, local, np.zeros((3 * len(operations), x.size), x.dtype), x
        )
        expected = expected_of(operations, groups_of(shape, local), x)
        assert np.array_equal(out, expected), (shape, local, np.argwhere(out != expected)[:8])


def check_of_the_sub_group(
    backend: Backend, name: str, operations: tuple[str, ...], kernel, shapes: Shapes = SHAPES
) -> None:
    for shape, local in shapes_of(backend, name, shapes):
        x = values(name, int(np.prod(shape)))
        out = np.zeros((3 * len(operations), x.size), x.dtype)
        out, ids, _ = backend.run(kernel, shape, local, out, np.zeros((3, x.size), "i8"), x)
        expected = expected_of(operations, sub_groups_of(shape, local, ids), x)
        assert np.array_equal(out, expected), (shape, local, np.argwhere(out != expected)[:8])


@every_backend
@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
def test_numbers_of_the_group(backend, name):
    skip_what_the_device_has_not(backend, name)
    check_of_the_group(backend, name, OF_NUMBERS, numbers_of_the_group)


@every_dialect
@pytest.mark.parametrize("name", FLOATS)
def test_group_min_and_max_propagate_nan(backend, name):
    """The device's own min and max return NaN or another value, depending on the order."""
    skip_what_the_device_has_not(backend, name)
    for shape, local in shapes_of(backend, name, SHAPES_OF_EVERY_DTYPE):
        x = values(name, int(np.prod(shape)))
        x[[0, 17, 40]] = np.nan
        out = np.zeros((3 * len(OF_NUMBERS), x.size), x.dtype)
        of_group, _ = backend.run(numbers_of_the_group, shape, local, out, x)
        of_sub_group, ids, _ = backend.run(
            numbers_of_the_sub_group, shape, local, out, np.zeros((3, x.size), "i8"), x
        )
        for found, parts in (
            (of_group, groups_of(shape, local)),
            (of_sub_group, sub_groups_of(shape, local, ids)),
        ):
            with np.errstate(invalid="ignore"):
                expected = expected_of(OF_NUMBERS, parts, x)
            np.testing.assert_array_equal(found.astype("f8"), expected.astype("f8"))


@every_backend
@pytest.mark.parametrize("name", INTEGERS)
def test_bits_of_the_group(backend, name):
    check_of_the_group(backend, name, OF_BITS, bits_of_the_group)


@every_backend
@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
def test_numbers_of_the_sub_group(backend, name):
    skip_what_the_device_has_not(backend, name)
    check_of_the_sub_group(backend, name, OF_NUMBERS, numbers_of_the_sub_group)


@every_backend
@pytest.mark.parametrize("name", INTEGERS)
def test_bits_of_the_sub_group(backend, name):
    check_of_the_sub_group(backend, name, OF_BITS, bits_of_the_sub_group)


@pytest.mark.sycl
@pytest.mark.parametrize("name", ["int16", "float32"])
def test_group_operations_in_sycl(name):
    """Only a few, as its compiler takes seconds for each kernel."""
    few = SHAPES_OF_EVERY_DTYPE
    check_of_the_group(SYCL, name, OF_NUMBERS, numbers_of_the_group, few)
    check_of_the_sub_group(SYCL, name, OF_NUMBERS, numbers_of_the_sub_group, few)
    if name in INTEGERS:
        check_of_the_group(SYCL, name, OF_BITS, bits_of_the_group, few)
        check_of_the_sub_group(SYCL, name, OF_BITS, bits_of_the_sub_group, few)


@dppy.kernel
def votes(out, ids, x):
    i = work_item()
    ids[0, i] = dppy.get_sub_group_id()
    ids[1, i] = dppy.get_sub_group_local_id()
    ids[2, i] = dppy.get_sub_group_size()
    last = dppy.get_local_size(0) * dppy.get_local_size(1) * dppy.get_local_size(2) - 1
    out[0, i] = dppy.group.any(x[i] > 0)
    out[1, i] = dppy.group.all(x[i] > 0)
    out[2, i] = dppy.sub_group.any(x[i] > 0)
    out[3, i] = dppy.sub_group.all(x[i] > 0)
    out[4, i] = dppy.group.broadcast(x[i])
    out[5, i] = dppy.group.broadcast(x[i], last)
    out[6, i] = dppy.sub_group.broadcast(x[i])
    out[7, i] = dppy.sub_group.broadcast(x[i], dppy.get_sub_group_size() - 1)


@every_dialect
@pytest.mark.parametrize("share", [0, 0.02, 0.98, 1])
def test_votes_and_broadcasts(backend, share):
    for shape, local in SHAPES:
        size, random = int(np.prod(shape)), np.random.default_rng(1)
        x = (np.where(random.random(size) < share, 1, -1) * random.integers(1, 99, size)).astype(
            "i4"
        )
        out, ids, _ = backend.run(
            votes, shape, local, np.zeros((8, x.size), "i4"), np.zeros((3, x.size), "i8"), x
        )
        expected = np.zeros_like(out)
        for first, parts in enumerate([groups_of(shape, local), sub_groups_of(shape, local, ids)]):
            for part in parts:
                expected[2 * first, part] = (x[part] > 0).any()
                expected[2 * first + 1, part] = (x[part] > 0).all()
                expected[2 * first + 4, part] = x[part[0]]
                expected[2 * first + 5, part] = x[part[-1]]
        assert np.array_equal(out, expected), (shape, local, np.argwhere(out != expected)[:8])


@dppy.kernel
def ballots(out, ids, x):
    i = work_item()
    ids[0, i] = dppy.get_sub_group_id()
    ids[1, i] = dppy.get_sub_group_local_id()
    ids[2, i] = dppy.get_sub_group_size()
    out[0, i] = dppy.sub_group.ballot(x[i] > 0)
    out[1, i] = dppy.sub_group.ballot(x[i] > 0 and dppy.get_sub_group_local_id() != 1)
    out[2, i] = dppy.sub_group.ballot(True)


@every_backend
def test_ballot_of_a_sub_group_has_a_bit_for_each_work_item(backend):
    for shape, local in SHAPES:
        size, random = int(np.prod(shape)), np.random.default_rng(2)
        x = random.integers(-5, 5, size).astype("i4")
        out, ids, _ = backend.run(
            ballots, shape, local, np.zeros((3, size), "u8"), np.zeros((3, size), "i8"), x
        )
        for part in sub_groups_of(shape, local, ids):
            lane = np.arange(len(part))
            for row, holds in enumerate([x[part] > 0, (x[part] > 0) & (lane != 1), lane >= 0]):
                mask = sum(1 << int(each) for each in lane[holds])
                assert (out[row, part] == mask).all(), (shape, local, row)


@dppy.kernel
def shuffles(out, ids, x, n):
    i = work_item()
    lane, size = dppy.get_sub_group_local_id(), dppy.get_sub_group_size()
    ids[0, i] = dppy.get_sub_group_id()
    ids[1, i] = lane
    ids[2, i] = size
    out[0, i] = dppy.sub_group.shuffle(x[i], size - 1 - lane)
    out[1, i] = dppy.sub_group.shuffle(x[i], lane * 7 % size)
    out[2, i] = dppy.sub_group.shuffle_xor(x[i], n)
    out[3, i] = dppy.sub_group.shuffle_up(x[i], delta=n)
    out[4, i] = dppy.sub_group.shuffle_down(x[i], n)


def check_shuffles(backend: Backend, name: str, shapes: Shapes = SHAPES) -> None:
    """Only values from existing work-items of the sub-group are defined."""
    for (shape, local), n in itertools.product(shapes_of(backend, name, shapes), [1, 2, 3, 5]):
        x = values(name, int(np.prod(shape)))
        if name in FLOATS:
            x = (np.arange(x.size) % 250).astype(x.dtype)
        out, ids, *_ = backend.run(
            shuffles,
            shape,
            local,
            np.zeros((5, x.size), x.dtype),
            np.zeros((3, x.size), "i8"),
            x,
            n,
        )
        moved = 0
        for part in sub_groups_of(shape, local, ids):
            lane, size = np.arange(len(part)), len(part)
            for row, other in enumerate(
                [size - 1 - lane, lane * 7 % size, lane ^ n, lane - n, lane + n]
            ):
                has = (other >= 0) & (other < size)
                moved += int((has & (other != lane)).sum())
                assert np.array_equal(out[row, part[has]], x[part[other[has]]]), (
                    shape,
                    local,
                    n,
                    row,
                )
        assert moved or np.prod(local) == 1


@every_backend
@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
def test_shuffles(backend, name):
    skip_what_the_device_has_not(backend, name)
    check_shuffles(backend, name)


@pytest.mark.sycl
@pytest.mark.parametrize("name", ["int16", "float64"])
def test_shuffles_in_sycl_too(name):
    check_shuffles(SYCL, name, SHAPES_OF_EVERY_DTYPE)


@dppy.kernel
def of_the_sub_group_before_the_group(of_x, of_y, ids, x, y):
    i = work_item()
    ids[0, i] = dppy.get_sub_group_id()
    ids[1, i] = dppy.get_sub_group_local_id()
    ids[2, i] = dppy.get_sub_group_size()
    of_x[0, i] = dppy.sub_group.shuffle(x[i], 0)
    of_y[0, i] = dppy.group.reduce(y[i], "add")
    of_x[1, i] = dppy.sub_group.reduce(x[i], "mul")
    of_y[1, i] = dppy.group.inclusive_scan(y[i], "add")
    of_x[2, i] = dppy.sub_group.inclusive_scan(x[i], "mul")
    of_y[2, i] = dppy.group.broadcast(y[i], 1)
    of_x[3, i] = dppy.sub_group.shuffle_xor(x[i], 0)
    of_y[3, i] = dppy.sub_group.shuffle(y[i], 0)
    of_x[4, i] = dppy.group.exclusive_scan(x[i], "add")
    of_y[4, i] = dppy.sub_group.reduce(y[i], "mul")


SIZED = ["int8", "int16", "int32", "int64"]
#: Pairs of element sizes: all on GPUs, elsewhere the equal ones and those that differ most.
PAIRS = [
    with_backend(backend, *pair)
    for backend in [each for each in BACKENDS if each is not SYCL]
    for pair in itertools.product(SIZED, SIZED)
    if backend.is_gpu or pair[0] == pair[1] or set(pair) == {"int8", "int64"}
]


@pytest.mark.parametrize(("backend", "of_the_sub_group", "of_the_group"), PAIRS)
def test_consecutive_operations_of_other_element_sizes(backend, of_the_sub_group, of_the_group):
    """A sub-group ahead of the others must not overwrite values that they have not read."""
    shape, local = (512,), (256,)
    x, y = values(of_the_sub_group, 512), values(of_the_group, 512)[::-1].copy()
    of_x, of_y, ids, *_ = backend.run(
        of_the_sub_group_before_the_group,
        shape,
        local,
        np.zeros((5, 512), x.dtype),
        np.zeros((5, 512), y.dtype),
        np.zeros((3, 512), "i8"),
        x,
        y,
    )
    expected_x, expected_y = np.zeros_like(of_x), np.zeros_like(of_y)
    for part in sub_groups_of(shape, local, ids):
        expected_x[0, part] = x[part[0]]
        expected_x[2, part] = np.multiply.accumulate(x[part], dtype=x.dtype)
        expected_x[1, part] = expected_x[2, part[-1]]
        expected_x[3, part] = x[part]
        expected_y[3, part] = y[part[0]]
        expected_y[4, part] = np.multiply.reduce(y[part], dtype=y.dtype)
    for part in groups_of(shape, local):
        expected_y[1, part] = np.add.accumulate(y[part], dtype=y.dtype)
        expected_y[0, part] = expected_y[1, part[-1]]
        expected_y[2, part] = y[part[1]]
        expected_x[4, part[1:]] = np.add.accumulate(x[part], dtype=x.dtype)[:-1]
    assert np.array_equal(of_x, expected_x), np.argwhere(of_x != expected_x)[:8]
    assert np.array_equal(of_y, expected_y), np.argwhere(of_y != expected_y)[:8]


@dppy.kernel
def broadcasts_out_of_range(out, ids, x, n):
    i = work_item()
    ids[0, i] = dppy.get_sub_group_id()
    ids[1, i] = dppy.get_sub_group_local_id()
    ids[2, i] = dppy.get_sub_group_size()
    out[0, i] = dppy.group.broadcast(x[i], 5000)
    out[1, i] = dppy.group.broadcast(x[i], -1)
    out[2, i] = dppy.group.broadcast(x[i], n)
    out[3, i] = dppy.sub_group.broadcast(x[i], 5000)
    out[4, i] = dppy.sub_group.broadcast(x[i], -1)
    out[5, i] = dppy.sub_group.broadcast(x[i], n)
    out[6, i] = dppy.sub_group.broadcast(x[i], dppy.get_sub_group_size())
    out[7, i] = dppy.sub_group.broadcast(x[i], 1)


@every_compiled_dialect
@pytest.mark.parametrize("name", ["int16", "int32"])
def test_broadcast_out_of_range_gives_the_first_value(backend, name):
    """Returns the first work-item's value, without a read outside of the group's memory."""
    shapes = shapes_of(backend, name, SHAPES_OF_EVERY_DTYPE)
    for (shape, local), n in itertools.product(shapes, [-(2**40), 2**40]):
        x = np.arange(1, 1 + np.prod(shape)).astype(name)
        out, ids, *_ = backend.run(
            broadcasts_out_of_range,
            shape,
            local,
            np.zeros((8, x.size), name),
            np.zeros((3, x.size), "i8"),
            x,
            n,
        )
        expected = np.zeros_like(out)
        for part in groups_of(shape, local):
            expected[:3, part] = x[part[0]]
        for part in sub_groups_of(shape, local, ids):
            expected[3:7, part] = x[part[0]]
            expected[7, part] = x[part[min(1, len(part) - 1)]]
        assert np.array_equal(out, expected), (shape, local, n, np.argwhere(out != expected)[:8])


@pytest.mark.host
def test_simulator_refuses_a_broadcast_out_of_range():
    x, ids = np.arange(64, dtype="i4"), np.zeros((3, 64), "i8")
    with pytest.raises(dppy.KernelError, match="of number 5000, where there are 32 work-items"):
        broadcasts_out_of_range.simulate[64, 32](np.zeros((8, 64), "i4"), ids, x, 1)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("opencl-c", "sub_group_broadcast(x[i], sub_group_lane(5000))"),
        ("opencl-c", "place[(size_t)by < count ? by : 0]"),
        ("sycl", "group_place(this_item().get_sub_group(), 5000)"),
        ("sycl", "group_place(this_item().get_group(), 5000)"),
        ("cuda", "sub_group_lane(5000)"),
        ("cuda", "group_thread() == (source < group_threads() ? source : 0)"),
        ("hip", "sub_group_lane(5000)"),
    ],
)
def test_broadcast_text_checks_the_index(dialect, text):
    @dppy.kernel
    def of_nobody(x):
        i = dppy.get_global_id(0)
        x[i] = dppy.sub_group.broadcast(x[i], 5000)
        x[i] = dppy.group.broadcast(x[i], 5000)

    assert text in of_nobody.source(dialect, signature="void(int32[::1])")


@dppy.kernel
def four_of_the_group(x):
    i = dppy.get_global_id(0)
    for _ in range(dppy.get_work_dim()):
        x[i] = dppy.group.reduce(x[i], "add")
    x[i] = dppy.group.inclusive_scan(x[i], "add")
    x[i] = dppy.group.broadcast(x[i], 1)
    x[i] = dppy.sub_group.shuffle(x[i], 0)
    if dppy.group.any(x[i] > 0):
        x[i] = dppy.sub_group.reduce(x[i], "mul")


@dppy.kernel
def five_of_the_group(x):
    i = dppy.get_global_id(0)
    x[i] = dppy.group.reduce(x[i], "add")
    x[i] = dppy.group.inclusive_scan(x[i], "add")
    x[i] = dppy.group.broadcast(x[i], 1)
    x[i] = dppy.sub_group.shuffle(x[i], 0)
    if dppy.group.any(x[i] > 0):
        x[i] = dppy.group.reduce(x[i], "add")


@dppy.func
def exchanged(x, i):
    x[i] = dppy.group.broadcast(x[i], 1)
    dppy.barrier()


@dppy.kernel
def three_of_the_group_and_three_barriers(x):
    i = dppy.get_global_id(0)
    exchanged(x, i)
    exchanged(x, i)
    exchanged(x, i)


@dppy.kernel
def three_of_the_group_and_four_barriers(x):
    i = dppy.get_global_id(0)
    exchanged(x, i)
    exchanged(x, i)
    exchanged(x, i)
    for _ in range(dppy.get_work_dim()):
        dppy.barrier()


@pytest.mark.parametrize(
    ("kernel", "outlined"),
    [
        (four_of_the_group, 0),
        (five_of_the_group, 4),
        (three_of_the_group_and_three_barriers, 0),
        (three_of_the_group_and_four_barriers, 1),
    ],
)
def test_many_group_functions_are_outlined_in_opencl_c(kernel, outlined):
    """With all of them in one function, Intel's compiler crashed in some builds of the text."""
    text = kernel.source("opencl-c", signature="void(int32[::1])")
    assert text.count("__attribute__((noinline)) int work_group_") == outlined
    assert text.count("noinline") == outlined


def test_sub_groups_do_not_share_memory_for_any_element_size():
    @dppy.kernel
    def shuffling(x, y):
        i = dppy.get_global_id(0)
        x[i] = dppy.sub_group.shuffle(x[i], 0)
        y[i] = dppy.sub_group.shuffle(y[i], 0)

    text = shuffling.source("opencl-c", signature="void(int16[::1], float64[::1])")
    for element in ("short", "double"):
        assert (
            f"local {element} *place = (local {element} *)(scratch + (id - own));\n    place[own] "
            "= value;" in text
        )

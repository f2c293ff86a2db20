"""``select``: elements by a mask or a predicate, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel.algorithms import common, scans, select, selection
from kernel.backends import every_device
from support.places import values_of

pytestmark = pytest.mark.numpy

#: Around the edges of groups, of their tiles, and of chunks.
SIZES = [
    *(0, 1, 2, 255, 256, 257),
    *(common.TILE - 1, common.TILE, common.TILE + 1, 4095, 4096, 4097),
    *(2 * common.SMALLEST_CHUNK - 1, 2 * common.SMALLEST_CHUNK, 2 * common.SMALLEST_CHUNK + 1),
    1_000_003,
]
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


@dppy.func
def is_even(x):
    return x % 2 == 0


@pytest.fixture(params=["chunks", "groups"])
def parts(request, monkeypatch):
    """Runs the test by chunks and by groups on each device."""
    for module in (scans, selection):
        monkeypatch.setattr(module, "uses_groups", lambda device: request.param == "groups")
    return request.param


def on(device: str, values: np.ndarray) -> ep.Array:
    return dppy.to_device(values, device)


@every_device
@pytest.mark.parametrize("size", SIZES)
def test_select_of_sizes_at_edges_matches_numpy(device, parts, size):
    random = np.random.default_rng(size)
    values, mask = random.integers(-9, 9, size), random.random(size) < 0.3
    found = select(on(device, values), on(device, mask))
    assert found.shape == (mask.sum(),)
    np.testing.assert_array_equal(values_of(found), values[mask])


@every_device
@pytest.mark.parametrize("dtype", DTYPES)
def test_select_of_every_dtype_keeps_elements(device, parts, dtype):
    random = np.random.default_rng(1)
    values, mask = (random.random(5003) * 100).astype(dtype), random.random(5003) < 0.5
    found = values_of(select(on(device, values), on(device, mask)))
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found, values[mask])


@every_device
@pytest.mark.parametrize("size", [0, 1, 257, 4097, 100_003])
def test_select_by_function_matches_numpy(device, parts, size):
    values = np.random.default_rng(size).integers(-1000, 1000, size)
    found = select(on(device, values), is_even)
    np.testing.assert_array_equal(values_of(found), values[values % 2 == 0])
    found = select(on(device, values), lambda x: x > 900)
    np.testing.assert_array_equal(values_of(found), values[values > 900])


@every_device
@pytest.mark.parametrize("chosen", [False, True])
def test_select_of_all_or_none_has_that_size(device, parts, chosen):
    values = np.arange(70_001)
    found = values_of(select(on(device, values), on(device, np.full(values.size, chosen))))
    np.testing.assert_array_equal(found, values if chosen else values[:0])
    assert found.dtype == values.dtype


@every_device
def test_select_takes_any_nonzero_byte_as_true(device, parts):
    mask = np.tile(np.array([0, 1, 2, 255], "u1"), 700)
    array = on(device, mask).view("bool")
    found = values_of(select(on(device, np.arange(2800)), array))
    np.testing.assert_array_equal(found, np.flatnonzero(mask))


@every_device
def test_select_of_strided_and_read_only_arrays_matches_numpy(device, parts):
    values = np.arange(9000).reshape(-1, 2)
    mask = np.random.default_rng(2).random(4500) < 0.5
    found = select(on(device, values)[::-1, 1], on(device, np.repeat(mask, 2))[::2])
    np.testing.assert_array_equal(values_of(found), values[::-1, 1][mask])
    values.flags.writeable = mask.flags.writeable = False
    with ep.device_context(device):
        found = select(values[:, 0], mask)
    np.testing.assert_array_equal(found, values[mask, 0])


@every_device
def test_next_kernel_uses_selection_without_waiting(device, parts):
    values = np.arange(500_000)
    array = on(device, values)
    double = dppy.vectorize(lambda x: 2 * x)
    for divisor in (4, 8):  # the second selection is of pending elements
        array = double(select(array, lambda x: x % divisor == 0))  # noqa: B023
    np.testing.assert_array_equal(values_of(array), 4 * values[::4])


@pytest.mark.host
def test_selection_kernels_have_no_races(parts, monkeypatch):
    """The simulator reports races and indices out of bounds."""
    monkeypatch.setenv("ENTREPOT_SIMULATE", "1")
    for module in (scans, selection):
        monkeypatch.setattr(module, "chunks_of", lambda size, device: 3)
    random = np.random.default_rng(3)
    values, mask = random.integers(-9, 9, common.TILE + 300), random.random(common.TILE + 300) < 0.5
    np.testing.assert_array_equal(select(values, mask), values[mask])


@every_device
def test_select_returns_kind_of_its_arguments(device):
    mask = np.array([True, False, True])
    with ep.device_context(device):
        found = select(np.arange(3), mask)
    assert (type(found), found.tolist()) == (np.ndarray, [0, 2])
    found = select(on(device, np.arange(3)), mask)
    assert (type(found), found.device) == (ep.Array, ep.device(device))
    assert values_of(found).tolist() == [0, 2]


@pytest.mark.host
@pytest.mark.parametrize(
    ("condition", "error", "message"),
    [
        (np.ones(3, "i1"), TypeError, "mask is of int8: compare it"),
        (np.ones(2, bool), ValueError, "3 elements and a mask of 2"),
        (np.ones((3, 1), bool), ValueError, r"argument 1 \(condition\): one dimension"),
        (abs, TypeError, "a Python function of one number"),
        (3, TypeError, r"argument 1 \(condition\)"),
    ],
)
def test_select_refuses_conditions_that_do_not_fit(condition, error, message):
    with pytest.raises(error, match=message):
        select(np.arange(3), condition)


@pytest.mark.host
@given(
    st.lists(st.tuples(st.integers(-99, 99), st.booleans()), max_size=400),
    st.integers(1, 5),
    st.sampled_from(["chunks", "groups"]),
)
def test_random_selections_match_python(pairs, chunks, which):
    values = np.array([value for value, _ in pairs], "i8")
    mask = np.array([chosen for _, chosen in pairs], bool)
    with pytest.MonkeyPatch.context() as patch:
        for module in (scans, selection):
            patch.setattr(module, "uses_groups", lambda device: which == "groups")
            patch.setattr(module, "chunks_of", lambda size, device: max(1, min(chunks, size)))
        found = select(values, mask)
    assert found.tolist() == [value for value, chosen in pairs if chosen]

"""``sort``, ``argsort`` and ``sort_by_key``, against NumPy's stable sorts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel.algorithms import argsort, common, scans, sort, sort_by_key, sorting
from kernel.algorithm_cases import expected_order
from kernel.backends import every_device
from support.places import values_of

pytestmark = pytest.mark.numpy

#: Around the edges of groups, of their tiles, and of chunks.
SIZES = [
    *(0, 1, 2, 255, 256, 257, 767, 768, 769, 1023, 1024, 1025),
    *(common.TILE - 1, common.TILE, common.TILE + 1, 3841, 4095, 4096, 4097, 5121),
    *(2 * common.SMALLEST_CHUNK - 1, 2 * common.SMALLEST_CHUNK, 2 * common.SMALLEST_CHUNK + 1),
    1_000_003,
]
CPUS = ("host", "opencl:cpu")
INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
FLOATS = ["f2", "f4", "f8"]
DTYPES = ["?", *INTEGERS, *FLOATS]


def give_few_elements(request, monkeypatch):
    """Gives each work-item of a group two elements, in tiles of 512."""
    sorting._group_kernel.cache_clear()
    request.addfinalizer(sorting._group_kernel.cache_clear)
    monkeypatch.setattr(sorting, "_per_item", lambda dtype, has_order: 2)


@pytest.fixture(params=["alone", "chunks", "groups"])
def parts(request, monkeypatch):
    """Runs the test by all passes in one launch, by chunks and by groups on each device.

    Compilers for CPUs take seconds for the elements of a GPU's work-item, so these have fewer.
    """
    if request.param == "groups" and request.node.callspec.params.get("device", "host") in CPUS:
        give_few_elements(request, monkeypatch)
    for module in (scans, sorting):
        monkeypatch.setattr(module, "uses_groups", lambda device: request.param == "groups")
    chunks = {"alone": lambda size, device: 1, "chunks": lambda size, device: 3}
    monkeypatch.setattr(sorting, "chunks_of", chunks.get(request.param, common.chunks_of))
    return request.param


def on(device: str, values: np.ndarray) -> ep.Array:
    return dppy.to_device(values, device)


def unordered(dtype: str, size: int) -> np.ndarray:
    """Elements of the whole range with repetitions; zeros of both signs, infinities and NaNs of
    both signs among floats."""
    random = np.random.default_rng(size)
    if dtype == "?":
        return random.random(size) < 0.5
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        values = random.integers(info.min, info.max, size, dtype, endpoint=True)
        values[::3] = random.integers(0, 9, size, dtype)[::3]
        values[1::50] = info.min
        values[2::50] = info.max
        return values
    values = (random.standard_normal(size) * 10.0 ** random.integers(-6, 4, size)).astype(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.0, -1.0], dtype)
    values[::3] = random.choice(special, values[::3].size)
    return values


def assert_same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    bits = f"u{found.itemsize}"
    np.testing.assert_array_equal(found.view(bits), expected.view(bits))


@every_device
@pytest.mark.parametrize("size", SIZES)
def test_sorts_of_sizes_at_edges_match_numpy(device, parts, size):
    values = unordered("i4", size)
    order = expected_order(values)
    array = on(device, values)
    np.testing.assert_array_equal(values_of(sort(array)), values[order])
    np.testing.assert_array_equal(values_of(argsort(array)), order)


@every_device
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sorts_of_every_dtype_are_stable(device, parts, dtype, descending):
    values = unordered(dtype, 6007)
    order = expected_order(values, descending)
    array = on(device, values)
    assert_same_bits(values_of(sort(array, descending=descending)), values[order])
    found = values_of(argsort(array, descending=descending))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, order)
    np.testing.assert_array_equal(values_of(array), values)  # the input is unchanged


@every_device
@pytest.mark.ml_dtypes
def test_sort_of_bfloat16_orders_as_float32(device, parts):
    import ml_dtypes

    values = unordered("f4", 5001).astype(ml_dtypes.bfloat16)
    order = expected_order(values.astype("f4"))
    assert_same_bits(values_of(sort(on(device, values))), values[order])


@every_device
@pytest.mark.parametrize("dtype", [*DTYPES, "c8", "c16"])
def test_sort_by_key_moves_values_of_every_dtype(device, parts, dtype):
    keys = np.random.default_rng(1).integers(0, 50, 5003)
    values = (np.random.default_rng(2).random(5003) * 100).astype(dtype)
    order = expected_order(keys)
    found_keys, found = sort_by_key(on(device, keys), on(device, values))
    np.testing.assert_array_equal(values_of(found_keys), keys[order])
    assert values_of(found).dtype == np.dtype(dtype)
    np.testing.assert_array_equal(values_of(found), values[order])


@every_device
@pytest.mark.parametrize("key", ["u1", "u2", "f8"])
@pytest.mark.parametrize("descending", [False, True])
def test_sort_by_key_of_every_number_of_passes_matches_numpy(device, parts, key, descending):
    keys, values = unordered(key, 70_001), np.arange(70_001)
    order = expected_order(keys, descending)
    found_keys, found = sort_by_key(on(device, keys), on(device, values), descending=descending)
    assert_same_bits(values_of(found_keys), keys[order])
    np.testing.assert_array_equal(values_of(found), order)


@every_device
def test_sorts_of_strided_and_read_only_arrays_match_numpy(device, parts):
    values = unordered("f8", 9000).reshape(-1, 3)
    array = on(device, values)
    column = values[::-1, 1]
    assert_same_bits(values_of(sort(array[::-1, 1])), column[expected_order(column)])
    values.flags.writeable = False
    with ep.device_context(device):
        found_keys, found = sort_by_key(values[:, 0], values[:, 2])
    order = expected_order(values[:, 0])
    assert_same_bits(found_keys, values[order, 0])
    assert_same_bits(found, values[order, 2])


@every_device
@pytest.mark.parametrize("order", ["ascending", "descending", "equal"])
def test_sort_of_ordered_elements_is_stable(device, parts, order):
    values = {
        "ascending": np.arange(40_000),
        "descending": np.arange(40_000)[::-1].copy(),
        "equal": np.full(40_000, 7),
    }[order]
    found = values_of(argsort(on(device, values)))
    np.testing.assert_array_equal(found, expected_order(values))


@every_device
def test_sort_of_bools_takes_any_nonzero_byte_as_true(device, parts):
    bools = np.tile(np.array([2, 0, 255, 1, 0], "u1"), 600)
    array = on(device, bools).view("bool")
    np.testing.assert_array_equal(values_of(argsort(array)), expected_order(bools != 0))


@every_device
def test_next_kernel_uses_sort_without_waiting(device, parts):
    values = unordered("i4", 300_001)
    negative = dppy.vectorize(lambda x: -(x // 2))
    found = sort(negative(sort(negative(on(device, values)))))
    expected = np.sort(-(np.sort(-(values // 2)) // 2))
    np.testing.assert_array_equal(values_of(found), expected)


@every_device
@pytest.mark.parametrize("values", [(5,), (-3, 4), (0, 1 << 40), (7, 1 << 20, 1 << 33)], ids=str)
def test_sort_of_few_values_is_stable(device, parts, values):
    """In most passes, the elements have one digit or two."""
    keys = np.random.default_rng(0).choice(values, 20_001)
    found_keys, found = sort_by_key(on(device, keys), on(device, np.arange(keys.size)))
    order = expected_order(keys)
    assert_same_bits(values_of(found_keys), keys[order])
    np.testing.assert_array_equal(values_of(found), order)
    np.testing.assert_array_equal(values_of(argsort(on(device, keys))), order)


@pytest.mark.host
def test_sorting_kernels_have_no_races(parts, monkeypatch):
    """The simulator reports races and indices out of bounds."""
    monkeypatch.setenv("ENTREPOT_SIMULATE", "1")
    keys = unordered("f2", 2 * 512 + 300)
    found_keys, found = sort_by_key(keys, np.arange(keys.size))
    order = expected_order(keys)
    assert_same_bits(found_keys, keys[order])
    np.testing.assert_array_equal(found, order)


@every_device
def test_large_sort_counts_in_words_of_64_bits(device, request, monkeypatch):
    if device in CPUS:
        give_few_elements(request, monkeypatch)
    monkeypatch.setattr(sorting, "uses_groups", lambda device: True)
    monkeypatch.setattr(sorting, "MOST_IN_32_BITS", 20_000)
    words = []
    make = sorting._group_kernel

    def recorded(name, dtype, descending, word, *rest):
        words.append(word.name)
        return make(name, dtype, descending, word, *rest)

    monkeypatch.setattr(sorting, "_group_kernel", recorded)
    for size, word in ((20_000, "uint32"), (20_001, "uint64")):
        values = unordered("i4", size)
        assert_same_bits(values_of(sort(on(device, values))), np.sort(values))
        assert set(words) == {word}
        words.clear()


@every_device
def test_sorts_return_kind_of_their_arguments(device):
    with ep.device_context(device):
        found = sort(np.array([2, 1]))
        keys, values = sort_by_key(np.array([2, 1]), np.array([0.5, 1.5]))
    assert (type(found), found.tolist()) == (np.ndarray, [1, 2])
    assert (type(keys), type(values), values.tolist()) == (np.ndarray, np.ndarray, [1.5, 0.5])
    keys, values = sort_by_key(on(device, np.array([2, 1])), np.array([0.5, 1.5]))
    assert (type(values), values.device) == (ep.Array, ep.device(device))
    assert values_of(values).tolist() == [1.5, 0.5]


@every_device
def test_sort_returns_its_temporary_memory(device, parts):
    array = on(device, unordered("i8", 50_000))
    counted = ep.memory.statistics()
    with ep.memory.use_resource(counted):
        found = sort(array)
    array.queue.wait()
    assert counted.current_count == 1, "the result alone"
    del found


@pytest.mark.host
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sort(np.ones((2, 2))), ValueError, r"shape is \(2, 2\): pass reshape"),
        (lambda: sort(np.ones(2, "c8")), TypeError, r"the elements are complex64: .* np\.abs"),
        (lambda: argsort(3), TypeError, r"argsort\(\): argument 0 \(array\)"),
        (lambda: sort_by_key(np.ones(2), np.ones(3)), ValueError, "2 keys and 3 values"),
        (lambda: sort_by_key(np.ones(2), np.ones((2, 1))), ValueError, r"argument 1 \(values\)"),
        (lambda: sort_by_key(np.ones(2, "c8"), np.ones(2)), TypeError, r"^sort_by_key\(\) orders"),
    ],
)
def test_sorts_refuse_arguments_that_do_not_fit(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.host
@given(
    st.lists(st.floats(width=32) | st.sampled_from([0.0, -0.0]), max_size=300),
    st.integers(1, 5),
    st.sampled_from(["chunks", "groups"]),
    st.booleans(),
)
def test_random_sorts_match_numpy(numbers, chunks, which, descending):
    values = np.array(numbers, "f4")
    with pytest.MonkeyPatch.context() as patch:
        for module in (scans, sorting):
            patch.setattr(module, "uses_groups", lambda device: which == "groups")
            patch.setattr(module, "chunks_of", lambda size, device: max(1, min(chunks, size)))
        found = argsort(values, descending=descending)
    np.testing.assert_array_equal(found, expected_order(values, descending))

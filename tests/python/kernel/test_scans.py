"""``inclusive_scan`` and ``exclusive_scan``, against NumPy."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel.algorithms import common, exclusive_scan, inclusive_scan, scans
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
DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


@dppy.func
def composed(f, g):
    """x ↦ a x + b, first f and then g, as the complex number a + b i. It is not commutative."""
    return complex(f.real * g.real, f.imag * g.real + g.imag)


def first_then_last(a, b):
    """Numbers of two digits: the first of a and the last of b. It is not commutative."""
    return a // 10 * 10 + b % 10


def product(a, b):
    return a * b


@pytest.fixture(params=["chunks", "blocks", "groups"])
def parts(request, monkeypatch):
    """Runs the test by chunks, by blocks of two chunks, and by groups on each device."""
    monkeypatch.setattr(scans, "uses_groups", lambda device: request.param == "groups")
    if request.param == "blocks":
        monkeypatch.setattr(scans, "BLOCK_BYTES", 1 << 16)
        monkeypatch.setattr(scans, "chunks_of", lambda size, device: 2 if size > 8 else 1)
    return request.param


def on(device: str, values: np.ndarray) -> ep.Array:
    return dppy.to_device(values, device)


@every_device
@pytest.mark.parametrize("size", SIZES)
def test_scans_of_sizes_at_edges_match_numpy(device, parts, size):
    values = np.random.default_rng(size).integers(-(10**12), 10**12, size)
    expected = np.cumsum(values)
    np.testing.assert_array_equal(values_of(inclusive_scan(on(device, values))), expected)
    np.testing.assert_array_equal(values_of(exclusive_scan(on(device, values))), expected - values)


@every_device
@pytest.mark.parametrize("dtype", DTYPES)
def test_scans_of_every_dtype_keep_it_and_wrap(device, parts, dtype):
    most = 2 if dtype == "f2" else 120
    values = np.random.default_rng(1).integers(0, most, 1500 if dtype == "f2" else 40_001)
    values = values.astype(dtype)
    if dtype[0] == "c":
        values = (values + 1j * values[::-1]).astype(dtype)
    expected = np.cumsum(values, dtype=dtype)
    found = values_of(inclusive_scan(on(device, values)))
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found, expected)
    found = values_of(exclusive_scan(on(device, values), initial=3))
    expected = expected - values + np.array(3, dtype)
    np.testing.assert_array_equal(found, expected.astype(dtype))


@every_device
def test_scan_of_bools_counts_in_int64(device, parts):
    values = np.random.default_rng(2).random(5000) < 0.5
    found = values_of(inclusive_scan(on(device, values)))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, np.cumsum(values))


@every_device
def test_float_scan_is_near_numpy_and_repeats_exactly(device, parts):
    values = np.random.default_rng(3).standard_normal(300_007).astype("f4")
    array = on(device, values)
    found = values_of(inclusive_scan(array))
    exact = np.cumsum(values.astype("f8"))
    np.testing.assert_allclose(found, exact, rtol=0, atol=0.05)
    assert all(values_of(inclusive_scan(array)).tobytes() == found.tobytes() for _ in range(3))


@every_device
@pytest.mark.parametrize("size", [1, 2, 257, 4097, 100_003])
def test_scan_by_noncommutative_function_keeps_order(device, parts, size):
    values = np.random.default_rng(size).integers(10, 100, size)
    expected = values[0] // 10 * 10 + values % 10
    expected[0] = values[0]
    found = values_of(inclusive_scan(on(device, values), first_then_last))
    np.testing.assert_array_equal(found, expected)
    found = values_of(exclusive_scan(on(device, values), first_then_last, initial=70))
    expected = np.concatenate([[70], 70 + values[:-1] % 10])
    np.testing.assert_array_equal(found, expected)


@every_device
def test_scan_by_device_function_composes_in_order(device, parts):
    random = np.random.default_rng(4)
    values = random.choice([-1.0, 1.0], 5001) + 1j * random.integers(-5, 5, 5001)
    found = values_of(inclusive_scan(on(device, values), composed))
    expected = list(itertools.accumulate(values.tolist(), composed.function))
    np.testing.assert_array_equal(found, expected)


@every_device
def test_scan_by_maximum_has_type_of_function(device, parts):
    values = np.random.default_rng(5).standard_normal(50_000)
    found = values_of(inclusive_scan(on(device, values), lambda a, b: max(a, b)))
    np.testing.assert_array_equal(found, np.maximum.accumulate(values))
    halves = inclusive_scan(on(device, np.ones(5, "i4")), lambda a, b: a * 0.5 + b * 0.5)
    assert str(halves.dtype) == "float64"


@every_device
def test_scan_with_identity_starts_with_it(device, parts):
    values = np.full(3000, -1, "i8")
    values[:3] = [2, 3, 4]
    assert values_of(inclusive_scan(on(device, values), product, identity=10)).tolist()[:4] == [
        20,
        60,
        240,
        -240,
    ]
    found = values_of(exclusive_scan(on(device, values), product, identity=1))
    assert found.tolist()[:5] == [1, 2, 6, 24, -24]
    chosen = exclusive_scan(on(device, values), product, identity=1, initial=5)
    assert values_of(chosen)[0] == 5, "initial is before identity"


@every_device
@pytest.mark.parametrize("size", [5, 4097, 200_001])
def test_scan_in_place_matches_numpy(device, parts, size):
    values = np.random.default_rng(size).integers(-9, 9, size)
    array = on(device, values)
    assert inclusive_scan(array, out=array) is array
    np.testing.assert_array_equal(values_of(array), np.cumsum(values))
    array = on(device, values)
    exclusive_scan(array, initial=1, out=array)
    np.testing.assert_array_equal(values_of(array), 1 + np.cumsum(values) - values)


@every_device
def test_scan_into_overlapping_out_reads_input_first(device, parts):
    values = np.random.default_rng(6).integers(-9, 9, 70_001)
    array = on(device, values)
    inclusive_scan(array[:-1], out=array[1:])
    np.testing.assert_array_equal(values_of(array)[1:], np.cumsum(values[:-1]))
    array = on(device, values)
    inclusive_scan(array[::-1], out=array)
    np.testing.assert_array_equal(values_of(array), np.cumsum(values[::-1]))


@every_device
def test_scan_into_wider_out_adds_in_its_dtype(device, parts):
    values = np.full(1000, 100, "i1")
    out = on(device, np.zeros(1000, "i8"))
    inclusive_scan(on(device, values), out=out)
    assert values_of(out)[-1] == 100_000


@every_device
def test_scan_of_strided_and_read_only_arrays_matches_numpy(device, parts):
    values = np.arange(9000).reshape(-1, 3)
    array = on(device, values)
    np.testing.assert_array_equal(values_of(inclusive_scan(array[:, 1])), values[:, 1].cumsum())
    backwards = inclusive_scan(array[::-2, 0])
    np.testing.assert_array_equal(values_of(backwards), values[::-2, 0].cumsum())
    values.flags.writeable = False
    with ep.device_context(device):
        found = inclusive_scan(values[:, 2])
    np.testing.assert_array_equal(found, values[:, 2].cumsum())


@every_device
def test_next_kernel_uses_scan_without_waiting(device, parts):
    values = np.ones(500_000, "i8")
    array = on(device, values)
    for _ in range(3):
        array = inclusive_scan(array)
    double = dppy.vectorize(lambda x: 2 * x)
    expected = functools.reduce(lambda a, _: np.cumsum(a), range(3), values)
    np.testing.assert_array_equal(values_of(double(array)), 2 * expected)


@every_device
def test_scan_on_another_queue_waits_for_pending_work(device, parts):
    values = np.ones(500_000, "i8")
    double = dppy.vectorize(lambda x: 2 * x)
    array, queue = on(device, values), ep.Queue(device)
    for _ in range(4):
        array = inclusive_scan(double(array), queue=queue)
        assert array.queue == queue
        array = double(ep.asarray(array, queue=on(device, values).queue))
    expected = values
    for _ in range(4):
        expected = 2 * np.cumsum(2 * expected)
    np.testing.assert_array_equal(values_of(array), expected)


@every_device
@pytest.mark.ml_dtypes
def test_scan_of_bfloat16_keeps_it(device, parts):
    import ml_dtypes

    values = np.ones(200, ml_dtypes.bfloat16)
    found = values_of(inclusive_scan(on(device, values)))
    assert found.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(found.astype("f4"), np.arange(1, 201))


@every_device
def test_scan_returns_kind_of_its_argument(device):
    with ep.device_context(device):
        found = inclusive_scan(np.arange(4))
    assert (type(found), found.tolist()) == (np.ndarray, [0, 1, 3, 6])
    found = inclusive_scan(on(device, np.arange(4)))
    assert (type(found), found.device) == (ep.Array, ep.device(device))
    queue = ep.Queue(device)
    assert inclusive_scan(ep.asarray(np.arange(4)), queue=queue).queue == queue


@pytest.mark.host
def test_scan_kernels_have_no_races(parts, monkeypatch):
    """The simulator reports races and indices out of bounds."""
    monkeypatch.setenv("ENTREPOT_SIMULATE", "1")
    monkeypatch.setattr(scans, "BLOCK_BYTES", 1 << 14 if parts == "blocks" else 1 << 23)
    monkeypatch.setattr(scans, "chunks_of", lambda size, device: 3)
    values = np.random.default_rng(7).integers(10, 100, 2 * common.TILE + 300)
    array = ep.asarray(values, copy=True)
    inclusive_scan(array, out=array)
    np.testing.assert_array_equal(array.numpy(), np.cumsum(values))
    array = ep.asarray(values, copy=True)
    found = exclusive_scan(array, first_then_last, initial=70)
    expected = np.concatenate([[70], 70 + values[:-1] % 10])
    np.testing.assert_array_equal(found.numpy(), expected)


@every_device
def test_scan_returns_its_temporary_memory(device, parts):
    array = on(device, np.arange(100_000))
    counted = ep.memory.statistics()
    with ep.memory.use_resource(counted):
        found = inclusive_scan(array)
    array.queue.wait()
    assert counted.current_count == 1, "the result alone"
    assert counted.total_count >= 2
    del found


@pytest.mark.host
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: inclusive_scan(np.ones((2, 2))), ValueError, r"shape is \(2, 2\): pass reshape"),
        (lambda: inclusive_scan(np.ones(2), axis=1), ValueError, "axis=1 .* pass 0"),
        (lambda: inclusive_scan(np.ones(2), out=np.ones(3)), ValueError, "out: the shape is"),
        (lambda: inclusive_scan(np.zeros(2), 3), TypeError, "a Python function of two numbers"),
        (lambda: exclusive_scan(np.ones(2), product), ValueError, "pass initial=, or identity="),
        (lambda: exclusive_scan(np.ones(2, "u1"), initial=-1), OverflowError, "initial: -1"),
        (lambda: inclusive_scan(np.ones(2), identity="1"), TypeError, "identity: a str"),
        (lambda: inclusive_scan(3), TypeError, r"argument 0 \(array\)"),
    ],
)
def test_scans_refuse_arguments_that_do_not_fit(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.host
def test_scan_into_read_only_out_is_refused():
    out = np.zeros(3)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out: the array is read-only"):
        inclusive_scan(np.ones(3), out=out)


@pytest.mark.host
@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=300),
    st.integers(1, 7),
    st.sampled_from(["chunks", "blocks", "groups"]),
)
def test_random_scans_match_python(numbers, repeats, which):
    values = np.tile(np.array(numbers, "i8"), repeats)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scans, "uses_groups", lambda device: which == "groups")
        patch.setattr(scans, "chunks_of", lambda size, device: max(1, min(5, size // 4)))
        patch.setattr(scans, "BLOCK_BYTES", 8 * 37 if which == "blocks" else 1 << 23)
        found = inclusive_scan(values)
    np.testing.assert_array_equal(found, np.cumsum(values))

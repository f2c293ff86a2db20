"""``histogram`` and ``bincount``, against NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel import algorithms, reducer
from entrepot.kernel.algorithms import histograms
from kernel.backends import every_device
from kernel.test_cuda_text import compile_for_h100
from kernel.test_cuda_text import nvrtc as nvrtc  # a fixture

pytestmark = pytest.mark.numpy

SIZES = [0, 1, 2, 255, 256, 257, 4095, 4096, 4097, 1_000_003]
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]


@pytest.fixture(params=["own", "groups", "global memory"])
def kernels(request, monkeypatch):
    """The kernels of the device, and those of GPUs, which have to run on every device."""
    if request.param != "own":
        monkeypatch.setattr(histograms, "uses_groups", lambda device: True)
        monkeypatch.setattr(reducer, "uses_groups", lambda device: True)
    if request.param == "global memory":
        monkeypatch.setattr(histograms, "_MOST_LOCAL_BYTES", 0)


def on(device: str, values: np.ndarray) -> ep.Array:
    return dppy.to_device(values, device)


def values_of(array: ep.Array) -> np.ndarray:
    return dppy.copy_to_host(array)


def with_fp64(device: str) -> None:
    if not ep.device(device).has_aspect_fp64:
        pytest.skip("no float64")


def numbers(dtype: str, size: int) -> np.ndarray:
    values = np.random.default_rng(size).normal(size=size) * 20
    return (np.abs(values) if dtype[0] == "u" else values).astype(dtype)


def numpy_histogram(values: np.ndarray, *args: Any, **kwargs: Any) -> tuple:
    with warnings.catch_warnings():  # of the conversion of bools
        warnings.simplefilter("ignore")
        return np.histogram(values, *args, **kwargs)


def check_histogram(found: tuple, expected: tuple) -> None:
    np.testing.assert_array_equal(values_of(found[1]), expected[1], strict=True)
    np.testing.assert_array_equal(values_of(found[0]), expected[0])
    assert str(found[0].dtype) == "int64"


class TestHistogram:
    @every_device
    @pytest.mark.parametrize("size", SIZES)
    def test_counts_of_sizes_match_numpy(self, device, kernels, size):
        values = numbers("f4", size)
        for bins, limits in ((10, None), (97, (-30.5, 41.25))):
            found = algorithms.histogram(on(device, values), bins, limits)
            check_histogram(found, numpy_histogram(values, bins, limits))

    @every_device
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize(
        ("bins", "limits"), [(10, None), (1, (-3, 7)), (100, (0.1, 12.7)), (7, (2, 2))], ids=str
    )
    def test_counts_of_dtypes_match_numpy(self, device, kernels, dtype, bins, limits):
        if dtype not in ("f2", "f4"):
            with_fp64(device)
        values = numbers(dtype, 5000)
        found = algorithms.histogram(on(device, values), bins, limits)
        check_histogram(found, numpy_histogram(values, bins, limits))

    @every_device
    @pytest.mark.parametrize("bins", [1, 2, 1000, 20_000, 300_000])
    def test_many_bins_match_numpy(self, device, kernels, bins):
        values = np.random.default_rng(0).random(100_000, "f4")
        found = algorithms.histogram(on(device, values), bins, (0, 1))
        check_histogram(found, numpy_histogram(values, bins, (0, 1)))

    @every_device
    @pytest.mark.parametrize("dtype", ["f4", "f8"])
    def test_elements_at_edges_belong_to_bin_above(self, device, kernels, dtype):
        """The last bin contains both of its edges. Neighboring numbers differ in their bins."""
        if dtype == "f8":
            with_fp64(device)
        edges = np.histogram_bin_edges(np.empty(0, dtype), 49, (0, 4.9))
        below, above = (np.nextafter(edges, np.array(to, dtype)) for to in (-np.inf, np.inf))
        values = np.concatenate([edges, below, above])
        counts, found = algorithms.histogram(on(device, values), 49, (0, 4.9))
        np.testing.assert_array_equal(values_of(found), edges)
        assert values_of(counts).tolist() == [3] * 48 + [4]

    @every_device
    def test_nan_and_infinity_are_outside_of_range(self, device, kernels):
        values = np.array([np.nan, 0.5, np.inf, -np.inf, 2, -1, 1, 0], "f4")
        counts, _ = algorithms.histogram(on(device, values), 2, (0, 1))
        assert values_of(counts).tolist() == [1, 2]

    @every_device
    def test_range_of_equal_elements_is_one_wide(self, device):
        found = algorithms.histogram(on(device, np.full(100, 3, "f4")), 4)
        check_histogram(found, numpy_histogram(np.full(100, 3, "f4"), 4))

    @every_device
    @pytest.mark.parametrize("dtype", ["i2", "i4", "i8", "u8", "f4", "f8"])
    def test_weights_match_numpy(self, device, kernels, dtype):
        if dtype == "f8":
            with_fp64(device)
        values = numbers("f4", 20_000)
        weights = np.random.default_rng(1).integers(0, 9, values.size).astype(dtype)
        counts, _ = algorithms.histogram(
            on(device, values), 30, (-20, 20), weights=on(device, weights)
        )
        expected, _ = numpy_histogram(values, 30, (-20, 20), weights=weights)
        np.testing.assert_array_equal(values_of(counts), expected, strict=True)

    @every_device
    @pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "f2", "f4", "f8"])
    @pytest.mark.parametrize(
        "edges",
        [
            [-3, 0, 0, 1, 7, 1000],
            np.array([0.0, 0.5, 0.5, 7.25, 7.25]),
            np.array([-np.inf, -1, 2, np.inf]),
            np.array([1, 2, 2**63], "u8"),
            np.linspace(-60, 60, 1500, dtype="f4"),
        ],
        ids=["list", "repeated", "infinite", "large", "many"],
    )
    def test_counts_between_edges_match_numpy(self, device, kernels, dtype, edges):
        with_fp64(device)
        values = numbers(dtype, 5000)
        counts, found = algorithms.histogram(on(device, values), edges)
        expected, expected_edges = np.histogram(values, edges)
        assert values_of(counts).tolist() == expected.tolist()
        np.testing.assert_array_equal(values_of(found), expected_edges, strict=True)

    @every_device
    def test_edges_of_integers_are_compared_exactly(self, device, kernels):
        """Neighbors that are equal as float64 differ."""
        edges = np.array([2**60, 2**60 + 1, 2**60 + 2])
        found, _ = algorithms.histogram(on(device, np.arange(2**60 - 1, 2**60 + 4)), edges)
        assert values_of(found).tolist() == [1, 2]

    @pytest.mark.host
    def test_edges_are_those_of_the_call(self):
        """The kernel may run after the caller has changed them."""
        edges = np.array([0.0, 1, 2])
        values = ep.asarray(np.full(1_000_000, 0.5), copy=True)
        counts, found = algorithms.histogram(values, edges)
        edges[:] = 9
        assert counts.numpy().tolist() == [1_000_000, 0]
        assert found.numpy().tolist() == [0, 1, 2]

    @every_device
    def test_strided_array_is_read(self, device, kernels):
        values = numbers("f4", 6000).reshape(60, 100)
        found = algorithms.histogram(on(device, values)[::-2, ::3], 20, (-50, 50))
        check_histogram(found, numpy_histogram(values[::-2, ::3], 20, (-50, 50)))

    @every_device
    def test_numpy_array_read_only_gives_numpy(self, device):
        values = numbers("f4", 3000)
        values.flags.writeable = False
        with ep.device_context(device):
            counts, edges = algorithms.histogram(values, 20)
        assert (type(counts), type(edges)) == (np.ndarray, np.ndarray)
        expected = numpy_histogram(values, 20)
        assert counts.tolist() == expected[0].tolist()
        assert edges.tolist() == expected[1].tolist()

    @every_device
    def test_array_gives_arrays_of_its_queue(self, device):
        queue = ep.Queue(device)
        array = ep.full(10, 1, "float32", queue=queue)
        counts, edges = algorithms.histogram(array, 3, (0, 3))
        assert (type(counts), type(edges)) == (ep.Array, ep.Array)
        assert (counts.queue, edges.queue) == (queue, queue)

    @every_device
    def test_next_kernel_reads_counts_without_waiting(self, device):
        values = np.random.default_rng(0).random(1_000_000, "f4")
        double = dppy.vectorize(lambda x: 2 * x)
        counts, edges = algorithms.histogram(double(on(device, values)), 50, (0, 2))
        expected = numpy_histogram(2 * values, 50, (0, 2))
        assert values_of(double(counts)).tolist() == (2 * expected[0]).tolist()
        assert values_of(double(edges)).tolist() == (2 * expected[1]).tolist()

    @pytest.mark.host
    def test_invalid_arguments_are_refused(self):
        values = np.arange(4.0)
        with pytest.raises(TypeError, match="bins is an int"):
            algorithms.histogram(values, 1.5)
        with pytest.raises(ValueError, match="bins is 1 or more, and 0 was given"):
            algorithms.histogram(values, 0)
        with pytest.raises(ValueError, match=r"edges ascend, and .*3, 1.* were given: sort them"):
            algorithms.histogram(values, [2, 3, 1])
        with pytest.raises(ValueError, match="edges ascend"):
            algorithms.histogram(values, [0, np.nan, 1])
        with pytest.raises(ValueError, match="two real edges or more in one dimension"):
            algorithms.histogram(values, [1])
        with pytest.raises(ValueError, match="two real edges or more in one dimension"):
            algorithms.histogram(values, np.ones((2, 2)))
        with pytest.raises(ValueError, match="range= was given with edges"):
            algorithms.histogram(values, [1, 2], (0, 3))
        with pytest.raises(ValueError, match=r"range ascends, and \(2, 1\) was given"):
            algorithms.histogram(values, 3, (2, 1))
        with pytest.raises(ValueError, match=r"range is finite, and .* was given"):
            algorithms.histogram(values, 3, (0, np.inf))
        with pytest.raises(ValueError, match=r"range is finite, and .*nan.* was found"):
            algorithms.histogram(np.array([1, np.nan, 2]), 3)
        with pytest.raises(TypeError, match="elements are real numbers, and complex128"):
            algorithms.histogram(values + 1j, 3)
        with pytest.raises(TypeError, match="weights are real numbers, and bool"):
            algorithms.histogram(values, 3, weights=values > 1)
        with pytest.raises(ValueError, match=r"the array has the shape \(4,\), and weights has"):
            algorithms.histogram(values, 3, weights=np.ones(5))


class TestBincount:
    @every_device
    @pytest.mark.parametrize("size", SIZES)
    def test_counts_of_sizes_match_numpy(self, device, kernels, size):
        values = np.random.default_rng(size).integers(0, 300, size)
        found = algorithms.bincount(on(device, values))
        np.testing.assert_array_equal(values_of(found), np.bincount(values))
        assert str(found.dtype) == "int64"

    @every_device
    @pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
    def test_counts_of_dtypes_match_numpy(self, device, kernels, dtype):
        values = np.random.default_rng(0).integers(0, 128, 5000).astype(dtype)
        np.testing.assert_array_equal(
            values_of(algorithms.bincount(on(device, values))), np.bincount(values.astype("i8"))
        )

    @every_device
    def test_lengths_extend_or_limit_counts(self, device, kernels):
        values = np.array([3, 0, 3, -1, 7, 2**40])
        array = on(device, values)
        assert values_of(algorithms.bincount(array, length=4)).tolist() == [1, 0, 0, 2]
        assert algorithms.bincount(array, length=0).shape == (0,)
        assert values_of(algorithms.bincount(array[:3], minlength=6)).tolist() == [1, 0, 0, 2, 0, 0]
        assert values_of(algorithms.bincount(array[:3], minlength=2)).tolist() == [1, 0, 0, 2]
        far = on(device, np.array([1, 2**63 + 1, 2**64 - 1], "u8"))
        assert values_of(algorithms.bincount(far, length=3)).tolist() == [0, 1, 0]

    @every_device
    def test_weights_match_numpy(self, device, kernels):
        values = np.random.default_rng(0).integers(0, 50, 20_000)
        weights = np.random.default_rng(1).integers(0, 9, values.size).astype("f4")
        found = algorithms.bincount(on(device, values), weights=on(device, weights))
        np.testing.assert_array_equal(values_of(found), np.bincount(values, weights))
        assert str(found.dtype) == "float32"

    @every_device
    def test_counts_in_one_bin_are_not_lost(self, device, kernels):
        found = algorithms.bincount(on(device, np.full(1_000_003, 2, "i4")), length=3)
        assert values_of(found).tolist() == [0, 0, 1_000_003]

    @pytest.mark.host
    def test_invalid_arguments_are_refused(self):
        with pytest.raises(TypeError, match="counts integers, and float64 was given"):
            algorithms.bincount(np.ones(3))
        with pytest.raises(ValueError, match="integers from 0, and -2 was found"):
            algorithms.bincount(np.array([1, -2]))
        with pytest.raises(ValueError, match="minlength is 0 or more, and -1 was given"):
            algorithms.bincount(np.array([1]), minlength=-1)
        with pytest.raises(TypeError, match="length is an int"):
            algorithms.bincount(np.array([1]), length=1.5)  # type: ignore[arg-type]


def bin_of(compared: str | None) -> dppy.DeviceFunction:
    if compared is None:
        return histograms._bin_of(histograms._BIN_OF_INTEGERS)
    text = histograms._BIN_OF_ANY_EDGES if compared == "int64" else histograms._BIN_OF_EDGES
    return histograms._bin_of(text, ep.Dtype(compared))


KERNELS = {
    "chunks": (histograms._IN_CHUNKS, "", "int64[:, :]"),
    "groups": (histograms._IN_GROUPS, "local int32[:], ", "int32[:, :]"),
    "global memory": (histograms._IN_GLOBAL_MEMORY, "", "int64[:, :]"),
}


@pytest.mark.host
@pytest.mark.parametrize("compared", [None, "float32", "float64", "int64"])
@pytest.mark.parametrize("kind", KERNELS)
def test_cuda_text_compiles(nvrtc, kind, compared):
    text, local, counts = KERNELS[kind]
    code = histograms._counter(text, bin_of(compared), False)
    data = f"{compared}[:], {compared}[:], {compared}" if compared else "uint16[:], int64, int64"
    source = code.source("cuda", signature=f"void({data}, {local}{counts})", device="host")
    assert compile_for_h100(nvrtc, source) == "", source


@pytest.mark.host
@pytest.mark.parametrize("kind", KERNELS)
def test_kernels_have_no_race_in_simulator(kind):
    text, local, _ = KERNELS[kind]
    rows = 1 if kind == "global memory" else 2
    counts = np.zeros((rows, 5), "i4" if local else "i8")
    values = np.random.default_rng(0).integers(-1, 7, 700)
    memory = [dppy.LocalAccessor(5, dppy.int32)] if local else []
    size = histograms._GROUP
    ranges = (2 * size, size) if local else (rows if kind == "chunks" else 20, None)
    histograms._counter(text, bin_of(None), False).simulate[ranges](values, 5, 0, *memory, counts)
    assert counts.sum(axis=0).tolist() == [(values == each).sum() for each in range(5)]

"""``reduce`` along axes, ``transform_reduce``, ``argmin``, ``argmax`` and ``segmented_reduce``."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel import algorithms, reducer
from entrepot.kernel.algorithms import searches
from kernel.backends import every_device
from kernel.test_cuda_text import compile_for_h100
from kernel.test_cuda_text import nvrtc as nvrtc  # a fixture

pytestmark = pytest.mark.numpy

SIZES = [0, 1, 2, 255, 256, 257, 4095, 4096, 4097, 1_000_003]
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
SHAPES = [
    (5,),
    (3, 4),
    (257, 3),
    (3, 4097),
    (2, 3, 4),
    (70, 5, 6),
    (2, 3, 2, 3),
    (5000, 2),
    (300, 16),
    (700, 128),
]


@dppy.func
def add(x, y):
    return x + y


@dppy.func
def multiply(x, y):
    return x * y


@dppy.func
def larger(x, y):
    return max(x, y)


@pytest.fixture(params=["own", "groups"])
def kernels(request, monkeypatch):
    """The kernels of the device, and those of GPUs, which have to run on every device."""
    if request.param == "groups":
        for module in (reducer, searches):
            monkeypatch.setattr(module, "uses_groups", lambda device: True)


def on(device: str, values: np.ndarray) -> ep.Array:
    return dppy.to_device(values, device)


def values_of(array: ep.Array) -> np.ndarray:
    return dppy.copy_to_host(array)


def integers(*shape: int, seed: int = 0, dtype: str = "i8") -> np.ndarray:
    return np.random.default_rng(seed).integers(-50, 50, shape).astype(dtype)


def with_fp64(device: str) -> None:
    if not ep.device(device).has_aspect_fp64:
        pytest.skip("no float64")


class TestReduce:
    @every_device
    @pytest.mark.parametrize("size", SIZES)
    def test_sum_of_all_matches_numpy(self, device, kernels, size):
        values = integers(size, seed=size)
        found = algorithms.reduce(on(device, values), add, 0)
        assert (type(found), found.shape, found.device) == (ep.Array, (), ep.device(device))
        assert found.item() == values.sum()

    @every_device
    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    def test_sum_along_axis_matches_numpy(self, device, kernels, shape):
        values = integers(*shape)
        array = on(device, values)
        for axis in range(-len(shape), len(shape)):
            found = values_of(algorithms.reduce(array, add, 0, axis=axis))
            np.testing.assert_array_equal(found, values.sum(axis=axis), strict=True)

    @every_device
    @pytest.mark.parametrize(
        "axis", [(0, 1), (1, 2), (0, 2), (2, 0), (0, 1, 2), (-1, 0), ()], ids=str
    )
    def test_sum_along_axes_matches_numpy(self, device, kernels, axis):
        values = integers(7, 80, 9)
        found = values_of(algorithms.reduce(on(device, values), add, 0, axis=axis))
        np.testing.assert_array_equal(found, values.sum(axis=axis))

    @every_device
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_sum_along_axis_has_dtype_of_function(self, device, kernels, dtype):
        """Bools give int64, and small integers wrap, as from entrepot.kernel.reduce."""
        if dtype in ("f8", "c16"):
            with_fp64(device)
        values = np.random.default_rng(1).integers(0, 3, (200, 11)).astype(dtype)
        for axis in (0, 1):
            found = values_of(algorithms.reduce(on(device, values), add, 0, axis=axis))
            expected = values.sum(axis=axis, dtype="i8" if dtype == "?" else dtype)
            np.testing.assert_array_equal(found, expected, strict=True)

    @every_device
    def test_maximum_along_axis_needs_no_identity_value(self, device, kernels):
        values = integers(300, 5) - 1000
        found = algorithms.reduce(on(device, values), larger, 0, axis=0)
        assert values_of(found).tolist() == values.max(axis=0).tolist()

    @every_device
    @pytest.mark.parametrize(
        ("shape", "axis"), [((0, 3), 0), ((3, 0), 1), ((0, 3), 1), ((2, 0, 3), 1)]
    )
    def test_sum_of_no_elements_is_identity(self, device, shape, axis):
        found = algorithms.reduce(on(device, np.zeros(shape, "i4")), add, 7, axis=axis)
        expected = np.full(np.zeros(shape).sum(axis=axis).shape, 7, "i4")
        np.testing.assert_array_equal(values_of(found), expected, strict=True)

    @every_device
    def test_strided_and_reversed_arrays_are_read(self, device, kernels):
        values = integers(60, 70)
        array = on(device, values)
        for view, expected in [
            (array[::2, ::3], values[::2, ::3]),
            (array[::-1, 5:], values[::-1, 5:]),
            (array.T, values.T),
        ]:
            for axis in (0, 1, None):
                found = algorithms.reduce(view, add, 0, axis=axis)
                np.testing.assert_array_equal(values_of(found), expected.sum(axis=axis))

    @every_device
    def test_numpy_array_read_only_gives_numpy(self, device):
        values = integers(30, 40)
        values.flags.writeable = False
        with ep.device_context(device):
            rows = algorithms.reduce(values, add, 0, axis=1)
            total = algorithms.reduce(values, add, 0)
        assert type(rows) is np.ndarray
        assert rows.tolist() == values.sum(axis=1).tolist()
        assert isinstance(total, np.integer)
        assert total == values.sum()

    @every_device
    def test_out_is_written_and_returned(self, device, kernels):
        values = integers(30, 40)
        out = ep.zeros((2, 40), "int64", device=device)
        assert algorithms.reduce(on(device, values), add, 0, axis=0, out=out[1]) is not None
        assert values_of(out).tolist() == [[0] * 40, values.sum(axis=0).tolist()]
        columns = ep.zeros((30, 2), "int64", device=device)
        algorithms.reduce(on(device, values), add, 0, axis=1, out=columns[:, 1])
        assert values_of(columns)[:, 1].tolist() == values.sum(axis=1).tolist()
        assert not values_of(columns)[:, 0].any()

    @every_device
    def test_many_short_rows_of_strided_arrays_are_read_and_written(self, device, kernels):
        values = integers(900, 14)
        array, out = on(device, values), ep.zeros((450, 3), "int64", device=device)
        algorithms.reduce(array[::-2, ::3], add, 0, axis=1, out=out[:, 1])
        expected = values[::-2, ::3]
        assert values_of(out).tolist() == [[0, each, 0] for each in expected.sum(axis=1)]
        algorithms.argmin(array[::-2, ::3], 1, out=out[::-1, 2])
        assert values_of(out)[::-1, 2].tolist() == expected.argmin(axis=1).tolist()

    @every_device
    def test_out_with_elements_of_array_is_exact(self, device):
        values = integers(64, 64)
        array = on(device, values)
        algorithms.reduce(array, add, 0, axis=1, out=array[0])
        assert values_of(array)[0].tolist() == values.sum(axis=1).tolist()

    @every_device
    def test_next_kernel_reads_result_without_waiting(self, device):
        queue = ep.Queue(device)
        values = integers(2000, 500)
        array = ep.empty(values.shape, "int64", queue=queue)
        ep.copy(array, values).wait()
        double = dppy.vectorize(lambda x: 2 * x)
        found = double(algorithms.reduce(double(array), add, 0, axis=0))
        assert found.queue == queue
        assert values_of(found).tolist() == (4 * values.sum(axis=0)).tolist()

    @pytest.mark.host
    def test_queue_is_used(self):
        queue = ep.Queue("host")
        assert algorithms.reduce(ep.asarray(integers(9)), add, 0, queue=queue).queue == queue

    @pytest.mark.host
    def test_invalid_arguments_are_refused(self):
        values = integers(3, 4)
        with pytest.raises(ValueError, match="axis 2 was asked for, and the array has 2 dim"):
            algorithms.reduce(values, add, 0, axis=2)
        with pytest.raises(ValueError, match="an axis is repeated"):
            algorithms.reduce(values, add, 0, axis=(0, -2))
        with pytest.raises(TypeError, match="axis is an int"):
            algorithms.reduce(values, add, 0, axis=1.0)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="two numbers"):
            algorithms.reduce(values, 3, 0)
        with pytest.raises(ValueError, match=r"the shape is \(3,\), and the result has \(4,\)"):
            algorithms.reduce(values, add, 0, axis=0, out=np.zeros(3, "i8"))
        with pytest.raises(TypeError, match="the result is of int64, and out of float32"):
            algorithms.reduce(values, add, 0, axis=0, out=np.zeros(4, "f4"))


class TestTransformReduce:
    @every_device
    @pytest.mark.parametrize("size", SIZES)
    def test_product_of_two_arrays_matches_numpy(self, device, kernels, size):
        x, y = integers(size), integers(size, seed=1)
        found = algorithms.transform_reduce(multiply, add, 0, on(device, x), on(device, y))
        assert (found.shape, found.item()) == ((), (x * y).sum())

    @every_device
    def test_type_is_that_of_transformed_elements(self, device, kernels):
        with_fp64(device)
        halves = dppy.func(lambda x: x * 0.5)
        found = algorithms.transform_reduce(halves, add, 0, on(device, integers(1000)))
        assert (str(found.dtype), found.item()) == ("float64", integers(1000).sum() / 2)
        positive = dppy.func(lambda x: x > 0)
        count = algorithms.transform_reduce(positive, add, 0, on(device, integers(1000)))
        assert (str(count.dtype), count.item()) == ("int64", (integers(1000) > 0).sum())

    @every_device
    def test_three_strided_arrays_match_numpy(self, device, kernels):
        x, y, z = (integers(40, 60, seed=seed) for seed in range(3))
        choose = dppy.func(lambda a, b, c: a if b > c else b)
        found = algorithms.transform_reduce(
            choose, add, 0, on(device, x)[:, ::2], on(device, y)[::-1, ::2], on(device, z)[:, 1::2]
        )
        a, b, c = x[:, ::2], y[::-1, ::2], z[:, 1::2]
        assert found.item() == np.where(b > c, a, b).sum()

    @pytest.mark.host
    def test_numpy_arrays_give_numpy_scalar(self):
        found = algorithms.transform_reduce(multiply, add, 0, np.ones(5), np.arange(5.0))
        assert isinstance(found, np.float64)
        assert found == 10

    @pytest.mark.host
    def test_invalid_arguments_are_refused(self):
        with pytest.raises(TypeError, match="at least one array"):
            algorithms.transform_reduce(multiply, add, 0)
        with pytest.raises(ValueError, match=r"one shape, and their shapes are \(3,\), \(4,\)"):
            algorithms.transform_reduce(multiply, add, 0, np.ones(3), np.ones(4))


EXTREMES = pytest.mark.parametrize("name", ["argmin", "argmax"])


class TestExtremes:
    @every_device
    @EXTREMES
    @pytest.mark.parametrize("size", SIZES[1:])
    def test_place_of_all_matches_numpy(self, device, kernels, name, size):
        """Values repeat, so that the first place matters."""
        values = integers(size, seed=size)
        found = getattr(algorithms, name)(on(device, values))
        assert (str(found.dtype), found.item()) == ("int64", getattr(np, name)(values))

    @every_device
    @EXTREMES
    @pytest.mark.parametrize("place", [0, 1023, 1024, 15_625, 499_999, 1_000_002])
    def test_place_of_single_extreme_is_found(self, device, kernels, name, place):
        values = np.zeros(1_000_003, "f4")
        values[place] = {"argmin": -1, "argmax": 1}[name]
        values[place + 1 :: 7777] = values[place]
        assert getattr(algorithms, name)(on(device, values)).item() == place

    @every_device
    @EXTREMES
    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    def test_places_along_axis_match_numpy(self, device, kernels, name, shape):
        values = integers(*shape)
        for axis in range(-len(shape), len(shape)):
            found = values_of(getattr(algorithms, name)(on(device, values), axis))
            np.testing.assert_array_equal(found, getattr(np, name)(values, axis=axis))

    @every_device
    @EXTREMES
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("size", [2, 257, 5000])
    def test_place_of_every_dtype_matches_numpy(self, device, kernels, name, dtype, size):
        if dtype in ("f8", "c16"):
            with_fp64(device)
        generator = np.random.default_rng(size)
        values = generator.integers(0, 100, size).astype(dtype)
        if dtype in ("c8", "c16"):
            values += (1j * generator.integers(0, 100, size)).astype(dtype)
        found = getattr(algorithms, name)(on(device, values)).item()
        assert found == getattr(np, name)(values)

    @every_device
    @EXTREMES
    @pytest.mark.parametrize("dtype", ["f2", "f4", "c8"])
    @pytest.mark.parametrize("places", [[0], [4998], [4999], [100, 3000], [2500, 2501]], ids=str)
    def test_first_nan_is_the_place(self, device, kernels, name, dtype, places):
        values = np.random.default_rng(0).random(5000).astype(dtype)
        values[10:20] = [np.inf, -np.inf] * 5
        values[places] = np.nan
        assert getattr(algorithms, name)(on(device, values)).item() == places[0]

    @every_device
    @EXTREMES
    def test_equal_elements_give_first_place(self, device, kernels, name):
        for size in (1, 2, 1023, 1024, 1025, 100_000):
            assert getattr(algorithms, name)(on(device, np.zeros(size, "f4"))).item() == 0
        rows = on(device, np.zeros((3, 5000), "f4"))
        assert values_of(getattr(algorithms, name)(rows, 1)).tolist() == [0, 0, 0]
        signed = on(device, np.array([0.0, -0.0] * 600, "f4"))
        assert getattr(algorithms, name)(signed).item() == 0

    @every_device
    def test_strided_array_has_places_of_c_order(self, device, kernels):
        values = integers(60, 70)
        found = algorithms.argmax(on(device, values)[::-2, 3:])
        assert found.item() == values[::-2, 3:].argmax()
        assert values_of(algorithms.argmin(on(device, values).T, 1)).tolist() == list(
            values.argmin(axis=0)
        )

    @every_device
    def test_numpy_array_gives_numpy(self, device):
        values = integers(30, 40)
        values.flags.writeable = False
        with ep.device_context(device):
            place, places = algorithms.argmax(values), algorithms.argmin(values, 0)
        assert isinstance(place, np.integer)
        assert (place.dtype, place) == (np.int64, values.argmax())
        assert type(places) is np.ndarray
        assert places.tolist() == values.argmin(axis=0).tolist()

    @every_device
    def test_next_kernel_reads_places_without_waiting(self, device):
        values = integers(3000, 400)
        shift = dppy.vectorize(lambda x: x + 1)
        found = shift(algorithms.argmax(shift(on(device, values)), 0))
        assert values_of(found).tolist() == (values.argmax(axis=0) + 1).tolist()

    @pytest.mark.host
    @EXTREMES
    def test_array_without_elements_is_refused(self, name):
        search = getattr(algorithms, name)
        for shape, axis in (((0,), None), ((0, 3), 0), ((3, 0), 1)):
            with pytest.raises(ValueError, match=f"{name}.*at least one element is needed"):
                search(np.zeros(shape), axis)
        assert search(np.zeros((0, 3)), 1).shape == (0,)
        with pytest.raises(TypeError, match="axis is an int"):
            search(np.zeros((2, 2)), (0, 1))


def sums(values: np.ndarray, offsets: np.ndarray) -> list[int]:
    return [values[a:b].sum().item() for a, b in itertools.pairwise(offsets)]


class TestSegmentedReduce:
    @every_device
    @pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
    def test_segments_of_all_sizes_match_numpy(self, device, kernels, dtype):
        lengths = [0, 1, 2, 0, 63, 64, 65, 127, 128, 129, 4097, 0, 20_000, 0]
        offsets = np.cumsum([3, *lengths])
        values = integers(offsets[-1] + 5)
        found = algorithms.segmented_reduce(
            on(device, values), on(device, offsets.astype(dtype)), add, 0
        )
        assert values_of(found).tolist() == sums(values, offsets)

    @every_device
    @pytest.mark.parametrize("size", SIZES)
    def test_many_short_segments_match_numpy(self, device, kernels, size):
        cuts = np.random.default_rng(size).integers(0, size + 1, size // 3)
        offsets = np.sort(np.concatenate([[0, size], cuts]))
        values = integers(size)
        found = algorithms.segmented_reduce(on(device, values), on(device, offsets), add, 0)
        before = np.concatenate([[0], np.cumsum(values)])
        assert values_of(found).tolist() == (before[offsets[1:]] - before[offsets[:-1]]).tolist()

    @every_device
    def test_empty_segment_is_identity_and_others_ignore_it(self, device, kernels):
        values, offsets = integers(200) - 1000, np.array([0, 0, 150, 150, 200, 200])
        found = algorithms.segmented_reduce(on(device, values), on(device, offsets), larger, 9)
        expected = [9, values[:150].max(), 9, values[150:].max(), 9]
        assert values_of(found).tolist() == expected

    @every_device
    def test_offsets_without_segments_give_empty_array(self, device):
        array, offsets = on(device, integers(5)), on(device, np.zeros(1, "i8"))
        assert algorithms.segmented_reduce(array, offsets, add, 0).shape == (0,)

    @every_device
    @pytest.mark.parametrize(
        ("offsets", "place"),
        [
            (np.array([0, 4, 3, 9]), "offset 2 is 3 after 4"),
            (np.array([0, 4, 101]), "offset 2 is 101 after 4"),
            (np.array([-1, 4]), "offset 0 is -1 after 0"),
            (np.array([0, 2**63 + 5], "u8"), "offset 1 is 9223372036854775813 after 0"),
        ],
        ids=["descending", "above", "below", "far above"],
    )
    def test_invalid_offsets_are_refused_or_identity(self, device, kernels, offsets, place):
        array, starts = on(device, integers(100)), on(device, offsets)
        with pytest.raises(ValueError, match=place):
            algorithms.segmented_reduce(array, starts, add, 0)
        found = algorithms.segmented_reduce(array, starts, add, 77, check=False)
        pairs = itertools.pairwise(offsets.tolist())
        invalid = [not 0 <= a <= b <= 100 for a, b in pairs]
        assert [each == 77 for each in values_of(found).tolist()] == invalid

    @every_device
    def test_strided_and_read_only_input_is_read(self, device, kernels):
        values, offsets = integers(600), np.arange(0, 301, 50)
        found = algorithms.segmented_reduce(
            on(device, values)[::-2], on(device, np.repeat(offsets, 2))[::2], add, 0
        )
        assert values_of(found).tolist() == sums(values[::-2], offsets)
        values.flags.writeable = offsets.flags.writeable = False
        with ep.device_context(device):
            as_numpy = algorithms.segmented_reduce(values, offsets, add, 0)
        assert type(as_numpy) is np.ndarray
        assert as_numpy.tolist() == sums(values, offsets)

    @every_device
    def test_next_kernel_reads_result_without_waiting(self, device):
        values, offsets = integers(1_000_000), np.arange(0, 1_000_001, 1000)
        double = dppy.vectorize(lambda x: 2 * x)
        found = double(
            algorithms.segmented_reduce(
                double(on(device, values)), on(device, offsets), add, 0, check=False
            )
        )
        assert values_of(found).tolist() == (4 * values.reshape(1000, 1000).sum(axis=1)).tolist()

    @pytest.mark.host
    def test_invalid_arguments_are_refused(self):
        with pytest.raises(TypeError, match="offsets are integers, and float64 was given"):
            algorithms.segmented_reduce(np.ones(3), np.zeros(2), add, 0)
        with pytest.raises(ValueError, match="one dimension is supported"):
            algorithms.segmented_reduce(np.ones((3, 3)), np.zeros(2, "i8"), add, 0)
        with pytest.raises(ValueError, match="give at least the start 0"):
            algorithms.segmented_reduce(np.ones(3), np.zeros(0, "i8"), add, 0)


def texts_for_cuda(call) -> list[str]:
    """CUDA C++ of the kernels that the call launches, which are those of GPUs."""
    launched = []
    run = dppy.KernelFunction.__getitem__

    def noted(kernel, index):
        launched.append(kernel)
        return run(kernel, index)

    with pytest.MonkeyPatch.context() as patch:
        for module in (reducer, searches):
            patch.setattr(module, "uses_groups", lambda device: True)
        patch.setattr(dppy.KernelFunction, "__getitem__", noted, raising=False)
        call()
    return [each.source("cuda") for each in launched]


@pytest.mark.host
@pytest.mark.parametrize(
    "call",
    [
        lambda: algorithms.reduce(np.ones((300, 5), "f4"), add, 0, axis=0),
        lambda: algorithms.transform_reduce(multiply, add, 0, np.ones(300), np.ones(300)),
        lambda: algorithms.argmax(np.ones((3, 5000), "f4"), 1),
        lambda: algorithms.argmin(np.ones((3000, 5), "c8"), 0),
        lambda: algorithms.segmented_reduce(np.ones(300, "u1"), np.array([0, 300]), add, 0),
    ],
    ids=["reduce", "transform_reduce", "argmax", "argmin", "segmented_reduce"],
)
def test_cuda_text_compiles(nvrtc, call):
    texts = texts_for_cuda(call)
    assert texts
    for text in texts:
        assert compile_for_h100(nvrtc, text) == "", text


@pytest.mark.host
def test_segments_of_groups_have_no_race_in_simulator():
    size = 64
    code = reducer.Reducer(add.function)._kernel(
        reducer._SEGMENTS_OF_GROUPS, 1, ep.Dtype("int64"), size
    )
    values, offsets, out = integers(300), np.array([0, 5, 5, 170, 300]), np.zeros(4, "i8")
    code.simulate[4 * size, size](out, values, offsets, np.int64(0))
    assert out.tolist() == sums(values, offsets)


@pytest.mark.host
def test_kernels_along_axes_have_no_race_in_simulator(kernels, monkeypatch):
    """The simulator also reports indices out of bounds."""
    monkeypatch.setenv("ENTREPOT_SIMULATE", "1")
    values = integers(3, 700)
    for axis in (0, 1):
        found = algorithms.reduce(values, add, 0, axis=axis)
        np.testing.assert_array_equal(found, values.sum(axis=axis))
        np.testing.assert_array_equal(algorithms.argmax(values, axis), values.argmax(axis))
    assert algorithms.transform_reduce(multiply, add, 0, values, values) == (values**2).sum()
    found = algorithms.segmented_reduce(values[0], np.array([0, 5, 5, 700]), add, 0)
    assert found.tolist() == sums(values[0], np.array([0, 5, 5, 700]))

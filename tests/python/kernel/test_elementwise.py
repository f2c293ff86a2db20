"""``vectorize`` and ``reduce``: functions of numbers over arrays, against NumPy."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_device

pytestmark = pytest.mark.numpy


axpy = dppy.vectorize(lambda a, x, y: a * x + y)
total = dppy.reduce(lambda a, b: a + b, identity=0)
largest = dppy.reduce(lambda a, b: max(a, b))


def on(device: str, values: np.ndarray) -> ep.Array:
    return dppy.to_device(values, device)


@every_device
def test_vectorize_mixes_arrays_and_numbers(device):
    x, y = np.arange(1000, dtype="f4"), np.linspace(0, 1, 1000, dtype="f4")
    result = axpy(2.0, on(device, x), on(device, y))
    assert result.device == ep.device(device)
    assert str(result.dtype) == "float32", "a Python number is as weak as beside NumPy's arrays"
    np.testing.assert_allclose(dppy.copy_to_host(result), 2 * x + y, rtol=1e-6)


@every_device
def test_zero_dimensional_array_is_an_array(device):
    x = np.arange(3, dtype="f8")
    scaled = axpy(on(device, np.array(2.0)), on(device, x), np.array(1.0, dtype="f4"))
    assert (dppy.copy_to_host(scaled).tolist(), str(scaled.dtype)) == ([1, 3, 5], "float64")
    alone = axpy(on(device, np.array(2.0)), np.float64(3), 1)
    assert (alone.shape, alone.item()) == ((), 7)


@every_device
def test_shapes_broadcast_and_strides_are_kept(device):
    x, y = np.arange(24, dtype="f8").reshape(4, 6), np.arange(4, dtype="f8").reshape(4, 1)
    result = axpy(1.0, on(device, x)[:, ::2], on(device, y))
    np.testing.assert_array_equal(dppy.copy_to_host(result), x[:, ::2] + y)


@pytest.mark.cuda
@pytest.mark.parametrize("beyond", [-1, 0, 1, 777])
def test_large_arrays_of_gpus_are_computed_to_the_last_element(beyond):
    size = ep.device("cuda:0").max_compute_units * 8192 + beyond
    x, y = np.arange(size, dtype="f8"), np.linspace(0, 1, size)
    there = on("cuda:0", y)
    assert axpy(2.0, on("cuda:0", x), there, out=there) is there, "an operand may be written"
    np.testing.assert_allclose(dppy.copy_to_host(there), 2 * x + y, rtol=1e-12)


@pytest.mark.host
def test_types_are_those_of_the_function():
    half = dppy.vectorize(lambda x: x / 2)
    whole = dppy.vectorize(lambda x: x // 2)
    assert str(half(np.arange(3, dtype="i8")).dtype) == "float64"
    assert str(whole(np.arange(3, dtype="i2")).dtype) == "int16"


@every_device
@pytest.mark.parametrize(
    "operands",
    [(np.arange(4.0), np.ones(4)), (np.arange(4.0), 1.0), (np.float64(1), np.arange(4.0))],
)
def test_vectorize_of_numpy_arrays_returns_numpy_array(device, operands):
    with ep.device_context(device):
        found = axpy(1.0, *operands)
    assert type(found) is np.ndarray
    assert found.tolist() == [1, 2, 3, 4]
    assert found.flags.writeable


@pytest.mark.host
def test_vectorize_result_is_memory_of_the_host_not_a_copy():
    counted = ep.memory.statistics()
    with ep.memory.use_resource(counted), ep.device_context("host"):
        found = axpy(1.0, np.ones((2, 3)), np.ones(3))
    assert counted.total_count == 1
    assert found.tolist() == [[2] * 3] * 2
    assert counted.current_count == 1
    del found
    assert counted.current_count == 0


@every_device
def test_vectorize_of_numpy_and_queue_returns_numpy_array(device):
    found = axpy(1.0, np.ones(4), np.ones(4), queue=ep.Queue(device))
    assert type(found) is np.ndarray
    assert found.tolist() == [2] * 4


@every_device
def test_vectorize_of_numpy_and_array_returns_array(device):
    found = axpy(1.0, np.ones(4), on(device, np.ones(4)))
    assert type(found) is ep.Array
    assert found.device == ep.device(device)
    assert dppy.copy_to_host(found).tolist() == [2] * 4


@pytest.mark.host
def test_vectorize_of_host_array_or_bytes_returns_array():
    assert type(axpy(1.0, np.ones(4), ep.asarray(np.ones(4)))) is ep.Array
    added = dppy.vectorize(lambda x, y: x + y)
    assert type(added(np.ones(4, "u1"), b"1234")) is ep.Array


@pytest.mark.host
def test_vectorize_of_numpy_array_without_axes_or_elements():
    found = axpy(1.0, np.array(2.0), 1)
    assert (type(found), found.shape, found.item()) == (np.ndarray, (), 3)
    assert axpy(1.0, np.zeros((0, 3)), 1.0).shape == (0, 3)


@pytest.mark.host
@pytest.mark.ml_dtypes
def test_vectorize_result_has_dtype_of_ml_dtypes():
    import ml_dtypes

    found = dppy.vectorize(lambda x: dppy.bfloat16(x))(np.arange(3, dtype="f4"))
    assert (type(found), found.dtype) == (np.ndarray, ml_dtypes.bfloat16)


@pytest.mark.host
def test_out_is_written_and_returned():
    out = np.empty(3, "f4")
    assert axpy(1.0, np.ones(3, "f4"), np.ones(3, "f4"), out=out) is out
    assert out.tolist() == [2, 2, 2]


@pytest.mark.host
def test_vectorize_refuses_arguments_that_do_not_fit():
    with pytest.raises(ValueError, match="do not broadcast"):
        axpy(1.0, np.ones(3), np.ones(4))
    with pytest.raises(TypeError, match="takes 3 arguments, and 2 were given"):
        axpy(np.ones(3), np.ones(3))
    with pytest.raises(TypeError, match="at least one array"):
        axpy(1, 2, 3)
    square = dppy.vectorize(["float64(float64)"])(lambda x: x * x)
    with pytest.raises(TypeError, match="no signature for \\(float32\\), but for float64"):
        square(np.ones(3, "f4"))
    assert np.asarray(square(np.arange(3.0))).tolist() == [0, 1, 4]


@every_device
@pytest.mark.parametrize("size", [1, 63, 64, 65, 255, 256, 257, 100_003])
def test_reductions_match_numpy(device, size):
    values = np.random.default_rng(size).integers(-1000, 1000, size)
    assert total(on(device, values)) == values.sum()
    assert largest(on(device, values)) == values.max()


@every_device
@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
)
def test_reductions_of_every_dtype(device, dtype):
    """The type is that of the function's result for two elements: int64 for bools, and small
    integers wrap."""
    values = np.random.default_rng(5).integers(0, 2 if dtype in "?f2" else 100, 1001).astype(dtype)
    found = total(on(device, values))
    expected = values.sum(dtype="i8" if dtype == "?" else dtype)
    assert (type(found), found) == (type(expected.item()), expected.item())
    assert total(on(device, values[:1])) == values[0]
    halves = dppy.reduce(lambda a, b: a * 0.5 + b * 0.5)
    if dtype not in ("f2", "f4", "f8", "c8", "c16"):
        assert halves(on(device, np.full(100, 1, dtype))) == 1.0


@pytest.mark.host
def test_reductions_of_strided_and_empty_arrays():
    values = np.arange(24.0).reshape(4, 6)
    assert total(values[:, ::2]) == values[:, ::2].sum()
    assert total(np.zeros((0, 3))) == 0
    with pytest.raises(ValueError, match="identity"):
        largest(np.zeros(0))


@dppy.vectorize
def quotient(x, y=2):
    return x // y, x % y


@every_device
def test_vectorize_of_a_tuple_returns_a_tuple_of_arrays(device):
    x, y = np.arange(12, dtype="i4").reshape(3, 4), np.arange(1, 5, dtype="i4")
    results = quotient(on(device, x), on(device, y))
    assert isinstance(results, tuple)
    for result, expected in zip(results, np.divmod(x, y), strict=True):
        assert result.device == ep.device(device)
        np.testing.assert_array_equal(dppy.copy_to_host(result), expected)


def test_vectorize_of_a_tuple_has_a_type_for_each_result():
    @dppy.vectorize
    def both(x, y):
        return x + y, x < y

    sums, less = both(np.arange(3.0), np.ones(3, "f4"))
    assert (sums.dtype, less.dtype) == ("f8", "?")
    assert (sums.tolist(), less.tolist()) == ([1, 2, 3], [True, False, False])


@every_device
def test_vectorize_of_a_tuple_writes_to_the_arrays_of_out(device):
    x = np.arange(4, dtype="i8")
    both = on(device, np.zeros((4, 2), "i8"))
    out = (both[:, 0], both[:, 1])
    assert quotient(on(device, x), 3, out=out) is out
    np.testing.assert_array_equal(dppy.copy_to_host(both), np.stack(np.divmod(x, 3), axis=1))


@pytest.mark.parametrize("count", [1, 3])
def test_vectorize_with_another_number_of_arrays_in_out_raises(count):
    out = tuple(np.zeros(3) for _ in range(count))
    with pytest.raises(ValueError, match=rf"quotient\(\) has 2 results, and out has {count}"):
        quotient(np.arange(3.0), out=out if count > 1 else out[0])


def test_vectorize_without_an_argument_takes_the_default():
    assert [each.tolist() for each in quotient(np.arange(4))] == [[0, 0, 1, 1], [0, 1, 0, 1]]
    with pytest.raises(TypeError, match=r"takes 2 arguments, and 0 were given"):
        quotient()


@every_device
@pytest.mark.parametrize(
    ("shape", "axes", "repeated"),
    [
        ((2, 3, 4, 5), (0, 1, 2, 3), (0, 2, 3)),
        ((2, 3, 4, 5), (0, 1, 2, 3), (1, 3)),
        ((2, 3, 4, 5), (3, 1, 0, 2), (0, 2)),
        ((2, 3, 2, 3, 2), (4, 0, 2, 3, 1), (1, 3)),
        ((2, 2, 2, 2, 2, 2), (5, 3, 1, 0, 2, 4), (0, 2, 4)),
    ],
)
def test_shapes_of_four_and_more_dimensions_broadcast(device, shape, axes, repeated):
    x = np.arange(np.prod(shape), dtype="f8").reshape(shape)
    extents = [1 if axis in repeated else shape[each] for axis, each in enumerate(axes)]
    y = np.arange(np.prod(extents), dtype="f8").reshape(extents)
    result = axpy(2.0, on(device, x).transpose(axes), on(device, y))
    np.testing.assert_array_equal(dppy.copy_to_host(result), 2 * x.transpose(axes) + y)


@every_device
@pytest.mark.parametrize("shape", [(), (0,), (1000,), (4, 6), (2, 3, 4, 5)])
def test_repeated_call_with_arrays_and_out_writes_to_out(device, shape):
    add = dppy.vectorize(lambda a, b: a + b)
    x = np.arange(np.prod(shape, dtype=int), dtype="f8").reshape(shape)
    out = on(device, np.zeros(shape))
    for factor in (1, 2, 3):
        assert add(on(device, x), on(device, factor * x), out=out) is out
        np.testing.assert_array_equal(dppy.copy_to_host(out), (1 + factor) * x)


@every_device
def test_repeated_call_reads_operands_before_out_overwrites_them(device):
    add = dppy.vectorize(lambda a, b: a + b)
    size = 100_000
    for _ in range(3):
        x = on(device, np.ones(size))
        add(x[:-1], x[1:], out=x[1:])
        assert dppy.copy_to_host(x).tolist() == [1] + [2] * (size - 1)


@every_device
def test_repeated_call_refuses_types_without_a_signature(device):
    add = dppy.vectorize(["float32(float32, float32)"])(lambda a, b: a + b)
    x, out = on(device, np.ones(3, "f4")), on(device, np.zeros(3, "f4"))
    for _ in range(2):
        assert add(x, x, out=out) is out
        with pytest.raises(TypeError, match=r"no signature for \(float64, float64\)"):
            add(on(device, np.ones(3)), on(device, np.ones(3)), out=out)


def _plus(a, b):
    return a + b


def test_functions_of_arrays_are_pickled_after_a_call():
    add, whole = dppy.vectorize(_plus), dppy.reduce(_plus, identity=0)
    x = np.arange(4)
    assert whole(add(x, x)) == 12
    copied = pickle.loads(pickle.dumps((add, whole)))
    assert copied[1](copied[0](x, x)) == 12

"""``reduce``, ``vectorize`` and ``guvectorize``."""

from __future__ import annotations

import math

import numpy as np
import pytest

from entrepot import numba_cuda as cuda

pytestmark = pytest.mark.numpy


@cuda.reduce
def total(x, y):
    return x + y


@cuda.reduce
def largest(x, y):
    return x if x > y else y


def test_reduction_equals_numpy(device):
    values = np.random.default_rng(9).random(1000)
    np.testing.assert_allclose(total(values), values.sum())
    assert largest(cuda.to_device(values)) == values.max()
    assert total(values, size=1) == values[0]
    assert total(np.zeros(0), init=5) == 5
    assert total(np.arange(4), init=10) == 16


def test_reduction_into_an_array_returns_none(device):
    result = cuda.device_array(1, np.int64)
    assert total(cuda.to_device(np.arange(5)), res=result, stream=cuda.stream()) is None
    assert result[0] == 10


def test_reduction_of_a_matrix_is_refused():
    with pytest.raises(TypeError, match="one dimension"):
        total(np.zeros((2, 2)))


@cuda.vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")
def hypotenuse(x, y):
    return math.sqrt(x * x + y * y)


def test_vectorized_function_takes_the_first_type_that_fits(device):
    x = np.array([3, 5], "f4")
    result = hypotenuse(x, np.array([4, 12], "f4"))
    assert (result.dtype, result.tolist()) == (np.float32, [5, 13])
    assert hypotenuse(x, np.array([4, 12])).dtype == np.float64


def test_vectorized_function_broadcasts(device):
    result = hypotenuse(np.full((3, 1), 3.0), np.full(4, 4.0))
    assert result.tolist() == [[5] * 4] * 3


def test_vectorized_function_of_device_arrays_stays_there(device):
    x = cuda.to_device(np.full(5, 3.0))
    result = hypotenuse(x, cuda.to_device(np.full(5, 4.0)))
    assert isinstance(result, cuda.DeviceNDArray)
    assert result.copy_to_host().tolist() == [5] * 5
    out = cuda.device_array(5)
    assert hypotenuse(x, x, out=out, stream=cuda.stream()) is out
    np.testing.assert_allclose(out.copy_to_host(), math.sqrt(18))


def test_vectorized_function_of_other_types_is_refused():
    with pytest.raises(TypeError, match="no signature"):
        hypotenuse(np.zeros(2, complex), np.zeros(2, complex))


@cuda.vectorize(["float64(float64)"], target="cuda")
def slow(x):
    total = x
    for k in range(5000):
        total = total * 0.5 + k
    return total


def test_vectorized_function_with_numpy_output_fills_it(device):
    x = np.ones(4096)
    out = np.zeros_like(x)
    assert slow(x, out=out) is out
    assert (out > 0).all()


def test_vectorized_function_reads_numpy_arrays_at_once(device):
    x, y = np.ones(1 << 20), cuda.to_device(np.zeros(1 << 20))
    result = hypotenuse(x, y)
    x[:] = 0
    assert (result.copy_to_host() == 1).all()


@cuda.vectorize(["int8(int8, int8)", "int16(int16, int16)", "float32(float32, float32)"])
def add(x, y):
    return x + y


@pytest.mark.parametrize(
    ("number", "expected"),
    [(1, "i1"), (-128, "i1"), (128, "i2"), (300, "i2"), (40000, "f4"), (0.1, "f4"), (True, "i1")],
)
def test_number_takes_a_signature_that_can_hold_it(device, number, expected):
    result = add(np.zeros(2, "i1"), number)
    assert result.dtype == expected
    assert result.tolist() == [np.dtype(expected).type(number)] * 2


def test_number_that_no_signature_holds_is_refused():
    with pytest.raises(TypeError, match="no signature"):
        add(np.zeros(2, "i1"), 1e300)


@cuda.vectorize(["int64(int64, int64)"], target="cuda")
def plus(x, y):
    return x + y


def test_reduce_of_a_vectorized_function_combines_all(device):
    assert plus.reduce(np.arange(100)) == 4950
    assert plus.reduce(cuda.to_device(np.arange(10))) == 45


@cuda.vectorize
def twice(x):
    return 2 * x


def test_vectorized_function_without_signatures_infers_types(device):
    assert twice(np.array([1, 2], "i2")).tolist() == [2, 4]


@cuda.guvectorize(["void(float64[:, :], float64[:, :], float64[:, :])"], "(m,n),(n,p)->(m,p)")
def product(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = total


def test_generalized_function_runs_along_leading_dimensions(device):
    random = np.random.default_rng(10)
    a, b = random.random((5, 3, 4)), random.random((4, 2))
    np.testing.assert_allclose(product(a, b), a @ b)
    there = product(cuda.to_device(a), cuda.to_device(b))
    np.testing.assert_allclose(there.copy_to_host(), a @ b)


@cuda.guvectorize(["void(int64[:], int64, int64[:])"], "(n),()->(n)", target="cuda")
def add_number(values, number, out):
    for i in range(values.shape[0]):
        out[i] = values[i] + number


@cuda.guvectorize(["void(int64[:], int64[:])"], "(n)->()")
def sum_of(values, out):
    out[0] = 0
    for i in range(values.shape[0]):
        out[0] += values[i]


def test_generalized_function_of_numbers_and_vectors(device):
    values = np.arange(6).reshape(2, 3)
    assert add_number(values, np.array([10, 20])).tolist() == [[10, 11, 12], [23, 24, 25]]
    assert add_number(values, 1).tolist() == (values + 1).tolist()
    assert sum_of(values).tolist() == [3, 12]
    out = np.zeros_like(values)
    assert add_number(values, 1, out=out) is out
    assert out.tolist() == (values + 1).tolist()


def test_generalized_function_of_wrong_extents_is_refused(device):
    with pytest.raises(ValueError, match="the dimension n has the extents 4 and 3"):
        product(np.zeros((3, 4)), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="no layout"):
        cuda.guvectorize(["void(int64[:], int64[:])"], "n->n")(lambda a, b: None)
    with pytest.raises(ValueError, match="unknown extent"):
        cuda.guvectorize(["void(int64[:], int64[:])"], "(n)->(m)")(lambda a, b: None)


@cuda.vectorize(target="cuda")
def scaled(x, factor):
    return x * factor


@cuda.vectorize(["float32(float32, float32)"], target="cuda")
def of_floats(x, y):
    return x + y


def test_vectorized_function_with_a_target_alone_infers_types(device):
    np.testing.assert_array_equal(scaled(np.arange(4), 2), [0, 2, 4, 6])


@pytest.mark.parametrize("function", [scaled, of_floats])
def test_vectorized_function_with_too_few_arguments_counts(function):
    with pytest.raises(TypeError, match=r"takes 2 arguments, and 1 were given"):
        function(np.ones(3, "f4"))


def test_device_beyond_the_list_is_an_index_error():
    with pytest.raises(IndexError, match=r"cuda.gpus has \d devices, and no number 99"):
        cuda.gpus[99]

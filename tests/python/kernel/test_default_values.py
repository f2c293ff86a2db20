"""Default values of parameters, of kernels and of the functions that they call."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot.kernel as dppy
from kernel.backends import every_backend
from support.places import values_of

pytestmark = pytest.mark.numpy

WEIGHTS = np.array([1.0, 2.0, 4.0], "f4")


@dppy.func
def scaled(x, by=2, plus=0.5):
    return x * by + plus


@dppy.kernel
def scales(out, x):
    i = dppy.get_global_id(0)
    out[i, 0] = scaled(x[i])
    out[i, 1] = scaled(x[i], 3)
    out[i, 2] = scaled(x[i], plus=0)
    out[i, 3] = scaled(x[i], 3, 1)


@every_backend
@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_function_without_an_argument_takes_the_default(backend, dtype):
    x = np.arange(4, dtype=dtype)
    result, _ = backend.run(scales, 4, None, np.zeros((4, 4), "f4"), x)
    np.testing.assert_array_equal(
        result, np.stack([x * 2 + 0.5, x * 3 + 0.5, x * 2, x * 3 + 1], axis=1)
    )


@dppy.func
def weighted(x, i, weights=WEIGHTS, then=scaled):
    return then(x, weights[i])


@dppy.kernel
def weighs(a):
    i = dppy.get_global_id(0)
    a[i] = weighted(a[i], i)


@every_backend
def test_default_may_be_an_array_or_a_function(backend):
    (result,) = backend.run(weighs, 3, None, np.ones(3, "f4"))
    assert result.tolist() == [1.5, 2.5, 4.5]


@dppy.kernel
def fills(a, value=3, step=2):
    i = dppy.get_global_id(0)
    a[i] = value + i * step


@every_backend
@pytest.mark.parametrize(
    ("given", "expected"), [((), [3, 5, 7]), ((10,), [10, 12, 14]), ((10, 1), [10, 11, 12])]
)
def test_launch_without_an_argument_takes_the_default(backend, given, expected):
    array = backend.array(np.zeros(3, "i4"))
    backend.launch(fills, 3, None, array, *given)
    assert values_of(array).tolist() == expected


@every_backend
@pytest.mark.parametrize("given", [(), (np.zeros(3, "i4"), 1, 2, 3)])
def test_launch_with_too_few_or_too_many_arguments_raises(backend, given):
    with pytest.raises(TypeError, match=r"'fills' takes 3 arguments \(a, value, step\), and "):
        backend.launch(fills, 3, None, *given)


def test_signature_with_a_default_value_fits():
    @dppy.kernel("void(int32[::1], int64, int64)")
    def typed(a, value, step=2):
        i = dppy.get_global_id(0)
        a[i] = value + i * step

    array = np.zeros(3, "i4")
    typed[3](array, 1)
    assert array.tolist() == [1, 3, 5]


def test_default_that_is_replaced_is_used_by_the_next_launch():
    @dppy.func
    def added(x, by=1):
        return x + by

    @dppy.kernel
    def adds(a, to=0):
        i = dppy.get_global_id(0)
        a[i] = added(a[i]) + to

    array = np.zeros(2, "i4")
    adds[2](array)
    added.function.__defaults__, adds.function.__defaults__ = (10,), (100,)
    adds[2](array)
    assert array.tolist() == [111, 111]


def test_default_that_no_kernel_captures_is_refused():
    @dppy.func
    def wrong(x, table={}):  # noqa: B006
        return x

    @dppy.kernel
    def uses(a):
        a[0] = wrong(a[0])

    with pytest.raises(dppy.KernelError, match="'table' is a dict, which a kernel cannot capture"):
        uses[1](np.zeros(1, "f4"))

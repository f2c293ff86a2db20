"""Negated floats that live across a barrier: Intel's compiler for the CPU keeps one value for
the whole group."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel.functions import Dialect
from kernel.backends import BACKENDS, every_backend, every_dialect, with_backend

pytestmark = pytest.mark.numpy

SIMULATOR = next(each for each in BACKENDS if each.simulates)
ITEMS, GROUP = 16, 8
WEIGHTS = np.array([1.0, -1.0])


@dppy.kernel
def operator(out, x):
    i = dppy.get_global_id(0)
    number = -x[i]
    dppy.barrier()
    out[i] = number


@dppy.kernel
def operator_beside_group_function(out, x):
    i = dppy.get_global_id(0)
    number = -x[i]
    least = dppy.group.reduce(x[i], "min")
    out[i] = number if least < 100 else 0


@dppy.kernel
def part_of_an_expression(out, x):
    i = dppy.get_global_id(0)
    size = abs(-x[i])
    whole = int(-x[i])
    is_less = -x[i] < 2
    root = math.sqrt(-min(x[i], -1.0))
    dppy.barrier()
    out[i] = size + 10 * whole + 100 * (2 if is_less else 1) + 1000 * root


@dppy.kernel
def minus_one(out, x):
    i = dppy.get_global_id(0)
    sign = -1.0
    a = -1 * x[i]
    b = x[i] / -1.0
    c = sign * x[i]
    d = -0.0 - x[i]
    e = x[i] * (-1 if dppy.get_work_dim() != 0 else 1)
    f = x[i] * WEIGHTS[1]
    g = x[i]
    g *= -1
    h = x[i] / 1
    h /= -1
    dppy.barrier()
    out[i] = a + 8 * b + 64 * c + 512 * d + 4096 * e + 32768 * f + g / 8 + h / 64


@dppy.func
def times(x, factor):
    return x * factor


@dppy.func
def wait_and_negate(x):
    dppy.barrier()
    return -x


@dppy.kernel
def by_functions(out, x):
    i = dppy.get_global_id(0)
    a = times(x[i], -1)
    b = wait_and_negate(x[i])
    dppy.barrier()
    out[i] = a + 100 * b


@dppy.kernel
def in_a_loop(out, x):
    i = dppy.get_global_id(0)
    number = x[i]
    for k in range(3):
        number = -number
        dppy.barrier()
        out[i] += number * (k + 1)
        dppy.barrier()


@dppy.kernel
def contracted(out, x):
    i = dppy.get_global_id(0)
    number = x[i]
    size = dppy.get_local_size(0) / 16
    total = (size + 2) * size - number
    total += size - number * (size + 2)
    dppy.barrier()
    total *= (size + 3) * size - number
    total += size - number * (size + 3)
    out[i] = total


@dppy.kernel
def contracted_in_a_loop(out, x):
    i = dppy.get_global_id(0)
    number = x[i] / 4
    for k in range(3):
        out[i] += x[-1 - i] * (k + 0.5) - number
        out[i] -= number * (k + 0.5)
        dppy.barrier()


KERNELS = [
    contracted,
    contracted_in_a_loop,
    operator,
    operator_beside_group_function,
    part_of_an_expression,
    minus_one,
    by_functions,
    in_a_loop,
]


def _values(dtype):
    return np.random.default_rng(7).integers(-9, 9, ITEMS).astype(dtype)


def _as_simulated(backend, kernel, x, out):
    (found, _) = backend.run(kernel, ITEMS, GROUP, np.zeros(ITEMS, out), x)
    (expected, _) = SIMULATOR.run(kernel, ITEMS, GROUP, np.zeros(ITEMS, out), x)
    assert found.tolist() == expected.tolist()


#: Every dtype on GPUs and with Intel's compiler of OpenCL C, and one dtype on the other backends.
DTYPES = [
    with_backend(each, dtype)
    for each in BACKENDS
    for dtype in ["float16", "float32", "float64", "int64"]
    if each.is_gpu or each.name == "opencl-c" or dtype == "float64"
]


@pytest.mark.parametrize(("backend", "dtype"), DTYPES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_negated_number_is_private_to_work_item(backend, kernel, dtype):
    _as_simulated(backend, kernel, _values(dtype), "float64")


@dppy.kernel
def complex_numbers(out, z):
    i = dppy.get_global_id(0)
    a = -z[i]
    b = z[i].conjugate()
    c = z[i] * -1
    d = (-z[i]).real
    e = z[i] * complex(2, z[i].real)
    dppy.barrier()
    f = z[i] * complex(3, z[i].real)
    out[i] = a + 10 * b + 100 * c + 1000 * d + 10000 * (e + f)


@every_dialect
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_negated_complex_is_private_to_work_item(backend, dtype):
    z = _values("float64") + 1j * _values("float64")[::-1]
    _as_simulated(backend, complex_numbers, z.astype(dtype), "complex128")


@dppy.kernel
def complex_powers(products, powers, z, w):
    i = dppy.get_global_id(0)
    number = z[i]
    for k in range(4):
        products[i] += w[k % 2] * number - number / w[k % 2]
        dppy.barrier()
        powers[i] += number ** w[k % 2]


@every_dialect
def test_complex_functions_in_a_loop_with_a_barrier(backend):
    z = np.arange(ITEMS) / 4 + 1 + 1j * (np.arange(ITEMS)[::-1] / 4 + 3)
    w = np.array([2 + 3j, 5 + 7j])
    zeros = np.zeros(ITEMS, "c16")
    products, powers, *_ = backend.run(complex_powers, ITEMS, GROUP, zeros, zeros, z, w)
    assert np.allclose(products, 2 * sum(z * each - z / each for each in w), rtol=1e-12)
    assert np.allclose(powers, 2 * sum(z**each for each in w), rtol=1e-12)


@every_backend
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_negated_special_number_has_the_other_sign(backend, dtype):
    x = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).smallest_subnormal, 1.5, -2.5], dtype
    )
    (out, _) = backend.run(operator, 8, 4, np.zeros(8, dtype), x)
    assert np.array_equal(out, -x, equal_nan=True)
    assert np.array_equal(np.signbit(out)[~np.isnan(x)], np.signbit(-x)[~np.isnan(x)])


@pytest.mark.sycl
def test_negation_is_an_operator_without_barriers_and_intels_cpu():
    @dppy.kernel
    def alone(out, x):
        out[dppy.get_global_id(0)] = -x[dppy.get_global_id(0)] * -1.0

    signature = "void(float32[::1], float32[::1])"
    cpu = ep.device("opencl:cpu")
    assert "= -x[" in alone.source("opencl-c", signature=signature, device=cpu)
    dialect: Dialect
    for dialect in "opencl-c", "sycl":
        assert "= -x[" not in operator.source(dialect, signature=signature, device=cpu)
    for dialect in get_args(Dialect):
        assert "= -x[" in operator.source(dialect, signature=signature)


@pytest.mark.sycl
def test_factors_that_are_never_minus_one_are_plain():
    @dppy.kernel
    def factors(out, x, by):
        i = dppy.get_global_id(0)
        total = 0.5 * x[i] * by
        for k in range(3):
            dppy.barrier()
            total += x[i] * k / (k + 1.0)
        out[i] = total

    signature = "void(float64[::1], float64[::1], float64)"
    assert "hide_float64" not in factors.source(
        "opencl-c", signature=signature, device=ep.device("opencl:cpu")
    )
    signature = "void(float64[::1], float64[::1])"
    assert "hide_float64(sign_)" in minus_one.source(
        "opencl-c", signature=signature, device=ep.device("opencl:cpu")
    )

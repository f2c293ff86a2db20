"""Private arrays with stores at different indices within a vector: Intel's compiler for the CPU
miscompiles them."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import BACKENDS, every_backend, every_dialect

pytestmark = pytest.mark.numpy

SIMULATOR = next(each for each in BACKENDS if each.simulates)
ITEMS, GROUP = 64, 32


@dppy.kernel
def one_of_two_places(out, a):
    i = dppy.get_global_id(0)
    own = dppy.private.array(4, out.dtype)
    for k in range(4):
        own[k] = k * dppy.get_local_id(0)
    place = 0 if own[dppy.get_local_id(0) & 3] < i else 2
    own[place] += 1
    out[i] = own[0] + 100 * own[2]


@dppy.kernel
def two_arrays(out, a):
    i, lid, group = dppy.get_global_id(0), dppy.get_local_id(0), dppy.get_group_id(0)
    p = dppy.private.array(4, out.dtype)
    q = dppy.private.array(4, out.dtype)
    for k in range(4):
        p[k] = k * lid
        q[k] = a[i] + k
    q[((3 if lid == i else 1) - 1) & 3] += lid - group
    q[i & 3] = 3
    out[i] = p[0] + 10 * p[1] + 3 * q[0] + 5 * q[1] + 7 * q[2] + 11 * q[3]


@dppy.kernel
def in_loops(out, a):
    i, lid, group = dppy.get_global_id(0), dppy.get_local_id(0), dppy.get_group_id(0)
    own = dppy.private.array(4, out.dtype)
    for k in range(4):
        own[k] = k * lid
    x = a[i]
    n = 1
    while n < 3:
        n += 1
        for _ in range(x & 3):
            x -= x
            own[(x if i > own[lid & 3] else n) & 3] += group + 1
        out[i] += own[lid & 3]


@dppy.func
def count(values, place):
    values[place] += 1


@dppy.kernel
def by_a_function(out, a):
    i = dppy.get_global_id(0)
    own = dppy.private.array(4, out.dtype)
    for k in range(4):
        own[k] = k * dppy.get_local_id(0)
    count(own, 0 if own[dppy.get_local_id(0) & 3] < i else 2)
    out[i] = own[0] + 100 * own[2]


@dppy.kernel
def beside_a_sub_group(out, a):
    i = dppy.get_global_id(0)
    own = dppy.private.array(4, out.dtype)
    for k in range(4):
        own[k] = k * dppy.get_local_id(0)
    place = 0 if own[dppy.get_local_id(0) & 3] < i else 2
    own[place] += 1
    dppy.sub_group_barrier()
    out[i] = own[0] + 100 * own[2]


KERNELS = [one_of_two_places, two_arrays, in_loops, by_a_function, beside_a_sub_group]


def _as_simulated(backend, kernel, dtype):
    a = np.random.default_rng(5142).integers(-20, 20, ITEMS)
    (out, _) = backend.run(kernel, ITEMS, GROUP, np.zeros(ITEMS, dtype), a)
    (expected, _) = SIMULATOR.run(kernel, ITEMS, GROUP, np.zeros(ITEMS, dtype), a)
    assert out.tolist() == expected.tolist()


@every_backend
@pytest.mark.parametrize("dtype", ["int64", "int16"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_store_at_private_index(backend, kernel, dtype):
    _as_simulated(backend, kernel, dtype)


@every_dialect
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_divergent_store_in_every_dialect(backend, kernel):
    _as_simulated(backend, kernel, "int32")


@dppy.kernel
def of_complex_numbers(out, a):
    i, lid = dppy.get_global_id(0), dppy.get_local_id(0)
    own = dppy.private.array(4, out.dtype)
    for k in range(4):
        own[k] = k * lid
    own[0 if own[lid & 3].real < i else 2] += 1
    out[i] = own[0] + 100 * own[2]


@every_backend
def test_divergent_store_of_a_complex_number(backend):
    _as_simulated(backend, of_complex_numbers, "complex64")


@pytest.mark.sycl
def test_uniform_stores_keep_their_vectors():
    @dppy.kernel
    def uniform(out, a):
        own = dppy.private.array(4, dppy.int64)
        for k in range(4):
            own[k] = a[dppy.get_global_id(0)] * k
        out[dppy.get_global_id(0)] = own[dppy.get_local_id(0) & 3]

    signature = "void(int64[::1], int64[::1])"
    cpu = ep.device("opencl:cpu")
    assert "intel_vec_len_hint" not in uniform.source("opencl-c", signature=signature, device=cpu)
    assert "intel_vec_len_hint(1)" in one_of_two_places.source(
        "opencl-c", signature=signature, device=cpu
    )
    assert "volatile" in one_of_two_places.source("sycl", signature=signature, device=cpu)

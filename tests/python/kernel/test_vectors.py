"""Short vectors in kernels, against NumPy's arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_backend, every_dialect

pytestmark = pytest.mark.numpy

N = 12
POINT = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("w", "f4")])


def vectors(backend, values):
    """An array of vectors on the device, and the array of numbers that shares its memory."""
    numbers = backend.array(values.ravel())
    return numbers.view(f"{values.dtype}x{values.shape[-1]}"), numbers


def values_of(numbers, count):
    return dppy.copy_to_host(numbers).reshape(-1, count)


def numbers_of(count, dtype="f4", start=1):
    return (np.arange(count * N) + start).astype(dtype).reshape(N, count)


# ------------------------------------------------------------------ values


@dppy.kernel
def made(out):
    i = dppy.get_global_id(0)
    v = dppy.float4(i, 2, 3, 4)
    one = dppy.float4(1.5)
    pair = dppy.float2(v.y, v[2])
    joined = dppy.float4(pair, one.x, i)
    whole = dppy.int4(dppy.float4(1.7, -1.7, 2, 3))
    long = dppy.int3(1, 2, 3)
    out[i, 0] = v.x + v.y + v.z + v.w
    out[i, 1] = one[0] + one[-1]
    out[i, 2] = joined.x * 1000 + joined.y * 100 + joined.z * 10 + joined.w
    out[i, 3] = whole.x * 10 + whole.y
    out[i, 4] = len(v) * 10 + len(long)
    out[i, 5] = long["z"]


@every_dialect
def test_vectors_are_made_of_numbers_and_vectors(backend):
    (out,) = backend.run(made, N, None, np.zeros((N, 6)))
    i = np.arange(N)
    expected = [i + 9, 3 + 0 * i, 2000 + 300 + 15 + i, 10 - 1 + 0 * i, 43 + 0 * i, 3 + 0 * i]
    np.testing.assert_array_equal(out, np.stack(expected, axis=1))


@dppy.kernel
def of_operators(a, b, out):
    i = dppy.get_global_id(0)
    x, y = a[i], b[i]
    out[0, i] = x + y
    out[1, i] = x - 2 * y
    out[2, i] = -x * y
    out[3, i] = x / y
    out[4, i] = 1 / x
    x += y
    x *= 2
    out[5, i] = x


@every_backend
def test_operators_are_of_each_component(backend):
    x, y = numbers_of(4), numbers_of(4, start=3)
    a, _ = vectors(backend, x)
    b, _ = vectors(backend, y)
    out, numbers = vectors(backend, np.zeros((6 * N, 4), "f4"))
    backend.launch(of_operators, N, None, a, b, out.reshape((6, N)))
    found = values_of(numbers, 4).reshape(6, N, 4)
    one, two = np.float32(1), np.float32(2)
    for row, expected in enumerate([x + y, x - 2 * y, -x * y, x / y, one / x, (x + y) * two]):
        np.testing.assert_allclose(found[row], expected, rtol=2e-7, err_msg=str(row))


@dppy.kernel
def of_integers(a, out):
    i = dppy.get_global_id(0)
    v = a[i]
    out[0, i] = v // 3
    out[1, i] = v % 3
    out[2, i] = v << 2
    out[3, i] = ~v & 7
    out[4, i] = v * 100
    out[5, i] = v**2


@every_backend
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_operators_of_integers_have_the_types_of_numbers(backend, dtype):
    values = numbers_of(3, dtype, start=0)
    a, _ = vectors(backend, values)
    out, numbers = vectors(backend, np.zeros((6 * N, 3), dtype))
    backend.launch(of_integers, N, None, a, out.reshape((6, N)))
    found = values_of(numbers, 3).reshape(6, N, 3)
    three, two = values.dtype.type(3), values.dtype.type(2)
    hundred = values.dtype.type(100)
    expected = [
        values // three,
        values % three,
        values << two,
        ~values & values.dtype.type(7),
        values * hundred,
        values * values,
    ]
    np.testing.assert_array_equal(found, np.stack(expected))


@dppy.kernel
def of_functions(a, b, out, dots):
    i = dppy.get_global_id(0)
    x, y = a[i], b[i]
    out[0, i] = np.sqrt(abs(x))
    out[1, i] = min(x, y)
    out[2, i] = max(x, 0.5)
    out[3, i] = np.minimum(x, y) + math.floor(2.5)
    out[4, i] = math.copysign(x, y)
    out[5, i] = np.clip(x, -2, y) + pow(y, 2) + np.where(i > 3, x, 1)
    dots[i] = dppy.dot(x, y) + math.sqrt(dots[i])


@every_backend
def test_functions_of_numbers_are_of_each_component(backend):
    x = np.where(numbers_of(3) % 2 == 0, -1, 1).astype("f4") * numbers_of(3)
    y = numbers_of(3, start=-9)
    a, _ = vectors(backend, x)
    b, _ = vectors(backend, y)
    out, numbers = vectors(backend, np.zeros((6 * N, 3), "f4"))
    dots = backend.array(np.full(N, 4, "f4"))
    backend.launch(of_functions, N, None, a, b, out.reshape((6, N)), dots)
    found = values_of(numbers, 3).reshape(6, N, 3)
    least = np.minimum(x, y)
    chosen = np.where(np.arange(N)[:, None] > 3, x, np.float32(1))
    expected = [
        np.sqrt(np.abs(x)),
        least,
        np.maximum(x, np.float32(0.5)),
        least + 2,
        np.copysign(x, y),
        np.clip(x, np.float32(-2), y) + y**2 + chosen,
    ]
    for row, each in enumerate(expected):
        np.testing.assert_allclose(found[row], each, rtol=3e-7, err_msg=str(row))
    np.testing.assert_allclose(dppy.copy_to_host(dots), (x * y).sum(axis=1) + 2, rtol=1e-6)


# ------------------------------------------------------------------ variables


@dppy.kernel
def of_components(a, out):
    i = dppy.get_global_id(0)
    v = a[i]
    w = v
    v.x = 10
    v[1] += 1
    v["z"], v.w = v.w, v.z
    for k in range(3):
        w.x += k
        w[1] = w[1] * 2
    out[2 * i] = v
    out[2 * i + 1] = w


@every_backend
def test_assignment_to_a_component_changes_a_variable(backend):
    values = numbers_of(4)
    a, before = vectors(backend, values)
    out, numbers = vectors(backend, np.zeros((2 * N, 4), "f4"))
    backend.launch(of_components, N, None, a, out)
    found = values_of(numbers, 4)
    x, y, z, w = values.T
    np.testing.assert_array_equal(values_of(before, 4), values)
    np.testing.assert_array_equal(found[::2], np.stack([10 + 0 * x, y + 1, w, z], axis=1))
    np.testing.assert_array_equal(found[1::2], np.stack([x + 3, y * 8, z, w], axis=1))


@dppy.kernel
def of_annotated(a, out):
    i = dppy.get_global_id(0)
    v: dppy.float4 = a[i]  # type: ignore[valid-type]
    v.x = 0  # type: ignore[attr-defined]
    out[i] = v


@every_backend
def test_annotated_vector_is_a_value(backend):
    values = numbers_of(4)
    a, before = vectors(backend, values)
    out, numbers = vectors(backend, np.zeros((N, 4), "f4"))
    backend.launch(of_annotated, N, None, a, out)
    np.testing.assert_array_equal(values_of(before, 4), values)
    np.testing.assert_array_equal(values_of(numbers, 4), values * [0, 1, 1, 1])


@dppy.kernel
def of_elements(a):
    i = dppy.get_global_id(0)
    a[i].x = -1
    a[i].y += a[i].x
    a[i]["w"] = len(a)
    a[i] *= 2
    if i == 0:
        a[i] = (5, 6, 7, 8)


@every_backend
def test_assignment_to_a_component_of_an_element_changes_memory(backend):
    values = numbers_of(4)
    a, numbers = vectors(backend, values)
    backend.launch(of_elements, N, None, a)
    expected = values.copy()
    expected[:, 0] = -1
    expected[:, 1] -= 1
    expected[:, 3] = N
    expected *= 2
    expected[0] = [5, 6, 7, 8]
    np.testing.assert_array_equal(values_of(numbers, 4), expected)


# ------------------------------------------------------------------ functions and memory


@dppy.func
def cross(a, b):
    return dppy.float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


@dppy.func
def doubled(v, times):
    for _ in range(times):
        v.x *= 2
    return v, times


@dppy.kernel
def of_device_functions(a, b, out):
    i = dppy.get_global_id(0)
    v = a[i]
    w, times = doubled(v, 3)
    out[i] = cross(v, b[i]) + dppy.float3(w.x, times, 0)


@every_backend
def test_device_functions_take_and_return_vectors(backend):
    x, y = numbers_of(3), numbers_of(3, start=5)[::-1].copy()
    a, _ = vectors(backend, x)
    b, _ = vectors(backend, y)
    out, numbers = vectors(backend, np.zeros((N, 3), "f4"))
    backend.launch(of_device_functions, N, None, a, b, out)
    expected = np.cross(x, y)
    expected[:, 0] += 8 * x[:, 0]
    expected[:, 1] += 3
    np.testing.assert_allclose(values_of(numbers, 3), expected, rtol=1e-5, atol=1e-4)


@dppy.kernel
def with_local_memory(a, out):
    i, own = dppy.get_global_id(0), dppy.get_local_id(0)
    shared = dppy.local.array(4, dppy.float2)
    shared[own] = a[i] + 1
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    total = dppy.private.array(1, dppy.float32x2)
    total[0] = dppy.float2(0)
    for k in range(4):
        total[0] += shared[k]
    out[i] = total[0]


@every_backend
def test_local_and_private_arrays_hold_vectors(backend):
    values = numbers_of(2)
    a, _ = vectors(backend, values)
    out, numbers = vectors(backend, np.zeros((N, 2), "f4"))
    backend.launch(with_local_memory, N, 4, a, out)
    sums = (values + 1).reshape(-1, 4, 2).sum(axis=1)
    np.testing.assert_array_equal(values_of(numbers, 2), np.repeat(sums, 4, axis=0))


@dppy.kernel
def of_structs(p, out):
    i = dppy.get_global_id(0)
    v = dppy.float4(p[i])
    v.w = 0
    p[i] = v * 2
    out[i] = dppy.dot(v, v)


@every_backend
def test_structs_convert_to_vectors(backend):
    before = np.zeros(N, POINT)
    for place, name in enumerate("xyzw"):
        before[name] = np.arange(N) + place
    p = dppy.StructArray.to_device(before, backend.device)
    out = backend.array(np.zeros(N, "f4"))
    backend.launch(of_structs, N, None, p, out)
    after = p.copy_to_host()
    for name in "xyz":
        np.testing.assert_array_equal(after[name], 2 * before[name])
    assert not after["w"].any()
    expected = before["x"] ** 2 + before["y"] ** 2 + before["z"] ** 2
    np.testing.assert_array_equal(dppy.copy_to_host(out), expected)


@dppy.kernel
def of_long_vectors(a, out):
    i = dppy.get_global_id(0)
    v = a[i]
    v.sf = v.s0 + v.sa
    out[i] = v[15] + len(v)


@every_backend
def test_components_of_long_vectors_have_opencls_names(backend):
    values = numbers_of(16)
    a, _ = vectors(backend, values)
    out = backend.array(np.zeros(N, "f4"))
    backend.launch(of_long_vectors, N, None, a, out)
    np.testing.assert_array_equal(dppy.copy_to_host(out), values[:, 0] + values[:, 10] + 16)


@pytest.mark.parametrize(
    ("opencl", "numba"),
    [
        ("char", "int8"), ("uchar", "uint8"), ("short", "int16"), ("ushort", "uint16"),
        ("int", "int32"), ("uint", "uint32"), ("long", "int64"), ("ulong", "uint64"),
        ("half", "float16"), ("float", "float32"), ("double", "float64"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("count", [2, 3, 4])
def test_types_have_the_names_of_opencl_and_numba(opencl, numba, count):
    dtype = getattr(dppy, f"{opencl}{count}")
    assert dtype == getattr(dppy, f"{numba}x{count}") == ep.Dtype(f"{numba}x{count}")


@pytest.mark.sycl
def test_vectors_of_host_memory_are_copied_back():
    numbers = np.arange(4 * N, dtype="f4")
    with ep.device_context("opencl:cpu"):
        of_elements[N](ep.asarray(numbers).view("float32x4"), wait=True).wait()
    assert numbers[4:8].tolist() == [-2, 8, 12, 2 * N]

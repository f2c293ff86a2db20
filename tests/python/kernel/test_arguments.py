"""Arguments: every dtype, any strides, memory from anywhere without a copy, where a kernel runs, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_backend, every_compiler, values_of

pytestmark = pytest.mark.numpy


@dppy.kernel
def scaled(out, x, by):
    i = dppy.get_global_id(0)
    out[i] = x[i] * by


@every_backend
@pytest.mark.parametrize(
    "dtype",
    ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "complex64", "complex128"],
)
def test_elements_of_every_dtype(backend, dtype):
    x = np.arange(5).astype(dtype)
    (out, _) = backend.run(scaled, 5, None, np.zeros(5, dtype), x, np.dtype(dtype).type(3))
    assert np.array_equal(out, x * 3)


@dppy.kernel
def scalars(out, i, f, b, n, s):
    out[0] = i
    out[1] = f
    out[2] = b
    out[3] = n
    out[4] = s


@every_backend
def test_scalars_of_python_numpy_and_ours(backend):
    (out,) = backend.run(scalars, 1, None, np.zeros(5, "f8"), -(2**40), 0.1, True, np.float32(0.1), ep.Scalar(7, "uint8"))
    assert out.tolist() == [-(2.0**40), 0.1, 1.0, float(np.float32(0.1)), 7.0]


@dppy.kernel
def copied(out, x):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    out[i, j] = x[i, j]


@every_backend
@pytest.mark.parametrize(
    "part", [np.s_[::2, 1:], np.s_[::-1, ::-1], np.s_[1:4, ::3], np.s_[:, 2:3]], ids=["step", "backwards", "inner", "one"]
)
def test_strided_arrays(backend, part):
    base = np.arange(48, dtype="i4").reshape(6, 8)
    expected = base[part]
    source, out = backend.array(base)[part], backend.array(np.zeros(expected.shape, "i4"))
    backend.launch(copied, expected.shape, None, out, source)
    assert np.array_equal(values_of(out), expected)


@every_backend
def test_writes_to_strided_arrays(backend):
    target, source = backend.array(np.zeros((6, 8), "i4")), backend.array(np.arange(12, dtype="i4").reshape(3, 4))
    backend.launch(copied, (3, 4), None, target[::2, 1::2], source)
    expected = np.zeros((6, 8), "i4")
    expected[::2, 1::2] = np.arange(12).reshape(3, 4)
    assert np.array_equal(values_of(target), expected)


@every_backend
def test_transposed_arrays(backend):
    base = np.arange(12, dtype="f4").reshape(3, 4)
    out = backend.array(np.zeros((4, 3), "f4"))
    backend.launch(copied, (4, 3), None, out, backend.array(base).T)
    assert np.array_equal(values_of(out), base.T)


@dppy.kernel
def attributes(out, x):
    out[0] = x.shape[0]
    out[1] = x.shape[1]
    out[2] = x.size
    out[3] = x.ndim
    out[4] = len(x)


@every_backend
def test_what_an_array_says_of_itself(backend):
    (out, _) = backend.run(attributes, 1, None, np.zeros(5, "i8"), np.zeros((3, 7), "f4"))
    assert out.tolist() == [3, 7, 21, 2, 3]


@dppy.kernel
def address_of_writes(x):
    i = dppy.get_global_id(0)
    x[i] = i + 1


class TestWithoutACopy:
    """The kernel writes to the memory itself: what was there under another name has changed."""

    @pytest.mark.host
    def test_numpy_on_the_host(self):
        with ep.device_context("host"):
            x = np.zeros(8, "i4")
            address_of_writes[8](x).wait()
        assert x.tolist() == list(range(1, 9))

    @pytest.mark.host
    def test_a_slice_of_numpy_on_the_host(self):
        with ep.device_context("host"):
            x = np.zeros(16, "i4")
            address_of_writes[8](x[::2]).wait()
        assert x[::2].tolist() == list(range(1, 9))
        assert not x[1::2].any()

    @pytest.mark.sycl
    def test_numpy_on_a_device_comes_back(self):
        with ep.device_context("opencl:cpu"):
            x = np.zeros(8, "i4")
            address_of_writes[8](x).wait()
        assert x.tolist() == list(range(1, 9))

    @pytest.mark.sycl
    @pytest.mark.dpctl
    def test_dpctls_shared_memory(self):
        import dpctl.memory

        memory = dpctl.memory.MemoryUSMShared(32)
        view = np.ndarray(8, "i4", buffer=memory)
        view[:] = 0
        address_of_writes[8](ep.asarray(memory).view("int32")).wait()
        assert view.tolist() == list(range(1, 9))

    @pytest.mark.sycl
    @pytest.mark.dpnp
    def test_dpnps_arrays(self):
        import dpnp

        x = dpnp.zeros(16, dtype="int32", device="opencl:cpu")
        address_of_writes[8](x[::2]).wait()
        assert dpnp.asnumpy(x)[::2].tolist() == list(range(1, 9))

    @pytest.mark.sycl
    def test_an_object_with_the_interface_is_taken(self):
        array = ep.zeros(8, "int32", device="opencl:cpu", kind="shared")

        class Duck:
            __sycl_usm_array_interface__ = array.__sycl_usm_array_interface__

        address_of_writes[8](Duck()).wait()
        assert array.numpy().tolist() == list(range(1, 9))

    @pytest.mark.sycl
    def test_a_fake_one_is_refused(self):
        class Fake:
            @property
            def __sycl_usm_array_interface__(self):
                return {"shape": (8,), "typestr": "<i4", "version": 1, "data": (12345, False)}

        with pytest.raises(ep.EntrepotError):
            address_of_writes[8](Fake())

    @pytest.mark.host
    @pytest.mark.torch
    def test_torchs_tensors(self):
        import torch

        x = torch.zeros(8, dtype=torch.int32)
        with ep.device_context("host"):
            address_of_writes[8](x).wait()
        assert x.tolist() == list(range(1, 9))


@pytest.mark.sycl
class TestWhereAKernelRuns:
    def test_compute_follows_data(self):
        x = ep.zeros(8, "int32", device="opencl:cpu")
        with ep.device_context("host"):
            address_of_writes[8](x).wait()
        assert values_of(x).tolist() == list(range(1, 9))

    def test_arrays_that_disagree_are_refused(self):
        ours = ep.zeros(4, "float32", device="opencl:cpu", kind="device")
        other = ep.Context([ep.device("opencl:cpu")])
        elsewhere = ep.Queue(ep.device("opencl:cpu"), context=other)
        with pytest.raises(ep.EntrepotError, match=r"queue|context"):
            scaled[4](ours, ep.zeros(4, "float32", queue=elsewhere, kind="device"), 2.0)

    def test_of_two_devices_with_both_named(self):
        ours = ep.zeros(4, "float32", device="opencl:cpu", kind="device")
        with ep.device_context("opencl:cpu"):
            scaled[4](ours, np.ones(4, "f4"), 2.0).wait()  # host memory follows
        assert values_of(ours).tolist() == [2, 2, 2, 2]


@every_backend
def test_read_only_arrays_may_not_be_written(backend):
    frozen = np.zeros(4, "i4")
    frozen.flags.writeable = False
    array = ep.asarray(frozen) if backend.selector == "host" else None
    if array is None:
        pytest.skip("read-only memory of this device is not to be had")
    with pytest.raises(ep.EntrepotError, match="read-only"):
        backend.launch(address_of_writes, 4, None, array)


@every_backend
def test_read_only_arrays_may_be_read(backend):
    if backend.selector != "host":
        pytest.skip("read-only memory of this device is not to be had")
    frozen = np.arange(4, dtype="i4")
    frozen.flags.writeable = False
    out = backend.array(np.zeros(4, "i4"))
    backend.launch(scaled, 4, None, out, ep.asarray(frozen), 2)
    assert values_of(out).tolist() == [0, 2, 4, 6]


@every_backend
@pytest.mark.parametrize("arguments", [(), (1,), (1, 2, 3, 4)], ids=["none", "too few", "too many"])
def test_the_number_of_arguments(backend, arguments):
    with pytest.raises((ep.KernelError, TypeError), match=r"scaled.*3.*argument"):
        backend.launch(scaled, 4, None, *arguments)


@every_compiler
@pytest.mark.parametrize("wrong", ["text", None, {1: 2}, object()], ids=["str", "None", "dict", "object"])
def test_what_is_no_argument_is_named(backend, wrong):
    out = backend.array(np.zeros(4, "f4"))
    with pytest.raises((ep.EntrepotError, TypeError), match=r"x\b|argument"):
        backend.launch(scaled, 4, None, out, wrong, 2.0)


@every_compiler
def test_a_number_where_the_kernel_indexes(backend):
    out = backend.array(np.zeros(4, "f4"))
    with pytest.raises(ep.KernelError, match=r"only arrays and tuples have elements, but this is int64"):
        backend.launch(scaled, 4, None, out, 3, 2.0)


@every_compiler
def test_a_kernel_is_specialised_on_types(backend):
    for dtype in ("f4", "i8", "u1"):
        x = np.arange(4).astype(dtype)
        (out, _) = backend.run(scaled, 4, None, np.zeros(4, dtype), x, 2)
        assert np.array_equal(out, x * 2)


@dppy.kernel
def shifted_sum(out, x, y):
    i = dppy.get_global_id(0)
    for _ in range(3):
        out[i] += x[i] + y[i]


@every_compiler
def test_the_same_array_given_twice(backend):
    """Nothing may be assumed of arrays that overlap: what is written through one name is read through the other."""
    array = backend.array(np.array([1, 2, 3, 4], "f8"))
    backend.launch(shifted_sum, 4, None, array, array, array)
    assert values_of(array).tolist() == [27, 54, 81, 108]


@dppy.kernel
def running_sum(out, x):
    for k in range(x.shape[0]):
        out[k] = out[k] + x[k]


@every_compiler
def test_parts_that_overlap(backend):
    array = backend.array(np.ones(9, "i8"))
    backend.launch(running_sum, 1, None, array[1:], array[:-1])
    assert values_of(array).tolist() == list(range(1, 10))

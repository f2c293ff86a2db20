"""Arguments: every dtype, any strides, memory of any origin without a copy, selection of the
device, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from entrepot import memory
from kernel.backends import every_backend, every_compiler, every_device, every_dialect
from support.places import values_of

pytestmark = pytest.mark.numpy


@dppy.kernel
def scaled(out, x, by):
    i = dppy.get_global_id(0)
    out[i] = x[i] * by


@every_backend
@pytest.mark.parametrize(
    "dtype",
    [
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ],
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
def test_scalars_of_python_numpy_and_entrepot(backend):
    (out,) = backend.run(
        scalars,
        1,
        None,
        np.zeros(5, "f8"),
        -(2**40),
        0.1,
        True,
        np.float32(0.1),
        ep.Scalar(7, "uint8"),
    )
    assert out.tolist() == [-(2.0**40), 0.1, 1.0, float(np.float32(0.1)), 7.0]


@dppy.kernel
def copied(out, x):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    out[i, j] = x[i, j]


@every_backend
@pytest.mark.parametrize(
    "part",
    [np.s_[::2, 1:], np.s_[::-1, ::-1], np.s_[1:4, ::3], np.s_[:, 2:3]],
    ids=["step", "backwards", "inner", "one"],
)
def test_strided_arguments_match_numpy(backend, part):
    base = np.arange(48, dtype="i4").reshape(6, 8)
    expected = base[part]
    source, out = backend.array(base)[part], backend.array(np.zeros(expected.shape, "i4"))
    backend.launch(copied, expected.shape, None, out, source)
    assert np.array_equal(values_of(out), expected)


@every_backend
def test_writes_to_strided_arrays(backend):
    target, source = (
        backend.array(np.zeros((6, 8), "i4")),
        backend.array(np.arange(12, dtype="i4").reshape(3, 4)),
    )
    backend.launch(copied, (3, 4), None, target[::2, 1::2], source)
    expected = np.zeros((6, 8), "i4")
    expected[::2, 1::2] = np.arange(12).reshape(3, 4)
    assert np.array_equal(values_of(target), expected)


@every_backend
def test_transposed_argument_matches_numpy(backend):
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
def test_array_attributes_in_a_kernel(backend):
    (out, _) = backend.run(attributes, 1, None, np.zeros(5, "i8"), np.zeros((3, 7), "f4"))
    assert out.tolist() == [3, 7, 21, 2, 3]


@dppy.kernel
def address_of_writes(x):
    i = dppy.get_global_id(0)
    x[i] = i + 1


def launch_without_a_copy(array):
    """A copy would be allocated from the current resource."""
    counted = memory.statistics()
    with memory.use_resource(counted):
        address_of_writes[8](array).wait()
    assert counted.total_count == 0


class TestWithoutCopy:
    """The kernel writes in place: the memory's other view shows the change."""

    @pytest.mark.host
    def test_numpy_on_the_host(self):
        with ep.device_context("host"):
            x = np.zeros(8, "i4")
            launch_without_a_copy(x)
        assert x.tolist() == list(range(1, 9))

    @pytest.mark.host
    def test_numpy_slice_is_used_in_place(self):
        with ep.device_context("host"):
            x = np.zeros(16, "i4")
            launch_without_a_copy(x[::2])
        assert x[::2].tolist() == list(range(1, 9))
        assert not x[1::2].any()

    @every_device
    def test_numpy_argument_is_copied_only_if_unreachable(self, device):
        x = np.zeros(16, "i4")
        counted = memory.statistics()
        with ep.device_context(device) as queue, memory.use_resource(counted):
            address_of_writes[8](x[::2]).wait()
        assert x[::2].tolist() == list(range(1, 9))
        assert not x[1::2].any()
        reaches = device == "host" or queue.device.has_aspect_usm_system_allocations
        assert (counted.total_count == 0) == reaches

    @every_device
    @pytest.mark.parametrize("kind", ["device", "host", "shared"])
    def test_own_array_is_used_in_place(self, device, kind):
        if kind == "shared" and not ep.device(device).has_aspect_usm_shared_allocations:
            pytest.skip(f"{device} has no shared memory")
        x = ep.zeros(16, "int32", device=device, kind=kind)
        launch_without_a_copy(x[::2])
        assert values_of(x)[::2].tolist() == list(range(1, 9))
        assert not values_of(x)[1::2].any()

    @pytest.mark.sycl
    @pytest.mark.dpctl
    def test_dpctls_shared_memory(self):
        import dpctl.memory

        memory = dpctl.memory.MemoryUSMShared(32)
        view = np.ndarray(8, "i4", buffer=memory)
        view[:] = 0
        launch_without_a_copy(ep.asarray(memory).view("int32"))
        assert view.tolist() == list(range(1, 9))

    @pytest.mark.sycl
    @pytest.mark.dpnp
    def test_dpnp_view_is_used_in_place(self):
        import dpnp

        x = dpnp.zeros(16, dtype="int32", device="opencl:cpu")
        launch_without_a_copy(x[::2])
        assert dpnp.asnumpy(x)[::2].tolist() == list(range(1, 9))

    @pytest.mark.sycl
    def test_suai_object_is_used_in_place(self):
        array = ep.zeros(8, "int32", device="opencl:cpu", kind="shared")

        class Duck:
            __sycl_usm_array_interface__ = array.__sycl_usm_array_interface__

        launch_without_a_copy(Duck())
        assert array.numpy().tolist() == list(range(1, 9))

    @pytest.mark.sycl
    @pytest.mark.parametrize(
        "changes,message",
        [
            ({"syclobj": None}, "SUAI: 'syclobj' is missing"),
            ({"data": (12345, False)}, "SUAI: .*(12345|0x3039)"),
            ({"typestr": "<x4"}, "typestr '<x4'"),
            ({"shape": (-8,)}, "SUAI: .*shape"),
        ],
        ids=["no queue", "no memory of its", "no type", "no shape"],
    )
    def test_malformed_suai_object_is_refused(self, changes, message):
        array = ep.zeros(8, "int32", device="opencl:cpu", kind="shared")
        interface = {**array.__sycl_usm_array_interface__, **changes}
        said = {key: value for key, value in interface.items() if value is not None}

        class Fake:
            __sycl_usm_array_interface__ = said

        with pytest.raises(
            ep.ExchangeError, match=rf"^kernel 'address_of_writes': argument 0 \(x\): {message}"
        ):
            address_of_writes[8](Fake())
        assert not array.numpy().any()

    @pytest.mark.host
    @pytest.mark.torch
    def test_torch_tensor_on_host_is_used_in_place(self):
        import torch

        x = torch.zeros(8, dtype=torch.int32)
        with ep.device_context("host"):
            launch_without_a_copy(x)
        assert x.tolist() == list(range(1, 9))


@pytest.mark.cuda
class TestArraysOfCuda:
    """Arrays of other libraries, whole and in part, on their own device: nothing is copied."""

    def test_cai_object_is_used_in_place(self):
        array = ep.zeros(16, "int32", device="cuda:0")

        class Duck:
            __cuda_array_interface__ = array[::2].__cuda_array_interface__

        launch_without_a_copy(Duck())
        assert values_of(array)[::2].tolist() == list(range(1, 9))
        assert not values_of(array)[1::2].any()

    @pytest.mark.cupy
    def test_cupy_view_is_used_in_place(self):
        import cupy

        x = cupy.zeros((8, 2), "i4")
        launch_without_a_copy(x[:, 1])
        assert cupy.asnumpy(x).tolist() == [[0, i] for i in range(1, 9)]

    @pytest.mark.torch
    def test_torch_view_is_used_in_place(self):
        import torch

        x = torch.zeros((8, 2), dtype=torch.int32, device="cuda")
        launch_without_a_copy(x[:, 1])
        assert x.cpu().tolist() == [[0, i] for i in range(1, 9)]

    @pytest.mark.cupy
    @pytest.mark.torch
    def test_arrays_of_two_libraries_in_one_launch(self):
        import cupy
        import torch

        out, x = torch.zeros(4, device="cuda"), cupy.arange(4, dtype="f4")
        scaled[4](out, x, 2.0).wait()
        assert out.cpu().tolist() == [0, 2, 4, 6]

    @pytest.mark.numba_cuda
    def test_numba_view_is_used_in_place(self):
        from numba import cuda

        x = cuda.to_device(np.zeros(16, "i4"))
        launch_without_a_copy(x[::2])
        assert x.copy_to_host()[::2].tolist() == list(range(1, 9))

    @pytest.mark.torch
    def test_read_only_arguments_are_not_writable(self):
        import torch

        x = torch.zeros(8, dtype=torch.int32, device="cuda")
        said = {**x.__cuda_array_interface__, "data": (x.data_ptr(), True)}

        class Frozen:
            __cuda_array_interface__ = said

        with pytest.raises(ep.KernelError, match="`x` is read-only and may not be written"):
            address_of_writes[8](Frozen())
        assert not x.any()


class TestDeviceOfLaunch:
    @every_device
    def test_compute_follows_data(self, device):
        x = ep.zeros(8, "int32", device=device, kind="device")
        with ep.device_context("host"):
            address_of_writes[8](x).wait()  # where the host's queue could not
        assert values_of(x).tolist() == list(range(1, 9))

    @pytest.mark.sycl
    def test_conflicting_contexts_are_refused_and_named(self):
        ours = ep.zeros(4, "float32", device="opencl:cpu", kind="device")
        elsewhere = ep.Queue("opencl:cpu", context=ep.Context([ep.device("opencl:cpu")]))
        other = ep.zeros(4, "float32", queue=elsewhere, kind="device")
        with pytest.raises(
            ep.KernelError,
            match=r"launch of 'scaled': argument 0 \(out\) is in the default context of "
            r"opencl:cpu.*, and argument 1 \(x\) "
            r"is in a context of .*compute follows data",
        ):
            scaled[4](ours, other, 2.0)
        assert not values_of(ours).any()

    @pytest.mark.sycl
    @pytest.mark.cuda
    def test_conflicting_devices_are_refused_and_named(self):
        ours, other = (
            ep.zeros(4, "float32", device="opencl:cpu"),
            ep.zeros(4, "float32", device="cuda:0"),
        )
        with pytest.raises(
            ep.KernelError,
            match=r"argument 0 \(out\) is in .* on opencl:cpu:0, and argument 1 \(x\) .* on cuda:0",
        ):
            scaled[4](ours, other, 2.0)
        assert not values_of(ours).any()

    @every_device
    def test_host_memory_follows(self, device):
        ours = ep.zeros(4, "float32", device=device, kind="device")
        with ep.device_context("host"):
            scaled[4](ours, np.ones(4, "f4"), 2.0).wait()
        assert values_of(ours).tolist() == [2, 2, 2, 2]


def frozen(backend, values):
    """Read-only memory of the backend's device, and the Array that may write to it."""
    array = backend.array(values)
    return ep.from_address(
        array.data_ptr, array.shape, array.dtype, queue=array.queue, read_only=True, owner=array
    ), array


@every_backend
def test_read_only_arrays_may_not_be_written(backend):
    """Refused by the compiler, with the line; nothing has run."""
    array, under = frozen(backend, np.zeros(4, "i4"))
    assert array.read_only
    line = address_of_writes.function.__code__.co_firstlineno + 3
    place = "" if backend.simulates else rf"test_arguments\.py:{line}: `x` is "
    with pytest.raises(ep.EntrepotError, match=f"{place}read-only"):
        backend.launch(address_of_writes, 4, None, array)
    assert not values_of(under).any()


@every_backend
def test_read_only_arrays_may_be_read(backend):
    out = backend.array(np.zeros(4, "i4"))
    backend.launch(scaled, 4, None, out, frozen(backend, np.arange(4, dtype="i4"))[0], 2)
    assert values_of(out).tolist() == [0, 2, 4, 6]


@every_backend
@pytest.mark.parametrize("arguments", [(), (1,), (1, 2, 3, 4)], ids=["none", "too few", "too many"])
def test_wrong_number_of_arguments_is_refused(backend, arguments):
    with pytest.raises((ep.KernelError, TypeError), match=r"scaled.*3.*argument"):
        backend.launch(scaled, 4, None, *arguments)


@every_compiler
@pytest.mark.parametrize(
    "wrong", ["text", None, {1: 2}, object()], ids=["str", "None", "dict", "object"]
)
def test_invalid_argument_is_named(backend, wrong):
    out = backend.array(np.zeros(4, "f4"))
    with pytest.raises((ep.EntrepotError, TypeError), match=r"x\b|argument"):
        backend.launch(scaled, 4, None, out, wrong, 2.0)


@every_compiler
def test_number_in_place_of_array_is_refused(backend):
    out = backend.array(np.zeros(4, "f4"))
    with pytest.raises(
        ep.KernelError, match=r"only arrays and tuples have elements, but this is int64"
    ):
        backend.launch(scaled, 4, None, out, 3, 2.0)


@every_compiler
def test_kernel_is_specialized_on_types(backend):
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
def test_overlapping_arguments_see_each_others_writes(backend):
    """Arrays may overlap: a write through one name is seen by reads through the other."""
    array = backend.array(np.array([1, 2, 3, 4], "f8"))
    backend.launch(shifted_sum, 4, None, array, array, array)
    assert values_of(array).tolist() == [27, 54, 81, 108]


@dppy.kernel
def running_sum(out, x):
    for k in range(x.shape[0]):
        out[k] = out[k] + x[k]


@every_compiler
def test_overlapping_parts_see_each_others_writes(backend):
    array = backend.array(np.ones(9, "i8"))
    backend.launch(running_sum, 1, None, array[1:], array[:-1])
    assert values_of(array).tolist() == list(range(1, 10))


@dppy.kernel
def store_and_load(floats, bits, out):
    floats[0] = 1.5
    out[0] = bits[0]


@every_compiler
def test_memory_as_two_types(backend):
    array, out = backend.array(np.zeros(4, "f4")), backend.array(np.zeros(1, "u4"))
    backend.launch(store_and_load, 1, None, array, array.view("uint32"), out)
    assert values_of(out)[0] == np.float32(1.5).view("u4")


@dppy.func
def as_given(flag):
    return flag


@dppy.kernel
def of_bytes(out, kept, flags):
    i = dppy.get_global_id(0)
    shared = dppy.local.array(8, dppy.bool_)
    shared[dppy.get_local_id(0)] = flags[i]
    dppy.barrier()
    out[i, 0] = flags[i]
    out[i, 1] = flags[i] == True  # noqa: E712
    out[i, 2] = flags[i] + 1
    out[i, 3] = not flags[i]
    out[i, 4] = flags[i] ^ True
    out[i, 5] = 7 if flags[i] else 8
    out[i, 6] = as_given(flags[i]) + shared[dppy.get_local_id(0)]
    out[i, 7] = dppy.uint8(flags[i])
    kept[i] = flags[i]


@every_dialect
def test_bool_bytes_other_than_0_are_true(backend):
    """Compilers assume that a bool is 0 or 1; other values are undefined."""
    raw = np.array([0, 1, 2, 128, 255, 0, 3, 1], "u1")
    flags, kept, out = (
        backend.array(raw).view("bool"),
        backend.array(raw).view("bool"),
        backend.array(np.zeros((8, 8), "i8")),
    )
    backend.launch(of_bytes, 8, 8, out, kept, flags)
    true, false = [1, 1, 2, 0, 0, 7, 2, 1], [0, 0, 1, 1, 1, 8, 0, 0]
    assert values_of(out).tolist() == [true if each else false for each in raw]
    assert values_of(kept.view("uint8")).tolist() == [int(each != 0) for each in raw]

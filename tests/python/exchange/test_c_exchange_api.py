"""The C exchange API both ways: tables of other libraries, and Entrepot's five functions."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable
from ctypes import c_void_p, py_object
from typing import Any

import pytest

import entrepot as ep
from entrepot import _core
from support.capsules import new_capsule
from support.opencl_kernels import launch
from support.places import SYCL, Place
from support.tables import Table, publish, table_of
from support.tensors import (
    CPU,
    ONE_API,
    READ_ONLY,
    DLDataType,
    DLDevice,
    DLTensor,
    Producer,
    Versioned,
)

pytestmark = pytest.mark.host

_HAS_FAST_IMPORT: bool = _core._has_fast_import  # type: ignore[attr-defined]  # private

METAL = 8  # a device type of DLPack that no backend of Entrepot has

OTHER_NAME = b"something else"  # capsules do not copy their names


def take(obj: object) -> ep.Array:
    return ep.asarray(obj, protocol="c_exchange_api")


# ---------------------------------------------------------------- PyTorch's table


@pytest.mark.torch
class TestTorch:
    def test_tensor_is_imported_by_the_exchange_api(self) -> None:
        import torch

        tensor = torch.arange(12.0).reshape(3, 4)
        for view in (ep.asarray(tensor), take(tensor)):
            assert (view.data_ptr, view.shape, view.strides, str(view.dtype)) == (
                tensor.data_ptr(),
                (3, 4),
                (4, 1),
                "float32",
            )
            # a managed tensor is not a Python object
            assert view.owner is (tensor if _HAS_FAST_IMPORT else None)
        memoryview(view)[1, 2] = 77
        assert tensor[1, 2] == 77

    @pytest.mark.parametrize(
        "name",
        "bool int8 int16 int32 int64 uint8 uint16 uint32 float16 float32 float64 bfloat16 "
        "complex64 float8_e5m2".split(),
    )
    def test_torch_dtype_is_imported(self, name: str) -> None:
        import torch

        assert str(take(torch.empty(3, dtype=getattr(torch, name))).dtype) == name

    def test_views_and_scalars_of_torch_are_imported(self) -> None:
        import torch

        base = torch.arange(24.0).reshape(2, 3, 4)
        for tensor in (
            base.mT,
            base[1:, ::2],
            base[0, 0, 1:2],
            base[:, :0],
            torch.tensor(1.0),
            base[0].expand(5, 3, 4),
        ):
            view = take(tensor)
            assert view.shape == tuple(tensor.shape)
            if tensor.numel():
                assert view.data_ptr == tensor.data_ptr()
                assert memoryview(view).tolist() == tensor.tolist()

    def test_view_keeps_the_tensor_alive(self) -> None:
        import torch

        tensor = torch.arange(3.0)
        gone = weakref.ref(tensor)
        view = take(tensor)
        del tensor
        gc.collect()
        assert gone() is not None
        assert memoryview(view).tolist() == [0, 1, 2]
        del view
        assert gone() is None

    @pytest.mark.parametrize(
        ("make", "call"),
        [
            (lambda torch: torch.ones(3, requires_grad=True), r"\.detach\(\)"),
            (lambda torch: torch.ones(3, dtype=torch.complex64).conj(), r"\.resolve_conj\(\)"),
            (lambda torch: torch.ones(3, dtype=torch.complex64).conj().imag, r"\.resolve_neg\(\)"),
            (lambda torch: torch._neg_view(torch.ones(3)), r"\.resolve_neg\(\)"),
            (lambda torch: torch._neg_view(torch.ones(3, dtype=torch.int32)), r"\.resolve_neg\(\)"),
        ],
        ids=["requires_grad", "conj", "imag of conj", "neg", "neg int"],
    )
    def test_lazy_bits_are_refused_with_advice(self, make: Callable, call: str) -> None:
        import torch

        tensor = make(torch)
        with pytest.raises(ep.ExchangeError, match=call):
            ep.asarray(tensor)
        resolved = eval(f"tensor{call}".replace("\\", ""))
        assert ep.asarray(resolved).data_ptr == resolved.data_ptr()

    def test_subclasses_do_not_inherit_the_table(self) -> None:
        import torch

        parameter = torch.nn.Parameter(torch.ones(3), requires_grad=False)
        with pytest.raises(ep.ExchangeError, match="does not speak"):
            take(parameter)
        assert ep.asarray(parameter).data_ptr == parameter.data_ptr()
        with pytest.raises(ep.ExchangeError, match="gradient"):
            ep.asarray(torch.nn.Parameter(torch.ones(3)))

    def test_sparse_tensor_is_refused_with_torchs_error(self) -> None:
        import torch

        with pytest.raises(ep.EntrepotError, match="refused"):
            take(torch.ones(3).to_sparse())


# ---------------------------------------------------------------- tables written by hand


def floats(**fields: Any) -> Callable[[], Producer]:
    def make() -> Producer:
        data = (ctypes.c_float * 16)(*range(16))
        return Producer(ctypes.addressof(data), data, **fields)

    return make


class TestTables:
    def test_unknown_producers_are_asked_for_flags(self) -> None:
        kind, _ = publish(floats(flags=READ_ONLY))
        tensor = kind()
        view = take(tensor)
        assert view.read_only
        assert view.data_ptr == tensor.producer.address
        assert tensor.producer.deleted == 0
        del view
        assert tensor.producer.deleted == 1

    def test_malformed_tensor_is_freed_once(self) -> None:
        kind, _ = publish(floats(ndim=-1))
        tensor = kind()
        with pytest.raises(ep.ExchangeError, match="-1 dimensions"):
            take(tensor)
        assert tensor.producer.deleted == 1

    def test_older_table_linked_from_a_newer_one_is_found(self) -> None:
        _, old = publish(floats())
        kind, _ = publish(floats(), major=2, older=old)
        assert take(kind()).shape == (4, 3)

    def test_too_new_tables_are_ignored(self) -> None:
        kind, _ = publish(floats(), major=2)
        with pytest.raises(ep.ExchangeError, match="does not speak"):
            take(kind())

    @pytest.mark.parametrize("capsule", [5, None, new_capsule(1, OTHER_NAME)])
    def test_attribute_of_another_type_is_ignored(self, capsule: object) -> None:
        class Odd:
            __dlpack_c_exchange_api__ = capsule

        with pytest.raises(ep.ExchangeError, match="does not speak"):
            take(Odd())

    def test_failure_without_an_exception_raises(self) -> None:
        kind, table = publish(floats())
        table.from_object = kind.fail = Table.FromObject(lambda obj, out: -1)
        with pytest.raises(ep.ExchangeError, match="set no exception"):
            take(kind())

    def test_success_without_tensor_is_refused(self) -> None:
        kind, table = publish(floats())
        table.from_object = kind.succeed = Table.FromObject(lambda obj, out: 0)
        with pytest.raises(ep.ExchangeError, match="the table of Tensor gave no tensor"):
            take(kind())


# ---------------------------------------------------------------- our table


@pytest.fixture(scope="module")
def ours() -> Table:
    return table_of(ep.Array)


def owned(out: py_object) -> ep.Array:
    """The object that a function has returned as a new reference, which ctypes treats as a
    borrowed one."""
    value = out.value
    ctypes.pythonapi.Py_DecRef(out)
    return value


def prototype(
    shape: tuple[int, ...],
    device: tuple[int, int] = (CPU, 0),
    dtype: tuple[int, int, int] = (2, 32, 1),
) -> DLTensor:
    tensor = DLTensor(device=DLDevice(*device), ndim=len(shape), dtype=DLDataType(*dtype))
    tensor.shape = (ctypes.c_int64 * len(shape))(*shape)
    return tensor


class TestOurTable:
    def test_table_is_static_and_has_version_1_3(self, ours: Table) -> None:
        assert (ours.major, ours.minor, ours.prev_api) == (1, 3, None)
        assert ep.Array.__dlpack_c_exchange_api__ is ep.Array.__dlpack_c_exchange_api__

    def test_table_round_trip_keeps_memory(self, ours: Table) -> None:
        source = bytearray(12)
        array = ep.asarray(source)[1:7:2]
        out = c_void_p()
        assert ours.from_object(array, out) == 0
        managed = Versioned.from_address(out.value or 0)
        assert (managed.major, managed.flags, managed.dl_tensor.data) == (1, 0, array.data_ptr)
        assert managed.dl_tensor.strides[0] == 2
        back = py_object()
        assert ours.to_object(out, back) == 0
        view = owned(back)
        assert (view.data_ptr, view.shape, view.owner) == (array.data_ptr, (3,), array.owner)
        del array, view
        source.append(0)  # no reference holds it any more

    def test_read_only_is_flagged_and_has_no_dltensor(self, ours: Table) -> None:
        array, out = ep.asarray(b"abc"), c_void_p()
        assert ours.from_object(array, out) == 0
        managed = Versioned.from_address(out.value or 0)
        assert managed.flags == READ_ONLY
        managed.delete()
        with pytest.raises(BufferError, match="read-only"):
            ours.borrow(array, ctypes.addressof(DLTensor()))

    def test_borrowed_tensor_describes_the_array(self, ours: Table) -> None:
        array, tensor = ep.asarray(bytearray(12)).reshape(3, 4).T, DLTensor()
        assert ours.borrow(array, ctypes.addressof(tensor)) == 0
        assert (tensor.data, tensor.ndim, tensor.shape[:2], tensor.strides[:2]) == (
            array.data_ptr,
            2,
            [4, 3],
            [1, 4],
        )

    def test_other_object_is_a_type_error(self, ours: Table) -> None:
        with pytest.raises(TypeError, match="look the table up"):
            ours.from_object(bytearray(3), c_void_p())

    def test_refused_malformed_tensor_is_freed(self, ours: Table) -> None:
        producer = floats(ndim=-1)()
        managed = producer.tensor()
        with pytest.raises(BufferError, match="-1 dimensions"):
            ours.to_object(ctypes.addressof(managed), py_object())
        assert producer.deleted == 1

    def test_allocate_follows_the_prototype(self, ours: Table) -> None:
        out, errors = c_void_p(), []
        set_error = Table.SetError(lambda _, kind, message: errors.append((kind, message)))
        assert ours.allocate(ctypes.addressof(prototype((2, 3))), out, None, set_error) == 0
        back = py_object()
        ours.to_object(out, back)
        view = owned(back)
        assert (view.shape, str(view.dtype), str(view.device)) == ((2, 3), "float32", "host")
        assert errors == []

    @pytest.mark.parametrize(
        ("tensor", "kind"),
        [
            (prototype((-2, 3)), b"BufferError"),
            (prototype((2, 3), (METAL, 0)), b"BufferError"),
            (prototype((2, 3), (ONE_API, 10**6)), None),
            (prototype((2, 3), dtype=(99, 32, 1)), b"BufferError"),
            (prototype((2**40, 2**10)), b"MemoryError"),
        ],
    )
    def test_failed_allocation_calls_set_error_once(
        self, ours: Table, tensor: DLTensor, kind: bytes | None
    ) -> None:
        out, errors = c_void_p(), []
        set_error = Table.SetError(lambda _, kind, message: errors.append((kind, message)))
        assert ours.allocate(ctypes.addressof(tensor), out, None, set_error) == -1
        assert len(errors) == 1
        assert errors[0][1]
        assert kind is None or errors[0][0] == kind

    def test_host_has_no_current_stream(self, ours: Table) -> None:
        out = c_void_p(1)
        assert ours.current_stream(CPU, 0, out) == 0
        assert out.value is None

    def test_current_stream_of_absent_device_is_refused(self, ours: Table) -> None:
        with pytest.raises(BufferError, match="kDLMetal"):
            ours.current_stream(METAL, 0, c_void_p())

    @pytest.mark.tvm_ffi
    def test_tvm_ffi_uses_the_table(self) -> None:
        import tvm_ffi

        array = ep.asarray(bytearray(24)).view("float32")
        tensor = tvm_ffi.from_dlpack(array)
        assert tensor.shape == (6,)
        assert ep.asarray(tensor).data_ptr == array.data_ptr


@pytest.mark.sycl
class TestOurTableOnSycl:
    @pytest.mark.parametrize("place", SYCL, ids=str)
    def test_usm_round_trips_as_one_api(self, ours: Table, place: Place) -> None:
        array, tensor = place.empty(8, "float32"), DLTensor()
        assert ours.borrow(array, ctypes.addressof(tensor)) == 0
        assert (tensor.data, tensor.device.device_type) == (array.data_ptr, ONE_API)
        out = c_void_p()
        assert ours.from_object(array, out) == 0
        back = py_object()
        ours.to_object(out, back)
        view = owned(back)
        assert (view.data_ptr, view.kind, view.device) == (array.data_ptr, place.kind, array.device)

    def test_current_stream_is_the_innermost_queue(self, ours: Table) -> None:
        device = ep.device("opencl:cpu")
        number = ep.empty(1, "uint8", device=device).__dlpack_device__()[1]
        out = c_void_p()
        assert ours.current_stream(ONE_API, number, out) == 0
        default = out.value
        assert default
        with ep.device_context(ep.Queue(device)) as queue:
            assert ours.current_stream(ONE_API, number, out) == 0
            assert out.value == queue.addressof_ref() != default

    def test_allocate_returns_device_memory(self, ours: Table) -> None:
        number = ep.empty(1, "uint8", device="opencl:cpu").__dlpack_device__()[1]
        out = c_void_p()
        set_error = Table.SetError(lambda _, kind, message: pytest.fail(message.decode()))
        assert (
            ours.allocate(
                ctypes.addressof(prototype((2, 3), (ONE_API, number))), out, None, set_error
            )
            == 0
        )
        back = py_object()
        ours.to_object(out, back)
        view = owned(back)
        assert (view.kind, str(view.device)) == ("device", "opencl:cpu:0")


@pytest.mark.sycl
@pytest.mark.alone
def test_import_waits_for_the_producers_current_queue() -> None:
    far, near = ep.Queue("opencl:cpu"), ep.Queue("opencl:cpu")
    memory = ep.zeros(16, "int32", kind="device", queue=far)
    far.wait()
    given = [memory]

    def make() -> Producer:
        announced = given[0].__dlpack_device__()
        return Producer(
            given[0].data_ptr,
            given[0],
            shape=(16,),
            strides=(1,),
            dtype=(0, 32, 1),
            device=announced,
        )

    kind, table = publish(make)

    def current_stream(kind: int, number: int, out: Any) -> int:
        assert (kind, number) == memory.__dlpack_device__()
        out[0] = far.addressof_ref()
        return 0

    table.current_stream = keep = table.CurrentStream(current_stream)
    done = launch("slow", memory, queue=far)
    copied = ep.zeros(16, "int32", kind="device", queue=near)
    ep.copy(copied, ep.asarray(kind()), queue=near)
    assert not done.done, "a host wait happened"
    assert memoryview(copied.copy_to_host())[0] == 42
    del keep
    given.clear()  # the type stays, as types with a table do

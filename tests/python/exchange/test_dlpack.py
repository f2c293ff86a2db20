"""DLPack both ways: imports and refusals, deleters, and the order of work.

Tensors that lie are in tests/robustness/test_malformed.py.
"""

from __future__ import annotations

import ctypes
import gc
import inspect
import re
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import entrepot as ep
from support.capsules import name_of, new_capsule, rename
from support.opencl_kernels import launch
from support.places import SYCL, Place, every_host_accessible_place
from support.processes import completed
from support.sycl_capsules import capsule_of
from support.tensors import (
    CPU,
    CUDA,
    IS_COPIED,
    ONE_API,
    PADDED,
    READ_ONLY,
    Legacy,
    Managed,
    Producer,
    Versioned,
    content,
)

pytestmark = pytest.mark.host


def take(obj: object) -> ep.Array:
    return ep.asarray(obj, protocol="dlpack")


def floats(producer_form: type[Managed] = Versioned, **fields: Any) -> Producer:
    data = (ctypes.c_float * 16)(*range(16))
    return Producer(ctypes.addressof(data), data, producer_form, **fields)


def values(array: ep.Array) -> list:
    return memoryview(array).tolist()


@pytest.mark.tvm_ffi
def test_structures_are_those_of_the_official_header() -> None:
    import tvm_ffi.libinfo

    here = Path(__file__)
    command = ["c++", "-std=c++20", "-fsyntax-only", f"-I{here.parents[3] / 'include'}"]
    command += [f"-I{path}" for path in tvm_ffi.libinfo.include_paths()]
    result = completed([*command, here.with_name("dlpack_abi.cpp")])
    assert result.returncode == 0, result.stderr


# ---------------------------------------------------------------- import

both_forms = pytest.mark.parametrize("form", [Legacy, Versioned])


class TestImport:
    @both_forms
    def test_tensor_is_imported_and_freed_once(self, form: type[Managed]) -> None:
        producer = floats(form)
        view = take(producer)
        assert (view.data_ptr, view.shape, view.strides, str(view.dtype)) == (
            producer.address,
            (4, 3),
            (3, 1),
            "float32",
        )
        assert not view.read_only
        memoryview(view)[1, 2] = 77
        assert producer.data[5] == 77
        column = view[:, 1]
        del view
        assert producer.deleted == 0
        del column
        assert producer.deleted == 1

    @both_forms
    def test_capsule_is_consumed_once(self, form: type[Managed]) -> None:
        producer = floats(form)
        capsule = producer.capsule()
        view = take(capsule)
        assert name_of(capsule) == form.names[1]
        with pytest.raises(ep.ExchangeError, match="taken already"):
            take(capsule)
        del capsule
        assert producer.deleted == 0
        assert values(view)[1] == [3, 4, 5]
        del view
        assert producer.deleted == 1

    def test_capsule_is_imported_without_a_protocol_argument(self) -> None:
        producer = floats()
        assert (
            ep.asarray(producer.capsule()).shape
            == ep.from_dlpack(producer.capsule()).shape
            == (4, 3)
        )

    def test_object_as_keyword_is_refused(self) -> None:
        functions: dict[str, Callable[..., Any]] = {"obj": ep.asarray, "x": ep.from_dlpack}
        for name, function in functions.items():
            with pytest.raises(
                TypeError, match=rf"unexpected keyword argument '{name}'; it takes dtype"
            ):
                function(**{name: floats()})
            with pytest.raises(TypeError, match=rf"is missing its argument '{name}'"):
                function()

    def test_capsule_of_other_name_is_refused(self) -> None:
        import datetime

        with pytest.raises((TypeError, ep.ExchangeError)):
            ep.asarray(datetime.datetime_CAPI)

    @both_forms
    def test_null_deleter_is_not_called(self, form: type[Managed]) -> None:
        producer = floats(form, null_deleter=True)
        assert values(take(producer))[0] == [0, 1, 2]

    def test_null_strides_and_byte_offset(self) -> None:
        view = take(floats(strides=None, byte_offset=8))
        assert view.strides == (3, 1)
        assert values(view)[0] == [2, 3, 4]

    def test_negative_and_broadcast_strides(self) -> None:
        view = take(floats(strides=(-3, 0), byte_offset=36))
        assert values(view)[:2] == [[9, 9, 9], [6, 6, 6]]

    def test_scalars_and_empty_tensors(self) -> None:
        assert values(take(floats(shape=None, strides=None, ndim=0))) == 0.0
        assert take(floats(shape=(0, 3))).shape == (0, 3)
        assert take(Producer(None, shape=(0, 3))).size == 0
        assert take(Producer(3, shape=(2, 0), strides=(2**63 - 1, 1))).size == 0

    def test_read_only_is_kept(self) -> None:
        assert take(floats(flags=READ_ONLY)).read_only

    def test_unrequested_copy_is_refused(self) -> None:
        producer = floats(flags=IS_COPIED)
        with pytest.raises(ep.ExchangeError, match="made a copy"):
            take(producer)
        assert producer.deleted == 1
        assert ep.asarray(producer, protocol="dlpack", copy=True).shape == (4, 3)

    def test_sub_byte_elements_need_padding_or_lanes(self) -> None:
        assert str(take(floats(dtype=(17, 4, 1), flags=PADDED)).dtype) == "float4_e2m1fn"
        assert take(floats(dtype=(17, 4, 2))).itemsize == 1
        with pytest.raises(ep.ExchangeError, match="packed"):
            take(floats(dtype=(17, 4, 1)))

    @pytest.mark.numpy
    @pytest.mark.parametrize(
        "name",
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 "
        "complex128".split(),
    )
    def test_numpy_dtype_is_imported(self, name: str) -> None:
        import numpy as np

        source = np.zeros((3, 2), name)
        view = take(source)
        assert (str(view.dtype), view.data_ptr) == (name, source.ctypes.data)

    @pytest.mark.numpy
    def test_numpy_array_of_any_shape_is_imported(self) -> None:
        import numpy as np

        base = np.arange(60.0).reshape(3, 4, 5)
        for source in (
            base,
            base.T,
            base[::-1, 1:, ::2],
            base[0, 0, 0:1],
            np.broadcast_to(base, (2, 3, 4, 5)),
            np.array(1.0),
            base[:0],
        ):
            view = take(source)
            assert view.shape == source.shape
            if source.size:
                assert view.data_ptr == source.ctypes.data
                assert (np.asarray(view) == source).all()
            assert view.read_only == (not source.flags.writeable)

    @pytest.mark.numpy
    def test_view_keeps_the_producer_alive(self) -> None:
        import numpy as np

        source = np.arange(5.0)
        gone = weakref.ref(source)
        view = take(source)
        del source
        gc.collect()
        assert gone() is not None
        assert values(view)[4] == 4
        del view
        assert gone() is None

    @pytest.mark.jax
    def test_jax_on_the_cpu(self) -> None:
        import jax
        import jax.numpy as jnp

        with jax.default_device(jax.devices("cpu")[0]):
            source = jnp.arange(6.0).reshape(2, 3)
        view = take(source)
        assert view.data_ptr == source.unsafe_buffer_pointer()
        assert values(view) == source.tolist()

    @pytest.mark.ml_dtypes
    @pytest.mark.jax
    def test_bfloat16_of_jax(self) -> None:
        import jax.numpy as jnp

        assert str(take(jnp.ones(3, jnp.bfloat16)).dtype) == "bfloat16"

    @pytest.mark.tvm_ffi
    @pytest.mark.numpy
    def test_tvm_ffi_view_of_numpy_array_shares_memory(self) -> None:
        import numpy as np
        import tvm_ffi

        source = np.arange(6.0)
        view = take(tvm_ffi.from_dlpack(source))
        assert view.data_ptr == source.ctypes.data
        values(view)
        memoryview(view)[2] = 9
        assert source[2] == 9


def test_from_dlpack_signature_has_its_keywords() -> None:
    def keywords(function: Callable[..., Any]) -> list[tuple[str, Any]]:
        return [
            (p.name, p.default)
            for p in inspect.signature(function).parameters.values()
            if p.kind == p.KEYWORD_ONLY
        ]

    assert keywords(ep.from_dlpack) == [
        (name, default) for name, default in keywords(ep.asarray) if name != "protocol"
    ]
    producer = floats()
    for name, default in keywords(ep.from_dlpack):
        assert ep.from_dlpack(producer, **{name: default}).shape == (4, 3)


class TestProducerVersions:
    """Keywords of older producers: each one accepts fewer than the one before."""

    class NoCopy(Producer):
        def __dlpack__(self, *, stream: object = None, max_version: object = None) -> object:  # type: ignore[override]
            assert max_version == (1, 3)
            return self.capsule()

    class StreamOnly(Producer):
        def __dlpack__(self, stream: object = None) -> object:  # type: ignore[override]
            return self.capsule()

    class Bare(Producer):
        def __dlpack__(self) -> object:  # type: ignore[override]
            return self.capsule()

    class Deviceless(Producer):
        __dlpack_device__ = None  # type: ignore[assignment]

    @pytest.mark.parametrize(
        "kind", [NoCopy, StreamOnly, Bare, Deviceless], ids=lambda kind: kind.__name__
    )
    def test_older_producer_is_called_with_fewer_keywords(self, kind: type[Producer]) -> None:
        data = (ctypes.c_float * 12)()
        producer = kind(ctypes.addressof(data), data)
        assert take(producer).data_ptr == producer.address

    def test_all_keywords_are_tried_first(self) -> None:
        asked = []

        class Producer_(Producer):
            def __dlpack__(self, **keywords: object) -> object:
                asked.append(keywords)
                return self.capsule()

        data = (ctypes.c_float * 12)()
        take(Producer_(ctypes.addressof(data), data))
        assert asked == [{"max_version": (1, 3), "copy": False}]

    @pytest.mark.parametrize("error", [BufferError, ValueError, TypeError])
    def test_producers_refusal_is_final_and_reported(self, error: type[Exception]) -> None:
        class Refuses:
            def __dlpack__(self, **_: object) -> object:
                raise error("not today")

        with pytest.raises(ep.ExchangeError, match=r"Refuses.__dlpack__.* not today"):
            ep.asarray(Refuses())

    @pytest.mark.parametrize("error", [AttributeError, NotImplementedError])
    def test_missing_protocol_falls_through(self, error: type[Exception]) -> None:
        class Half(bytearray):
            def __dlpack__(self, **_: object) -> object:
                raise error("not today")

        assert ep.asarray(Half(b"abc")).shape == (3,)

    def test_keyboard_interrupt_is_not_swallowed(self) -> None:
        class Interrupted:
            def __dlpack__(self, **_: object) -> object:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            ep.asarray(Interrupted())

    def test_non_capsule_is_refused(self) -> None:
        class Odd:
            answer: object = 5

            def __dlpack__(self, **_: object) -> object:
                return self.answer

        for answer in (5, None, new_capsule(1, b"something")):
            Odd.answer = answer
            with pytest.raises(ep.ExchangeError, match="no DLPack capsule"):
                take(Odd())


# ---------------------------------------------------------------- export


class TestExport:
    def array(self) -> ep.Array:
        return ep.asarray(bytearray(24)).view("int32").reshape(2, 3)

    @pytest.mark.parametrize(
        ("keywords", "form", "version"),
        [
            ({}, Legacy, None),
            ({"max_version": None}, Legacy, None),
            ({"max_version": (0, 8)}, Legacy, None),
            ({"max_version": (1, 0)}, Versioned, (1, 0)),
            ({"max_version": (1, 3)}, Versioned, (1, 3)),
            ({"max_version": (1, 99)}, Versioned, (1, 3)),
            ({"max_version": (2, 0)}, Versioned, (1, 3)),
        ],
    )
    def test_capsule_has_the_version_of_the_consumer(
        self, keywords: dict[str, Any], form: type[Managed], version: tuple[int, int] | None
    ) -> None:
        array = self.array()
        capsule = array.__dlpack__(**keywords)
        assert name_of(capsule) == form.names[0]
        managed = content(capsule, form)
        tensor = managed.dl_tensor
        assert (tensor.data, tensor.ndim, tensor.shape[:2], tensor.strides[:2]) == (
            array.data_ptr,
            2,
            [2, 3],
            [3, 1],
        )
        assert (tensor.device.device_type, tensor.device.device_id, tensor.byte_offset) == (
            CPU,
            0,
            0,
        )
        assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == (0, 32, 1)
        if version:
            assert ((managed.major, managed.minor), managed.flags) == (version, 0)

    def test_dlpack_device_of_host_array_is_cpu(self) -> None:
        assert self.array().__dlpack_device__() == (CPU, 0)

    def test_unconsumed_capsule_releases_the_memory(self) -> None:
        source = bytearray(12)
        array = ep.asarray(source)
        capsules = [array.__dlpack__(), array.__dlpack__(max_version=(1, 0))]
        del array
        with pytest.raises(BufferError):
            source.append(0)
        del capsules
        source.append(0)

    def test_eight_dimensions_are_exported(self) -> None:
        array = ep.asarray(bytearray(64)).reshape(*(1, 2, 2, 1, 2, 2, 2, 2))
        back = take(array.__dlpack__(max_version=(1, 0)))
        assert (back.shape, back.strides) == (array.shape, array.strides)

    def test_read_only_has_a_flag_or_is_refused(self) -> None:
        array = ep.asarray(b"abc")
        assert content(array.__dlpack__(max_version=(1, 0)), Versioned).flags == READ_ONLY
        with pytest.raises(BufferError, match=r"read-only.*max_version=\(1, 0\)"):
            array.__dlpack__()

    def test_own_capsule_is_imported_as_the_same_memory(self) -> None:
        array = self.array()
        for capsule in (array.__dlpack__(), array.__dlpack__(max_version=(1, 3))):
            back = take(capsule)
            assert (back.data_ptr, back.shape, back.owner) == (
                array.data_ptr,
                array.shape,
                array.owner,
            )

    def test_copy_has_the_copied_flag(self) -> None:
        array = ep.asarray(b"abcd")
        capsule = array.__dlpack__(max_version=(1, 0), copy=True)
        managed = content(capsule, Versioned)
        assert managed.flags == IS_COPIED
        assert managed.dl_tensor.data != array.data_ptr
        assert bytes(memoryview(ep.asarray(capsule, copy=True))) == b"abcd"

    @pytest.mark.parametrize(
        ("keywords", "error", "words"),
        [
            ({"max_version": 1}, TypeError, "max_version"),
            ({"max_version": (1,)}, TypeError, "max_version"),
            ({"max_version": ("1", "0")}, TypeError, "int"),
            ({"dl_device": 1}, TypeError, "dl_device"),
            ({"dl_device": (CPU, "x")}, TypeError, "int"),
            ({"dl_device": (2**80, 0)}, OverflowError, "int"),
            ({"dl_device": (CPU, 1 << 32)}, BufferError, "32 bits"),
            ({"dl_device": ((1 << 32) + CPU, 0)}, BufferError, "32 bits"),
            ({"dl_device": (CPU, 1)}, BufferError, "kDLCPU"),
            ({"dl_device": (CUDA, 0)}, BufferError, r"kDLCUDA.*copy=True"),
            ({"dl_device": (4, 0), "copy": True}, BufferError, "no backend"),
            ({"stream": 1}, BufferError, "stream"),
            ({"stream": 0}, BufferError, "stream"),
            ({"stream": "queue"}, BufferError, "stream"),
            ({"unknown": 1}, TypeError, "unknown"),
        ],
    )
    def test_impossible_export_is_refused_with_the_reason(
        self, keywords: dict, error: type[Exception], words: str
    ) -> None:
        array = self.array()
        with pytest.raises(error, match=words):
            array.__dlpack__(**keywords)
        assert name_of(array.__dlpack__()) == b"dltensor"

    def test_capsule_without_a_name_is_left_alone(self) -> None:
        producer = floats()
        capsule = take(producer).__dlpack__()
        rename(capsule, None)
        del capsule
        gc.collect()
        assert producer.deleted == 0, "the tensor's owner is unknown now: it leaks"

    def test_dlpack_with_positional_argument_is_refused(self) -> None:
        with pytest.raises(TypeError, match="positional"):
            self.array().__dlpack__(None)  # type: ignore[call-arg]

    def test_keywords_by_value_and_devices_by_enumeration(self) -> None:
        import enum

        class Device(enum.Enum):
            CPU = 1

        names: dict[str, Any] = {
            "".join(["max_", "version"]): (1, 0),
            "".join(["dl_", "device"]): (Device.CPU, 0),
            "copy": False,
            "stream": -1,
        }
        assert name_of(self.array().__dlpack__(**names)) == b"dltensor_versioned"

    @pytest.mark.numpy
    @every_host_accessible_place
    def test_numpy_sees_the_same_memory(self, place: Place) -> None:
        import numpy as np

        array = place.empty((3, 4), "float64")
        view = np.from_dlpack(array, device="cpu")
        assert view.ctypes.data == array.data_ptr
        view[1, 2] = 5
        assert memoryview(array)[1, 2] == 5
        assert np.from_dlpack(array.T, device="cpu").shape == (4, 3)
        assert np.from_dlpack(array[1:, ::-2], device="cpu").strides == (32, -16)

    @pytest.mark.numpy
    def test_numpy_keeps_read_only(self) -> None:
        import numpy as np

        assert not np.from_dlpack(ep.asarray(b"abc")).flags.writeable

    @pytest.mark.numpy
    def test_consumer_keeps_the_memory_alive(self) -> None:
        import numpy as np

        source = np.arange(4.0)
        gone = weakref.ref(source)
        view = np.from_dlpack(ep.asarray(source))
        del source
        gc.collect()
        assert view[3] == 3
        assert gone() is not None
        del view
        gc.collect()
        assert gone() is None

    @pytest.mark.torch
    @every_host_accessible_place
    def test_torch_sees_the_same_memory(self, place: Place) -> None:
        import torch

        array = place.empty((3, 4), "float32").host()
        tensor = torch.from_dlpack(array)
        assert tensor.data_ptr() == array.data_ptr
        tensor[1, 2] = 5
        assert memoryview(array)[1, 2] == 5
        assert torch.from_dlpack(place.empty((0, 3), "float32").host()).shape == (0, 3)

    @pytest.mark.jax
    def test_jax_imports_array(self) -> None:
        import jax

        array = ep.full((4, 4), 3, "float32", device="host")
        assert jax.dlpack.from_dlpack(array).tolist() == [[3.0] * 4] * 4

    @pytest.mark.tvm_ffi
    def test_tvm_ffi_imports_array(self) -> None:
        import tvm_ffi

        array = self.array()
        assert tvm_ffi.from_dlpack(array).shape == (2, 3)

    def test_exports_from_many_threads(self) -> None:
        array, stop = self.array(), threading.Event()
        capsules: list = []

        def work() -> None:
            while not stop.is_set():
                capsules.append(array.__dlpack__(max_version=(1, 0)))
                view = take(array.__dlpack__())
                assert view.shape == (2, 3)
                if len(capsules) > 50:
                    capsules.clear()  # released by either thread

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        timer = threading.Timer(1, stop.set)
        timer.start()
        for thread in threads:
            thread.join()


# ---------------------------------------------------------------- kDLOneAPI

SLOW = """
__kernel void slow(__global float *data, long turns) {
    unsigned x = 1;
    for (long i = 0; i < turns; ++i) x = x * 1664525 + 1013904223;
    data[1] = x;
    data[0] = 42;
}
"""


@pytest.fixture(scope="module")
def slow() -> ep.Kernel:
    return ep.Program(SLOW, ep.device("opencl:cpu")).kernel("slow")


TURNS = 400_000_000


def usm(kind: str = "shared") -> ep.Array:
    return ep.zeros(16, "float32", device="opencl:cpu", kind=kind)


every_sycl_place = pytest.mark.parametrize("place", SYCL, ids=str)


class TorchXpu(Producer):
    """Speaks DLPack as PyTorch's xpu: a queue is an integer."""

    def __dlpack__(  # type: ignore[override]
        self,
        stream: int | None = None,
        max_version: object = None,
        dl_device: object = None,
        copy: object = None,
    ) -> object:
        if stream is not None and type(stream) is not int:
            raise TypeError("stream must be int or None")
        self.order(stream)
        return self.capsule()

    def order(self, stream: int | None) -> None:
        """Makes the queue wait for the work on the memory; here there is no such work."""


@pytest.mark.sycl
class TestOneAPI:
    @every_sycl_place
    def test_dlpack_device_follows_the_device_for_every_kind(self, place: Place) -> None:
        array = place.empty(16, "float32")
        kind, number = array.__dlpack_device__()
        assert kind == ONE_API
        tensor = content(array.__dlpack__(max_version=(1, 0)), Versioned).dl_tensor
        assert (tensor.device.device_type, tensor.device.device_id, tensor.data) == (
            ONE_API,
            number,
            array.data_ptr,
        )
        assert name_of(array.__dlpack__(dl_device=(ONE_API, number))) == b"dltensor"

    @every_sycl_place
    def test_pointer_of_tensor_determines_place(self, place: Place) -> None:
        memory = place.empty(16, "float32")
        producer = Producer(memory.data_ptr, memory, device=memory.__dlpack_device__())
        view = take(producer)
        assert (view.data_ptr, view.kind, view.device, view.context) == (
            memory.data_ptr,
            place.kind,
            memory.device,
            memory.context,
        )
        del view
        assert producer.deleted == 1

    def test_producers_like_torch_xpu(self) -> None:
        """The data pointer is the start of the storage, with a byte offset. The capsule and
        __dlpack_device__ differ in the device number."""

        class Xpu(TorchXpu):
            def __dlpack_device__(self) -> tuple[int, int]:
                return (ONE_API, 3)

        memory = usm()
        view = take(
            Xpu(
                memory.data_ptr,
                memory,
                shape=(3,),
                strides=(1,),
                byte_offset=8,
                device=memory.__dlpack_device__(),
            )
        )
        assert view.data_ptr == memory.data_ptr + 8
        assert view.device == memory.device

    @pytest.mark.alone
    def test_producer_that_gets_the_queue_orders_its_work(self) -> None:
        far, near = ep.Queue("opencl:cpu"), ep.Queue("opencl:cpu")
        memory, asked = ep.zeros(16, "int32", kind="device", queue=far), []
        far.wait()

        class Xpu(TorchXpu):
            def order(self, stream: int | None) -> None:
                asked.append(stream)
                if stream == near.addressof_ref():
                    near.wait_for(far)

        producer = Xpu(
            memory.data_ptr,
            memory,
            shape=(16,),
            strides=(1,),
            dtype=(0, 32, 1),
            device=memory.__dlpack_device__(),
        )
        done = launch("slow", memory, queue=far)
        view = ep.asarray(producer, queue=near)
        copied = ep.zeros(16, "int32", kind="device", queue=ep.Queue("opencl:cpu"))
        ep.copy(copied, view)
        assert asked == [near.addressof_ref()]
        assert not done.done, "a host wait happened"
        assert memoryview(copied.copy_to_host())[0] == 42

    def test_producers_like_tensorflow(self) -> None:
        """Legacy capsules only, no keywords, NULL strides."""

        class TensorFlow(Producer):
            def __dlpack__(self) -> object:  # type: ignore[override]
                return self.capsule()

        memory = usm()
        view = take(
            TensorFlow(
                memory.data_ptr, memory, Legacy, strides=None, device=memory.__dlpack_device__()
            )
        )
        assert (view.shape, view.strides) == ((4, 3), (3, 1))

    @pytest.mark.parametrize("number", [-1, 1000])
    def test_unknown_device_number_is_refused(self, number: int) -> None:
        memory = usm()
        producer = Producer(memory.data_ptr, memory, device=(ONE_API, number))
        with pytest.raises(ep.ExchangeError, match=rf"kDLOneAPI \(14\) device {number}.*lists"):
            take(producer)
        assert producer.deleted == 1

    def test_memory_other_than_usm_is_refused(self) -> None:
        producer = floats(device=usm().__dlpack_device__())
        with pytest.raises(ep.ExchangeError, match="not USM"):
            take(producer)
        assert producer.deleted == 1

    def test_elements_outside_the_allocation_are_refused(self) -> None:
        memory = usm()
        producer = Producer(
            memory.data_ptr,
            memory,
            shape=(1 << 20,),
            strides=(4096,),
            device=memory.__dlpack_device__(),
        )
        with pytest.raises(ep.ExchangeError, match="DLPack"):
            take(producer)
        assert producer.deleted == 1

    def test_empty_tensor_is_not_looked_up(self) -> None:
        number = usm().__dlpack_device__()
        assert take(Producer(None, shape=(0, 3), device=number)).size == 0

    def test_sub_device_memory_is_refused_with_advice(self) -> None:
        try:
            sub = ep.device("opencl:cpu").create_sub_devices(partition=1)[0]
        except (ep.DeviceError, AttributeError):
            pytest.skip("the device cannot be divided")
        array = ep.zeros(4, "float32", device=sub, kind="shared")
        if array.context == ep.device("opencl:cpu").queue.context:
            pytest.skip("this runtime serves sub-devices in the default context")
        with pytest.raises(
            BufferError, match=r"default context.*__sycl_usm_array_interface__"
        ) as refused:
            array.__dlpack__(max_version=(1, 0))
        advice = re.search(
            r'default context of the root device \(entrepot\.Queue\("(.*?)"\)', str(refused.value)
        )
        assert advice
        followed = ep.zeros(4, "float32", queue=ep.Queue(advice[1]), kind="shared")
        assert ep.from_dlpack(followed.__dlpack__(max_version=(1, 0))).data_ptr == followed.data_ptr
        managed = content(array.__dlpack__(max_version=(1, 0), dl_device=(CPU, 0)), Versioned)
        assert managed.dl_tensor.data == array.data_ptr
        managed = content(array.__dlpack__(max_version=(1, 0), copy=True), Versioned)
        assert managed.dl_tensor.device.device_type == ONE_API

    def test_device_memory_is_not_given_to_the_host_without_a_copy(self) -> None:
        array = usm("device")
        for copy in (None, False):
            with pytest.raises(BufferError, match=r"device memory of opencl:cpu:0.*\.to\('host'\)"):
                array.__dlpack__(max_version=(1, 0), dl_device=(CPU, 0), copy=copy)
        managed = content(
            array.__dlpack__(max_version=(1, 0), dl_device=(CPU, 0), copy=True), Versioned
        )
        assert (managed.flags, managed.dl_tensor.device.device_type) == (IS_COPIED, CPU)

    def test_host_memory_is_exported_to_a_device_as_a_copy_only(self) -> None:
        array, device = ep.full(4, 7, "float32", device="host"), usm().__dlpack_device__()
        with pytest.raises(BufferError, match="copy=True"):
            array.__dlpack__(dl_device=device)
        view = ep.asarray(array.__dlpack__(dl_device=device, copy=True))
        assert str(view.device) == "opencl:cpu:0"
        assert values(view.to("host")) == [7] * 4

    @pytest.mark.numpy
    def test_numpy_waits_for_the_kernel(self, slow: ep.Kernel) -> None:
        import numpy as np

        array = usm()
        slow[1](array, ep.Scalar(TURNS, "int64"))
        assert np.from_dlpack(array, device="cpu")[0] == 42

    def test_export_without_a_queue_waits_on_the_host(self, slow: ep.Kernel) -> None:
        array = usm()
        slow[1](array, ep.Scalar(TURNS, "int64"))
        array.__dlpack__(max_version=(1, 0))
        assert array.queue.is_idle

    def test_stream_minus_one_does_not_wait(self, slow: ep.Kernel) -> None:
        array = usm()
        slow[1](array, ep.Scalar(TURNS, "int64"))
        array.__dlpack__(max_version=(1, 0), stream=-1)
        assert not array.queue.is_idle, "the export must not wait"
        array.queue.wait()

    def queues(self) -> list[tuple[str, object, ep.Queue]]:
        queue = ep.Queue("opencl:cpu")
        forms: list[tuple[str, object, ep.Queue]] = [
            ("ours", queue, queue),
            ("capsule", capsule_of(queue), queue),
            ("int", queue.addressof_ref(), queue),
        ]

        class Holder:
            def _get_capsule(self) -> object:
                return capsule_of(queue)

        return [*forms, ("holder", Holder(), queue)]

    def test_stream_forms_wait_without_the_host(self, slow: ep.Kernel) -> None:
        for name, stream, queue in self.queues():
            array = usm()
            done = slow[1](array, ep.Scalar(TURNS, "int64"))
            array.__dlpack__(max_version=(1, 0), stream=stream)
            assert not done.done, f"{name}: an event was enough"
            queue.wait()
            assert done.done, f"{name}: the consumer's queue has waited for the kernel"

    @pytest.mark.parametrize("stream", [0, 1, 2, -2])
    def test_streams_of_other_runtimes_are_refused(self, stream: int) -> None:
        with pytest.raises(BufferError, match=f"stream {stream} means nothing"):
            usm().__dlpack__(stream=stream)

    def test_capsule_outlives_the_array(self) -> None:
        capsule = usm().__dlpack__(max_version=(1, 0))
        gc.collect()
        view = take(capsule)
        assert values(view.host()) == [0] * 16

    @pytest.mark.dpnp
    @every_sycl_place
    def test_dpnp_sees_the_same_memory(self, place: Place) -> None:
        import dpnp

        array = place.empty((3, 4), "float32")
        view = dpnp.from_dlpack(array)
        assert view.__sycl_usm_array_interface__["data"][0] == array.data_ptr
        assert view.usm_type == place.kind
        view[1, 2] = 5
        view.sycl_queue.wait()
        assert values(array.to("host"))[1][2] == 5

    @pytest.mark.dpnp
    @every_sycl_place
    def test_memory_of_dpnp(self, place: Place) -> None:
        import dpnp

        source = dpnp.arange(12, dtype="f4", usm_type=place.kind).reshape(3, 4)
        view = take(source[::-1, 1:])
        assert (view.shape, view.strides, view.kind) == ((3, 3), (-4, 1), place.kind)
        assert view.data_ptr == source.__sycl_usm_array_interface__["data"][0] + 4 * 9
        assert values(view.to("host")) == [[9, 10, 11], [5, 6, 7], [1, 2, 3]]

    @pytest.mark.dpnp
    def test_import_waits_for_work_of_dpnp(self) -> None:
        import dpnp

        source = dpnp.ones(1 << 22, dtype="f4", usm_type="shared")
        for _ in range(20):
            source += 1  # submitted, not waited for
        view = take(source)
        assert memoryview(view)[(1 << 22) - 1] == 21

    @pytest.mark.dpctl
    def test_dpctl_queues_are_streams(self, slow: ep.Kernel) -> None:
        import dpctl

        array, queue = usm(), dpctl.SyclQueue("opencl:cpu")
        slow[1](array, ep.Scalar(TURNS, "int64"))
        array.__dlpack__(max_version=(1, 0), stream=queue)
        assert not array.queue.is_idle
        queue.wait()
        assert array.queue.is_idle

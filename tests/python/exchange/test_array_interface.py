"""NumPy's array interface both ways, as a dict and as a struct."""

from __future__ import annotations

import ctypes
import gc
import weakref

import pytest

import entrepot as ep
from support.array_structs import ArrayStruct
from support.capsules import new_capsule
from support.malformed import Speaker

pytestmark = pytest.mark.host

ATTRIBUTE = "__array_interface__"
MEMORY = (ctypes.c_float * 12)(*range(12))


def valid() -> dict[str, object]:
    return {
        "shape": (4, 3),
        "typestr": "<f4",
        "data": (ctypes.addressof(MEMORY), False),
        "strides": None,
        "version": 3,
    }


def take(**changes: object) -> ep.Array:
    return ep.asarray(Speaker(ATTRIBUTE, valid() | changes))


class TestImport:
    def test_dict_is_imported_without_copy(self) -> None:
        view = take()
        assert view.data_ptr == ctypes.addressof(MEMORY)
        assert (view.shape, str(view.dtype), view.read_only, view.kind) == (
            (4, 3),
            "float32",
            False,
            "host",
        )

    def test_read_only_flag_and_byte_strides_are_imported(self) -> None:
        view = take(shape=(2, 3), strides=(-12, 4), data=[ctypes.addressof(MEMORY) + 12, True])
        assert view.read_only
        assert view.strides == (-3, 1)
        assert memoryview(view).tolist() == [[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]]

    def test_producer_is_kept_and_released(self) -> None:
        producer = Speaker(ATTRIBUTE, valid())
        gone = weakref.ref(producer)
        view = ep.asarray(producer)
        assert view.owner is producer
        part = view[1:]
        del producer, view
        assert gone() is not None
        del part
        assert gone() is None

    def test_buffer_as_data_is_held(self) -> None:
        memory = bytearray(range(16))
        view = take(shape=(3,), typestr="|u1", data=memory, offset=2)
        assert memoryview(view).tolist() == [2, 3, 4]
        with pytest.raises(BufferError):
            memory.append(0)
        del view
        memory.append(0)

    def test_missing_data_means_buffer_of_object(self) -> None:
        class Source(bytearray):
            __array_interface__ = {"shape": (2, 2), "typestr": "<u2", "version": 3}  # noqa: RUF012

        source = Source(8)
        view = ep.asarray(source, protocol="array_interface")
        assert (view.shape, str(view.dtype)) == ((2, 2), "uint16")
        assert view.owner is source

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"typestr": ">f4"}, "swapped"),
            ({"typestr": None}, "'typestr' is missing"),
            ({"shape": None}, "'shape' is missing"),
            ({"shape": "ab"}, "tuple of ints"),
            ({"shape": (4.0, 3)}, "must be an int"),
            ({"shape": (-4, 3)}, "negative"),
            ({"shape": (2**64, 3)}, "64 bits"),
            ({"strides": (12,)}, "2 dimensions and 'strides' has 1"),
            ({"strides": (13, 4)}, "multiple of the item size"),
            ({"data": (0, False)}, "NULL"),
            ({"data": (-1, False)}, "address"),
            ({"data": (1, 2, 3)}, "pair"),
            ({"data": bytearray(47)}, "leave it"),
            ({"data": None}, "does not give its buffer"),
            ({"offset": 4}, "belong to buffers"),
            ({"mask": MEMORY}, "mask"),
            ({"version": 2}, "'version' is 2"),
            ({"version": None}, "'version' is missing"),
        ],
    )
    def test_malformed_dict_is_refused_with_the_reason(
        self, changes: dict[str, object], words: str
    ) -> None:
        with pytest.raises(ep.InterfaceError, match=words) as raised:
            take(**changes)
        assert isinstance(raised.value, ValueError)
        assert isinstance(raised.value, BufferError)

    def test_non_dict_is_refused(self) -> None:
        with pytest.raises(ep.InterfaceError, match="must be a dict"):
            ep.asarray(Speaker(ATTRIBUTE, [1, 2]))

    def test_other_exceptions_propagate(self) -> None:
        class Stop:
            @property
            def __array_interface__(self) -> dict[str, object]:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            ep.asarray(Stop())


class TestStruct:
    def producer(self, **changes: object) -> Speaker:
        extents = (ctypes.c_ssize_t * 2)(4, 3)
        strides = (ctypes.c_ssize_t * 2)(12, 4)
        fields = {
            "two": 2,
            "nd": 2,
            "typekind": b"f",
            "itemsize": 4,
            "flags": 0x600,
            "data": ctypes.addressof(MEMORY),
        }
        struct = ArrayStruct(shape=extents, strides=strides, **(fields | changes))
        return Speaker(
            "__array_struct__",
            new_capsule(ctypes.byref(struct), None),
            keep=(struct, extents, strides),
        )

    def test_struct_is_imported_without_copy(self) -> None:
        producer = self.producer()
        gone = weakref.ref(producer)
        view = ep.asarray(producer)
        assert view.data_ptr == ctypes.addressof(MEMORY)
        assert (view.shape, str(view.dtype), view.read_only) == ((4, 3), "float32", False)
        del producer
        assert gone() is not None
        del view
        assert gone() is None

    def test_flags_are_honored(self) -> None:
        assert ep.asarray(self.producer(flags=0x200)).read_only
        with pytest.raises(ep.InterfaceError, match="swapped"):
            ep.asarray(self.producer(flags=0x400))

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"two": 3}, "instead of 2"),
            ({"nd": -1}, "dimensions"),
            ({"nd": 10**6}, "dimensions"),
            ({"typekind": b"O"}, "typestr"),
        ],
    )
    def test_malformed_struct_is_refused(self, changes: dict[str, object], words: str) -> None:
        with pytest.raises(ep.InterfaceError, match=words):
            ep.asarray(self.producer(**changes))

    @pytest.mark.parametrize("value", [None, 5, "capsule"])
    def test_non_capsule_is_refused(self, value: object) -> None:
        with pytest.raises(ep.InterfaceError, match="capsule"):
            ep.asarray(Speaker("__array_struct__", value), protocol="array_struct")

    def test_capsule_of_other_name_is_refused(self) -> None:
        name = b"dltensor"
        with pytest.raises(ep.InterfaceError, match="capsule"):
            ep.asarray(
                Speaker("__array_struct__", new_capsule(ctypes.byref(MEMORY), name), keep=name)
            )


class TestExport:
    def test_exported_dict_has_all_fields(self) -> None:
        array = ep.empty((4, 6), "int16", device="host")[::2, ::-3]
        assert array.__array_interface__ == {
            "shape": (2, 2),
            "typestr": "<i2",
            "data": (array.data_ptr, False),
            "strides": (24, -6),
            "version": 3,
        }
        assert array[:1, :1].__array_interface__["strides"] is None

    @pytest.mark.numpy
    @pytest.mark.parametrize("attribute", [ATTRIBUTE, "__array_struct__"])
    def test_numpy_takes_it_without_a_copy(self, attribute: str) -> None:
        import numpy as np

        array = ep.asarray(np.arange(24, dtype="<i4").reshape(4, 6))[::2, ::-3]
        seen = np.asarray(Speaker(attribute, getattr(array, attribute), keep=array))
        assert seen.ctypes.data == array.data_ptr
        assert seen.tolist() == [[5, 2], [17, 14]]
        assert (
            np.asarray(Speaker(attribute, getattr(ep.asarray(b"ab"), attribute))).flags.writeable
            is False
        )

    @pytest.mark.numpy
    def test_capsule_keeps_memory_alive(self) -> None:
        import numpy as np

        class Source(bytearray):
            pass

        source = Source(b"abcd")
        gone = weakref.ref(source)
        capsule = ep.asarray(source).__array_struct__
        del source
        gc.collect()
        assert gone() is not None
        assert np.asarray(Speaker("__array_struct__", capsule)).tobytes() == b"abcd"
        del capsule
        gc.collect()
        assert gone() is None

    def test_dtype_without_typestr_has_no_interface(self) -> None:
        array = ep.empty(3, "bfloat16", device="host")
        for attribute in (ATTRIBUTE, "__array_struct__"):
            assert not hasattr(array, attribute)
            with pytest.raises(AttributeError, match="bfloat16 has no typestr"):
                getattr(array, attribute)

    @pytest.mark.sycl
    def test_device_memory_has_no_array_interface(self) -> None:
        array = ep.empty(3, "float32", device="opencl:cpu", kind="device")
        for attribute in (ATTRIBUTE, "__array_struct__"):
            with pytest.raises(AttributeError, match=r"device memory of opencl:cpu"):
                getattr(array, attribute)

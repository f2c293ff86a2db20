"""Defects of HIP Python's adapters (release 6.2, some of them still in 10.0), absent here."""

from __future__ import annotations

import ctypes
import pickle

import pytest

import entrepot as ep
from adapters.objects import Cai
from adapters.test_launch_arguments import arguments_in
from entrepot._core import _device_array
from entrepot.adapters import (
    DeviceArray,
    HipModuleLaunchKernel_extra,
    ListOfInt,
    ListOfPointer,
    Pointer,
)
from support.c_interface import c_interface

pytestmark = pytest.mark.host

CAI = "__cuda_array_interface__"


class TestPointer:
    def test_conversions_have_the_documented_order(self):
        class Everything(Pointer):
            __cuda_array_interface__ = Cai().__cuda_array_interface__

        class IntWithCai(int):
            __cuda_array_interface__ = Cai().__cuda_array_interface__

        class CaiWithBuffer(bytearray):
            __cuda_array_interface__ = Cai().__cuda_array_interface__

        class VoidPointerWithCai(ctypes.c_void_p):
            __cuda_array_interface__ = Cai().__cuda_array_interface__

        assert int(Pointer(Everything(5))) == 5, "a Pointer before its interface"
        assert int(Pointer(IntWithCai(6))) == 6, "an int before its interface"
        assert int(Pointer(VoidPointerWithCai(7))) == 7, "a c_void_p before its interface"
        assert int(Pointer(CaiWithBuffer(8))) == 0x1000, "an interface before the buffer"

    def test_minus_one_is_no_address(self):
        with pytest.raises(OverflowError):
            Pointer(-1)

    def test_true_is_no_address(self):
        with pytest.raises(TypeError):
            Pointer(True)

    def test_read_only_buffers_are_no_destinations(self):
        address, held = ctypes.c_void_p(), ctypes.c_void_p()
        with pytest.raises(ValueError, match="read-only"):
            c_interface().argument(
                b"bytes", b"Pointer", 1, b"f", b"x", ctypes.byref(address), ctypes.byref(held)
            )

    def test_cai_strides_are_kept(self):
        with pytest.raises(ValueError, match="strided"):
            Pointer(Cai(strides=(4, 8)))

    def test_init_twice_releases_the_buffer(self):
        buffer = bytearray(8)
        pointer = Pointer(buffer)
        pointer.__init__(buffer)  # type: ignore[misc]
        pointer.__init__(None)  # type: ignore[misc]
        buffer.append(1)

    def test_negative_offset_is_refused(self):
        with pytest.raises(ValueError, match="-1") as caught:
            Pointer(5)[-1]
        assert "{" not in str(caught.value)

    def test_eq_hash_and_index(self):
        assert (
            Pointer(5) == Pointer(5)
            and hash(Pointer(5)) == hash(Pointer(5))
            and hex(Pointer(5)) == "0x5"
        )

    def test_repr_of_subclass_has_its_name(self):
        assert repr(HipModuleLaunchKernel_extra(5)) == "<HipModuleLaunchKernel_extra 0x5>"
        assert repr(type("Handle", (Pointer,), {})(5)) == "<Handle 0x5>"

    def test_pickling_is_refused_with_own_message(self):
        with pytest.raises(TypeError, match="address"):
            pickle.dumps(Pointer(5))

    def test_ctypes_pointers_yield_their_value_not_their_cell(self):
        number = ctypes.c_int(3)
        pointer = ctypes.pointer(number)
        assert int(Pointer(pointer)) == ctypes.addressof(number) != ctypes.addressof(pointer)
        text = ctypes.c_char_p(b"text")
        assert (
            int(Pointer(text)) == ctypes.cast(text, ctypes.c_void_p).value != ctypes.addressof(text)
        )
        function = ctypes.CFUNCTYPE(None)(lambda: None)
        assert (
            int(Pointer(function))
            == ctypes.cast(function, ctypes.c_void_p).value
            != ctypes.addressof(function)
        )


class TestDeviceArray:
    def test_cai_gives_shape(self):
        assert DeviceArray(Cai()).shape == (2, 3)

    def test_part_keeps_order_of_axes(self):
        array = DeviceArray(Cai(shape=(2, 3, 4)))
        assert array[0:1].shape == (1, 3, 4)

    def test_integer_index_removes_axis(self):
        array = DeviceArray(Cai(shape=(2, 3, 4)))
        assert (array[0].shape, array[0, 1].shape, array[0, 1, 2].shape) == ((3, 4), (4,), ())

    def test_negative_indices_and_ellipsis(self):
        array = DeviceArray(Cai(shape=(2, 3, 4)))
        assert int(array[-1]) == int(array[1]) and array[..., -1].shape == (2, 3)

    def test_parts_are_device_arrays(self):
        assert type(DeviceArray(Cai())[0]) is DeviceArray

    def test_parts_keep_their_parent(self):
        buffer = bytearray(8)
        part = DeviceArray(buffer)[4:]
        assert bytes(memoryview(ep.asarray(part))) == bytes(4)
        with pytest.raises(BufferError):
            buffer.append(1)

    @pytest.mark.parametrize("typestr", ["|u1", "|b1"])
    def test_types_of_one_byte(self, typestr):
        assert _device_array(0x1000, 8).configure(typestr=typestr).typestr == typestr

    def test_float32_is_exported_as_a_typestr(self):
        assert (
            getattr(_device_array(0x1000, 8).configure(typestr="float32", shape=2), CAI)["typestr"]
            == "<f4"
        )

    def test_stream_0_raises(self):
        with pytest.raises(ValueError, match="stream=0"):
            _device_array(0x1000, 8).configure(stream=0)

    def test_rank_counts_extents_of_one(self):
        assert DeviceArray(Cai(shape=(1, 3, 1))).rank == 3

    def test_changed_interface_dict_leaves_the_array_unchanged(self):
        array = DeviceArray(Cai())
        getattr(array, CAI).update(shape=(100,), data=(0, True))
        assert array.shape == (2, 3) and int(array) == 0x1000

    def test_device_memory_has_no_host_buffer(self):
        with pytest.raises(TypeError):
            memoryview(_device_array(0x1000, 8))  # type: ignore[arg-type]

    def test_configure_accepts_empty_shape(self):
        assert _device_array(0x1000, 4).configure(typestr="<f4", shape=()).shape == ()

    def test_strides_of_part_are_in_bytes(self):
        assert DeviceArray(Cai())[:, 1].strides == (12,)

    def test_failed_configure_changes_nothing(self):
        array = DeviceArray(Cai())
        with pytest.raises(ValueError, match="stream"):
            array.configure(typestr="<i4", shape=(6,), read_only=True, stream=0)
        assert (array.typestr, array.shape, array.is_read_only) == ("<f4", (2, 3), False)


class TestLists:
    def test_list_of_documentation_example(self):
        assert ListOfInt([1, 2]).to_list() == [1, 2]

    def test_out_of_range_int_raises_overflow_error(self):
        with pytest.raises(OverflowError, match="element 0"):
            ListOfInt([2**31])

    def test_pointers_are_kept_alive(self):
        buffer = bytearray(8)
        pointers = ListOfPointer([buffer])
        with pytest.raises(BufferError):
            buffer.append(1)
        del pointers


class TestLaunchArguments:
    def test_structs_are_aligned_as_in_c(self):
        class Ints(ctypes.Structure):
            _fields_ = (("values", ctypes.c_int * 3),)

        class Chars(ctypes.Structure):
            _fields_ = (("values", ctypes.c_char * 3),)

        assert (
            len(
                arguments_in(
                    HipModuleLaunchKernel_extra([ctypes.c_int(1), Ints(), ctypes.c_int(2)])
                )
            )
            == 20
        )
        assert (
            len(
                arguments_in(
                    HipModuleLaunchKernel_extra([ctypes.c_int8(1), Chars(), ctypes.c_int(2)])
                )
            )
            == 8
        )

    def test_long_double_is_aligned_to_16(self):
        found = arguments_in(HipModuleLaunchKernel_extra([ctypes.c_int(1), ctypes.c_longdouble(1)]))
        assert len(found) == 32 and found[4:16] == bytes(12)

    def test_padding_is_zero(self):
        found = arguments_in(HipModuleLaunchKernel_extra([ctypes.c_int8(-1), ctypes.c_int64(-1)]))
        assert found == b"\xff" + bytes(7) + b"\xff" * 8

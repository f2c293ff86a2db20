"""Objects as arguments of C functions, through the table that bindings and extensions call."""

from __future__ import annotations

import array
import ctypes
import gc
import weakref
from ctypes import byref, c_void_p, py_object

import pytest

import entrepot as ep
from adapters.objects import Cai, named
from entrepot._core import _device_array, _mark_freed
from entrepot.adapters import (
    CStr,
    DeviceArray,
    HipModuleLaunchKernel_extra,
    ListOfBytes,
    ListOfInt,
    ListOfPointer,
    Pointer,
)
from support.c_interface import c_interface

pytestmark = pytest.mark.host

EVERY_TYPE = [
    "Pointer",
    "CStr",
    "DeviceArray",
    "ListOfBytes",
    "ListOfPointer",
    "ListOfInt",
    "PointerToInt",
    "HipModuleLaunchKernel_extra",
]


class Argument:
    """An argument's address, and the objects kept alive during the call."""

    def __init__(self, object_: object, kind: str = "Pointer", writes: bool = False) -> None:
        address, held = c_void_p(), c_void_p()
        c_interface().argument(
            object_, kind.encode(), writes, b"hipMemcpy", b"dst", byref(address), byref(held)
        )
        self.address = address.value or 0
        self.held = ctypes.cast(held, py_object).value if held.value else None
        if held.value:
            ctypes.pythonapi.Py_DecRef(py_object(self.held))


class TestAccepted:
    @pytest.mark.parametrize("kind", EVERY_TYPE)
    def test_argument_accepts_adapters_of_other_types(self, kind):
        numbers = ListOfInt([1, 2])
        argument = Argument(numbers, kind)
        assert argument.address == int(numbers)
        assert Argument(None, kind).address == 0 and Argument(5, kind).address == 5

    def test_list_is_alive_while_argument_is_held(self):
        argument = Argument([1, 2, 3], "ListOfInt")
        assert (ctypes.c_int * 3).from_address(argument.address)[:] == [1, 2, 3]
        assert isinstance(argument.held, ListOfInt)

    def test_buffer_is_held_until_call_returns(self):
        buffer = bytearray(8)
        argument = Argument(buffer, writes=True)
        with pytest.raises(BufferError):
            buffer.append(1)
        argument.held = None
        gc.collect()
        buffer.append(1)

    def test_text_is_passed_as_c_string(self):
        argument = Argument("text", "CStr")
        assert ctypes.string_at(argument.address) == b"text"

    @pytest.mark.parametrize(
        "adapter",
        [
            ListOfInt([1]),
            CStr(b"text"),
            Pointer(bytearray(4)),
            Pointer(ListOfInt([1])),
            DeviceArray(bytearray(4)),
        ],
        ids=named,
    )
    def test_adapter_is_unchanged_during_the_call(self, adapter):
        argument = Argument(adapter)
        with pytest.raises(BufferError, match="1 others use the memory"):
            adapter.__init__(None)
        assert int(adapter) == argument.address
        argument.held = None
        adapter.__init__(None)

    def test_string_is_not_freed_until_call_returns(self):
        text = CStr(None)
        text.malloc(8)
        argument = Argument(text, "CStr", writes=True)
        with pytest.raises(BufferError):
            text.free()
        argument.held = None
        text.free()

    def test_python_object_with_cai_is_kept_alive(self):
        class Producer(Cai):
            pass

        producer = Producer()
        gone = weakref.ref(producer)
        argument = Argument(producer)
        del producer
        gc.collect()
        assert argument.address == 0x1000 and gone() is not None


class TestRefused:
    @pytest.mark.parametrize("kind", EVERY_TYPE)
    @pytest.mark.parametrize(
        ("bad", "error"),
        [
            (-1, OverflowError),
            (2**64, OverflowError),
            (True, TypeError),
            (1.5, TypeError),
            (object(), TypeError),
            (memoryview(b"bytes")[::2], ValueError),
        ],
        ids=["-1", "2**64", "True", "float", "object", "strided"],
    )
    def test_error_names_function_and_argument(self, kind, bad, error):
        with pytest.raises(error, match=r"^hipMemcpy\(\) argument 'dst': "):
            Argument(bad, kind)

    @pytest.mark.parametrize(
        ("source", "kind"),
        [
            (b"bytes", "Pointer"),
            (memoryview(b"bytes"), "Pointer"),
            (Pointer(b"bytes"), "Pointer"),
            ("text", "CStr"),
            (CStr("text"), "Pointer"),
            (b"text", "CStr"),
            (Cai(data=(0x1000, True)), "Pointer"),
            (Pointer(b"bytes")[1], "ListOfInt"),
        ],
        ids=named,
    )
    def test_read_only_memory_as_a_destination(self, source, kind):
        assert Argument(source, kind).address, "as a source it is taken"
        with pytest.raises(
            ValueError,
            match=r"hipMemcpy\(\) argument 'dst': the memory of .* is read-only, and the function "
            r"writes to it",
        ):
            Argument(source, kind, writes=True)

    def test_read_only_destination_is_refused(self):
        numbers = ep.asarray(b"bytes")
        with pytest.raises(ValueError, match="read-only"):
            Argument(numbers, writes=True)

    @pytest.mark.numpy
    def test_fortran_order_is_refused(self):
        import numpy as np

        with pytest.raises(ValueError, match=r"argument 'dst': .*not C-contiguous"):
            Argument(np.asfortranarray(np.ones((2, 3))))

    STRIDED = (
        lambda whole: whole[:, 1],
        lambda whole: whole[::2],
        lambda whole: whole[::-1],
        lambda whole: whole[1:, :4],
        lambda whole: DeviceArray(whole[::2]),
        lambda whole: whole.configure(strides=(4, 12)),
    )
    CONTIGUOUS = (
        lambda whole: whole,
        lambda whole: whole[2],
        lambda whole: whole[1:3],
        lambda whole: whole[1, 2:5],
        lambda whole: whole[:1, 3:],
        lambda whole: whole[2:3, ::20],
        lambda whole: whole[:0, ::2],
    )

    @pytest.fixture
    def whole(self):
        return _device_array(0x1000, 240).configure(typestr="float32", shape=(3, 20))

    @pytest.mark.parametrize("kind", EVERY_TYPE)
    @pytest.mark.parametrize("part", STRIDED)
    def test_strided_device_array_is_refused(self, whole, part, kind):
        array = part(whole)
        with pytest.raises(
            ValueError,
            match=r"^hipMemcpy\(\) argument 'dst': the memory is strided, shape .*, and a pointer "
            r"has no strides; "
            r"copy it to contiguous memory first: entrepot\.asarray\(array\)\.to\(\); "
            r"int\(array\) is the address",
        ):
            Argument(array, kind)
        assert Argument(int(array), kind).address == int(array)

    @pytest.mark.parametrize(
        "source", [ep.zeros((3, 4), "float32")[:, 1], Cai(strides=(4, 8))], ids=["Array", "CAI"]
    )
    def test_strided_foreign_memory_for_a_device_array_is_refused(self, source):
        with pytest.raises(
            ValueError, match=r"^hipMemcpy\(\) argument 'dst': the memory is strided"
        ):
            Argument(source, "DeviceArray")

    @pytest.mark.parametrize("part", STRIDED)
    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (Pointer, "Pointer: the memory is strided"),
            (CStr, "CStr: the memory is strided"),
            (ListOfInt, "ListOfInt: the memory is strided"),
            (
                lambda array: ListOfPointer([None, array]),
                "ListOfPointer: element 1: the memory is strided",
            ),
            (
                lambda array: HipModuleLaunchKernel_extra([5, array]),
                "extra: argument 1: the memory is strided",
            ),
        ],
    )
    def test_pointer_to_strided_device_array_is_refused(self, whole, part, make, words):
        with pytest.raises(ValueError, match=words):
            make(part(whole))

    @pytest.mark.parametrize("part", CONTIGUOUS)
    def test_contiguous_part_is_accepted(self, whole, part):
        array = part(whole)
        assert Argument(array).address == int(Pointer(array)) == int(array)

    def test_error_of_element_names_index(self):
        with pytest.raises(
            TypeError,
            match=r"hipMemcpy\(\) argument 'dst': element 1 is 'x'; an int that fits C's int was "
            r"expected",
        ):
            Argument([1, "x"], "ListOfInt")
        with pytest.raises(
            OverflowError,
            match=r"hipMemcpy\(\) argument 'dst': element 0 is 2147483648, which does not fit C's "
            r"int",
        ):
            Argument([2**31], "ListOfInt")
        with pytest.raises(
            TypeError,
            match=r"hipMemcpy\(\) argument 'dst': argument 1: a float stands for no address",
        ):
            Argument([None, 1.5], "HipModuleLaunchKernel_extra")

    def test_freed_device_array_is_refused(self):
        allocation = _device_array(0x1000, 8)
        _mark_freed(allocation)
        with pytest.raises(
            ValueError,
            match=r"hipMemcpy\(\) argument 'dst': this DeviceArray, at 0x1000, has been freed",
        ):
            Argument(allocation)

    @pytest.mark.parametrize(
        ("block", "words"),
        [
            (lambda a: ListOfPointer([None, a]), "element 1: this Pointer, at 0x1000,"),
            (lambda a: ListOfPointer([5, a[4:]]), "element 1: this Pointer, at 0x1004,"),
            (
                lambda a: HipModuleLaunchKernel_extra([ctypes.c_int(1), 5, a]),
                "argument 2: this Pointer, at 0x1000,",
            ),
            (
                lambda a: HipModuleLaunchKernel_extra((Pointer(5), Pointer(a))),
                "argument 1: this Pointer, at 0x1000,",
            ),
            (
                lambda a: HipModuleLaunchKernel_extra([ListOfPointer([a])]),
                "argument 0: element 0: this Pointer, at 0x1000,",
            ),
            (lambda a: Pointer(ListOfPointer([a])), "element 0: this Pointer, at 0x1000,"),
            (lambda a: ListOfBytes([CStr(a)]), "element 0: this Pointer, at 0x1000,"),
        ],
    )
    def test_list_of_a_freed_device_array_is_refused(self, block, words):
        allocation, other = _device_array(0x1000, 8), _device_array(0x2000, 8)
        listed, whole = block(allocation), block(other)
        assert Argument(listed, "ListOfPointer").address == int(listed)
        _mark_freed(allocation)
        refusal = rf"hipMemcpy\(\) argument 'dst': {words} is of a DeviceArray that has been freed"
        for kind in ("ListOfPointer", "HipModuleLaunchKernel_extra", "Pointer"):
            with pytest.raises(ValueError, match=refusal):
                Argument(listed, kind)
        assert Argument(listed, writes=True).address == int(listed), (
            "what C overwrites may be anything"
        )
        assert Argument(whole).address == int(whole)

    def test_list_keeps_the_address_of_an_adapter_freed_later(self):
        pointer, allocation = Pointer(5), _device_array(0x1000, 8)
        blocks = [ListOfPointer([pointer]), HipModuleLaunchKernel_extra([pointer])]
        pointer.__init__(allocation)  # type: ignore[misc]
        _mark_freed(allocation)
        for block in blocks:
            assert Argument(block).address == int(block), "which has the former address"

    def test_lists_nested_deeper_than_the_stack(self):
        allocation, depth = _device_array(0x1000, 8), 100_000
        nested = ListOfPointer([5, allocation])
        for _ in range(depth):
            nested = ListOfPointer([nested])
        assert Argument(nested).address == int(nested)
        _mark_freed(allocation)
        with pytest.raises(
            ValueError, match="this Pointer, at 0x1000, is of a DeviceArray that has been freed"
        ) as refusal:
            Argument(nested)
        assert str(refusal.value).count("element 0: ") == depth
        assert "element 0: element 1: this" in str(refusal.value)

    def test_string_without_nul_is_refused(self):
        letters = array.array("B", b"four")
        with pytest.raises(ValueError, match="has no NUL, and C would read past its end"):
            Argument(letters, "CStr")
        with pytest.raises(ValueError, match="has no NUL"):
            Argument(CStr(letters), "CStr")
        assert Argument(letters, "CStr", writes=True).address, "a C function may write one"
        assert Argument(bytearray(b"four"), "CStr").address, "behind a bytearray there is one"

    def test_unknown_adapter_type_is_refused(self):
        with pytest.raises(ValueError, match="there is no adapter type ListOfFloat"):
            Argument(None, "ListOfFloat")

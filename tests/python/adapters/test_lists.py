"""ListOf… and PointerTo…: C arrays from lists, range checks, owned objects, reading elements."""

from __future__ import annotations

import array
import ctypes
import gc
import struct
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

import entrepot as ep
from adapters.objects import Cai, bytes_at, named
from entrepot import adapters
from entrepot.adapters import (
    CStr,
    ListOfBytes,
    ListOfInt,
    ListOfPointer,
    ListOfUInt64,
    Pointer,
    PointerToInt,
)

pytestmark = pytest.mark.host

# Name → C's type as a code of the struct module.
NUMBERS = {
    "Int": "i",
    "Unsigned": "I",
    "Long": "l",
    "UnsignedLong": "L",
    "Int64": "q",
    "UInt64": "Q",
}


def limits(code: str) -> tuple[int, int]:
    bits = 8 * struct.calcsize(code)
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if code.islower() else (0, 2**bits - 1)


every_number = pytest.mark.parametrize(("name", "code"), NUMBERS.items())


class TestNumbers:
    @every_number
    @given(data=st.data())
    def test_numbers_are_packed_like_struct(self, name, code, data):
        numbers = data.draw(st.lists(st.integers(*limits(code)), max_size=20))
        kind = getattr(adapters, f"ListOf{name}")
        for source in (numbers, tuple(numbers)):
            made = kind(source)
            assert bytes_at(made, len(numbers) * struct.calcsize(code)) == struct.pack(
                f"{len(numbers)}{code}", *numbers
            )
            assert (
                made.to_list() == list(made) == numbers
                and made.to_tuple() == tuple(numbers)
                and len(made) == len(numbers)
            )
            assert made.is_owner

    @every_number
    def test_out_of_range_element_error_names_its_index(self, name, code):
        kind = getattr(adapters, f"ListOf{name}")
        lowest, highest = limits(code)
        for outside in (lowest - 1, highest + 1, 2**64, -(2**64), 2**100):
            with pytest.raises(
                OverflowError,
                match=f"ListOf{name}: element 2 is {outside}, which does not fit C's ",
            ):
                kind([0, highest, outside])

    @every_number
    @pytest.mark.parametrize(
        "bad",
        [1.5, "1", None, [1], b"1", object(), ctypes.c_float(1), ctypes.c_char(b"a")],
        ids=named,
    )
    def test_non_int_element_error_names_its_index(self, name, code, bad):
        with pytest.raises(
            TypeError, match=f"ListOf{name}: element 1 is .*; an int that fits C's .* was expected"
        ):
            getattr(adapters, f"ListOf{name}")([0, bad])

    def test_index_protocol_elements_are_accepted(self):
        class Number:
            def __index__(self):
                return 5

        assert ListOfInt([Number(), ctypes.c_int(-4), ctypes.c_ubyte(3), True]).to_list() == [
            5,
            -4,
            3,
            1,
        ]

    def test_ctypes_number_out_of_range_is_refused(self):
        with pytest.raises(OverflowError, match="element 0"):
            ListOfInt([ctypes.c_long(2**40)])

    def test_list_that_shrinks_while_read_is_copied(self):
        numbers: list[object] = []

        class Shrinking:
            def __index__(self):
                numbers.clear()
                return 1

        numbers += [Shrinking(), 2, 3]
        assert ListOfInt(numbers).to_list() == [1, 2, 3], "as it was"

    def test_error_of_element_propagates(self):
        class Broken:
            def __index__(self):
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            ListOfInt([Broken()])

    def test_buffer_is_not_copied(self):
        numbers = array.array("i", [1, 2, 3])
        made = ListOfInt(numbers)
        numbers[0] = 9
        assert (
            made.to_list() == [9, 2, 3]
            and not made.is_owner
            and int(made) == numbers.buffer_info()[0]
        )
        with pytest.raises(BufferError):
            numbers.append(4)

    @pytest.mark.parametrize("code", "qdfhH")
    def test_elements_of_another_type_are_not_read_as_ints(self, code):
        numbers = array.array(code, [1, 2])
        with pytest.raises(
            ValueError,
            match=rf"ListOfInt: the elements of a array.array have {numbers.itemsize} bytes",
        ):
            ListOfInt(numbers)
        assert int(ListOfInt(Pointer(numbers))) == numbers.buffer_info()[0]

    @pytest.mark.parametrize(
        ("kind", "typestr", "is_taken"),
        [
            (ListOfInt, "<i4", True),
            (ListOfInt, "<u4", True),
            (ListOfInt, "|u1", True),
            (ListOfInt, "<i8", False),
            (ListOfInt, "<f4", False),
            (ListOfUInt64, "<u8", True),
            (ListOfUInt64, "<f8", False),
            (ListOfPointer, "<u8", True),
            (ListOfPointer, "<i4", False),
        ],
    )
    def test_elements_of_an_interface_as_those_of_a_buffer(self, kind, typestr, is_taken):
        source = Cai(typestr=typestr)
        if is_taken:
            assert int(kind(source)) == 0x1000
        else:
            with pytest.raises(
                ValueError,
                match=rf"{kind.__name__}: the elements of a Cai have . bytes and the typestr "
                rf"'{typestr}'",
            ):
                kind(source)
        assert int(kind(Pointer(source))) == int(kind(Cai(shape=(0,), typestr=typestr))) == 0x1000

    def test_elements_of_arrays_as_those_of_a_buffer(self):
        assert ListOfInt(ep.zeros(2, "int32")).to_list() == [0, 0]
        for dtype in ("int64", "float32", "bfloat16"):
            with pytest.raises(
                ValueError, match=f"and the dtype {dtype}, those of a ListOfInt are int of 4 bytes"
            ):
                ListOfInt(ep.zeros(2, dtype))

    def test_buffer_of_small_elements_is_refused(self):
        with pytest.raises(
            ValueError, match=r"the elements of a array.array have 4 bytes .*pointers of 8 bytes"
        ):
            ListOfPointer(array.array("i", [1, 2]))

    def test_buffers_of_int_sized_elements_are_accepted(self):
        for numbers in (
            array.array("I", [1, 2]),
            bytearray(b"\1\0\0\0\2\0\0\0"),
            (ctypes.c_int32 * 2)(1, 2),
        ):
            assert ListOfInt(numbers).to_list() == [1, 2]
        assert ListOfInt(array.array("d")).to_list() == []

    @pytest.mark.numpy
    def test_numpy_array_of_other_item_size_is_refused(self):
        import numpy as np

        with pytest.raises(
            ValueError,
            match="have 8 bytes and the format 'l', those of a ListOfInt are int of 4 bytes; "
            "convert",
        ):
            ListOfInt(np.array([1, 2]))
        assert ListOfInt(np.array([1, 2], "int32")).to_list() == [1, 2]

    def test_list_of_an_address_has_unknown_length(self):
        made = ListOfInt(5)
        assert not made.is_owner
        for read in (len, list, ListOfInt.to_list, ListOfInt.to_tuple, lambda numbers: numbers[0]):
            with pytest.raises(TypeError, match="the length of this ListOfInt is not known"):
                read(made)

    def test_list_of_a_list_adapter_keeps_its_length(self):
        assert ListOfInt(ListOfInt([1, 2])).to_list() == [1, 2]
        assert len(ListOfUInt64(ListOfInt([1, 2]))) == 1

    def test_index_gives_element(self):
        made = ListOfInt([1, 2, 3])
        assert (made[0], made[-1], made[1:], made[::-2]) == (1, 3, [2, 3], [3, 1])
        for index in (3, -4):
            with pytest.raises(IndexError, match="outside of the 3 elements"):
                made[index]
        with pytest.raises(TypeError):
            made["0"]

    def test_empty_list_is_an_owner(self):
        assert ListOfInt([]).to_list() == [] and ListOfInt([]).is_owner

    def test_allocated_list_is_zeroed_and_writable(self):
        made = ListOfUInt64.allocate(3)
        assert made.to_list() == [0, 0, 0] and made.is_owner
        ctypes.memset(int(made), 0xFF, 24)
        assert made.to_list() == [2**64 - 1] * 3
        assert ListOfInt.allocate(count=2).to_list() == [0, 0]

    @pytest.mark.parametrize(
        ("count", "error"),
        [
            (-1, ValueError),
            (1.5, TypeError),
            (2**63, OverflowError),
            (2**61, MemoryError),
            (2**60, MemoryError),
        ],
    )
    def test_invalid_count_is_refused(self, count, error):
        with pytest.raises(error):
            ListOfInt.allocate(count)

    def test_subclass_allocates_its_own_type(self):
        class Mine(ListOfInt):
            pass

        assert type(Mine.allocate(1)) is Mine

    def test_subclass_of_tuple_is_accepted(self):
        class Pair(tuple):
            pass

        assert ListOfInt(Pair((1, 2))).to_list() == [1, 2]


class TestSingles:
    @every_number
    def test_value_reads_and_writes(self, name, code):
        lowest, highest = limits(code)
        made = getattr(adapters, f"PointerTo{name}").allocate()
        assert made.value == 0
        for number in (highest, lowest):
            made.value = number
            assert made.value == made[0] == number and made.to_list() == [number]
        with pytest.raises(OverflowError):
            made.value = highest + 1
        assert made.value == lowest
        assert issubclass(type(made), getattr(adapters, f"ListOf{name}"))

    def test_single_accepts_list_of_one_element(self):
        assert PointerToInt([5]).value == 5
        for numbers in ([], [1, 2], ()):
            with pytest.raises(
                ValueError,
                match=f"one element was expected, not {len(numbers)}; ListOfInt takes any number",
            ):
                PointerToInt(numbers)

    def test_borrowed_memory_is_read_and_written(self):
        cell = ctypes.c_int(7)
        made = PointerToInt(cell)
        made.value = 8
        assert cell.value == 8 and made.value == 8

    def test_int_is_an_address(self):
        assert int(PointerToInt(5)) == 5

    def test_null_has_no_value(self):
        with pytest.raises(ValueError, match="this PointerToInt is NULL"):
            PointerToInt(None).value  # noqa: B018
        with pytest.raises(ValueError, match="NULL"):
            PointerToInt(None).value = 1

    @pytest.mark.parametrize(
        "source",
        [bytearray(1), CStr(b"abc"), Pointer(bytearray(1)), Pointer(bytearray(8))[7]],
        ids=named,
    )
    def test_memory_that_is_too_small(self, source):
        with pytest.raises(
            ValueError, match=r"has [13] bytes, and 1 of 4 bytes was expected there"
        ):
            PointerToInt(source)

    def test_memory_past_the_end_is_refused(self):
        with pytest.raises(ValueError, match="has 0 bytes"):
            PointerToInt(Pointer(bytearray(8))[100])
        assert PointerToInt(Pointer(bytearray(8))[4]).value == 0

    def test_empty_allocation_has_no_value(self):
        none = PointerToInt.allocate(0)
        with pytest.raises(ValueError, match="this PointerToInt has 0 elements"):
            none.value  # noqa: B018
        with pytest.raises(ValueError, match="0 elements"):
            none.value = 1

    def test_read_only_memory_is_not_written(self):
        with pytest.raises(ValueError, match="read-only"):
            PointerToInt(bytes(4)).value = 1

    def test_memory_released_during_index_is_not_written(self):
        made = PointerToInt([1])

        class Number:
            def __index__(self):
                made.__init__(None)  # type: ignore[misc]
                return 5

        with pytest.raises(ValueError, match="this PointerToInt is NULL"):
            made.value = Number()  # type: ignore[assignment]

    def test_deleting_value_is_refused(self):
        with pytest.raises(TypeError, match="cannot be deleted"):
            del PointerToInt([1]).value

    def test_single_allocates_many_elements(self):
        assert PointerToInt.allocate(3).to_list() == [0, 0, 0]


class TestStrings:
    def test_strings_are_kept_alive_by_the_list(self):
        class Text(bytes):
            pass

        text = Text(b"--std=c++17" + b"x" * 50)
        strings = ListOfBytes([text, "ä", CStr("c")])
        del text
        gc.collect()
        assert (
            strings.to_list() == [b"--std=c++17" + b"x" * 50, "ä".encode(), b"c"]
            and strings.is_owner
        )
        cells = (ctypes.c_char_p * 3).from_address(int(strings))
        first, _, last = cells
        assert first and [first[:5], last] == [b"--std", b"c"]

    def test_list_releases_its_source(self):
        class Text(str):
            pass

        text = Text("bytes")
        gone = weakref.ref(text)
        strings = ListOfBytes([text])
        del text
        assert gone() is not None
        del strings
        gc.collect()
        assert gone() is None

    def test_string_in_list_is_not_freed(self):
        text = CStr(None)
        text.malloc(8)
        ctypes.memmove(int(text), b"bytes", 5)
        strings = ListOfBytes([text])
        for free in (text.free, lambda: text.__init__("other")):  # type: ignore[misc]
            with pytest.raises(BufferError):
                free()
        assert strings.to_list() == [b"bytes"]
        del strings
        text.free()

    def test_string_without_nul_is_refused(self):
        with pytest.raises(
            ValueError, match="ListOfBytes: element 1 has no NUL, and C would read past its end"
        ):
            ListOfBytes([b"", CStr(array.array("B", b"four"))])

    @pytest.mark.parametrize(
        "bad", [None, 5, 1.5, bytearray(b"x"), memoryview(b"x"), ["x"]], ids=named
    )
    def test_non_string_element_error_names_its_index(self, bad):
        with pytest.raises(
            TypeError, match=r"ListOfBytes: element 1 is .*; bytes, a str or a CStr was expected"
        ):
            ListOfBytes([b"", bad])

    def test_nul_inside_text_names_index(self):
        with pytest.raises(ValueError, match="element 1 has a NUL inside"):
            ListOfBytes(["a", "b\0c"])

    def test_allocated_slots_are_null(self):
        assert ListOfBytes.allocate(2).to_list() == [None, None]

    def test_address_is_not_owned(self):
        assert not ListOfBytes(5).is_owner and ListOfBytes(None).is_ptr_null


class TestPointers:
    def test_elements_are_converted_like_pointer(self):
        cell = ctypes.c_int(3)
        numbers = ListOfInt([1])
        pointers = ListOfPointer([None, 5, cell, numbers, ctypes.c_void_p(6)])
        addresses = [0, 5, ctypes.addressof(cell), int(numbers), 6]
        assert [int(pointer) for pointer in pointers] == addresses
        assert list((ctypes.c_size_t * 5).from_address(int(pointers))) == addresses
        assert all(type(pointer) is Pointer for pointer in pointers.to_list()) and pointers.is_owner

    def test_elements_are_pinned(self):
        buffer = bytearray(b"bytes")
        numbers = ListOfInt([1, 2])
        gone = weakref.ref(numbers)
        pointers = ListOfPointer([buffer, numbers])
        del numbers
        assert gone() is not None and bytes_at(pointers[0], 5) == b"bytes"
        with pytest.raises(BufferError):
            buffer += b"resized"
        element = pointers[0]
        del pointers
        assert bytes_at(element, 5) == b"bytes", "an element keeps the list"
        del element
        buffer += b"resized"
        assert gone() is None

    @pytest.mark.parametrize(
        ("bad", "error"),
        [
            (1.5, TypeError),
            ("x", TypeError),
            ([1], TypeError),
            (True, TypeError),
            (-1, OverflowError),
            (memoryview(b"bytes")[::2], ValueError),
        ],
        ids=named,
    )
    def test_error_of_element_names_index(self, bad, error):
        with pytest.raises(error, match="ListOfPointer: element 1: "):
            ListOfPointer([None, bad])

    def test_bad_element_releases_the_good_ones(self):
        buffer = bytearray(b"bytes")
        with pytest.raises(TypeError):
            ListOfPointer([buffer, 1.5])
        buffer += b"resized"

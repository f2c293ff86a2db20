"""Records: fields, views, arrays, bit-fields, anonymous members, constructors, and what they keep
alive.
"""

from __future__ import annotations

import ctypes
import gc
import re
import weakref

import pytest

from adapters.objects import Cai
from entrepot.ffi import Pointer, Record
from ffi import sample


class TestConstructors:
    def test_constructor_accepts_positions_and_names(self):
        assert list(sample.point(1, 2)) == [1, 2]
        assert list(sample.point(y=2, x=1)) == [1, 2]
        assert list(sample.point(1, y=2)) == [1, 2]

    def test_omitted_fields_are_zero_or_default(self):
        assert list(sample.point()) == [0, 5]
        assert sample.record().tag == 0

    def test_union_constructor_accepts_one_field(self):
        assert sample.record_union_0(real=1.0).whole == 0x3F800000
        with pytest.raises(TypeError, match="one field at most"):
            sample.record_union_0(whole=1, real=2.0)

    @pytest.mark.parametrize(
        ("make", "error", "words"),
        [
            (lambda: sample.point(1, 2, 3), TypeError, "has 2 fields, but 3 values"),
            (lambda: sample.point(1, x=2), TypeError, "'x' by position and by name"),
            (lambda: sample.point(z=2), TypeError, r"point\(\) has no field 'z'; it has x, y$"),
            (
                lambda: sample.record(nmae="a"),
                TypeError,
                r"record\(\) has no field 'nmae'; did you mean `name`\?$",
            ),
            (lambda: sample.point("1"), TypeError, "point.x: an int was expected, not a str"),
            (lambda: sample.point(2**31), OverflowError, "point.x: 2147483648 does not fit int32"),
            (
                lambda: sample.record(low=8),
                OverflowError,
                "record.low: the number does not fit 3 bits",
            ),
            (lambda: sample.record(signed_bits=8), OverflowError, "4 bits"),
            (lambda: sample.record(low=-1), OverflowError, "record.low"),
            (lambda: sample.record(name="much too long"), ValueError, "13 bytes do not fit the 8"),
            (lambda: sample.record(name=1), TypeError, "bytes or str"),
            (lambda: sample.large([1, 2]), ValueError, "large.values: has 4 elements, not 2"),
            (lambda: sample.large(3), TypeError, "a list of 4 was expected"),
            (lambda: Record(), TypeError, "no struct or union of C itself"),
            (lambda: sample.point.allocate(0), ValueError, "at least one"),
            (lambda: sample.point.allocate(2**62), OverflowError, "more than there are bytes"),
        ],
    )
    def test_refusals_name_the_field(self, make, error, words):
        with pytest.raises(error, match=words):
            make()

    def test_subclasses_of_users(self):
        class Named(sample.point):
            def __init__(self, name):
                super().__init__(1, 2)
                self.name = name

        named = Named("a")
        assert (list(named), named.name, named.c_sizeof()) == ([1, 2], "a", 8)


class TestNames:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("nmae", "'nmae'; did you mean `name`?"),
            ("quite_another", "'quite_another'; it has tag, "),
        ],
    )
    def test_assignment_to_an_unknown_field_is_refused(self, name, words):
        record = sample.record()
        for use in (lambda: setattr(record, name, 1), lambda: delattr(record, name)):
            with pytest.raises(AttributeError, match=re.escape(f"record has no field {words}")):
                use()

    def test_unknown_field_raises_pythons_attribute_error(self):
        with pytest.raises(AttributeError) as caught:
            sample.record().nmae  # noqa: B018
        assert caught.value.name == "nmae" and isinstance(caught.value.obj, sample.record)
        assert "name" in dir(caught.value.obj)

    def test_attribute_that_is_no_field_is_read_only(self):
        with pytest.raises(AttributeError, match="attribute 'c_sizeof' is read-only"):
            sample.record().c_sizeof = 1

    def test_error_of_value_propagates(self):
        class Broken:
            def __index__(self):
                raise AttributeError("of the value's own")

        with pytest.raises(AttributeError, match="of the value's own"):
            sample.point().x = Broken()


class TestFields:
    def test_text_ends_at_its_nul_and_is_padded_with_zeros(self):
        record = sample.record(name=b"abcdefgh")
        assert record.name == b"abcdefgh"
        record.name = "ab"
        assert record.name == b"ab"
        assert bytes((ctypes.c_char * 8).from_address(int(record) + 10)) == b"ab\0\0\0\0\0\0"

    def test_bit_fields_keep_their_neighbors(self):
        record = sample.record(low=5, high=17, signed_bits=-3)
        record.high = 31
        assert (record.low, record.high, record.signed_bits) == (5, 31, -3)

    def test_anonymous_members_by_both_names(self):
        record = sample.record(real=1.0)
        assert record.union_0.whole == record.whole == 0x3F800000
        assert sample.record.PROPERTIES() == [
            *("tag", "union_0", "low", "high", "signed_bits", "name", "corners", "text", "numbers")
        ]

    def test_nested_records_are_views(self):
        record = sample.record()
        record.corners[1].x = 7
        assert record.corners[1].x == 7
        record.corners = [(1, 2), sample.point(3, 4)]
        assert [list(corner) for corner in record.corners] == [[1, 2], [3, 4]]

    def test_assignment_to_element_of_copy_is_refused(self):
        large = sample.large([1, 2, 3, 4])
        with pytest.raises(TypeError, match="assignment"):
            large.values[0] = 9
        large.values = [9, *large.values[1:]]
        assert large.values == (9, 2, 3, 4)

    def test_failed_assignment_changes_nothing(self):
        record = sample.record()
        record.corners = [(1, 2), (3, 4)]
        with pytest.raises(OverflowError):
            record.corners = [(9, 9), (2**40, 0)]
        assert [list(corner) for corner in record.corners] == [[1, 2], [3, 4]]

    @pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError, ZeroDivisionError])
    def test_exception_of_a_sequence_propagates(self, raised):
        class Sequence:
            def __len__(self):
                return 2

            def __getitem__(self, index):
                raise raised

        with pytest.raises(raised):
            sample.record().corners = Sequence()

    def test_null_is_checked(self):
        null = sample.record.fromObj(None)
        assert not null
        with pytest.raises(ValueError, match=r"record\.tag: the record is NULL"):
            _ = null.tag
        with pytest.raises(ValueError, match="NULL"):
            null.tag = 1
        assert repr(null) == "<record at 0x0>"

    def test_field_of_a_foreign_object_is_refused(self):
        with pytest.raises((TypeError, AttributeError)):
            sample.point.x.__get__(3)
        with pytest.raises(TypeError, match="cannot be deleted"):
            del sample.point().x

    def test_fields_are_accessible_by_index_and_name(self):
        point = sample.point(1, 2)
        assert (point[0], point[-1], len(point)) == (1, 2, 2)
        assert "x" in point
        assert "z" not in point
        assert 1 not in point
        with pytest.raises(IndexError):
            point[2]
        x, y = point
        assert (x, y) == (1, 2)


def numbers_at(address, **changes):
    return Cai(**{"data": (address, False), "shape": (2,), "typestr": "<i4"} | changes)


class TestAdapters:
    """Records made of an adapter in place of values for their fields."""

    @pytest.mark.parametrize(
        "make",
        [
            lambda memory: ctypes.addressof(memory),
            lambda memory: ctypes.c_void_p(ctypes.addressof(memory)),
            lambda memory: numbers_at(ctypes.addressof(memory)),
            lambda memory: memory,
            lambda memory: Pointer(memory),
        ],
        ids=["int", "c_void_p", "CAI", "buffer", "Pointer"],
    )
    def test_record_from_memory_shares_it(self, make):
        memory = (ctypes.c_int32 * 2)(3, 4)
        source = make(memory)
        point = sample.point.fromObj(source)
        assert int(point) == ctypes.addressof(memory)
        assert list(point) == [3, 4]
        point.y = 7
        assert list(memory) == [3, 7]

    def test_cai_is_accepted_as_records(self):
        memory = (ctypes.c_int32 * 4)(1, 2, 3, 4)
        seen = []
        sample.visit(
            lambda context, at, count: seen.append(list(at)),
            None,
            numbers_at(ctypes.addressof(memory), shape=(4,)),
            2,
        )
        assert seen == [[1, 2], [3, 4]]

    def test_strided_cai_is_refused(self):
        with pytest.raises(ValueError, match="strided"):
            sample.point.fromObj(numbers_at(0x1000, strides=(8,)))


class TestLifetimes:
    def test_view_keeps_parent_alive(self):
        record = sample.record()
        gone = weakref.ref(record)
        corner = record.corners[1]
        corner.x = 3
        del record
        gc.collect()
        assert gone() is not None
        assert corner.x == 3
        del corner
        gc.collect()
        assert gone() is None

    def test_pointer_field_keeps_its_target_alive(self):
        class Held(bytearray):
            __slots__ = ("__weakref__",)

        record, memory = sample.record(), Held(b"text\0")
        gone = weakref.ref(memory)
        record.numbers = memory
        del memory
        gc.collect()
        assert gone() is not None
        assert ctypes.string_at(int(record.numbers)) == b"text"
        record.numbers = None
        gc.collect()
        assert gone() is None
        assert record.numbers is None

    def test_view_shares_kept_objects_with_its_record(self):
        outer = sample.record()
        outer.text = b"kept"
        text = outer.text
        assert str(text) == "kept"

    def test_cycle_is_collected(self):
        record = sample.record()
        gone = weakref.ref(record)
        record.numbers = Pointer(record)
        del record
        gc.collect()
        assert gone() is None

    def test_record_at_borrowed_memory_holds_the_buffer(self):
        memory = bytearray(8)
        point = sample.point.fromObj(memory)
        point.x = 258
        assert memory[:2] == b"\2\1"
        assert sample.point.fromObj(point) is point
        with pytest.raises(BufferError):
            memory.extend(b"more")

    def test_second_init_reuses_the_memory(self):
        record = sample.record(tag=1)
        corner, address = record.corners[0], int(record)
        corner.x = 4
        record.__init__(tag=2)
        assert (int(record), record.tag, corner.x) == (address, 2, 0)

    def test_read_only_or_short_memory_is_refused(self):
        point = sample.point.fromObj(bytes(range(8)))
        assert point.x == 0x03020100
        with pytest.raises(ValueError, match="read-only"):
            point.x = 1
        with pytest.raises(ValueError, match="read-only"):
            point.__init__()
        nested = sample.record.fromObj(bytes(56))
        with pytest.raises(ValueError, match="read-only"):
            nested.corners[0].x = 1
        with pytest.raises(ValueError, match=r"7 bytes are fewer than the 8"):
            sample.point.fromObj(bytearray(7))

    def test_elements_of_record_array_keep_it_alive(self):
        points = sample.point.allocate(3)
        points.element(2).y = 9
        assert [list(points.element(i)) for i in range(3)] == [[0, 5], [0, 5], [0, 9]]
        last = points.element(2)
        del points
        gc.collect()
        assert last.y == 9
        with pytest.raises(IndexError):
            last.element(1)


def test_record_is_an_adapter():
    point = sample.point(3, 4)
    assert isinstance(point, Pointer)
    assert sample.total(point, 2) == 7
    assert point.as_c_void_p().value == int(point)
    assert hex(int(point)) in repr(point)
    assert "x=3 y=4" in repr(point)

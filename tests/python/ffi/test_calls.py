"""Calls: every kind of value, names, out-parameters, statuses; errors name the function and the
argument."""

from __future__ import annotations

import array
import copy
import ctypes
import gc
import inspect
import pickle
import threading
import time
import weakref

import pytest

from entrepot.ffi import CStr, Freed, In, Library, ListOfInt, Pointer, c_int, c_size_t
from ffi import sample


def test_annotation_of_a_class_may_be_evaluated():
    """It is not text, as in modules without ``from __future__ import annotations``."""

    def strlen(text): ...

    strlen.__annotations__ = {"text": In[CStr], "return": c_size_t}
    assert Library("libc", sonames=["libc.so.6"]).function(strlen)(b"four") == 4


class TestValues:
    def test_numbers_keep_widths_and_signs(self):
        assert sample.add_int8(-100, -28) == -128
        assert sample.same_uint64(2**64 - 1) == 2**64 - 1
        assert sample.halved(3) == 1.5
        assert sample.negated(True) is False
        assert sample.many(1, 2, 3, 4, 5, 6, 7, 8, 9.5, 10.5) == 55

    def test_records_are_passed_by_value(self):
        assert sample.sum_of_points(sample.point(1, 2), (3, 4)) == 10
        assert list(sample.swapped(sample.point(1, 2))) == [2, 1]
        assert sample.scaled(sample.large([1, 2, 3, 4]), 0.5).values == (0.5, 1, 1.5, 2)

    def test_memory_is_passed_by_address(self):
        assert sample.total([1, 2, 3], 3) == 6
        assert sample.total(array.array("i", [4, 5]), 2) == 9
        assert sample.total((ctypes.c_int * 2)(7, 8), 2) == 15
        buffer = bytearray(4)
        sample.fill(buffer, 7, 3)
        assert buffer == b"\7\7\7\0"

    def test_text_is_passed_and_returned(self):
        assert sample.length(b"four") == 4
        assert sample.length("vier") == 4
        assert sample.length(None) == -1
        assert str(sample.greeting(True)) == "hello"
        assert sample.greeting(False) is None

    def test_function_has_names_of_parameters(self):
        assert sample.total(count=2, values=[1, 2]) == 3
        assert sample.total([1, 2], count=2) == 3
        assert str(inspect.signature(sample.total)) == "(values, count)"
        assert sample.total.__name__ == "total"
        assert "sum of two" in sample.add_int8.__doc__


class TestOutParameters:
    def test_status_first_then_what_c_wrote(self):
        assert sample.divide(17, 5) == (sample.status.SAMPLE_OK, 3, 2)
        assert sample.divide(1, 0) == (sample.status.SAMPLE_BAD, 0, 0)
        status, point = sample.make_point(7)
        assert (status, list(point)) == (0, [7, 8])

    def test_caller_provided_output_is_not_returned(self):
        quotient, point = ctypes.c_int(), sample.point()
        assert sample.divide(17, 5, quotient=quotient) == (0, 2)
        assert quotient.value == 3
        assert sample.make_point(point, 7) == (0,)
        assert list(point) == [7, 8]

    def test_allocated_memory_has_its_size_until_freed(self):
        status, memory = sample.allocate(40)
        assert (status, memory.size) == (0, 40)
        assert sample.release(memory) == (0,)
        with pytest.raises(ValueError, match="freed"):
            sample.fill(memory, 0, 1)

    @pytest.mark.parametrize(
        "array",
        [
            lambda memory: memory,
            lambda memory: memory.configure(typestr="f4", shape=(2, 5), strides=(4, 8)),
            Pointer,
        ],
        ids=["bytes", "column-major", "by another adapter"],
    )
    @pytest.mark.parametrize(
        "release", [sample.release, sample.let_go], ids=["status", "nothing to look at"]
    )
    def test_strided_memory_is_freed(self, release, array):
        _, memory = sample.allocate(40)
        assert release(array(memory)) == ((0,) if release is sample.release else None)
        assert memory.is_freed

    def test_memory_is_not_freed_if_the_call_fails(self):
        _, memory = sample.allocate(40)
        assert sample.release_not(memory) == (3,)
        assert not memory.is_freed
        assert sample.release(memory) == (0,)

    def test_freeing_call_may_return_values(self):
        _, memory = sample.allocate(40)
        (count,) = sample.free_and_count(memory)
        assert count > 0 and memory.is_freed
        with pytest.raises(ValueError, match="has been freed"):
            sample.let_go(memory)

    @pytest.mark.parametrize(
        "status", [None, ("status", "SAMPLE_OK")], ids=["no statuses", "another result"]
    )
    def test_memory_is_not_freed_by_a_number_without_a_meaning(self, status):
        library = Library("sample", sonames=[sample.PATH], status=status)
        library.declared(vars(sample))

        @library.function
        def release(memory: Freed[Pointer]) -> c_int: ...

        _, memory = sample.allocate(40)
        with pytest.raises(
            TypeError,
            match=r"release\(\): it is unknown which returned value .* status=\(\"result\", "
            r"\"OK\"\)",
        ):
            release(memory)
        assert not memory.is_freed
        assert sample.release(memory) == (0,)

    def test_text_output_has_the_given_length(self):
        status, name = sample.name_of(16)
        assert (status, str(name)) == (0, "sample")

    def test_unknown_status_is_a_member_of_the_enum(self):
        """Programs test `isinstance(status, enum) and status != success`, for which a number
        would mean success."""
        (status,) = sample.unknown_status()
        assert isinstance(status, sample.status)
        assert status == 77 and hash(status) == hash(77) and {77: "seen"}[status] == "seen"
        assert status != sample.status.SAMPLE_OK
        assert (status.name, status.value) == ("UNKNOWN_77", 77)
        assert repr(status) == "<status.UNKNOWN_77: 77>"
        assert "UNKNOWN_77" not in sample.status.__members__
        for copied in (
            copy.copy(status),
            copy.deepcopy(status),
            pickle.loads(pickle.dumps(status)),
        ):
            assert (copied, type(copied), copied.name) == (status, sample.status, "UNKNOWN_77")
        assert pickle.loads(pickle.dumps(sample.status.SAMPLE_OK)) is sample.status.SAMPLE_OK
        with pytest.raises(ValueError, match="77"):
            sample.status(77)


class TestRefusals:
    @pytest.mark.parametrize(
        ("call", "error", "words"),
        [
            (
                lambda: sample.add_int8(128, 0),
                OverflowError,
                r"add_int8\(\) argument 'a': 128 does not fit int8",
            ),
            (lambda: sample.add_int8(0, -129), OverflowError, r"argument 'b'"),
            (lambda: sample.same_uint64(-1), OverflowError, r"-1 does not fit uint64"),
            (lambda: sample.same_uint64(2**64), OverflowError, r"does not fit"),
            (
                lambda: sample.same_uint64(1.0),
                TypeError,
                r"argument 'a': an int was expected, not a float",
            ),
            (lambda: sample.same_uint64("1"), TypeError, r"not a str"),
            (lambda: sample.halved("1"), TypeError, r"a number was expected"),
            (lambda: sample.negated(1.5), TypeError, r"a bool was expected"),
            (lambda: sample.total([1, 2], -1), OverflowError, r"argument 'count'"),
            (lambda: sample.total([1, "2"], 2), TypeError, r"total\(\) argument 'values'.*1"),
            (lambda: sample.total(3.5, 2), TypeError, r"argument 'values'"),
            (lambda: sample.total(True, 2), TypeError, r"argument 'values'"),
            (lambda: sample.total(-1, 2), OverflowError, r"argument 'values'"),
            (
                lambda: sample.fill(b"read-only", 0, 1),
                ValueError,
                r"fill\(\) argument 'to'.*read-only",
            ),
            (
                lambda: sample.sum_of_points(sample.large(), (1, 2)),
                TypeError,
                r"a point was expected",
            ),
            (
                lambda: sample.sum_of_points(sample.point.fromObj(None), (1, 2)),
                ValueError,
                r"is NULL",
            ),
            (
                lambda: sample.total([1]),
                TypeError,
                r"total\(\) takes 2 arguments \(values, count\) but 1|missing its argument 'count'",
            ),
            (lambda: sample.total([1], 1, 1), TypeError, r"takes 2 arguments"),
            (lambda: sample.total([1], 1, count=1), TypeError, r"by position and by name"),
            (
                lambda: sample.total([1], number=1),
                TypeError,
                r"unexpected keyword argument 'number'; it takes values, count",
            ),
            (lambda: sample.keep(lambda a, b: 0), TypeError, r"wrap the function in binary\(\)"),
            (lambda: sample.no_such_function(), ImportError, r"has no no_such_function"),
        ],
    )
    def test_error_names_function_and_argument(self, call, error, words):
        with pytest.raises(error, match=words):
            call()

    def test_members_of_enums_compare_by_value(self):
        assert sample.status(0) == sample.other(0)
        form = sample._library._scope["status"].form
        assert form.size == 4


class TestHandles:
    def test_handle_and_subclass_are_accepted(self):
        assert sample.number_of(sample.open_door(7)) == 7
        assert sample.number_of(type("Own", (sample.door,), {})(8)) == 8

    def test_untyped_handle_is_accepted(self):
        for given in (
            7,
            ctypes.c_void_p(7),
            Pointer(7),
            Pointer(sample.cut_key(7)),
            type("Own", (Pointer,), {})(7),
        ):
            assert sample.number_of(given) == 7
        assert sample.number_of(None) == 0

    def test_handle_of_equal_declaration_is_accepted(self):
        twin = sample._library.opaque(type("door", (), {"__doc__": "The same."})).made()
        assert twin is not sample.door
        assert sample.number_of(twin(9)) == 9

    def test_object_with_handle_is_accepted(self):
        class Kept:
            def __init__(self, handle):
                self.handle = handle

        assert sample.number_of(Kept(sample.open_door(7))) == 7
        with pytest.raises(TypeError, match="a door was expected, not a key"):
            sample.number_of(Kept(sample.cut_key(7)))

    @pytest.mark.parametrize(
        "other", [lambda: sample.cut_key(7), lambda: sample.point(), lambda: sample.multiplier()]
    )
    def test_handle_of_another_type_is_refused(self, other):
        words = (
            r"number_of\(\) argument 'it': a door was expected, not a \w+; "
            r"to pass its address anyway, write Pointer\(…\) of it"
        )
        with pytest.raises(TypeError, match=words):
            sample.number_of(other())

    def test_handle_in_record_is_checked(self):
        house = sample.house(front=sample.open_door(1))
        with pytest.raises(TypeError, match=r"house\.back: a door was expected, not a key"):
            house.back = sample.cut_key(2)
        assert (int(house.front), house.back) == (1, None)

    def test_handle_as_record_or_function_is_refused(self):
        with pytest.raises(TypeError, match="a point was expected, not a key"):
            sample.visit(lambda *_: None, None, sample.cut_key(64), 0)
        with pytest.raises(TypeError, match="a binary was expected, not a key"):
            sample.keep(sample.cut_key(64))
        assert sample.total(sample.cut_key(64), 0) == 0, "an address of numbers is any address"


class TestLifetimes:
    def test_call_releases_its_arguments_on_return(self):
        class Numbers(array.array):
            pass

        numbers = Numbers("i", [1, 2])
        gone = weakref.ref(numbers)
        assert sample.total(numbers, 2) == 3
        del numbers
        gc.collect()
        assert gone() is None

    def test_call_releases_the_gil(self):
        told = []
        thread = threading.Thread(target=lambda: told.append(sample.sleep_until_told(10_000)))
        thread.start()
        while not sample.tell_sleeper() and thread.is_alive():
            time.sleep(0.001)
        thread.join()
        assert told == [True], "this thread runs while C sleeps"

    def test_functions_take_part_in_collection(self):
        assert gc.is_tracked(sample.total)
        assert weakref.ref(sample.total)() is sample.total


def test_adapter_is_reusable():
    numbers = ListOfInt([1, 2, 3])
    assert [sample.total(numbers, n) for n in range(4)] == [0, 1, 3, 6]
    assert sample.total(Pointer(int(numbers)), 2) == 3

"""Memory shorter than the call says, and handles in place of their addresses: refused before C
uses them."""

from __future__ import annotations

import array
import ctypes
import importlib
import inspect
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import entrepot as ep
from adapters.objects import named
from entrepot import _core
from entrepot._core import _device_array
from entrepot.adapters import (
    CStr,
    DeviceArray,
    ListOfBytes,
    ListOfInt,
    ListOfPointer,
    ListOfUInt64,
    Pointer,
)
from ffi import sample

REFUSAL = "refusal='ffi.sample.too_loud'"


def declared(text: str) -> types.ModuleType:
    """A module with that function of the sample library."""
    module = types.ModuleType("lengths_of_its_own")
    sys.modules[module.__name__] = module
    head = (
        "from __future__ import annotations\n"
        "from entrepot.ffi import *\n"
        "from entrepot.ffi import Library\n"
    )
    library = f"library = Library('sample', sonames=[{sample.PATH!r}])\n@library.function\n"
    exec(f"{head}{library}{text}\nlibrary.declared(globals())", vars(module))
    return module


class TestCounts:
    @pytest.mark.parametrize(
        "words",
        [[b"one"], (b"one",), ListOfBytes([b"one"]), Pointer(ListOfBytes([b"one"]))],
        ids=named,
    )
    def test_short_list_is_refused(self, words):
        assert sample.total_length(words, 1) == 3
        message = (
            r"total_length\(\) argument 'words': has 1 element, and 'count' says 2; "
            r"pass as many, or a smaller count"
        )
        with pytest.raises(ValueError, match=message):
            sample.total_length(words, 2)
        with pytest.raises(ValueError, match=message):
            sample.total_length(count=2, words=words)

    def test_longer_list_is_accepted(self):
        assert sample.total_length([b"one", b"three"], 1) == 3

    def test_null_has_no_elements(self):
        assert sample.total_length(None, 0) == 0
        for null in (None, Pointer(None)):
            with pytest.raises(
                ValueError,
                match="'words': is NULL, and 'count' says 1; pass as many, or 0 for count",
            ):
                sample.total_length(null, 1)

    @pytest.mark.parametrize("words", [[b"one"], None], ids=repr)
    def test_negative_count_is_refused(self, words):
        with pytest.raises(
            ValueError,
            match=r"total_length\(\) argument 'count': -1 is no number of elements for 'words'",
        ):
            sample.total_length(words, -1)

    def test_address_is_taken_without_a_length_check(self):
        words = ListOfBytes([b"one", b"three"])
        assert sample.total_length(int(words), 2) == 8
        assert sample.total_length(ctypes.c_void_p(int(words)), 2) == 8

    def test_short_record_array_is_refused(self):
        points = sample.point.allocate(2)
        assert sample.sum_of_all(points, 2) == 10
        for one in (sample.point(1, 2), points.element(1), bytearray(8)):
            with pytest.raises(
                ValueError,
                match=r"sum_of_all\(\) argument 'points': has 1 element, and 'count' says 2",
            ):
                sample.sum_of_all(one, 2)

    def test_count_at_address_is_read(self):
        doors, count = ListOfPointer.allocate(2), ListOfUInt64([2])
        assert sample.all_doors(doors, count) == 2
        assert [int(each) for each in doors] == [1, 2]
        count = ListOfUInt64([3])
        with pytest.raises(
            ValueError, match=r"all_doors\(\) argument 'out': has 2 elements, and 'count' says 3"
        ):
            sample.all_doors(doors, count)
        with pytest.raises(ValueError, match="has 2 elements, and 'count' says 3"):
            sample.all_doors(bytearray(16), (ctypes.c_uint64 * 1)(3))
        assert sample.all_doors(None, [0]) == 0  # the output is optional

    def test_refusal_function_rejects_arguments(self):
        assert sample.total_length([b"quiet"], 1) == 5
        loud = ListOfBytes([b"quiet", b"LOUD"])
        for given in (
            [b"quiet", b"LOUD"],
            loud,
            Pointer(loud),
            int(loud),
            ctypes.c_void_p(int(loud)),
        ):
            with pytest.raises(
                ValueError,
                match=r"total_length\(\) argument 'words': LOUD is too loud; say it in small "
                r"letters",
            ):
                sample.total_length(given, 2)
            assert sample.total_length(given, 1) == 5


class TestRefusals:
    @pytest.fixture
    def seen(self, monkeypatch):
        """Arguments that the refusal function is called with."""
        found = []

        def too_loud(what: object) -> str:
            found.append(what)
            return "no"

        monkeypatch.setattr(sample, "too_loud", too_loud)
        return found

    @pytest.mark.parametrize(
        ("measure", "count", "values"),
        [
            ("bytes='count'", 12, [1, 2, 3]),
            ("bytes='count'", 14, (ctypes.c_int * 4)(1, 2, 3, 4)),
            ("bytes='2 * count'", 6, [1, 2, 3]),
            ("count='count'", 3, [1, 2, 3]),
        ],
    )
    def test_refusal_function_gets_the_counted_elements(self, seen, measure, count, values):
        module = declared(
            f"def total(values: In[ListOfInt]({measure}, {REFUSAL}), count: c_uint64) -> c_int64: "
            "..."
        )
        with pytest.raises(ValueError, match=r"total\(\) argument 'values': no"):
            module.total(values, count)
        assert list(seen[0]) == [1, 2, 3]

    @pytest.mark.parametrize(
        ("measure", "count"),
        [("bytes='count'", 2**63), ("count='count'", 2**62), ("count='count'", 2**64 - 1)],
    )
    def test_impossible_count_gives_an_unknown_length(self, seen, measure, count):
        module = declared(
            f"def total(values: In[ListOfInt]({measure}, {REFUSAL}), count: c_uint64) -> c_int64: "
            "..."
        )
        with pytest.raises(ValueError, match=r"total\(\) argument 'values': no"):
            module.total(int(ListOfInt([1])), count)
        with pytest.raises(TypeError, match="length"):
            len(seen[0])

    @pytest.mark.parametrize(("measure", "count"), [("count", 12), ("2 * count", 6)])
    def test_memory_length_is_computed_from_arguments(self, seen, measure, count):
        module = declared(
            f"def fill(to: Out[Pointer](bytes='{measure}', {REFUSAL}), byte: c_int, count: "
            "c_uint64): ..."
        )
        with pytest.raises(ValueError, match=r"fill\(\) argument 'to': no"):
            module.fill(bytearray(16), 0, count)
        with pytest.raises(ValueError, match="'from_': has 12 bytes, and 'bytes' says 13"):
            sample.copy(bytearray(13), seen[0], 13)

    @pytest.mark.parametrize(
        ("declaration", "words"),
        [
            (
                f"def fill(to: Out[Pointer], byte: In[c_int]({REFUSAL}), count: c_uint64): ...",
                r"fill\(\), byte: is not an address",
            ),
            (
                "def fill(to: Out[Pointer], byte: In[c_int](bytes='count'), count: c_uint64): ...",
                r"fill\(\), byte: is not an address",
            ),
            (
                f"def divide(a: c_int, b: c_int, quotient: Returned[c_int]({REFUSAL})) -> c_int: "
                "...",
                r"divide\(\), quotient: is not an address",
            ),
            (
                f"def find_door(out: Returned[Pointer]({REFUSAL}), a: c_int, b: c_int) -> c_int: "
                "...",
                r"find_door\(\), out: refusal= checks an argument of the caller, and this is "
                r"returned",
            ),
            (
                f"def name_of(out: Returned[CStr](bytes='n', {REFUSAL}), n: c_int, b: c_int) -> "
                "c_int: ...",
                r"name_of\(\), out: refusal= checks an argument of the caller, and this is "
                r"returned",
            ),
        ],
        ids=["number", "measured", "returned number", "returned address", "returned text"],
    )
    def test_refusal_functions_need_an_input_address(self, declaration, words):
        function = declaration[4 : declaration.index("(")]
        with pytest.raises(TypeError, match=words):
            getattr(declared(declaration), function)(0, 0, 0)

    @pytest.mark.parametrize(
        "path", ["ffi.sample.quite_another", "no_such_module.why_not", "why_not"]
    )
    def test_unknown_refusal_function_is_refused(self, path):
        module = declared(f"def length(text: In[CStr](refusal={path!r})) -> c_int: ...")
        with pytest.raises(
            TypeError,
            match=rf"length\(\) argument 'text': refusal='{path}' names no "
            r"\"package\.module\.function\"",
        ):
            module.length(b"four")

    def test_refusal_functions_own_error_names_the_argument(self, monkeypatch):
        module = declared(f"def length(text: In[CStr]({REFUSAL})) -> c_int: ...")
        monkeypatch.setattr(sample, "too_loud", lambda what: 1 / 0)
        with pytest.raises(
            RuntimeError,
            match=r"length\(\) argument 'text': ffi\.sample\.too_loud.*ZeroDivisionError",
        ) as failure:
            module.length(b"four")
        assert isinstance(failure.value.__cause__, ZeroDivisionError)

    def test_refusal_function_result_must_be_text(self, monkeypatch):
        module = declared(f"def length(text: In[CStr]({REFUSAL})) -> c_int: ...")
        monkeypatch.setattr(sample, "too_loud", lambda what: False)
        with pytest.raises(
            TypeError,
            match=r"length\(\) argument 'text': ffi\.sample\.too_loud gave False, where words or "
            r"None",
        ):
            module.length(b"four")

    @pytest.mark.parametrize("name", ["hip", "hiprtc", "hiprand", "hipsparse"])
    def test_refusal_functions_of_modules_exist(self, name):
        module = importlib.import_module(f"entrepot.{name}")
        named = 0
        for function in list(vars(module).values()):
            if not isinstance(function, _core.ForeignFunction) or "refusal=" not in str(
                function.declaration.__annotations__
            ):
                continue
            for parameter in module._library._parameters(function.declaration)[0].values():
                if refusal := getattr(parameter, "refusal", ""):
                    assert callable(ep.ffi._refusal_named(refusal, function.declaration.__name__))
                    named += 1
        assert module.__file__
        assert named == Path(module.__file__).read_text().count("refusal=")


class TestBytes:
    SOURCE = bytes(range(16))

    @pytest.mark.parametrize(
        "make",
        [
            bytearray,
            lambda n: (ctypes.c_char * n)(),
            lambda n: array.array("B", bytes(n)),
            lambda n: memoryview(bytearray(n + 4))[4:],
            lambda n: ListOfInt.allocate(n // 4),
            lambda n: ListOfPointer.allocate(n // 8),
            lambda n: Pointer(bytearray(n)),
            lambda n: Pointer(bytearray(n + 4))[4],
            lambda n: DeviceArray(bytearray(n)),
            lambda n: DeviceArray(bytearray(2 * n)).configure(shape=(2, n))[1],
            lambda n: sample.allocate(n)[1],
            lambda n: ep.zeros(n, dtype="uint8"),
            lambda n: sample.point.allocate(n // 8),
        ],
        ids="bytearray ctypes array memoryview ints pointers pointer interior device part "
        "allocated entrepot record".split(),
    )
    def test_memory_of_any_kind(self, make):
        for to, from_ in ((make(8), self.SOURCE), (bytearray(16), make(8))):
            sample.copy(to, from_, 8)
            sample.copy(to, from_, 0)
        with pytest.raises(
            ValueError,
            match=r"copy\(\) argument 'to': has 8 bytes, and 'bytes' says 9; pass as many, or a",
        ):
            sample.copy(make(8), self.SOURCE, 9)
        with pytest.raises(
            ValueError, match=r"copy\(\) argument 'from_': has 8 bytes, and 'bytes' says 9"
        ):
            sample.copy(bytearray(16), make(8), 9)

    def test_numbers_of_several_bytes(self):
        room = bytearray(8)
        sample.fill_shorts(room, 7, 4)
        assert room == b"\7\0" * 4
        with pytest.raises(ValueError, match=r"'to': has 8 bytes, and 'count' says 5 of 2 bytes"):
            sample.fill_shorts(room, 7, 5)
        with pytest.raises(
            ValueError, match=r"'to': has 8 bytes, and 'count' says 18446744073709551615 of 2 bytes"
        ):
            sample.fill_shorts(room, 7, 2**64 - 1)

    @pytest.mark.parametrize("memory", [bytearray(8), 0x1000, None], ids=repr)
    def test_negative_byte_count_is_refused(self, memory):
        module = declared(
            "def fill(to: Out[Pointer](bytes='count'), byte: c_int, count: c_int64): ..."
        )
        with pytest.raises(
            ValueError, match=r"fill\(\) argument 'count': -1 is no number of bytes for 'to'"
        ):
            module.fill(memory, 0, -1)

    @pytest.mark.parametrize("measure", ["2 * count", "2*count", "count * 2", " count*2 "])
    def test_factor_of_length_is_parsed(self, measure):
        module = declared(
            f"def fill_shorts(to: Out[Pointer](bytes='{measure}'), value: c_int16, count: "
            "c_uint64): ..."
        )
        with pytest.raises(ValueError, match="'to': has 8 bytes, and 'count' says 5 of 2 bytes"):
            module.fill_shorts(bytearray(8), 7, 5)

    def test_text_ends_with_its_nul(self):
        room = bytearray(8)
        for text in (b"four", "four", CStr("four"), CStr(b"four")):
            given = CStr(text) if isinstance(text, str) else text
            sample.copy(room, given, 5)
            assert room[:5] == b"four\0"
            with pytest.raises(ValueError, match="'from_': has 5 bytes"):
                sample.copy(room, given, 6)

    def test_length_of_bare_address_is_not_checked(self):
        room = bytearray(16)
        inside = Pointer(int(Pointer(room)) + 8)
        for to in (
            inside,
            int(inside),
            ctypes.c_void_p(int(inside)),
            Pointer(int(_device_array(int(inside), 4))),
        ):
            sample.copy(to, self.SOURCE, 8)
        assert room[8:] == self.SOURCE[:8]

    def test_text_is_written_to_the_callers_memory(self):
        assert sample.name_of(out=bytearray(16), length=16) == (0,)
        with pytest.raises(
            ValueError, match=r"name_of\(\) argument 'out': has 4 bytes, and 'length' says 16"
        ):
            sample.name_of(out=bytearray(4), length=16)


class TestHandles:
    WORDS = (
        r"C takes the address of a handle there, and a door is the handle itself; "
        r"pass {}.createRef\(\), or a list of handles"
    )

    def test_handle_in_place_of_its_address_is_refused(self):
        door = sample.open_door(7)
        with pytest.raises(TypeError, match=r"shut\(\) argument 'it': " + self.WORDS.format("it")):
            sample.shut(door)
        assert sample.shut(door.createRef()) == 7
        assert not door

    def test_handle_in_place_of_output_is_refused(self):
        door = sample.open_door(7)
        for call in (lambda: sample.find_door(door, 3), lambda: sample.find_door(3, out=door)):
            with pytest.raises(
                TypeError, match=r"find_door\(\) argument 'out': " + self.WORDS.format("out")
            ):
                call()
        assert sample.find_door(door.createRef(), 3) == (0,)
        assert int(door) == 3

    def test_object_with_handle_is_refused(self):
        keeper = types.SimpleNamespace(handle=sample.open_door(7))
        with pytest.raises(TypeError, match=self.WORDS.format(r"it\.handle")):
            sample.shut(keeper)

    def test_addresses_are_taken_for_a_list(self):
        door = sample.open_door(7)
        reference = door.createRef()
        it: Any
        for it in ([door], (door,), ListOfPointer([door])):
            assert sample.shut(it) == 7
        for it in (Pointer(reference), int(reference), ctypes.c_void_p(int(reference))):
            assert sample.shut(it) == 7
            assert sample.find_door(it, 7) == (0,)


class TestStrings:
    @pytest.mark.parametrize("text", [b"-O3", "-O3", bytearray(b"-O3")], ids=repr)
    def test_text_in_place_of_list_is_refused(self, text):
        message = (
            rf"a list or tuple of bytes was expected, not a {type(text).__name__}; "
            r"pass Pointer\(…\) where there are addresses"
        )
        with pytest.raises(TypeError, match=r"total_length\(\) argument 'words': " + message):
            sample.total_length(text, 1)
        with pytest.raises(TypeError, match=f"ListOfBytes: {message}"):
            ListOfBytes(text)

    @pytest.mark.parametrize("text", [b"-O3", "-O3"], ids=repr)
    def test_text_in_place_of_addresses_is_refused(self, text):
        with pytest.raises(
            TypeError,
            match=r"shut\(\) argument 'it': a list or tuple of addresses was expected, not a ",
        ):
            sample.shut(text)

    @pytest.mark.parametrize(
        ("function", "expected"),
        [
            (lambda bad: sample.total_length(bad, 1), "a list or tuple of bytes"),
            (lambda bad: sample.total(bad, 1), "a list or tuple of ints"),
            (sample.shut, "a list or tuple of addresses"),
        ],
        ids=["bytes", "ints", "addresses"],
    )
    def test_invalid_list_error_names_lists_first(self, function, expected):
        for bad in (1.5, {1, 2}, object()):
            with pytest.raises(
                TypeError,
                match=f"{expected} was expected, not a {type(bad).__name__}, which stands for no "
                "address",
            ):
                function(bad)


class TestDeclarations:
    @pytest.mark.parametrize(
        ("declaration", "words"),
        [
            (
                "def fill(to: Out[Pointer](count='count'), byte: c_int, count: c_uint64): ...",
                "the size of its elements is unknown",
            ),
            (
                "def fill(to: Out[Pointer](bytes='at'), at: c_double, count: c_uint64): ...",
                "'at' is not a length; use an integer",
            ),
            (
                "def fill(to: Out[Pointer](bytes='n'), byte: c_int, n: Returned[c_uint64]): ...",
                "'n' is not a length; use an integer",
            ),
        ],
        ids=["void", "float", "returned"],
    )
    def test_unmeasurable_declaration_is_refused(self, declaration, words):
        with pytest.raises(TypeError, match=rf"fill\(\), to: {words}"):
            declared(declaration).fill(*[0] * 3)

    @pytest.mark.parametrize(
        ("measure", "words"),
        [
            (
                "bytes='-4 * count'",
                "bytes='-4 \\* count': a parameter's name was expected, or so many bytes for each",
            ),
            ("bytes='0 * count'", "bytes='0 \\* count': a parameter's name was expected"),
            ("bytes='4 count'", "bytes='4 count': a parameter's name was expected"),
            ("bytes='2 * 4 * count'", "bytes='2 \\* 4 \\* count': a parameter's name was expected"),
            ("bytes='byte * count'", "bytes='byte \\* count': a parameter's name was expected"),
            ("bytes='count *'", "bytes='count \\*': a parameter's name was expected"),
            (
                "bytes='99999999999999999999 * count'",
                "bytes='9+ \\* count': a parameter's name was expected",
            ),
            ("bytes='4'", "bytes='4': a parameter's name was expected"),
            (
                "count='4 * count'",
                "count='4 \\* count': a parameter's name was expected, as count=\"n\"; factors "
                "are of bytes=",
            ),
            (
                "bytes='count', count='count'",
                "bytes='count' and count='count' say the same thing; give one of them",
            ),
            (
                "bytes='n'",
                r"fill\(\), to: there is no parameter 'n' that says how much .* there are to, "
                r"byte, count",
            ),
            (f"bytes='count')({REFUSAL}", "a parameter has one pair of parentheses"),
        ],
    )
    def test_invalid_measure_is_refused(self, measure, words):
        module = declared(
            f"def fill(to: Out[Pointer]({measure}), byte: c_int, count: c_uint64): ..."
        )
        with pytest.raises(TypeError, match=words):
            module.fill(bytearray(8), 0, 8)
        with pytest.raises(TypeError, match=words):
            inspect.signature(module.fill)

    @pytest.mark.parametrize(
        ("declaration", "words"),
        [
            (
                "def allocate(out: Returned[DeviceArray](bytes='8 * n'), n: c_uint64) -> c_int: "
                "...",
                'a returned value takes bytes="n", without',
            ),
            (
                "def allocate(out: Returned[DeviceArray](bytes='n'), n: InOut[ListOfInt]) -> "
                "c_int: ...",
                "'n' is not a length",
            ),
        ],
        ids=["factor", "address"],
    )
    def test_returned_memory_needs_an_integer_bytes(self, declaration, words):
        with pytest.raises(TypeError, match=rf"allocate\(\), out: .*{words}"):
            declared(declaration).allocate(8)

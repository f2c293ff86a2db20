"""CStr: C strings from Python's, reading strings that C has written, and owned memory."""

from __future__ import annotations

import array
import ctypes
import gc
import weakref

import pytest

from adapters.objects import bytes_at
from entrepot.adapters import CStr, Pointer

pytestmark = pytest.mark.host


class TestConversions:
    @pytest.mark.parametrize("text", ["", "abc", "ä€😀", "x" * 1000])
    def test_text_is_utf_8_that_ends_with_a_nul(self, text):
        string = CStr(text)
        encoded = text.encode()
        assert bytes_at(string, len(encoded) + 1) == encoded + b"\0"
        assert (str(string), len(string), bytes(string), string.decode(), string.encode()) == (
            text,
            len(encoded),
            encoded,
            text,
            encoded,
        )

    def test_bytes_are_used_where_they_are(self):
        goods = b"goods"
        assert bytes_at(CStr(goods), 6) == b"goods\0" and int(CStr(goods)) == int(Pointer(goods))

    def test_string_keeps_its_source_alive(self):
        class Text(str):
            pass

        text = Text("goods" * 10)
        gone = weakref.ref(text)
        string = CStr(text)
        del text
        gc.collect()
        assert gone() is not None and str(string) == "goods" * 10
        del string
        assert gone() is None

    def test_a_buffer_is_held(self):
        name = bytearray(16)
        string = CStr(name)
        ctypes.memmove(int(string), b"gfx90a", 6)
        assert str(string) == "gfx90a" and len(string) == 6, (
            "what is there now, until the first NUL"
        )
        with pytest.raises(BufferError):
            name.extend(b"more")

    def test_a_buffer_that_has_no_nul_is_read_until_its_end(self):
        assert len(CStr(array.array("B", b"four"))) == 4

    def test_char_pointer_gives_its_target(self):
        assert str(CStr(ctypes.c_char_p(b"text"))) == "text"

    def test_null_is_empty(self):
        assert (str(CStr(None)), len(CStr(None)), bytes(CStr(None)), bool(CStr(None))) == (
            "",
            0,
            b"",
            False,
        )

    def test_a_nul_inside_text_is_refused(self):
        with pytest.raises(
            ValueError, match="CStr: the string has a NUL inside, where C would end it"
        ):
            CStr("a\0b")
        assert bytes(CStr(b"a\0b")) == b"a", "bytes are what they are: C reads until the NUL"

    def test_text_that_has_no_utf_8(self):
        with pytest.raises(UnicodeEncodeError):
            CStr("\ud800")

    def test_the_argument_is_needed(self):
        with pytest.raises(TypeError, match=r"CStr\(\) is missing its argument 'pyobj'"):
            CStr()


class TestReading:
    def test_indexing_is_that_of_the_text(self):
        string = CStr("aäb")
        assert (string[0], string[1], string[-1], string[1:]) == ("a", "ä", "b", "äb")
        with pytest.raises(IndexError):
            string[3]

    def test_other_encodings(self):
        assert CStr(b"\xe4").decode("latin-1") == "ä" and CStr("ä").encode("latin-1") == b"\xe4"
        assert CStr(b"\xe4").decode(errors="replace") == "\ufffd"
        with pytest.raises(UnicodeDecodeError):
            str(CStr(b"\xe4"))

    def test_repr_shows_terminated_text_only(self):
        string = CStr("abc")
        assert repr(string) == f"<CStr {int(string):#x} 'abc'>"
        assert repr(CStr(5)) == "<CStr 0x5>", "nothing is read from an address that may be anything"
        assert "\\xe4" in repr(CStr(b"\xe4"))

    def test_the_buffer_is_the_string_and_read_only(self):
        view = memoryview(CStr("abc"))
        assert view.tobytes() == b"abc" and view.readonly


class TestOwnMemory:
    def test_malloc_is_zeros_with_room_for_a_nul(self):
        string = CStr(None)
        string.malloc(4)
        assert bytes_at(string, 5) == bytes(5) and string.is_owner and len(string) == 0
        ctypes.memmove(int(string), b"full", 4)
        assert str(string) == "full"
        string.free()
        assert string.is_ptr_null and not string.is_owner

    def test_free_of_null_is_nothing(self):
        CStr(None).free()

    def test_only_own_memory_is_freed(self):
        with pytest.raises(RuntimeError, match="not its own"):
            CStr("text").free()

    def test_malloc_in_place_of_another_string_is_refused(self):
        with pytest.raises(RuntimeError, match="already has a string"):
            CStr("text").malloc(4)

    @pytest.mark.parametrize(
        ("length", "error"),
        [(-1, ValueError), (1.5, TypeError), (2**63, OverflowError), (2**62, MemoryError)],
    )
    def test_invalid_lengths_are_refused(self, length, error):
        string = CStr(None)
        with pytest.raises(error):
            string.malloc(length)
        assert string.is_ptr_null

    def test_memory_is_not_freed_under_a_view(self):
        string = CStr(None)
        string.malloc(4)
        view = memoryview(string)
        with pytest.raises(BufferError, match="1 others use the memory of this CStr"):
            string.free()
        with pytest.raises(BufferError):
            string.__init__("other")
        view.release()
        string.free()

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
    def test_text_is_encoded_as_utf_8_with_nul(self, text):
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

    def test_bytes_are_not_copied(self):
        buffer = b"bytes"
        assert bytes_at(CStr(buffer), 6) == b"bytes\0" and int(CStr(buffer)) == int(Pointer(buffer))

    def test_string_keeps_its_source_alive(self):
        class Text(str):
            pass

        text = Text("bytes" * 10)
        gone = weakref.ref(text)
        string = CStr(text)
        del text
        gc.collect()
        assert gone() is not None and str(string) == "bytes" * 10
        del string
        assert gone() is None

    def test_buffer_is_held_by_string(self):
        name = bytearray(16)
        string = CStr(name)
        ctypes.memmove(int(string), b"gfx90a", 6)
        assert str(string) == "gfx90a" and len(string) == 6, (
            "what is there now, until the first NUL"
        )
        with pytest.raises(BufferError):
            name.extend(b"more")

    def test_buffer_without_nul_is_read_to_its_end(self):
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

    def test_nul_inside_text_is_refused(self):
        with pytest.raises(
            ValueError, match="CStr: the string has a NUL inside, where C would end it"
        ):
            CStr("a\0b")
        assert bytes(CStr(b"a\0b")) == b"a", "bytes are what they are: C reads until the NUL"

    def test_unencodable_text_is_refused(self):
        with pytest.raises(UnicodeEncodeError):
            CStr("\ud800")

    def test_missing_argument_is_refused(self):
        with pytest.raises(TypeError, match=r"CStr\(\) is missing its argument 'pyobj'"):
            CStr()  # type: ignore[call-arg]


class TestReading:
    def test_indexing_is_that_of_the_text(self):
        string = CStr("aäb")
        assert (string[0], string[1], string[-1], string[1:]) == ("a", "ä", "b", "äb")
        with pytest.raises(IndexError):
            string[3]

    def test_decode_and_encode_accept_encodings(self):
        assert CStr(b"\xe4").decode("latin-1") == "ä" and CStr("ä").encode("latin-1") == b"\xe4"
        assert CStr(b"\xe4").decode(errors="replace") == "\ufffd"
        with pytest.raises(UnicodeDecodeError):
            str(CStr(b"\xe4"))

    def test_repr_shows_terminated_text_only(self):
        string = CStr("abc")
        assert repr(string) == f"<CStr {int(string):#x} 'abc'>"
        assert repr(CStr(5)) == "<CStr 0x5>", "nothing is read from an address that may be anything"
        assert "\\xe4" in repr(CStr(b"\xe4"))

    def test_exported_buffer_is_read_only(self):
        view = memoryview(CStr("abc"))
        assert view.tobytes() == b"abc" and view.readonly


class TestMalloc:
    def test_malloc_is_zeros_with_room_for_a_nul(self):
        string = CStr(None)
        string.malloc(4)
        assert bytes_at(string, 5) == bytes(5) and string.is_owner and len(string) == 0
        ctypes.memmove(int(string), b"full", 4)
        assert str(string) == "full"
        string.free()
        assert string.is_ptr_null and not string.is_owner

    def test_free_of_null_is_a_no_op(self):
        CStr(None).free()

    def test_free_of_foreign_memory_is_refused(self):
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
            string.__init__("other")  # type: ignore[misc]
        view.release()
        string.free()

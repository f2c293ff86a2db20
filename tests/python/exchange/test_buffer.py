"""The buffer protocol both ways: lifetimes, and every flag of a request."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import entrepot as ep
from support.buffers import Exporter
from support.malformed import Hostile

pytestmark = pytest.mark.host


def address_of(buffer: Any) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


# ---------------------------------------------------------------- import


def sources() -> Iterator[tuple[str, object]]:
    yield "bytearray", bytearray(24)
    yield "array", array.array("d", [1, 2, 3])
    yield "memoryview", memoryview(bytearray(24))
    yield "ctypes", (ctypes.c_int * 6)()
    yield "mmap", mmap.mmap(-1, 4096)


class TestImport:
    @pytest.mark.parametrize("source", [pytest.param(value, id=name) for name, value in sources()])
    def test_buffer_is_used_in_place_and_writable(self, source: Any) -> None:
        view = ep.asarray(source)
        assert not view.read_only
        assert view.kind == "host"
        assert view.nbytes == memoryview(source).nbytes
        if not isinstance(source, memoryview):
            assert view.data_ptr == address_of(source)
        memoryview(view).cast("B")[3] = 77
        assert memoryview(source).cast("B")[3] == 77

    def test_bytes_are_read_only(self) -> None:
        view = ep.asarray(b"abc")
        assert view.read_only
        assert (view.shape, str(view.dtype)) == ((3,), "uint8")
        assert bytes(memoryview(view)) == b"abc"

    @pytest.mark.parametrize("code", "bBhHiIlLqQfd")
    def test_array_of_each_type_is_imported(self, code: str) -> None:
        source = array.array(code, [1, 2, 3])
        view = ep.asarray(source)
        assert view.itemsize == source.itemsize
        assert memoryview(view).tolist() == [1, 2, 3]

    @given(data=st.data())
    def test_slices_of_a_memoryview(self, data: st.DataObject) -> None:
        base = memoryview(array.array("i", range(24)))
        part = base[data.draw(st.slices(24))]
        view = ep.asarray(part)
        assert view.shape == part.shape
        assert memoryview(view).tolist() == part.tolist()

    def test_dimensions_are_imported(self) -> None:
        row = ctypes.c_short * 3
        source = (row * 2)(row(1, 2, 3), row(4, 5, 6))
        assert memoryview(ep.asarray(source)).tolist() == [[1, 2, 3], [4, 5, 6]]

    def test_scalar_and_empty_buffer_are_imported(self) -> None:
        scalar = ep.asarray(ctypes.c_double(2.5))
        assert (scalar.shape, scalar.size) == ((), 1)
        assert memoryview(scalar).tolist() == 2.5
        assert ep.asarray(b"").shape == (0,)

    def test_buffer_is_held_until_last_view_is_released(self) -> None:
        source = bytearray(16)
        view = ep.asarray(source)
        part = view[4:8]
        del view
        with pytest.raises(BufferError):
            source.append(0)
        del part
        source.append(0)

    def test_owner_is_the_exporter(self) -> None:
        source = bytearray(4)
        assert ep.asarray(source).owner is source

    def test_cycle_through_view_is_collected(self) -> None:
        class Cycle(bytearray):
            view: ep.Array

        source = Cycle(8)
        source.view = ep.asarray(source)
        gone = weakref.ref(source)
        del source
        gc.collect()
        assert gone() is None


class TestRefusal:
    @pytest.mark.parametrize(
        ("source", "words"),
        [
            pytest.param((ctypes.c_int.__ctype_be__ * 3)(), "swapped", id="byte order"),
            pytest.param(
                type("S", (ctypes.Structure,), {"_fields_": [("x", ctypes.c_int)]})(),
                "structures",
                id="structure",
            ),
            pytest.param(array.array("u", "ab"), "strings", id="characters"),
            pytest.param(memoryview(bytearray(17))[1:].cast("d"), "not aligned", id="alignment"),
        ],
    )
    def test_refusal_has_reason(self, source: object, words: str) -> None:
        with pytest.raises(ep.ExchangeError, match=words):
            ep.asarray(source)

    def test_refused_buffer_is_released(self) -> None:
        source = bytearray(17)
        part = memoryview(source)[1:].cast("d")
        before = sys.getrefcount(part)
        for _ in range(100):
            with pytest.raises(ep.ExchangeError):
                ep.asarray(part)
        assert sys.getrefcount(part) == before
        part.release()
        source.clear()

    def test_release_in_python_keeps_the_error_of_an_option(self) -> None:
        """A buffer with a release in Python, as ctypes makes it, must not be released while an
        exception is set."""
        backing = (ctypes.c_float * 12)()
        exporter = Exporter(backing, ctypes.addressof(backing))
        with pytest.raises(ValueError, match="no repr"):
            ep.asarray(exporter, dtype=Hostile())
        assert exporter.given == exporter.released == 1

    def test_message_of_exporter_is_kept(self) -> None:
        released = memoryview(b"abc")
        released.release()
        with pytest.raises(ep.ExchangeError, match="released"):
            ep.asarray(released)

    def test_suboffsets_are_refused(self) -> None:
        testbuffer = pytest.importorskip("_testbuffer")
        source = testbuffer.ndarray(
            list(range(6)), shape=[2, 3], format="i", flags=testbuffer.ND_PIL
        )
        with pytest.raises(ep.ExchangeError, match="through pointers"):
            ep.asarray(source)


# ---------------------------------------------------------------- export


class PyBuffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


SIMPLE, WRITABLE, FORMAT, ND, STRIDES = 0, 0x1, 0x4, 0x8, 0x10 | 0x8
C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS, INDIRECT = (
    0x20 | STRIDES,
    0x40 | STRIDES,
    0x80 | STRIDES,
    0x100 | STRIDES,
)


class Request:
    """A consumer's request by PyObject_GetBuffer, released at the end of the block."""

    def __init__(self, exporter: object, flags: int) -> None:
        self.exporter, self.flags, self.view = exporter, flags, PyBuffer()

    def __enter__(self) -> PyBuffer:
        ctypes.pythonapi.PyObject_GetBuffer(
            ctypes.py_object(self.exporter), ctypes.byref(self.view), self.flags
        )
        return self.view

    def __exit__(self, *_: object) -> None:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(self.view))


def floats(*shape: int) -> ep.Array:
    return ep.empty(shape, "float32", device="host")


C, F, STRIDED, SCALAR = floats(3, 4), floats(4, 3).T, floats(6, 8)[::2, ::2], floats()


class TestFlags:
    @pytest.mark.parametrize(
        ("flags", "takes"),
        [
            (SIMPLE, (C, SCALAR)),
            (WRITABLE, (C, SCALAR)),
            (ND, (C, SCALAR)),
            (STRIDES, (C, F, STRIDED, SCALAR)),
            (C_CONTIGUOUS, (C, SCALAR)),
            (F_CONTIGUOUS, (F, SCALAR)),
            (ANY_CONTIGUOUS, (C, F, SCALAR)),
            (INDIRECT, (C, F, STRIDED, SCALAR)),
            (INDIRECT | WRITABLE | FORMAT, (C, F, STRIDED, SCALAR)),
        ],
    )
    def test_request_flags_determine_the_fields(
        self, flags: int, takes: tuple[ep.Array, ...]
    ) -> None:
        for exporter in (C, F, STRIDED, SCALAR):
            if not any(exporter is each for each in takes):
                with (
                    pytest.raises(ep.ExchangeError, match=r"asked for|did not ask"),
                    Request(exporter, flags),
                ):
                    pass
                continue
            with Request(exporter, flags) as view:
                assert view.buf == exporter.data_ptr
                assert view.obj is exporter
                assert (view.len, view.itemsize, view.readonly) == (exporter.nbytes, 4, 0)
                assert bool(view.format) == bool(flags & FORMAT)
                assert bool(view.shape) == (flags & ND == ND and exporter.ndim > 0)
                assert bool(view.strides) == (flags & STRIDES == STRIDES and exporter.ndim > 0)
                assert not view.suboffsets
                assert view.ndim == (exporter.ndim if flags & ND else 1)
                if view.strides:
                    assert view.strides[: view.ndim] == [4 * stride for stride in exporter.strides]

    @pytest.mark.parametrize(
        "exporter",
        [
            pytest.param(floats(24), id="one axis"),
            pytest.param(floats(24)[4:8], id="offset"),
            pytest.param(floats(2, 3, 4), id="axes"),
            pytest.param(floats(1, 2, 1, 2, 3), id="more axes than are kept inline"),
            pytest.param(floats(2, 0, 3), id="no element"),
            pytest.param(ep.empty((3, 4), "int8", device="host"), id="bytes"),
            pytest.param(ep.empty((3, 4), "complex128", device="host"), id="format of two letters"),
            pytest.param(ep.asarray(b"abcd"), id="read-only"),
        ],
    )
    def test_contiguous_request_gets_the_same_fields(self, exporter: ep.Array) -> None:
        with (
            Request(exporter, STRIDES | FORMAT) as any_strides,
            Request(exporter, C_CONTIGUOUS | FORMAT) as contiguous,
        ):
            for name in ("buf", "len", "itemsize", "readonly", "ndim", "format"):
                assert getattr(any_strides, name) == getattr(contiguous, name)
            assert any_strides.readonly == exporter.read_only
            assert (
                any_strides.shape[: exporter.ndim]
                == contiguous.shape[: exporter.ndim]
                == list(exporter.shape)
            )
            assert any_strides.strides[: exporter.ndim] == contiguous.strides[: exporter.ndim]
            assert any_strides.strides[: exporter.ndim] == [
                each * exporter.itemsize for each in exporter.strides
            ]
            assert not any_strides.suboffsets
            assert not any_strides.internal

    def test_uncountable_bytes_are_refused(self) -> None:
        with pytest.raises(OverflowError):
            memoryview(floats(1).broadcast_to((1 << 62,)))

    def test_exported_views_keep_strides(self) -> None:
        exporter = ep.asarray(bytearray(96)).view("float32").reshape(4, 6)[::2, ::-1]
        views = [memoryview(exporter) for _ in range(3)]
        del exporter
        gc.collect()
        del views[1]
        assert [view.strides for view in views] == [(48, -4), (48, -4)]

    def test_writing_to_read_only_memory_is_refused(self) -> None:
        exporter = ep.asarray(b"abcd")
        with pytest.raises(BufferError, match="read-only"), Request(exporter, WRITABLE):
            pass
        with Request(exporter, SIMPLE) as view:
            assert view.readonly

    def test_refusal_releases_references(self) -> None:
        before = sys.getrefcount(STRIDED)
        for _ in range(100):
            with pytest.raises(ep.ExchangeError), Request(STRIDED, ND):
                pass
        assert sys.getrefcount(STRIDED) == before

    def test_dtype_without_format_is_exported_as_bytes(self) -> None:
        exporter = ep.empty(4, "bfloat16", device="host")
        with pytest.raises(ep.ExchangeError, match="bfloat16 has no format"):
            memoryview(exporter)
        with Request(exporter, SIMPLE) as view:
            assert view.len == 8
        assert memoryview(exporter.view("uint16")).format == "H"


class TestExport:
    def test_buffer_keeps_memory_alive(self) -> None:
        class Source(bytearray):
            pass

        source = Source(b"abcd")
        gone = weakref.ref(source)
        view = memoryview(ep.asarray(source))
        del source
        assert bytes(view) == b"abcd"
        assert gone() is not None
        view.release()
        assert gone() is None

    @pytest.mark.numpy
    def test_numpy_sees_the_same_memory(self) -> None:
        import numpy as np

        seen = np.asarray(STRIDED)
        assert seen.ctypes.data == STRIDED.data_ptr
        seen[...] = 5
        assert memoryview(STRIDED).tolist() == [[5.0] * 4] * 3

    @pytest.mark.sycl
    def test_device_memory_is_refused_with_its_kind(self) -> None:
        exporter = ep.empty(4, "float32", device="opencl:cpu", kind="device")
        with pytest.raises(ep.ExchangeError, match=r"device memory of opencl:cpu.*copy_to_host"):
            memoryview(exporter)

    @pytest.mark.sycl
    @pytest.mark.parametrize("kind", ["host", "shared"])
    def test_buffer_waits_for_device_work(self, kind: str) -> None:
        exporter = ep.empty(32 << 20, "uint8", device="opencl:cpu", kind=kind)
        for value in range(1, 5):
            ep.fill(exporter, value)
            seen = memoryview(exporter)
            assert (seen[0], seen[-1]) == (value, value)
            seen.release()

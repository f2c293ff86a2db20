"""The buffer protocol, PEP 3118: the fields that exporters fill in for each request, and the
lifetime of buffers.
"""

from __future__ import annotations

import ctypes
import gc
import math
import struct
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, c_char_p, c_int, c_ssize_t, c_uint, c_void_p, py_object
from functools import partial
from typing import Any

import entrepot as ep

from . import structs
from .clauses import EXPORT, IMPORT, Failed, Table, require, skip, words_of
from .interfaces import SWAPPED, Speaker
from .structs import PyBuffer
from .subjects import (
    PLAIN,
    Exporter,
    Importer,
    Layout,
    Seen,
    agrees,
    attempt,
    leaks_nothing,
    packed,
    read_only_agrees,
    releases_references,
    settles,
)
from .views import add_views, must_refuse

NAME = "buffer"
STRUCTURE = "CPython C API, Buffer Protocol: Buffer structure"
REQUESTS = "CPython C API, Buffer Protocol: Buffer request types"
SHAPES = "CPython C API, Buffer Protocol: NumPy-style: shape and strides"
FORMATS = "PEP 3118: Additions to the struct string-syntax"

_get = structs.python_api.PyObject_GetBuffer
_get.restype, _get.argtypes = c_int, (py_object, POINTER(PyBuffer), c_int)
_release = structs.python_api.PyBuffer_Release
_release.restype, _release.argtypes = None, (POINTER(PyBuffer),)


def speaks(obj: Any) -> bool:
    """True if the type supports buffers; this object may still refuse requests."""
    return bool(structs.python_api.PyObject_CheckBuffer(py_object(obj)))


@contextmanager
def requested(obj: Any, flags: int) -> Iterator[Any]:
    view: Any = PyBuffer()
    _get(obj, view, flags)
    try:
        yield view
    finally:
        _release(view)


@contextmanager
def described(obj: Any, *, sound: bool = True) -> Iterator[Any]:
    """A full read-only request; not applicable if the object refuses it or ``ndim`` is invalid."""
    try:
        held = requested(obj, structs.FULL_RO)
        view = held.__enter__()
    except Exception as refusal:  # another clause checks the kind of exception
        skip(f"the buffer is refused: {words_of(refusal)}")
    try:
        if sound and not 0 <= view.ndim <= 64:
            skip("the number of dimensions is invalid")
        yield view
    finally:
        held.__exit__(None, None, None)


def dtype_of(format: bytes | None, itemsize: int) -> str | None:
    """Entrepot's name of the type; None for structures and other types that are not plain
    numbers.
    """
    text = (format or b"B").decode()
    kind = text.lstrip("@=<>!^")
    if itemsize > 1 and text.startswith((SWAPPED, "!" if SWAPPED == ">" else SWAPPED)):
        return None
    if kind in ("Zf", "Zd", "F", "D"):
        return f"complex{8 * itemsize}"
    for letters, name in (("bhilqn", "int"), ("BHILQN", "uint"), ("efd", "float")):
        if len(kind) == 1 and kind in letters:
            return f"{name}{8 * itemsize}"
    return "bool" if kind == "?" else None


def shape_of(view: Any) -> tuple[int, ...]:
    if view.shape:
        return tuple(view.shape[: view.ndim])
    return (view.len // max(1, view.itemsize),) if view.ndim == 1 else ()


def strides_of(view: Any) -> tuple[int, ...]:
    """In bytes."""
    if view.strides:
        return tuple(view.strides[: view.ndim])
    return tuple(view.itemsize * step for step in packed(shape_of(view)))


def read(obj: Any) -> Seen:
    with described(obj) as view:
        strides = tuple(step // max(1, view.itemsize) for step in strides_of(view))
        return Seen(
            view.buf or 0,
            shape_of(view),
            strides,
            dtype_of(view.format, view.itemsize),
            bool(view.readonly),
        )


def is_contiguous(view: Any, order: str) -> bool:
    shape = shape_of(view)
    if 0 in shape:
        return True
    wanted = packed(shape) if order == "C" else packed(shape[::-1])[::-1]
    return all(
        extent == 1 or step == view.itemsize * want
        for step, want, extent in zip(strides_of(view), wanted, shape, strict=True)
    )


EXPORTS = Table(NAME, EXPORT)


@EXPORTS.clause(
    "refusal", "where the memory cannot be a buffer at all, that is a BufferError", REQUESTS
)
def refusal(exporter: Exporter) -> None:
    try:
        with requested(exporter.object, structs.FULL_RO):
            pass
    except BufferError:
        pass


@EXPORTS.clause(
    "exporter", "obj is set: releasing the buffer drops its reference to the exporter", STRUCTURE
)
def has_exporter(exporter: Exporter) -> None:
    with described(exporter.object) as view:
        require(view.obj, "a reference to the exporter", "a null pointer")


@EXPORTS.clause("ndim", "there are 0 to 64 dimensions", STRUCTURE)
def ndim(exporter: Exporter) -> None:
    with described(exporter.object, sound=False) as view:
        require(0 <= view.ndim <= 64, "0 to 64", view.ndim)


@EXPORTS.clause("length", "len is the number of elements times itemsize", STRUCTURE)
def length(exporter: Exporter) -> None:
    with described(exporter.object) as view:
        wanted = math.prod(shape_of(view)) * view.itemsize
        require(view.len == wanted, f"{wanted} bytes", view.len)


@EXPORTS.clause("item size", "itemsize is the size of the format", STRUCTURE)
def item_size(exporter: Exporter) -> None:
    with described(exporter.object) as view:
        text = (view.format or b"B").decode()
        try:
            wanted = struct.calcsize(text)
        except struct.error:
            skip(f"{text!r} is no format of the struct module")
        require(view.itemsize == wanted, f"{wanted} bytes, of {text!r}", view.itemsize)


@EXPORTS.clause(
    "shape",
    "shape and strides are there where they were asked for, and no extent is negative",
    SHAPES,
)
def shape(exporter: Exporter) -> None:
    with described(exporter.object) as view:
        require(
            not view.ndim or (view.shape and view.strides),
            f"{view.ndim} extents and strides",
            "a null pointer",
        )
        require(all(extent >= 0 for extent in shape_of(view)), "extents from 0", shape_of(view))


@EXPORTS.clause("format", "a format is there where it was asked for, and nowhere else", REQUESTS)
def format_asked(exporter: Exporter) -> None:
    with described(exporter.object) as view:
        require(view.format is not None, "a format", "a null pointer")
    with requested(exporter.object, structs.STRIDES) as view:
        require(view.format is None, "no format: PyBUF_STRIDES does not ask for one", view.format)


@EXPORTS.clause(
    "no strides", "PyBUF_ND gives C-contiguous memory without strides, or BufferError", REQUESTS
)
def no_strides(exporter: Exporter) -> None:
    if not answers_or_refuses(exporter, structs.ND, "C"):
        return
    with requested(exporter.object, structs.ND) as view:
        require(not view.strides, "no strides", "strides")


@EXPORTS.clause(
    "simple", "PyBUF_SIMPLE gives C-contiguous bytes without a shape, or BufferError", REQUESTS
)
def simple(exporter: Exporter) -> None:
    if not answers_or_refuses(exporter, structs.SIMPLE, "C"):
        return
    with requested(exporter.object, structs.SIMPLE) as view:
        require(not view.shape and not view.strides, "neither shape nor strides", "one of them")


@EXPORTS.clause("C-contiguous", "PyBUF_C_CONTIGUOUS gives what it says, or BufferError", REQUESTS)
def c_contiguous(exporter: Exporter) -> None:
    answers_or_refuses(exporter, structs.C_CONTIGUOUS, "C")


@EXPORTS.clause("F-contiguous", "PyBUF_F_CONTIGUOUS gives what it says, or BufferError", REQUESTS)
def f_contiguous(exporter: Exporter) -> None:
    answers_or_refuses(exporter, structs.F_CONTIGUOUS, "F")


@EXPORTS.clause("contiguous", "PyBUF_ANY_CONTIGUOUS gives what it says, or BufferError", REQUESTS)
def any_contiguous(exporter: Exporter) -> None:
    answers_or_refuses(exporter, structs.ANY_CONTIGUOUS, "CF")


def answers_or_refuses(exporter: Exporter, flags: int, orders: str) -> bool:
    """True if the request is answered. It must be answered if the memory has this layout, else
    refused.
    """
    with described(exporter.object) as view:
        fits = any(is_contiguous(view, order) for order in orders)
        strides = strides_of(view)
    try:
        with requested(exporter.object, flags):
            require(
                fits,
                "BufferError: the memory is not contiguous so",
                f"a buffer, of memory with strides of {strides} bytes",
            )
    except BufferError as refusal:
        if fits:
            raise Failed("a buffer: the memory is contiguous so", words_of(refusal)) from None
    return fits


@EXPORTS.clause(
    "suboffsets", "suboffsets are there only where PyBUF_INDIRECT asks for them", REQUESTS
)
def suboffsets(exporter: Exporter) -> None:
    with described(exporter.object):
        pass
    try:
        with requested(exporter.object, structs.STRIDES | structs.FORMAT) as view:
            require(not view.suboffsets, "no suboffsets", "suboffsets")
    except BufferError as refusal:
        skip(f"strided memory is refused: {words_of(refusal)}")


@EXPORTS.clause(
    "writable",
    "PyBUF_WRITABLE is refused for read-only memory by BufferError, and else gives what may be "
    "written",
    REQUESTS,
)
def writable(exporter: Exporter) -> None:
    with described(exporter.object) as view:
        read_only = bool(view.readonly)
    try:
        with requested(exporter.object, structs.FULL_RO | structs.WRITE) as view:
            require(not read_only, "BufferError: the memory is read-only", "a buffer")
            require(not view.readonly, "readonly of 0", view.readonly)
    except BufferError as refusal:
        if not read_only:
            raise Failed("a buffer: the memory is not read-only", words_of(refusal)) from None


@EXPORTS.clause(
    "same to all", "every consumer is given the same memory, and the same readonly", STRUCTURE
)
def same_to_all(exporter: Exporter) -> None:
    with described(exporter.object) as first, described(exporter.object) as second:
        one, other = (first.buf, first.readonly), (second.buf, second.readonly)
        require(
            one == other,
            f"address {one[0] or 0:#x}, readonly {one[1]}",
            f"address {other[0] or 0:#x}, readonly {other[1]}",
        )


EXPORTS.add(
    "agrees",
    "the address, shape, strides and type are those that the other protocols of the object say",
    STRUCTURE,
    agrees(NAME),
)
EXPORTS.add(
    "read-only",
    "readonly is what the other protocols of the object say",
    STRUCTURE,
    read_only_agrees(NAME),
)


@EXPORTS.clause("keeps the memory", "a buffer that is held keeps the memory", STRUCTURE)
def keeps_the_memory(exporter: Exporter) -> None:
    obj = exporter.fresh()
    read(obj)  # not applicable where there is no buffer
    view: Any = PyBuffer()
    _get(obj, view, structs.FULL_RO)
    try:
        before = ctypes.string_at(view.buf, 1) if view.len else b""
        del obj
        gc.collect()
        taken = [
            other
            for other in [exporter.fresh() for _ in range(8)]
            if view.len and read(other).address == view.buf
        ]
        after = ctypes.string_at(view.buf, 1) if view.len else b""
    finally:
        _release(view)
    require(not taken, "memory of its own", "memory that a later object has been given")
    require(before == after, f"its first byte, {before!r}", repr(after))


EXPORTS.add(
    "references",
    "a buffer that was released holds no reference to the object",
    STRUCTURE,
    releases_references(read),
)


@EXPORTS.clause("leak", "buffers that were released leave no memory behind", STRUCTURE)
def leak(exporter: Exporter) -> None:
    def once() -> None:
        with described(exporter.object):
            pass

    leaks_nothing(once)


# ---------------------------------------------------------------- importers


class _Slot(ctypes.Structure):
    _fields_ = (("slot", c_int), ("function", c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", c_char_p),
        ("basicsize", c_int),
        ("itemsize", c_int),
        ("flags", c_uint),
        ("slots", POINTER(_Slot)),
    )


_GET_BUFFER = 1  # Py_bf_getbuffer
_DEFAULT, _BASETYPE = 1 << 18, 1 << 10


class Token:
    """Object that a buffer owns until its release. Tokens count releases, because no Python code
    may run during one.
    """

    def __init__(self, exporter: Any) -> None:
        self.exporter = exporter


def _get_buffer(exporter: Any, view: Any, flags: int) -> int:
    for name, value in exporter.fields.items():
        setattr(view.contents, name, value)
    token = Token(exporter)
    exporter.tokens.append(weakref.ref(token))
    structs.python_api.Py_IncRef(py_object(token))
    view.contents.obj = id(token)
    return 0


# The type stores no references to these objects but needs them all.
_FUNCTION = ctypes.PYFUNCTYPE(c_int, py_object, POINTER(PyBuffer), c_int)(_get_buffer)


def _raw_type() -> Any:
    slots = (_Slot * 2)(_Slot(_GET_BUFFER, ctypes.cast(_FUNCTION, c_void_p)), _Slot(0, None))
    spec = _Spec(b"entrepot.check.RawBuffer", 0, 0, _DEFAULT | _BASETYPE, slots)
    make = structs.python_api.PyType_FromSpec
    make.restype, make.argtypes = py_object, (c_void_p,)
    return make(ctypes.addressof(spec))


_Raw: Any = _raw_type()


class Fabricated(_Raw):  # type: ignore[misc]
    """Fills in given values for any request. Fields may be falsified; buffers and releases are
    counted.
    """

    def __init__(self, importer: Importer, layout: Layout = PLAIN, **bent: Any) -> None:
        ground = importer.ground
        self.tokens: list[weakref.ref[Token]] = []
        fields = {
            "buf": ground.address + ground.ITEM * layout.first,
            "len": ground.ITEM * math.prod(layout.shape),
            "itemsize": ground.ITEM,
            "readonly": 0,
            "ndim": len(layout.shape),
            "format": b"f",
            "shape": layout.shape,
            "strides": tuple(ground.ITEM * stride for stride in layout.strides),
            "suboffsets": None,
            "internal": None,
            **bent,
        }
        for name in ("shape", "strides", "suboffsets"):
            values = fields[name]
            numbers: Any = None if values is None else (c_ssize_t * len(values))(*values)
            fields[name] = ctypes.cast(numbers, POINTER(c_ssize_t))
        self.fields = fields

    @property
    def given(self) -> int:
        return len(self.tokens)

    @property
    def released(self) -> int:
        return sum(token() is None for token in self.tokens)


def view_of(importer: Importer, layout: Layout, read_only: bool) -> memoryview:
    """A plain buffer that answers every request: that of an Array, through the array interface."""
    ground = importer.ground
    entries = {
        "shape": layout.shape,
        "typestr": "<f4",
        "data": (ground.address + ground.ITEM * layout.first, read_only),
        "strides": tuple(ground.ITEM * stride for stride in layout.strides),
        "version": 3,
    }
    return memoryview(ep.asarray(Speaker("__array_interface__", entries)))


IMPORTS = Table(NAME, IMPORT)
# A consumer may make its own view of the exporter of a memoryview, so the memory's owner is the
# witness.
add_views(IMPORTS, SHAPES, view_of, witness=lambda view: view.obj.owner)


@IMPORTS.clause(
    "holds the buffer",
    "the buffer is held while the result is in use: memory may move once it is released",
    STRUCTURE,
)
def holds_the_buffer(importer: Importer) -> None:
    given = Fabricated(importer)
    result = attempt(importer, given)
    if importer.look(result).data_ptr != importer.ground.address:
        skip("the importer copies")
    require(
        given.given > given.released,
        "a buffer that is held",
        f"{given.given} taken, {given.released} released",
    )
    del result


@IMPORTS.clause(
    "releases once",
    "each buffer that was taken is released once, with the last use of the result",
    STRUCTURE,
)
def releases_once(importer: Importer) -> None:
    given = Fabricated(importer)
    result = attempt(importer, given)
    del result
    settles(lambda: given.given == given.released, lambda: importer.take(Fabricated(importer)))
    require(
        given.given == given.released,
        f"{given.given} released, as many as were taken",
        given.released,
    )


@IMPORTS.clause("null format", "a null format means unsigned bytes", REQUESTS)
def null_format(importer: Importer) -> None:
    given = Fabricated(importer, PLAIN, format=None, itemsize=1, ndim=1, shape=(48,), strides=(1,))
    view = importer.look(attempt(importer, given))
    require(
        str(view.dtype) == "uint8" and view.nbytes == 48,
        "48 of uint8",
        f"{view.size} of {view.dtype}",
    )


@IMPORTS.clause(
    "suboffsets",
    "elements that are reached through pointers are shown as they are, or refused",
    SHAPES,
)
def follows_suboffsets(importer: Importer) -> None:
    rows = (c_void_p * 3)(*(importer.ground.address + 16 * row for row in range(3)))
    given = Fabricated(
        importer, PLAIN, buf=ctypes.addressof(rows), strides=(8, 4), suboffsets=(0, -1)
    )
    difference = importer.shows(attempt(importer, given), PLAIN)
    # An importer that ignores suboffsets shows parts of the addresses or what follows them.
    require(not difference, "the elements of the rows", "elements that are not those")


for name, what, where, bent in (
    ("refuses ndim", "65 dimensions", STRUCTURE,
        {"ndim": 65, "shape": (1,) * 65, "strides": (4,) * 65, "len": 4}),
    ("refuses extents", "a negative extent", SHAPES, {"shape": (-3, 4)}),
    ("refuses lengths", "a len that is less than the elements have", STRUCTURE, {"len": 40}),
    ("refuses item sizes", "float, 'f', of 8 bytes", STRUCTURE, {"itemsize": 8, "len": 96}),
    ("refuses swapped bytes", "bytes in the other order, as float32 of the native one", FORMATS,
        {"format": b">f"}),
    ("refuses objects", "memory of Python objects, 'O'", FORMATS,
        {"format": b"O", "itemsize": 8, "len": 96}),
    ("refuses other formats", "a format that does not exist, '&f'", FORMATS, {"format": b"&f"}),
    ("refuses null data", "a null pointer to a non-empty array", STRUCTURE, {"buf": None}),
):  # fmt: skip
    IMPORTS.add(
        name,
        f"{what} is refused",
        where,
        must_refuse(partial(Fabricated, **bent), what, typed="format" in bent),
    )


@IMPORTS.clause("releases what it refuses", "a refused buffer is released", STRUCTURE)
def releases_what_it_refuses(importer: Importer) -> None:
    given = Fabricated(importer, format=b"&f")
    try:
        importer.take(given)
    except Exception:
        pass
    else:
        skip("it is not refused")
    settles(lambda: given.given == given.released, lambda: importer.take(Fabricated(importer)))
    require(
        given.given == given.released,
        f"{given.given} released, as many as were taken",
        given.released,
    )

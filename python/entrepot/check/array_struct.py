"""NumPy's array interface as a C struct in a capsule, ``__array_struct__``: host memory, strides in
bytes.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any

from . import structs
from .clauses import EXPORT, IMPORT, Table, require, skip
from .interfaces import dtype_of
from .structs import ALIGNED, CONTIGUOUS, NOT_SWAPPED, WRITABLE, ArrayStruct
from .subjects import (
    PLAIN,
    Exporter,
    Importer,
    Layout,
    Seen,
    agrees,
    leaks_nothing,
    packed,
    read_only_agrees,
    releases_references,
)
from .views import add_views, must_refuse

NAME = "array_struct"
ATTRIBUTE = "__array_struct__"
SOURCE = "NumPy, The array interface protocol: C-struct access"
KNOWN_FLAGS = CONTIGUOUS | 0x2 | ALIGNED | NOT_SWAPPED | WRITABLE | 0x800


def speaks(obj: Any) -> bool:
    return hasattr(obj, ATTRIBUTE)


def struct_of(obj: Any) -> Any:
    """The struct of an object. It holds a reference to the capsule, which owns it."""
    capsule = getattr(obj, ATTRIBUTE)
    require(isinstance(capsule, structs.Capsule), "a PyCapsule", type(capsule).__name__)
    struct = ArrayStruct.from_address(structs.address_in(capsule))
    struct.capsule = capsule
    return struct


def read(obj: Any) -> Seen:
    struct = struct_of(obj)
    if struct.two != 2 or not 0 <= struct.nd <= 64:
        skip("the struct does not begin with 2, or its number of dimensions is invalid")
    shape = tuple(struct.shape[: struct.nd]) if struct.nd else ()
    steps = (
        tuple(step // struct.itemsize for step in struct.strides[: struct.nd])
        if struct.nd and struct.strides
        else packed(shape)
    )
    kind = struct.typekind.decode("latin-1")
    swapped = struct.itemsize > 1 and not struct.flags & NOT_SWAPPED
    return Seen(
        struct.data or 0,
        shape,
        steps,
        None if swapped else dtype_of(kind, struct.itemsize),
        not struct.flags & WRITABLE,
    )


EXPORTS = Table(NAME, EXPORT)


@EXPORTS.clause("capsule", f"{ATTRIBUTE} is a capsule without a name", SOURCE)
def capsule(exporter: Exporter) -> None:
    found = struct_of(exporter.object).capsule
    require(structs.name_of(found) is None, "no name", structs.name_of(found))


@EXPORTS.clause("two", "the struct begins with 2, which tells it from others", SOURCE)
def two(exporter: Exporter) -> None:
    found = struct_of(exporter.object).two
    require(found == 2, "2", found)


@EXPORTS.clause(
    "shape", "nd is not negative, shape and strides are there, no extent is negative", SOURCE
)
def shape(exporter: Exporter) -> None:
    struct = struct_of(exporter.object)
    require(0 <= struct.nd <= 64, "a number of dimensions", struct.nd)
    require(
        not struct.nd or (struct.shape and struct.strides),
        f"{struct.nd} extents and strides",
        "a null pointer",
    )
    extents = tuple(struct.shape[: struct.nd]) if struct.nd else ()
    require(all(extent >= 0 for extent in extents), "extents from 0", extents)


@EXPORTS.clause("type", "typekind is a letter of NumPy's, and itemsize is not negative", SOURCE)
def element_type(exporter: Exporter) -> None:
    struct = struct_of(exporter.object)
    kind = struct.typekind.decode("latin-1")
    require(kind in "tbiufcmMOSUV", "a kind of t, b, i, u, f, c, m, M, O, S, U or V", repr(kind))
    require(struct.itemsize >= 0, "a size from 0", struct.itemsize)


@EXPORTS.clause("data", "there is an address where there are elements", SOURCE)
def data(exporter: Exporter) -> None:
    seen = read(exporter.object)
    if not seen.size:
        skip("there are no elements")
    require(seen.address, "an address", "a null pointer")


@EXPORTS.clause("flags", "no flag is set that the struct does not have", SOURCE)
def flags(exporter: Exporter) -> None:
    found = struct_of(exporter.object).flags
    require(
        not found & ~KNOWN_FLAGS,
        "flags of C and F contiguous, ALIGNED, NOTSWAPPED, WRITEABLE, ARR_HAS_DESCR",
        hex(found),
    )


@EXPORTS.clause("contiguous", "what is flagged as C-contiguous is", SOURCE)
def contiguous(exporter: Exporter) -> None:
    seen = read(exporter.object)
    if not struct_of(exporter.object).flags & CONTIGUOUS or not seen.size:
        skip("the flag is not set, or there are no elements")
    actual = Seen(seen.address, seen.shape, packed(seen.shape), seen.dtype, seen.read_only)
    require(not seen.differs(actual), f"strides of {packed(seen.shape)} elements", seen.strides)


EXPORTS.add(
    "agrees",
    "the address, shape, strides and type are those that the other protocols of the object say",
    SOURCE,
    agrees(NAME),
)
EXPORTS.add(
    "read-only",
    "WRITEABLE is what the other protocols of the object say",
    SOURCE,
    read_only_agrees(NAME),
)
EXPORTS.add(
    "references",
    "a capsule that is gone holds no reference to the object",
    SOURCE,
    releases_references(struct_of),
)


@EXPORTS.clause("leak", "capsules that are gone leave no memory behind", SOURCE)
def leak(exporter: Exporter) -> None:
    leaks_nothing(lambda: getattr(exporter.object, ATTRIBUTE))


# ---------------------------------------------------------------- importers


class Fabricated:
    """An object with a fabricated struct, any field of which may be falsified."""

    def __init__(
        self, importer: Importer, layout: Layout = PLAIN, *, read_only: bool = False, **bent: Any
    ) -> None:
        ground = importer.ground
        fields = {
            "shape": layout.shape,
            "strides": tuple(ground.ITEM * stride for stride in layout.strides),
            **bent,
        }
        self._numbers = [
            (ctypes.c_ssize_t * len(fields[key]))(*fields[key]) for key in ("shape", "strides")
        ]
        self.struct = ArrayStruct(
            two=2,
            nd=len(layout.shape),
            typekind=b"f",
            itemsize=ground.ITEM,
            flags=ALIGNED | NOT_SWAPPED | (0 if read_only else WRITABLE),
            shape=self._numbers[0],
            strides=self._numbers[1],
            data=ground.address + ground.ITEM * layout.first,
        )
        for key, value in bent.items():
            if key not in ("shape", "strides"):
                setattr(self.struct, key, value)
        setattr(self, ATTRIBUTE, structs.new_capsule(ctypes.addressof(self.struct), None))


IMPORTS = Table(NAME, IMPORT)
add_views(
    IMPORTS,
    SOURCE,
    lambda importer, layout, read_only: Fabricated(importer, layout, read_only=read_only),
)

for name, what, bent in (
    ("refuses another struct", "a struct that does not begin with 2", {"two": 3}),
    ("refuses nd", "a negative number of dimensions", {"nd": -1}),
    ("refuses extents", "a negative extent", {"shape": (-3, 4)}),
    ("refuses swapped bytes", "bytes in the other order, as float32 of the native one",
        {"flags": ALIGNED | WRITABLE}),
    ("refuses objects", "memory of Python objects", {"typekind": b"O", "itemsize": 8}),
    ("refuses other kinds", "a kind that NumPy does not have", {"typekind": b"?"}),
    ("refuses other sizes", "float of 3 bytes", {"itemsize": 3}),
    ("refuses null data", "a null pointer to a non-empty array", {"data": None}),
):  # fmt: skip
    IMPORTS.add(
        name,
        f"{what} is refused",
        SOURCE,
        must_refuse(partial(Fabricated, **bent), what, typed="typekind" in bent or "flags" in bent),
    )

"""Clauses shared by the three protocols that are dicts, with each protocol's own names and
units.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from .clauses import EXPORT, IMPORT, Table, require, skip
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
from .views import add_views, must_refuse, must_take

TYPESTR = re.compile(r"[<>|=]?([a-zA-Z])(\d+)(\[.*\])?")
KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
MISSING = object()  # in a falsified dict: the key is absent


@dataclass(frozen=True)
class Interface:
    """One of the protocols: its attribute, its units and their source."""

    name: str
    attribute: str
    version: int
    strides_in_bytes: bool
    source: str
    required: tuple[str, ...]
    optional: tuple[str, ...]

    def of(self, obj: Any) -> dict[str, Any]:
        found: dict[str, Any] = getattr(obj, self.attribute)
        if not isinstance(found, dict):
            skip(f"{self.attribute} is no dict")
        return found

    def speaks(self, obj: Any) -> bool:
        return hasattr(obj, self.attribute)


SWAPPED = ">" if sys.byteorder == "little" else "<"


def item_of(typestr: str) -> tuple[str, int]:
    """Kind and bytes of an element."""
    found = TYPESTR.fullmatch(typestr)
    require(found, "a type string such as '<f4'", repr(typestr))
    assert found
    return found[1], int(found[2])


def dtype_of(kind: str, nbytes: int) -> str | None:
    if kind == "b":
        return "bool"
    return f"{KINDS[kind]}{8 * nbytes}" if kind in KINDS else None


def reader(interface: Interface) -> Callable[[Any], Seen]:
    def read(obj: Any) -> Seen:
        entries = interface.of(obj)
        kind, nbytes = item_of(entries["typestr"])
        shape = tuple(entries["shape"])
        steps = entries.get("strides")
        unit = nbytes if interface.strides_in_bytes else 1
        data = entries.get("data")
        if not isinstance(data, (tuple, list)):
            skip("the dict has no address: the memory is a buffer's")
        address = data[0] + (entries.get("offset") or 0) * (
            0 if interface.strides_in_bytes else nbytes
        )
        strides = packed(shape) if steps is None else tuple(step // unit for step in steps)
        swapped = nbytes > 1 and entries["typestr"].startswith(SWAPPED)
        return Seen(
            address, shape, strides, None if swapped else dtype_of(kind, nbytes), bool(data[1])
        )

    return read


def exports_of(interface: Interface) -> Table:
    """The clauses for exporters of all dicts; those of the protocol follow."""
    table = Table(interface.name, EXPORT)
    source = interface.source
    unit = "bytes" if interface.strides_in_bytes else "elements"

    def entry(exporter: Exporter, key: str) -> Any:
        entries = interface.of(exporter.object)
        if key not in entries:
            skip(f"{key!r} is not in the dict")
        return entries[key]

    @table.clause("dict", f"{interface.attribute} is a dict", source)
    def is_dict(exporter: Exporter) -> None:
        found = getattr(exporter.object, interface.attribute)
        require(isinstance(found, dict), "a dict", type(found).__name__)

    @table.clause("keys", f"{', '.join(interface.required)} are there", source)
    def keys(exporter: Exporter) -> None:
        missing = [key for key in interface.required if key not in interface.of(exporter.object)]
        require(
            not missing, f"the keys {', '.join(interface.required)}", f"no {', '.join(missing)}"
        )

    @table.clause(
        "known keys",
        "no key is there that the protocol does not have: no consumer would honor it",
        source,
    )
    def known_keys(exporter: Exporter) -> None:
        unknown = [
            key
            for key in interface.of(exporter.object)
            if key not in (*interface.required, *interface.optional)
        ]
        require(
            not unknown,
            f"{', '.join((*interface.required, *interface.optional))}",
            f"{', '.join(map(str, unknown))} besides",
        )

    @table.clause("version", f"version is the int {interface.version}", source)
    def version(exporter: Exporter) -> None:
        found = entry(exporter, "version")
        require(
            type(found) is int and found == interface.version, repr(interface.version), repr(found)
        )

    @table.clause("shape", "shape is a tuple of ints, none of them negative", source)
    def shape(exporter: Exporter) -> None:
        found = entry(exporter, "shape")
        is_tuple = isinstance(found, tuple) and all(isinstance(extent, int) for extent in found)
        require(
            is_tuple and all(extent >= 0 for extent in found), "a tuple of ints from 0", repr(found)
        )

    @table.clause("typestr", "typestr is a str of byte order, kind and bytes", source)
    def typestr(exporter: Exporter) -> None:
        found = entry(exporter, "typestr")
        require(isinstance(found, str), "a str", repr(found))
        item_of(found)
        order = found[0] in "<>|="
        require(order, "a byte order first: '<', '>' or '|'", repr(found))

    @table.clause(
        "data", "data is a tuple of an int, the address, and a bool, the read-only flag", source
    )
    def data(exporter: Exporter) -> None:
        found = entry(exporter, "data")
        if not isinstance(found, (tuple, list, int)) and interface.name == "array_interface":
            skip("data is an object with a buffer")
        fits = (
            isinstance(found, tuple)
            and len(found) == 2
            and type(found[0]) is int
            and type(found[1]) is bool
        )
        require(fits, "a tuple (int, bool)", f"{type(found).__name__} {found!r}")

    @table.clause("address", "there is an address where there are elements", source)
    def address(exporter: Exporter) -> None:
        seen = exporter.account(interface.name)
        if not seen.size:
            skip("there are no elements")
        require(seen.address, "an address", "0")

    @table.clause(
        "strides",
        f"strides, if any, are None or a tuple: for each dimension an int of {unit}",
        source,
    )
    def strides(exporter: Exporter) -> None:
        found, extents = entry(exporter, "strides"), entry(exporter, "shape")
        if found is None:
            return
        is_tuple = isinstance(found, tuple) and all(isinstance(step, int) for step in found)
        require(
            is_tuple and len(found) == len(extents),
            f"None, or a tuple of {len(extents)} ints",
            repr(found),
        )

    @table.clause("same each time", "the attribute says the same whenever it is asked", source)
    def same_each_time(exporter: Exporter) -> None:
        first, second = (interface.of(exporter.object) for _ in range(2))
        for key in ("shape", "typestr", "data", "strides", "offset", "version"):
            require(
                first.get(key) == second.get(key),
                f"{key} {first.get(key)!r}",
                repr(second.get(key)),
            )

    table.add(
        "agrees",
        "the address, shape, strides and type are those that the other protocols of the object say",
        source,
        agrees(interface.name),
    )
    table.add(
        "read-only",
        "the read-only flag is what the other protocols of the object say",
        source,
        read_only_agrees(interface.name),
    )
    table.add(
        "references",
        "a dict that is gone holds no reference to the object",
        source,
        releases_references(interface.of),
    )

    @table.clause("leak", "dicts that are gone leave no memory behind", source)
    def leak(exporter: Exporter) -> None:
        leaks_nothing(lambda: getattr(exporter.object, interface.attribute))

    return table


def add_plain_types(table: Table, interface: Interface, says: str, source: str) -> None:
    """Adds the clause of the protocols whose elements are numbers and bools only."""

    @table.clause("plain types", says, source)
    def plain_types(exporter: Exporter) -> None:
        found = interface.of(exporter.object)["typestr"]
        require(item_of(found)[0] in "biufc", "a kind of b, i, u, f or c", repr(found))


# ---------------------------------------------------------------- importers


class Speaker:
    """An object whose attribute is a fabricated dict."""

    def __init__(self, attribute: str, entries: dict[str, Any]) -> None:
        self.entries = entries
        setattr(self, attribute, entries)


Maker = Callable[[Importer, Layout], dict[str, Any]]


def with_changes(entries: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in (entries | changes).items() if value is not MISSING}


@dataclass(frozen=True)
class Fabrication:
    """Makes well-formed and falsified dicts of one protocol."""

    interface: Interface
    truth: Maker

    def __call__(self, importer: Importer, layout: Layout = PLAIN, **changes: Any) -> Speaker:
        return Speaker(
            self.interface.attribute, with_changes(self.truth(importer, layout), changes)
        )


def steps_of(interface: Interface, layout: Layout, item: int) -> tuple[int, ...]:
    return tuple(stride * (item if interface.strides_in_bytes else 1) for stride in layout.strides)


def host_dict(interface: Interface) -> Maker:
    """Makes well-formed dicts about the importer's ground, which the host can access."""

    def make(importer: Importer, layout: Layout) -> dict[str, Any]:
        ground = importer.ground
        return {
            "shape": layout.shape,
            "typestr": "<f4",
            "data": (ground.address + ground.ITEM * layout.first, False),
            "strides": steps_of(interface, layout, ground.ITEM),
            "version": interface.version,
        }

    return make


# Dicts that every importer must refuse: the clause, the error in words, and in the dict.
MALFORMED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("refuses no shape", "a dict without a shape", {"shape": MISSING}),
    ("refuses no typestr", "a dict without a type string", {"typestr": MISSING}),
    ("refuses objects", "memory of Python objects, '|O8'", {"typestr": "|O8"}),
    ("refuses other typestrs", "float of 3 bytes, '<f3',", {"typestr": "<f3"}),
    (
        "refuses swapped bytes",
        "bytes in the other order, as float32 of the native one",
        {"typestr": ">f4"},
    ),
    ("refuses extents", "a negative extent", {"shape": (-3, 4), "strides": None}),
    (
        "refuses an overflow",
        "more elements than there are addresses",
        {"shape": (2**62, 2**62), "strides": None},
    ),
    ("refuses short strides", "one stride for two dimensions", {"strides": (4,)}),
    ("refuses a lone address", "data that is an int, and no pair", {"data": 4096}),
    ("refuses null data", "a null pointer to a non-empty array", {"data": (0, False)}),
)


def imports_of(fabricate: Fabrication) -> Table:
    """The clauses for importers of all dicts; those of the protocol follow."""
    interface = fabricate.interface
    table = Table(interface.name, IMPORT)
    source = interface.source

    def describe(importer: Importer, layout: Layout, read_only: bool) -> Speaker:
        given = fabricate(importer, layout)
        given.entries["data"] = (given.entries["data"][0], read_only)
        return given

    add_views(table, source, describe, on_host=interface.attribute == "__array_interface__")
    for name, says, strides in (
        ("null strides", "strides may be None, and are then those of C-contiguous memory", None),
        ("no strides", "strides may be absent, which is the same", MISSING),
    ):
        table.add(name, says, source, must_take(without_strides(fabricate, strides), PLAIN))
    for name, what, changes in MALFORMED:
        typed = name in ("refuses objects", "refuses other typestrs", "refuses swapped bytes")
        table.add(
            name,
            f"{what} is refused",
            source,
            must_refuse(partial(fabricate, **changes), what, typed=typed),
        )
    return table


def without_strides(
    fabricate: Fabrication, instead: object
) -> Callable[[Importer, Layout, bool], Speaker]:
    return lambda importer, layout, read_only: fabricate(importer, layout, strides=instead)

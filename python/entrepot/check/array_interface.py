"""NumPy's array interface as a dict, ``__array_interface__``: addresses or buffers of host memory,
strides in bytes.
"""

from __future__ import annotations

import entrepot as ep

from .clauses import require, skip
from .interfaces import Fabrication, Interface, exports_of, host_dict, imports_of, reader
from .subjects import PLAIN, SHIFTED, Exporter, Importer, attempt, refuses

NAME = "array_interface"
SOURCE = "NumPy, The array interface protocol: Python side"
INTERFACE = Interface(
    NAME,
    "__array_interface__",
    3,
    strides_in_bytes=True,
    source=SOURCE,
    required=("shape", "typestr", "version"),
    optional=("data", "strides", "descr", "mask", "offset"),
)
speaks = INTERFACE.speaks
read = reader(INTERFACE)

EXPORTS = exports_of(INTERFACE)


@EXPORTS.clause(
    "offset", "offset is there only with a buffer: an address includes it already", SOURCE
)
def offset(exporter: Exporter) -> None:
    entries = INTERFACE.of(exporter.object)
    if not isinstance(entries.get("data"), tuple):
        skip("the memory is a buffer's")
    require(not entries.get("offset"), "no offset", entries.get("offset"))


@EXPORTS.clause("descr", "descr, if any, is a list of tuples", SOURCE)
def descr(exporter: Exporter) -> None:
    found = INTERFACE.of(exporter.object).get("descr")
    if found is None:
        skip("there is no descr")
    fits = isinstance(found, list) and all(
        isinstance(field, tuple) and len(field) in (2, 3) for field in found
    )
    require(fits, "a list of tuples of 2 or 3", repr(found))


fabricate = Fabrication(INTERFACE, host_dict(INTERFACE))
IMPORTS = imports_of(fabricate)


@IMPORTS.clause(
    "later version", "an object of a later version is not refused for that alone", SOURCE
)
def later_version(importer: Importer) -> None:
    difference = importer.shows(importer.take(fabricate(importer, PLAIN, version=4)), PLAIN)
    require(not difference, "the elements", difference)


@IMPORTS.clause(
    "buffer", "data may be an object with a buffer, and offset the bytes to skip there", SOURCE
)
def buffer(importer: Importer) -> None:
    floats = memoryview(importer.ground.floats()).cast("B")
    result = importer.take(fabricate(importer, PLAIN, data=floats, offset=64, strides=None))
    difference = importer.shows(result, SHIFTED)
    require(not difference, "the elements that begin 64 bytes into the buffer", difference)


@IMPORTS.clause("refuses beyond a buffer", "elements outside of a buffer are refused", SOURCE)
def refuses_beyond(importer: Importer) -> None:
    floats = memoryview(importer.ground.floats()).cast("B")
    given = fabricate(importer, PLAIN, data=floats[:40], strides=None)
    refuses(importer, given, "48 bytes of elements in a buffer of 40")


@IMPORTS.clause(
    "buffer read-only", "memory of a read-only buffer cannot be written afterwards", SOURCE
)
def buffer_read_only(importer: Importer) -> None:
    backing = bytes(importer.ground.NBYTES)
    view = importer.look(attempt(importer, fabricate(importer, PLAIN, data=backing, strides=None)))
    if view.data_ptr != ep.asarray(backing).data_ptr:
        skip("the importer copies")
    require(view.read_only, "a read-only result, or a refusal", "a writable view of a bytes object")

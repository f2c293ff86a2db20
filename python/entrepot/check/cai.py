"""The CUDA array interface, version 3: a dict that describes memory of CUDA devices and a stream to
synchronize with.
"""

from __future__ import annotations

import ctypes
from typing import Any

from .clauses import require, skip
from .interfaces import (
    Fabrication,
    Interface,
    Speaker,
    add_plain_types,
    exports_of,
    host_dict,
    imports_of,
    reader,
)
from .subjects import EMPTY, PLAIN, Exporter, Importer, refuses

NAME = "cai"
SOURCE = "CUDA Array Interface 3: Python Interface Specification"
SYNCHRONIZATION = "CUDA Array Interface 3: Synchronization"
INTERFACE = Interface(
    NAME,
    "__cuda_array_interface__",
    3,
    strides_in_bytes=True,
    source=SOURCE,
    required=("shape", "typestr", "data", "version"),
    optional=("strides", "descr", "mask", "stream"),
)
speaks = INTERFACE.speaks
read = reader(INTERFACE)

MEMORY_TYPE = 2  # CU_POINTER_ATTRIBUTE_MEMORY_TYPE, which needs no current context

EXPORTS = exports_of(INTERFACE)


@EXPORTS.clause("zero size", "the address of memory without elements is 0", SOURCE)
def zero_size(exporter: Exporter) -> None:
    seen = exporter.account(NAME)
    if seen.size:
        skip("there are elements")
    require(not seen.address, "0", f"{seen.address:#x}")


add_plain_types(
    EXPORTS,
    INTERFACE,
    "typestr is of a number or bool: the meaning of others is not agreed",
    SOURCE,
)


@EXPORTS.clause(
    "stream",
    "stream, if any, must be None or an int from 1: 0 may mean two streams",
    SYNCHRONIZATION,
)
def stream(exporter: Exporter) -> None:
    found = INTERFACE.of(exporter.object).get("stream")
    if found is None:
        skip("there is no stream, and nothing to wait for")
    require(type(found) is int and found > 0, "an int from 1", repr(found))


@EXPORTS.clause("mask", "mask, if any, must be None or an object with the interface", SOURCE)
def mask(exporter: Exporter) -> None:
    found = INTERFACE.of(exporter.object).get("mask")
    if found is None:
        skip("there is no mask")
    require(speaks(found), f"an object with {INTERFACE.attribute}", type(found).__name__)


@EXPORTS.clause("accessible", "a CUDA device can reach the address", SOURCE)
def accessible(exporter: Exporter) -> None:
    seen = exporter.account(NAME)
    if not seen.size:
        skip("there are no elements")
    cuda = driver()
    found = ctypes.c_uint()
    status = cuda.cuPointerGetAttribute(
        ctypes.byref(found), MEMORY_TYPE, ctypes.c_uint64(seen.address)
    )
    require(
        status == 0,
        "an address that the driver knows",
        f"{seen.address:#x}: error {status} of cuPointerGetAttribute",
    )


def driver() -> Any:
    """CUDA's driver with a device; not applicable without one."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        skip("this needs a CUDA driver, which is not available here")
    count = ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        skip("only a CUDA driver can say, and it finds no device here")
    return cuda


# Importers that query a driver refuse dicts about host memory. No clause here is then applicable.
fabricate = Fabrication(INTERFACE, host_dict(INTERFACE))
IMPORTS = imports_of(fabricate)


@IMPORTS.clause(
    "zero size null",
    "memory without elements is imported; its address is 0 and is not read",
    SOURCE,
)
def zero_size_null(importer: Importer) -> None:
    difference = importer.shows(importer.take(fabricate(importer, EMPTY, data=(0, False))), EMPTY)
    require(not difference, f"shape {EMPTY.shape}", difference)


@IMPORTS.clause("refuses no version", "a dict without a version is refused", SOURCE)
def refuses_no_version(importer: Importer) -> None:
    given = fabricate(importer)
    del given.entries["version"]
    refuses(importer, given, "a dict without a version")


@IMPORTS.clause(
    "refuses a mask",
    "a mask is honored or refused: elements that are not there may not be shown",
    SOURCE,
)
def refuses_a_mask(importer: Importer) -> None:
    flags = (ctypes.c_bool * 12)()
    entries = {
        "shape": (3, 4),
        "typestr": "|b1",
        "data": (ctypes.addressof(flags), True),
        "version": 3,
    }
    refuses(
        importer,
        fabricate(importer, PLAIN, mask=Speaker(INTERFACE.attribute, entries)),
        "masked memory",
    )


@IMPORTS.clause("refuses stream 0", "stream 0 is refused: it may mean two streams", SYNCHRONIZATION)
def refuses_stream_0(importer: Importer) -> None:
    refuses(importer, fabricate(importer, PLAIN, stream=0), "stream 0")

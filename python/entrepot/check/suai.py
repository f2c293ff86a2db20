"""The SYCL USM array interface, version 1: a dict about USM memory and the context that it is bound
to, strides in elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import entrepot as ep

from . import structs
from .buffer import Fabricated as BufferFabricated
from .clauses import Failed, require, skip, words_of
from .interfaces import (
    MISSING,
    Fabrication,
    Interface,
    Speaker,
    add_plain_types,
    exports_of,
    imports_of,
    item_of,
    reader,
    steps_of,
    with_changes,
)
from .subjects import PLAIN, SHIFTED, Exporter, Importer, Layout, attempt, refuses

NAME = "suai"
SOURCE = "dpctl, __sycl_usm_array_interface__ attribute"
EXCHANGE = "dpctl, Zero copy data exchange using SYCL USM"
ORDER = "Entrepot, The SYCL USM array interface: Order"
INTERFACE = Interface(
    NAME,
    "__sycl_usm_array_interface__",
    1,
    strides_in_bytes=False,
    source=SOURCE,
    required=("shape", "typestr", "data", "version", "syclobj"),
    optional=("strides", "offset", "typedescr"),
)
speaks = INTERFACE.speaks
read = reader(INTERFACE)

CONTEXT_CAPSULE, QUEUE_CAPSULE = b"SyclContextRef", b"SyclQueueRef"

EXPORTS = exports_of(INTERFACE)


add_plain_types(EXPORTS, INTERFACE, "typestr is of a number or bool", SOURCE)


@EXPORTS.clause("offset", "offset, if any, is an int of elements", SOURCE)
def offset(exporter: Exporter) -> None:
    entries = INTERFACE.of(exporter.object)
    if "offset" not in entries:
        skip("there is no offset")
    require(type(entries["offset"]) is int, "an int", repr(entries["offset"]))


@EXPORTS.clause(
    "syclobj",
    "syclobj is a selector, a SyclContext, a SyclQueue, a capsule of one, or has _get_capsule()",
    SOURCE,
)
def syclobj(exporter: Exporter) -> None:
    found = INTERFACE.of(exporter.object)["syclobj"]
    if isinstance(found, str):
        return
    capsule = (
        found
        if isinstance(found, structs.Capsule)
        else getattr(found, "_get_capsule", lambda: None)()
    )
    name = structs.name_of(capsule) if isinstance(capsule, structs.Capsule) else None
    require(
        name in (CONTEXT_CAPSULE, QUEUE_CAPSULE),
        "one of the six forms",
        f"{type(found).__name__} {name!r}",
    )


@EXPORTS.clause(
    "fresh capsules",
    "_get_capsule() makes a capsule each time: every consumer uses one up",
    EXCHANGE,
)
def fresh_capsules(exporter: Exporter) -> None:
    found = INTERFACE.of(exporter.object)["syclobj"]
    if not hasattr(found, "_get_capsule"):
        skip("syclobj has no _get_capsule()")
    first, second = found._get_capsule(), found._get_capsule()
    require(first is not second, "two capsules", "one")


@EXPORTS.clause(
    "known pointer",
    "the address is USM of the context of syclobj, and the elements lie within their allocation",
    SOURCE,
)
def known_pointer(exporter: Exporter) -> None:
    needs_sycl()
    seen = read(exporter.object)
    if not seen.size or not seen.address:
        skip("there are no elements, or there is no address")
    try:
        syclobj(exporter)
    except Failed:
        skip("syclobj is in none of the six forms")
    interface = INTERFACE.of(exporter.object)
    item = item_of(interface["typestr"])[1]
    low, high = Layout(seen.shape, seen.strides).span
    bytes_of = {
        "shape": ((high - low) * item,),
        "typestr": "|u1",
        "data": (seen.address + low * item, False),
        "version": 1,
    }
    try:
        ep.asarray(Speaker(INTERFACE.attribute, bytes_of | {"syclobj": interface["syclobj"]}))
    except ep.InterfaceError as refusal:
        raise Failed("memory that the driver knows", words_of(refusal)) from None


# Takes about 0.2 s on a current CPU.
SPIN = """
__kernel void spin(__global int *out, long turns) {
    unsigned x = 1;
    for (long i = 0; i < turns; ++i) x = x * 1664525 + 1013904223;
    out[0] = x;
}
"""
TURNS = 150_000_000


@EXPORTS.clause(
    "does not wait",
    "the attribute is read without waiting for work: the queue in it orders the consumer's",
    ORDER,
)
def does_not_wait(exporter: Exporter) -> None:
    try:
        queue = ep.Queue(INTERFACE.of(exporter.object)["syclobj"])
        scratch = ep.empty(1, "int32", queue=queue)
        kernel = ep.Program(SPIN, queue.device).kernel("spin")
    except Exception as error:
        skip(f"no work can be put into the queue: {words_of(error)}")
    work = kernel[1](scratch, ep.Scalar(TURNS, "int64"), queue=queue)
    interface = INTERFACE.of(exporter.object)
    waited = work.done
    work.wait()
    del interface
    require(
        not waited, "work in the queue that is under way still", "work that has been waited for"
    )


def needs_sycl() -> None:
    if not any(device.backend in ("opencl", "level_zero") for device in ep.devices()):
        skip("only a SYCL runtime can say, and it has no device here")


def truth(importer: Importer, layout: Layout) -> dict[str, Any]:
    usm = importer.ground.usm()
    return {
        "shape": layout.shape,
        "typestr": "<f4",
        "data": (importer.ground.address + importer.ground.ITEM * layout.first, False),
        "strides": steps_of(INTERFACE, layout, importer.ground.ITEM),
        "offset": 0,
        "version": 1,
        "syclobj": usm.queue,
    }


fabricate = Fabrication(INTERFACE, truth)
IMPORTS = imports_of(fabricate)


@IMPORTS.clause("offset", "the first element is offset elements behind the address", SOURCE)
def imported_offset(importer: Importer) -> None:
    given = fabricate(importer, SHIFTED, data=(importer.ground.address, False), offset=16)
    difference = importer.shows(attempt(importer, given), SHIFTED)
    require(not difference, "the elements from the 16th", difference)


@IMPORTS.clause("no offset", "offset may be absent, and is then 0", SOURCE)
def no_offset(importer: Importer) -> None:
    difference = importer.shows(
        importer.take(fabricate(importer, PLAIN, strides=None, offset=MISSING)), PLAIN
    )
    require(not difference, "the elements", difference)


class Carrier:
    """Any object with _get_capsule()."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._get_capsule = make


# The forms of syclobj. An importer that does not know dpctl sees its SyclContext and SyclQueue as
# objects with _get_capsule().
FORMS: dict[str, Callable[[Any], Any]] = {
    "selector": lambda usm: str(usm.device),
    "context": lambda usm: Carrier(usm.context._get_capsule),
    "context capsule": lambda usm: usm.context._get_capsule(),
    "queue": lambda usm: Carrier(usm.queue._get_capsule),
    "queue capsule": lambda usm: usm.queue._get_capsule(),
}


def queue_capsule(usm: Any) -> Any:
    return FORMS["queue capsule"](usm)


def takes_form(form: str) -> Callable[[Importer], None]:
    def check(importer: Importer) -> None:
        given = fabricate(importer, PLAIN, strides=None, syclobj=FORMS[form](importer.ground.usm()))
        difference = importer.shows(importer.take(given), PLAIN)
        require(not difference, f"memory whose syclobj is a {form}", difference)

    return check


for form in FORMS:
    IMPORTS.add(
        f"syclobj {form}",
        f"syclobj may be a {form}" + ", by _get_capsule()" * (form in ("context", "queue")),
        SOURCE,
        takes_form(form),
    )


@IMPORTS.clause("uses the capsule", "a capsule that was taken is renamed to used_…", EXCHANGE)
def uses_the_capsule(importer: Importer) -> None:
    capsule = queue_capsule(importer.ground.usm())
    attempt(importer, fabricate(importer, PLAIN, strides=None, syclobj=capsule))
    name = structs.name_of(capsule)
    require(name == b"used_" + QUEUE_CAPSULE, "used_SyclQueueRef", name)


@IMPORTS.clause(
    "keeps a refused capsule",
    "a capsule is not used up by an import that is refused: another may follow",
    EXCHANGE,
)
def keeps_a_refused_capsule(importer: Importer) -> None:
    capsule = queue_capsule(importer.ground.usm())
    memory = bytearray(64)
    given = fabricate(
        importer, PLAIN, strides=None, data=(address_in(memory), False), syclobj=capsule
    )
    try:
        importer.take(given)
    except Exception:
        name = structs.name_of(capsule)
        require(name == QUEUE_CAPSULE, "SyclQueueRef", name)
    else:
        skip("a pointer that is no USM memory is not refused")


@IMPORTS.clause("buffer", "without data, the buffer of the object is the memory", EXCHANGE)
def buffer(importer: Importer) -> None:
    given = BufferFabricated(importer, PLAIN)
    setattr(
        given,
        INTERFACE.attribute,
        with_changes(truth(importer, PLAIN), {"data": MISSING, "strides": None}),
    )
    difference = importer.shows(importer.take(given), PLAIN)
    require(not difference, "the elements of the buffer", difference)


for name, what, changes in (
    ("refuses a version", "version 2", {"version": 2}),
    ("refuses no version", "a dict without a version", {"version": MISSING}),
    ("refuses no syclobj", "a dict without a syclobj", {"syclobj": MISSING}),
    ("refuses other syclobjs", "a syclobj in none of the six forms", {"syclobj": 7}),
):  # fmt: skip

    def _refuses(importer: Importer, what: str = what, changes: dict[str, Any] = changes) -> None:
        refuses(importer, fabricate(importer, PLAIN, **changes), what)

    IMPORTS.add(name, f"{what} is refused", SOURCE, _refuses)


@IMPORTS.clause("refuses a used capsule", "a capsule that was used already is refused", EXCHANGE)
def refuses_a_used_capsule(importer: Importer) -> None:
    capsule = queue_capsule(importer.ground.usm())
    structs.rename(capsule, USED_QUEUE)
    try:
        refuses(
            importer,
            fabricate(importer, PLAIN, strides=None, syclobj=capsule),
            "a capsule named used_SyclQueueRef",
        )
    finally:
        structs.rename(capsule, QUEUE_CAPSULE)  # so that its destructor frees what it holds


USED_QUEUE = b"used_" + QUEUE_CAPSULE


def refuses_foreign(form: str) -> Callable[[Importer], None]:
    def check(importer: Importer) -> None:
        memory = bytearray(64)
        usm = importer.ground.usm()
        given = fabricate(
            importer,
            PLAIN,
            strides=None,
            data=(address_in(memory), False),
            syclobj=getattr(usm, form),
        )
        refuses(importer, given, f"memory that is no USM, with a {form}")

    return check


IMPORTS.add(
    "refuses foreign memory",
    "an address that the queue's context does not know is refused",
    SOURCE,
    refuses_foreign("queue"),
)
IMPORTS.add(
    "refuses foreign memory of a context",
    "an address that the context does not know is refused",
    SOURCE,
    refuses_foreign("context"),
)


@IMPORTS.clause(
    "refuses beyond the allocation", "elements outside of the allocation are refused", SOURCE
)
def refuses_beyond(importer: Importer) -> None:
    refuses(
        importer,
        fabricate(importer, PLAIN, shape=(2**26, 4), strides=None),
        "1 GiB of elements in an allocation of some bytes",
    )


def address_in(memory: bytearray) -> int:
    import ctypes

    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


__all__ = ["EXPORTS", "IMPORTS", "NAME", "Speaker", "fabricate", "read", "speaks"]

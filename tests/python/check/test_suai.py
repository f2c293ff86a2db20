"""Each clause of the SYCL USM array interface catches its violation."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import pytest

import entrepot as ep
from check.breaking import all_kept, is_caught, leaked_references, names, of_exporter, of_importer
from check.interfaces import Entries, Importers, Proxy, exporters, speaking
from entrepot.check import structs
from entrepot.check.clauses import EXPORT, IMPORT
from entrepot.check.interfaces import MISSING, with_changes
from entrepot.check.suai import Carrier
from support.sycl_capsules import capsule_of

pytestmark = [pytest.mark.host, pytest.mark.sycl]

ATTRIBUTE = "__sycl_usm_array_interface__"
NOT_USM = (ctypes.c_float * 16)()


@functools.cache
def array() -> ep.Array:
    return ep.full((4, 4), 1, "float32", device="opencl:cpu", kind="shared")


def truth() -> Entries:
    return array()[:3].__sycl_usm_array_interface__ | {"strides": (4, 1)}


def other_truth() -> Entries:
    return array()[:3].__array_interface__ | {"strides": (16, 4)}


def altered(**changes: Any) -> type:
    return speaking(ATTRIBUTE, lambda: with_changes(truth(), changes))


def waiting() -> Entries:
    entries = truth()
    entries["syclobj"].wait()
    return entries


@functools.cache
def export_breakers() -> dict[str, type]:
    """Made once a device is known to exist."""
    capsule = capsule_of(array().queue)
    return exporters(ATTRIBUTE, truth, "__array_interface__", other_truth) | {
        "plain types": altered(typestr="|V4"),
        "offset": altered(offset=0.0),
        "syclobj": altered(syclobj=7),
        "fresh capsules": altered(syclobj=Carrier(lambda: capsule)),
        "known pointer": altered(data=(ctypes.addressof(NOT_USM), False)),
        "does not wait": speaking(ATTRIBUTE, waiting),
    }


def kind_of(entries: Entries) -> str:
    return type(entries.get("syclobj")).__name__


def is_plain(entries: Entries) -> bool:
    """True for the queue itself, this memory and no offset: at most the strides are false."""
    data = entries.get("data")
    return (
        kind_of(entries) == "Queue"
        and isinstance(data, tuple)
        and data[0] != 0
        and entries.get("offset") == 0
    )


importers = Importers(ATTRIBUTE, ep.asarray, truth)


def refusing(wrong: Callable[[Entries], bool]) -> Callable[[Any], Any]:
    return importers.correcting(lambda e: None if wrong(e) else e)


def has_form(form: str) -> Callable[[Entries], bool]:
    return lambda entries: form_of(entries) == form


def form_of(entries: Entries) -> str:
    """The name of the form, as the clauses have it."""
    found = entries.get("syclobj")
    if isinstance(found, str):
        return "selector"
    name = structs.name_of(found) if isinstance(found, structs.Capsule) else None
    if name:
        return {b"SyclQueueRef": "queue capsule", b"SyclContextRef": "context capsule"}.get(
            name, "used"
        )
    if isinstance(found, Carrier):
        return {b"SyclQueueRef": "queue", b"SyclContextRef": "context"}[
            structs.name_of(found._get_capsule()) or b""
        ]
    return type(found).__name__


def uses_up(obj: Any) -> Any:
    """Consumes the capsule, even if the import fails."""
    capsule = getattr(obj, ATTRIBUTE, {}).get("syclobj")
    try:
        return ep.asarray(obj)
    except ValueError:
        if isinstance(capsule, structs.Capsule) and structs.name_of(capsule) == b"SyclQueueRef":
            structs.rename(capsule, b"used_SyclQueueRef")
            leaked_references.append(capsule)
        raise


def leaves_fresh(obj: Any) -> Any:
    """Consumes the capsule without renaming it."""
    capsule = getattr(obj, ATTRIBUTE, {}).get("syclobj")
    if isinstance(capsule, structs.Capsule) and structs.name_of(capsule) == b"SyclQueueRef":
        return ep.asarray(changed(obj, syclobj=array().queue))
    return ep.asarray(obj)


def changed(obj: Any, **changes: Any) -> Proxy:
    return Proxy(ATTRIBUTE, with_changes(getattr(obj, ATTRIBUTE), changes), obj)


def takes_foreign(kind: str) -> Callable[[Any], Any]:
    """Accepts an address that no driver knows."""

    def take(obj: Any) -> Any:
        try:
            return ep.asarray(obj)
        except ep.InterfaceError as refusal:
            entries = getattr(obj, ATTRIBUTE)
            if (
                "is not USM memory" in str(refusal)
                and kind_of(entries) == kind
                and entries["data"][0]
            ):
                return ep.zeros((3, 4), "float32", device="host")
            raise

    return take


def takes_beyond(obj: Any) -> Any:
    try:
        return ep.asarray(obj)
    except ep.InterfaceError:
        if getattr(obj, ATTRIBUTE, {}).get("shape") == (2**26, 4):
            return ep.asarray(changed(obj, shape=(3, 4)))
        raise


@functools.cache
def import_breakers() -> dict[str, Any]:
    return importers.shared(1, is_plain) | {
        "offset": importers.correcting(lambda e: e | ({"offset": 0} if e.get("offset") else {})),
        "no offset": refusing(lambda e: "offset" not in e),
        **{
            f"syclobj {form}": refusing(has_form(form)) for form in ("selector", "context", "queue")
        },
        "syclobj context capsule": refusing(lambda e: form_of(e) == "context capsule"),
        "syclobj queue capsule": QueueCapsuleOnce(),
        "uses the capsule": leaves_fresh,
        "keeps a refused capsule": uses_up,
        "buffer": refusing(lambda e: "data" not in e),
        "refuses a version": importers.replacing("version", lambda e: e.get("version") == 2, 1),
        "refuses no version": importers.replacing("version", lambda e: "version" not in e, 1),
        "refuses no syclobj": importers.correcting(lambda e: {"syclobj": array().queue, **e}),
        "refuses other syclobjs": importers.correcting(
            lambda e: e | ({"syclobj": array().queue} if e.get("syclobj") == 7 else {})
        ),
        "refuses a used capsule": importers.correcting(
            lambda e: e | ({"syclobj": array().queue} if form_of(e) == "used" else {})
        ),
        "refuses foreign memory": takes_foreign("Queue"),
        "refuses foreign memory of a context": takes_foreign("Context"),
        "refuses beyond the allocation": takes_beyond,
    }


class QueueCapsuleOnce:
    """Refuses the first capsule of a queue."""

    def __init__(self) -> None:
        self.done = False

    def __call__(self, obj: Any) -> Any:
        if not self.done and form_of(getattr(obj, ATTRIBUTE, {})) == "queue capsule":
            self.done = True
            raise ValueError("not taken")
        return ep.asarray(obj)


SUAI_EXPORTS, SUAI_IMPORTS = names("suai", EXPORT), names("suai", IMPORT)


def test_clauses_all_have_a_breaker() -> None:
    assert export_breakers().keys() == set(SUAI_EXPORTS)
    assert import_breakers().keys() == set(SUAI_IMPORTS)


def test_correct_exporter_passes_all_clauses() -> None:
    all_kept(of_exporter("suai", altered()), {"agrees", "read-only"})
    all_kept(of_exporter("suai", speaking(ATTRIBUTE, truth, __array_interface__=other_truth)))
    all_kept(of_exporter("suai", altered(offset=MISSING)), {"agrees", "read-only", "offset"})


@pytest.mark.parametrize("name", SUAI_EXPORTS)
def test_violating_exporter_fails_its_clause(name: str) -> None:
    is_caught(of_exporter("suai", export_breakers()[name]), name)
    leaked_references.clear()


def test_correct_importer_passes_all_clauses() -> None:
    all_kept(of_importer("suai", ep.asarray, "opencl:cpu"))


@pytest.mark.parametrize("name", SUAI_IMPORTS)
def test_violating_importer_fails_its_clause(name: str) -> None:
    is_caught(of_importer("suai", import_breakers()[name], "opencl:cpu"), name)
    leaked_references.clear()


def test_clauses_on_host_are_not_applicable() -> None:
    found = of_importer("suai", ep.asarray)
    assert {outcome.status for outcome in found.values()} == {"not applicable"}

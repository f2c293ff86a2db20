"""Each clause of the array interface catches its violation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import entrepot as ep
from check.breaking import all_kept, is_caught, leaked_references, names, of_exporter, of_importer
from check.interfaces import Entries, Importers, exporters, speaking
from entrepot.check.clauses import EXPORT, IMPORT
from entrepot.check.interfaces import with_changes

pytestmark = pytest.mark.host

ATTRIBUTE = "__array_interface__"
ARRAY = ep.full((4, 4), 1, "float32", device="host")[:3]


def truth() -> Entries:
    return ARRAY.__array_interface__ | {"strides": (16, 4)}


def altered(**changes: Any) -> type:
    return speaking(ATTRIBUTE, lambda: with_changes(truth(), changes))


EXPORTERS = exporters(ATTRIBUTE, truth, "__cuda_array_interface__", truth) | {
    "offset": altered(offset=4),
    "descr": altered(descr="<f4"),
}


def good(obj: Any) -> ep.Array:
    """Imports like Entrepot, and also later versions, which Entrepot refuses."""
    entries = getattr(obj, ATTRIBUTE, None)
    if entries and entries.get("version") == 4:
        entries["version"] = 3
    return ep.asarray(obj)


importers = Importers(ATTRIBUTE, good, truth)


def beyond(entries: Entries) -> Entries:
    data = entries.get("data")
    return entries | (
        {"data": data.obj} if isinstance(data, memoryview) and data.nbytes == 40 else {}
    )


def written(entries: Entries) -> Entries:
    data = entries.get("data")
    return entries | (
        {"data": (ep.asarray(data).data_ptr, False)} if isinstance(data, bytes) else {}
    )


IMPORTERS: dict[str, Any] = importers.shared(
    4, lambda e: e.get("shape") == (3, 4) and isinstance(e.get("data"), tuple)
) | {
    "later version": importers.correcting(lambda e: None if e["version"] == 4 else e),
    "buffer": importers.correcting(lambda e: e | ({"offset": 0} if e.get("offset") else {})),
    "refuses beyond a buffer": importers.correcting(beyond),
    "buffer read-only": importers.correcting(written),
}


def test_clauses_all_have_a_breaker() -> None:
    assert EXPORTERS.keys() == set(names("array_interface", EXPORT))
    assert IMPORTERS.keys() == set(names("array_interface", IMPORT))


def test_correct_exporter_passes_all_clauses() -> None:
    all_kept(of_exporter("array_interface", altered(descr=[("", "<f4")])), {"agrees", "read-only"})
    all_kept(
        of_exporter("array_interface", speaking(ATTRIBUTE, truth, __cuda_array_interface__=truth)),
        {"descr"},
    )


@pytest.mark.parametrize(("name", "kind"), EXPORTERS.items(), ids=EXPORTERS)
def test_violating_exporter_fails_its_clause(name: str, kind: type) -> None:
    is_caught(of_exporter("array_interface", kind), name)
    leaked_references.clear()


def test_correct_importer_passes_all_clauses() -> None:
    all_kept(of_importer("array_interface", good))


@pytest.mark.parametrize(("name", "take"), IMPORTERS.items(), ids=IMPORTERS)
def test_violating_importer_fails_its_clause(name: str, take: Callable[[Any], Any]) -> None:
    is_caught(of_importer("array_interface", take), name)
    leaked_references.clear()

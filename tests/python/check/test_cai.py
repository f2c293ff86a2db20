"""Each clause of the CUDA array interface catches its violation, also without CUDA."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

import entrepot as ep
from check.breaking import all_kept, is_caught, leaked_references, names, of_exporter, of_importer
from check.interfaces import Entries, Importers, Proxy, exporters, speaking
from entrepot.check import cai
from entrepot.check.clauses import EXPORT, IMPORT
from entrepot.check.interfaces import with_changes

pytestmark = pytest.mark.host

ATTRIBUTE = "__cuda_array_interface__"
ARRAY = ep.full((4, 4), 1, "float32", device="host")[:3]


class Driver:
    """Stands for CUDA's driver: knows all pointers, or none."""

    def __init__(self, status: int) -> None:
        self.status = status

    def cuPointerGetAttribute(self, found: Any, attribute: int, pointer: ctypes.c_uint64) -> int:
        return self.status


@pytest.fixture(autouse=True)
def knowing_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cai, "driver", lambda: Driver(0))


def truth() -> Entries:
    return ARRAY.__array_interface__ | {"strides": (16, 4)}


def altered(**changes: Any) -> type:
    return speaking(ATTRIBUTE, lambda: with_changes(truth(), changes))


EXPORTERS = exporters(ATTRIBUTE, truth, "__array_interface__", truth) | {
    "zero size": altered(shape=(0, 4)),
    "plain types": altered(typestr="<V4"),
    "stream": altered(stream=0),
    "mask": altered(mask=5),
}


def good(obj: Any) -> ep.Array:
    """Imports by the array interface with the same entries, after a check of `mask` and
    `stream`."""
    entries = getattr(obj, ATTRIBUTE, None)
    if entries is None:
        raise TypeError("no memory of CUDA")
    if entries.get("mask") is not None or entries.get("stream") == 0 or "version" not in entries:
        raise ValueError("not taken")
    known = {
        key: entries[key]
        for key in ("shape", "typestr", "data", "strides", "version")
        if key in entries
    }
    return ep.asarray(Proxy("__array_interface__", known, obj))


importers = Importers(ATTRIBUTE, good, truth)
IMPORTERS: dict[str, Any] = importers.shared(4, lambda e: e.get("shape") == (3, 4)) | {
    "zero size null": importers.correcting(
        lambda e: None if e.get("shape") == (0, 4) and not e["data"][0] else e
    ),
    "refuses no version": importers.correcting(lambda e: {"version": 3, **e}),
    "refuses a mask": importers.correcting(lambda e: e | {"mask": None}),
    "refuses stream 0": importers.correcting(lambda e: e | {"stream": e.get("stream") or None}),
}
ELSEWHERE = {"accessible"}


def test_clauses_all_have_a_breaker() -> None:
    assert EXPORTERS.keys() | ELSEWHERE == set(names("cai", EXPORT))
    assert IMPORTERS.keys() == set(names("cai", IMPORT))


NONE_ASKED = {"agrees", "read-only", "zero size", "stream", "mask"}


def test_correct_exporter_passes_all_clauses() -> None:
    all_kept(of_exporter("cai", altered()), NONE_ASKED)
    all_kept(
        of_exporter("cai", altered(stream=1, mask=altered()())), NONE_ASKED - {"stream", "mask"}
    )
    all_kept(
        of_exporter("cai", speaking(ATTRIBUTE, truth, __array_interface__=truth)),
        {"zero size", "stream", "mask"},
    )
    empty = of_exporter("cai", altered(shape=(0, 4), data=(0, False)))
    all_kept(empty, NONE_ASKED - {"zero size"} | {"address", "accessible"})


@pytest.mark.parametrize(("name", "kind"), EXPORTERS.items(), ids=EXPORTERS)
def test_violating_exporter_fails_its_clause(name: str, kind: type) -> None:
    is_caught(of_exporter("cai", kind), name)
    leaked_references.clear()


def test_unknown_pointer_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cai, "driver", lambda: Driver(1))
    is_caught(of_exporter("cai", altered()), "accessible")


def test_clause_without_driver_is_not_applicable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: (_ for _ in ()).throw(OSError(name)))
    found = of_exporter("cai", altered())
    assert found["accessible"].found == "this needs a CUDA driver, which is not available here"


def test_correct_importer_passes_all_clauses() -> None:
    all_kept(of_importer("cai", good))


@pytest.mark.parametrize(("name", "take"), IMPORTERS.items(), ids=IMPORTERS)
def test_violating_importer_fails_its_clause(name: str, take: Callable[[Any], Any]) -> None:
    is_caught(of_importer("cai", take), name)
    leaked_references.clear()

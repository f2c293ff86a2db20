"""Proof that a clause can fail: an object that violates only this clause fails this clause only."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterable
from typing import Any
from unittest import mock

import entrepot as ep
from entrepot.check import protocols, subjects
from entrepot.check.clauses import EXPORT, FAILED, IMPORT, PASSED, Outcome, ask
from entrepot.check.protocols import PROTOCOLS

Make = Callable[[], Any]
Take = Callable[[Any], Any]
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]

# References that broken exporters and importers keep instead of releasing them.
leaked_references: list[Any] = []


def names(protocol: str, side: str) -> list[str]:
    return [clause.name for clause in PROTOCOLS[protocol].clauses(side)]


def outcomes(protocol: str, side: str, subject: Any) -> dict[str, Outcome]:
    """Clause → outcome, of all clauses of the protocol."""
    found = {}
    for clause in PROTOCOLS[protocol].clauses(side):
        if side == IMPORT:
            subject.ground.reset()
        found[clause.name] = ask(clause, subject)
    return found


def failed(found: dict[str, Outcome]) -> dict[str, str]:
    return {
        name: f"asked {outcome.asked}; found {outcome.found}"
        for name, outcome in found.items()
        if outcome.status == FAILED
    }


def of_exporter(protocol: str, make: Make) -> dict[str, Outcome]:
    return outcomes(protocol, EXPORT, protocols.exporter(make, repeatable=True))


def of_importer(protocol: str, take: Take, device: str = "host") -> dict[str, Outcome]:
    # These importers release at once or never.
    with mock.patch.object(subjects, "SECONDS_TO_SETTLE", 0.1):
        return outcomes(protocol, IMPORT, protocols.importer(take, device))


def is_caught(
    found: dict[str, Outcome], name: str, also: Iterable[str] = (), perhaps: Iterable[str] = ()
) -> None:
    """``also``: clauses that necessarily fail as well. ``perhaps``: clauses whose result depends
    on the interpreter's allocator."""
    assert failed(found).keys() - set(perhaps) == {name, *also} - set(perhaps), failed(found)


def all_kept(found: dict[str, Outcome], unasked: Iterable[str] = ()) -> None:
    """Every clause passes, except those that do not apply to this subject."""
    assert failed(found) == {}
    assert {name for name, outcome in found.items() if outcome.status != PASSED} == set(unasked)


def leak() -> None:
    libc.malloc(64)


def keeps_reference(obj: Any) -> ep.Array:
    """An importer that never releases the object."""
    leaked_references.append(obj)
    return ep.asarray(obj)


def leaks_memory(obj: Any) -> ep.Array:
    """An importer that leaks memory at each import."""
    leak()
    return ep.asarray(obj)


class ReusesMemory:
    """Mixin of exporters: the next object reuses an object's memory once it dies, even if a
    consumer has a tensor or a buffer. Each subclass has a list ``free``."""

    array: ep.Array
    free: list[ep.Array]

    def __init__(self) -> None:
        super().__init__()
        if self.free:
            self.array = self.free.pop()
        weakref.finalize(self, self.free.append, self.array)


class WrongOnce:
    """Confuses the first object with another."""

    def __init__(self) -> None:
        self.done = False

    def __call__(self, obj: Any) -> Any:
        if not self.done:
            self.done = True
            return ep.zeros((3, 4), "float32", device="host")
        return ep.asarray(obj)


class Described:
    """Memory that the object does not keep alive."""

    def __init__(self, address: int) -> None:
        self.__array_interface__ = {
            "shape": (3, 4),
            "typestr": "<f4",
            "data": (address, False),
            "version": 3,
        }

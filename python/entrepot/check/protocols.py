"""Table of the protocols, in the order of the report; each is a module with the same names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from . import array_interface, array_struct, buffer, c_exchange_api, cai, dlpack, suai
from .clauses import EXPORT, IMPORT, Clause, Table
from .subjects import Exporter, Importer, Seen


@dataclass(frozen=True)
class Protocol:
    """A protocol: detection, reading of an object's description, and the clauses of both sides."""

    name: str
    title: str
    speaks: Callable[[Any], bool]
    read: Callable[[Any], Seen]
    exports: Table
    imports: Table

    def clauses(self, side: str) -> Table:
        return {EXPORT: self.exports, IMPORT: self.imports}[side]


PROTOCOLS: dict[str, Protocol] = {
    module.NAME: Protocol(
        module.NAME, title, module.speaks, module.read, module.EXPORTS, module.IMPORTS
    )
    for module, title in (
        (dlpack, "DLPack"),
        (c_exchange_api, "DLPack's C exchange API"),
        (suai, "SYCL USM array interface"),
        (cai, "CUDA array interface"),
        (array_interface, "NumPy's array interface"),
        (array_struct, "NumPy's array struct"),
        (buffer, "buffer protocol"),
    )
}


def every_clause() -> list[Clause]:
    return [
        clause
        for protocol in PROTOCOLS.values()
        for side in (EXPORT, IMPORT)
        for clause in protocol.clauses(side)
    ]


def speaks(protocol: Protocol, obj: Any) -> bool:
    """True if the object supports the protocol. An attribute that raises any error but
    AttributeError counts as present.
    """
    try:
        return protocol.speaks(obj)
    except Exception:
        return True


def spoken(obj: Any) -> list[str]:
    return [name for name, protocol in PROTOCOLS.items() if speaks(protocol, obj)]


def exporter(
    make: Callable[[], Any], *, repeatable: bool, among: Iterable[str] = PROTOCOLS
) -> Exporter:
    """An exporter whose protocols, those named only, are compared with each other."""
    obj = make()
    readers = {name: PROTOCOLS[name].read for name in among if speaks(PROTOCOLS[name], obj)}
    del obj
    return Exporter(make, readers, repeatable=repeatable)


def importer(take: Callable[[Any], Any], device: str = "host", *, copies: bool = False) -> Importer:
    """An importer whose results may support any protocol."""
    return Importer(
        take, device, {name: protocol.read for name, protocol in PROTOCOLS.items()}, copies=copies
    )

"""Violations of the clauses that the three dicts share: false exporters and lenient importers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import entrepot as ep
from check.breaking import leak, leaked_references
from entrepot.check.interfaces import MISSING, Speaker, with_changes

Entries = dict[str, Any]


def _ignoring_self(make: Callable[[], Entries]) -> Callable[[Any], Entries]:
    return lambda self: make()


def speaking(
    attribute: str, entries: Callable[[], Entries], **others: Callable[[], Entries]
) -> type:
    """A type whose objects speak by dicts only, made anew at each access."""
    attributes = {attribute: entries, **others}
    return type(
        "Speaking",
        (),
        {name: property(_ignoring_self(make)) for name, make in attributes.items()},
    )


def exporters(
    attribute: str, truth: Callable[[], Entries], other: str, other_truth: Callable[[], Entries]
) -> dict[str, type]:
    """Clause → its violator. ``other`` is the attribute of another protocol, for clauses that
    compare two."""

    def altered(**changes: Any) -> type:
        return speaking(attribute, lambda: with_changes(truth(), changes))

    def two(**changes: Any) -> type:
        return speaking(attribute, truth, **{other: lambda: with_changes(other_truth(), changes)})

    turns = [0]

    def changing() -> Entries:
        turns[0] += 1
        entries = truth()
        return entries | {"data": (entries["data"][0] + 4 * (turns[0] % 2), False)}

    class LeaksReference:
        pass

    def leaking_reference(self: Any) -> Entries:
        leaked_references.append(self)
        return truth()

    def leaking() -> Entries:
        leak()
        return truth()

    setattr(LeaksReference, attribute, property(leaking_reference))
    address = truth()["data"][0]
    return {
        "dict": speaking(attribute, lambda: list(truth().items())),  # type: ignore[arg-type,return-value]
        "keys": altered(version=MISSING),
        "known keys": altered(color="blue"),
        "version": altered(version=2),
        "shape": altered(shape=[3, 4]),
        "typestr": altered(typestr="f4"),
        "data": altered(data=[address, False]),
        "address": altered(data=(0, False)),
        "strides": altered(strides=list(truth()["strides"])),
        "same each time": speaking(attribute, changing),
        "agrees": two(shape=(4, 3), strides=None),
        "read-only": two(data=(address, True)),
        "references": LeaksReference,
        "leak": speaking(attribute, leaking),
    }


class Proxy(Speaker):
    """A corrected dict of another object, which it keeps alive."""

    def __init__(self, attribute: str, entries: Entries, keep: Any) -> None:
        super().__init__(attribute, entries)
        self.keep = keep


class Importers:
    """Importers of one protocol that correct its dicts, and pass them on to a good importer."""

    def __init__(
        self, attribute: str, good: Callable[[Any], Any], truth: Callable[[], Entries]
    ) -> None:
        self.attribute, self.good, self.truth = attribute, good, truth

    def correcting(
        self, correct: Callable[[Entries], Entries | None], *, keep: bool = True
    ) -> Callable[[Any], Any]:
        """``correct`` may change the dict, or return None: then the object is refused."""

        def take(obj: Any) -> Any:
            entries = getattr(obj, self.attribute, None)
            if entries is None:
                return self.good(obj)
            corrected = correct(dict(entries))
            if corrected is None:
                raise ValueError("not taken")
            same = corrected.keys() == entries.keys() and all(
                corrected[key] is entries[key] for key in entries
            )
            if (
                same and keep
            ) or "data" not in corrected:  # whose memory is the object's own buffer
                return self.good(obj)
            return self.good(Proxy(self.attribute, corrected, obj if keep else None))

        return take

    def replacing(
        self, key: str, wrong: Callable[[Entries], Any], *values: Any
    ) -> Callable[[Any], Any]:
        """Replaces a wrong value of the key, or removes it; more pairs may follow."""
        pairs = dict(zip((key, *values[1::2]), values[0::2], strict=True))
        return self.correcting(
            lambda entries: with_changes(entries, pairs) if wrong(entries) else entries
        )

    def laid_out(
        self, strides: tuple[int, ...], instead: tuple[int, ...], unit: int
    ) -> Callable[[Any], Any]:
        scaled = tuple(unit * stride for stride in strides)
        return self.replacing(
            "strides",
            lambda e: e.get("strides") == scaled,
            tuple(unit * stride for stride in instead),
        )

    def shared(self, unit: int, is_plain: Callable[[Entries], bool]) -> dict[str, Any]:
        """Clause → its violator. ``is_plain`` recognizes a dict that is false in its strides
        only."""
        truth = self.truth()

        def moved(entries: Entries) -> Entries:
            return entries | (
                {"data": (entries["data"][0] + 4, False)} if entries.get("shape") == () else {}
            )

        def writable(entries: Entries) -> Entries:
            data = entries.get("data")
            return entries | (
                {"data": (data[0], False)} if isinstance(data, tuple) and data[1] else {}
            )

        def keeps_reference(obj: Any) -> Any:
            leaked_references.append(obj)
            return self.good(obj)

        def copies(obj: Any) -> Any:
            copy = ep.asarray(self.good(obj), copy=True)
            copy.queue.wait()
            return copy

        def leaks(obj: Any) -> Any:
            leak()
            return self.good(obj)

        done: list[bool] = []

        def wrong_once(obj: Any) -> Any:
            if not done:
                done.append(True)
                return ep.zeros((3, 4), "float32", device="host")
            return self.good(obj)

        return {
            "plain": wrong_once,
            "zero copy": copies,
            "keeps the object": self.correcting(lambda e: e, keep=False),
            "releases the object": keeps_reference,
            "transposed": self.laid_out((1, 4), (3, 1), unit),
            "steps": self.laid_out((8, 2), (3, 1), unit),
            "negative strides": self.laid_out((-4, -1), (4, 1), unit),
            "broadcast": self.laid_out((0, 1), (4, 1), unit),
            "0-d": self.correcting(moved),
            "zero size": self.replacing(
                "shape", lambda e: e.get("shape") == (0, 4) and e["data"][0], (4, 0)
            ),
            "read-only": self.correcting(writable),
            "leak": leaks,
            "null strides": self.correcting(
                lambda e: None if is_plain(e) and e.get("strides", 0) is None else e
            ),
            "no strides": self.correcting(
                lambda e: None if is_plain(e) and "strides" not in e else e
            ),
            "refuses no shape": self.replacing("shape", lambda e: "shape" not in e, (3, 4)),
            "refuses no typestr": self.replacing("typestr", lambda e: "typestr" not in e, "<f4"),
            "refuses objects": self.replacing(
                "typestr", lambda e: e.get("typestr") == "|O8", "<f4"
            ),
            "refuses other typestrs": self.replacing(
                "typestr", lambda e: e.get("typestr") == "<f3", "<f4"
            ),
            "refuses swapped bytes": self.replacing(
                "typestr", lambda e: e.get("typestr") == ">f4", "<f4"
            ),
            "refuses extents": self.replacing("shape", lambda e: e.get("shape") == (-3, 4), (3, 4)),
            "refuses an overflow": self.replacing(
                "shape", lambda e: e.get("shape") == (2**62, 2**62), (3, 4)
            ),
            "refuses short strides": self.replacing(
                "strides", lambda e: e.get("strides") == (4,), None
            ),
            "refuses a lone address": self.replacing(
                "data", lambda e: e.get("data") == 4096, truth["data"]
            ),
            "refuses null data": self.replacing(
                "data",
                lambda e: e.get("data") == (0, False) and e.get("shape") == (3, 4),
                truth["data"],
            ),
        }

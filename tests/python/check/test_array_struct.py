"""Each clause of the array struct catches its violation."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import entrepot as ep
from check.breaking import (
    WrongOnce,
    all_kept,
    is_caught,
    keeps_reference,
    leak,
    leaked_references,
    leaks_memory,
    names,
    of_exporter,
    of_importer,
)
from entrepot.check import structs
from entrepot.check.array_struct import ATTRIBUTE, Fabricated
from entrepot.check.clauses import EXPORT, IMPORT
from entrepot.check.structs import ALIGNED, CONTIGUOUS, NOT_SWAPPED, WRITABLE, ArrayStruct
from entrepot.check.subjects import PLAIN, TRANSPOSED, Importer, Layout

pytestmark = pytest.mark.host

GROUND = Importer(lambda given: given)


def altered(layout: Layout = PLAIN, name: bytes | None = None, **changes: Any) -> type:
    """Objects whose struct is right but for these fields, and whose array interface gives the
    right values."""

    class Altered(Fabricated):
        def __init__(self) -> None:
            super().__init__(GROUND, layout, **changes)
            if name:
                setattr(self, ATTRIBUTE, structs.new_capsule(ctypes.addressof(self.struct), name))

    return Altered


class TwoProtocols(altered()):  # type: ignore[misc]
    """Speaks the array interface, too."""

    changes: dict[str, Any] = {}  # noqa: RUF012 - shared on purpose

    @property
    def __array_interface__(self) -> dict[str, Any]:
        truth = {
            "shape": (3, 4),
            "typestr": "<f4",
            "data": (GROUND.ground.address, False),
            "version": 3,
        }
        return truth | self.changes


class LeaksReference:
    """Leaks a reference to itself at each access."""

    def __init__(self) -> None:
        self.given = Fabricated(GROUND)

    @property
    def __array_struct__(self) -> Any:
        leaked_references.append(self)
        return self.given.__array_struct__  # type: ignore[attr-defined]


class Leaking(LeaksReference):
    @property
    def __array_struct__(self) -> Any:
        leak()
        return self.given.__array_struct__  # type: ignore[attr-defined]


class NoCapsule:
    __array_struct__ = None


FLAGS = ALIGNED | NOT_SWAPPED | WRITABLE
EXPORTERS: dict[str, Any] = {
    "capsule": altered(name=b"named"),
    "two": altered(two=3),
    "shape": altered(shape=(-3, 4)),
    "type": altered(typekind=b"x"),
    "data": altered(data=None),
    "flags": altered(flags=FLAGS | 0x10),
    "contiguous": altered(TRANSPOSED, flags=FLAGS | CONTIGUOUS),
    "agrees": type("Disagrees", (TwoProtocols,), {"changes": {"shape": (4, 3)}}),
    "read-only": type(
        "Disagrees", (TwoProtocols,), {"changes": {"data": (GROUND.ground.address, True)}}
    ),
    "references": LeaksReference,
    "leak": Leaking,
}


class Copied:
    """A changed struct of another object, which is kept alive if requested."""

    def __init__(self, obj: Any, change: Callable[[Any], None], keep: bool) -> None:
        struct = ArrayStruct.from_buffer_copy(
            ctypes.string_at(
                structs.address_in(getattr(obj, ATTRIBUTE)), ctypes.sizeof(ArrayStruct)
            )
        )
        numbers = [structs_copy(values, struct.nd) for values in (struct.shape, struct.strides)]
        struct.shape, struct.strides = numbers
        change(struct)
        self.kept = struct, numbers, obj if keep else None
        setattr(self, ATTRIBUTE, structs.new_capsule(ctypes.addressof(struct), None))


def structs_copy(values: Any, number: int) -> Any:
    number = max(0, number)
    return (ctypes.c_ssize_t * 2)(*(values[:number] if values else ()))


def changing(change: Callable[[Any], None], *, keep: bool = True) -> Callable[[Any], Any]:
    def take(obj: Any) -> Any:
        return ep.asarray(Copied(obj, change, keep) if hasattr(obj, ATTRIBUTE) else obj)

    return take


def correcting(wrong: Callable[[Any], bool], **fields: Any) -> Callable[[Any], Any]:
    """Corrects structs that are wrong in this way."""

    def change(struct: Any) -> None:
        if wrong(struct):
            for name, value in fields.items():
                if name in ("shape", "strides"):
                    for axis, number in enumerate(value):
                        getattr(struct, name)[axis] = number
                else:
                    setattr(struct, name, value)

    return changing(change)


def laid_out(strides: tuple[int, ...], instead: tuple[int, ...]) -> Callable[[Any], Any]:
    scaled = [4 * stride for stride in strides]
    return correcting(
        lambda s: s.nd == 2 and s.strides[:2] == scaled,
        strides=tuple(4 * stride for stride in instead),
    )


def moves_scalars(struct: Any) -> None:
    if struct.nd == 0:
        struct.data += 4


IMPORTERS: dict[str, Any] = {
    "plain": WrongOnce(),
    "zero copy": lambda obj: ep.asarray(obj, copy=True),
    "keeps the object": changing(lambda struct: None, keep=False),
    "releases the object": keeps_reference,
    "transposed": laid_out((1, 4), (3, 1)),
    "steps": laid_out((8, 2), (3, 1)),
    "negative strides": laid_out((-4, -1), (4, 1)),
    "broadcast": laid_out((0, 1), (4, 1)),
    "0-d": changing(moves_scalars),
    "zero size": correcting(lambda s: s.nd == 2 and s.shape[0] == 0, shape=(4, 0)),
    "read-only": correcting(lambda s: s.flags == ALIGNED | NOT_SWAPPED, flags=FLAGS),
    "leak": leaks_memory,
    "refuses another struct": correcting(lambda s: s.two == 3, two=2),
    "refuses nd": correcting(lambda s: s.nd == -1, nd=2, shape=(3, 4), strides=(16, 4)),
    "refuses extents": correcting(lambda s: s.nd == 2 and s.shape[0] == -3, shape=(3, 4)),
    "refuses swapped bytes": correcting(lambda s: s.flags == ALIGNED | WRITABLE, flags=FLAGS),
    "refuses objects": correcting(lambda s: s.typekind == b"O", typekind=b"f", itemsize=4),
    "refuses other kinds": correcting(lambda s: s.typekind == b"?", typekind=b"f"),
    "refuses other sizes": correcting(lambda s: s.itemsize == 3, itemsize=4),
    "refuses null data": correcting(lambda s: s.data is None, data=GROUND.ground.address),
}


def test_clauses_all_have_a_breaker() -> None:
    assert EXPORTERS.keys() == set(names("array_struct", EXPORT))
    assert IMPORTERS.keys() == set(names("array_struct", IMPORT))


def test_correct_exporter_passes_all_clauses() -> None:
    all_kept(of_exporter("array_struct", altered()), {"agrees", "read-only", "contiguous"})
    all_kept(of_exporter("array_struct", type("Two", (TwoProtocols,), {})), {"contiguous"})
    all_kept(
        of_exporter("array_struct", altered(flags=FLAGS | CONTIGUOUS)), {"agrees", "read-only"}
    )


@pytest.mark.parametrize(("name", "kind"), EXPORTERS.items(), ids=EXPORTERS)
def test_violating_exporter_fails_its_clause(name: str, kind: type) -> None:
    is_caught(of_exporter("array_struct", kind), name)
    leaked_references.clear()


def test_non_capsule_is_caught() -> None:
    assert of_exporter("array_struct", NoCapsule)["capsule"].asked == "a PyCapsule"


def test_correct_importer_passes_all_clauses() -> None:
    all_kept(of_importer("array_struct", ep.asarray))


@pytest.mark.parametrize(("name", "take"), IMPORTERS.items(), ids=IMPORTERS)
def test_violating_importer_fails_its_clause(name: str, take: Callable[[Any], Any]) -> None:
    is_caught(of_importer("array_struct", take), name)
    leaked_references.clear()


def test_fabricated_struct_lives_while_held() -> None:
    given = Fabricated(GROUND)
    lives = weakref.ref(given)
    view = ep.asarray(given)
    del given
    assert lives() is not None
    del view
    gc.collect()
    assert lives() is None

"""Each clause of the buffer protocol catches its violation."""

from __future__ import annotations

import ctypes
import subprocess
import sysconfig
from collections import deque
from collections.abc import Callable
from ctypes import POINTER, c_ssize_t
from pathlib import Path
from typing import Any

import pytest

import entrepot as ep
from check.breaking import (
    Described,
    ReusesMemory,
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
from entrepot.check import buffer, structs
from entrepot.check.buffer import Fabricated
from entrepot.check.clauses import EXPORT, IMPORT
from entrepot.check.structs import (
    ANY_CONTIGUOUS,
    C_CONTIGUOUS,
    F_CONTIGUOUS,
    FULL_RO,
    INDIRECT,
    ND,
    SIMPLE,
    STRIDES,
    WRITE,
    PyBuffer,
)
from entrepot.check.subjects import Importer
from support.modules import load_module

pytestmark = pytest.mark.host


@pytest.fixture(scope="module")
def raw_buffer(tmp_path_factory: pytest.TempPathFactory) -> type:
    """The type of raw_buffer.c: functions written in ctypes cannot raise from a buffer request."""
    library = tmp_path_factory.mktemp("raw_buffer") / "raw_buffer.so"
    source = Path(__file__).with_name("raw_buffer.c")
    include = sysconfig.get_path("include")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-Wall", "-Werror", f"-I{include}", "-o", library, source],
        check=True,
    )
    return load_module(library).Exporter


# ---------------------------------------------------------------- exporters


class Owner:
    """Owner of a buffer: holds the Array's own buffer, and the exporter."""

    def __init__(self, view: Any, exporter: Any) -> None:
        self.view, self.exporter = view, exporter

    def __del__(self) -> None:
        buffer._release(self.view)


class Good:
    """Answers like an Array; ``instead`` changes the request, ``alter`` the answer."""

    owns = True

    def __init__(self) -> None:
        self.array = self.make()

    def make(self) -> ep.Array:
        return ep.full((3, 4), 1, "float32", device="host")

    def instead(self, flags: int) -> int:
        return flags

    def alter(self, view: Any, flags: int) -> None:
        pass

    def answer(self, flags: int) -> tuple[int, Any]:
        view: Any = PyBuffer()
        buffer._get(self.array, view, self.instead(flags))
        self.altered: Any = PyBuffer.from_buffer_copy(view)
        self.alter(self.altered, flags)
        return ctypes.addressof(self.altered), Owner(view, self if self.owns else None)


def altering(change: Callable[[Any, int], None]) -> type:
    return type("Altering", (Good,), {"alter": lambda self, view, flags: change(view, flags)})


def setting(when: Callable[[int], bool] = lambda flags: True, **fields: Any) -> type:
    """Exports buffers with other fields for some requests."""

    def change(view: Any, flags: int) -> None:
        if when(flags):
            for name, value in fields.items():
                setattr(
                    view,
                    name,
                    pointer(value) if name in ("shape", "strides", "suboffsets") else value,
                )

    return altering(change)


def pointer(values: tuple[int, ...] | None) -> Any:
    numbers: Any = None if values is None else (c_ssize_t * len(values))(*values)
    leaked_references.append(numbers)
    return ctypes.cast(numbers, POINTER(c_ssize_t))


def answering(change: dict[int, int], make: Callable[[], ep.Array] | None = None) -> type:
    """Answers with the flags of another request."""
    members: dict[str, Any] = {"instead": lambda self, flags: change.get(flags, flags)}
    if make:
        members["make"] = lambda self: make()
    return type("Answering", (Good,), members)


def transposed() -> ep.Array:
    return ep.full((4, 3), 1, "float32", device="host").T


def stepped() -> ep.Array:
    return ep.full((3, 8), 1, "float32", device="host")[:, ::2]


def read_only() -> ep.Array:
    return ep.asarray(bytes(48))


class Disowned(Good):
    """Exports buffers without an owner; the last ones stay alive."""

    owns = False
    last: deque[Any] = deque(maxlen=32)  # noqa: RUF012 - shared on purpose

    def answer(self, flags: int) -> tuple[int, Any]:
        filled, owner = super().answer(flags)
        self.last.append(owner)
        return filled, None


class TwoProtocols(Good):
    changes: dict[str, Any] = {}  # noqa: RUF012 - shared on purpose

    @property
    def __array_interface__(self) -> dict[str, Any]:
        changes = {
            name: value(self) if callable(value) else value for name, value in self.changes.items()
        }
        return self.array.__array_interface__ | changes


class Turning(Good):
    """Exports another address each time."""

    turn = 0

    def alter(self, view: Any, flags: int) -> None:
        self.turn = 4 - self.turn
        view.buf += self.turn


class GivesMemoryAway(ReusesMemory, Good):
    owns = False
    free: list[ep.Array] = []  # noqa: RUF012 - shared on purpose


class LeaksReference(Good):
    def alter(self, view: Any, flags: int) -> None:
        leaked_references.append(self)


class WrongRefusal(Good):
    def answer(self, flags: int) -> tuple[int, Any]:
        raise ValueError("not this memory")


EXPORTERS: dict[str, type] = {
    "refusal": WrongRefusal,
    "exporter": Disowned,
    "ndim": setting(ndim=-1),
    "length": setting(len=40),
    "item size": setting(lambda flags: bool(flags & structs.FORMAT), format=b"d"),
    "shape": setting(lambda flags: flags & FULL_RO == FULL_RO, strides=None),
    "format": setting(lambda flags: flags == STRIDES, format=b"f"),
    "no strides": setting(lambda flags: flags == ND, strides=(16, 4)),
    "simple": setting(lambda flags: flags == SIMPLE, shape=(3, 4)),
    "C-contiguous": answering({C_CONTIGUOUS: STRIDES}, transposed),
    "F-contiguous": answering({F_CONTIGUOUS: STRIDES}),
    "contiguous": answering({ANY_CONTIGUOUS: STRIDES}, stepped),
    "suboffsets": setting(
        lambda flags: flags & INDIRECT != INDIRECT and bool(flags & structs.FORMAT),
        suboffsets=(-1, -1),
    ),
    "writable": answering({FULL_RO | WRITE: FULL_RO}, read_only),
    "same to all": Turning,
    "agrees": type("Disagrees", (TwoProtocols,), {"changes": {"shape": (4, 3)}}),
    "read-only": type(
        "Disagrees",
        (TwoProtocols,),
        {"changes": {"data": lambda self: (self.array.data_ptr, True)}},
    ),
    "keeps the memory": GivesMemoryAway,
    "references": LeaksReference,
    "leak": altering(lambda view, flags: leak()),
}


def exporting(kind: type, raw_buffer: type) -> type:
    return type(kind.__name__, (kind, raw_buffer), {})


def test_clauses_all_have_a_breaker() -> None:
    assert EXPORTERS.keys() == set(names("buffer", EXPORT))
    assert IMPORTERS.keys() == set(names("buffer", IMPORT))


@pytest.mark.parametrize("make", [None, transposed, stepped, read_only])
def test_correct_exporter_passes_all_clauses(
    make: Callable[[], ep.Array] | None, raw_buffer: type
) -> None:
    all_kept(
        of_exporter("buffer", exporting(answering({}, make), raw_buffer)), {"agrees", "read-only"}
    )


def test_exporter_of_two_protocols_passes_all_clauses(raw_buffer: type) -> None:
    all_kept(of_exporter("buffer", exporting(TwoProtocols, raw_buffer)))


@pytest.mark.parametrize(("name", "kind"), EXPORTERS.items(), ids=EXPORTERS)
def test_violating_exporter_fails_its_clause(name: str, kind: type, raw_buffer: type) -> None:
    is_caught(of_exporter("buffer", exporting(kind, raw_buffer)), name)
    leaked_references.clear()


# ---------------------------------------------------------------- importers


class Relay(buffer._Raw):
    """A buffer of another object with changed fields, held as long as a buffer of this one."""

    def __init__(self, obj: Any, change: Callable[[dict[str, Any]], None]) -> None:
        self.tokens: list[Any] = []
        self.view: Any = PyBuffer()
        buffer._get(obj, self.view, FULL_RO)
        view = self.view
        fields = {
            name: getattr(view, name)
            for name in ("buf", "len", "itemsize", "readonly", "ndim", "format")
        } | {"internal": None}
        for name in ("shape", "strides", "suboffsets"):
            values = getattr(view, name)
            fields[name] = tuple(values[: view.ndim]) if values else None
        change(fields)
        for name in ("shape", "strides", "suboffsets"):
            values = fields[name]
            numbers: Any = None if values is None else (c_ssize_t * len(values))(*values)
            fields[name] = ctypes.cast(numbers, POINTER(c_ssize_t))
        self.fields = fields

    def __del__(self) -> None:
        buffer._release(self.view)


def correcting(wrong: Callable[[dict[str, Any]], bool], **fields: Any) -> Callable[[Any], Any]:
    """Corrects buffers that are wrong in this way."""

    def change(found: dict[str, Any]) -> None:
        if wrong(found):
            found |= fields

    def take(obj: Any) -> Any:
        return ep.asarray(Relay(obj, change) if buffer.speaks(obj) else obj)

    return take


def laid_out(strides: tuple[int, ...], instead: tuple[int, ...]) -> Callable[[Any], Any]:
    scaled = tuple(4 * stride for stride in strides)
    return correcting(
        lambda f: f["strides"] == scaled, strides=tuple(4 * stride for stride in instead)
    )


def unkept(kind: type) -> Callable[[Any], Any]:
    """Releases the buffers of such an object at once."""

    def take(obj: Any) -> Any:
        array = ep.asarray(obj)
        plain = (array.shape, array.strides, str(array.dtype), array.read_only) == (
            (3, 4),
            (4, 1),
            "float32",
            False,
        )
        return ep.asarray(Described(array.data_ptr)) if isinstance(obj, kind) and plain else array

    return take


def never_releases(obj: Any) -> Any:
    array = ep.asarray(obj)
    if isinstance(obj, Fabricated):
        leaked_references.append(array)
    return array


def keeps_what_it_refuses(obj: Any) -> Any:
    try:
        return ep.asarray(obj)
    except ep.ExchangeError:
        if isinstance(obj, Fabricated):
            leaked_references.append(Relay(obj, lambda fields: None))
        raise


def moves_scalars(obj: Any) -> Any:
    def change(fields: dict[str, Any]) -> None:
        if fields["ndim"] == 0:
            fields["buf"] += 4

    return ep.asarray(Relay(obj, change) if buffer.speaks(obj) else obj)


ZEROS = (ctypes.c_float * 12)()
ELSEWHERE = ctypes.addressof(ZEROS)
IMPORTERS: dict[str, Any] = {
    "plain": WrongOnce(),
    "zero copy": lambda obj: ep.asarray(obj, copy=True),
    "keeps the object": unkept(memoryview),
    "releases the object": keeps_reference,
    "transposed": laid_out((1, 4), (3, 1)),
    "steps": laid_out((8, 2), (3, 1)),
    "negative strides": laid_out((-4, -1), (4, 1)),
    "broadcast": laid_out((0, 1), (4, 1)),
    "0-d": moves_scalars,
    "zero size": correcting(lambda f: f["shape"] == (0, 4), shape=(4, 0)),
    "read-only": correcting(lambda f: f["readonly"], readonly=0),
    "leak": leaks_memory,
    "holds the buffer": unkept(Fabricated),
    "releases once": never_releases,
    "null format": correcting(lambda f: f["format"] is None, format=b"b"),
    "suboffsets": correcting(
        lambda f: f["suboffsets"], suboffsets=None, buf=ELSEWHERE, strides=(16, 4)
    ),
    "refuses ndim": correcting(lambda f: f["ndim"] == 65, ndim=1),
    "refuses extents": correcting(lambda f: f["shape"] == (-3, 4), shape=(3, 4)),
    "refuses lengths": correcting(lambda f: f["len"] == 40, len=48),
    "refuses item sizes": correcting(
        lambda f: f["itemsize"] == 8 and f["format"] == b"f", itemsize=4, len=48
    ),
    "refuses swapped bytes": correcting(lambda f: f["format"] == b">f", format=b"f"),
    "refuses objects": correcting(lambda f: f["format"] == b"O", format=b"f", itemsize=4, len=48),
    "refuses other formats": correcting(lambda f: f["format"] == b"&f", format=b"f"),
    "refuses null data": correcting(lambda f: f["buf"] is None, buf=ELSEWHERE),
    "releases what it refuses": keeps_what_it_refuses,
}


def test_correct_importer_passes_all_clauses() -> None:
    all_kept(of_importer("buffer", ep.asarray), {"suboffsets"})
    all_kept(of_importer("buffer", correcting(lambda fields: False)), {"suboffsets"})


@pytest.mark.parametrize(("name", "take"), IMPORTERS.items(), ids=IMPORTERS)
def test_violating_importer_fails_its_clause(name: str, take: Callable[[Any], Any]) -> None:
    is_caught(of_importer("buffer", take), name)
    leaked_references.clear()


def test_releases_are_counted() -> None:
    given = Fabricated(Importer(lambda given: given))
    view = memoryview(given)
    assert (given.given, given.released) == (1, 0)
    view.release()
    assert (given.given, given.released) == (1, 1)

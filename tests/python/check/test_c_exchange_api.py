"""Each clause of the C exchange API catches its violation."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from ctypes import c_void_p, py_object
from typing import Any

import pytest

import entrepot as ep
from check.breaking import (
    Described,
    WrongOnce,
    all_kept,
    is_caught,
    leak,
    leaked_references,
    leaks_memory,
    names,
    of_exporter,
    of_importer,
)
from entrepot.check import c_exchange_api, structs
from entrepot.check.c_exchange_api import ATTRIBUTE, Managed, table_of
from entrepot.check.clauses import EXPORT, IMPORT
from entrepot.check.dlpack import Fabricated
from entrepot.check.structs import (
    CAPSULE_NAMES,
    EXCHANGE_API,
    READ_ONLY,
    Deleter,
    DLDataType,
    DLTensor,
    ExchangeApi,
    Versioned,
)
from entrepot.check.subjects import PLAIN, Importer

pytestmark = pytest.mark.host

# ---------------------------------------------------------------- exporters

GROUND = Importer(lambda given: given)


class Taken:
    """An imported tensor, which is released with the object made of it."""

    def __init__(self, tensor: int) -> None:
        self.tensor: Any = Versioned.from_address(tensor)

    def __del__(self) -> None:
        if self.tensor.deleter:
            Deleter(self.tensor.deleter)(ctypes.addressof(self.tensor))


class Functions:
    """The five functions of a table over one piece of memory; a violator replaces one of them."""

    major, minor, name = 1, 3, EXCHANGE_API
    absent: tuple[str, ...] = ()
    borrow_extra = from_extra = staticmethod(lambda obj: None)

    def __init__(self) -> None:
        self.kind: Any = None
        self.allocated: dict[int, Any] = {}

    def alter(self, managed: Any) -> None:
        pass

    def alter_borrowed(self, tensor: Any) -> None:
        pass

    def from_object(self, obj: Any, out: Any) -> int:
        obj.tensors.forget()
        managed = obj.tensors.managed()
        if getattr(obj, "taken", None):
            managed.dl_tensor.data = obj.taken.tensor.dl_tensor.data
        self.alter(managed)
        self.from_extra(obj)
        out[0] = ctypes.addressof(managed)
        return 0

    def borrow(self, obj: Any, out: int) -> int:
        obj.borrowed = obj.tensors.managed()
        self.alter_borrowed(obj.borrowed.dl_tensor)
        self.borrow_extra(obj)
        ctypes.memmove(out, ctypes.addressof(obj.borrowed.dl_tensor), ctypes.sizeof(DLTensor))
        obj.tensors.returned.append(ctypes.addressof(obj.borrowed))
        obj.tensors.forget()
        return 0

    def to_object(self, tensor: int, out: Any) -> int:
        obj = self.kind()
        obj.taken = Taken(tensor)
        return self.hand_out(obj, out)

    def hand_out(self, obj: Any, out: Any) -> int:
        ctypes.pythonapi.Py_IncRef(py_object(obj))
        out[0] = id(obj)
        return 0

    def allocate(self, prototype: int, out: Any, context: int, set_error: Any) -> int:
        wanted = DLTensor.from_address(prototype)
        if wanted.dtype.code > 6:
            self.refuse(set_error, context)
            return -1
        made = self.make(wanted)
        made.deleter = structs.address_of(self.free)
        self.allocated[ctypes.addressof(made)] = made
        out[0] = ctypes.addressof(made)
        return 0

    def make(self, wanted: Any) -> Any:
        tensors = Fabricated(
            GROUND, dtype=(wanted.dtype.code, wanted.dtype.bits, wanted.dtype.lanes)
        )
        leaked_references.append(tensors)
        return tensors.managed()

    def refuse(self, set_error: Any, context: int) -> None:
        set_error(context, b"TypeError", b"there is no such type")

    free = staticmethod(Deleter(lambda address: None))

    def stream(self, kind: int, number: int, out: Any) -> int:
        out[0] = None
        return 0


def exporting(functions: Functions) -> type:
    """A type with these functions in its table."""
    callbacks = (
        ExchangeApi.Allocate(functions.allocate),
        ExchangeApi.FromObject(functions.from_object),
        ExchangeApi.ToObject(functions.to_object),
        ExchangeApi.Borrow(functions.borrow),
        ExchangeApi.CurrentStream(functions.stream),
    )
    table = ExchangeApi(functions.major, functions.minor, None, *map(structs.address_of, callbacks))
    for name in functions.absent:
        setattr(table, name, None)

    def start(self: Any) -> None:
        self.tensors = Fabricated(GROUND)

    members = {"__init__": start, "keep": callbacks, "table": table, "functions": functions}
    kind = type("Tensor", (), members)
    setattr(kind, ATTRIBUTE, structs.new_capsule(ctypes.addressof(table), functions.name))
    functions.kind = kind
    return kind


def breaking(**members: Any) -> type:
    return exporting(type("Breaking", (Functions,), members)())


def named_twice() -> type:
    """Returns another table at each access."""
    kind = breaking()
    tables = [ExchangeApi.from_buffer_copy(kind.__dict__["table"]) for _ in range(2)]
    capsules = itertools.cycle(
        [structs.new_capsule(ctypes.addressof(table), EXCHANGE_API) for table in tables]
    )

    class Changing(type):
        @property
        def __dlpack_c_exchange_api__(cls) -> Any:
            return next(capsules)

    members = {
        name: value
        for name, value in vars(kind).items()
        if name not in (ATTRIBUTE, "__dict__", "__weakref__")
    }
    changing = Changing("Changing", (), members | {"tables": tables})
    kind.__dict__["functions"].kind = changing
    return changing


def chained(*versions: tuple[int, int]) -> type:
    """Links older tables from the first."""
    kind: Any = breaking()
    table = kind.table
    tables = [ExchangeApi.from_buffer_copy(table) for _ in versions]
    for made, (major, minor), older in zip(tables, versions, [*tables[1:], None], strict=True):
        made.major, made.minor = major, minor
        made.prev_api = ctypes.addressof(older) if older else None
    table.prev_api = ctypes.addressof(tables[0])
    kind.tables = tables
    return kind


def setting(**fields: Any) -> Callable[[Any, Any], None]:
    def alter(self: Functions, managed: Any) -> None:
        for name, value in fields.items():
            setattr(managed if name in ("major", "flags") else managed.dl_tensor, name, value)

    return alter


def two_protocols(truth: dict[str, Any]) -> type:
    kind: Any = breaking()
    said = {
        "shape": (3, 4),
        "typestr": "<f4",
        "data": (GROUND.ground.address, False),
        "version": 3,
    } | truth
    kind.__array_interface__ = property(lambda self: said)
    return kind


def to_another(self: Functions, tensor: int, out: Any) -> int:
    """An object of the type, over other memory."""
    obj = self.kind()
    obj.taken = Taken(tensor)
    obj.tensors.fields["data"] = GROUND.ground.address + 64
    obj.keep_taken, obj.taken = obj.taken, None
    return self.hand_out(obj, out)


def to_twice(self: Functions, tensor: int, out: Any) -> int:
    """Releases the tensor twice."""
    obj = self.kind()
    obj.taken, obj.also = Taken(tensor), Taken(tensor)
    return self.hand_out(obj, out)


def make_flat(self: Functions, wanted: Any) -> Any:
    made = Functions.make(self, wanted)
    made.dl_tensor.ndim = 1
    return made


def other_stream(self: Functions, kind: int, number: int, out: Any) -> int:
    out[0] = 7
    return 0


ADDRESS = GROUND.ground.address
EXPORTERS: dict[str, Any] = {
    "capsule": lambda: breaking(name=b"named otherwise"),
    "static": named_twice,
    "version": lambda: breaking(major=2),
    "chain": lambda: chained((1, 2), (1, 3)),
    "functions": lambda: breaking(absent=("current_work_stream",)),
    "tensor version": lambda: breaking(alter=setting(major=2)),
    "flags": lambda: breaking(alter=setting(flags=1 << 40)),
    "strides": lambda: breaking(alter=setting(strides=None)),
    "agrees": lambda: two_protocols({"shape": (4, 3)}),
    "read-only": lambda: two_protocols({"data": (ADDRESS, True)}),
    "borrows": lambda: breaking(
        alter_borrowed=lambda self, tensor: setattr(tensor, "byte_offset", 4)
    ),
    "borrows no reference": lambda: breaking(borrow_extra=staticmethod(leaked_references.append)),
    "becomes an object": lambda: breaking(to_object=to_another),
    "owns what it takes": lambda: breaking(to_object=to_twice),
    "allocates": lambda: breaking(make=make_flat),
    "refuses to allocate": lambda: breaking(refuse=lambda self, set_error, context: None),
    "stream": lambda: breaking(stream=other_stream),
    "references": lambda: breaking(from_extra=staticmethod(leaked_references.append)),
    "leak": lambda: breaking(from_extra=staticmethod(lambda obj: leak())),
}


def test_clauses_all_have_a_breaker() -> None:
    assert EXPORTERS.keys() == set(names("c_exchange_api", EXPORT))
    assert IMPORTERS.keys() == set(names("c_exchange_api", IMPORT))


def test_correct_exporter_passes_all_clauses() -> None:
    all_kept(of_exporter("c_exchange_api", breaking()), {"agrees", "read-only"})
    all_kept(of_exporter("c_exchange_api", two_protocols({})))
    all_kept(of_exporter("c_exchange_api", chained((1, 2), (1, 1))), {"agrees", "read-only"})
    leaked_references.clear()


def test_optional_functions_may_be_null() -> None:
    kind = breaking(absent=("dltensor_from_py_object_no_sync",))
    all_kept(
        of_exporter("c_exchange_api", kind),
        {"agrees", "read-only", "borrows", "borrows no reference"},
    )
    leaked_references.clear()


@pytest.mark.parametrize(("name", "make"), EXPORTERS.items(), ids=EXPORTERS)
def test_violating_exporter_fails_its_clause(name: str, make: Callable[[], type]) -> None:
    is_caught(of_exporter("c_exchange_api", make()), name)
    leaked_references.clear()


# ---------------------------------------------------------------- importers


def older_of(table: Any, *, walk: bool = True) -> Any:
    while table.major > 1 and walk:
        if not table.prev_api:
            raise BufferError("the table is of a later version")
        table = ExchangeApi.from_address(table.prev_api)
    return table


def importing(
    correct: Callable[[Any], None] = lambda managed: None,
    *,
    walk: bool = True,
    take: Callable[[Any], Any] = ep.asarray,
) -> Callable[[Any], Any]:
    """Calls the table correctly, corrects the result, and passes it to Entrepot in a capsule."""

    def load(obj: Any) -> Any:
        if not c_exchange_api.speaks(obj):
            return ep.asarray(obj)
        table = older_of(table_of(obj), walk=walk)
        out = c_void_p()
        ExchangeApi.FromObject(table.managed_tensor_from_py_object_no_sync)(obj, out)
        correct(Versioned.from_address(out.value or 0))
        capsule = structs.new_capsule(
            out.value or 0, CAPSULE_NAMES[Versioned][0], structs.free_if_fresh
        )
        try:
            return take(capsule)
        except BufferError as refusal:
            words = str(refusal)
        del (
            capsule
        )  # its destructor is Python code, which must not run while an exception is on its way
        raise BufferError(words)

    return load


def correcting(wrong: Callable[[Any], bool], **fields: Any) -> Callable[[Any], Any]:
    def correct(managed: Any) -> None:
        if wrong(managed):
            for name, value in fields.items():
                setattr(managed if name == "flags" else managed.dl_tensor, name, value)

    return importing(correct)


def laid_out(strides: tuple[int, ...], instead: tuple[int, ...]) -> Callable[[Any], Any]:
    def correct(managed: Any) -> None:
        tensor = managed.dl_tensor
        if tensor.ndim and tuple(tensor.strides[: tensor.ndim]) == strides:
            for axis, stride in enumerate(instead):
                tensor.strides[axis] = stride

    return importing(correct)


def moves_scalars(managed: Any) -> None:
    if managed.dl_tensor.ndim == 0:
        managed.dl_tensor.byte_offset += 4


def refuses_empty(managed: Any) -> None:
    if managed.dl_tensor.ndim == 2 and managed.dl_tensor.shape[0] == 0:
        managed.dl_tensor.shape[0], managed.dl_tensor.shape[1] = 4, 0


def frees_at_once(obj: Any) -> Any:
    array = ep.asarray(obj)
    plain = (array.shape, array.strides, array.read_only) == ((3, 4), (4, 1), False)
    return ep.asarray(Described(array.data_ptr)) if plain else array


def forgets_what_it_refuses(capsule: Any) -> Any:
    try:
        return ep.asarray(capsule)
    except BufferError:
        structs.rename(capsule, CAPSULE_NAMES[Versioned][1])
        raise


def first_table_only(obj: Any) -> Any:
    if c_exchange_api.speaks(obj) and table_of(obj).major > 1:
        raise BufferError("the table is of a later version")
    return ep.asarray(obj)


def believes_later_tables(obj: Any) -> Any:
    later = c_exchange_api.speaks(obj) and table_of(obj).major > 1 and not table_of(obj).prev_api
    return importing(walk=not later)(obj)


IMPORTERS: dict[str, Any] = {
    "plain": WrongOnce(),
    "older table": first_table_only,
    "refuses a later table": believes_later_tables,
    "zero copy": lambda obj: ep.asarray(obj, copy=True),
    "releases once": frees_at_once,
    "transposed": laid_out((1, 4), (3, 1)),
    "negative strides": laid_out((-4, -1), (4, 1)),
    "0-d": importing(moves_scalars),
    "zero size": importing(refuses_empty),
    "byte_offset": correcting(lambda managed: managed.dl_tensor.byte_offset, byte_offset=0),
    "read-only": correcting(lambda managed: managed.flags & READ_ONLY, flags=0),
    "refuses null data": correcting(
        lambda m: not m.dl_tensor.data and m.dl_tensor.shape[0] == 3, data=GROUND.ground.address
    ),
    "frees what it refuses": importing(
        lambda m: (
            setattr(m.dl_tensor, "dtype", DLDataType(200, 32, 1))
            if m.dl_tensor.dtype.code == 200
            else None
        ),
        take=forgets_what_it_refuses,
    ),
    "leak": leaks_memory,
}


def test_correct_importer_passes_all_clauses() -> None:
    all_kept(of_importer("c_exchange_api", ep.asarray))
    all_kept(of_importer("c_exchange_api", importing()))


@pytest.mark.parametrize(("name", "take"), IMPORTERS.items(), ids=IMPORTERS)
def test_violating_importer_fails_its_clause(name: str, take: Callable[[Any], Any]) -> None:
    is_caught(of_importer("c_exchange_api", take), name)
    leaked_references.clear()


def test_tensors_of_a_table_are_released() -> None:
    obj = breaking()()
    managed = Managed(obj)
    managed.delete()
    assert obj.tensors.released == 1
    assert PLAIN.shape == managed.seen().shape

"""DLPack's C exchange API: a table of C functions on the type that passes tensors without a Python
call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import c_void_p, py_object
from typing import Any

from . import structs
from .clauses import EXPORT, IMPORT, Table, require, skip
from .dlpack import Fabricated as Tensors
from .dlpack import seen_in
from .structs import EXCHANGE_API, Deleter, DLDataType, DLDevice, DLTensor, ExchangeApi, Versioned
from .subjects import (
    EMPTY,
    PLAIN,
    REVERSED,
    SCALAR,
    SHIFTED,
    TRANSPOSED,
    Exporter,
    Importer,
    Layout,
    Seen,
    agrees,
    attempt,
    leaks_nothing,
    packed,
    read_only_agrees,
    refuses,
    releases_references,
    settles,
)

NAME = "c_exchange_api"
ATTRIBUTE = "__dlpack_c_exchange_api__"
TABLE = "DLPack 1.3, dlpack.h: DLPackExchangeAPI"
HEADER = "DLPack 1.3, dlpack.h: DLPackExchangeAPIHeader"
ALLOCATE = "DLPack 1.3, dlpack.h: DLPackManagedTensorAllocator"
FROM_OBJECT = "DLPack 1.3, dlpack.h: DLPackManagedTensorFromPyObjectNoSync"
TO_OBJECT = "DLPack 1.3, dlpack.h: DLPackManagedTensorToPyObjectNoSync"
BORROW = "DLPack 1.3, dlpack.h: DLPackDLTensorFromPyObjectNoSync"
STREAM = "DLPack 1.3, dlpack.h: DLPackCurrentWorkStream"


def speaks(obj: Any) -> bool:
    return hasattr(type(obj), ATTRIBUTE)


def table_of(obj: Any) -> Any:
    capsule = getattr(type(obj), ATTRIBUTE)
    if not isinstance(capsule, structs.Capsule) or structs.name_of(capsule) != EXCHANGE_API:
        skip(f"{ATTRIBUTE} is no such capsule")
    return ExchangeApi.from_address(structs.address_in(capsule))


def function(obj: Any, name: str, kind: Any) -> Any:
    address = getattr(table_of(obj), name)
    if not address:
        skip(f"{name} is null")
    return kind(address)


class Managed:
    """A tensor from the table, which the check owns until it is deleted."""

    def __init__(self, obj: Any) -> None:
        out = c_void_p()
        status = function(obj, "managed_tensor_from_py_object_no_sync", ExchangeApi.FromObject)(
            obj, out
        )
        require(status == 0 and out.value, "0 and a tensor", f"{status} and {out.value}")
        self.tensor: Any = Versioned.from_address(out.value or 0)

    def seen(self) -> Seen:
        return seen_in(self.tensor.dl_tensor, self.tensor.flags)

    def delete(self) -> None:
        if self.tensor.deleter:
            structs.DeleterWithGil(self.tensor.deleter)(ctypes.addressof(self.tensor))


def read(obj: Any) -> Seen:
    managed = Managed(obj)
    try:
        return managed.seen()
    finally:
        managed.delete()


EXPORTS = Table(NAME, EXPORT)


@EXPORTS.clause("capsule", f"{ATTRIBUTE} of the type is a capsule named dlpack_exchange_api", TABLE)
def capsule(exporter: Exporter) -> None:
    found = getattr(type(exporter.object), ATTRIBUTE)
    require(isinstance(found, structs.Capsule), "a PyCapsule on the type", type(found).__name__)
    name = structs.name_of(found)
    require(name == EXCHANGE_API, EXCHANGE_API.decode(), name)


@EXPORTS.clause(
    "static", "the table is the same whenever it is asked for: consumers cache it forever", TABLE
)
def static(exporter: Exporter) -> None:
    first, second = (ctypes.addressof(table_of(exporter.object)) for _ in range(2))
    require(first == second, "one table", "two")


@EXPORTS.clause(
    "version", "the table's major version is 1, or that of one in its chain of older ones", HEADER
)
def version(exporter: Exporter) -> None:
    table: Any = table_of(exporter.object)
    majors: list[int] = []
    while len(majors) < 16:
        majors.append(table.major)
        if not table.prev_api:
            break
        table = ExchangeApi.from_address(table.prev_api)
    require(1 in majors, "a table of version 1.x", f"tables of {majors}")


@EXPORTS.clause(
    "chain", "each table in the chain is older than the one before, and the last has none", HEADER
)
def chain(exporter: Exporter) -> None:
    table: Any = table_of(exporter.object)
    versions: list[tuple[int, int]] = []
    while True:
        versions.append((table.major, table.minor))
        require(len(versions) < 16, "a chain that ends", versions)
        if not table.prev_api:
            break
        table = ExchangeApi.from_address(table.prev_api)
    require(versions == sorted(set(versions), reverse=True), "versions that go down", versions)


@EXPORTS.clause(
    "functions", "all functions are there, but dltensor_from_py_object_no_sync may be null", TABLE
)
def functions(exporter: Exporter) -> None:
    table = table_of(exporter.object)
    optional = "dltensor_from_py_object_no_sync"
    missing = [
        field[0]
        for field in ExchangeApi._fields_[3:]
        if field[0] != optional and not getattr(table, field[0])
    ]
    require(not missing, "four functions", f"null: {', '.join(missing)}")


@EXPORTS.clause(
    "tensor version", "a tensor that is given says a version of 1, as the table does", FROM_OBJECT
)
def tensor_version(exporter: Exporter) -> None:
    managed = Managed(exporter.object)
    found = managed.tensor.major
    managed.delete()
    require(found == 1, "1", found)


@EXPORTS.clause("flags", "no flag is set that DLPack 1.3 does not know", FROM_OBJECT)
def flags(exporter: Exporter) -> None:
    managed = Managed(exporter.object)
    found = managed.tensor.flags
    managed.delete()
    require(
        not found & ~(structs.READ_ONLY | structs.IS_COPIED | structs.PADDED),
        "flags within 0b111",
        bin(found),
    )


@EXPORTS.clause("strides", "strides are not null where there are dimensions", TABLE)
def strides(exporter: Exporter) -> None:
    managed = Managed(exporter.object)
    found = bool(managed.tensor.dl_tensor.strides) or not managed.tensor.dl_tensor.ndim
    managed.delete()
    require(found, "strides", "a null pointer")


EXPORTS.add(
    "agrees", "the tensor is what the other protocols of the object say", FROM_OBJECT, agrees(NAME)
)
EXPORTS.add(
    "read-only",
    "the read-only flag is what the other protocols of the object say",
    FROM_OBJECT,
    read_only_agrees(NAME),
)


@EXPORTS.clause("borrows", "a borrowed tensor is the one that is given", BORROW)
def borrows(exporter: Exporter) -> None:
    borrowed: Any = DLTensor()
    status = function(exporter.object, "dltensor_from_py_object_no_sync", ExchangeApi.Borrow)(
        exporter.object, ctypes.addressof(borrowed)
    )
    require(status == 0, "0", status)
    difference = seen_in(borrowed, None).differs(read(exporter.object))
    require(not difference, "the same description", difference)


@EXPORTS.clause(
    "borrows no reference",
    "a borrowed tensor holds no reference, since none could be released",
    BORROW,
)
def borrows_no_reference(exporter: Exporter) -> None:
    borrow = function(exporter.object, "dltensor_from_py_object_no_sync", ExchangeApi.Borrow)

    borrowed: Any = DLTensor()
    releases_references(lambda obj: borrow(obj, ctypes.addressof(borrowed)))(exporter)


@EXPORTS.clause(
    "becomes an object",
    "managed_tensor_to_py_object_no_sync returns an object of the type that uses the tensor's "
    "memory",
    TO_OBJECT,
)
def becomes_an_object(exporter: Exporter) -> None:
    managed = Managed(exporter.object)
    seen = managed.seen()
    obj = object_of(exporter, ctypes.addressof(managed.tensor))
    require(
        isinstance(exporter.object, type(obj)), type(exporter.object).__name__, type(obj).__name__
    )
    difference = seen.differs(read(obj))
    require(not difference, "the same memory", difference)


def object_of(exporter: Exporter, tensor: int) -> Any:
    out = c_void_p()
    to_object = function(
        exporter.object, "managed_tensor_to_py_object_no_sync", ExchangeApi.ToObject
    )
    status = to_object(tensor, out)
    require(status == 0 and out.value, "0 and an object", f"{status} and {out.value}")
    obj = ctypes.cast(out, py_object).value
    structs.python_api.Py_DecRef(py_object(obj))  # out owned one, and obj has its own
    return obj


@EXPORTS.clause(
    "owns what it takes",
    "the object calls the tensor's deleter once, when the object is destroyed",
    TO_OBJECT,
)
def owns_what_it_takes(exporter: Exporter) -> None:
    given = tensors_like(exporter)
    obj = object_of(exporter, ctypes.addressof(given.managed()))
    early = given.released
    del obj
    settles(lambda: given.released > early)
    require(
        not early and given.released == 1,
        "one call of the deleter, at the end",
        f"{early} before it, {given.released} in all",
    )


def tensors_like(exporter: Exporter) -> Tensors:
    """Tensors of host memory, for tables that import it."""
    if read_device(exporter)[0] != structs.CPU:
        skip("the table is asked about memory of the host only")
    return Tensors(Importer(lambda given: given))


def read_device(exporter: Exporter) -> tuple[int, int]:
    managed = Managed(exporter.object)
    where = managed.tensor.dl_tensor.device
    found = where.device_type, where.device_id
    managed.delete()
    return found


@EXPORTS.clause(
    "allocates", "the allocator makes a tensor of the prototype's shape, type and device", ALLOCATE
)
def allocates(exporter: Exporter) -> None:
    allocated = allocate(exporter, (2, 32, 1))
    require(isinstance(allocated, Managed), "a tensor", f"a failure: {allocated}")
    assert isinstance(allocated, Managed)
    found, where = allocated.seen(), allocated.tensor.dl_tensor.device
    device = where.device_type, where.device_id
    allocated.delete()
    wanted = Seen(found.address, (3, 4), packed((3, 4)), "float32", None)
    require(
        found.address and not found.differs(wanted),
        "float32 of (3, 4)",
        f"{found.dtype} of {found.shape} at {found.address:#x}",
    )
    require(device == read_device(exporter), f"device {read_device(exporter)}", device)


@EXPORTS.clause(
    "refuses to allocate", "an allocation that fails returns -1 and calls SetError once", ALLOCATE
)
def refuses_to_allocate(exporter: Exporter) -> None:
    said = allocate(exporter, (200, 32, 1))
    require(isinstance(said, list), "-1, for a type that does not exist", "a tensor")
    assert isinstance(said, list)
    require(len(said) == 1, "one call of SetError", f"{len(said)}")


def allocate(exporter: Exporter, dtype: tuple[int, int, int]) -> Managed | list[str]:
    """The tensor that the allocator made, or the arguments of its call of SetError."""
    extents, said = structs.integers((3, 4)), []
    prototype: Any = DLTensor(
        device=DLDevice(*read_device(exporter)), ndim=2, dtype=DLDataType(*dtype)
    )
    prototype.shape = ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64))
    set_error = ExchangeApi.SetError(lambda context, kind, message: said.append(str(message)))
    out = c_void_p()
    status = function(exporter.object, "managed_tensor_allocator", ExchangeApi.Allocate)(
        ctypes.addressof(prototype), out, None, set_error
    )
    if status:
        return said
    managed = Managed.__new__(Managed)
    managed.tensor = Versioned.from_address(out.value or 0)
    return managed


@EXPORTS.clause(
    "stream", "current_work_stream answers for the tensor's device, on the host with null", STREAM
)
def stream(exporter: Exporter) -> None:
    kind, number = read_device(exporter)
    out = c_void_p(1)
    status = function(exporter.object, "current_work_stream", ExchangeApi.CurrentStream)(
        kind, number, out
    )
    require(status == 0, "0", status)
    require(kind != structs.CPU or not out.value, "null, on the host", out.value)


EXPORTS.add(
    "references",
    "a tensor that was deleted holds no reference to the object",
    FROM_OBJECT,
    releases_references(read),
)


@EXPORTS.clause("leak", "tensors that were deleted leave no memory behind", FROM_OBJECT)
def leak(exporter: Exporter) -> None:
    leaks_nothing(lambda: Managed(exporter.object).delete())


# ---------------------------------------------------------------- importers


class Published:
    """Base of types with a table that exports the tensors of ``tensors`` and counts calls."""

    tensors: Tensors
    keep: Any


class Calls:
    """Number of calls of the tables in this process."""

    given = 0


def _give(obj: Any, out: Any) -> int:
    Calls.given += 1
    out[0] = ctypes.addressof(obj.tensors.managed())
    return 0


def _borrow(obj: Any, out: int) -> int:
    Calls.given += 1
    managed = obj.tensors.managed()
    ctypes.memmove(out, ctypes.addressof(managed.dl_tensor), ctypes.sizeof(DLTensor))
    return 0


def _stream(kind: int, number: int, out: Any) -> int:
    out[0] = None
    return 0


def _allocate(prototype: int, out: Any, context: int, set_error: Any) -> int:
    set_error(context, b"RuntimeError", b"nothing is allocated here")
    return -1


def _to_object(tensor: int, out: Any) -> int:
    Deleter(Versioned.from_address(tensor).deleter)(tensor)
    return -1


# In the order of the table. They must outlive all objects of the types.
_FUNCTIONS = (
    ExchangeApi.Allocate(_allocate),
    ExchangeApi.FromObject(_give),
    ExchangeApi.ToObject(_to_object),
    ExchangeApi.Borrow(_borrow),
    ExchangeApi.CurrentStream(_stream),
)


def publish(name: str, *, major: int = 1, older: Any = None) -> type:
    """A type with a table of its own. Consumers never forget such types, so only a few are made."""
    table = ExchangeApi(
        major,
        3,
        ctypes.addressof(older) if older else None,
        *map(structs.address_of, _FUNCTIONS),
    )
    kind = type(name, (Published,), {"table": table, "keep": older})
    setattr(kind, ATTRIBUTE, structs.new_capsule(ctypes.addressof(table), EXCHANGE_API))
    return kind


_current = publish("Tensor")
_newer: Any = publish("NewerTensor", major=2, older=_current.__dict__["table"])
_only_newer: Any = publish("OnlyNewerTensor", major=2)


def fabricate(importer: Importer, layout: Layout = PLAIN, kind: Any = _current, **bent: Any) -> Any:
    """An object that supports nothing but the table."""
    obj = kind()
    obj.tensors = Tensors(importer, layout, **bent)
    return obj


IMPORTS = Table(NAME, IMPORT)


def must_take(layout: Layout, kind: Any = _current) -> Callable[[Importer], None]:
    def check(importer: Importer) -> None:
        difference = importer.shows(importer.take(fabricate(importer, layout, kind)), layout)
        require(not difference, f"the elements of shape {layout.shape}", difference)

    return check


def takes(layout: Layout, **bent: Any) -> Callable[[Importer], None]:
    def check(importer: Importer) -> None:
        difference = importer.shows(attempt(importer, fabricate(importer, layout, **bent)), layout)
        require(
            not difference,
            f"the elements of shape {layout.shape}, strides {layout.strides}",
            difference,
        )

    return check


IMPORTS.add("plain", "an object whose type has a table is taken by it", TABLE, must_take(PLAIN))
IMPORTS.add(
    "older table",
    "of a table of a later major version, the one of 1.x in its chain is used",
    HEADER,
    must_take(PLAIN, _newer),
)


@IMPORTS.clause(
    "refuses a later table", "a table of a later major version without a chain is not used", HEADER
)
def refuses_a_later_table(importer: Importer) -> None:
    before = Calls.given
    refuses(importer, fabricate(importer, PLAIN, _only_newer), "a table of version 2.0")
    require(
        Calls.given == before, "no call of a table of version 2.0", f"{Calls.given - before} calls"
    )


@IMPORTS.clause(
    "zero copy", "what was taken is the exporter's memory, not a copy of it", FROM_OBJECT
)
def zero_copy(importer: Importer) -> None:
    importer.shares(attempt(importer, fabricate(importer)))


@IMPORTS.clause(
    "releases once",
    "the deleter of a tensor is called once, when the last use is over",
    FROM_OBJECT,
)
def releases_once(importer: Importer) -> None:
    given = fabricate(importer)
    result = attempt(importer, given)
    if importer.look(result).data_ptr == importer.ground.address:
        require(
            not given.tensors.released,
            "a tensor that is held",
            f"{given.tensors.released} calls of the deleter",
        )
    del result
    settles(lambda: given.tensors.released > 0, lambda: importer.take(fabricate(importer)))
    require(given.tensors.released == 1, "one call of the deleter", given.tensors.released)


IMPORTS.add(
    "transposed", "strides that are not C-contiguous are followed", TABLE, takes(TRANSPOSED)
)
IMPORTS.add("negative strides", "negative strides are followed", TABLE, takes(REVERSED))
IMPORTS.add("0-d", "a tensor without dimensions is one element", TABLE, takes(SCALAR))
IMPORTS.add(
    "zero size", "a tensor without elements is taken, its data null", TABLE, takes(EMPTY, data=None)
)


@IMPORTS.clause("byte_offset", "the elements begin byte_offset bytes after data", TABLE)
def byte_offset(importer: Importer) -> None:
    takes(SHIFTED, data=importer.ground.address, byte_offset=64)(importer)


@IMPORTS.clause(
    "read-only", "what is flagged as read-only cannot be written afterwards", FROM_OBJECT
)
def read_only(importer: Importer) -> None:
    view = importer.look(attempt(importer, fabricate(importer, flags=structs.READ_ONLY)))
    if view.data_ptr != importer.ground.address:
        skip("the importer copies")
    require(view.read_only, "a read-only result, or a refusal", "a writable view")


@IMPORTS.clause("refuses null data", "a null pointer to a non-empty array is refused", TABLE)
def refuses_null_data(importer: Importer) -> None:
    refuses(importer, fabricate(importer, data=None), "a null pointer to a non-empty array")


@IMPORTS.clause("frees what it refuses", "a refused tensor is released once", FROM_OBJECT)
def frees_what_it_refuses(importer: Importer) -> None:
    given = fabricate(importer, dtype=(200, 32, 1))
    try:
        importer.take(given)
    except Exception:
        pass
    else:
        skip("it is not refused")
    settles(lambda: given.tensors.released > 0)
    require(given.tensors.released == 1, "one call of the deleter", given.tensors.released)


@IMPORTS.clause("leak", "imports that are over leave no memory behind", FROM_OBJECT)
def import_leak(importer: Importer) -> None:
    given = fabricate(importer)
    attempt(importer, given)

    def once() -> None:
        importer.take(given)
        given.tensors.forget()

    leaks_nothing(once)

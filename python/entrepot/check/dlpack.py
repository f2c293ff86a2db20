"""DLPack: legacy and versioned capsules, all keywords and flags, and the duties of consumers."""

from __future__ import annotations

import ctypes
import gc
import math
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import entrepot as ep

from . import structs
from .clauses import EXPORT, IMPORT, Failed, NotApplicable, Table, require, skip, words_of
from .structs import CAPSULE_NAMES, Deleter, DLDataType, DLDevice, Legacy, Versioned
from .subjects import (
    BROADCAST,
    EMPTY,
    PLAIN,
    REVERSED,
    SCALAR,
    SHIFTED,
    STEPPED,
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

NAME = "dlpack"
HEADER = "DLPack 1.3, dlpack.h"
METHOD = "array API 2024.12, array.__dlpack__"
DEVICE = "array API 2024.12, array.__dlpack_device__"
CONSUMER = "array API 2024.12, from_dlpack"
IMPLEMENTATION = "DLPack, Python Specification: Implementation"
SEMANTICS = "DLPack, Python Specification: Semantics"
LATEST = (1, 3)
OTHER_NAME = b"something else"
HUGE = (2**62, 2**62)


def speaks(obj: Any) -> bool:
    return hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__")


# ---------------------------------------------------------------- exporters


class Held:
    """A capsule that the check owns; counts the calls of its deleter."""

    def __init__(self, capsule: Any) -> None:
        require(isinstance(capsule, structs.Capsule), "a PyCapsule", type(capsule).__name__)
        self.name = structs.name_of(capsule)
        forms = {names[0]: form for form, names in CAPSULE_NAMES.items()}
        require(self.name in forms, "a capsule named dltensor or dltensor_versioned", self.name)
        self.form = forms[self.name or b""]
        self.capsule = capsule
        self.managed: Any = self.form.from_address(structs.address_in(capsule))
        # A list instead of an int attribute: the last call may come while attributes are being
        # cleared.
        self._deleted = deleted = list[int]()
        original = self.managed.deleter
        self.has_deleter = bool(original)

        def count(address: int) -> None:
            deleted.append(address)
            structs.DeleterWithGil(original)(address)

        self.original, self._count = original, Deleter(count)
        if original:
            self.managed.deleter = structs.address_of(self._count)

    @property
    def deletions(self) -> int:
        return len(self._deleted)

    @property
    def tensor(self) -> Any:
        return self.managed.dl_tensor

    @property
    def version(self) -> tuple[int, int] | None:
        return (self.managed.major, self.managed.minor) if self.form is Versioned else None

    @property
    def flags(self) -> int | None:
        return self.managed.flags if self.form is Versioned else None

    def drop(self) -> None:
        """Releases the capsule without consuming it."""
        self.capsule = None

    def consume(self) -> Held:
        structs.rename(self.capsule, CAPSULE_NAMES[self.form][1])
        self.capsule = None
        return self

    def delete(self) -> None:
        if self.managed.deleter:
            structs.DeleterWithGil(self.managed.deleter)(ctypes.addressof(self.managed))


def dtype_name(code: int, bits: int) -> str | None:
    """Entrepot's name of the type; None if it has no common name."""
    kind = structs.TYPE_CODES.get(code)
    if kind == "bool":
        return "bool"
    return None if kind in (None, "opaque", "small") else f"{kind}{bits}"


def seen_in(tensor: Any, flags: int | None) -> Seen:
    ndim = tensor.ndim
    if not 0 <= ndim <= 64 or (ndim and not tensor.shape):
        skip("the tensor has no shape")
    shape = tuple(tensor.shape[:ndim]) if ndim else ()
    strides = tuple(tensor.strides[:ndim]) if ndim and tensor.strides else packed(shape)
    return Seen(
        (tensor.data or 0) + tensor.byte_offset,
        shape,
        strides,
        dtype_name(tensor.dtype.code, tensor.dtype.bits) if tensor.dtype.lanes == 1 else None,
        None if flags is None else bool(flags & structs.READ_ONLY),
    )


def read(obj: Any) -> Seen:
    held = best(obj)
    return seen_in(held.tensor, held.flags)


def best(obj: Any) -> Held:
    """The newest kind of tensor that the object exports."""
    try:
        return Held(obj.__dlpack__(max_version=LATEST))
    except TypeError:
        pass  # a producer older than 1.0; another clause checks the keyword
    except BufferError as refusal:
        raise NotApplicable(f"the export is refused: {words_of(refusal)}") from None
    try:
        return Held(obj.__dlpack__())
    except BufferError as refusal:
        raise NotApplicable(f"the export is refused: {words_of(refusal)}") from None


def exported(exporter: Exporter, **keywords: Any) -> Held:
    """Exports with these keywords; not applicable if the export is refused by BufferError."""
    try:
        return Held(exporter.object.__dlpack__(**keywords))
    except BufferError as refusal:
        raise NotApplicable(f"the export is refused: {words_of(refusal)}") from None


def versioned(exporter: Exporter) -> Held:
    held = best(exporter.object)
    if held.form is not Versioned:
        skip("the exporter has no versioned tensors")
    return held


def device_of(exporter: Exporter) -> tuple[int, int]:
    kind, number = exporter.object.__dlpack_device__()
    return int(kind), int(number)


def host_readable(exporter: Exporter) -> bool:
    kind = device_of(exporter)[0]
    if kind == structs.ONE_API:
        try:
            return ep.asarray(exporter.object).kind in ("host", "shared")
        except Exception:
            return False
    return kind in structs.HOST_READABLE


EXPORTS = Table(NAME, EXPORT)


@EXPORTS.clause(
    "device",
    "__dlpack_device__() gives a device type that DLPack knows, and a number that is not negative",
    DEVICE,
)
def device(exporter: Exporter) -> None:
    answer = exporter.object.__dlpack_device__()
    require(isinstance(answer, tuple) and len(answer) == 2, "a tuple of two ints", repr(answer))
    kind, number = answer
    require(isinstance(kind, int) and isinstance(number, int), "two ints", repr(answer))
    require(int(kind) in structs.DEVICE_TYPES, "a type of DLDeviceType", kind)
    require(number >= 0, "a number from 0", number)


@EXPORTS.clause(
    "keywords",
    "__dlpack__ accepts stream, max_version, dl_device and copy, each of them None",
    METHOD,
)
def keywords(exporter: Exporter) -> None:
    for name in ("stream", "max_version", "dl_device", "copy"):
        try:
            exporter.object.__dlpack__(**{name: None})
        except TypeError as error:
            raise Failed(f"__dlpack__({name}=None)", words_of(error)) from None
        except BufferError:
            continue  # a refusal of the export, not of the keyword


@EXPORTS.clause(
    "legacy",
    "without max_version, the capsule is named dltensor: its consumer knows no other",
    METHOD,
)
def legacy(exporter: Exporter) -> None:
    for asked in ({}, {"max_version": None}) if accepts(exporter, "max_version") else ({},):
        held = exported(exporter, **asked)
        require(held.form is Legacy, "dltensor", held.name)


@EXPORTS.clause(
    "versioned", "with max_version=(1, 0), the capsule is named dltensor_versioned", METHOD
)
def has_versioned(exporter: Exporter) -> None:
    if not accepts(exporter, "max_version"):
        skip("max_version is not accepted")
    held = exported(exporter, max_version=(1, 0))
    require(held.form is Versioned, "dltensor_versioned", held.name)


@EXPORTS.clause(
    "old consumer", "with max_version=(0, 8), nothing newer than a legacy tensor is given", METHOD
)
def old_consumer(exporter: Exporter) -> None:
    if not accepts(exporter, "max_version"):
        skip("max_version is not accepted")
    held = exported(exporter, max_version=(0, 8))
    require(held.form is Legacy, "dltensor", held.name)


@EXPORTS.clause(
    "newer consumer", "with a max_version from the future, the exporter's newest is given", METHOD
)
def newer_consumer(exporter: Exporter) -> None:
    if not accepts(exporter, "max_version"):
        skip("max_version is not accepted")
    held = exported(exporter, max_version=(99, 0))
    require(
        held.form is Versioned or best(exporter.object).form is Legacy,
        "the newest that there is",
        held.name,
    )


@EXPORTS.clause(
    "version",
    "a versioned tensor says a version of 1, the major that was asked for",
    f"{HEADER}: DLPackVersion",
)
def version(exporter: Exporter) -> None:
    held = versioned(exporter)
    assert held.version is not None
    require(held.version[0] == 1, "version 1.x", "{}.{}".format(*held.version))


@EXPORTS.clause(
    "shape",
    "ndim is not negative, shape is there, no extent is negative",
    f"{HEADER}: DLTensor.shape",
)
def shape(exporter: Exporter) -> None:
    held = best(exporter.object)
    tensor = held.tensor
    require(0 <= tensor.ndim <= 64, "a number of dimensions", tensor.ndim)
    require(tensor.shape or not tensor.ndim, f"{tensor.ndim} extents", "a null pointer")
    extents = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
    require(all(extent >= 0 for extent in extents), "extents from 0", extents)


@EXPORTS.clause(
    "strides",
    "since 1.2, strides are not null where there are dimensions",
    f"{HEADER}: DLTensor.strides",
)
def strides(exporter: Exporter) -> None:
    held = best(exporter.object)
    if held.version is None or held.version < (1, 2):
        skip("before 1.2, null strides mean contiguous")
    require(
        held.tensor.strides or not held.tensor.ndim, f"{held.tensor.ndim} strides", "a null pointer"
    )


@EXPORTS.clause(
    "dtype",
    "the type's code is known; it has bits and lanes; a bool has 8 bits",
    f"{HEADER}: DLDataType",
)
def dtype(exporter: Exporter) -> None:
    held = best(exporter.object)
    kind = held.tensor.dtype
    require(kind.code in structs.TYPE_CODES, "a code of DLDataTypeCode", kind.code)
    require(
        kind.bits and kind.lanes, "bits and lanes from 1", f"{kind.bits} bits, {kind.lanes} lanes"
    )
    require(
        structs.TYPE_CODES[kind.code] != "bool" or kind.bits == 8,
        "a bool of 8 bits",
        f"{kind.bits} bits",
    )


@EXPORTS.clause(
    "data",
    "a tensor with elements has an address, aligned to its element",
    f"{HEADER}: DLTensor.data",
)
def data(exporter: Exporter) -> None:
    held = best(exporter.object)
    tensor = held.tensor
    seen = seen_in(tensor, None)
    if not seen.size:
        skip("there are no elements")
    require(tensor.data, "an address", "a null pointer")
    kind = structs.TYPE_CODES.get(tensor.dtype.code)
    item = max(1, tensor.dtype.bits // (16 if kind == "complex" else 8))
    aligned = math.gcd(item, 16)
    require(seen.address % aligned == 0, f"an address that {aligned} divides", f"{seen.address:#x}")


@EXPORTS.clause(
    "tensor device", "the tensor is on the device that __dlpack_device__() names", SEMANTICS
)
def tensor_device(exporter: Exporter) -> None:
    held = best(exporter.object)
    where = held.tensor.device
    named = device_of(exporter)
    require(
        (where.device_type, where.device_id) == named,
        f"device {named}",
        (where.device_type, where.device_id),
    )


EXPORTS.add(
    "agrees",
    "the tensor has the address, shape, strides and type that the other protocols of the object "
    "say",
    SEMANTICS,
    agrees(NAME),
)


@EXPORTS.clause(
    "flags",
    "no flag is set that DLPack 1.3 does not know",
    f"{HEADER}: DLManagedTensorVersioned.flags",
)
def flags(exporter: Exporter) -> None:
    found = versioned(exporter).flags or 0
    known = structs.READ_ONLY | structs.IS_COPIED | structs.PADDED
    require(not found & ~known, "flags within 0b111", bin(found))


EXPORTS.add(
    "read-only",
    "the read-only flag is what the other protocols of the object say",
    f"{HEADER}: DLPACK_FLAG_BITMASK_READ_ONLY",
    read_only_agrees(NAME),
)


@EXPORTS.clause(
    "read-only legacy",
    "read-only memory is refused as a legacy tensor, which cannot say so, by BufferError",
    METHOD,
)
def read_only_legacy(exporter: Exporter) -> None:
    known = exporter.read_only(NAME)
    own = read(exporter.object).read_only
    if not (own or (known and known[0])):
        skip("the memory is writable, or no protocol says that it is read-only")
    try:
        held = Held(exporter.object.__dlpack__())
    except BufferError:
        return
    require(
        held.form is not Legacy,
        "BufferError",
        f"a legacy tensor of memory that is read-only by {known[1] if known else NAME}",
    )


@EXPORTS.clause(
    "zero copy",
    "two exports of one object are of one address, and none says that it is a copy",
    SEMANTICS,
)
def zero_copy(exporter: Exporter) -> None:
    first, second = best(exporter.object), best(exporter.object)
    one, other = seen_in(first.tensor, None), seen_in(second.tensor, None)
    require(not (first.flags or 0) & structs.IS_COPIED, "no copy", "the flag that says so")
    require(one.address == other.address, "one address", f"{one.address:#x} and {other.address:#x}")


@EXPORTS.clause("copy=False", "copy=False gives the memory itself, or BufferError", METHOD)
def copy_false(exporter: Exporter) -> None:
    if not accepts(exporter, "copy"):
        skip("copy is not accepted")
    held = exported(exporter, copy=False, max_version=LATEST)
    found, own = seen_in(held.tensor, None), read(exporter.object)
    require(not (held.flags or 0) & structs.IS_COPIED, "no copy", "the flag that says so")
    require(
        found.address == own.address or not own.size, f"{own.address:#x}", f"{found.address:#x}"
    )


@EXPORTS.clause("copy=True", "copy=True gives other memory, and the flag that says so", METHOD)
def copy_true(exporter: Exporter) -> None:
    if not accepts(exporter, "copy"):
        skip("copy is not accepted")
    held, own = exported(exporter, copy=True, max_version=LATEST), best(exporter.object)
    found, original = seen_in(held.tensor, None), seen_in(own.tensor, None)
    if original.size:
        require(
            found.address != original.address,
            "other memory",
            f"the object's own, at {found.address:#x}",
        )
    if held.form is Versioned:
        require((held.flags or 0) & structs.IS_COPIED, "the flag IS_COPIED", bin(held.flags or 0))


@EXPORTS.clause(
    "own device", "dl_device that names the object's own device changes nothing", METHOD
)
def own_device(exporter: Exporter) -> None:
    if not accepts(exporter, "dl_device"):
        skip("dl_device is not accepted")
    held = exported(exporter, dl_device=device_of(exporter), max_version=LATEST)
    found, own = seen_in(held.tensor, None), read(exporter.object)
    require(
        found.address == own.address or not own.size, f"{own.address:#x}", f"{found.address:#x}"
    )


@EXPORTS.clause(
    "host device",
    "a copy that dl_device=(kDLCPU, 0) brought says that it is one",
    f"{HEADER}: DLPACK_FLAG_BITMASK_IS_COPIED",
)
def host_device(exporter: Exporter) -> None:
    if device_of(exporter)[0] == structs.CPU:
        skip("the memory is the host's")
    if not accepts(exporter, "dl_device"):
        skip("dl_device is not accepted")
    held = exported(exporter, dl_device=(structs.CPU, 0), max_version=LATEST)
    found, own = seen_in(held.tensor, None), read(exporter.object)
    require(
        held.tensor.device.device_type == structs.CPU,
        "a tensor of kDLCPU",
        held.tensor.device.device_type,
    )
    if held.form is Versioned and own.size and found.address != own.address:
        require((held.flags or 0) & structs.IS_COPIED, "the flag IS_COPIED", bin(held.flags or 0))


@EXPORTS.clause(
    "host view", "memory that the host reads is given as kDLCPU without a copy", SEMANTICS
)
def host_view(exporter: Exporter) -> None:
    if device_of(exporter)[0] == structs.CPU or not host_readable(exporter):
        skip("the memory is the host's own, or out of its reach")
    if not accepts(exporter, "dl_device"):
        skip("dl_device is not accepted")
    held = exported(exporter, dl_device=(structs.CPU, 0), max_version=LATEST)
    found, own = seen_in(held.tensor, None), read(exporter.object)
    require(
        found.address == own.address or not own.size, f"{own.address:#x}", f"{found.address:#x}"
    )


@EXPORTS.clause("other device", "a device that cannot be served is refused by BufferError", METHOD)
def other_device(exporter: Exporter) -> None:
    if not accepts(exporter, "dl_device"):
        skip("dl_device is not accepted")
    asked = f"BufferError for dl_device=({structs.WEB_GPU}, 0), kDLWebGPU"
    try:
        held = Held(exporter.object.__dlpack__(dl_device=(structs.WEB_GPU, 0), max_version=LATEST))
    except BufferError:
        return
    except Exception as error:
        raise Failed(asked, words_of(error)) from None
    raise Failed(asked, f"a tensor on device {held.tensor.device.device_type}")


@EXPORTS.clause(
    "host stream", "where there are no streams, a stream other than None is refused", METHOD
)
def host_stream(exporter: Exporter) -> None:
    if device_of(exporter)[0] != structs.CPU:
        skip("the device has streams, or queues")
    try:
        exporter.object.__dlpack__(stream=7)
    except Exception:
        return
    raise Failed("a refusal of stream=7", "a capsule")


@EXPORTS.clause(
    "no order", "on CUDA and ROCm, stream=-1 is accepted, and asks for no order", METHOD
)
def no_order(exporter: Exporter) -> None:
    if device_of(exporter)[0] not in structs.HAS_STREAMS:
        skip("the memory is not of CUDA or ROCm")
    exported(exporter, stream=-1)


@EXPORTS.clause("ambiguous stream", "on CUDA, stream=0 is refused: it may mean two streams", METHOD)
def ambiguous_stream(exporter: Exporter) -> None:
    if device_of(exporter)[0] not in (structs.CUDA, structs.CUDA_MANAGED):
        skip("the memory is not of CUDA")
    try:
        exporter.object.__dlpack__(stream=0)
    except Exception:
        return
    raise Failed("a refusal of stream=0", "a capsule")


@EXPORTS.clause(
    "unconsumed capsule", "a capsule that was not consumed frees its tensor, once", IMPLEMENTATION
)
def unconsumed_capsule(exporter: Exporter) -> None:
    held = best(exporter.object)
    if not held.has_deleter:
        skip("the tensor has no deleter")
    held.drop()
    gc.collect()
    require(held.deletions <= 1, "one call of the deleter", held.deletions)
    if not held.deletions:  # the capsule may know what to free without asking the tensor
        releases_references(export_and_drop)(exporter)
        leak(exporter)


@EXPORTS.clause(
    "consumed capsule",
    "a capsule that was renamed leaves its tensor to the consumer",
    IMPLEMENTATION,
)
def consumed_capsule(exporter: Exporter) -> None:
    held = best(exporter.object).consume()
    gc.collect()
    found = held.deletions
    if not found:
        held.delete()
    require(not found, "no call of the deleter", found)


@EXPORTS.clause(
    "deleter thread",
    "the deleter may be called by any thread, which need not hold the GIL",
    f"{HEADER}: DLManagedTensorVersioned.deleter",
)
def deleter_thread(exporter: Exporter) -> None:
    held = best(exporter.object).consume()
    if not held.has_deleter:
        skip("the tensor has no deleter")
    address = ctypes.addressof(held.managed)
    thread = threading.Thread(target=lambda: Deleter(held.original)(address))
    thread.start()
    thread.join()


@EXPORTS.clause(
    "several exports",
    "each export has its own lifetime: freeing one tensor does not affect the others",
    SEMANTICS,
)
def several_exports(exporter: Exporter) -> None:
    first, second = best(exporter.object).consume(), best(exporter.object).consume()
    before = seen_in(second.tensor, None)
    first.delete()
    gc.collect()
    after = seen_in(second.tensor, None)
    second.delete()
    require(before == after, str(before), after)


@EXPORTS.clause(
    "keeps the memory", "the tensor keeps the memory when the object is gone", SEMANTICS
)
def keeps_the_memory(exporter: Exporter) -> None:
    obj = exporter.fresh()
    held = best(obj).consume()
    seen = seen_in(held.tensor, None)
    readable = host_readable(exporter) and seen.size
    before = ctypes.string_at(seen.address, 1) if readable else b""
    del obj
    gc.collect()
    others = [exporter.fresh() for _ in range(8)]  # would reuse the memory if it were free
    taken = [other for other in others if seen.size and read(other).address == seen.address]
    after = ctypes.string_at(seen.address, 1) if readable else b""
    held.delete()
    require(not taken, "memory of its own", "memory that a later object has been given")
    require(before == after, f"its first byte, {before!r}", repr(after))


def export_and_drop(obj: Any) -> None:
    best(obj).drop()


EXPORTS.add(
    "references",
    "an export that is over holds no reference to the object",
    SEMANTICS,
    releases_references(export_and_drop),
)


@EXPORTS.clause("leak", "exports that are over leave no memory behind", IMPLEMENTATION)
def leak(exporter: Exporter) -> None:
    leaks_nothing(lambda: best_capsule(exporter.object))


def best_capsule(obj: Any) -> None:
    """Exports like ``best``, without callbacks of ctypes, which would count as leaks."""
    try:
        obj.__dlpack__(max_version=LATEST)
    except TypeError:
        obj.__dlpack__()
    except BufferError as refusal:
        raise NotApplicable(f"the export is refused: {words_of(refusal)}") from None


def accepts(exporter: Exporter, keyword: str) -> bool:
    try:
        exporter.object.__dlpack__(**{keyword: None})
    except TypeError:
        return False
    except Exception:
        return True
    return True


# ---------------------------------------------------------------- importers


class Fabricated:
    """A fabricated producer, any field of whose tensors may be falsified. Counts requests and
    deletions.

    ``_lent`` keeps the data of a tensor alive until its deleter is called, like manager_ctx in C.
    """

    _lent: ClassVar[dict[int, tuple[Any, ...]]] = {}

    def __init__(
        self, importer: Importer, layout: Layout = PLAIN, form: type = Versioned, **bent: Any
    ) -> None:
        self.ground, self.form = importer.ground, form
        low = layout.first * importer.ground.ITEM
        self.fields: dict[str, Any] = {
            "data": importer.ground.address + low,
            "byte_offset": 0,
            "shape": layout.shape,
            "strides": layout.strides,
            "ndim": len(layout.shape),
            "dtype": (2, 32, 1),
            "device": importer.ground.dlpack_device,
            "flags": 0,
            "version": LATEST,
            "deleter": True,
            "name": "fresh",
            **bent,
        }
        self.released = 0
        self.returned: list[int] = []
        self.asked: list[dict[str, Any]] = []
        self.capsules: list[Any] = []

    def managed(self, form: type | None = None) -> Any:
        """A new managed tensor, to be freed by its deleter."""
        fields = self.fields
        managed: Any = (form or self.form)()
        tensor = managed.dl_tensor
        tensor.data, tensor.byte_offset, tensor.ndim = (
            fields["data"],
            fields["byte_offset"],
            fields["ndim"],
        )
        tensor.dtype, tensor.device = DLDataType(*fields["dtype"]), DLDevice(*fields["device"])
        numbers = structs.integers(fields["shape"]), structs.integers(fields["strides"])
        tensor.shape = ctypes.cast(numbers[0], ctypes.POINTER(ctypes.c_int64))
        tensor.strides = ctypes.cast(numbers[1], ctypes.POINTER(ctypes.c_int64))
        if isinstance(managed, Versioned):
            managed.major, managed.minor = fields["version"]
            managed.flags = fields["flags"]
        deleter = Deleter(self._delete)
        if fields["deleter"]:
            managed.deleter = structs.address_of(deleter)
        self._lent[ctypes.addressof(managed)] = (self, managed, deleter, numbers)
        return managed

    def _delete(self, address: int) -> None:
        self.released += 1
        self.returned.append(address)

    def forget(self) -> None:
        """Frees deleted tensors. This is deferred so that a second call of a deleter can be
        counted.
        """
        for address in self.returned:
            self._lent.pop(address, None)
        self.returned.clear()

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        form = self.form if keywords.get("max_version") else Legacy
        if form is Legacy and self.fields["flags"] & structs.READ_ONLY:
            raise BufferError("a legacy tensor cannot say that it is read-only")
        name = (
            OTHER_NAME
            if self.fields["name"] == "other"
            else CAPSULE_NAMES[form][self.fields["name"] == "used"]
        )
        capsule = structs.new_capsule(
            ctypes.addressof(self.managed(form)), name, structs.free_if_fresh
        )
        self.capsules.append(capsule)
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self.fields["device"]
        return device

    def says_versions(self) -> None:
        """Not applicable to importers that ask for no version and therefore get legacy tensors."""
        if not any(keywords.get("max_version") for keywords in self.asked):
            skip("the importer asks for legacy tensors, which have no version and no flags")

    def release_capsules(self) -> None:
        self.capsules.clear()
        gc.collect()


class WithoutKeywords(Fabricated):
    """A producer that predates the keywords."""

    def __dlpack__(self, stream: Any = None) -> Any:  # type: ignore[override]
        return super().__dlpack__(stream=stream)


class Refusing(Fabricated):
    def __dlpack__(self, **keywords: Any) -> Any:
        raise BufferError("this array cannot be exported")


IMPORTS = Table(NAME, IMPORT)


def takes(layout: Layout, form: type = Versioned, **bent: Any) -> Callable[[Importer], None]:
    """Requires the elements of the layout, unless the importer refuses it."""

    def check(importer: Importer) -> None:
        difference = importer.shows(
            attempt(importer, Fabricated(importer, layout, form, **bent)), layout
        )
        require(
            not difference,
            f"the elements of shape {layout.shape}, strides {layout.strides}",
            difference,
        )

    return check


def must_take(
    layout: Layout, kind: type[Fabricated] = Fabricated, form: type = Versioned, **bent: Any
) -> Callable[[Importer], None]:
    """Requires the elements of a layout that every consumer must support."""

    def check(importer: Importer) -> None:
        given = kind(importer, layout, form, **bent)
        result = importer.take(given)
        if "version" in bent:
            given.says_versions()
        difference = importer.shows(result, layout)
        require(not difference, f"the elements of shape {layout.shape}", difference)

    return check


def must_refuse(what: str, form: type = Versioned, **bent: Any) -> Callable[[Importer], None]:
    def check(importer: Importer) -> None:
        given = Fabricated(importer, PLAIN, form, **bent)
        try:
            refuses(importer, given, what, typed="dtype" in bent)
        finally:
            if "version" in bent:
                given.says_versions()

    return check


IMPORTS.add(
    "plain",
    "a tensor of contiguous float32 is taken, of the form that was asked for",
    CONSUMER,
    must_take(PLAIN),
)
IMPORTS.add(
    "legacy",
    "a legacy tensor is taken: producers may not have a newer one",
    METHOD,
    must_take(PLAIN, form=Legacy),
)
IMPORTS.add(
    "old producer",
    "a producer whose __dlpack__ has no keywords but stream is asked again without them, on "
    "TypeError",
    METHOD,
    must_take(PLAIN, WithoutKeywords, form=Legacy),
)


@IMPORTS.clause(
    "asks for a version",
    "max_version is passed: without it, producers give a legacy tensor, which has no flags",
    METHOD,
)
def asks_for_a_version(importer: Importer) -> None:
    given = Fabricated(importer)
    attempt(importer, given)
    asked = [keywords.get("max_version") for keywords in given.asked]
    require(any(asked), "max_version of (1, 0) or more", f"__dlpack__ called with {given.asked}")
    newest = next(version for version in asked if version)
    require(tuple(newest) >= (1, 0), "max_version of (1, 0) or more", newest)


@IMPORTS.clause("host stream", "memory of the host is asked for without a stream", METHOD)
def asks_without_stream(importer: Importer) -> None:
    if importer.ground.dlpack_device[0] != structs.CPU:
        skip("the memory is not the host's")
    given = Fabricated(importer)
    attempt(importer, given)
    streams = [keywords.get("stream") for keywords in given.asked]
    require(all(stream is None for stream in streams), "stream=None, or none", streams)


@IMPORTS.clause("zero copy", "what was taken is the producer's memory, not a copy of it", SEMANTICS)
def imports_without_copy(importer: Importer) -> None:
    importer.shares(attempt(importer, Fabricated(importer)))


@IMPORTS.clause(
    "renames the capsule",
    "a consumed capsule is renamed, so that it is not consumed again",
    IMPLEMENTATION,
)
def renames_the_capsule(importer: Importer) -> None:
    given = Fabricated(importer)
    result = attempt(importer, given)
    name = structs.name_of(given.capsules[-1]) or b""
    require(name.startswith(b"used_"), "used_dltensor_versioned, or used_dltensor", name)
    del result


@IMPORTS.clause(
    "holds the tensor", "the deleter is not called while the result is in use", SEMANTICS
)
def holds_the_tensor(importer: Importer) -> None:
    given = Fabricated(importer)
    result = attempt(importer, given)
    if importer.look(result).data_ptr != importer.ground.address:
        skip("the importer copies")
    given.release_capsules()
    require(not given.released, "a tensor that is held", f"{given.released} calls of the deleter")
    del result


@IMPORTS.clause(
    "releases once", "the deleter is called once, when the last use is over", IMPLEMENTATION
)
def releases_once(importer: Importer) -> None:
    given = Fabricated(importer)
    result = attempt(importer, given)
    require(given.released <= 1, "at most one call", given.released)
    del result
    given.release_capsules()
    settles(lambda: given.released > 0, lambda: importer.take(Fabricated(importer)))
    require(given.released == 1, "one call of the deleter", given.released)


@IMPORTS.clause(
    "null deleter",
    "a tensor without a deleter is taken, and dropped without calling one",
    f"{HEADER}: DLManagedTensor.deleter",
)
def null_deleter(importer: Importer) -> None:
    must_take(PLAIN, deleter=False)(importer)
    gc.collect()


IMPORTS.add(
    "transposed",
    "strides that are not C-contiguous are followed",
    f"{HEADER}: DLTensor.strides",
    takes(TRANSPOSED),
)
IMPORTS.add(
    "steps",
    "strides that leave elements out are followed",
    f"{HEADER}: DLTensor.strides",
    takes(STEPPED),
)
IMPORTS.add(
    "negative strides",
    "negative strides are followed",
    f"{HEADER}: DLTensor.strides",
    takes(REVERSED),
)
IMPORTS.add(
    "broadcast", "strides of 0 are followed", f"{HEADER}: DLTensor.strides", takes(BROADCAST)
)
IMPORTS.add(
    "0-d", "a tensor without dimensions is one element", f"{HEADER}: DLTensor.ndim", takes(SCALAR)
)
IMPORTS.add(
    "0-d null",
    "where ndim is 0, shape and strides may be null",
    f"{HEADER}: DLTensor.shape",
    must_take(SCALAR, shape=None, strides=None),
)
IMPORTS.add(
    "zero size",
    "a tensor without elements is taken, its data null, as it should be",
    f"{HEADER}: DLTensor.data",
    must_take(EMPTY, data=None),
)
IMPORTS.add(
    "null strides",
    "before 1.2, null strides mean contiguous",
    f"{HEADER}: DLTensor.strides",
    must_take(PLAIN, form=Legacy, strides=None),
)
IMPORTS.add(
    "null strides versioned",
    "the same in versioned tensors of 1.0 and 1.1",
    f"{HEADER}: DLTensor.strides",
    must_take(PLAIN, version=(1, 0), strides=None),
)


@IMPORTS.clause(
    "byte_offset",
    "the elements begin byte_offset bytes after data",
    f"{HEADER}: DLTensor.byte_offset",
)
def byte_offset(importer: Importer) -> None:
    takes(SHIFTED, data=importer.ground.address, byte_offset=64)(importer)


IMPORTS.add(
    "newer minor",
    "a tensor of a later minor version is taken: its layout is the same",
    f"{HEADER}: DLPackVersion",
    must_take(PLAIN, version=(1, 99)),
)


@IMPORTS.clause(
    "read-only",
    "what is flagged as read-only cannot be written afterwards",
    f"{HEADER}: DLPACK_FLAG_BITMASK_READ_ONLY",
)
def read_only(importer: Importer) -> None:
    result = attempt(importer, Fabricated(importer, flags=structs.READ_ONLY))
    view = importer.look(result)
    if view.data_ptr != importer.ground.address:
        skip("the importer copies")
    require(view.read_only, "a read-only result, or a refusal", "a writable view")


IMPORTS.add("refuses a major version", "a tensor of another major version is refused",
    f"{HEADER}: DLPackVersion",
            must_refuse("version 2.0", version=(2, 0)))  # fmt: skip


@IMPORTS.clause(
    "frees a major version",
    "a tensor of another major version is released, through its deleter",
    f"{HEADER}: DLPackVersion",
)
def frees_a_major_version(importer: Importer) -> None:
    freed_when_refused(importer, version=(2, 0))


@IMPORTS.clause(
    "frees what it refuses",
    "a refused tensor is released once, by the importer or by its capsule",
    IMPLEMENTATION,
)
def frees_what_it_refuses(importer: Importer) -> None:
    freed_when_refused(importer, dtype=(200, 32, 1))


def freed_when_refused(importer: Importer, **bent: Any) -> None:
    given = Fabricated(importer, **bent)
    try:
        importer.take(given)
    except Exception:
        given.release_capsules()
    else:
        if "version" in bent:
            given.says_versions()
        skip("it is not refused")
    settles(lambda: given.released > 0)
    require(given.released == 1, "one call of the deleter", given.released)


for name, what, where, bent in (
    ("refuses a used capsule", "a capsule that was consumed already", IMPLEMENTATION,
        {"name": "used"}),
    ("refuses other capsules", "a capsule of another name", IMPLEMENTATION, {"name": "other"}),
    ("refuses null data", "a null pointer to a non-empty array", f"{HEADER}: DLTensor.data",
        {"data": None}),
    ("refuses ndim", "a negative number of dimensions", f"{HEADER}: DLTensor.ndim", {"ndim": -1}),
    ("refuses a null shape", "a null shape of two dimensions", f"{HEADER}: DLTensor.shape",
        {"shape": None}),
    ("refuses extents", "a negative extent", f"{HEADER}: DLTensor.shape", {"shape": (-3, 4)}),
    ("refuses an overflow", "more elements than there are addresses", f"{HEADER}: DLTensor.shape",
        {"shape": HUGE}),
    ("refuses a code", "an undefined type code", f"{HEADER}: DLDataTypeCode",
        {"dtype": (200, 32, 1)}),
    ("refuses bits", "float of 24 bits", f"{HEADER}: DLDataType.bits", {"dtype": (2, 24, 1)}),
    ("refuses a device", "an undefined device type", f"{HEADER}: DLDeviceType",
        {"device": (99, 0)}),
):  # fmt: skip
    IMPORTS.add(name, f"{what} is refused", where, must_refuse(what, **bent))


@IMPORTS.clause(
    "lanes",
    "elements of three lanes are three times as wide, or refused",
    f"{HEADER}: DLDataType.lanes",
)
def lanes(importer: Importer) -> None:
    view = importer.look(
        attempt(importer, Fabricated(importer, Layout((2, 3), (3, 1)), dtype=(2, 32, 3)))
    )
    require(
        view.nbytes == 72,
        "2 by 3 elements of 12 bytes",
        f"{view.shape} elements of {view.itemsize} bytes",
    )


@IMPORTS.clause(
    "refusal of the producer", "where __dlpack__ raises BufferError, the import is an error", METHOD
)
def refusal_of_the_producer(importer: Importer) -> None:
    refuses(importer, Refusing(importer), "what its producer refuses to export")


@IMPORTS.clause("leak", "imports that are over leave no memory behind", IMPLEMENTATION)
def import_leak(importer: Importer) -> None:
    given = Fabricated(importer)
    attempt(importer, given)

    def once() -> None:
        importer.take(given)
        given.capsules.clear()
        given.asked.clear()
        given.forget()

    leaks_nothing(once)

"""Each clause of DLPack catches its violation.

Exporters falsify an Array's tensor; importers accept what an Array's import refuses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

import entrepot as ep
from check.breaking import (
    Described,
    ReusesMemory,
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
from entrepot.check import structs
from entrepot.check.clauses import EXPORT, IMPORT, Failed
from entrepot.check.dlpack import Fabricated, Held
from entrepot.check.structs import (
    CAPSULE_NAMES,
    CPU,
    CUDA,
    IS_COPIED,
    READ_ONLY,
    Deleter,
    Legacy,
    Versioned,
)
from entrepot.check.subjects import PLAIN, Importer

pytestmark = pytest.mark.host

# ---------------------------------------------------------------- exporters


class Good:
    """Exports an Array by DLPack only; each answer passes through ``alter``."""

    device, kind, read_only = "host", "host", False

    def __init__(self) -> None:
        self.array = ep.full((3, 4), 1, "float32", device=self.device, kind=self.kind)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.give(**keywords)

    def give(self, **keywords: Any) -> Any:
        capsule = self.array.__dlpack__(**keywords)
        self.alter(managed_in(capsule), **keywords)
        return capsule

    def alter(self, managed: Any, **keywords: Any) -> None:
        pass

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def managed_in(capsule: Any) -> Any:
    forms = {names[0]: form for form, names in CAPSULE_NAMES.items()}
    form = forms[structs.name_of(capsule) or b""]
    return form.from_address(structs.address_in(capsule))


def altered(change: Callable[..., None], base: type = Good) -> type:
    """An exporter with changed tensors."""
    return type(
        "Altered", (base,), {"alter": lambda self, managed, **keywords: change(managed, **keywords)}
    )


def answering(give: Callable[..., Any], base: type = Good, **more: Any) -> type:
    """An exporter with another __dlpack__; ``give`` gets the object, too."""
    return type("Answering", (base,), {"give": give, **more})


def if_versioned(change: Callable[[Any], None]) -> Callable[..., None]:
    return lambda managed, **_: change(managed) if isinstance(managed, Versioned) else None


def set_shape(managed: Any, **_: Any) -> None:
    managed.dl_tensor.shape[1] = -4


def set_strides(managed: Any) -> None:
    managed.dl_tensor.strides = None


def set_major(managed: Any) -> None:
    managed.major = 2


def set_flag(flag: int, when: Callable[..., bool] = lambda **_: True) -> Callable[..., None]:
    def change(managed: Any, **keywords: Any) -> None:
        if isinstance(managed, Versioned) and when(**keywords):
            managed.flags |= flag

    return change


def set_code(managed: Any, **_: Any) -> None:
    managed.dl_tensor.dtype.code = 200


def shift(bytes_: int, when: Callable[..., bool] = lambda **_: True) -> Callable[..., None]:
    def change(managed: Any, **keywords: Any) -> None:
        if when(**keywords):
            managed.dl_tensor.byte_offset += bytes_

    return change


def set_device_id(managed: Any, **_: Any) -> None:
    managed.dl_tensor.device.device_id = 3


class ListForTuple(Good):
    def __dlpack_device__(self) -> Any:
        return list(super().__dlpack_device__())


class WithoutCopy(Good):
    def __dlpack__(  # type: ignore[override]
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None
    ) -> Any:
        return self.give(stream=stream, max_version=max_version, dl_device=dl_device)


class TwoProtocols(Good):
    """Speaks the array interface, too, with changed entries."""

    changes: dict[str, Any] = {}  # noqa: RUF012 - shared on purpose
    says_read_only = False

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return (
            self.array.__array_interface__
            | {"data": (self.array.data_ptr, self.says_read_only)}
            | self.changes
        )


class OnShared(Good):
    device, kind = "opencl:cpu", "shared"


class OnDevice(Good):
    device, kind = "opencl:cpu", "device"


def copied_to_host(flag: int) -> Callable[..., Any]:
    def give(self: Good, **keywords: Any) -> Any:
        if keywords.get("dl_device") != (CPU, 0):
            return self.array.__dlpack__(**keywords)
        capsule = self.array.copy_to_host().__dlpack__(max_version=(1, 3))
        managed_in(capsule).flags |= flag
        return capsule

    return give


class OnCuda(Good):
    """Claims CUDA memory and CUDA streams."""

    allowed: tuple[Any, ...] = (None, -1, 1, 2)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (CUDA, 0)

    def give(self, *, stream: Any = None, dl_device: Any = None, **keywords: Any) -> Any:
        if stream not in self.allowed:
            raise ValueError(f"stream {stream}")
        if dl_device not in (None, (CUDA, 0)):
            raise BufferError(f"device {dl_device}")
        capsule = self.array.__dlpack__(**keywords)
        managed_in(capsule).dl_tensor.device.device_type = CUDA
        return capsule


class HandMade(Fabricated):
    """Written by hand down to the deleter: a new tensor of the same memory each time, no other
    device, no copies."""

    destructor: Any = structs.free_if_fresh

    def __init__(self) -> None:
        super().__init__(Importer(lambda given: given), PLAIN)

    def __dlpack__(  # type: ignore[override]
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        if stream is not None or copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("not here")
        self.forget()
        form = Versioned if (max_version or (0, 0)) >= (1, 0) else Legacy
        return structs.new_capsule(
            ctypes.addressof(self.managed(form)), CAPSULE_NAMES[form][0], self.destructor
        )


def delete(capsule: int, times: int, fresh_only: bool) -> None:
    for form, (fresh, used) in CAPSULE_NAMES.items():
        name = structs._raw_name(capsule)
        if name == fresh or (name == used and not fresh_only):
            managed: Any = form.from_address(structs._raw_pointer(capsule, name))
            for _ in range(times):
                Deleter(managed.deleter)(ctypes.addressof(managed))


class FreesTwice(HandMade):
    destructor = structs._Destructor(lambda capsule: delete(capsule, 2, True))


class FreesWhatWasTaken(HandMade):
    destructor = structs._Destructor(lambda capsule: delete(capsule, 1, False))


class NeverFrees(HandMade):
    destructor = None


class SharesItsShape(HandMade):
    """All tensors share one shape, which is freed with the first."""

    def managed(self, form: type | None = None) -> Any:
        managed = super().managed(form)
        self.shared = getattr(self, "shared", None) or structs.integers((3, 4))
        self.shared[0] = 3
        managed.dl_tensor.shape = ctypes.cast(self.shared, ctypes.POINTER(ctypes.c_int64))
        return managed

    def _delete(self, address: int) -> None:
        self.shared[0] = 0
        super()._delete(address)


class GivesMemoryAway(ReusesMemory, Good):
    free: list[ep.Array] = []  # noqa: RUF012 - shared on purpose


class KeepsReferences(Good):
    def give(self, **keywords: Any) -> Any:
        leaked_references.append(self)
        return super().give(**keywords)


class Leaks(Good):
    def give(self, **keywords: Any) -> Any:
        leak()
        return super().give(**keywords)


def versioned_for_all(self: Good, **keywords: Any) -> Any:
    return self.array.__dlpack__(
        **(keywords | ({} if keywords.get("max_version") else {"max_version": (1, 3)}))
    )


def other_for(asked: tuple[int, int], given: Any) -> Callable[..., Any]:
    """Passes another max_version than requested."""

    def give(self: Good, **keywords: Any) -> Any:
        if keywords.get("max_version") == asked:
            keywords["max_version"] = given
        return self.array.__dlpack__(**keywords)

    return give


def without(keyword: str) -> Callable[..., Any]:
    """Accepts the keyword, and ignores it."""

    def give(self: Good, **keywords: Any) -> Any:
        keywords.pop(keyword, None)
        return self.array.__dlpack__(**keywords)

    return give


def writes_read_only(self: Good, **keywords: Any) -> Any:
    capsule = self.array.__dlpack__(**keywords)
    set_flag(READ_ONLY)(managed_in(capsule))
    return capsule


def refuses_legacy(self: Good, **keywords: Any) -> Any:
    if (keywords.get("max_version") or (0, 0)) < (1, 0):
        raise BufferError("read-only")
    return writes_read_only(self, **keywords)


sycl = pytest.mark.sycl
EXPORTERS: dict[str, Any] = {
    "device": ListForTuple,
    "keywords": WithoutCopy,
    "legacy": answering(versioned_for_all),
    "versioned": answering(other_for((1, 0), None)),
    "old consumer": answering(other_for((0, 8), (1, 0))),
    "newer consumer": answering(other_for((99, 0), None)),
    "version": altered(if_versioned(set_major)),
    "shape": altered(set_shape),
    "strides": altered(if_versioned(set_strides)),
    "dtype": altered(set_code),
    "data": altered(shift(1)),
    "tensor device": altered(set_device_id),
    "agrees": type("Disagrees", (TwoProtocols,), {"changes": {"shape": (4, 3)}}),
    "flags": altered(set_flag(1 << 40)),
    "read-only": answering(refuses_legacy, TwoProtocols),
    "read-only legacy": answering(writes_read_only, TwoProtocols, says_read_only=True),
    "zero copy": altered(set_flag(IS_COPIED, lambda copy=None, **_: copy is None)),
    "copy=False": altered(set_flag(IS_COPIED, lambda copy=None, **_: copy is False)),
    "copy=True": answering(without("copy")),
    "own device": altered(shift(4, lambda dl_device=None, **_: dl_device is not None)),
    "host device": pytest.param(answering(copied_to_host(0), OnDevice), marks=sycl),
    "host view": pytest.param(answering(copied_to_host(IS_COPIED), OnShared), marks=sycl),
    "other device": answering(without("dl_device")),
    "host stream": answering(without("stream")),
    "no order": type("Ordered", (OnCuda,), {"allowed": (None, 1, 2)}),
    "ambiguous stream": type("Ambiguous", (OnCuda,), {"allowed": (None, -1, 0, 1, 2)}),
    "unconsumed capsule": FreesTwice,
    "consumed capsule": FreesWhatWasTaken,
    "several exports": SharesItsShape,
    "keeps the memory": GivesMemoryAway,
    "references": KeepsReferences,
    "leak": Leaks,
}
# The deleter that needs the GIL would crash: tests of the runner show that.
ELSEWHERE = {"deleter thread"}


def cases(breakers: dict[str, Any]) -> list[Any]:
    return [
        pytest.param(name, *case.values, id=name, marks=case.marks)
        if hasattr(case, "marks")
        else pytest.param(name, case, id=name)
        for name, case in breakers.items()
    ]


def test_clauses_all_have_a_breaker() -> None:
    assert EXPORTERS.keys() | ELSEWHERE == set(names("dlpack", EXPORT))
    assert IMPORTERS.keys() == set(names("dlpack", IMPORT))


ON_HOST = {
    "agrees",
    "read-only",
    "read-only legacy",
    "host device",
    "host view",
    "no order",
    "ambiguous stream",
}


def test_correct_exporter_passes_all_clauses() -> None:
    all_kept(of_exporter("dlpack", Good), ON_HOST)
    all_kept(of_exporter("dlpack", TwoProtocols), ON_HOST - {"agrees", "read-only"})
    all_kept(
        of_exporter("dlpack", OnCuda),
        ON_HOST - {"no order", "ambiguous stream"} | {"host stream", "host device", "host view"},
    )


@sycl
def test_good_device_exporter_passes_all_clauses() -> None:
    unasked = {
        "agrees",
        "read-only",
        "read-only legacy",
        "host stream",
        "no order",
        "ambiguous stream",
    }
    all_kept(of_exporter("dlpack", OnShared), unasked)
    all_kept(of_exporter("dlpack", OnDevice), unasked | {"host device", "host view"})


def test_handwritten_exporter_passes_all_clauses() -> None:
    all_kept(of_exporter("dlpack", HandMade), ON_HOST | {"copy=True"})


@pytest.mark.parametrize(("name", "kind"), cases(EXPORTERS))
def test_violating_exporter_fails_its_clause(name: str, kind: type) -> None:
    is_caught(of_exporter("dlpack", kind), name)
    leaked_references.clear()


def test_unconsumed_capsule_that_leaks_is_caught() -> None:
    is_caught(
        of_exporter("dlpack", NeverFrees), "unconsumed capsule", {"references"}, perhaps={"leak"}
    )


# ---------------------------------------------------------------- importers


def importing(
    correct: Callable[[Any], None] = lambda managed: None,
    *,
    refuse: Callable[[Any, bytes], bool] = lambda managed, name: False,
    ask: dict[str, Any] | None = None,
    retry: bool = True,
    take: Callable[[Any], Any] = ep.asarray,
) -> Callable[[Any], Any]:
    """An importer that makes correct requests, corrects the tensor, refuses some, and passes the
    rest to Entrepot."""

    def from_dlpack(obj: Any) -> Any:
        try:
            capsule = obj.__dlpack__(**({"max_version": (1, 3)} if ask is None else ask))
        except TypeError:
            if not retry:
                raise
            capsule = obj.__dlpack__()
        name = structs.name_of(capsule)
        forms = {names[0]: form for form, names in CAPSULE_NAMES.items()}
        if name in forms:
            managed = forms[name].from_address(structs.address_in(capsule))
            if refuse(managed, name):
                raise BufferError("not taken")
            correct(managed)
        return take(capsule)

    return from_dlpack


def version_of(managed: Any) -> tuple[int, int]:
    return (managed.major, managed.minor) if isinstance(managed, Versioned) else (0, 0)


def correcting(**fields: Any) -> Callable[[Any], Any]:
    """Corrects the tensor or the managed tensor, so that Entrepot accepts malformed ones."""

    def correct(managed: Any) -> None:
        for name, value in fields.items():
            target = managed if name in ("major", "flags") else managed.dl_tensor
            if name in ("shape", "strides"):
                value = structs.integers(value)
                leaked_references.append(value)
                value = ctypes.cast(value, ctypes.POINTER(ctypes.c_int64))
            if name in ("major", "flags") and isinstance(managed, Legacy):
                continue
            setattr(target, name, value)

    return importing(correct)


def laid_out(strides: tuple[int, ...], instead: tuple[int, ...]) -> Callable[[Any], Any]:
    """Ignores these strides."""

    def correct(managed: Any) -> None:
        tensor = managed.dl_tensor
        if tensor.strides and tuple(tensor.strides[: tensor.ndim]) == strides:
            for axis, stride in enumerate(instead):
                tensor.strides[axis] = stride

    return importing(correct)


def moves_scalars(null: bool) -> Callable[[Any], Any]:
    def correct(managed: Any) -> None:
        if managed.dl_tensor.ndim == 0 and bool(managed.dl_tensor.shape) != null:
            managed.dl_tensor.byte_offset += 4

    return importing(correct)


def renamed_back(capsule: Any) -> Any:
    array = ep.asarray(capsule)
    structs.rename(capsule, CAPSULE_NAMES[Versioned][0])
    ctypes.pythonapi.PyCapsule_SetDestructor(ctypes.py_object(capsule), None)
    return array


def frees_at_once(obj: Any) -> Any:
    array = ep.asarray(obj)
    if (array.shape, array.strides, array.read_only, str(array.dtype)) == (
        (3, 4),
        (4, 1),
        False,
        "float32",
    ):
        return ep.asarray(Described(array.data_ptr))
    return array


def deletes_twice(capsule: Any) -> Any:
    managed = managed_in(capsule)
    array = ep.asarray(capsule)
    original = managed.deleter
    if original:

        def twice(address: int) -> None:
            Deleter(original)(address)
            Deleter(original)(address)

        callback = Deleter(twice)
        leaked_references.append(callback)
        managed.deleter = structs.address_of(callback)
    return array


def forgets(refused: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """Renames the capsule of a tensor that it then refuses, and does not free it."""

    def take(capsule: Any) -> Any:
        name = structs.name_of(capsule) or b""
        if not name.startswith(b"dltensor") or not refused(managed_in(capsule)):
            return ep.asarray(capsule)
        structs.rename(capsule, CAPSULE_NAMES[Versioned][1])
        raise BufferError("not taken")

    return importing(take=take)


def renames(old: bytes) -> Callable[[Any], Any]:
    """Takes capsules of this name, too."""

    def take(capsule: Any) -> Any:
        if structs.name_of(capsule) == old:
            structs.rename(capsule, CAPSULE_NAMES[Versioned][0])
        return ep.asarray(capsule)

    return importing(take=take)


def swallows(obj: Any) -> Any:
    try:
        return importing()(obj)
    except BufferError as refusal:
        if "cannot be exported" in str(refusal):
            return ep.zeros((3, 4), "float32", device="host")
        raise


def believes_its_question(obj: Any) -> Any:
    """Expects the form that it has requested."""
    try:
        capsule = obj.__dlpack__(max_version=(1, 3))
    except TypeError:
        return ep.asarray(obj.__dlpack__())
    if structs.name_of(capsule) == b"dltensor" and not has_null_strides(managed_in(capsule)):
        raise BufferError("not taken")
    return ep.asarray(capsule)


def has_null_strides(managed: Any) -> bool:
    return managed.dl_tensor.ndim and not managed.dl_tensor.strides


def correcting_if(wrong: Callable[[Any], bool], **fields: Any) -> Callable[[Any], Any]:
    """Corrects tensors that are wrong in this way."""

    def correct(managed: Any) -> None:
        if not wrong(managed.dl_tensor):
            return
        for name, value in fields.items():
            if name in ("shape", "strides"):
                numbers = structs.integers(value)
                leaked_references.append(numbers)
                value = ctypes.cast(numbers, ctypes.POINTER(ctypes.c_int64))
            setattr(managed.dl_tensor, name, value)

    return importing(correct)


MEMORY = (ctypes.c_float * 16)()
IMPORTERS: dict[str, Any] = {
    "plain": WrongOnce(),
    "legacy": believes_its_question,
    "old producer": importing(retry=False),
    "asks for a version": importing(ask={}),
    "host stream": importing(ask={"max_version": (1, 3), "stream": 1}),
    "zero copy": lambda obj: ep.asarray(obj, copy=True),
    "renames the capsule": importing(take=renamed_back),
    "holds the tensor": frees_at_once,
    "releases once": importing(take=deletes_twice),
    "null deleter": importing(refuse=lambda managed, name: not managed.deleter),
    "transposed": laid_out((1, 4), (3, 1)),
    "steps": laid_out((8, 2), (3, 1)),
    "negative strides": laid_out((-4, -1), (4, 1)),
    "broadcast": laid_out((0, 1), (4, 1)),
    "0-d": moves_scalars(null=False),
    "0-d null": moves_scalars(null=True),
    "zero size": importing(
        refuse=lambda managed, name: not managed.dl_tensor.data and managed.dl_tensor.shape[0] == 0
    ),
    "null strides": importing(
        refuse=lambda managed, name: has_null_strides(managed) and isinstance(managed, Legacy)
    ),
    "null strides versioned": importing(
        refuse=lambda managed, name: has_null_strides(managed) and isinstance(managed, Versioned)
    ),
    "byte_offset": correcting(byte_offset=0),
    "newer minor": importing(
        refuse=lambda managed, name: version_of(managed) > (1, 3) and version_of(managed)[0] == 1
    ),
    "read-only": correcting(flags=0),
    "refuses a major version": correcting(major=1),
    "frees a major version": forgets(lambda managed: version_of(managed)[0] == 2),
    "frees what it refuses": forgets(lambda managed: managed.dl_tensor.dtype.code == 200),
    "refuses a used capsule": renames(CAPSULE_NAMES[Versioned][1]),
    "refuses other capsules": renames(b"something else"),
    "refuses null data": correcting_if(
        lambda t: not t.data and t.shape[0] != 0, data=ctypes.addressof(MEMORY)
    ),
    "refuses ndim": correcting_if(lambda t: t.ndim < 0, ndim=2),
    "refuses a null shape": correcting_if(lambda t: t.ndim and not t.shape, shape=(3, 4)),
    "refuses extents": correcting_if(
        lambda t: t.ndim == 2 and t.shape and t.shape[0] < 0, shape=(3, 4)
    ),
    "refuses an overflow": correcting_if(
        lambda t: t.ndim == 2 and t.shape and t.shape[0] > 2**60, shape=(3, 4), strides=(4, 1)
    ),
    "refuses a code": correcting_if(
        lambda t: t.dtype.code == 200, dtype=structs.DLDataType(2, 32, 1)
    ),
    "refuses bits": correcting_if(lambda t: t.dtype.bits == 24, dtype=structs.DLDataType(2, 32, 1)),
    "lanes": correcting_if(lambda t: t.dtype.lanes == 3, dtype=structs.DLDataType(2, 32, 1)),
    "refuses a device": correcting_if(
        lambda t: t.device.device_type == 99, device=structs.DLDevice(1, 0)
    ),
    "refusal of the producer": swallows,
    "leak": leaks_memory,
}


def test_correct_importer_passes_all_clauses() -> None:
    all_kept(of_importer("dlpack", ep.from_dlpack))
    all_kept(of_importer("dlpack", importing()))


@sycl
def test_good_device_importer_passes_all_clauses() -> None:
    all_kept(of_importer("dlpack", ep.asarray, "opencl:cpu"), {"host stream"})


@pytest.mark.parametrize(("name", "take"), cases(IMPORTERS))
def test_violating_importer_fails_its_clause(name: str, take: Callable[[Any], Any]) -> None:
    is_caught(
        of_importer("dlpack", take),
        name,
        perhaps={"leak"} if take is IMPORTERS["releases once"] else (),
    )
    leaked_references.clear()


def test_leaked_tensor_is_caught() -> None:
    def keep(obj: Any) -> Any:
        leaked_references.append(ep.asarray(obj))
        return leaked_references[-1]

    assert {"releases once"} <= {
        name for name, outcome in of_importer("dlpack", keep).items() if outcome.status == "failed"
    }
    leaked_references.clear()


def test_held_object_must_be_a_tensor_capsule() -> None:
    for wrong in (object(), structs.new_capsule(ctypes.addressof(MEMORY), b"something else")):
        with pytest.raises(Failed, match=r"a PyCapsule|a capsule named"):
            Held(wrong)

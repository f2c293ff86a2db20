"""DLPack producers written by hand with ctypes: a test sets every field of the tensors, and
deleter calls are counted."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from support.capsules import Destructor, new_capsule, pointer_in, raw_name_of, raw_pointer_in

CPU, CUDA, ROCM, ONE_API = 1, 2, 10, 14
READ_ONLY, IS_COPIED, PADDED = 1, 2, 4


class DLDevice(ctypes.Structure):
    _fields_ = (("device_type", c_int32), ("device_id", c_int32))


class DLDataType(ctypes.Structure):
    _fields_ = (("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16))


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


ManagedForm = TypeVar("ManagedForm", bound="Managed")
Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class Managed(ctypes.Structure):
    """A managed tensor of either form. ``names``: of its capsules, before and after an import."""

    names: ClassVar[tuple[bytes, bytes]]
    # Fields of both forms.
    dl_tensor: DLTensor
    manager_ctx: int | None
    deleter: int | None

    def delete(self) -> None:
        """Calls the deleter, as the tensor's last consumer does."""
        assert self.deleter is not None
        Deleter(self.deleter)(ctypes.addressof(self))


class Legacy(Managed):
    _fields_ = (("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p))
    names = (b"dltensor", b"used_dltensor")


class Versioned(Managed):
    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("dl_tensor", DLTensor),
    )
    names = (b"dltensor_versioned", b"used_dltensor_versioned")


def content(capsule: object, form: type[ManagedForm]) -> ManagedForm:
    """The tensor in one of Entrepot's capsules that no consumer has taken yet."""
    return form.from_address(pointer_in(capsule, form.names[0]))


def _free(capsule: int) -> None:
    """Every producer's duty: a capsule that was not renamed frees its tensor."""
    for form in (Legacy, Versioned):
        if raw_name_of(capsule) == form.names[0]:
            managed = form.from_address(raw_pointer_in(capsule, form.names[0]))
            if managed.deleter:
                managed.delete()


_free_if_fresh = Destructor(_free)


@dataclass(eq=False)
class Producer:
    """Speaks DLPack about ``address``, by default of 4 by 3 floats; keeps ``data`` alive. A shape
    or strides of None is NULL.
    """

    address: int | None
    data: Any = None
    form: type[Managed] = Versioned
    shape: tuple[int, ...] | None = (4, 3)
    strides: tuple[int, ...] | None = (3, 1)
    ndim: int | None = None
    dtype: tuple[int, int, int] = (2, 32, 1)
    device: tuple[int, int] = (CPU, 0)
    byte_offset: int = 0
    flags: int = 0
    version: tuple[int, int] = (1, 3)
    null_deleter: bool = False
    deleted: int = 0
    made: list[tuple[Managed, object]] = field(
        default_factory=list
    )  # what the tensors point to, for as long as the producer lives

    def tensor(self) -> Managed:
        """A new managed tensor, which its consumer has to release through its deleter."""
        managed = self.form()
        tensor = managed.dl_tensor
        tensor.data = self.address
        tensor.device = DLDevice(*self.device)
        tensor.ndim = len(self.shape or ()) if self.ndim is None else self.ndim
        tensor.dtype = DLDataType(*self.dtype)
        tensor.byte_offset = self.byte_offset
        if self.shape is not None:
            tensor.shape = (c_int64 * len(self.shape))(*self.shape)
        if self.strides is not None:
            tensor.strides = (c_int64 * len(self.strides))(*self.strides)
        if isinstance(managed, Versioned):
            managed.major, managed.minor, managed.flags = *self.version, self.flags
        deleter = Deleter(self._delete)
        if not self.null_deleter:
            managed.deleter = ctypes.cast(deleter, c_void_p).value
        self.made.append((managed, deleter))
        return managed

    def capsule(self) -> object:
        return new_capsule(ctypes.addressof(self.tensor()), self.form.names[0], _free_if_fresh)

    def _delete(self, _: int) -> None:
        self.deleted += 1

    def __dlpack__(self, **_: object) -> object:
        return self.capsule()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class Held(Producer):
    """Its tensors keep it alive, as manager_ctx does for a producer in C."""

    held: ClassVar[list[Producer]] = []

    def tensor(self) -> Managed:
        self.held.append(self)
        return super().tensor()

    def _delete(self, address: int) -> None:
        super()._delete(address)
        self.held.remove(self)

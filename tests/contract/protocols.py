"""A producer and a consumer for each protocol, written by hand and independent of the others.

A protocol joins with a class and its line in EVERY_PROTOCOL.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

import entrepot as ep
from support.array_structs import ALIGNED, NATIVE, WRITABLE, ArrayStruct
from support.buffers import Exporter
from support.capsules import new_capsule, pointer_in
from support.malformed import Speaker
from support.places import CUDA, EVERY_PLACE, SYCL, Place
from support.tables import publish, table_of
from support.tensors import (
    IS_COPIED,
    PADDED,
    READ_ONLY,
    Held,
    Legacy,
    Producer,
    Versioned,
    content,
)

HOST_ACCESSIBLE = tuple(place for place in EVERY_PLACE if place.host_accessible)
TYPESTRS = {
    np.dtype(name).name: np.dtype(name).str
    for name in "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
}
CODES = {  # DLPack's code and bits
    **{f"int{bits}": (0, bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (2, bits) for bits in (16, 32, 64)},
    "bfloat16": (4, 16),
    **{f"complex{bits}": (5, bits) for bits in (64, 128)},
    "bool": (6, 8),
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
}
SUBBYTE_CODES = {"float6_e2m3fn": (15, 6), "float6_e3m2fn": (16, 6), "float4_e2m1fn": (17, 4)}
FORMATS = dict(zip(TYPESTRS, "? b h i q B H I Q e f d Zf Zd".split(), strict=True))


class Keeper:
    """Owner of a producer's memory, which lives as long as this object."""

    def __init__(self, memory: ep.Array) -> None:
        self.memory = memory


@dataclass(frozen=True)
class Seen:
    """An export as a consumer reads it; strides in elements. ``keep`` is the consumer's
    reference.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    read_only: bool
    keep: Any


def packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


class Protocol:
    name: str  # of asarray(protocol=)
    dtypes: tuple[str, ...] = tuple(TYPESTRS)
    places: tuple[Place, ...] = HOST_ACCESSIBLE  # of what can be exported
    knows_places: bool = False  # otherwise all imports are host memory
    says_read_only: bool = True

    def take(self, obj: Any) -> ep.Array:
        return ep.asarray(obj, protocol=self.name)

    def produce(self, array: ep.Array, keeper: Keeper, *, read_only: bool = False) -> Any:
        """An object that exports the array by this protocol alone, and keeps the keeper alive."""
        raise NotImplementedError

    def consume(self, array: ep.Array) -> Seen:
        raise NotImplementedError

    def __str__(self) -> str:
        return type(self).__name__


# ---------------------------------------------------------------- dicts


class Suai(Protocol):
    name = "suai"
    places = tuple(SYCL)
    knows_places = True

    def produce(self, array: ep.Array, keeper: Keeper, *, read_only: bool = False) -> Any:
        interface = {
            "shape": array.shape,
            "typestr": TYPESTRS[str(array.dtype)],
            "data": (array.data_ptr, read_only),
            "strides": array.strides,
            "version": 1,
            "syclobj": array.queue,
        }
        return Speaker("__sycl_usm_array_interface__", interface, keep=keeper)

    def consume(self, array: ep.Array) -> Seen:
        interface = array.__sycl_usm_array_interface__
        dtype = np.dtype(interface["typestr"])
        address, read_only = interface["data"]
        assert interface["version"] == 1
        assert array.context == interface["syclobj"].sycl_context
        shape = interface["shape"]
        address += interface["offset"] * dtype.itemsize
        return Seen(
            address, shape, interface["strides"] or packed(shape), dtype.name, read_only, array
        )


class Cai(Protocol):
    name = "cai"
    places = tuple(
        CUDA
    )  # HIP: tests/python/device/test_hip.py (a pointer's runtime is found by asking)
    knows_places = True

    def produce(self, array: ep.Array, keeper: Keeper, *, read_only: bool = False) -> Any:
        interface = {
            "shape": array.shape,
            "typestr": TYPESTRS[str(array.dtype)],
            "data": (array.data_ptr, read_only),
            "strides": tuple(array.itemsize * stride for stride in array.strides),
            "version": 3,
            "stream": array.queue.__cuda_stream__()[1],
        }
        return Speaker("__cuda_array_interface__", interface, keep=keeper)

    def consume(self, array: ep.Array) -> Seen:
        interface = array.__cuda_array_interface__
        dtype = np.dtype(interface["typestr"])
        address, read_only = interface["data"]
        assert interface["version"] == 3
        assert interface["stream"] != 0
        shape, steps = interface["shape"], interface["strides"]
        strides = (
            packed(shape) if steps is None else tuple(step // dtype.itemsize for step in steps)
        )
        return Seen(address, shape, strides, dtype.name, read_only, array)


class ArrayInterface(Protocol):
    name = "array_interface"

    def produce(self, array: ep.Array, keeper: Keeper, *, read_only: bool = False) -> Any:
        interface = {
            "shape": array.shape,
            "typestr": TYPESTRS[str(array.dtype)],
            "data": (array.data_ptr, read_only),
            "strides": tuple(array.itemsize * stride for stride in array.strides),
            "version": 3,
        }
        return Speaker("__array_interface__", interface, keep=keeper)

    def consume(self, array: ep.Array) -> Seen:
        interface = array.__array_interface__
        dtype = np.dtype(interface["typestr"])
        address, read_only = interface["data"]
        assert interface["version"] == 3
        shape, steps = interface["shape"], interface["strides"]
        strides = (
            packed(shape) if steps is None else tuple(step // dtype.itemsize for step in steps)
        )
        return Seen(address, shape, strides, dtype.name, read_only, array)


class ArrayStructProtocol(Protocol):
    name = "array_struct"

    def produce(self, array: ep.Array, keeper: Keeper, *, read_only: bool = False) -> Any:
        extents = (ctypes.c_ssize_t * array.ndim)(*array.shape)
        steps = (ctypes.c_ssize_t * array.ndim)(
            *(array.itemsize * stride for stride in array.strides)
        )
        struct = ArrayStruct(
            two=2,
            nd=array.ndim,
            typekind=TYPESTRS[str(array.dtype)][1].encode(),
            itemsize=array.itemsize,
            flags=NATIVE | ALIGNED | (0 if read_only else WRITABLE),
            shape=extents,
            strides=steps,
            data=array.data_ptr,
        )
        return Speaker(
            "__array_struct__",
            new_capsule(ctypes.byref(struct), None),
            keep=(keeper, struct, extents, steps),
        )

    def consume(self, array: ep.Array) -> Seen:
        capsule = array.__array_struct__
        struct = ArrayStruct.from_address(pointer_in(capsule, None))
        assert struct.two == 2
        assert struct.flags & NATIVE
        dtype = np.dtype(f"{struct.typekind.decode()}{struct.itemsize}")
        shape = tuple(struct.shape[: struct.nd])
        strides = tuple(step // struct.itemsize for step in struct.strides[: struct.nd])
        return Seen(struct.data, shape, strides, dtype.name, not struct.flags & WRITABLE, capsule)


# ---------------------------------------------------------------- buffers


class Buffer(Protocol):
    name = "buffer"

    def produce(self, array: ep.Array, keeper: Keeper, *, read_only: bool = False) -> Any:
        return Exporter(
            keeper,
            array.data_ptr,
            shape=array.shape,
            strides=tuple(array.itemsize * stride for stride in array.strides),
            format=FORMATS[str(array.dtype)].encode(),
            itemsize=array.itemsize,
            length=array.nbytes,
            read_only=int(read_only),
        )

    def consume(self, array: ep.Array) -> Seen:
        view = memoryview(array)
        dtype = {code: name for name, code in FORMATS.items()}[view.format]
        assert view.shape is not None and view.strides is not None  # None: released
        strides = tuple(step // view.itemsize for step in view.strides)
        return Seen(np.asarray(view).ctypes.data, view.shape, strides, dtype, view.readonly, view)


# ---------------------------------------------------------------- DLPack


def held(array: ep.Array, keeper: Keeper, form: type, read_only: bool) -> Held:
    dtype = str(array.dtype)
    flags = (READ_ONLY if read_only else 0) | (PADDED if dtype in SUBBYTE_CODES else 0)
    return Held(
        array.data_ptr,
        keeper,
        form,
        shape=array.shape,
        strides=array.strides,
        dtype=(*(CODES | SUBBYTE_CODES)[dtype], 1),
        device=array.__dlpack_device__(),
        flags=flags,
    )


def read_tensor(managed: Legacy | Versioned, keep: Any) -> Seen:
    tensor = managed.dl_tensor
    flags = managed.flags if isinstance(managed, Versioned) else 0
    assert not flags & IS_COPIED
    assert tensor.dtype.lanes == 1
    names = {code: name for name, code in (CODES | SUBBYTE_CODES).items()}
    shape, strides = tuple(tensor.shape[: tensor.ndim]), tuple(tensor.strides[: tensor.ndim])
    name = names[tensor.dtype.code, tensor.dtype.bits]
    return Seen(
        tensor.data + tensor.byte_offset, shape, strides, name, bool(flags & READ_ONLY), keep
    )


class DlpackVersioned(Protocol):
    name = "dlpack"
    dtypes = (*CODES, *SUBBYTE_CODES)
    places = EVERY_PLACE
    knows_places = True

    def produce(self, array: ep.Array, keeper: Keeper, *, read_only: bool = False) -> Any:
        return held(array, keeper, Versioned, read_only)

    def consume(self, array: ep.Array) -> Seen:
        capsule = array.__dlpack__(max_version=(1, 3))
        return read_tensor(content(capsule, Versioned), capsule)


class DlpackLegacy(DlpackVersioned):
    dtypes = tuple(CODES)
    says_read_only = False

    def produce(self, array: ep.Array, keeper: Keeper, *, read_only: bool = False) -> Any:
        return held(array, keeper, Legacy, read_only)

    def consume(self, array: ep.Array) -> Seen:
        capsule = array.__dlpack__()
        return read_tensor(content(capsule, Legacy), capsule)


class Managed:
    """A tensor as the C exchange API returns it; its holder frees it."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __del__(self) -> None:
        Versioned.from_address(self.address).delete()


# CExchangeApi gives each object its producer.
Tensor, _ = publish(lambda: Producer(None))


class CExchangeApi(DlpackVersioned):
    name = "c_exchange_api"

    def produce(self, array: ep.Array, keeper: Keeper, *, read_only: bool = False) -> Any:
        tensor = Tensor()
        tensor.producer = held(array, keeper, Versioned, read_only)
        return tensor

    def consume(self, array: ep.Array) -> Seen:
        out = ctypes.c_void_p()
        assert table_of(ep.Array).from_object(array, out) == 0
        address = out.value or 0
        return read_tensor(Versioned.from_address(address), Managed(address))


EVERY_PROTOCOL: tuple[Protocol, ...] = (
    Suai(),
    Cai(),
    DlpackVersioned(),
    DlpackLegacy(),
    CExchangeApi(),
    Buffer(),
    ArrayInterface(),
    ArrayStructProtocol(),
)

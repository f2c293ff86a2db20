"""Structs in kernels: layouts of NumPy's structured dtypes, and arrays of structs on any device."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from .._core import Array, Device, StructLayout, asarray, copy, full, struct_field
from .._core import Dtype as _Dtype
from .transfer import device_array

#: Protocols by which arrays of structs are exchanged, in the order in which they are tried.
_INTERFACES = ("__sycl_usm_array_interface__", "__cuda_array_interface__", "__array_interface__")


class StructArray:
    """An array of structs in memory of any device, which kernels take as an argument.

    It consists of an Array of bytes and a structured dtype of NumPy.

    Parameters
    ----------
    data : array_like
        The bytes: an array of uint8 whose last axis has the bytes of one struct.
    dtype : dtype_like
        The structured dtype. Its fields must be aligned, as ``align=True`` makes them.

    Raises
    ------
    TypeError
        If the dtype has no fields, or kernels do not support one of them.
    ValueError
        If the bytes are of another size.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> point = np.dtype([("x", "f4"), ("y", "f4")])
    >>> points = ek.StructArray.zeros(3, point, device="host")
    >>> @ek.kernel
    ... def count(points):
    ...     i = ek.get_global_id(0)
    ...     points[i].y = i
    >>> count[3](points).wait()
    >>> points.field("y").numpy().tolist()
    [0.0, 1.0, 2.0]
    """

    __slots__ = ("_bytes", "_dtype", "_handle")

    def __init__(self, data: object, dtype: object) -> None:
        import numpy as np

        self._dtype: Any = np.dtype(dtype)  # type: ignore[call-overload]
        handle = handle_of(self._dtype)
        if not isinstance(handle, StructLayout):
            raise TypeError(f"StructArray: {handle or f'{self._dtype} has no fields'}")
        self._handle = handle
        self._bytes = asarray(data)
        size = self._dtype.itemsize
        if str(self._bytes.dtype) != "uint8" or self._bytes.shape[-1:] != (size,):
            raise ValueError(
                f"StructArray: {self._bytes.dtype} of shape {self._bytes.shape} was given; the "
                f"bytes are uint8, and the last axis has the {size} of one struct"
            )

    @classmethod
    def empty(
        cls,
        shape: int | Sequence[int],
        dtype: object,
        device: object = None,
        *,
        queue: object = None,
        kind: str = "device",
    ) -> StructArray:
        """Make an uninitialized array of structs.

        Parameters
        ----------
        shape : int or sequence of int
            The extents, in structs.
        dtype : dtype_like
            The structured dtype.
        device : Device or str, optional
            The device. The default is the device of ``queue``, else the current device.
        queue : Queue, optional
            The queue of the new array.
        kind : str, optional
            The kind of memory: 'device' (the default), 'host' or 'shared'.

        Returns
        -------
        StructArray
            The new array, C-contiguous.

        Raises
        ------
        TypeError
            If the dtype has no fields, or kernels do not support one of them.
        ValueError
            If an extent is negative, the selector malformed or the kind unknown.
        DeviceError
            If no device matches the selector.
        USMAllocationError
            If the memory cannot be allocated.

        Examples
        --------
        >>> from entrepot import kernel as ek
        >>> ek.StructArray.empty((2, 3), [("x", "f4"), ("n", "i4")], device="host").nbytes
        48
        """
        extents = (shape,) if isinstance(shape, int) else tuple(shape)
        return cls(
            device_array((*extents, _itemsize(dtype)), "uint8", device, queue=queue, kind=kind),
            dtype,
        )

    @classmethod
    def zeros(
        cls,
        shape: int | Sequence[int],
        dtype: object,
        device: object = None,
        *,
        queue: object = None,
        kind: str = "device",
    ) -> StructArray:
        """Make an array of structs whose bytes are 0.

        Parameters
        ----------
        shape : int or sequence of int
            The extents, in structs.
        dtype : dtype_like
            The structured dtype.
        device : Device or str, optional
            The device. The default is the device of ``queue``, else the current device.
        queue : Queue, optional
            The queue of the new array.
        kind : str, optional
            The kind of memory: 'device' (the default), 'host' or 'shared'.

        Returns
        -------
        StructArray
            The new array, C-contiguous.

        Raises
        ------
        TypeError
            If the dtype has no fields, or kernels do not support one of them.
        ValueError
            If an extent is negative, the selector malformed or the kind unknown.
        DeviceError
            If no device matches the selector.
        USMAllocationError
            If the memory cannot be allocated.

        Examples
        --------
        >>> from entrepot import kernel as ek
        >>> ek.StructArray.zeros(2, [("x", "f4"), ("n", "i4")], device="host").numpy().tolist()
        [(0.0, 0), (0.0, 0)]
        """
        made = cls.empty(shape, dtype, device, queue=queue, kind=kind)
        copy(made._bytes, full((), 0, "uint8", device="host").broadcast_to(made._bytes.shape))
        return made

    @classmethod
    def asarray(cls, obj: object) -> StructArray:
        """View an array of structs of another library, without a copy.

        Parameters
        ----------
        obj : array_like
            A StructArray, a structured array of NumPy, or an object with an array interface of
            structs. The interface's ``typestr`` is such as ``|V16``, and its ``descr`` has the
            fields.

        Returns
        -------
        StructArray
            The array, on the memory of ``obj``.

        Raises
        ------
        TypeError
            If the object has no fields, or kernels do not support one of them.
        ExchangeError
            If the memory cannot be viewed.

        Examples
        --------
        >>> from entrepot import kernel as ek
        >>> particles = np.zeros(2, [("x", "f4"), ("n", "i4")])
        >>> ek.StructArray.asarray(particles).field("n").numpy()[1] = 7
        >>> particles["n"].tolist()
        [0, 7]
        """
        if isinstance(obj, cls):
            return obj
        dtype = _dtype_of(obj)
        if dtype is None:
            raise TypeError(
                f"StructArray.asarray: {type(obj).__name__} has no fields; give a structured array "
                "of NumPy, or an object whose array interface has them as 'descr'"
            )
        return cls(_bytes_of(obj, dtype.itemsize), dtype)

    @classmethod
    def to_device(
        cls, obj: object, device: object = None, *, queue: object = None, kind: str = "device"
    ) -> StructArray:
        """Copy an array of structs to new memory of a device, and wait for the copy.

        Parameters
        ----------
        obj : array_like
            The source, which asarray accepts.
        device : Device or str, optional
            The device. The default is the device of ``queue``, else the current device.
        queue : Queue, optional
            The queue of the new array.
        kind : str, optional
            The kind of memory: 'device' (the default), 'host' or 'shared'.

        Returns
        -------
        StructArray
            The copy, C-contiguous.

        Raises
        ------
        TypeError
            If the object has no fields, or kernels do not support one of them.
        ExchangeError
            If the memory cannot be viewed.
        ValueError
            If the selector is malformed or the kind unknown.
        DeviceError
            If no device matches the selector.
        USMAllocationError
            If the memory cannot be allocated.

        Examples
        --------
        >>> from entrepot import kernel as ek
        >>> particles = np.zeros(2, [("x", "f4"), ("n", "i4")])
        >>> ek.StructArray.to_device(particles, "host").shape
        (2,)
        """
        source = cls.asarray(obj)
        made = cls.empty(source.shape, source.dtype, device, queue=queue, kind=kind)
        copy(made._bytes, source._bytes).wait()
        return made

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, in structs."""
        return tuple(self._bytes.shape[:-1])

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._bytes.ndim - 1

    @property
    def size(self) -> int:
        """The number of structs."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def dtype(self) -> Any:
        """The structured dtype, of NumPy."""
        return self._dtype

    @property
    def nbytes(self) -> int:
        """The size of the structs, in bytes."""
        return self.size * int(self._dtype.itemsize)

    @property
    def bytes(self) -> Array:
        """An Array of uint8, whose last axis has the bytes of one struct."""
        return self._bytes

    @property
    def device(self) -> Device:
        """The device of the memory."""
        return self._bytes.device

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a StructArray without axes")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"StructArray(shape={self.shape}, dtype={self._dtype}, device={self.device})"

    def field(self, name: str) -> Any:
        """View one field of all structs, on the same memory.

        Parameters
        ----------
        name : str
            The name of the field.

        Returns
        -------
        Array or StructArray
            The numbers of the field, with strides; the extents of a sub-array are the last ones. A
            nested struct is a StructArray.

        Raises
        ------
        KeyError
            If there is no such field.

        Examples
        --------
        >>> from entrepot import kernel as ek
        >>> particles = ek.StructArray.zeros(4, [("x", "f4"), ("v", "f4", 3)], device="host")
        >>> velocities = particles.field("v")
        >>> velocities.shape, velocities.strides
        ((4, 3), (4, 1))
        """
        if name not in self._dtype.names:
            raise KeyError(
                f"{name!r} is no field of the structs, which have {', '.join(self._dtype.names)}"
            )
        field, offset = self._dtype.fields[name][:2]
        base, shape = field.subdtype or (field, ())
        steps = _steps(base.itemsize, shape)
        if base.names is None:
            strides = [step // base.itemsize for step in steps]
            return struct_field(
                self._bytes, self._dtype.itemsize, base, offset, list(shape), strides
            )
        nested = struct_field(
            self._bytes,
            self._dtype.itemsize,
            "uint8",
            offset,
            [*shape, base.itemsize],
            [*steps, 1],
        )
        return StructArray(nested, base)

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise TypeError(
                f"a StructArray is indexed by names of fields, not by {name!r}: kernels access "
                "the elements, and numpy() or copy_to_host() gives them to NumPy"
            )
        return self.field(name)

    def numpy(self) -> Any:
        """View the structs as a NumPy array, on the same memory.

        Returns
        -------
        numpy.ndarray
            The array.

        Raises
        ------
        ExchangeError
            If the host cannot reach the memory; copy_to_host() copies it.

        Examples
        --------
        >>> from entrepot import kernel as ek
        >>> particles = ek.StructArray.zeros(2, [("x", "f4"), ("n", "i4")], device="host")
        >>> particles.numpy()[1] = (1.5, 2)
        >>> particles.field("n").numpy().tolist()
        [0, 2]
        """
        return self._bytes.numpy().view(self._dtype)[..., 0]

    def copy_to_host(self) -> Any:
        """Copy the structs to a NumPy array, and wait for the copy.

        Returns
        -------
        numpy.ndarray
            The copy.

        Raises
        ------
        DeviceError
            If earlier work on the memory failed.

        Examples
        --------
        >>> from entrepot import kernel as ek
        >>> particles = ek.StructArray.zeros(2, [("x", "f4"), ("n", "i4")])
        >>> particles.copy_to_host().tolist()
        [(0.0, 0), (0.0, 0)]
        """
        return StructArray(self._bytes.copy_to_host(), self._dtype).numpy()

    def copy_from_host(self, source: object) -> None:
        """Copy structs of the same dtype into this array, and wait for the copy.

        Parameters
        ----------
        source : array_like
            The structs, which asarray accepts.

        Raises
        ------
        TypeError
            If the source has other fields.
        ValueError
            If the shapes differ, or the memory is read-only.

        Examples
        --------
        >>> from entrepot import kernel as ek
        >>> particles = ek.StructArray.zeros(2, [("x", "f4"), ("n", "i4")])
        >>> particles.copy_from_host(np.array([(1, 2), (3, 4)], [("x", "f4"), ("n", "i4")]))
        >>> particles.copy_to_host()["n"].tolist()
        [2, 4]
        """
        other = StructArray.asarray(source)
        if other.dtype != self._dtype:
            raise TypeError(
                f"copy_from_host: the source has the dtype {other.dtype}, and this array "
                f"{self._dtype}: give structs of the same dtype"
            )
        copy(self._bytes, other._bytes).wait()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._exported(self._bytes.__array_interface__) | {"descr": self._dtype.descr}

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self._exported(self._bytes.__cuda_array_interface__) | {"descr": self._dtype.descr}

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        # Strides and the offset count elements. The protocol has no entry for fields.
        found = self._exported(self._bytes.__sycl_usm_array_interface__)
        size = self._dtype.itemsize
        if found.get("strides") is not None:
            if any(stride % size for stride in found["strides"]):
                raise AttributeError(
                    "__sycl_usm_array_interface__ counts strides in structs, which this array's "
                    "are no multiples of; copy it with StructArray.to_device()"
                )
            found["strides"] = tuple(stride // size for stride in found["strides"])
        if found.get("offset"):
            found["offset"] //= size
        return found

    def _exported(self, interface: dict[str, Any]) -> dict[str, Any]:
        strides = interface.get("strides")
        return interface | {
            "shape": self.shape,
            "typestr": f"|V{self._dtype.itemsize}",
            "strides": None if strides is None else tuple(strides[:-1]),
        }


class _Bytes:
    """The memory of an array of structs as bytes, by one of the array interfaces."""

    def __init__(self, owner: object, name: str, interface: dict[str, Any]) -> None:
        self.owner = owner
        setattr(self, name, interface)


def split(obj: object) -> tuple[StructLayout, Any] | str | None:
    """The layout of a struct and its parts: an Array of bytes for an array of structs, a tuple of
    NumPy's scalars for a record.

    None if the object has no fields; a str that says why kernels do not support it.
    """
    if isinstance(obj, StructArray):
        return obj._handle, obj._bytes
    numpy = sys.modules.get("numpy")
    is_record = numpy is not None and isinstance(obj, numpy.void)
    dtype = _dtype_of(obj)
    handle = None if dtype is None else handle_of(dtype)
    if handle is None or isinstance(handle, str):
        return handle
    if is_record:
        return handle, tuple(_numbers_of(obj, dtype))
    return handle, _bytes_of(obj, dtype.itemsize)


@functools.cache
def handle_of(dtype: Any) -> StructLayout | str | None:
    """The layout of a NumPy dtype; None if it has no fields, a str that says why kernels do not
    support it.
    """
    if dtype.names is None:
        return None
    try:
        return _layout(dtype, dtype, dtype.itemsize, 0, (), ())
    except _UnsupportedError as error:
        return str(error)


class _UnsupportedError(Exception):
    pass


def _layout(
    dtype: Any,
    whole: Any,
    itemsize: int,
    offset: int,
    extents: tuple[int, ...],
    steps: tuple[int, ...],
) -> StructLayout:
    """The layout of a struct at ``offset`` of the outermost one, in sub-arrays of those extents,
    whose strides are ``steps`` bytes.
    """
    if not dtype.names:
        raise _UnsupportedError(f"the struct {whole} has no fields")
    fields: list[tuple[Any, ...]] = []
    end = 0
    for name in sorted(dtype.names, key=lambda each: dtype.fields[each][1]):
        field, own = dtype.fields[name][:2]
        if own < end:
            raise _UnsupportedError(f"the field {name!r} overlaps another one of {whole}")
        end = own + field.itemsize
    for name in dtype.names:
        if not (name.isidentifier() and name.isascii()):
            raise _UnsupportedError(
                f"the field {name!r} is named otherwise than a variable: rename it"
            )
        field, own = dtype.fields[name][:2]
        base, shape = field.subdtype or (field, ())
        inner = (*extents, *shape)
        inner_steps = (*steps, *_steps(base.itemsize, shape))
        place = offset + own
        if base.names is not None:
            nested = _layout(base, whole, itemsize, place, inner, inner_steps)
            fields.append((name, list(shape), nested, None, place, [], []))
            continue
        number = _number(name, base, itemsize, place, inner_steps)
        strides = [step // base.itemsize for step in inner_steps]
        fields.append((name, list(shape), None, number, place, list(inner), strides))
    return StructLayout(itemsize, fields)


def _number(name: str, base: Any, itemsize: int, place: int, steps: tuple[int, ...]) -> _Dtype:
    """The type of a field that is a number. Raises _UnsupportedError."""
    try:
        number = _Dtype(base)
    except TypeError:
        raise _UnsupportedError(
            f"the field {name!r} is {_described(base)}, with which kernels do not calculate: leave "
            "it out of the struct, or store it as numbers"
        ) from None
    alignment = base.itemsize // 2 if base.kind == "c" else base.itemsize
    if place % alignment:
        raise _UnsupportedError(
            f"the field {name!r} ({number}) is at byte {place}, which is not aligned to "
            f"{alignment}: make the dtype with align=True"
        )
    if any(step % base.itemsize for step in (itemsize, *steps)):
        raise _UnsupportedError(
            f"the {base.itemsize} bytes of the field {name!r} ({number}) do not divide those of "
            f"the struct, {itemsize}: make the dtype with align=True, or pad it with 'itemsize'"
        )
    return number


def _described(base: Any) -> str:
    kinds = {"O": "a Python object", "S": "bytes", "U": "text", "V": "opaque bytes"}
    return kinds.get(base.kind, f"{base}")


def _steps(itemsize: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a C-contiguous sub-array, in bytes."""
    steps = []
    for extent in reversed(shape):
        steps.append(itemsize)
        itemsize *= extent
    return tuple(reversed(steps))


def _itemsize(dtype: object) -> int:
    import numpy as np

    return int(np.dtype(dtype).itemsize)  # type: ignore[call-overload]


def _dtype_of(obj: object) -> Any:
    """The structured dtype of an object; None if it has no fields."""
    dtype = getattr(obj, "dtype", None)
    if getattr(dtype, "names", None) is not None and hasattr(dtype, "fields"):
        return dtype
    for name in _INTERFACES:
        interface = getattr(obj, name, None)
        if isinstance(interface, dict) and str(interface.get("typestr", "")).startswith("|V"):
            return _dtype_from(interface.get("descr"))
    return None


def _dtype_from(descr: Any) -> Any:
    """The dtype that ``descr`` of an array interface describes; None if it names no fields."""
    from numpy.lib.format import descr_to_dtype

    if not isinstance(descr, (list, tuple)) or not any(entry[0] for entry in descr):
        return None
    return descr_to_dtype(list(descr))


def _bytes_of(obj: Any, itemsize: int) -> Array:
    """The memory of an array of structs as an Array of bytes."""
    if isinstance(obj, StructArray):
        return obj._bytes
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(obj, numpy.ndarray):
        return asarray(obj[..., None].view(numpy.uint8))
    for name in _INTERFACES:
        interface = getattr(obj, name, None)
        if not isinstance(interface, dict):
            continue
        scale = itemsize if name == "__sycl_usm_array_interface__" else 1
        strides = interface.get("strides")
        as_bytes = {key: value for key, value in interface.items() if key != "descr"} | {
            "typestr": "|u1",
            "shape": (*interface["shape"], itemsize),
            "strides": None if strides is None else (*(each * scale for each in strides), 1),
        }
        if interface.get("offset"):
            as_bytes["offset"] = interface["offset"] * scale
        return asarray(_Bytes(obj, name, as_bytes))
    raise TypeError(f"{type(obj).__name__} has fields, and none of the array interfaces")


def _numbers_of(record: Any, dtype: Any) -> Iterator[Any]:
    """The numbers of a record in the order of its layout."""
    for name in dtype.names:
        base, _ = dtype.fields[name][0].subdtype or (dtype.fields[name][0], ())
        if base.names is not None:
            yield from _numbers_of(record[name], base)
        elif getattr(record[name], "shape", ()):
            yield from record[name].ravel()
        else:
            yield record[name]

"""Arrays on devices: DeviceNDArray and the functions that make it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._core import Array, ExchangeError, asarray, copy, empty, fill
from ..kernel.structs import StructArray
from . import devices
from .errors import unsupported
from .streams import queue_of


class DeviceNDArray:
    """An array on a device, with numba.cuda's methods.

    ``to_device()`` and ``device_array()`` make one. ``array`` is the Array of Entrepot, or the
    StructArray of a structured dtype. Kernels, ``ep.asarray()`` and libraries with DLPack take it
    without a copy.

    Parameters
    ----------
    array : Array or StructArray
        The array.
    stream : Stream or 0, optional
        The stream that copies use if none is named.

    Examples
    --------
    >>> from entrepot import numba_cuda as cuda
    >>> array = cuda.to_device(np.arange(6).reshape(2, 3))
    >>> array[1].copy_to_host().tolist()
    [3, 4, 5]
    >>> array[:, 0] = 7
    >>> array.copy_to_host().tolist()
    [[7, 1, 2], [7, 4, 5]]
    """

    __slots__ = ("__weakref__", "array", "stream")
    __array_priority__ = 100

    def __init__(self, array: Array | StructArray, stream: Any = 0) -> None:
        self.array, self.stream = array, stream

    # Description ----------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of an element, as NumPy's dtype."""
        return np.dtype(str(self.array.dtype) if self._is_plain else self.array.dtype)

    @property
    def strides(self) -> tuple[int, ...]:
        """Distances between elements in bytes, as NumPy counts them."""
        if isinstance(self.array, Array):
            return tuple(each * self.array.itemsize for each in self.array.strides)
        return _c_strides(self.shape, self.dtype.itemsize)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.array.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.array.size

    @property
    def nbytes(self) -> int:
        """Size of the elements in bytes."""
        return self.array.nbytes

    @property
    def alloc_size(self) -> int:
        """Size in bytes from the first element to the end of the last one."""
        if self.size == 0:
            return 0
        spans = (abs(step) * (n - 1) for step, n in zip(self.strides, self.shape, strict=True))
        return sum(spans) + self.dtype.itemsize

    @property
    def is_c_contiguous(self) -> bool:
        """True if the elements are in C order without gaps."""
        return self.size == 0 or _same_steps(
            self.shape, self.strides, _c_strides(self.shape, self.dtype.itemsize)
        )

    @property
    def is_f_contiguous(self) -> bool:
        """True if the elements are in Fortran order without gaps."""
        steps = _c_strides(self.shape[::-1], self.dtype.itemsize)[::-1]
        return self.size == 0 or _same_steps(self.shape, self.strides, steps)

    @property
    def flags(self) -> dict[str, bool]:
        """Contiguity, by the names of NumPy's flags."""
        return {"C_CONTIGUOUS": self.is_c_contiguous, "F_CONTIGUOUS": self.is_f_contiguous}

    @property
    def device_ctypes_pointer(self) -> Any:
        """Address of the first element, as a ctypes pointer."""
        import ctypes

        return ctypes.c_void_p(self._bytes.data_ptr)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.array.__cuda_array_interface__

    def __dlpack__(self, **options: Any) -> Any:
        return self._plain("__dlpack__()").__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._bytes.__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        # numba.cuda copies the array to the host for NumPy, too.
        if copy is False:
            raise ValueError("an array on a device becomes one of NumPy by a copy")
        values = self.copy_to_host()
        return values if dtype is None else values.astype(dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<numba_cuda.DeviceNDArray {self.dtype}{list(self.shape)} on {self._bytes.device}>"

    # Copies ---------------------------------------------------------------------------------------

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """Copy the elements to a NumPy array.

        Parameters
        ----------
        ary : numpy.ndarray, optional
            The destination, of the same shape and dtype. The default is a new array.
        stream : Stream or 0, optional
            The stream of the copy. With one the call does not wait: the result is valid after
            ``stream.synchronize()``.

        Returns
        -------
        numpy.ndarray
            The destination.

        Raises
        ------
        ValueError
            If the shapes or dtypes differ, or the destination is read-only.
        """
        if ary is not None:
            _check_same(self, ary.shape, np.dtype(ary.dtype), "copy_to_host")
        result = np.empty(self.shape, self.dtype) if ary is None else ary
        if not isinstance(self.array, Array):
            result[...] = self.array.copy_to_host()
            return result
        target = result.array if isinstance(result, DeviceNDArray) else asarray(_host_view(result))
        done = copy(target, self.array, _queue(stream, self.stream))
        if not _is_given(stream) and not _is_given(self.stream):
            done.wait()
        return result

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copy the elements of ``ary`` to this array.

        Parameters
        ----------
        ary : array_like
            The source, of the same shape. The dtype of an array of the host is converted by NumPy
            if it differs.
        stream : Stream or 0, optional
            The stream of the copy. With one the call may return before the copy is done, if the
            source is an array on a device or in pinned memory.

        Raises
        ------
        ValueError
            If the shapes differ, or the source is on a device and has another dtype.
        """
        queue = _queue(stream, self.stream)
        # A caller that names no stream may write to the source once the call returns.
        waits = not _is_given(stream) and not _is_given(self.stream)
        if is_cuda_array(ary):
            there = as_cuda_array(ary)
            _check_same(self, there.shape, there.dtype, "copy_to_device")
            done = copy(self._bytes, there._bytes, queue)
            if waits and _may_be_written(ary):
                done.wait()
            return
        source = np.asarray(ary, self.dtype)
        _check_same(self, source.shape, source.dtype, "copy_to_device")
        if not isinstance(self.array, Array):
            self.array.copy_from_host(source)
            return
        pinned = _pinned(ary) if source.dtype == getattr(ary, "dtype", None) else None
        done = copy(self.array, source if pinned is None else pinned, queue)
        if pinned is None or waits:
            done.wait()

    def bind(self, stream: Any = 0) -> DeviceNDArray:
        """A view whose copies use the stream."""
        return DeviceNDArray(self.array, stream)

    # Views ----------------------------------------------------------------------------------------

    @property
    def T(self) -> DeviceNDArray:
        """View with the dimensions reversed."""
        return self.transpose()

    def transpose(self, axes: Sequence[int] | None = None) -> DeviceNDArray:
        """View with the dimensions reversed, or in the given order."""
        array = self._plain("transpose()")
        return DeviceNDArray(array.T if axes is None else array.transpose(*axes), self.stream)

    def reshape(self, *newshape: Any, order: str = "C") -> DeviceNDArray:
        """View of another shape. Raises ValueError if that needs a copy."""
        shape = newshape[0] if len(newshape) == 1 else newshape
        array = self._plain("reshape()")
        if order == "F":
            extents = (shape,) if isinstance(shape, int) else tuple(shape)
            return DeviceNDArray(array.T.reshape(extents[::-1]).T, self.stream)
        return DeviceNDArray(array.reshape(shape), self.stream)

    def ravel(self, order: str = "C", stream: Any = 0) -> DeviceNDArray:
        """View of one dimension. Raises ValueError if that needs a copy."""
        return self.reshape(self.size, order=order)

    def squeeze(self, axis: int | Sequence[int] | None = None, stream: Any = 0) -> DeviceNDArray:
        """View without dimensions of extent 1, or without those named."""
        if axis is None:
            dropped = {place for place, extent in enumerate(self.shape) if extent == 1}
        else:
            named = (axis,) if isinstance(axis, int) else tuple(axis)
            dropped = {each % self.ndim for each in named}
        if any(self.shape[each] != 1 for each in dropped):
            raise ValueError(f"squeeze(): an axis of {self.shape} has another extent than 1")
        index = tuple(0 if place in dropped else slice(None) for place in range(self.ndim))
        return DeviceNDArray(self._plain("squeeze()")[index], self.stream)

    def view(self, dtype: Any) -> DeviceNDArray:
        """View of the bytes as another type."""
        wanted = np.dtype(dtype)
        if wanted.names is None:
            return DeviceNDArray(self._bytes.view(str(wanted)), self.stream)
        return DeviceNDArray(StructArray(self._bytes.view("uint8"), wanted), self.stream)

    def split(self, section: int, stream: Any = 0) -> Iterator[DeviceNDArray]:
        """Views of ``section`` elements each, of an array of one dimension."""
        if self.ndim != 1:
            raise ValueError(f"split() is of an array of one dimension, not of {self.ndim}")
        for begin in range(0, self.size, section):
            yield self[begin : begin + section]

    def getitem(self, item: Any, stream: Any = 0) -> Any:
        """Element or view, as ``array[item]``."""
        return self[item]

    def setitem(self, key: Any, value: Any, stream: Any = 0) -> None:
        """Store a number or the elements of an array, as ``array[key] = value``."""
        self._store(key, value, stream)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(self.array, Array):
            if isinstance(index, str):
                field = self.array.field(index)
                return DeviceNDArray(field, self.stream)
            return self.copy_to_host()[index]
        found = self.array[index]
        if found.ndim == 0 and _is_complete(index, self.ndim):
            return found.copy_to_host().numpy()[()]
        return DeviceNDArray(found, self.stream)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._store(index, value, 0)

    def _store(self, index: Any, value: Any, stream: Any) -> None:
        target = self._plain("assignment")[index]
        queue = _queue(stream, self.stream)
        if is_cuda_array(value):
            done = copy(target, asarray(plain(value)), queue)
            if not _is_given(stream) and not _is_given(self.stream) and _may_be_written(value):
                done.wait()
        elif np.ndim(value) == 0:
            fill(target, np.asarray(value).astype(self.dtype).item(), queue=queue)
        else:
            copy(target, np.ascontiguousarray(value, self.dtype), queue).wait()

    def get_ipc_handle(self) -> Any:
        """Raises NotServedError: ``array.share()`` makes a handle for other processes."""
        raise unsupported("DeviceNDArray.get_ipc_handle()", "d.array.share() makes a handle")

    # Internals ------------------------------------------------------------------------------------

    @property
    def _is_plain(self) -> bool:
        return isinstance(self.array, Array)

    @property
    def _bytes(self) -> Array:
        return self.array if isinstance(self.array, Array) else self.array.bytes

    def _plain(self, what: str) -> Array:
        if not isinstance(self.array, Array):
            raise unsupported(
                f"{what} of an array of records", "take a field, d['name'], or copy it to the host"
            )
        return self.array


class MappedNDArray(np.ndarray[Any, Any]):
    """A NumPy array in memory that devices can access: pinned, mapped or managed memory."""

    array: Array | None = None

    def __array_finalize__(self, obj: Any) -> None:
        self.array = None  # a slice is an ordinary array for kernels

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """Copy the elements to a NumPy array, by default to a new one."""
        result = np.empty(self.shape, self.dtype) if ary is None else ary
        result[...] = self
        return result

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copy the elements of ``ary`` to this array."""
        self[...] = ary


def plain(value: Any) -> Any:
    """The Array that an argument of a launch holds; other values are unchanged."""
    if isinstance(value, DeviceNDArray):
        return value.array
    if isinstance(value, MappedNDArray):
        return value if value.array is None else value.array
    return value


def _host_view(array: Any) -> Any:
    pinned = _pinned(array)
    return array if pinned is None else pinned


def _pinned(array: Any) -> Array | None:
    return array.array if isinstance(array, MappedNDArray) else None


def _may_be_written(array: Any) -> bool:
    """True for an array of another library whose memory the host can write without this module."""
    return not isinstance(array, DeviceNDArray) and bool(
        as_cuda_array(array)._bytes.kind != "device"
    )


def _is_given(stream: Any) -> bool:
    return stream is not None and not (isinstance(stream, int) and stream == 0)


def _queue(stream: Any, bound: Any) -> Any:
    return queue_of(stream if _is_given(stream) else bound)


def _c_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    return tuple(itemsize * math.prod(shape[place + 1 :]) for place in range(len(shape)))


def _same_steps(shape: Sequence[int], steps: Sequence[int], wanted: Sequence[int]) -> bool:
    each = zip(shape, steps, wanted, strict=True)
    return all(extent == 1 or step == want for extent, step, want in each)


def _is_complete(index: Any, ndim: int) -> bool:
    """True if the index names one element."""
    parts = index if isinstance(index, tuple) else (index,)
    return len(parts) == ndim and all(isinstance(each, (int, np.integer)) for each in parts)


def _check_same(array: DeviceNDArray, shape: Any, dtype: Any, what: str) -> None:
    if tuple(shape) != array.shape:
        raise ValueError(f"{what}: the array has the shape {array.shape}, and the other {shape}")
    if dtype != array.dtype:
        raise ValueError(f"{what}: the array has the dtype {array.dtype}, and the other {dtype}")


# ------------------------------------------------------------------------------- making arrays


def _extents(shape: Any) -> tuple[int, ...]:
    return tuple(shape) if isinstance(shape, (tuple, list)) else (int(shape),)


def _new(shape: Any, dtype: Any, order: str, stream: Any, kind: str | None = "device") -> Any:
    extents, wanted = _extents(shape), np.dtype(dtype)
    queue = queue_of(stream) or devices.current_queue()
    chosen = None if queue.device.backend == "host" else kind
    if wanted.names is not None:
        if order == "F" and len(extents) > 1:
            raise unsupported(
                "order 'F' of an array of records", "copy the array by numpy.ascontiguousarray()"
            )
        return StructArray.empty(extents, wanted, queue=queue)
    if order == "F":
        return empty(extents[::-1], str(wanted), queue=queue, kind=chosen).T
    return empty(extents, str(wanted), queue=queue, kind=chosen)


def _refuse_strides(strides: Any, name: str) -> None:
    if strides is not None:
        raise unsupported(
            f"{name}(strides=…)", "make a larger array and take a slice of it, which has strides"
        )


def device_array(
    shape: int | Sequence[int],
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
) -> DeviceNDArray:
    """Make an uninitialized array on the current device.

    Parameters
    ----------
    shape : int or sequence of int
        The extents.
    dtype : dtype_like, optional
        The type of an element, which may be structured. The default is float64.
    strides : None
        Other values raise NotServedError.
    order : str, optional
        'C' (the default) or 'F', the order of the elements in memory.
    stream : Stream or 0, optional
        The stream that the array belongs to: launches with the array use it by default.

    Returns
    -------
    DeviceNDArray
        The array.

    Raises
    ------
    USMAllocationError
        If the memory cannot be allocated.
    NotServedError
        If strides are given, or the order 'F' for records in more than one dimension.
    """
    _refuse_strides(strides, "device_array")
    return DeviceNDArray(_new(shape, dtype, order, stream))


def _order_of(array: Any) -> str:
    flags = getattr(array, "flags", None)
    if flags is None:
        return "C"
    return "F" if flags["F_CONTIGUOUS"] and not flags["C_CONTIGUOUS"] else "C"


def device_array_like(ary: Any, stream: Any = 0) -> DeviceNDArray:
    """Make an uninitialized array with the shape, dtype and order of another."""
    return device_array(ary.shape, ary.dtype, order=_order_of(ary), stream=stream)


def to_device(
    obj: Any, stream: Any = 0, copy: bool = True, to: DeviceNDArray | None = None
) -> DeviceNDArray:
    """Copy an array or a number to the current device.

    Parameters
    ----------
    obj : array_like
        The source: NumPy's array, a scalar or sequence, or another library's array. Without ``to``
        a DeviceNDArray is returned itself. Another library's array on the device is viewed.
    stream : Stream or 0, optional
        The stream of the copy. Its device is that of a new array.
    copy : bool, optional
        False makes an array without copying elements. The default is True.
    to : DeviceNDArray, optional
        The destination. The default is a new array.

    Returns
    -------
    DeviceNDArray
        The array.

    Raises
    ------
    ValueError
        If the destination has another shape, or ``obj`` is on a device and has another dtype.
    USMAllocationError
        If the memory cannot be allocated.

    Examples
    --------
    >>> from entrepot import numba_cuda as cuda
    >>> cuda.to_device(np.arange(3)).copy_to_host().tolist()
    [0, 1, 2]
    """
    present = _present(obj, stream) if to is None else None
    if present is not None:
        return present
    source = as_cuda_array(obj) if is_cuda_array(obj) else np.asanyarray(obj)
    made = device_array_like(source, stream) if to is None else to
    if copy:
        made.copy_to_device(source, stream)
    return made


def _present(obj: Any, stream: Any) -> DeviceNDArray | None:
    """The array or a view of it if it needs no copy to the device, else None."""
    if isinstance(obj, DeviceNDArray):
        return obj
    if not is_cuda_array(obj):
        return None
    view = as_cuda_array(obj)
    queue = queue_of(stream) or devices.current_queue()
    return view if view._bytes.device == queue.device else None


def auto_device(obj: Any, stream: Any = 0, copy: bool = True) -> tuple[DeviceNDArray, bool]:
    """The array on the device, and True if it is new, False if it shares the memory of ``obj``."""
    present = _present(obj, stream)
    return (to_device(obj, stream, copy), True) if present is None else (present, False)


def _host_memory(shape: Any, dtype: Any, order: str, kind: str, name: str) -> MappedNDArray:
    wanted = np.dtype(dtype)
    if wanted.names is not None:
        raise unsupported(f"{name}() of records", "device_array() and to_device() take records")
    array = _new(shape, wanted, order, 0, kind)
    made: MappedNDArray = array.numpy().view(MappedNDArray)
    made.array = array
    return made


def pinned_array(
    shape: int | Sequence[int], dtype: Any = np.float64, strides: Any = None, order: str = "C"
) -> MappedNDArray:
    """Make a NumPy array in pinned memory, which copies fastest and without the host waiting.

    On the host it is ordinary memory.
    """
    _refuse_strides(strides, "pinned_array")
    return _host_memory(shape, dtype, order, "host", "pinned_array")


def mapped_array(
    shape: int | Sequence[int],
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    portable: bool = False,
    wc: bool = False,
) -> MappedNDArray:
    """Make a NumPy array in pinned memory that kernels access without a copy."""
    _refuse_strides(strides, "mapped_array")
    return _host_memory(shape, dtype, order, "host", "mapped_array")


def managed_array(
    shape: int | Sequence[int],
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    attach_global: bool = True,
) -> MappedNDArray:
    """Make a NumPy array in memory that moves between host and device as it is accessed."""
    _refuse_strides(strides, "managed_array")
    return _host_memory(shape, dtype, order, "shared", "managed_array")


def pinned_array_like(ary: Any) -> MappedNDArray:
    """Make a pinned array with the shape, dtype and order of another."""
    return pinned_array(ary.shape, ary.dtype, order=_order_of(ary))


def mapped_array_like(
    ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False
) -> MappedNDArray:
    """Make a mapped array with the shape, dtype and order of another."""
    return mapped_array(ary.shape, ary.dtype, order=_order_of(ary))


@contextlib.contextmanager
def pinned(*arylist: Any) -> Iterator[None]:
    """Leave the arrays as they are, for ``with cuda.pinned(a): …``.

    Results do not depend on pinning. Memory that copies fastest is made by ``pinned_array()``,
    because Entrepot does not register memory of others with a driver.
    """
    yield


@contextlib.contextmanager
def mapped(
    *arylist: Any, stream: Any = 0, portable: bool = False, wc: bool = False
) -> Iterator[Any]:
    """Give kernels access to NumPy arrays within ``with cuda.mapped(a) as d: …``.

    The device works on copies, if it cannot access the memory. They are copied back at the end,
    which waits for the kernels.
    """
    if devices.current_device().backend == "host":
        shared = [asarray(each) for each in arylist]
        views = [DeviceNDArray(each) for each in shared]
        try:
            yield views[0] if len(views) == 1 else views
        finally:
            for array in shared:
                array.numpy()  # waits for pending kernels
        return
    made = [to_device(each, stream) for each in arylist]
    try:
        yield made[0] if len(made) == 1 else made
    finally:
        for there, here in zip(made, arylist, strict=True):
            there.copy_to_host(here)


def is_cuda_array(obj: Any) -> bool:
    """True if the object is an array on a device: it has ``__cuda_array_interface__``, or is an
    Array.
    """
    if isinstance(obj, (DeviceNDArray, Array)):
        return True
    try:
        return hasattr(obj, "__cuda_array_interface__")
    except ExchangeError:
        return False


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceNDArray:
    """View an array of another library.

    Parameters
    ----------
    obj : array_like
        The array: any that ``ep.asarray`` accepts.
    sync : bool, optional
        True (the default): kernels wait for work of the other library, by its own protocol.

    Returns
    -------
    DeviceNDArray
        The view, which shares the memory.

    Raises
    ------
    NotServedError
        If ``sync`` is False.
    TypeError
        If the object is no array on a device.
    """
    _refuse_no_sync(sync, "as_cuda_array")
    if isinstance(obj, DeviceNDArray):
        return obj
    if not is_cuda_array(obj):
        raise TypeError(
            f"as_cuda_array() takes an array on a device, and this is a {type(obj).__name__}: "
            "to_device() copies an array of the host"
        )
    return DeviceNDArray(obj if isinstance(obj, StructArray) else asarray(obj))


def _refuse_no_sync(sync: bool, name: str) -> None:
    if not sync:
        raise unsupported(
            f"{name}(sync=False)", "leave sync out; kernels wait for work of the other library"
        )


def from_cuda_array_interface(desc: dict[str, Any], owner: Any = None, sync: bool = True) -> Any:
    """View memory that a ``__cuda_array_interface__`` describes; ``owner`` keeps it alive.

    Raises NotServedError if ``sync`` is False.
    """
    _refuse_no_sync(sync, "from_cuda_array_interface")
    return DeviceNDArray(asarray(_Described(desc, owner)))


class _Described:
    """Memory that an interface describes, with its owner."""

    def __init__(self, interface: dict[str, Any], owner: Any) -> None:
        self.__cuda_array_interface__, self.owner = interface, owner


def open_ipc_array(*_: Any, **__: Any) -> Any:
    """Raise NotServedError: ``handle.open()`` opens memory of another process."""
    raise unsupported(
        "open_ipc_array()", "array.share() of entrepot makes a handle, and handle.open() opens it"
    )


def prepare_shape_strides_dtype(
    shape: Any, strides: Any, dtype: Any, order: str
) -> tuple[tuple[int, ...], tuple[int, ...], np.dtype[Any]]:
    """Shape, strides in bytes and dtype of an array in that order."""
    extents, wanted = _extents(shape), np.dtype(dtype)
    if strides is not None:
        return extents, _extents(strides), wanted
    if order == "F":
        return extents, _c_strides(extents[::-1], wanted.itemsize)[::-1], wanted
    return extents, _c_strides(extents, wanted.itemsize), wanted


class In:
    """An argument of a launch that is copied to the device, and not back."""

    copies_back = False

    def __init__(self, value: Any) -> None:
        self.value = value

    def given(self, stream: Any = 0) -> Any:
        """The argument for a launch on the stream."""
        return plain(self.value) if self.copies_back else to_device(self.value, stream).array


class Out(In):
    """An argument of a launch that is copied back from the device."""

    copies_back = True


class InOut(Out):
    """An argument of a launch that is copied to the device and back."""

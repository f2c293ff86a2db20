"""Explicit transfers: copies to a device and back, blocking or with an Event, and allocation on the
device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Array, Event, asarray, copy, device_context, empty
from .._core import device as find_device


def to_device(
    obj: object, device: object = None, *, queue: object = None, kind: str = "device"
) -> Array:
    """Copy ``obj`` to new memory of a device, and wait for the copy.

    When the call returns, ``obj`` may change.

    Parameters
    ----------
    obj : array_like
        The source, an Array or another object that asarray accepts.
    device : Device or str, optional
        The device, as a Device, a selector or a dpctl device. The default is the device of
        ``queue``, else the current device.
    queue : Queue, optional
        The queue of the new array, on whose device the memory is allocated.
    kind : str, optional
        The kind of memory: 'device' (the default), 'host' or 'shared'. It is ignored for the host.

    Returns
    -------
    Array
        The copy, C-contiguous, with the shape and dtype of ``obj``.

    Raises
    ------
    TypeError
        If ``obj`` holds no memory.
    ExchangeError
        If the memory of ``obj`` cannot be viewed.
    ValueError
        If the selector is malformed, the kind is unknown, or the queue is of another device.
    DeviceError
        If no device matches the selector, or the device does not support the kind.
    USMAllocationError
        If the memory cannot be allocated.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> samples = np.arange(3, dtype="int32")
    >>> numbers = ek.to_device(samples, device="host")
    >>> samples[:] = 0
    >>> numbers.numpy().tolist()
    [0, 1, 2]
    """
    source = asarray(obj)
    made = device_array(source.shape, source.dtype, device, queue=queue, kind=kind)
    copy(made, source).wait()
    return made


def device_array(
    shape: int | Sequence[int],
    dtype: object = "float64",
    device: object = None,
    *,
    queue: object = None,
    kind: str = "device",
) -> Array:
    """Make an uninitialized array in memory of a device.

    Parameters
    ----------
    shape : int or sequence of int
        The extents, in elements.
    dtype : dtype_like, optional
        The type of an element. The default is float64.
    device : Device or str, optional
        The device, as a Device, a selector or a dpctl device. The default is the device of
        ``queue``, else the current device.
    queue : Queue, optional
        The queue of the new array, on whose device the memory is allocated.
    kind : str, optional
        The kind of memory: 'device' (the default), 'host' or 'shared'. It is ignored for the host.

    Returns
    -------
    Array
        The new array, C-contiguous.

    Raises
    ------
    TypeError
        If the shape, dtype or device is of another type.
    ValueError
        If an extent is negative, the selector malformed, the kind unknown, or the queue of another
        device.
    DeviceError
        If no device matches the selector, or the device does not support the kind.
    USMAllocationError
        If the memory cannot be allocated.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> image = ek.device_array((480, 640), "float32", device="host")
    >>> image.shape, image.nbytes
    ((480, 640), 1228800)
    """
    if device is None and queue is not None:
        device = device_context(queue).device
    target = find_device(device)
    return empty(
        shape, dtype, device=target, queue=queue, kind=None if target.backend == "host" else kind
    )


def device_array_like(
    array: object, device: object = None, *, queue: object = None, kind: str = "device"
) -> Array:
    """Make an uninitialized array in memory of a device, with the shape and type of ``array``.

    Parameters
    ----------
    array : array_like
        The array to take the shape and dtype from, which asarray accepts.
    device : Device or str, optional
        The device, as a Device, a selector or a dpctl device. The default is the device of
        ``queue``, else the current device.
    queue : Queue, optional
        The queue of the new array, on whose device the memory is allocated.
    kind : str, optional
        The kind of memory: 'device' (the default), 'host' or 'shared'. It is ignored for the host.

    Returns
    -------
    Array
        The new array, C-contiguous.

    Raises
    ------
    TypeError
        If ``array`` holds no memory.
    ExchangeError
        If the memory of ``array`` cannot be viewed.
    ValueError
        If the selector is malformed, the kind is unknown, or the queue is of another device.
    DeviceError
        If no device matches the selector, or the device does not support the kind.
    USMAllocationError
        If the memory cannot be allocated.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> image = np.ones((2, 3), "float32")
    >>> result = ek.device_array_like(image, device="host")
    >>> print(result.shape, result.dtype)
    (2, 3) float32
    """
    like = asarray(array)
    return device_array(like.shape, like.dtype, device, queue=queue, kind=kind)


def copy_to_host(array: object, to: object = None) -> Any:
    """Copy the array's elements to a NumPy array, and wait for the copy.

    Parameters
    ----------
    array : array_like
        The source, an Array or another object that asarray accepts.
    to : numpy.ndarray, optional
        The destination, to whose shape ``array`` is broadcast. The default is a new array.

    Returns
    -------
    numpy.ndarray
        The destination.

    Raises
    ------
    ValueError
        If the destination is read-only, dtypes differ, shapes do not broadcast, or memory overlaps.
    TypeError
        If an argument holds no memory.
    ExchangeError
        If the memory of an argument cannot be viewed.
    DeviceError
        If earlier work on the memory failed.
    USMAllocationError
        If the new array cannot be allocated.
    ModuleNotFoundError
        If NumPy is not installed and ``to`` is not given.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> numbers = ep.full(3, 7, "int32", device="host")
    >>> ek.copy_to_host(numbers).tolist()
    [7, 7, 7]
    """
    if to is None:
        return asarray(array).copy_to_host().numpy()
    copy(to, array).wait()
    return to


def copy_from_host(array: object, source: object) -> None:
    """Copy the elements of ``source`` to the array, and wait for the copy.

    When the call returns, ``source`` may change.

    Parameters
    ----------
    array : array_like
        The destination, an Array or another object that asarray accepts.
    source : array_like
        The source, broadcast to the shape of ``array``.

    Raises
    ------
    ValueError
        If the destination is read-only, dtypes differ, shapes do not broadcast, or memory overlaps.
    TypeError
        If an argument holds no memory.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> numbers = ep.zeros(3, "int32", device="host")
    >>> ek.copy_from_host(numbers, np.arange(3, dtype="int32"))
    >>> numbers.numpy().tolist()
    [0, 1, 2]
    """
    copy(array, source).wait()


def copy_to_host_async(array: object, to: object) -> Event:
    """Start to copy the array's elements to ``to``.

    The call waits if an argument is not an Array and the host can access its memory, as with a
    NumPy array.

    Parameters
    ----------
    array : array_like
        The source, an Array or another object that asarray accepts.
    to : array_like
        The destination, to whose shape ``array`` is broadcast.

    Returns
    -------
    Event
        Done when the copy is complete.

    Raises
    ------
    ValueError
        If the destination is read-only, dtypes differ, shapes do not broadcast, or memory overlaps.
    TypeError
        If an argument holds no memory.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> numbers = ep.full(3, 7, "int32", device="host")
    >>> result = np.zeros(3, "int32")
    >>> ek.copy_to_host_async(numbers, ep.asarray(result)).wait()
    >>> result.tolist()
    [7, 7, 7]
    """
    return copy(to, array)


def copy_from_host_async(array: object, source: object) -> Event:
    """Start to copy the elements of ``source`` to the array.

    The call waits if an argument is not an Array and the host can access its memory, as with a
    NumPy array.

    Parameters
    ----------
    array : array_like
        The destination, an Array or another object that asarray accepts.
    source : array_like
        The source, broadcast to the shape of ``array``. It must not change until the Event is
        complete.

    Returns
    -------
    Event
        Done when the copy is complete.

    Raises
    ------
    ValueError
        If the destination is read-only, dtypes differ, shapes do not broadcast, or memory overlaps.
    TypeError
        If an argument holds no memory.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> numbers = ep.zeros(3, "int32", device="host")
    >>> source = ep.asarray(np.arange(3, dtype="int32"))
    >>> ek.copy_from_host_async(numbers, source).wait()
    >>> numbers.numpy().tolist()
    [0, 1, 2]
    """
    return copy(array, source)

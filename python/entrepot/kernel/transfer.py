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
    """Copies ``obj`` to memory of the device, else of the queue's, else of the current one. ``obj``
    may then change.
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
    """A new uninitialized array in memory of the device. ``kind`` is ignored for the host."""
    target = device_context(queue).device if queue is not None else find_device(device)
    return empty(
        shape, dtype, device=target, queue=queue, kind=None if target.backend == "host" else kind
    )


def device_array_like(
    array: object, device: object = None, *, queue: object = None, kind: str = "device"
) -> Array:
    """A new uninitialized array in memory of the device, with the shape and type of ``array``."""
    like = asarray(array)
    return device_array(like.shape, like.dtype, device, queue=queue, kind=kind)


def copy_to_host(array: object, to: object = None) -> Any:
    """Copies the array's elements to the NumPy array ``to``, or a new one, waits and returns it."""
    if to is None:
        return asarray(array).copy_to_host().numpy()
    copy(to, array).wait()
    return to


def copy_from_host(array: object, source: object) -> None:
    """Copies the elements of ``source`` to the array and waits, so that ``source`` may change
    afterwards.
    """
    copy(array, source).wait()


def copy_to_host_async(array: object, to: object) -> Event:
    """Starts to copy the array's elements to ``to``; complete when the Event is."""
    return copy(to, array)


def copy_from_host_async(array: object, source: object) -> Event:
    """Starts to copy the elements of ``source`` to the array. ``source`` must not change until the
    Event is complete.
    """
    return copy(array, source)

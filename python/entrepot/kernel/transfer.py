"""Explicit transfers, so that memory of a device alone is first-class: to it, made on it, and back, at once or with an Event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Array, Event, asarray, copy, device_context, empty
from .._core import device as find_device


def to_device(obj: object, device: object = None, *, queue: object = None, kind: str = "device") -> Array:
    """A copy of ``obj`` in memory of the device, or the queue's, or the current one. ``obj`` may be changed when it returns."""
    source = asarray(obj)
    made = device_array(source.shape, source.dtype, device, queue=queue, kind=kind)
    copy(made, source).wait()
    return made


def device_array(
    shape: int | Sequence[int], dtype: object = "float64", device: object = None, *, queue: object = None, kind: str = "device"
) -> Array:
    """A new array in memory of the device, not initialised. The host has no memory but its own."""
    target = device_context(queue).device if queue is not None else find_device(device)
    return empty(shape, dtype, device=target, queue=queue, kind=None if target.backend == "host" else kind)


def device_array_like(array: object, device: object = None, *, queue: object = None, kind: str = "device") -> Array:
    """A new array of the shape and type of another one, in memory of the device, not initialised."""
    like = asarray(array)
    return device_array(like.shape, like.dtype, device, queue=queue, kind=kind)


def copy_to_host(array: object, to: object = None) -> Any:
    """The array's elements in NumPy's array ``to``, or a new one, which is returned when they are there."""
    if to is None:
        return asarray(array).copy_to_host().numpy()
    copy(to, array).wait()
    return to


def copy_from_host(array: object, source: object) -> None:
    """Overwrites the array's elements with those of ``source``; returns when ``source`` may be changed again."""
    copy(array, source).wait()


def copy_to_host_async(array: object, to: object) -> Event:
    """Starts to copy the array's elements to ``to``, which has them when the Event is done."""
    return copy(to, array)


def copy_from_host_async(array: object, source: object) -> Event:
    """Starts to copy the elements of ``source`` to the array; until the Event is done ``source`` must not change."""
    return copy(array, source)

"""Importers whose results speak no protocol, or one that nobody else understands: what they took is shown by a view of it."""

from __future__ import annotations

from typing import Any


class View:
    """Shows memory, and keeps what took it."""

    def __init__(self, kept: Any, data: tuple[int, bool], shape: tuple[int, ...], typestr: str, strides: Any = None) -> None:
        self._kept = kept
        self.__array_interface__ = {"data": data, "shape": shape, "typestr": typestr, "strides": strides, "version": 3}


def hip_device_array(obj: Any) -> View:
    """HIP Python's, of what has the CUDA array interface; of buffers its element type is 'B', whatever theirs is."""
    from rocm.bindings.util.types import DeviceArray

    if not hasattr(obj, "__cuda_array_interface__"):
        raise TypeError("it is shown what has the CUDA array interface alone")
    array = DeviceArray(obj)
    said = array.__cuda_array_interface__
    return View(array, said["data"], said["shape"], said["typestr"])


def nanobind_array(obj: Any) -> View:
    """nanobind's, which an extension holds: what it gives again is the object itself."""
    from nanobind_arrays import take

    held = take(obj)
    if held.lanes != 1:
        raise TypeError("vectors are nobody's elements here")
    code, bits = held.dtype
    steps = tuple(stride * bits // 8 for stride in held.strides)
    return View(held, (held.address, held.read_only), tuple(held.shape), f"<{'iuf??cb'[code]}{bits // 8}", steps)


def core_device() -> Any:
    """cuda.core's, which has to be the current one to be asked for memory."""
    from cuda.core import Device

    device = Device(0)
    device.set_current()
    return device

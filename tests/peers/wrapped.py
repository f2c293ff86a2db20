"""Targets that need more than an expression on a command line. An importer's result may speak no
protocol, or one that no other library reads; a view shows the memory that it imported."""

from __future__ import annotations

from typing import Any

CUDA = (2, 13)  # kDLCUDA, kDLCUDAManaged


class View:
    """Shows memory, and keeps its importer alive."""

    def __init__(self, kept: Any, attribute: str = "__array_interface__", **words: Any) -> None:
        self._kept = kept
        setattr(self, attribute, {**words, "version": 3})


def hip_device_array(obj: Any) -> View:
    """HIP Python's DeviceArray, of an object with the CUDA array interface. For buffers its
    element type is always 'B'."""
    from rocm.bindings.util.types import DeviceArray

    if not hasattr(obj, "__cuda_array_interface__"):
        raise TypeError("it is shown what has the CUDA array interface alone")
    array = DeviceArray(obj)
    said = array.__cuda_array_interface__
    return View(array, data=said["data"], shape=said["shape"], typestr=said["typestr"])


def nanobind_array(obj: Any) -> View:
    """nanobind's array, which an extension holds; exporting it returns the same object."""
    from nanobind_arrays import take

    held = take(obj)
    if held.lanes != 1:
        raise TypeError("vector elements are not supported")
    code, bits = held.dtype
    return View(
        held,
        "__cuda_array_interface__" if held.device_type in CUDA else "__array_interface__",
        data=(held.address, held.read_only),
        shape=tuple(held.shape),
        strides=tuple(stride * bits // 8 for stride in held.strides),
        typestr=f"<{'iuf??cb'[code]}{bits // 8}",
    )


def core_buffer(resource: str) -> Any:
    """cuda.core's buffer of 48 bytes, of one of its resources or of the device, which must be
    current."""
    from cuda import core

    device = core.Device(0)
    device.set_current()
    source = getattr(core, resource)() if resource else device
    return source.allocate(48, stream=device.default_stream)

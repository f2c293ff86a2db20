"""The places that memory can be in on this machine, for tests that hold in each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import entrepot as ep


@dataclass(frozen=True)
class Place:
    selector: str
    kind: str

    @property
    def device(self) -> ep.Device:
        return ep.device(self.selector)

    @property
    def host_accessible(self) -> bool:
        return self.kind != "device"

    @property
    def marker(self) -> pytest.MarkDecorator:
        return _MARKERS[self.selector.split(":")[0]]

    def empty(self, shape: int | tuple[int, ...], dtype: object) -> ep.Array:
        return ep.empty(shape, dtype, device=self.selector, kind=self.kind)

    @property
    def interface(self) -> str:
        """Name of the attribute by which memory of the place is exported."""
        return _INTERFACES[self.selector.split(":")[0]]

    def __str__(self) -> str:
        return f"{self.selector}-{self.kind}"


HOST = Place("host", "host")
SYCL = [Place("opencl:cpu", kind) for kind in ("host", "device", "shared")]
CUDA = [Place("cuda:0", kind) for kind in ("host", "device", "shared")]
HIP = [Place("hip:0", kind) for kind in ("host", "device", "shared")]
EVERY_PLACE = (HOST, *SYCL, *CUDA, *HIP)

_INTERFACES = {
    "host": "__array_interface__",
    "opencl": "__sycl_usm_array_interface__",
    "cuda": "__cuda_array_interface__",
    "hip": "__cuda_array_interface__",
}
_MARKERS = {
    "host": pytest.mark.host,
    "opencl": pytest.mark.sycl,
    "cuda": pytest.mark.cuda,
    "hip": pytest.mark.hip,
}


def _param(place: Place) -> object:
    return pytest.param(place, id=str(place), marks=place.marker)


#: Every place, as parameters with their markers.
every_place = pytest.mark.parametrize("place", [_param(place) for place in EVERY_PLACE])
every_host_accessible_place = pytest.mark.parametrize(
    "place", [_param(place) for place in EVERY_PLACE if place.host_accessible]
)


def strides_of_long_axes(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """Strides of the axes longer than one; empty if the array has no elements."""
    return [
        stride
        for stride, extent in zip(strides, shape, strict=True)
        if extent > 1 and 0 not in shape
    ]


def moved(source: Any, place: Place) -> ep.Array:
    """A copy of a NumPy array in that place."""
    array = place.empty(source.shape, source.dtype)
    ep.copy(array, source).wait()
    return array


def values_of(array: ep.Array) -> Any:
    """A NumPy array of a copy of the elements."""
    return array.copy_to_host().numpy()


def elements(array: ep.Array) -> list[Any]:
    """A copy of the elements as nested lists."""
    nested: list[Any] = values_of(array).tolist()
    return nested

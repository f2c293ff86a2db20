"""The places that memory can be in on this machine, for tests that hold in each of them."""

from __future__ import annotations

from dataclasses import dataclass

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

    def empty(self, shape: int | tuple[int, ...], dtype: object) -> ep.Array:
        return ep.empty(shape, dtype, device=self.selector, kind=self.kind)

    def __str__(self) -> str:
        return f"{self.selector}-{self.kind}"


HOST = Place("host", "host")
SYCL = [Place("opencl:cpu", kind) for kind in ("host", "device", "shared")]


def _param(place: Place) -> object:
    return pytest.param(place, id=str(place), marks=pytest.mark.host if place is HOST else pytest.mark.sycl)


#: Every place, as parameters with their markers.
every_place = pytest.mark.parametrize("place", [_param(place) for place in (HOST, *SYCL)])
every_host_accessible_place = pytest.mark.parametrize("place", [_param(p) for p in (HOST, *SYCL) if p.host_accessible])

"""From every peer to every other through one Array: one address, and the far end keeps the near one's memory alive."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import pytest

import entrepot as ep
from interop.pairs import In, Out, Way, numbers
from places import Place

#: The rows of each peer are those of its own file; the builtins are everywhere.
PEERS = {
    "numpy": [pytest.mark.numpy],
    "dpctl": [pytest.mark.sycl, pytest.mark.dpctl],
    "dpnp": [pytest.mark.sycl, pytest.mark.dpnp],
    "torch": [pytest.mark.torch],
    "jax": [pytest.mark.jax],
    "tvm_ffi": [pytest.mark.tvm_ffi],
    "mpi4py": [pytest.mark.mpi4py],
    "builtin_buffers": [],
}
pytestmark = [pytest.mark.host, pytest.mark.numpy]


def ways(peer: str, direction: type[Way]) -> list[Way]:
    return [way for way in importlib.import_module(f"interop.test_{peer}").WAYS if isinstance(way, direction)]


def is_here(place: Place) -> bool:
    return place.selector.split(":")[0] in {str(device).split(":")[0] for device in ep.devices()}


def hand_over(way_in: In, way_out: Out, place: Place) -> bool:
    """Whether the peers' demands allow for it; what they do not is in their own rows."""
    source = way_in.peer.make(place)
    way_in.peer.wait()
    address = way_in.peer.view(source).address
    array = way_in.carry(source).view("int32").reshape(*numbers().shape)
    if array.read_only and "read-only" in way_out.cannot:
        return False
    if address % way_out.alignment:
        with pytest.raises(way_out.cannot["offset"].how):
            way_out.carry(array)
        return True
    seen = way_out.carry(array)
    route = f"{way_in} to {way_out} on {place}"
    assert way_out.peer.view(seen).address == address, f"{route}: copied"
    if not array.read_only and "their write" not in way_out.cannot:
        way_out.peer.write(seen, 77)
        assert way_in.peer.values(source).tobytes()[0] == 77, f"{route}: the write is not seen"
        way_out.peer.write(seen, 0)
    del source, array
    others = [way_in.peer.make(place) for _ in range(2)]  # would take the memory, were it free
    expected: Any = way_out.peer.expected(numbers())
    assert way_out.peer.values(seen).tolist() == expected.tolist(), f"{route}: the memory is gone"
    del others
    return True


@pytest.mark.parametrize(
    ("near", "far"),
    [
        pytest.param(near, far, marks=PEERS[near] + PEERS[far], id=f"{near} to {far}")
        for near, far in itertools.product(PEERS, repeat=2)
    ],
)
def test_memory_goes_from_one_to_the_other(near: str, far: str) -> None:
    handed_over = [
        hand_over(way_in, way_out, place)
        for way_in, way_out in itertools.product(ways(near, In), ways(far, Out))
        for place in way_in.places
        if place in way_out.places and is_here(place)
    ]
    if not any(handed_over):
        pytest.skip("no memory of the one may be given to the other: another place, or read-only and that would be forgotten")

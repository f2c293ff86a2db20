"""Memory of every peer passes to every other peer through one Array.

The address stays the same, and the consumer keeps the producer's memory alive. On CUDA, the
consumer reads the result of a kernel of the producer that is still running, without a wait on the
host.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator
from typing import Any, TypeVar

import pytest

import entrepot as ep
from interop import slow
from interop.pairs import In, Out, Way, numbers
from support.places import CUDA, HOST, Place

#: The rows of each peer are in its own file; the builtins are always available.
PEERS = {
    "numpy": [pytest.mark.numpy],
    "dpctl": [pytest.mark.sycl, pytest.mark.dpctl],
    "dpnp": [pytest.mark.sycl, pytest.mark.dpnp],
    "torch": [pytest.mark.torch],
    "cupy": [pytest.mark.cuda, pytest.mark.cupy],
    "jax": [pytest.mark.jax],
    "numba_cuda": [pytest.mark.cuda, pytest.mark.numba, pytest.mark.numba_cuda],
    "cuda_core": [pytest.mark.cuda, pytest.mark.cuda_core],
    "nanobind": [pytest.mark.nanobind],
    "tvm_ffi": [pytest.mark.tvm_ffi],
    "mpi4py": [pytest.mark.mpi4py],
    "builtin_buffers": [],
}
pytestmark = [pytest.mark.host, pytest.mark.numpy]

Direction = TypeVar("Direction", bound=Way)


def ways(peer: str, direction: type[Direction]) -> list[Direction]:
    return [
        way
        for way in importlib.import_module(f"interop.test_{peer}").WAYS
        if isinstance(way, direction)
    ]


def is_here(place: Place) -> bool:
    return place.selector.split(":")[0] in {str(device).split(":")[0] for device in ep.devices()}


def hand_over(way_in: In, way_out: Out, place: Place) -> bool:
    """True if the peers' requirements allow it; their own rows state the ones that do not."""
    source = way_in.peer.make(place)
    way_in.peer.wait()
    address = way_in.peer.view(source).address
    array = way_in.carry(source).view("int32").reshape(*numbers().shape)
    if array.read_only and "read-only" in way_out.cannot:
        return False
    if array.device.backend == "host" and HOST not in way_out.places:
        return False  # PyTorch's pinned tensors are the host's, by what it says of them
    if address % way_out.alignment:
        with pytest.raises(way_out.cannot["offset"].exception):
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
    others = [way_in.peer.make(place) for _ in range(2)]  # would get the memory if it were free
    expected: Any = way_out.peer.expected(numbers())
    assert way_out.peer.values(seen).tolist() == expected.tolist(), f"{route}: the memory is gone"
    del others
    return True


@pytest.mark.parametrize(
    ("producer", "consumer"),
    [
        pytest.param(
            producer,
            consumer,
            marks=PEERS[producer] + PEERS[consumer],
            id=f"{producer} to {consumer}",
        )
        for producer, consumer in itertools.product(PEERS, repeat=2)
    ],
)
def test_memory_passes_between_two_peers(producer: str, consumer: str) -> None:
    handed_over = [
        hand_over(way_in, way_out, place)
        for way_in, way_out in itertools.product(ways(producer, In), ways(consumer, Out))
        for place in way_in.places
        if place in way_out.places and is_here(place)
    ]
    if not any(handed_over):
        pytest.skip(
            "no memory of the one may be given to the other: another place, or read-only and that "
            "would be forgotten"
        )


# ---------------------------------------------------------------- while a kernel is at work

ON_CUDA = ("torch", "cupy", "jax", "numba_cuda", "cuda_core", "nanobind", "tvm_ffi")
DEVICE = next(place for place in CUDA if place.kind == "device")


class HasWaited(AssertionError):
    """Raised if the consumer waits on the host by itself."""


def ordered_ways(peer: str, direction: type[Way]) -> list[Way]:
    """Ways to device memory that carry an order; the peer's own rows cover the others."""
    try:
        found = ways(peer, direction)
    except pytest.skip.Exception:
        return []
    return [way for way in found if DEVICE in way.places and "order" not in way.cannot]


def is_refused(way_in: In, way_out: Out) -> bool:
    """True if the memory is read-only and the export or the peer refuses such memory."""
    read_only = way_out.cannot.get("read-only")
    return (
        "writable" in way_in.cannot
        and read_only is not None
        and read_only.how not in (None, AssertionError)
    )


def hand_overs() -> Iterator[Any]:
    for producer, consumer in itertools.product(ON_CUDA, repeat=2):
        marks = [pytest.mark.cuda, pytest.mark.alone, *PEERS[producer], *PEERS[consumer]]
        routes = list(itertools.product(ordered_ways(producer, In), ordered_ways(consumer, Out)))
        for way_in, way_out in routes:
            assert way_in.at_once, f"{producer}: {way_in}"
            assert way_out.at_once, f"{consumer}: {way_out}"
            waits = way_out.cannot.get("at once")
            expected = (
                [pytest.mark.xfail(reason=waits.reason, raises=HasWaited, strict=True)]
                if waits
                else []
            )
            yield pytest.param(
                way_in,
                way_out,
                marks=marks + expected,
                id=f"{producer}: {way_in} to {consumer}: {way_out}",
            )
        if not routes:
            yield pytest.param(None, None, marks=marks, id=f"{producer} to {consumer}")


@pytest.mark.parametrize(("way_in", "way_out"), hand_overs())
def test_second_peer_waits_for_first_on_the_device(way_in: In | None, way_out: Out | None) -> None:
    if way_in is None or way_out is None:
        pytest.skip("there is no way that carries an order, as the peer's own rows say")
    first = way_in.peer.make(DEVICE)
    way_in.peer.wait()
    if is_refused(way_in, way_out):
        array = way_in.carry(first)
        with pytest.raises(way_out.cannot["read-only"].exception):
            way_out.carry(array)
        return
    way_out.peer.values(
        way_out.carry(way_in.carry(first))
    )  # everything that must be loaded is loaded
    source = way_in.peer.make_slowly(DEVICE)
    seen = way_out.carry(way_in.carry(source))
    has_waited = way_in.peer.is_idle(source)
    assert way_out.peer.view(seen).address == way_in.peer.view(source).address, "copied"
    assert way_out.peer.values(seen).ravel()[0] == slow.RESULT, (
        "read before the producer's kernel was done"
    )
    if has_waited:
        raise HasWaited("the import or export waited on the host for the producer's kernel")

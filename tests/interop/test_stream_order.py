"""The current-stream rule (docs/concepts/streams.md): an operation of ours on a library's memory is ordered after what the
library has submitted to its current stream, and before what it submits there afterwards.

Each case lets the library keep its stream busy, change the memory, and, right after our operation, change it again.
``ENTREPOT_REPETITIONS=200`` tries each case so often.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop.stream_order import (
    OPERATIONS,
    SIZE,
    CupyCuda,
    Dpctl,
    DpctlOutOfOrder,
    Dpnp,
    DpnpOutOfOrder,
    NumbaCuda,
    Op,
    TorchCuda,
)

pytestmark = [pytest.mark.host, pytest.mark.numpy]

REPETITIONS = int(os.environ.get("ENTREPOT_REPETITIONS", "2"))
FORMS = ("object", "array", "view", "exported")
QUEUES = ("no queue", "queue=", "with queue")


def marked(*libraries: type, marks: tuple[str, ...], backend: str = "cuda") -> Any:
    name = "+".join(each.name for each in libraries)
    return pytest.param(libraries, id=name, marks=[getattr(pytest.mark, mark) for mark in (backend, *marks)])


LIBRARIES = [
    marked(TorchCuda, marks=("torch",)),
    marked(CupyCuda, marks=("cupy",)),
    marked(NumbaCuda, marks=("numba_cuda",)),
    marked(TorchCuda, CupyCuda, marks=("torch", "cupy")),
]

made = functools.cache(lambda library: library())


@functools.cache
def side_stream(library: type) -> Any:
    return made(library).stream()


@functools.cache
def our_queue(device: str = "cuda:0") -> ep.Queue:
    return ep.Queue(device)


def operand(library: Any, form: str, protocol: str) -> tuple[Any, Any]:
    """An array of the library's, of zeros, and what our operation is given of its memory."""
    if form == "exported":
        array = ep.zeros(SIZE, "float32", device="cuda:0")
        array.queue.wait()
        return (library.from_dlpack if protocol == "dlpack" else library.from_cai)(array), array
    x = library.zeros()
    given = library.as_cai(x) if protocol == "cai" else x
    if form == "object":
        return x, given
    array = ep.asarray(given)
    return x, array if form == "array" else array.reshape(SIZE // 256, 256).reshape(-1)


def check(libraries: list[Any], operands: list[tuple[Any, Any]], op: Op, how: str, device: str = "cuda:0") -> None:
    for library, (x, _) in zip(libraries, operands, strict=True):
        library.values(x)  # the zeros are there
        library.spin()
        library.add(x, 1)
    queue = our_queue(device) if how == "queue=" else None
    returned = []
    with ep.device_context(our_queue(device)) if how == "with queue" else contextlib.nullcontext():
        for _, given in operands:
            returned.append(op.run(given, queue, device))
    for library, (x, _) in zip(libraries, operands, strict=True):
        library.multiply(x, 3)
    assert returned == [op.returns] * len(operands), "our operation did not wait for the library"
    for library, (x, _) in zip(libraries, operands, strict=True):
        found = np.unique(library.values(x)).tolist()
        assert found == [3 * op.after], f"{library.name}'s array"


def repeat(case: Callable[[], None]) -> None:
    wrong = []
    for repetition in range(REPETITIONS):
        try:
            case()
        except AssertionError as error:
            wrong.append((repetition, str(error).splitlines()[0]))
    assert not wrong, f"{len(wrong)} of {REPETITIONS} repetitions: {wrong[:3]}"


@pytest.mark.parametrize("protocol", ["dlpack", "cai"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("how", QUEUES)
@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
@pytest.mark.parametrize("stream", ["default stream", "side stream"])
@pytest.mark.parametrize("libraries", LIBRARIES)
def test_operation_is_ordered_on_current_stream(
    libraries: tuple[type, ...], stream: str, op: Op, how: str, form: str, protocol: str
) -> None:
    if protocol == "dlpack" and NumbaCuda in libraries:
        pytest.skip("numba-cuda's arrays speak the CUDA Array Interface")
    peers = [made(each) for each in libraries]
    with contextlib.ExitStack() as stack:
        for each, peer in zip(libraries, peers, strict=True):
            stack.enter_context(peer.on(side_stream(each) if stream == "side stream" else None))
        repeat(lambda: check(peers, [operand(peer, form, protocol) for peer in peers], op, how))


SYCL_LIBRARIES = [
    marked(Dpnp, marks=("dpctl", "dpnp"), backend="sycl"),
    marked(DpnpOutOfOrder, marks=("dpctl", "dpnp"), backend="sycl"),
    marked(Dpctl, marks=("dpctl", "dpnp"), backend="sycl"),
    marked(DpctlOutOfOrder, marks=("dpctl", "dpnp"), backend="sycl"),
]


def sycl_operand(library: Any, form: str, protocol: str) -> tuple[Any, Any]:
    if form == "exported":
        array = ep.zeros(SIZE, "float32", device="opencl:cpu", kind="device")
        array.queue.wait()
        return library.from_dlpack(array), array
    x = library.zeros()
    if form == "object":
        return x, library.as_object(x) if isinstance(library, Dpctl) else x
    array = library.imported(x, protocol)
    return x, array if form == "array" else array.reshape(SIZE // 256, 256).reshape(-1)


@pytest.mark.parametrize("protocol", ["suai", "dlpack"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("how", QUEUES)
@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
@pytest.mark.parametrize("stream", ["first queue", "second queue"])
@pytest.mark.parametrize("libraries", SYCL_LIBRARIES)
def test_operation_is_ordered_on_queue_of_array(
    libraries: tuple[type, ...], stream: str, op: Op, how: str, form: str, protocol: str
) -> None:
    (library,) = libraries
    raw = issubclass(library, Dpctl)
    if (
        (protocol == "dlpack" and (raw or form == "object"))
        or (protocol == "suai" and form == "exported")
        or (raw and form == "exported")
    ):
        pytest.skip("there is no such way between the two")
    peer = made(library)
    with peer.on(side_stream(library) if stream == "second queue" else None):
        repeat(lambda: check([peer], [sycl_operand(peer, form, protocol)], op, how, "opencl:cpu"))

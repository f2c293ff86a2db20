"""The current-stream rule (docs/concepts/streams.md) for Entrepot's operations on other memory.

An operation on a library's memory is ordered after the work already in the library's current
stream, and before later work there.

Each case lets the library keep its stream busy and change the memory. Right after Entrepot's
operation, the library changes it again.
``ENTREPOT_REPETITIONS=200`` tries each case so often.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop.stream_order import (
    OPERATIONS,
    CupyCuda,
    Dpctl,
    DpctlOutOfOrder,
    Dpnp,
    DpnpOutOfOrder,
    NumbaCuda,
    Op,
    TorchCuda,
    keep_busy,
    made,
    our_queue,
    repeat,
    side_stream,
    together,
)

pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.usefixtures("sources_of_copies")]

FORMS = ("object", "array", "view", "exported")
QUEUES = ("no queue", "queue=", "with queue")


def check(libraries: list[Any], form: str, protocol: str, op: Op, how: str, late: bool) -> None:
    """One repetition of a cell.

    ``late``: Entrepot's operation also waits for other work, so that a library that does not wait
    for the operation comes first.
    """
    device = libraries[0].device
    operands = [library.operand(form, protocol, op.name) for library in libraries]
    for library, (x, _) in zip(libraries, operands, strict=True):
        library.wait()  # until the zeros are there
        library.spin(x)
        library.add(x, 1)
        library.multiply(x, 3)  # so that what adds one gives another number if it comes first
    queue = our_queue(device) if how == "queue=" else None
    if late and (
        queue or form == "exported"
    ):  # else the operation is submitted to the library's stream
        keep_busy(queue or operands[0][1].queue, device, len(libraries))
    returned = []
    with ep.device_context(our_queue(device)) if how == "with queue" else contextlib.nullcontext():
        for _, given in operands:
            returned.append(op.run(given, queue, device))
    for library, (x, _) in zip(libraries, operands, strict=True):
        library.multiply(x, 3)
    assert returned == [op.returns] * len(operands), "our operation did not wait for the library"
    for library, (x, _) in zip(libraries, operands, strict=True):
        found = library.values(x)
        if (found != 3 * op.after).any():
            raise AssertionError(
                f"{library.name}'s array: {np.unique(found).tolist()}, not {3 * op.after}"
            )


def run_cell(
    libraries: tuple[type, ...], on_side: bool, op: Op, how: str, form: str, protocol: str
) -> None:
    peers = [made(each) for each in libraries]
    if not all(peer.crosses(form, protocol) for peer in peers):
        pytest.skip("there is no such way between the two")
    if form == "exported" and on_side and not all(peer.export_has_stream for peer in peers):
        pytest.skip("Entrepot does not know the stream, so this is not ordered")
    with contextlib.ExitStack() as stack:
        for each, peer in zip(libraries, peers, strict=True):
            stack.enter_context(peer.on(side_stream(each) if on_side else None))
        repeat(lambda late: check(peers, form, protocol, op, how, late))


def cells(libraries: list[Any], streams: list[str], protocols: list[str]) -> Callable[[Any], Any]:
    """Parametrizes a test by all cells of a matrix."""

    def parametrize(test: Any) -> Any:
        for name, values in (
            ("libraries", libraries),
            ("stream", streams),
            ("op", [pytest.param(op, id=op.name) for op in OPERATIONS]),
            ("how", QUEUES),
            ("form", FORMS),
            ("protocol", protocols),
        ):
            test = pytest.mark.parametrize(name, values)(test)
        return test

    return parametrize


@cells(
    [together(TorchCuda), together(CupyCuda), together(NumbaCuda), together(TorchCuda, CupyCuda)],
    streams=["default stream", "side stream"],
    protocols=["dlpack", "cai"],
)
def test_operation_is_ordered_on_current_stream(
    libraries: tuple[type, ...], stream: str, op: Op, how: str, form: str, protocol: str
) -> None:
    run_cell(libraries, stream == "side stream", op, how, form, protocol)


@cells(
    [together(Dpnp), together(DpnpOutOfOrder), together(Dpctl), together(DpctlOutOfOrder)],
    streams=["first queue", "second queue"],
    protocols=["suai", "dlpack"],
)
def test_operation_is_ordered_on_queue_of_array(
    libraries: tuple[type, ...], stream: str, op: Op, how: str, form: str, protocol: str
) -> None:
    run_cell(libraries, stream == "second queue", op, how, form, protocol)

"""Allocation and release of USM memory through the pool, against dpctl.memory."""

from __future__ import annotations

import dpctl
import dpctl.memory as peer

import entrepot.memory as ours

from .harness import Pair

SIZES = {"1 KiB": 1 << 10, "1 MiB": 1 << 20}
# dpctl's default queue is out of order. The required ratio is higher with an in-order queue, where
# reuse needs no barrier.
QUEUES = {"in order": (["in_order"], 6.0), "out of order": ([], 1.0)}


def pairs() -> list[Pair]:
    """A block of each kind and size on each sort of queue."""
    found = []
    for order, (properties, at_least) in QUEUES.items():
        queue = dpctl.SyclQueue("opencl:cpu", property=properties)
        for kind in ("Device", "Shared", "Host"):
            for size, nbytes in SIZES.items():
                name = f"MemoryUSM{kind}"
                found.append(
                    Pair(
                        f"{name}({size}) + free, queue {order}",
                        "ours(nbytes, queue=queue)",
                        "peer(nbytes, queue=queue)",
                        at_least,
                        {
                            "ours": getattr(ours, name),
                            "peer": getattr(peer, name),
                            "nbytes": nbytes,
                            "queue": queue,
                        },
                    )
                )
    return found

"""nccl4py takes arrays and queues as they are. A communicator of one rank copies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import entrepot as ep
from support.pending_work import RESULT, start, warm_up, zeros

nccl = pytest.importorskip("nccl.core")

pytestmark = pytest.mark.cuda


@pytest.fixture
def communicator() -> Iterator[Any]:
    made = nccl.Communicator.init(1, 0, nccl.get_unique_id())
    yield made
    made.destroy()


def test_reduction_is_ordered_with_work_before_and_after(communicator: Any) -> None:
    """NCCL drops the export before it submits its work, so other queues do not wait for it."""
    warm_up("cuda:0")
    source, target = zeros("cuda:0"), zeros("cuda:0")
    communicator.allreduce(source, target, nccl.SUM, stream=target.queue)
    done = start(source, ep.Queue("cuda:0"))
    communicator.allreduce(source, target, nccl.SUM, stream=target.queue)
    seen = ep.empty(2, "int32", device="cuda:0")
    ep.copy(seen, target)
    assert not done.done, "no call has waited on the host"
    assert seen[0].item() == RESULT

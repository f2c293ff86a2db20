# needs: host, numpy, ray
"""K-means on Ray: one actor loads the points, and another one works on the same memory.

Ray's own transport copies the points into the object store.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # a cluster of this process alone
import numpy as np
import ray
from kmeans_blocks import (
    BLOCKS,
    POINTS,
    ROUNDS,
    block_of,
    check,
    first_centers,
    moved_centers,
    partial_sums,
    shareable_block,
)

from entrepot import transport

transport.enable("ray")  # before its name is used, and before actors are made


class Loader:
    def load(self, number: int):
        return block_of(number)

    @ray.method(tensor_transport=transport.ray.TRANSPORT)
    def load_shareable(self, number: int):
        return shareable_block(number)


class Worker:
    def length(self, points) -> int:
        return len(points)

    def sums(self, points, centers):
        return partial_sums(points, centers)


def transfer(load, worker) -> tuple[list, float]:
    """The blocks, and the seconds in which they get from one actor to the other."""
    start = time.perf_counter()
    blocks = [load.remote(number) for number in range(BLOCKS)]
    assert ray.get([worker.length.remote(block) for block in blocks]) == [POINTS] * BLOCKS
    return blocks, time.perf_counter() - start


def kmeans(blocks: list, worker) -> np.ndarray:
    centers = first_centers()
    for _ in range(ROUNDS):
        parts = ray.get([worker.sums.remote(block, centers) for block in blocks])
        centers = moved_centers(centers, parts)
    return centers


def main() -> None:
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=1 << 29,
        log_to_driver=False,
        runtime_env={
            "worker_process_setup_hook": transport.ray.setup_worker,
            "env_vars": {"PYTHONPATH": str(Path(__file__).parent)},
        },
    )
    loader, worker = (
        ray.remote(enable_tensor_transport=True)(kind).remote() for kind in (Loader, Worker)
    )
    seconds = {}
    for name, load in (("NumPy", loader.load), ("Entrepot", loader.load_shareable)):
        for _ in range(3):  # the first time makes the points
            blocks, seconds[name] = transfer(load, worker)
        check(kmeans(blocks, worker))
    ray.shutdown()
    print(
        f"k-means on Ray: {BLOCKS} blocks of 16 MiB from actor to actor in "
        f"{seconds['Entrepot'] * 1e3:.1f} ms as shared memory, and in "
        f"{seconds['NumPy'] * 1e3:.1f} ms as NumPy arrays by the object store"
    )


if __name__ == "__main__":
    main()

# needs: host, numpy, distributed
"""K-means on Dask: one worker loads the points, and the other one works on the same memory.

Dask's own transport copies the points from worker to worker.
"""

from __future__ import annotations

import time

import distributed
import numpy as np
from kmeans_blocks import (
    BLOCKS,
    ROUNDS,
    block_of,
    check,
    first_centers,
    moved_centers,
    partial_sums,
    shareable_block,
)

from entrepot import transport


def transfer(client: distributed.Client, load, loader: str, worker: str) -> tuple[list, float]:
    """The blocks, and the seconds in which they get from one worker to the other."""
    blocks = [client.submit(load, n, workers=[loader], pure=False) for n in range(BLOCKS)]
    distributed.wait(blocks)
    start = time.perf_counter()
    distributed.wait([client.submit(len, block, workers=[worker], pure=False) for block in blocks])
    return blocks, time.perf_counter() - start


def kmeans(client: distributed.Client, blocks: list, worker: str) -> np.ndarray:
    centers = first_centers()
    for _ in range(ROUNDS):
        parts = [
            client.submit(partial_sums, block, centers, workers=[worker], pure=False)
            for block in blocks
        ]
        centers = moved_centers(centers, client.gather(parts))
    return centers


def main() -> None:
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        transport.enable("dask")
        client.register_worker_callbacks(transport.dask.enable)
        loader, worker = sorted(client.scheduler_info()["workers"])
        seconds = {}
        for name, load in (("NumPy", block_of), ("Entrepot", shareable_block)):
            for _ in range(3):  # the first time opens connections
                blocks, seconds[name] = transfer(client, load, loader, worker)
            check(kmeans(client, blocks, worker))
    print(
        f"k-means on Dask: {BLOCKS} blocks of 16 MiB from worker to worker in "
        f"{seconds['Entrepot'] * 1e3:.1f} ms as shared memory, and in "
        f"{seconds['NumPy'] * 1e3:.1f} ms as NumPy arrays by Dask's transport"
    )


if __name__ == "__main__":
    main()

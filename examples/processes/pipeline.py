# needs: host, numpy
"""A producer and a consumer on multiprocessing: frames pass through a queue in shared memory.

The default transport of ``multiprocessing`` pickles a frame's bytes and sends them through a pipe.
"""

from __future__ import annotations

import multiprocessing
import time

import numpy as np

import entrepot as ep
from entrepot import memory, transport

FRAMES, SHAPE = 8, (2048, 2048)  # of float32: 16 MiB a frame


def produce(frames, how: str) -> None:
    transport.enable("multiprocessing")
    for number in range(FRAMES):
        frame: object
        if how == "NumPy":
            frame = np.full(SHAPE, number, "float32")
        else:
            with memory.use_resource(memory.shareable()):
                frame = ep.full(SHAPE, number, "float32", device="host")
        frames.put(frame)
    frames.put(None)
    # At its end, the process waits until its frames have been opened.


def consume(how: str) -> float:
    """Seconds from the first frame to the last one."""
    context = multiprocessing.get_context("spawn")
    frames = context.Queue(2)
    producer = context.Process(target=produce, args=(frames, how))
    producer.start()
    means = []
    start = 0.0
    while (frame := frames.get()) is not None:
        start = start or time.perf_counter()
        means.append(float(np.asarray(frame)[::64, ::64].mean()))
    seconds = time.perf_counter() - start
    producer.join()
    assert producer.exitcode == 0
    assert means == list(range(FRAMES)), means
    return seconds


def main() -> None:
    seconds = {how: consume(how) for how in ("NumPy", "Entrepot")}
    print(
        f"pipeline on multiprocessing: {FRAMES} frames of 16 MiB in "
        f"{seconds['Entrepot'] * 1e3:.0f} ms as shared memory, and in "
        f"{seconds['NumPy'] * 1e3:.0f} ms as NumPy arrays by the default transport"
    )


if __name__ == "__main__":
    main()

# needs: host, numpy, mpi4py
"""Heat in a plate on mpi4py: each rank has some rows, and exchanges its outer rows with neighbors.

    mpiexec -n 4 python stencil_mpi.py

mpi4py's default for objects, ``comm.sendrecv``, pickles the rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

import entrepot as ep
import entrepot.kernel as dppy
from entrepot import transport

ROWS, COLUMNS, STEPS = 256, 1 << 16, 10  # a row has 512 KiB
COMM = MPI.COMM_WORLD
ABOVE = COMM.rank - 1 if COMM.rank > 0 else MPI.PROC_NULL
BELOW = COMM.rank + 1 if COMM.rank + 1 < COMM.size else MPI.PROC_NULL


@dppy.kernel
def smooth(old, new):
    i, j = dppy.get_global_id(0) + 1, dppy.get_global_id(1) + 1
    new[i, j] = 0.25 * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])


def first_plate() -> np.ndarray:
    plate = np.zeros((ROWS + 2, COLUMNS))
    plate[0], plate[-1] = 1.0, 2.0
    return plate


def exchange_lent(plate: ep.Array) -> None:
    """MPI reads and writes the rows where they are."""
    with transport.mpi.lent(COMM, plate) as (memory, datatype):
        row = COLUMNS * plate.itemsize

        def at(number: int) -> list:
            return [memory[number * row : (number + 1) * row], datatype]

        last = plate.shape[0] - 1
        COMM.Sendrecv(at(1), ABOVE, recvbuf=at(last), source=BELOW)
        COMM.Sendrecv(at(last - 1), BELOW, recvbuf=at(0), source=ABOVE)


def exchange_pickled(plate: ep.Array) -> None:
    rows = plate.numpy()
    below = COMM.sendrecv(rows[1], ABOVE, source=BELOW)
    above = COMM.sendrecv(rows[-2], BELOW, source=ABOVE)
    if below is not None:
        rows[-1] = below
    if above is not None:
        rows[0] = above


def heat(mine: slice, exchange: Callable[[ep.Array], None]) -> tuple[np.ndarray, float]:
    """The rows of this rank after all steps, and the seconds of its exchanges."""
    old, new = (ep.asarray(first_plate()[mine].copy()) for _ in range(2))
    seconds = 0.0
    for _ in range(STEPS):
        old.queue.wait()  # so that the time is that of messages alone
        COMM.Barrier()
        start = time.perf_counter()
        exchange(old)
        seconds += time.perf_counter() - start
        smooth[(old.shape[0] - 2, COLUMNS - 2), None](old, new)
        old, new = new, old
    return old.numpy()[1:-1], seconds


def expected() -> np.ndarray:
    plate = first_plate()
    for _ in range(STEPS):
        inner = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        plate[1:-1, 1:-1] = 0.25 * inner
    return plate[1:-1]


def main() -> None:
    first, last = (ROWS * (COMM.rank + n) // COMM.size for n in (0, 1))
    mine = slice(first, last + 2)  # with one row of each neighbor
    seconds = {}
    for name, exchange in (("pickled", exchange_pickled), ("lent", exchange_lent)):
        rows, seconds[name] = heat(mine, exchange)
        np.testing.assert_allclose(rows, expected()[first:last], rtol=1e-12)
    if COMM.rank == 0:
        print(
            f"stencil on mpi4py, {COMM.size} ranks: rows of {COLUMNS * 8 >> 10} KiB exchanged "
            f"{STEPS} times in {seconds['lent'] * 1e3:.1f} ms from where they are, and in "
            f"{seconds['pickled'] * 1e3:.1f} ms by mpi4py's pickles"
        )


if __name__ == "__main__":
    main()

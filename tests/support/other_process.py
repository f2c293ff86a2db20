"""A second process that runs Python source on demand, and what it and this one hold."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import entrepot as ep
from entrepot import memory

TIMEOUT = 120


def shareable(values: Any, device: str) -> ep.Array:
    """A copy of a NumPy array in memory that can be shared."""
    with memory.use_resource(memory.shareable()):
        array = ep.empty(values.shape, values.dtype, device=device)
    ep.copy(array, values.copy(order="C")).wait()
    return array


class Other:
    """A process that runs Python source: `run(source)` keeps earlier names, and returns the
    value of `_`."""

    def __init__(self, **environment: str) -> None:
        program = """
            import gc, os, pickle, sys, traceback
            import numpy as np
            import entrepot as ep
            from entrepot import memory
            names = dict(globals())
            for_us, sys.stdout = sys.stdout.buffer, sys.stderr
            while True:
                try:
                    source, given = pickle.load(sys.stdin.buffer)
                except EOFError:
                    break
                names.update(given)
                try:
                    exec(source, names)
                    answer = (True, names.get("_"))
                except BaseException as error:
                    answer = (False, type(error).__name__ + ": " + str(error))
                pickle.dump(answer, for_us)
                for_us.flush()
        """
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
        )

    def run(self, source: str, **names: object) -> Any:
        assert self.process.stdin and self.process.stdout
        pickle.dump((textwrap.dedent(source), names), self.process.stdin)
        self.process.stdin.flush()
        succeeded, answer = pickle.load(self.process.stdout)
        if not succeeded:
            raise RuntimeError(answer)
        return answer

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(TIMEOUT)

    def end(self) -> None:
        assert self.process.stdin and self.process.stdout
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait(TIMEOUT)
        self.process.stdout.close()


def open_files() -> list[str]:
    return os.listdir("/proc/self/fd")


def shared_mappings(process: int | str = "self") -> int:
    return Path(f"/proc/{process}/maps").read_text().count("memfd:entrepot")


def sockets_of(process: int) -> list[str]:
    """Abstract sockets of Entrepot in that process."""
    lines = Path("/proc/net/unix").read_text().splitlines()
    return [line.split()[-1] for line in lines if f".{process}." in line and "@entrepot" in line]


def is_shared_at(address: int) -> bool:
    """True if this process maps shared memory at the address."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, last = (int(each, 16) for each in line.split(" ", 1)[0].split("-"))
        if first <= address < last:
            return "memfd:entrepot" in line
    return False


def pages(array: ep.Array) -> list[tuple[int, int]]:
    """Identifies the pages of memory by the numbers of their frames. If the kernel hides these, by
    the mapped file and the offset in it."""
    size = os.sysconf("SC_PAGE_SIZE")
    first, last = array.data_ptr // size, (array.data_ptr + array.nbytes - 1) // size
    memoryview(array).tobytes()  # so that each page is present
    with Path("/proc/self/pagemap").open("rb", buffering=0) as map_of_pages:
        map_of_pages.seek(8 * first)
        entries = memoryview(map_of_pages.read(8 * (last + 1 - first))).cast("Q")
    frames = [entry & ((1 << 55) - 1) for entry in entries]
    if all(frames):
        return [(0, frame) for frame in frames]
    for line in Path("/proc/self/maps").read_text().splitlines():
        ends, _, offset, _, inode, *_ = line.split()
        start, end = (int(each, 16) // size for each in ends.split("-"))
        if start <= first < end:
            at = int(offset, 16) // size - start
            return [(int(inode), page + at) for page in range(first, last + 1)]
    raise AssertionError("the memory is not mapped")

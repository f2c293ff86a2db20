"""Errors, forks and interpreter shutdown while arrays are shared.

The file test_failures.py ends one of several processes.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import pickle
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import entrepot as ep
from entrepot import leases, memory, transport
from support.other_process import TIMEOUT, Other, sockets_of
from support.polling import eventually_equal
from support.processes import run

pytestmark = [pytest.mark.host, pytest.mark.numpy]
pytest.importorskip("numpy")

HOST = pytest.param("host", marks=pytest.mark.host)
CUDA = pytest.param("cuda:0", marks=pytest.mark.cuda)
every_device = pytest.mark.parametrize("device", [HOST, CUDA])

MAKE = """
with memory.use_resource(memory.shareable()):
    array = ep.empty(1000, "int32", device=device)
ep.fill(array, 7).wait()
_ = ep.dumps(array, "share", hold=hold)
"""
OPEN = "array = pickle.loads(data); _ = set(array.copy_to_host().numpy().tolist())"
READ = "_ = set(array.copy_to_host().numpy().tolist())"


@pytest.fixture
def maker() -> Iterator[Other]:
    yield from started()


@pytest.fixture
def opener() -> Iterator[Other]:
    yield from started()


def started() -> Iterator[Other]:
    process = Other()
    yield process
    with contextlib.suppress(OSError):  # it may have ended in the middle of an answer
        process.end()


def usage(process: Other) -> tuple[int, int, list[str]]:
    """Descriptors of shared memory, its mappings, and Python's threads in the process."""
    found: tuple[int, int, list[str]] = process.run(
        """
        import gc, os, threading
        gc.collect(); memory.trim()
        links = [os.path.realpath(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")]
        with open("/proc/self/maps") as maps:
            mapped = maps.read().count("memfd:entrepot")
        _ = (sum("memfd:entrepot" in link for link in links), mapped,
             [thread.name for thread in threading.enumerate() if "entrepot" in thread.name])
        """
    )
    return found


@every_device
class TestErrors:
    def test_opener_that_raises_keeps_nothing(
        self, device: str, maker: Other, opener: Other
    ) -> None:
        data = maker.run(MAKE, device=device, hold=60)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            opener.run(
                "def use():\n    array = pickle.loads(data)\n    return 1 / 0\nuse()", data=data
            )
        assert eventually_equal(lambda: usage(opener)[:2], (0, 0), seconds=1)


class TestForks:
    """A CUDA device is not usable in a forked child, so these are tests of the host."""

    def test_maker_that_forks_answers_for_its_handle(self, maker: Other, opener: Other) -> None:
        data = maker.run(MAKE, device="host", hold=60)
        maker.run(
            "import os, time\nchild = os.fork()\nif child == 0:\n"
            "    time.sleep(60)\n    os._exit(0)\n_ = None"
        )
        assert opener.run(OPEN, data=data) == {7}
        maker.run("import signal; os.kill(child, signal.SIGKILL); os.waitpid(child, 0); _ = None")
        assert maker.run(READ) == {7}

    def test_child_of_the_maker_opens_the_handle(self, maker: Other) -> None:
        maker.run(MAKE + "\ndata = _", device="host", hold=60)
        status = maker.run(
            """
            import os
            child = os.fork()
            if child == 0:
                made = pickle.loads(data)
                ep.fill(made, 9).wait()
                os._exit(0)
            _ = os.waitpid(child, 0)[1]
            """
        )
        assert status == 0
        assert maker.run(READ) == {9}

    def test_child_of_the_opener_has_the_memory(self, maker: Other, opener: Other) -> None:
        assert opener.run(OPEN, data=maker.run(MAKE, device="host", hold=60)) == {7}
        assert (
            opener.run(
                """
                import os
                child = os.fork()
                if child == 0:
                    os._exit(0 if set(array.numpy().tolist()) == {7} else 1)
                _ = os.waitpid(child, 0)[1]
                """
            )
            == 0
        )
        assert opener.run(READ) == {7}


def test_pickle_on_disk_is_refused_after_the_end(tmp_path: Path) -> None:
    maker = Other()
    (tmp_path / "array").write_bytes(maker.run(MAKE, device="host", hold=60))
    maker.end()
    with pytest.raises(ep.ExchangeError, match="has ended"):
        pickle.loads((tmp_path / "array").read_bytes())
    gc.collect()


def test_process_ends_at_once_with_handles_left() -> None:
    program = MAKE.replace("hold=hold", "hold=1000").replace("device=device", "device='host'")
    before = time.monotonic()
    run(f"import entrepot as ep\nfrom entrepot import memory\n{program}")
    assert time.monotonic() - before < 20


def test_burst_of_messages_leaves_no_lease() -> None:
    """The kernel queues few reports, so receivers wait for the thread that reads them."""
    context = multiprocessing.get_context("spawn")
    arrays, totals = context.Queue(), context.Queue()
    reader = context.Process(target=count_ones, args=(arrays, totals))
    reader.start()
    with (
        transport.multiprocessing.enable(),
        memory.use_resource(memory.shareable()),
    ):
        for _ in range(2000):
            arrays.put(ep.full(16, 1, "int32", device="host"))
        arrays.put(None)
        assert totals.get(timeout=TIMEOUT) == 2000
    assert leases.wait_until_opened(1)
    reader.join(TIMEOUT)


def count_ones(arrays: Any, totals: Any) -> None:
    total = 0
    while (array := arrays.get()) is not None:
        total += int(array[0])
    totals.put(total)


def test_helper_reports_what_is_left(maker: Other) -> None:
    """The checks above can fail."""
    maker.run(MAKE, device="host", hold=60)
    files, mapped, threads = usage(maker)
    assert mapped == 1
    assert threads == ["entrepot-leases"]
    assert sockets_of(maker.process.pid)
    assert files in (0, 1)

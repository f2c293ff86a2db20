"""The pool on a CUDA device: stream-ordered reuse, memory returned to the driver, and other
pools beside it."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import entrepot as ep
from entrepot import memory

pytestmark = pytest.mark.cuda

DEVICE = "cuda:0"
MIB, GIB = 1 << 20, 1 << 30
SIZES = pytest.mark.parametrize("nbytes", [4096, MIB, 24 * MIB], ids=["4 KiB", "1 MiB", "24 MiB"])

SPIN = """
extern "C" __global__ void spin(unsigned char *data, long long cycles, unsigned char value) {
    const long long start = clock64();
    while (clock64() - start < cycles) {
    }
    data[0] = value;
}
"""


@pytest.fixture(scope="module")
def spin() -> Any:
    return ep.Program(SPIN, DEVICE).kernel("spin")


def hold(
    spin: Any, array: ep.Array, queue: ep.Queue, value: int = 1, cycles: int = 400_000_000
) -> None:
    """Some 0.2 seconds of work of the queue on the array, which is written at its end."""
    spin[1, 1](array, ep.Scalar(cycles, "int64"), ep.Scalar(value, "uint8"), queue=queue)


class Watched:
    """A pool and its addresses. Asking an array for its address would mark it as escaped."""

    def __init__(self) -> None:
        self.pool = memory.pool()
        self._lines: list[str] = []
        self.resource = memory.log(self.pool, sink=self._lines.append)

    def empty(self, nbytes: int, queue: ep.Queue) -> tuple[ep.Array, int]:
        array = ep.empty(nbytes, "uint8", queue=queue)
        return array, int(self._lines[-1].rpartition("at ")[2], 16)


@pytest.fixture
def watched() -> Iterator[Watched]:
    made = Watched()
    with memory.use_resource(made.resource):
        yield made


@SIZES
class TestReuse:
    def test_same_queue_reuses_a_block_at_once(
        self, spin: Any, watched: Watched, nbytes: int
    ) -> None:
        queue = ep.Queue(DEVICE)
        array, address = watched.empty(nbytes, queue)
        hold(spin, array, queue)
        del array
        again, second = watched.empty(nbytes, queue)
        assert second == address
        assert not queue.is_idle, "there was no wait for it"
        ep.fill(again, 9).wait()
        assert memoryview(again.copy_to_host())[0] == 9, "the later work came later"

    def test_other_queue_reuses_a_block_after_its_work(
        self, spin: Any, watched: Watched, nbytes: int
    ) -> None:
        busy, other = ep.Queue(DEVICE), ep.Queue(DEVICE)
        array, address = watched.empty(nbytes, busy)
        hold(spin, array, busy)
        del array
        meanwhile = [watched.empty(nbytes, other) for _ in range(8)]
        assert not busy.is_idle
        assert all(abs(each - address) >= nbytes for _, each in meanwhile)
        busy.wait()
        found = []
        for _ in range(300):
            found.append(watched.empty(nbytes, other))
            if found[-1][1] == address:
                break
        assert found[-1][1] == address, "the end of the busy queue's work set it free"

    def test_block_of_two_queues_waits_for_both(
        self, spin: Any, watched: Watched, nbytes: int
    ) -> None:
        one, two = ep.Queue(DEVICE), ep.Queue(DEVICE)
        array, address = watched.empty(nbytes, one)
        reading = array.broadcast_to(array.shape)
        hold(spin, reading, one)
        hold(spin, reading, two)
        del array, reading
        others = [watched.empty(nbytes, queue) for queue in (one, two) for _ in range(4)]
        assert not (one.is_idle and two.is_idle)
        assert all(abs(each - address) >= nbytes for _, each in others)

    def test_threads_allocate_separate_blocks(self, nbytes: int) -> None:
        failures: list[BaseException] = []

        def work(value: int) -> None:
            try:
                queue = ep.Queue(DEVICE)
                for _ in range(50):
                    array = ep.empty(nbytes, "uint8", queue=queue)
                    ep.fill(array, value)
                    part = array[-16:].copy_to_host()
                    assert bytes(memoryview(part)) == bytes([value] * 16)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(value,)) for value in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not failures


@pytest.fixture
def pool() -> Iterator[memory.pool]:
    made = memory.pool()
    with memory.use_resource(made):
        yield made


@pytest.mark.alone
class TestFreeing:
    def test_dropping_memory_does_not_wait(self, spin: Any, pool: memory.pool) -> None:
        queue = ep.Queue(DEVICE)
        arrays = [ep.empty(MIB * size, "uint8", queue=queue) for size in (1, 3, 40)]
        for array in arrays:
            hold(spin, array, queue)
        start = time.perf_counter()
        del arrays, array
        gc.collect()
        assert time.perf_counter() - start < 0.1
        assert not queue.is_idle

    @pytest.mark.torch
    def test_trimmed_memory_is_the_devices_again(self, pool: memory.pool) -> None:
        import torch

        free = torch.cuda.mem_get_info
        queue = ep.Queue(DEVICE)
        memory.trim()
        before = free()[0]
        arrays = [ep.full(size * MIB, 1, "uint8", queue=queue) for size in (64, 700, 3000)]
        assert free()[0] <= before - 3700 * MIB
        del arrays
        queue.wait()
        assert free()[0] <= before - 3700 * MIB, "it is cached"
        assert pool.trim() >= 3700 * MIB
        assert pool.reserved_bytes == 0
        assert free()[0] >= before - 64 * MIB


class TestDeviceLimit:
    def test_limit_counts_all_allocations(self) -> None:
        limit = memory.limit(GIB)
        memory.set_resource(DEVICE, limit)
        try:
            kept = ep.empty(600 * MIB, "uint8", device=DEVICE)
            with pytest.raises(
                ep.USMAllocationError,
                match=rf"{600 * MIB} bytes would exceed the limit of {GIB} bytes, of which "
                rf"{600 * MIB} are in use",
            ):
                ep.empty(600 * MIB, "uint8", device=DEVICE)
            del kept
            ep.empty(600 * MIB, "uint8", device=DEVICE)
        finally:
            memory.set_resource(DEVICE, None)
            memory.trim()


def total() -> int:
    import torch

    return int(torch.cuda.mem_get_info()[1])


@pytest.mark.alone  # each takes most of the device's memory
@pytest.mark.torch
class TestBesideOtherPools:
    def test_cached_memory_is_freed_for_another_size(self) -> None:
        memory.trim()
        first = ep.empty(total() * 6 // 10, "uint8", device=DEVICE)
        del first
        second = ep.empty(total() * 7 // 10, "uint8", device=DEVICE)
        del second
        memory.trim()

    def test_trimmed_memory_is_available_to_torch(self) -> None:
        import torch

        ours = ep.empty(total() * 6 // 10, "uint8", device=DEVICE)
        del ours
        memory.trim()
        theirs = torch.empty(total() * 6 // 10, dtype=torch.uint8, device="cuda")
        del theirs
        torch.cuda.empty_cache()

    def test_out_of_memory_error_has_both_sizes(self) -> None:
        import torch

        theirs = torch.empty(total() * 6 // 10, dtype=torch.uint8, device="cuda")
        wanted = total() * 6 // 10
        cached = ep.empty(GIB, "uint8", device=DEVICE)
        del cached
        with pytest.raises(
            ep.USMAllocationError,
            match=rf"^\d+ bytes of device memory .* of its {total()} bytes are free.*\({wanted} "
            r"bytes of device memory",
        ):
            ep.empty(wanted, "uint8", device=DEVICE)
        pool = memory.get_resource(DEVICE)
        assert isinstance(pool, memory.pool)
        assert pool.reserved_bytes < GIB, "what was cached was tried"
        del theirs
        torch.cuda.empty_cache()
        again = ep.empty(wanted, "uint8", device=DEVICE)
        del again
        memory.trim()

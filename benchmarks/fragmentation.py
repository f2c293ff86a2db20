"""Fragmentation on replayed traces of allocations: `python -m benchmarks.fragmentation [host]
[cuda]`.

A trace is replayed through each allocator. The overhead is the peak of memory taken from the
driver, divided by the peak of requested memory in use; 1.00 is the minimum. On a GPU, the driver's
own pool, CuPy's and PyTorch's are measured as well.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import entrepot as ep
from entrepot import memory

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Step:
    """Allocates ``nbytes`` under a new number, or frees the block of the number if they are 0."""

    number: int
    nbytes: int


class Tape:
    """Records what a program would allocate and free."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._next = 0

    def allocate(self, nbytes: float) -> int:
        self._next += 1
        self.steps.append(Step(self._next, max(1, int(nbytes))))
        return self._next

    def free(self, *numbers: int) -> None:
        self.steps += [Step(number, 0) for number in numbers]


def training(steps: int = 24, layers: int = 16, width: int = 1024, batch: int = 4) -> list[Step]:
    """A transformer in training.

    Weights and optimizer state stay allocated, and activations of a layer live until its backward
    pass. Sequences have another length in each step, and an evaluation follows every few steps.
    """
    chance, tape = random.Random(1), Tape()
    item = 2
    shapes = [
        width * width * k * item for k in (3, 1, 4, 4)
    ]  # attention in, attention out, and the two of the perceptron
    for _ in range(layers):
        for nbytes in shapes:
            tape.allocate(nbytes)
    moments: list[int] = []
    for step in range(steps):
        length = chance.choice([128, 192, 256, 320, 384, 512, 640, 768, 1024])
        token = batch * length * width * item
        scores = batch * 16 * length * length * item
        is_evaluation = step % 6 == 5
        kept: list[list[int]] = []
        for _ in range(layers):
            layer = [tape.allocate(token), tape.allocate(3 * token)]
            probabilities = tape.allocate(scores)
            scratch = tape.allocate(scores)
            layer.append(tape.allocate(token))
            tape.free(scratch)
            layer += [
                probabilities,
                tape.allocate(4 * token),
                tape.allocate(4 * token),
                tape.allocate(batch * length * 4),
            ]
            if is_evaluation:
                tape.free(*layer)
            else:
                kept.append(layer)
        logits = tape.allocate(batch * length * 32_000 * item)
        if is_evaluation:
            tape.free(logits)
            continue
        gradient = tape.allocate(batch * length * 32_000 * item)
        tape.free(logits)
        flowing = tape.allocate(token)
        tape.free(gradient)
        gradients: list[int] = []
        for layer in reversed(kept):
            inner = tape.allocate(4 * token)
            gradients += [tape.allocate(nbytes) for nbytes in shapes]
            wider = tape.allocate(3 * token)
            following = tape.allocate(token)
            tape.free(inner, wider, flowing, *layer)
            flowing = following
        tape.free(flowing)
        if not moments:
            moments = [tape.allocate(2 * nbytes) for _ in range(2 * layers) for nbytes in shapes]
        tape.free(*gradients)
    return tape.steps


def mixed(count: int = 12_000, live: int = 300, largest: int = 32 * MIB) -> list[Step]:
    """Blocks of all sizes from 64 bytes up, each doubling as likely as the next, freed in no
    order.
    """
    chance, tape = random.Random(2), Tape()
    held: list[int] = []
    for _ in range(count):
        held.append(tape.allocate(2 ** chance.uniform(6, largest.bit_length() - 1)))
        if len(held) > live or chance.random() < 0.4:
            tape.free(held.pop(chance.randrange(len(held))))
    return tape.steps


def growing(rounds: int = 200) -> list[Step]:
    """A growing array: each round allocates a larger block, then frees the previous one."""
    tape = Tape()
    cache = tape.allocate(4 * MIB)
    for step in range(1, rounds):
        longer = tape.allocate(4 * MIB + step * 192 * KIB)
        tape.free(cache)
        cache = longer
    return tape.steps


TRACES: dict[str, Callable[[], list[Step]]] = {
    "training": training,
    "mixed": mixed,
    "growing": growing,
}


def peak_used(steps: list[Step]) -> int:
    used = peak = 0
    sizes: dict[int, int] = {}
    for step in steps:
        if step.nbytes:
            sizes[step.number] = step.nbytes
            used += step.nbytes
            peak = max(peak, used)
        else:
            used -= sizes.pop(step.number)
    return peak


@dataclass
class Allocator:
    """``allocate(nbytes)`` gives what frees the block when it is dropped; ``reserved()`` is what it
    has of the driver's now.
    """

    name: str
    allocate: Callable[[int], Any]
    reserved: Callable[[], int]


@dataclass
class Replay:
    """Bytes that were reserved at most, and nanoseconds a step."""

    peak: int
    ns: float


def replay(steps: list[Step], allocator: Allocator) -> Replay:
    before = allocator.reserved()
    peak = 0
    held: dict[int, Any] = {}
    seconds = 0.0
    for step in steps:
        start = time.perf_counter()
        if step.nbytes:
            held[step.number] = allocator.allocate(step.nbytes)
        else:
            del held[step.number]
        seconds += time.perf_counter() - start
        if step.nbytes:
            peak = max(peak, allocator.reserved() - before)
    return Replay(peak, seconds / len(steps) * 1e9)


def ours(device: str) -> Allocator:
    pool = memory.pool()
    queue = ep.Queue(device)

    def allocate(nbytes: int) -> ep.Array:
        with memory.use_resource(pool):
            return ep.empty(nbytes, "uint8", queue=queue)

    return Allocator("entrepot", allocate, lambda: pool.reserved_bytes)


def cuda_peers() -> Iterator[Allocator]:
    import cupy
    import torch

    block = cupy.cuda.MemoryPool()
    yield Allocator("cupy MemoryPool", block.malloc, block.total_bytes)
    device, stream = cupy.cuda.Device(), cupy.cuda.get_current_stream().ptr
    runtime = cupy.cuda.runtime
    drivers = runtime.deviceGetDefaultMemPool(device.id)
    # By default the pool returns free memory at every synchronization. A program that allocates
    # often changes that.
    runtime.memPoolSetAttribute(drivers, runtime.cudaMemPoolAttrReleaseThreshold, 2**63 - 1)

    class Block:
        """Freed in the order of the stream when it is dropped."""

        def __init__(self, nbytes: int) -> None:
            self.address = runtime.mallocAsync(nbytes, stream)

        def __del__(self) -> None:
            runtime.freeAsync(self.address, stream)

    device.synchronize()  # completes the frees of the stream
    runtime.memPoolTrimTo(drivers, 0)
    yield Allocator(
        "the driver's pool",
        Block,
        lambda: runtime.memPoolGetAttribute(drivers, runtime.cudaMemPoolAttrReservedMemCurrent),
    )
    device.synchronize()
    runtime.memPoolTrimTo(drivers, 0)
    torch.cuda.empty_cache()
    yield Allocator(
        "torch",
        lambda nbytes: torch.empty(nbytes, dtype=torch.uint8, device="cuda"),
        lambda: int(torch.cuda.memory_reserved()),
    )


def allocators(place: str) -> Iterator[Allocator]:
    yield ours("host" if place == "host" else "cuda:0")
    if place == "cuda":
        yield from cuda_peers()


def main(places: list[str]) -> int:
    print(
        f"{'trace':10} {'allocator':22} {'peak used':>12} {'peak reserved':>14} {'over used':>10} "
        f"{'a step':>10}"
    )
    for name, made in TRACES.items():
        steps = made()
        used = peak_used(steps)
        for place in places:
            for allocator in allocators(place):
                found = replay(steps, allocator)
                print(
                    f"{name:10} {place + ', ' + allocator.name:22} {used / MIB:>8,.0f} MiB "
                    f"{found.peak / MIB:>10,.0f} MiB "
                    f"{found.peak / used:>10.3f} {found.ns:>7,.0f} ns"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["host"]))

"""Arrays pass through random chains of libraries on random streams in several threads, and their
memory is reused at once.

Each chain keeps one number in all elements of an array. In a step, the library that has the array
changes it, or an Entrepot operation works on it, or another library takes the memory. The latter
drops all earlier references to it.
``ENTREPOT_SOAK_SECONDS=60`` sets the duration.
"""

from __future__ import annotations

import os
import random
import threading
import time
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop.stream_order import SIZE, CupyCuda, Library, NumbaCuda, TorchCuda, operations

PEERS = [pytest.mark.numpy, pytest.mark.torch, pytest.mark.cupy, pytest.mark.numba_cuda]
pytestmark = [
    pytest.mark.host,
    pytest.mark.cuda,
    *PEERS,
    pytest.mark.alone,
    pytest.mark.usefixtures("sources_of_copies"),
]

SECONDS = float(os.environ.get("ENTREPOT_SOAK_SECONDS", "3"))
THREADS = 8
ADDING = operations("kernel", "program", "vectorize")
SETTING = operations("copy", "fill")
(REDUCE,) = operations("reduce")


def name_of(stream: Any) -> str:
    return "the default stream" if stream is None else "a side stream"


class Chain:
    """One thread's chains, whose random choices a seed repeats."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.libraries: list[Library] = [TorchCuda(), CupyCuda(), NumbaCuda()]
        self.streams = {id(each): [None, each.stream(), each.stream()] for each in self.libraries}
        self.queues = [None, None, ep.Queue("cuda:0"), ep.Queue("cuda:0")]

    def run(self) -> str | None:
        """Returns a description of the first wrong value, or None."""
        library = self.random.choice(self.libraries)
        stream = self.random.choice(self.streams[id(library)])
        steps = [f"{library.name} on {name_of(stream)}"]
        with library.on(stream):
            x, value = self.begin(library, steps), 0.0
        for _ in range(self.random.randrange(3, 9)):
            step = self.random.choice(["library", "library", "ours", "ours", "reduce", "hand over"])
            if step == "hand over":
                library, stream, x, word = self.hand_over(library, stream, x)
                steps.append(word)
                continue
            with library.on(stream):
                if step == "library":
                    if self.random.random() < 0.3:
                        library.spin(x)
                    library.add(x, 1)
                    value += 1
                elif step == "reduce":
                    found = REDUCE.run(x, self.random.choice(self.queues), "cuda:0")
                    if found != value * SIZE:
                        return f"{steps}: reduce gave {found}, not {value * SIZE}"
                else:
                    value = self.operate(x, value, steps)
        with library.on(stream):
            found = np.unique(library.values(x)).tolist()
        return None if found == [value] else f"{steps}: {found}, not {value}"

    def begin(self, library: Any, steps: list[str]) -> Any:
        """Zeros in the library's memory, or from Entrepot's pool, which has often just reused
        it."""
        if self.random.random() < 0.7:
            return library.zeros()
        steps.append("our memory")
        return library.exported(ep.zeros(SIZE, "float32", device="cuda:0"), self.protocol(library))

    def protocol(self, *libraries: Any) -> str:
        """A protocol that all of them speak."""
        both = all(each.crosses("exported", "dlpack") for each in libraries)
        return self.random.choice(["dlpack", "cai"]) if both else "cai"

    def operate(self, x: Any, value: float, steps: list[str]) -> float:
        op = self.random.choice(ADDING + SETTING)
        given: Any = x
        if self.random.random() < 0.5:
            given = ep.asarray(x)
        op.run(given, self.random.choice(self.queues), "cuda:0")
        steps.append(op.name)
        return op.after if op in SETTING else value + 1

    def hand_over(self, library: Any, stream: Any, x: Any) -> tuple[Any, Any, Any, str]:
        other = self.random.choice(self.libraries)
        its_stream = self.random.choice(self.streams[id(other)])
        protocol = self.protocol(library, other)
        with library.on(stream):
            array = ep.asarray(library.given(x, self.protocol(library)))
            with other.on(its_stream):
                taken = other.exported(array, protocol)
        word = f"to {other.name} on {name_of(its_stream)} by {protocol}"
        return other, its_stream, taken, word


def test_chains_of_libraries_keep_values() -> None:
    wrong: list[str] = []
    chains = [0] * THREADS
    until = time.monotonic() + SECONDS

    def work(number: int) -> None:
        chain = Chain(number)
        while time.monotonic() < until and not wrong:
            problem = chain.run()
            chains[number] += 1
            if problem:
                wrong.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{sum(chains)} chains in {SECONDS:.0f} s by {THREADS} threads")
    assert not wrong, wrong[0]
    assert all(chains), f"a thread ended without a chain: {chains}"

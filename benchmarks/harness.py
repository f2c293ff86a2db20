"""Pairs of statements timed by turns, so that a machine whose speed drifts slows both; medians, and the ratio between them.

Each side's least time stands beside its median: where the two are far apart, the machine had other work.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROUNDS = 9
SECONDS_A_ROUND = 0.04
#: What a process does before its first pair, off the record: processors and devices that were idle are slow at first.
WARM_UP_SECONDS = 2
#: As benchmarks/cpp has them: rounds of a few calls, with what the calls leave behind waited for in between.
SHORT_ROUNDS, CALLS = 400, 10
WARM_UP_ROUNDS = 40


@dataclass
class Pair:
    """What we do, what a peer does for the same, and how many times faster we must be.

    ``ours`` and ``peer`` are Python statements over ``names``; ``setup`` runs once before either.
    """

    what: str
    ours: str
    peer: str
    at_least: float
    names: dict[str, Any] = field(default_factory=dict)
    peer_name: str = ""
    rounds: int = ROUNDS
    #: Seconds before each turn: threads of the side before may spin for more work, as OpenMP's do, and hold a processor.
    rest: float = 0


@dataclass
class Result:
    pair: Pair
    ours_ns: float
    peer_ns: float
    #: The ratio that a quarter of the rounds exceeded; 0 where nobody counted them.
    upper_ratio: float = 0.0
    #: The least times of both sides; 0 where nobody kept them.
    least_ns: tuple[float, float] = (0, 0)

    @property
    def ratio(self) -> float:
        return self.peer_ns / self.ours_ns

    @property
    def tied(self) -> bool:
        """Whether the ratio asked for lies within what the rounds differ by: another run may say the opposite."""
        return self.ratio < self.pair.at_least <= self.upper_ratio

    @property
    def reached(self) -> bool:
        return self.ratio >= self.pair.at_least or self.tied


def _repetitions(timer: timeit.Timer) -> int:
    """Calls that fill a round, found in less time than a round takes."""
    timer.timeit(1)  # compiles, or loads, what later calls find
    number = 1
    while (seconds := timer.timeit(number)) < SECONDS_A_ROUND / 4:
        number *= 4
    return max(1, round(number * SECONDS_A_ROUND / seconds))


_is_warm = False


def _warm_up(timers: Sequence[timeit.Timer]) -> None:
    """Once a process."""
    global _is_warm
    if _is_warm:
        return
    _is_warm = True
    end = time.perf_counter() + WARM_UP_SECONDS
    while time.perf_counter() < end:
        for timer in timers:
            timer.timeit(1)


def measure(pair: Pair) -> Result:
    """Medians over rounds in which each side is timed once."""
    return measure_together([pair])[0]


def measure_together(pairs: Sequence[Pair]) -> list[Result]:
    """As ``measure``, of pairs that differ in their peer alone: what is ours is timed once a round for all of them."""
    first = pairs[0]
    assert all(pair.ours == first.ours and pair.names is first.names for pair in pairs)
    timers = [timeit.Timer(statement, globals=first.names) for statement in (first.ours, *(pair.peer for pair in pairs))]
    _warm_up(timers)
    numbers = [_repetitions(timer) for timer in timers]
    times: list[list[float]] = [[] for _ in timers]
    for _ in range(1 + first.rounds):
        for side, timer in enumerate(timers):
            if first.rest:
                time.sleep(first.rest)
                timer.timeit(1)  # what slept is awake again
            times[side].append(timer.timeit(numbers[side]) / numbers[side] * 1e9)
    ours, *peers = (each[1:] for each in times)  # the first round warms up
    return [
        Result(
            pair,
            statistics.median(ours),
            statistics.median(theirs),
            statistics.quantiles([b / a for a, b in zip(ours, theirs, strict=True)])[2],
            (min(ours), min(theirs)),
        )
        for pair, theirs in zip(pairs, peers, strict=True)
    ]


#: One side of short rounds: gives the nanoseconds of each of so many calls, and may do something first, off the clock.
Side = tuple[Callable[[int], float], Callable[[], object]]


def calls_of(statement: str, names: dict[str, Any]) -> Callable[[int], float]:
    """Times a statement that submits work."""
    timer = timeit.Timer(statement, globals=names)
    return lambda calls: timer.timeit(calls) / calls * 1e9


def short_rounds_ns(sides: dict[str, Side], after: Callable[[], object]) -> dict[str, float]:
    """Medians of sides by turns, a few calls each; ``after`` follows each, off the clock, as the first rounds are."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(WARM_UP_ROUNDS + SHORT_ROUNDS):
        for name, (timed, before) in sides.items():
            before()
            times[name].append(timed(CALLS))
            after()
    return {name: statistics.median(each[WARM_UP_ROUNDS:]) for name, each in times.items()}


def _process_seconds(statement: str, environment: dict[str, str]) -> float:
    """Timed inside of the process: what the interpreter takes by itself varies by more than an import takes."""
    program = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)


def processes_ns(pair: Pair, runs: int) -> Result:
    """Medians of fresh processes by turns, whose modules are compiled as pip leaves them.

    Here they may be a checkout's, or PYTHONDONTWRITEBYTECODE be set, and Python's compiler would be timed: the first process
    of each side compiles, off the clock.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        sides = (pair.ours, pair.peer)
        times = [[_process_seconds(side, environment) for side in sides] for _ in range(1 + runs)][1:]
    ours, peer = (statistics.median(side) * 1e9 for side in zip(*times, strict=True))
    return Result(pair, ours, peer)


def built() -> Path:
    """Where what benchmarks/cpp has is built."""
    return Path(os.environ.get("ENTREPOT_CPP_BENCHMARKS", "build/wheel/benchmarks/cpp"))


def runtime_ns(program: str, *arguments: str | Path) -> dict[str, float]:
    """What a program of benchmarks/cpp prints of the runtime, by row; empty where it has not been built."""
    path = built() / program
    if not path.exists():
        return {}
    printed = subprocess.run([path, *arguments], capture_output=True, text=True, check=True).stdout
    return {row: float(ns) for row, ns in re.findall(r"^(.*?) +ours.*?runtime +(\d+)", printed, re.MULTILINE)}


#: Each topic is a function that yields its pairs; a missing peer yields none.
Topic = Callable[[], "list[Pair]"]


def print_table(results: list[Result]) -> None:
    print(f"{'what':58} {'ours':>12} {'peer':>12} {'ratio':>8} {'at least':>9} {'least ns: ours, peer':>20}")
    for result in results:
        least = "".join(f" {ns:>9,.0f}" if ns else " " * 10 for ns in result.least_ns)
        verdict = "  tied" if result.tied else "" if result.reached else "  MISSED"
        print(
            f"{result.pair.what:58} {result.ours_ns:>9,.0f} ns {result.peer_ns:>9,.0f} ns {result.ratio:>7.2f}× "
            f"{result.pair.at_least:>8.2f}×{least}{verdict}"
        )

"""Times pairs of statements alternately, so that a change of the machine's speed affects both.

The table has medians and their ratio. Each side's least time is printed as well: if it is far from
the median, the machine had other work.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

ROUNDS = 9
SECONDS_A_ROUND = 0.04
#: Untimed work before the first pair of a process: processors and devices that were idle are slow
#: at first.
WARM_UP_SECONDS = 2
#: Rounds of a few calls, with a wait for their pending work after each round, as in benchmarks/cpp.
SHORT_ROUNDS, CALLS = 400, 10
WARM_UP_ROUNDS = 40


#: Packages whose versions are written with results.
PEERS = (
    "numpy", "dpctl", "dpnp", "intel-sycl-rt", "intel-opencl-rt", "torch", "jax", "cupy-cuda13x",
    "cuda-core", "numba", "hip-python", "distributed", "ray",
)  # fmt: skip


@dataclass
class Pair:
    """A statement of Entrepot, one of another library, and the required ratio of their times.

    ``ours`` and ``peer`` are Python statements over ``names``; ``setup`` runs once before either.
    """

    what: str
    ours: str
    peer: str
    at_least: float
    names: dict[str, Any] = field(default_factory=dict)
    peer_name: str = ""
    rounds: int = ROUNDS
    #: Seconds to sleep before each side: threads of the other one may still spin, as OpenMP's do,
    #: and occupy processors.
    rest: float = 0


@dataclass
class Result:
    pair: Pair
    ours_ns: float
    peer_ns: float
    #: Upper quartile of the rounds' ratios; 0 if unknown.
    upper_ratio: float = 0.0
    #: Times of both sides in each round; empty if unknown.
    rounds_ns: tuple[Sequence[float], Sequence[float]] = ((), ())

    @property
    def ratio(self) -> float:
        return self.peer_ns / self.ours_ns

    @property
    def tied(self) -> bool:
        """True if the required ratio lies within the variation of the rounds."""
        return self.ratio < self.pair.at_least <= self.upper_ratio

    @property
    def reached(self) -> bool:
        return self.ratio >= self.pair.at_least or self.tied


def _repetitions(timer: timeit.Timer) -> int:
    """Number of calls that fill a round."""
    timer.timeit(1)  # compiles or loads code that later calls reuse
    number = 1
    while (seconds := timer.timeit(number)) < SECONDS_A_ROUND / 4:
        number *= 4
    return max(1, round(number * SECONDS_A_ROUND / seconds))


_is_warm = False


def _warm_up(timers: Sequence[timeit.Timer]) -> None:
    """Runs the statements untimed, once in each process."""
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
    """``measure`` for pairs with a common statement, which is timed once in each round."""
    first = pairs[0]
    assert all(pair.ours == first.ours and pair.names is first.names for pair in pairs)
    timers = [
        timeit.Timer(statement, globals=first.names)
        for statement in (first.ours, *(pair.peer for pair in pairs))
    ]
    _warm_up(timers)
    numbers = [_repetitions(timer) for timer in timers]
    times: list[list[float]] = [[] for _ in timers]
    for _ in range(1 + first.rounds):
        for side, timer in enumerate(timers):
            if first.rest:
                time.sleep(first.rest)
                timer.timeit(1)  # wakes sleeping threads
            times[side].append(timer.timeit(numbers[side]) / numbers[side] * 1e9)
    ours, *peers = (each[1:] for each in times)  # the first round warms up
    return [
        Result(
            pair,
            statistics.median(ours),
            statistics.median(theirs),
            statistics.quantiles([b / a for a, b in zip(ours, theirs, strict=True)])[2],
            (ours, theirs),
        )
        for pair, theirs in zip(pairs, peers, strict=True)
    ]


#: One side of short rounds: a function from a number of calls to nanoseconds per call, and an
#: untimed preparation.
Side = tuple[Callable[[int], float], Callable[[], object]]


def calls_of(statement: str, names: dict[str, Any]) -> Callable[[int], float]:
    """Times a statement that submits work."""
    timer = timeit.Timer(statement, globals=names)
    return lambda calls: timer.timeit(calls) / calls * 1e9


def short_rounds_ns(sides: dict[str, Side], after: Callable[[], object]) -> dict[str, float]:
    """Medians of alternating sides, a few calls each. ``after`` runs after each, untimed."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(WARM_UP_ROUNDS + SHORT_ROUNDS):
        for name, (timed, before) in sides.items():
            before()
            times[name].append(timed(CALLS))
            after()
    return {name: statistics.median(each[WARM_UP_ROUNDS:]) for name, each in times.items()}


def _process_seconds(statement: str, environment: dict[str, str]) -> float:
    """Times the statement inside the process, because the interpreter's startup time varies."""
    program = (
        f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def processes_ns(pair: Pair, runs: int) -> Result:
    """Medians of fresh, alternating processes, with modules compiled as pip leaves them.

    The modules may be those of a checkout, or PYTHONDONTWRITEBYTECODE may be set. So the first
    process of each side compiles them, untimed.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        sides = (pair.ours, pair.peer)
        times = [[_process_seconds(side, environment) for side in sides] for _ in range(1 + runs)][
            1:
        ]
    ours, peer = (statistics.median(side) * 1e9 for side in zip(*times, strict=True))
    return Result(pair, ours, peer)


def built() -> Path:
    """The build folder of benchmarks/cpp."""
    return Path(os.environ.get("ENTREPOT_CPP_BENCHMARKS", "build/wheel/benchmarks/cpp"))


def built_module(name: str) -> ModuleType | None:
    """A module of benchmarks/cpp; None if it has not been built."""
    sys.path.insert(0, str(built()))
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def runtime_ns(program: str, *arguments: str | Path) -> dict[str, float]:
    """The runtime's times that a program of benchmarks/cpp prints, by row; empty if not built."""
    path = built() / program
    if not path.exists():
        return {}
    environment = os.environ | {
        "ENTREPOT_PLUGIN_PATH": str(built().resolve().parents[1] / "plugins")
    }
    printed = subprocess.run(
        [path, *arguments], capture_output=True, text=True, check=True, env=environment
    ).stdout
    return {
        row: float(ns)
        for row, ns in re.findall(r"^(.*?) +ours.*?runtime +(\d+)", printed, re.MULTILINE)
    }


def print_table(results: Sequence[Result]) -> None:
    print(
        f"{'what':58} {'ours':>12} {'peer':>12} {'ratio':>8} {'at least':>9} "
        f"{'least ns: ours, peer':>20}"
    )
    for result in results:
        least = "".join(
            f" {min(rounds):>9,.0f}" if rounds else " " * 10 for rounds in result.rounds_ns
        )
        verdict = "  tied" if result.tied else "" if result.reached else "  MISSED"
        print(
            f"{result.pair.what:58} {result.ours_ns:>9,.0f} ns {result.peer_ns:>9,.0f} ns "
            f"{result.ratio:>7.2f}× "
            f"{result.pair.at_least:>8.2f}×{least}{verdict}"
        )


def arguments(
    doc: str | None, topics: Collection[str], command_line: list[str], module: str = "benchmarks"
) -> argparse.Namespace:
    """The topics that are asked for, and where to write their results."""
    assert doc
    parser = argparse.ArgumentParser(f"python -m {module}", description=doc.partition("\n")[0])
    parser.add_argument(
        "topics", nargs="*", metavar="TOPIC", help=f"any of {', '.join(topics)}; all by default"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results here")
    asked = parser.parse_intermixed_args(command_line)
    if unknown := set(asked.topics) - {*topics}:
        parser.error(
            f"there is no topic {', '.join(sorted(unknown))}; there are {', '.join(topics)}"
        )
    if asked.json and importlib.util.find_spec("pyperf") is None:
        parser.error("--json needs pyperf: pip install --group bench")
    if asked.json and not asked.json.parent.is_dir():
        parser.error(f"--json: there is no folder {asked.json.parent}")
    return asked


def write_json(path: Path, module: str, results: Mapping[str, Sequence[Result]]) -> None:
    """Writes the rows in the format of pyperf, for tools/performance.py and `pyperf compare_to`.

    Each row is two benchmarks whose names have the table and the row. The peer's name ends in
    " (peer)".
    """
    import pyperf

    import entrepot

    packages = {
        name: importlib.metadata.version(name)
        for name in PEERS
        if any(importlib.metadata.distributions(name=name))
    }
    described = {
        "command": f"python -m {module}",
        "entrepot": entrepot.__version__,
        "python_version": platform.python_version(),
        "packages": ", ".join(f"{name} {version}" for name, version in packages.items()),
        "cores": len(os.sched_getaffinity(0)),
        "devices": "; ".join(dict.fromkeys(device.name for device in entrepot.devices())),
    }
    benchmarks = [
        pyperf.Benchmark(
            [
                pyperf.Run(
                    [ns * 1e-9 for ns in rounds or (median,)],
                    metadata=described
                    | {"name": f"{table}: {row.pair.what}{side}", "table": table},
                    collect_metadata=False,  # it has the name of the host
                )
            ]
        )
        for table, rows in results.items()
        for row in rows
        if row.ours_ns > 0 and row.peer_ns > 0  # a difference of times may not be
        for side, median, rounds in (
            ("", row.ours_ns, row.rounds_ns[0]),
            (" (peer)", row.peer_ns, row.rounds_ns[1]),
        )
    ]
    if not benchmarks:
        raise SystemExit("no row was measured, so --json writes nothing")
    pyperf.BenchmarkSuite(benchmarks).dump(str(path), replace=True)

"""Runs the named topics, or all of them; exit status 1 if a required ratio was missed.

    python -m benchmarks [--json FILE] [TOPIC]...

Requires dpctl and dpnp, which most topics compare with.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence

from . import (
    access,
    adapters,
    algorithms,
    bindings,
    copies,
    examples,
    exchange,
    graphs,
    idioms,
    kernels,
    launches,
    memory,
    runtime,
    startup,
    transports,
)
from .harness import Pair, Result, arguments, measure, print_table, write_json

Measured = Callable[[], Sequence[Result]]


def alternated(pairs: Callable[[], Sequence[Pair]]) -> Measured:
    return lambda: [measure(pair) for pair in pairs()]


#: The tables of each topic: a heading, and the function that measures the rows.
TOPICS: dict[str, dict[str, Measured]] = {
    "memory": {"memory": alternated(memory.pairs)},
    "exchange": {"exchange": alternated(exchange.pairs)},
    "launches": {
        "launches": alternated(launches.pairs),
        "launches, against the runtime called from C++": runtime.results,
    },
    "graphs": {
        "graphs": alternated(graphs.pairs),
        "graphs, of the runtime called from C++": alternated(graphs.runtime_pairs),
    },
    "copies": {"copies": alternated(copies.pairs)},
    "access": {"access": alternated(access.pairs)},
    "adapters": {"adapters": alternated(adapters.pairs)},
    "bindings": {
        "bindings": alternated(bindings.pairs),
        "bindings, imports": bindings.results,
    },
    "kernels": {
        "kernels": alternated(kernels.pairs),
        "kernels, launches and first calls": kernels.results,
    },
    "examples": {"examples": alternated(examples.pairs)},
    "idioms": {
        "idioms": alternated(idioms.pairs),
        "idioms, against Numba": alternated(idioms.numba_pairs),
        "idioms, against C with OpenMP": alternated(idioms.openmp_pairs),
    },
    "algorithms": {
        "algorithms": alternated(algorithms.pairs),
        "algorithms, against Numba": alternated(algorithms.numba_pairs),
    },
    "startup": {"startup, whole processes": startup.results},
    "transports": {"transports, 64 MiB between two processes": transports.results},
}

BUILT_ONLY = ": built by `make bench` only"
#: Rows that are omitted if another library is not installed: topic, rows, the library's module.
OF_PEERS = [
    ("exchange", "asarray(torch CPU)", "torch"),
    ("adapters", "all, against HIP Python", "rocm"),
    ("bindings", "all, against HIP Python", "rocm"),
    ("kernels", "against Numba", "numba"),
    ("examples", "all, against Numba", "numba"),
    ("idioms", "against Numba", "numba"),
    ("algorithms", "against Numba", "numba"),
    ("transports", "Dask", "distributed"),
    ("transports", "Ray", "ray"),
]


def left_out(names: list[str]) -> list[str]:
    """A line for each of these rows that the topics will not have here."""
    return [
        f"not measured: {topic}, {rows}: {module} is not installed; `make bench PEERS=all` brings "
        "it"
        for topic, rows, module in OF_PEERS
        if (not names or topic in names) and importlib.util.find_spec(module) is None
    ]


def main(command_line: list[str]) -> int:
    asked = arguments(__doc__, TOPICS, command_line)
    results = {}
    for name in asked.topics or TOPICS:
        for heading, measured in TOPICS[name].items():
            found = measured()
            print(f"\n{heading}" + ("" if found else BUILT_ONLY))
            print_table(found)
            results[heading] = found
    print("", *left_out(asked.topics), sep="\n", end="")
    rows = [row for found in results.values() for row in found]
    missed = [row.pair.what for row in rows if not row.reached]
    print(
        f"\n{len(rows) - len(missed)} of {len(rows)} ratios reached"
        + "".join(f"\n  missed: {what}" for what in missed)
    )
    if asked.json:
        write_json(asked.json, "benchmarks", results)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

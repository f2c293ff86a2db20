"""Runs the named topics, or all of them; exit status 1 if a required ratio was missed.

Requires dpctl and dpnp, which most topics compare with.
"""

from __future__ import annotations

import importlib.util
import sys

from . import (
    access,
    adapters,
    bindings,
    copies,
    examples,
    exchange,
    kernels,
    launches,
    memory,
    runtime,
    startup,
)
from .harness import measure, print_table

TOPICS = {
    "memory": memory.pairs,
    "exchange": exchange.pairs,
    "launches": launches.pairs,
    "copies": copies.pairs,
    "access": access.pairs,
    "adapters": adapters.pairs,
    "bindings": bindings.pairs,
    "kernels": kernels.pairs,
    "examples": examples.pairs,
}

BUILT_ONLY = ": built by `make bench` only"
#: Rows that are omitted if another library is not installed: topic, rows, the library's module.
OF_PEERS = [
    ("exchange", "asarray(torch CPU)", "torch"),
    ("adapters", "all, against HIP Python", "rocm"),
    ("bindings", "all, against HIP Python", "rocm"),
    ("kernels", "against Numba", "numba"),
    ("examples", "all, against Numba", "numba"),
]


def left_out(names: list[str]) -> list[str]:
    """A line for each of these rows that the topics will not have here."""
    return [
        f"not measured: {topic}, {rows}: {module} is not installed; `make bench PEERS=all` brings "
        "it"
        for topic, rows, module in OF_PEERS
        if (not names or topic in names) and importlib.util.find_spec(module) is None
    ]


def main(names: list[str]) -> int:
    unknown = set(names) - {*TOPICS, "startup"}
    if unknown:
        print(
            f"there is no topic {', '.join(sorted(unknown))}; there are "
            f"{', '.join([*TOPICS, 'startup'])}",
            file=sys.stderr,
        )
        return 2
    results = []
    for name, pairs in TOPICS.items():
        if not names or name in names:
            topic = [measure(pair) for pair in pairs()]
            print(f"\n{name}" + (BUILT_ONLY if name == "access" and not topic else ""))
            print_table(topic)
            results += topic
    if not names or "launches" in names:
        topic = runtime.results()
        print("\nlaunches, against the runtime called from C++" + ("" if topic else BUILT_ONLY))
        print_table(topic)
        results += topic
    if not names or "kernels" in names:
        topic = kernels.results()
        print("\nkernels, launches and first calls")
        print_table(topic)
        results += topic
    if not names or "bindings" in names:
        topic = bindings.results()
        print("\nbindings, imports")
        print_table(topic)
        results += topic
    if not names or "startup" in names:
        print("\nstartup, whole processes")
        topic = startup.results()
        print_table(topic)
        results += topic
    print("", *left_out(names), sep="\n", end="")
    missed = [result.pair.what for result in results if not result.reached]
    print(
        f"\n{len(results) - len(missed)} of {len(results)} ratios reached"
        + "".join(f"\n  missed: {what}" for what in missed)
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

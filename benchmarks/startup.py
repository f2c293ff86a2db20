"""Time of importing the package in fresh processes, against importing NumPy and against a limit."""

from __future__ import annotations

from .harness import Pair, Result, processes_ns

RUNS = 9
LIMIT_NS = 50e6


def results() -> list[Result]:
    against_numpy = processes_ns(
        Pair("import entrepot, against import numpy", "import entrepot", "import numpy", 1), RUNS
    )
    limit = Pair("import entrepot, against 50 ms", "import entrepot", "", 1)
    return [against_numpy, Result(limit, against_numpy.ours_ns, LIMIT_NS)]

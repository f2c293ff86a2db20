"""What importing the package costs, in fresh processes, against importing NumPy."""

from __future__ import annotations

from .harness import Pair, Result, processes_ns

RUNS = 9


def results() -> list[Result]:
    return [processes_ns(Pair("import entrepot, against import numpy", "import entrepot", "import numpy", 1), RUNS)]

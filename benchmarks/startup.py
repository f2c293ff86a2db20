"""What importing the package costs, in fresh processes, against importing NumPy."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from .harness import Pair, Result

RUNS = 9


def seconds(statement: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - started


def results() -> list[Result]:
    """Whole processes by turns, less what the interpreter takes by itself."""
    statements = {"nothing": "pass", "ours": "import entrepot", "peer": "import numpy"}
    times = {name: [] for name in statements}
    for _ in range(RUNS):
        for name, statement in statements.items():
            times[name].append(seconds(statement))
    medians = {name: statistics.median(values) * 1e9 for name, values in times.items()}
    pair = Pair("import entrepot, against import numpy", statements["ours"], statements["peer"], 1)
    return [Result(pair, medians["ours"] - medians["nothing"], medians["peer"] - medians["nothing"])]

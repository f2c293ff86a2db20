"""What importing the package costs, in fresh processes, against importing NumPy."""

from __future__ import annotations

import statistics
import subprocess
import sys

from .harness import Pair, Result

RUNS = 9
#: Timed inside the process: what the interpreter takes by itself varies by more than the import takes.
TIMED = "import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"


def seconds(statement: str) -> float:
    printed = subprocess.run([sys.executable, "-c", TIMED.format(statement=statement)], capture_output=True, check=True)
    return float(printed.stdout)


def results() -> list[Result]:
    """Whole processes by turns."""
    pair = Pair("import entrepot, against import numpy", "import entrepot", "import numpy", 1)
    times = [(seconds(pair.ours), seconds(pair.peer)) for _ in range(RUNS)]
    ours, peer = (statistics.median(side) * 1e9 for side in zip(*times, strict=True))
    return [Result(pair, ours, peer)]

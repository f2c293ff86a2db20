"""The tests' programs, run by Numba's own simulator: a script that prints each test that passes.

The module of Entrepot's names is Numba's here, so that the sources are those of the tests.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

import numpy as np

if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # NumPy 2.5 dropped it, and numba-cuda 0.30 looks for it

import numba
from numba import cuda

import entrepot
import entrepot.kernel

MODULES = ("elementwise_programs", "shared_memory_programs", "grid_programs", "loops")


class Runner:
    """The fixture ``runner``, for Numba's arrays."""

    class backend:
        simulates = False

    def launch(self, kernel: Any, blocks: Any, threads: Any, *arguments: Any, shared: int = 0):
        kernel[blocks, threads, 0, shared](*arguments)

    def run(self, kernel: Any, blocks: Any, threads: Any, *arguments: Any, shared: int = 0):
        moved = [
            cuda.to_device(each) if isinstance(each, np.ndarray) else each for each in arguments
        ]
        self.launch(kernel, blocks, threads, *moved, shared=shared)
        return [each.copy_to_host() for each in moved if hasattr(each, "copy_to_host")]


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    entrepot.numba_cuda = cuda
    for name in ("float32", "float64", "int32"):
        setattr(entrepot.kernel, name, getattr(numba, name))
    for module in MODULES:
        for name, test in vars(importlib.import_module(f"cuda_names.test_{module}")).items():
            if name.startswith("test_") and list(inspect.signature(test).parameters) == ["runner"]:
                test(Runner())
                print(name)


if __name__ == "__main__":
    main()

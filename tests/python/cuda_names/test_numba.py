"""The tests' programs are ones of Numba: its simulator runs them with the same results."""

from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path

import pytest

from cuda_names import (
    test_elementwise_programs,
    test_grid_programs,
    test_loops,
    test_shared_memory_programs,
)
from support.processes import output_of

pytestmark = pytest.mark.numpy

MODULES = (test_elementwise_programs, test_shared_memory_programs, test_grid_programs, test_loops)


@pytest.mark.numba
def test_programs_have_the_same_results_by_numba():
    pytest.importorskip("numba.cuda")
    script = Path(__file__).with_name("numba_programs.py")
    folders = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "NUMBA_ENABLE_CUDASIM": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, folders)),
    }
    said = output_of([sys.executable, script], env=environment, timeout=300)
    expected = [
        name
        for module in MODULES
        for name, test in vars(module).items()
        if name.startswith("test_") and list(inspect.signature(test).parameters) == ["runner"]
    ]
    assert said.split() == expected
    assert len(expected) >= 32

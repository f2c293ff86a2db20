"""examples/kernels: each script checks itself against NumPy, on every device that this machine
has.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.processes import output_of

EXAMPLES = sorted(
    path
    for path in (Path(__file__).parents[3] / "examples" / "kernels").glob("*.py")
    if path.name != "example.py"
)

pytestmark = pytest.mark.numpy


@pytest.mark.parametrize(
    "selector",
    [
        pytest.param("host", marks=pytest.mark.host),
        pytest.param("opencl:cpu", marks=pytest.mark.sycl),
        pytest.param("cuda:0", marks=pytest.mark.cuda),
        pytest.param("hip:0", marks=pytest.mark.hip),
    ],
)
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_example_script_agrees_with_numpy(script, selector):
    output = output_of([sys.executable, script, "--device", selector])
    assert "as NumPy has it" in output

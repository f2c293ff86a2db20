"""The exchange without the fast imports (python/bind/exchange/fast_import.hpp)."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

import entrepot
from support.processes import output_of

TESTS = Path(__file__).resolve().parents[1]
#: `make test` names the folder of the module that has none.
FOLDER = os.environ.get("ENTREPOT_WITHOUT_FAST_IMPORT", "")


@pytest.mark.skipif(not FOLDER, reason="only `make test` builds the module without fast imports")
def test_suites_pass_without_fast_imports(tmp_path):
    package = tmp_path / "entrepot"
    shutil.copytree(Path(entrepot.__file__).parent, package)
    for module in Path(FOLDER).glob("_core.*"):
        shutil.copy(module, package)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    program = "import entrepot._core as core; print(core.__file__, core._has_fast_import)"
    used = output_of([sys.executable, "-c", program], env=environment).split()
    assert Path(used[0]).parent == package and used[1] == "False"
    suites = ["contract", "python/exchange", "interop/test_numpy.py", "interop/test_torch.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    output = output_of([*command, *(TESTS / suite for suite in suites)], env=environment)
    assert re.search(r"\d{3,} passed", output)

"""The examples as modules, and what their kernels are in a dialect."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import entrepot as ep
import entrepot.kernel as dppy

FOLDER = Path(__file__).parents[3] / "examples" / "kernels"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py") if path.name != "example.py")


def texts_of(name: str, dialect: str) -> list[str]:
    """Of each kernel that the example launches, as it is for the host's arguments."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(FOLDER))
        shadowed = sys.modules.pop(name, None)
        try:
            module = importlib.import_module(name)
        finally:
            sys.modules.pop(name, None)
            if shadowed is not None:
                sys.modules[name] = shadowed
    module.check(ep.device("host"))
    kernels = [each for each in vars(module).values() if isinstance(each, type(dppy.kernel(lambda x: None)))]
    return [each.source(dialect) for each in kernels if each.specialisations]

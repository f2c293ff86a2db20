"""Compiles extension modules against the headers of the sources."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from types import ModuleType

from .modules import load_module
from .processes import output_of

INCLUDE = Path(__file__).resolve().parents[2] / "include"


def compiled_module(source: Path, folder: Path, *flags: str) -> ModuleType:
    """A new module of the C++ file, built in the folder; ``flags`` are the compiler's."""
    module = folder / f"{source.stem}{sysconfig.get_config_var('EXT_SUFFIX')}"
    output_of(
        [
            os.environ.get("CXX", "c++"),
            "-std=c++20",
            "-Wall",
            "-Wextra",
            "-shared",
            "-fPIC",
            f"-I{INCLUDE}",
            f"-I{sysconfig.get_path('include')}",
            *flags,
            source,
            "-o",
            module,
        ]
    )
    return load_module(module, source.stem)

"""Builds nanobind_arrays.cpp, from the headers and sources of the nanobind that is installed."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import nanobind

from support.processes import completed


def build(folder: Path) -> Path:
    """The extension, in this folder."""
    module = folder / f"nanobind_arrays{sysconfig.get_config_var('EXT_SUFFIX')}"
    root = Path(nanobind.__file__).parent
    headers = [
        root / "include",
        root / "ext" / "robin_map" / "include",
        sysconfig.get_path("include"),
    ]
    sources = [Path(__file__).with_name("nanobind_arrays.cpp"), root / "src" / "nb_combined.cpp"]
    command = [
        os.environ.get("CXX", "c++"),
        "-std=c++20",
        "-O1",
        "-w",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        "-DNDEBUG",
    ]
    built = completed([*command, *(f"-I{path}" for path in headers), *sources, "-o", module])
    assert built.returncode == 0, built.stderr
    return module

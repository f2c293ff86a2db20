"""Builds nanobind_arrays.cpp, from the headers and sources of the nanobind that is installed."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import nanobind

from support.built import build_folder
from support.processes import completed


def built() -> Path:
    """The extension, compiled unless that has been done from the same source with the same nanobind
    and command."""
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
    command += [f"-I{path}" for path in headers] + [str(path) for path in sources]
    made_of = "\n".join([nanobind.__version__, *command, sources[0].read_text()])
    with build_folder("nanobind_arrays") as folder:
        module = folder / f"nanobind_arrays{sysconfig.get_config_var('EXT_SUFFIX')}"
        note = folder / "made_of"
        if not module.exists() or not note.exists() or note.read_text() != made_of:
            note.unlink(missing_ok=True)
            done = completed([*command, "-o", module])
            assert done.returncode == 0, done.stderr
            note.write_text(made_of)
    return module

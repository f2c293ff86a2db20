"""Folders below build/ for what several tests compile. They outlive the run, so the next one
compiles only what has changed."""

from __future__ import annotations

import contextlib
import fcntl
import sysconfig
from collections.abc import Iterator
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "build"


@contextlib.contextmanager
def build_folder(name: str) -> Iterator[Path]:
    """The folder of that name for this interpreter. No other process uses it meanwhile."""
    folder = BUILD / "tests" / f"{name}-{sysconfig.get_config_var('SOABI')}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        yield folder

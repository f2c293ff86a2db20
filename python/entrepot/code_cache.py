"""``entrepot cache``: the compiled code that is kept on disk for the next process: how much there is of it, and its end."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from . import _table
from ._core import cache_directory
from .device_list import bytes_text

# The folders that backends make, by what is in them.
KINDS = {
    "host": "shared objects for the host",
    "opencl": "binaries of OpenCL C",
    "cuda": "PTX and cubins of CUDA C++",
    "hip": "code objects of HIP C++",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "clear"), default="list", help="list is the default")
    parser.epilog = (
        "The place is ENTREPOT_CACHE_DIR, else entrepot in XDG_CACHE_HOME, else in ~/.cache. Set and empty: nothing is kept."
    )


def directory() -> Path | None:
    """Where the backends keep the code; None where they keep none."""
    place = cache_directory()
    return Path(os.fsdecode(place)) if place else None


def kept(kind: str) -> list[Path]:
    """The files of a kind."""
    place = directory()
    if place is None or not (place / kind).is_dir():
        return []
    return sorted(path for path in (place / kind).iterdir() if path.is_file())


def main(chosen: argparse.Namespace) -> int:
    """Lists the kinds with their files, or removes them."""
    place = directory()
    if place is None:
        print("Nothing is kept: ENTREPOT_CACHE_DIR is set and empty.")
        return 0
    if chosen.action == "clear":
        print(f"Removed {_cleared()} from {place}.")
        return 0
    rows = [[kind, words, *_sums(kept(kind))] for kind, words in KINDS.items()]
    _table.show(["kind", "what", "entries", "size", "newest"], rows)
    print(f"In {place}; `entrepot cache clear` removes them, and what is needed is compiled again.")
    return 0


def _sums(files: list[Path]) -> list[str]:
    states = [path.stat() for path in files]
    newest = max((state.st_mtime for state in states), default=None)
    when = "-" if newest is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(newest))
    return [str(len(files)), bytes_text(sum(state.st_size for state in states)), when]


def _cleared() -> str:
    removed = size = 0
    for kind in KINDS:
        for path in kept(kind):
            size += path.stat().st_size
            path.unlink(missing_ok=True)
            removed += 1
    return f"{removed} {'entry' if removed == 1 else 'entries'} ({bytes_text(size)})"

"""``entrepot cache``: lists or removes the compiled code that is cached on disk."""

from __future__ import annotations

import argparse
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from . import _table
from ._core import cache_directory, cache_obstacle
from .device_list import bytes_text

# The folders that backends create, with their contents.
KINDS = {
    "host": "shared objects for the host",
    "opencl": "binaries of OpenCL C",
    "cuda": "PTX and cubins of CUDA C++",
    "hip": "code objects of HIP C++",
}

# Names of the backends' files, with a suffix until they are complete, and the start of their
# contents.
_NAME = re.compile(r"[0-9a-f]{16}(\.[0-9a-f]{6})?")
_BEGINNING = b"entrepot code "


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("list", "clear"), default="list", help="list is the default"
    )
    parser.epilog = (
        "The place is ENTREPOT_CACHE_DIR, else entrepot in XDG_CACHE_HOME, else in ~/.cache. "
        "Set and empty: nothing is kept."
    )


def directory() -> Path | None:
    """Directory of the cached code; None if caching is disabled."""
    place = cache_directory()
    return Path(os.fsdecode(place)) if place else None


def kept(kind: str) -> list[Path]:
    """The complete files of a kind."""
    return sorted(path for path, _ in _files(kind) if _is_whole(path))


def _is_whole(path: Path) -> bool:
    """True if the file is complete. Until then its name has a suffix."""
    return not path.suffix


def _files(kind: str) -> Iterator[tuple[Path, os.stat_result]]:
    """The backends' files of a kind, complete or not. Other files in the folder are ignored.

    Other processes may write and remove files meanwhile. A file that disappears is ignored.
    """
    place = directory()
    try:
        paths = [] if place is None else list((place / kind).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    for path in paths:
        with suppress(OSError):
            state = path.lstat()
            if _NAME.fullmatch(path.name) and stat.S_ISREG(state.st_mode) and _is_ours(path):
                yield path, state


def _is_ours(path: Path) -> bool:
    """True if a backend wrote the file, by its first bytes. An incomplete file may be empty."""
    with path.open("rb") as file:
        beginning = file.read(len(_BEGINNING))
    return beginning == _BEGINNING or (not beginning and not _is_whole(path))


def main(chosen: argparse.Namespace) -> int:
    """Lists the kinds with their files and obstacles to writing them, or removes the files."""
    place = directory()
    if place is None:
        if "ENTREPOT_CACHE_DIR" in os.environ:
            print("Nothing is kept: ENTREPOT_CACHE_DIR is set and empty.")
        else:
            print(
                "Nothing is kept: ENTREPOT_CACHE_DIR, XDG_CACHE_HOME and HOME are not set; set "
                "one of them to a folder."
            )
        return 0
    if chosen.action == "clear":
        print(f"Removed {_cleared()} from {place}.")
        return 0
    rows = [[kind, words, *_sums(kind)] for kind, words in KINDS.items()]
    _table.show(["kind", "what", "entries", "size", "newest"], rows)
    print(f"In {place}; `entrepot cache clear` removes them, and what is needed is compiled again.")
    for obstacle in sorted({os.fsdecode(cache_obstacle(kind)) for kind in KINDS} - {""}):
        print(f"Nothing can be kept in {obstacle}. ENTREPOT_CACHE_DIR names another folder.")
    return 0


def contents() -> str:
    """How many entries the cache has, and their size."""
    sizes = [state.st_size for kind in KINDS for path, state in _files(kind) if _is_whole(path)]
    return f"{len(sizes)} entries, {bytes_text(sum(sizes))}"


def _sums(kind: str) -> list[str]:
    states = [state for path, state in _files(kind) if _is_whole(path)]
    newest = max((state.st_mtime for state in states), default=None)
    when = "-" if newest is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(newest))
    return [str(len(states)), bytes_text(sum(state.st_size for state in states)), when]


def _cleared() -> str:
    """Removes all files, including incomplete ones. A process that is writing one loses it and has
    to compile again.
    """
    removed = size = 0
    for kind in KINDS:
        for path, state in _files(kind):
            with suppress(FileNotFoundError):
                path.unlink()
                size += state.st_size
                removed += _is_whole(path)
    return f"{removed} {'entry' if removed == 1 else 'entries'} ({bytes_text(size)})"

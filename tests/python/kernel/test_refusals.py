"""Refused programs, each with its exact message: refused/NAME.py, and the message in
refused/NAME.txt.

``ENTREPOT_UPDATE_GOLDEN=1`` rewrites the messages. Review the difference before you
commit it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

import entrepot as ep
from support.modules import load_module

pytestmark = [pytest.mark.numpy, pytest.mark.host]

PROGRAMS = sorted((Path(__file__).parent / "refused").glob("*.py"))


def _loaded(path: Path) -> ModuleType:
    return load_module(path, f"refused_{path.stem}")


def _golden(path: Path) -> Path:
    """The file with the program's message. Before 3.12 Python had only the whole string's
    position inside an f-string."""
    older = path.with_suffix(".before_3_12.txt")
    return older if sys.version_info < (3, 12) and older.exists() else path.with_suffix(".txt")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_message_equals_golden_file(path):
    with ep.device_context("host"), pytest.raises(ep.KernelError) as error:
        module = _loaded(path)
        module.program[4, 4](*module.ARGUMENTS)
    message = str(error.value).replace(f"{path.parent}{os.sep}", "") + "\n"
    golden = _golden(path)
    if os.environ.get("ENTREPOT_UPDATE_GOLDEN"):
        golden.write_text(message)
    assert message == golden.read_text()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_message_shows_line_and_caret(path):
    place, *shown = _golden(path).read_text().splitlines()
    file, line, _ = place.split(":", 2)
    assert file == path.name
    source = path.read_text().splitlines()[int(line) - 1]
    assert shown[0].strip() == source.strip()
    assert set(shown[1].strip()) == {"^"}

"""``entrepot check``: its output and exit status."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from entrepot.check.protocols import every_clause
from support.processes import entrepot

pytestmark = pytest.mark.host

BROKEN = """
class Broken:
    def __init__(self):
        self.kept = bytearray(8)

    @property
    def __array_interface__(self):
        return {"shape": (8,), "typestr": "|u1", "data": memoryview(self.kept), "version": 2}
"""


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return entrepot("check", *arguments, cwd=cwd)


def test_table_lists_clauses_with_their_sources() -> None:
    done = run("builtins:bytearray(8)")
    assert done.returncode == 0, done.stderr
    clauses = [clause for clause in every_clause() if clause.id.startswith("buffer.export.")]
    for clause in clauses:
        row = next(line for line in done.stdout.splitlines() if line.startswith(f"{clause.id} "))
        assert clause.says in row and clause.source in row
    assert done.stdout.startswith("builtins:bytearray(8), as an exporter, on host\n")
    assert f"buffer: {len(clauses) - 2} passed, 0 failed, 2 not applicable" in done.stdout


def test_failure_exits_with_1_and_shows_asked_and_found(tmp_path: Path) -> None:
    (tmp_path / "mylib.py").write_text(BROKEN)
    done = run("mylib:Broken()", cwd=tmp_path)
    assert done.returncode == 1
    row = next(
        line
        for line in done.stdout.splitlines()
        if line.startswith("array_interface.export.version ")
    )
    assert "  failed  " in row and "asked 3; found 2" in row


def test_json_has_the_same(tmp_path: Path) -> None:
    (tmp_path / "mylib.py").write_text(BROKEN)
    done = run("mylib:Broken()", "--json", cwd=tmp_path)
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found.keys() == {
        "entrepot",
        "target",
        "side",
        "device",
        "versions",
        "counts",
        "outcomes",
    }
    assert (found["target"], found["side"], found["device"]) == ("mylib:Broken()", "export", "host")
    assert found["counts"]["array_interface"]["failed"] == 1
    (failed,) = (outcome for outcome in found["outcomes"] if outcome["status"] == "failed")
    assert failed == {
        "clause": "array_interface.export.version",
        "status": "failed",
        "says": "version is the int 3",
        "source": "NumPy, The array interface protocol: Python side",
        "asked": "3",
        "found": "2",
    }


def test_clauses_are_chosen_by_patterns(tmp_path: Path) -> None:
    (tmp_path / "mylib.py").write_text(BROKEN)
    assert run("mylib:Broken()", "--skip", "*.version", cwd=tmp_path).returncode == 0
    done = run("mylib:Broken()", "--only", "*.version", "--json", cwd=tmp_path)
    assert [outcome["clause"] for outcome in json.loads(done.stdout)["outcomes"]] == [
        "array_interface.export.version"
    ]


def test_side_option_selects_importer() -> None:
    done = run(
        "builtins:bytearray",
        "--as",
        "importer",
        "--protocol",
        "buffer",
        "--only",
        "*.zero-copy",
        "--json",
    )
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["side"] == "import"
    assert [outcome["status"] for outcome in found["outcomes"]] == ["passed", "failed"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "TARGET is missing"),
        (("builtins:int()",), "speaks no protocol"),
        (("builtins",), "is no target"),
        (
            ("math:sqrt", "--only", "*.plain"),
            "math:sqrt takes no object of any protocol, so it is no importer, for which it was "
            "taken",
        ),
        (
            ("math:sqrt", "--only", "*.plain"),
            "to check what it returns, write the call, as in math:sqrt(3)",
        ),
        (
            ("builtins:bytes(8)", "--only", "*.lenght"),
            "no clause is called '*.lenght'; 'length' is like it",
        ),
        (("builtins:bytes()", "--protocol", "pigeon"), "invalid choice"),
        (("builtins:bytes()", "--as", "harbour"), "invalid choice"),
        (("builtins:bytes()", "--device", "bogus"), "--device: 'bogus'"),
        (("builtins:memoryview", "--device", "cuda:77"), "--device: no device matches 'cuda:77'"),
    ],
)
def test_empty_selection_exits_with_status_2(arguments: tuple[str, ...], words: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr


def test_list_option_prints_all_clauses() -> None:
    done = run("--list")
    assert done.returncode == 0
    assert [line.split("  ")[0] for line in done.stdout.splitlines()[2:]] == [
        clause.id for clause in every_clause()
    ]


def test_clauses_have_unique_name_sentence_and_source() -> None:
    clauses = every_clause()
    assert len({clause.id for clause in clauses}) == len(clauses)
    for clause in clauses:
        assert " " not in clause.id
        assert clause.says and not clause.says.endswith(".")
        assert clause.source


@pytest.mark.sycl
def test_importers_get_memory_of_the_named_device() -> None:
    done = run("entrepot:asarray", "--device", "opencl:cpu", "--protocol", "suai", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["counts"]["suai"]["not applicable"] == 0

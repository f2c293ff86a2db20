""".ci/run, and the workflow of the forge that tools/ci.py writes: both run the same jobs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import ci

ROOT = Path(__file__).resolve().parents[2]


def jobs() -> set[str]:
    return set(re.findall(r"^job (\S+)", (ROOT / ".ci/run").read_text(), re.MULTILINE))


def test_workflow_is_that_of_the_table() -> None:
    assert ci.WORKFLOW.read_text(encoding="utf-8") == ci.workflow(), "python tools/ci.py writes it"


def test_rows_run_every_job_and_no_other() -> None:
    assert {job for row in ci.ROWS for job in row.jobs.split()} == jobs()


def test_targets_of_rows_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in (row.make for row in ci.ROWS if row.make):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_workflow_is_yaml_with_a_job_for_each_row() -> None:
    yaml = pytest.importorskip("yaml")
    found = list(yaml.safe_load(ci.workflow())["jobs"].values())
    assert [job["name"] for job in found] == [row.name for row in ci.ROWS]
    assert [job["steps"][-1]["run"] for job in found] == [row.command for row in ci.ROWS]


@pytest.fixture
def run(tmp_path: Path):
    """.ci/run in a folder where `make` only prints its arguments."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci")
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\necho "made $@"\n')
    make.chmod(0o755)

    def call(*names: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [tmp_path / ".ci/run", *names],
            env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
        )

    return call


def test_named_jobs_run_alone(run) -> None:
    done = run("lint-source", "test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"^made (.*)$", done.stdout, re.MULTILINE) == ["lint-source", "test"]


def test_unknown_job_fails_and_names_the_jobs(run) -> None:
    done = run("tset")
    assert done.returncode == 1
    assert "tset, which is no job" in done.stdout and "lint-source" in done.stdout

#!/usr/bin/env python3
"""Writes .github/workflows/ci.yml, the CI of a public forge, from the rows below.

    python tools/ci.py

Each row runs in a container of Debian: jobs of .ci/run, or a target of the Makefile. The rows with
jobs are together what .ci/run does on one machine.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

WORKFLOW = Path(__file__).resolve().parents[1] / ".github/workflows/ci.yml"


class Row(NamedTuple):
    name: str
    image: str
    jobs: str = ""  # of .ci/run
    make: str = ""  # a target
    variables: dict[str, str] = {}  # noqa: RUF012, which takes a constant for a default

    @property
    def command(self) -> str:
        return f".ci/run {self.jobs}" if self.jobs else f"make {self.make}"


ROWS = [
    Row("lint", "debian:12", jobs="lint-source"),
    Row("tests, GCC 12, Python 3.11", "debian:12", jobs="system test"),
    Row("types, documentation, demo, fuzzing", "debian:12", jobs="system lint-docs-demo fuzz"),
    Row("address sanitizer, Clang 14", "debian:12", jobs="clang system address"),
    Row("thread sanitizer, Clang 14", "debian:12", jobs="clang system build thread python-thread"),
    Row("tests, GCC 14, Python 3.13", "debian:13", make="test"),
    Row("tests, newest compiler and Python of Debian", "debian:testing", make="test"),
    Row(
        "tests without SYCL, CUDA and HIP",
        "debian:12",
        make="test",
        variables={f"ENTREPOT_{name}": "OFF" for name in ("SYCL", "CUDA", "HIP")},
    ),
    Row("wheel", "debian:12", make="wheels"),
    Row("conda package", "debian:12", make="conda"),
    Row("site in a browser", "debian:12", make="screenshots"),
]

HEAD = """\
# Written by tools/ci.py.
name: CI
on: [push, pull_request]
permissions:
  contents: read
jobs:
"""

#: The jobs install all but git and what starts them.
JOB = """\
  row-{number}:
    name: {name}
    runs-on: ubuntu-latest
    container: {image}
    timeout-minutes: 90
    env: {variables}
    steps:
      - run: >-
          apt-get update && apt-get install -y --no-install-recommends
          ca-certificates git make python3 python3-venv
      - uses: actions/checkout@v5
        with:
          fetch-depth: 0
      - run: git config --global --add safe.directory "$GITHUB_WORKSPACE"
      - run: {command}
"""


def workflow() -> str:
    """The text of the file. JSON's strings and objects are also YAML's."""
    return HEAD + "".join(
        JOB.format(
            number=number,
            name=json.dumps(row.name),
            image=json.dumps(row.image),
            variables=json.dumps({"SYSTEM_PACKAGES": "install", **row.variables}),
            command=json.dumps(row.command),
        )
        for number, row in enumerate(ROWS, 1)
    )


if __name__ == "__main__":
    WORKFLOW.parent.mkdir(parents=True, exist_ok=True)
    WORKFLOW.write_text(workflow(), encoding="utf-8")

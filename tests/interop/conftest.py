"""The table of the matrix of pairs.

``pytest tests/interop --matrix`` prints, as Markdown, the result of each way in each check. With
``--matrix=docs/cuda_matrix.md`` it replaces CUDA's rows in a page. If rows are missing or one
fails, the page stays as it is and the run fails.
"""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from entrepot.demo import keep_client_of_jax
from interop.table import CANNOT, FAILS, HOLDS, Matrix, Refused

_CASE = re.compile(
    r"test_(?P<peer>\w+)\.py::test_pair\[(?P<way>.*), (?P<place>[\w:]+-\w+), (?P<column>[^,]*)\]$"
)
_matrix = Matrix()
_refused = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--matrix",
        nargs="?",
        const="",
        metavar="PAGE",
        help="print the table of the matrix of pairs, rows of skipped checks left out; or put "
        "CUDA's rows into a page",
    )


def pytest_configure(config: pytest.Config) -> None:
    page = config.getoption("--matrix")
    if page and not (page.endswith(".md") and Path(page).is_file()):
        raise pytest.UsageError(
            f"--matrix={page}: that is no page, a file that ends in .md; `pytest tests/interop "
            "--matrix` prints the table"
        )


@pytest.fixture(scope="module")
def sources_of_copies() -> None:
    """Makes the cached sources of copies before a test starts to count the memory that it
    leaves.
    """
    from entrepot import DeviceError
    from interop.stream_order import TURNS, source

    for device in TURNS:
        with contextlib.suppress(DeviceError):
            source(device)


@pytest.fixture(scope="module")
def sub_devices() -> list[Any]:
    """Two halves of the CPU device, made by dpctl."""
    import dpctl

    return dpctl.SyclDevice("opencl:cpu").create_sub_devices(partition=[1, 1])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    case = _CASE.search(report.nodeid)
    if not case or (report.when != "call" and not report.skipped):
        return
    reason = getattr(report, "wasxfail", None)
    if reason is None and report.skipped and report.when == "setup":
        assert isinstance(report.longrepr, tuple)
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if (
            ": there is no" in reason or ": import" in reason
        ):  # a need of this machine's, not of the peer's
            return
    mark = CANNOT if reason is not None else HOLDS if report.passed else FAILS
    _matrix.add((case["peer"], case["way"], case["place"]), case["column"], mark, reason)


def pytest_sessionfinish(session: pytest.Session) -> None:
    page = session.config.getoption("--matrix")
    if not page or hasattr(
        session.config, "workerinput"
    ):  # one of pytest-xdist's processes has a part of the rows
        return
    try:
        _matrix.put_into(Path(page))
    except Refused as why:
        session.config.stash[_refused] = f"{page} stays as it is: {why}"
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure() -> None:
    if "jax" in sys.modules:  # else its client may hang when the interpreter ends
        keep_client_of_jax()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    config = terminalreporter.config
    page = config.getoption("--matrix")
    if page is None or (not page and not _matrix.cells):
        return
    terminalreporter.section("matrix of pairs")
    if page:
        terminalreporter.write_line(
            config.stash.get(_refused, f"{page} is written"), red=_refused in config.stash
        )
        return
    for line in _matrix.lines():
        terminalreporter.write_line(line)

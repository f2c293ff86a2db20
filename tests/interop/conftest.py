"""The table of the matrix of pairs: `pytest tests/interop --matrix` prints, as Markdown, what each way does in each check."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

HOLDS, CANNOT, FAILS, SKIPPED = "✓", "–", "✗", " "
_CASE = re.compile(r"test_(?P<peer>\w+)\.py::test_pair\[(?P<way>.*), (?P<place>[\w:]+-\w+), (?P<column>[^,]*)\]$")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--matrix", action="store_true", help="print the table of the matrix of pairs, rows of skipped checks left out"
    )


class Matrix:
    """Cells by row and column, and the reasons of what a peer cannot do."""

    def __init__(self) -> None:
        self.cells: dict[tuple[str, str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        self.reasons: dict[str, list[str]] = defaultdict(list)

    def add(self, report: pytest.TestReport) -> None:
        case = _CASE.search(report.nodeid)
        if not case or (report.when != "call" and not report.skipped):
            return
        peer, way, place, column = case.group("peer", "way", "place", "column")
        reason = getattr(report, "wasxfail", None)
        if reason is None and report.skipped and report.when == "setup":
            reason = report.longrepr[2].removeprefix("Skipped: ")
            if ": there is no" in reason or ": import" in reason:  # a need of this machine's, not of the peer's
                return
        mark = CANNOT if reason is not None else HOLDS if report.passed else FAILS
        dtypes = column.startswith("dtype ")
        self.cells[peer, way, place]["dtypes" if dtypes else column].append(mark)
        if reason is not None and reason not in self.reasons[peer]:
            self.reasons[peer].append(reason)

    def lines(self) -> Iterator[str]:
        rows = {key: row for key, row in self.cells.items() if any(set(marks) != {CANNOT} for marks in row.values())}
        columns = sorted(dict.fromkeys(column for row in rows.values() for column in row), key=lambda column: column == "dtypes")
        yield f"| library | way | memory | {' | '.join(columns)} |"
        yield f"|{'---|' * (len(columns) + 3)}"
        for (peer, way, place), row in rows.items():
            yield f"| {peer} | `{way}` | {place} | {' | '.join(self.mark(row.get(column)) for column in columns)} |"
        yield ""
        yield f"{HOLDS} holds · {CANNOT} the library cannot, for a reason below, and the check fails as expected · {FAILS} fails"
        yield ""
        for peer, reasons in self.reasons.items():
            yield f"- {peer}: {'; '.join(reasons)}"

    @staticmethod
    def mark(marks: list[str] | None) -> str:
        if not marks:
            return SKIPPED
        if len(marks) == 1:
            return marks[0]
        return FAILS if FAILS in marks else f"{marks.count(HOLDS)}/{len(marks)}"


_matrix = Matrix()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _matrix.add(report)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not terminalreporter.config.getoption("--matrix") or not _matrix.cells:
        return
    terminalreporter.section("matrix of pairs")
    for line in _matrix.lines():
        terminalreporter.write_line(line)

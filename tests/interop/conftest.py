"""The table of the matrix of pairs: `pytest tests/interop --matrix` prints, as Markdown, what each way does in each check.

`--matrix=docs/cuda_matrix.md` puts CUDA's rows of it into a page, in the place of those that are there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.pairs import LAYOUTS

HOLDS, CANNOT, FAILS, SKIPPED = "✓", "–", "✗", " "
#: Those of pairs.columns, the layouts first and the dtypes as one.
COLUMNS = [
    *LAYOUTS,
    *"our write,their write,producer dropped first,consumer dropped first,writable,read-only,order".split(","),
    *"sub-devices,at once,dtypes".split(","),
]
_CASE = re.compile(r"test_(?P<peer>\w+)\.py::test_pair\[(?P<way>.*), (?P<place>[\w:]+-\w+), (?P<column>[^,]*)\]$")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--matrix",
        nargs="?",
        const="",
        metavar="PAGE",
        help="print the table of the matrix of pairs, rows of skipped checks left out; or put CUDA's rows into a page",
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

    def lines(self, of: str = "") -> Iterator[str]:
        """The rows whose memory's name begins so, in an order that no scheduler of tests changes."""
        can = {key for key, row in self.cells.items() if any(set(marks) != {CANNOT} for marks in row.values())}
        rows = {key: self.cells[key] for key in sorted(can) if key[2].startswith(of)}
        columns = [column for column in COLUMNS if any(column in row for row in rows.values())]
        yield f"| library | way | memory | {' | '.join(columns)} |"
        yield f"|{'---|' * (len(columns) + 3)}"
        for (peer, way, place), row in rows.items():
            yield f"| {peer} | `{way}` | {place} | {' | '.join(self.mark(row.get(column)) for column in columns)} |"
        yield ""
        yield f"{HOLDS} holds · {CANNOT} the library cannot, for a reason below, and the check fails as expected · {FAILS} fails"
        yield ""
        for peer in dict.fromkeys(peer for peer, _, _ in rows):
            if reasons := self.reasons[peer]:
                yield f"- {peer}: {'; '.join(sorted(reasons))}"

    def put_into(self, page: Path) -> None:
        """From the first line of a table there to the last reason."""
        lines = page.read_text(encoding="utf-8").splitlines()
        first = next(number for number, line in enumerate(lines) if line.startswith("| library |"))
        last = max(number for number, line in enumerate(lines) if line.startswith("- "))
        page.write_text("\n".join([*lines[:first], *self.lines("cuda:"), *lines[last + 1 :], ""]), encoding="utf-8")

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
    page = terminalreporter.config.getoption("--matrix")
    if page is None or not _matrix.cells:
        return
    if page:
        return _matrix.put_into(Path(page))
    terminalreporter.section("matrix of pairs")
    for line in _matrix.lines():
        terminalreporter.write_line(line)

"""The matrix of pairs as a table of Markdown: the result of each way in each check, printed, or
put into a page."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import platform
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import entrepot as ep
from interop.pairs import LAYOUTS, Way, columns

HOLDS, CANNOT, FAILS, SKIPPED = "✓", "–", "✗", " "
#: Those of pairs.columns, the layouts first and the dtypes as one.
COLUMNS = [
    *LAYOUTS,
    *"our write,their write,producer dropped first,consumer dropped first".split(","),
    *"writable,read-only,order,sub-devices,at once,dtypes".split(","),
]
BEGIN, END = "<!-- matrix -->", "<!-- /matrix -->"
Row = tuple[str, str, str]  # library, way, memory


class Refused(Exception):
    """Reason why a table does not go into a page, which stays as it is."""


class Matrix:
    """Marks of the cells, and reasons for unsupported ones, by row."""

    def __init__(self) -> None:
        self.cells: dict[Row, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        self.reasons: dict[Row, set[str]] = defaultdict(set)

    def add(self, row: Row, check: str, mark: str, reason: str | None = None) -> None:
        self.cells[row][column_of(check)].append(mark)
        if reason is not None:
            self.reasons[row].add(reason)

    def rows(self, of: str = "") -> list[Row]:
        """Rows whose memory's name begins so, without those that are wholly unsupported, in an
        order independent of the scheduler."""
        can = {
            row
            for row, cells in self.cells.items()
            if any(set(marks) != {CANNOT} for marks in cells.values())
        }
        return sorted(row for row in can if row[2].startswith(of))

    def lines(self, of: str = "") -> Iterator[str]:
        rows = self.rows(of)
        columns = [column for column in COLUMNS if any(column in self.cells[row] for row in rows)]
        yield f"| library | way | memory | {' | '.join(columns)} |"
        yield f"|{'---|' * (len(columns) + 3)}"
        for row in rows:
            library, way, memory = row
            cells = [cell(self.cells[row].get(column, [])) for column in columns]
            yield f"| {library} | `{way}` | {memory} | {' | '.join(cells)} |"
        yield ""
        yield (
            f"{HOLDS} holds · {CANNOT} the library cannot, for a reason below, and the check fails "
            f"as expected · {FAILS} fails"
        )
        yield ""
        for library in libraries(rows):
            if reasons := {
                reason for row in rows if row[0] == library for reason in self.reasons[row]
            }:
                yield f"- {library}: {'; '.join(sorted(reasons))}"

    def put_into(self, page: Path, device: str = "cuda:0") -> None:
        """Puts the device's rows between the markers there. All checks must be present, and none
        may fail."""
        text = page.read_text(encoding="utf-8")
        before, begin, rest = text.partition(BEGIN)
        there, end, after = rest.partition(END)
        if not end:
            raise Refused(f"it has no {BEGIN} and {END}, between which the table stands")
        rows = self.rows(f"{device}-")
        if not rows:
            raise Refused(f"no check of memory of {device} has run")
        if failing := [
            row for row in rows if any(FAILS in marks for marks in self.cells[row].values())
        ]:
            raise Refused(f"a check fails of {named(failing)}")
        if missing := [row for row in sorted({*rows, *rows_of(there)}) if not self.has_all_of(row)]:
            raise Refused(f"not all checks have run of {named(missing)}")
        new = [begin, printed_on(device, libraries(rows)), "", *self.lines(f"{device}-"), "", end]
        page.write_text(before + "\n".join(new) + after, encoding="utf-8")

    def has_all_of(self, row: Row) -> bool:
        """True if every check of the row has run. A row without a current way has no checks."""
        ran = {column: len(marks) for column, marks in self.cells.get(row, {}).items()}
        return all(ran.get(column, 0) >= count for column, count in checks_of(row).items())


def column_of(check: str) -> str:
    return "dtypes" if check.startswith("dtype ") else check


def cell(marks: list[str]) -> str:
    if len(marks) < 2:
        return "".join(marks) or SKIPPED
    return FAILS if FAILS in marks else f"{marks.count(HOLDS)}/{len(marks)}"


def named(rows: list[Row]) -> str:
    """The first of them."""
    return ", ".join(
        f"{library}'s {way} on {memory}" for library, way, memory in rows[:3]
    ) + ", …" * (len(rows) > 3)


def libraries(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(library for library, _, _ in rows))


# ---------------------------------------------------------------- the table of a page


def table_of(text: str) -> list[list[str]]:
    lines = [
        line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")
    ]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def rows_of(text: str) -> list[Row]:
    return [(library, way, memory) for library, way, memory, *_ in table_of(text)[1:]]


# ---------------------------------------------------------------- what is asked


def ways_of(library: str) -> list[Way]:
    """Ways of the library's own file; skips if the library is not installed."""
    return list(importlib.import_module(f"interop.test_{library}").WAYS)


def checks_of(row: Row) -> Counter[str]:
    """Number of checks in each column of the row."""
    library, name, memory = row
    if not (Path(__file__).parent / f"test_{library}.py").exists():
        return Counter()
    try:
        ways = ways_of(library)
    except pytest.skip.Exception as absent:
        raise Refused(f"not all checks have run of {library}: {absent}") from None
    asked = [
        (way, place)
        for way in ways
        for place in way.places
        if (way.name, str(place)) == (name, memory)
    ]
    return Counter(column_of(check) for way, place in asked for check, _ in columns(way, place))


# ---------------------------------------------------------------- where it was printed


def printed_on(selector: str, names: Iterable[str]) -> str:
    device = ep.device(selector)
    versions = ", ".join(version for name in names if (version := version_of(name)))
    python = platform.python_version()
    return (
        f"Printed on {device.name} (driver {device.driver_version}, Python {python}; {versions})."
    )


def version_of(library: str) -> str | None:
    """Name and version of the distribution with that name, else of the one with that module; None
    for modules of Python itself."""
    names = [library, *importlib.metadata.packages_distributions().get(library, [])]
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found = importlib.metadata.distribution(name)
            return f"{found.metadata['Name']} {found.version}"
    return None

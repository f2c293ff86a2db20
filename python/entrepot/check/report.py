"""Reports of outcomes, as a table or as JSON."""

from __future__ import annotations

from typing import Any

from entrepot import __version__, _table

from .clauses import FAILED, NOT_APPLICABLE, PASSED, Clause, Outcome
from .runner import Result


def cells(outcome: Outcome) -> list[str]:
    found = (
        f"asked {outcome.asked}; found {outcome.found}"
        if outcome.status == FAILED
        else outcome.found
    )
    return [outcome.clause, outcome.status, outcome.says, outcome.source, found]


def count_text(row: dict[str, int]) -> str:
    return ", ".join(f"{row[status]} {status}" for status in (PASSED, FAILED, NOT_APPLICABLE))


def title(result: Result) -> str:
    role = {"export": "an exporter", "import": "an importer"}[result.side]
    known = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    request = result.request
    return f"{request.target}, as {role}{f', with {known}' if known else ''}, on {request.device}"


def show(result: Result) -> None:
    print(f"{title(result)}\n")
    _table.show(
        ["clause", "outcome", "says", "source", "found"],
        [cells(outcome) for outcome in result.outcomes],
    )
    print()
    silent = []
    for protocol, row in result.counts().items():
        if row[PASSED] or row[FAILED]:
            print(f"{protocol}: {count_text(row)}")
        else:
            silent.append(protocol)
    if silent:
        print(f"nothing applicable: {', '.join(silent)}")


def show_clauses(clauses: list[Clause]) -> None:
    _table.show(
        ["clause", "says", "source"],
        [[clause.id, clause.says, clause.source] for clause in clauses],
    )


def to_dict(result: Result) -> dict[str, Any]:
    return {
        "entrepot": __version__,
        "target": result.request.target,
        "side": result.side,
        "device": result.request.device,
        "versions": result.versions,
        "counts": result.counts(),
        "outcomes": [outcome.to_dict() for outcome in result.outcomes],
    }

"""The pytest plugin: one test for each clause of a target.

In the topmost ``conftest.py``::

    pytest_plugins = ["entrepot.check.plugin"]

and then a test, whatever its name, that asks::

    @pytest.mark.conformance("mylib:zeros(3)")
    def test_array(clause):
        clause.check()

The mark takes a target as the command line does, which is checked in a process of its own, or an object, a factory or an
importer at hand, which is checked in the process of the tests; and ``side``, ``device``, ``protocols``, ``only`` and ``skip``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from .clauses import EXPORT, FAILED, IMPORT, NOT_APPLICABLE, Clause, Outcome
from .protocols import PROTOCOLS, spoken
from .runner import Request, Result, check, check_here
from .targets import Target, TargetError, resolve, target_of


class Conformance:
    """One mark: its clauses, and their outcomes, which are found when the first test asks."""

    def __init__(self, target: Any, **options: Any) -> None:
        options = {
            key: (value,) if key in ("protocols", "only", "skip") and isinstance(value, str) else value
            for key, value in options.items()
        }
        named = isinstance(target, str)
        self.request = Request(target if named else getattr(target, "__name__", type(target).__name__), **options)
        self.target: Target = (
            resolve(target, self.request.side) if named else target_of(self.request.target, target, self.request.side)
        )
        self._named = named

    def clauses(self) -> list[Clause]:
        """Raises TargetError where there are none: a test without clauses would pass."""
        protocols = self.request.protocols
        if not protocols:
            protocols = tuple(spoken(self.target.call()) if self.target.side == EXPORT else PROTOCOLS)
        if not protocols:
            raise TargetError(f"{self.request.target} speaks no protocol; there are {', '.join(PROTOCOLS)}")
        found = [clause for name in protocols for clause in PROTOCOLS[name].clauses(self.target.side)]
        wanted = [clause for clause in found if self.request.wants(clause)]
        if not wanted:
            raise TargetError(
                f"{self.request.target}: only={self.request.only} and skip={self.request.skip} leave no clause of "
                f"{', '.join(protocols)}, as an {self.target.side}er"
            )
        return wanted

    @cached_property
    def result(self) -> Result:
        return check(self.request) if self._named else check_here(self.target, self.request)


@dataclass(frozen=True)
class Question:
    """What the fixture ``clause`` is: a clause of a target."""

    conformance: Conformance
    clause: Clause

    @property
    def outcome(self) -> Outcome:
        for outcome in self.conformance.result.outcomes:
            if outcome.clause == self.clause.id:
                return outcome
        return Outcome(self.clause.id, NOT_APPLICABLE, self.clause.says, self.clause.source, found="the target does not take it")

    def check(self) -> None:
        """Fails the test, with what was asked and what was found, or skips it where the clause is not applicable."""
        outcome = self.outcome
        if outcome.status == FAILED:
            words = f"{outcome.says} ({outcome.source})\nasked: {outcome.asked}\nfound: {outcome.found}"
            pytest.fail(words, pytrace=False)
        if outcome.status == NOT_APPLICABLE:
            result = self.conformance.result
            if result.side == IMPORT and result.why_nothing:
                pytest.fail(result.why_nothing, pytrace=False)
            pytest.skip(outcome.found)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "conformance(target, *, side, device, protocols, only, skip): one test for each clause, by the fixture `clause`",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("conformance")
    if mark is None or "clause" not in metafunc.fixturenames:
        return
    conformance = Conformance(*mark.args, **mark.kwargs)
    clauses = conformance.clauses()
    metafunc.parametrize("clause", [Question(conformance, clause) for clause in clauses], ids=[clause.id for clause in clauses])

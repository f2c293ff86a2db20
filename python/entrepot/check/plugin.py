"""The pytest plugin: one test for each clause of a target.

In the topmost ``conftest.py``::

    pytest_plugins = ["entrepot.check.plugin"]

and then a test, whatever its name, that asks::

    @pytest.mark.conformance("mylib:zeros(3)")
    def test_array(clause):
        clause.check()

The mark takes a target name as on the command line, which is checked in a process of its own. It
also takes an object, a factory or an importer, which is checked in the process of the tests.
Keywords are ``side``, ``device``, ``protocols``, ``only`` and ``skip``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from .clauses import FAILED, IMPORT, NOT_APPLICABLE, Clause, Outcome
from .protocols import PROTOCOLS
from .runner import Request, Result, check, check_here, look, protocols_of
from .targets import TargetError, target_of


class Conformance:
    """One mark with its clauses and their outcomes, which are computed for the first test."""

    def __init__(self, target: Any, **options: Any) -> None:
        options = {
            key: (value,)
            if key in ("protocols", "only", "skip") and isinstance(value, str)
            else value
            for key, value in options.items()
        }
        name = (
            target
            if isinstance(target, str)
            else getattr(target, "__name__", type(target).__name__)
        )
        self.request = Request(name, **options)
        self._at_hand = (
            None if isinstance(target, str) else target_of(name, target, self.request.side)
        )

    def clauses(self) -> list[Clause]:
        """Raises TargetError where there are none: a test without clauses would pass."""
        here = self._at_hand
        side, protocols = (
            (here.side, protocols_of(here, self.request)) if here else look(self.request)
        )
        if not protocols:
            raise TargetError(
                f"{self.request.target} speaks no protocol; there are {', '.join(PROTOCOLS)}"
            )
        found = [clause for name in protocols for clause in PROTOCOLS[name].clauses(side)]
        wanted = [clause for clause in found if self.request.wants(clause)]
        if not wanted:
            raise TargetError(
                f"{self.request.target}: only={self.request.only} and skip={self.request.skip} "
                "leave no clause of "
                f"{', '.join(protocols)}, as an {side}er"
            )
        return wanted

    @cached_property
    def result(self) -> Result:
        return check_here(self._at_hand, self.request) if self._at_hand else check(self.request)


@dataclass(frozen=True)
class Question:
    """Value of the fixture ``clause``: a clause of a target."""

    conformance: Conformance
    clause: Clause

    @property
    def outcome(self) -> Outcome:
        for outcome in self.conformance.result.outcomes:
            if outcome.clause == self.clause.id:
                return outcome
        return Outcome(
            self.clause.id,
            NOT_APPLICABLE,
            self.clause.says,
            self.clause.source,
            found="the target does not take it",
        )

    def check(self) -> None:
        """Fails the test with the expected and the actual value, or skips it if the clause is not
        applicable.
        """
        outcome = self.outcome
        if outcome.status == FAILED:
            words = (
                f"{outcome.says} ({outcome.source})\nasked: {outcome.asked}\nfound: {outcome.found}"
            )
            pytest.fail(words, pytrace=False)
        if outcome.status == NOT_APPLICABLE:
            result = self.conformance.result
            if result.side == IMPORT and result.why_nothing:
                pytest.fail(result.why_nothing, pytrace=False)
            pytest.skip(outcome.found)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "conformance(target, *, side, device, protocols, only, skip): one test for each clause, "
        "by the fixture `clause`",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("conformance")
    if mark is None or "clause" not in metafunc.fixturenames:
        return
    conformance = Conformance(*mark.args, **mark.kwargs)
    clauses = conformance.clauses()
    metafunc.parametrize(
        "clause",
        [Question(conformance, clause) for clause in clauses],
        ids=[clause.id for clause in clauses],
    )

"""tools/check_commits.py finds subjects of commits that break the rule."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_commits


@pytest.mark.parametrize(
    "subject", ["memory: order a release", "exchange, memory: ask once", "c_api.h: name a clause"]
)
def test_subject_with_area_is_allowed(subject: str) -> None:
    assert check_commits.problem_of(subject) is None


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        ("What wait_for refuses is told", "is not of the form"),
        ("Memory: order a release", "is not of the form"),
        ("memory:order a release", "is not of the form"),
        ("memory: " + "x" * 65, "has 73 characters"),
    ],
)
def test_subject_that_breaks_the_rule_is_refused(subject: str, problem: str) -> None:
    found = check_commits.problem_of(subject)
    assert found is not None
    assert problem in found

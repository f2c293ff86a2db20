"""Random cases of the exchange end as they have to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from contract.cases import cases, check

pytestmark = [pytest.mark.host, pytest.mark.sycl, pytest.mark.numpy]


@settings(
    max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(case=cases())
def test_random_case_ends_as_documented(case: dict[str, Any]) -> None:
    check(case)

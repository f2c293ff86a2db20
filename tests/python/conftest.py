"""Fixtures of several folders of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.other_process import Other


@pytest.fixture
def other() -> Iterator[Other]:
    process = Other()
    yield process
    process.end()

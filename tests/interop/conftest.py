"""The peers' modules are set apart from the garbage collector, which these tests call after every drop."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def collection_is_cheap() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()

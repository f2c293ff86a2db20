"""What comes back soon, but not at once: work that is on its way, and threads whose last breath comes after they were joined."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from entrepot import memory


def settles(number: Callable[[], object], expected: object, *, seconds: float = 10) -> bool:
    """Whether ``number()`` becomes ``expected`` in time, with the collector and the pools called upon meanwhile."""
    end = time.monotonic() + seconds
    while True:
        gc.collect()
        memory.trim()
        if number() == expected:
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.01)

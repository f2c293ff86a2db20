"""Waits for values that change soon: work in flight, and threads that still end after join()."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from entrepot import memory


def eventually_equal(value: Callable[[], object], expected: object, *, seconds: float = 10) -> bool:
    """True if ``value()`` equals ``expected`` within ``seconds``; collects and trims meanwhile."""
    end = time.monotonic() + seconds
    while True:
        gc.collect()
        memory.trim()
        if value() == expected:
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.01)

"""Waits for counts that settle soon: work in flight, and threads that still end after join()."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from entrepot import memory


def settles(number: Callable[[], object], expected: object, *, seconds: float = 10) -> bool:
    """True if ``number()`` becomes ``expected`` in ``seconds``; collects and trims meanwhile."""
    end = time.monotonic() + seconds
    while True:
        gc.collect()
        memory.trim()
        if number() == expected:
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.01)

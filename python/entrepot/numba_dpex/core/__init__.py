"""The part of ``numba_dpex.core`` that programs import: exceptions and types."""

from __future__ import annotations

from ..errors import refuse_unknown


def __getattr__(name: str) -> object:
    refuse_unknown(__name__, name)

"""``numba_dpex.core.types``: the types of signatures."""

from __future__ import annotations

from ...errors import refuse_unknown
from ...types import *  # noqa: F403
from ...types import __all__ as __all__


def __getattr__(name: str) -> object:
    refuse_unknown(__name__, name)

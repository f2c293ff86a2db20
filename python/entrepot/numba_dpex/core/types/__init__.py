"""``numba_dpex.core.types``: the types of signatures."""

from __future__ import annotations

from ...types import *  # noqa: F403
from ...types import __all__ as __all__

"""The adapter of kernel arguments by the name that HIP Python's documentation has for it; see ``entrepot.adapters``."""

from __future__ import annotations

from ..adapters import HipModuleLaunchKernel_extra

__all__ = ["HipModuleLaunchKernel_extra"]

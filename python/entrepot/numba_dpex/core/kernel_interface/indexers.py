"""Ranges, where 0.21 has them."""

from __future__ import annotations

from ...ranges import NdRange, Range

__all__ = ["NdRange", "Range"]

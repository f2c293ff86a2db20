"""Types of work-items and work-groups in signatures."""

from __future__ import annotations

from ....types import GroupType, ItemType, NdItemType

__all__ = ["GroupType", "ItemType", "NdItemType"]

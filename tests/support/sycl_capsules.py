"""Capsules of SYCL objects."""

from __future__ import annotations

from typing import Any


def capsule_of(obj: Any) -> Any:
    """Capsule of a queue, a context or a device. The stub leaves this protocol of dpctl out."""
    return obj._get_capsule()

"""What `entrepot.hiprtc` has besides the functions of the library."""

from __future__ import annotations

from . import _hiprtc_ext as ext

__all__ = ["ext"]

"""Members of `entrepot.hiprtc` in addition to the library's functions."""

from __future__ import annotations

from . import _hiprtc_ext as ext

__all__ = ["ext"]

bind = ext.bind

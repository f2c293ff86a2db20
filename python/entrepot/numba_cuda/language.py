"""The kernel language of numba.cuda: Numba's rules for types, and its names in messages."""

from __future__ import annotations

from ..kernel.source import SourceLanguage

NUMBA_CUDA = SourceLanguage("numba.cuda", "numba", {})

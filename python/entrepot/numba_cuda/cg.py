"""Cooperative groups, ``cuda.cg``. The grid is refused: it cannot wait for all of its threads."""

from __future__ import annotations

from .expressions import refused

_INSTEAD = (
    "no device waits for all threads of a grid inside a kernel: end the kernel where it would "
    "wait, and launch another one for the rest, which runs after it"
)

#: Refused in kernels with the reason: a grid is not synchronized within a kernel.
this_grid = refused("cg.this_grid", _INSTEAD)

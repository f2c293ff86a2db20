"""Functions of CUDA's libdevice, by its names, in terms of the functions of the language.

``sinf(x)`` is ``math.sin(float32(x))``, ``sin(x)`` is ``math.sin(float64(x))``, and so on.
"""

from __future__ import annotations

from .errors import refusing
from .libdevice_macros import macros

_MACROS = macros()

_SPECIAL = "compute it on the host with SciPy, or write its series as a device function"
#: Functions that are not served, and what to use.
INSTEAD = {
    **dict.fromkeys("j0 j0f j1 j1f jn jnf y0 y0f y1 y1f yn ynf".split(), _SPECIAL),
    **dict.fromkeys(
        "fma_rd fma_ru fma_rz fmaf_rd fmaf_ru fmaf_rz".split(), "fma_rn() rounds to nearest"
    ),
}


def functions() -> tuple[str, ...]:
    """Names of the functions that kernels can call."""
    return tuple(sorted(_MACROS))


# Not variables of the module: some would hide Python's own, as abs, max and round.
__getattr__ = refusing("libdevice", INSTEAD, members=_MACROS)


def __dir__() -> list[str]:
    return sorted([*_MACROS, *globals()])

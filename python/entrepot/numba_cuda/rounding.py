"""Device functions whose results are rounded in a stated direction.

Each computes the nearest result and the sign of its error, and takes the neighbor if the nearest
one lies on the wrong side. They need exact float operations, so not ``fastmath=True``.
"""

from __future__ import annotations

import math

from ..kernel.functions import func
from ..kernel.language import float32, float64
from .bits import FMA

#: The direction: down, up, or toward zero.
DIRECTIONS = {"rd": -1, "ru": 1, "rz": 0}


@func
def toward(nearest, error, direction):  # type: ignore[no-untyped-def]
    """The neighbor in the direction, if the exact value, ``nearest + error``, lies there."""
    wanted = direction
    if direction == 0:
        wanted = -1 if nearest > 0 else 1
    result = nearest
    if wanted < 0 and error < 0:
        result = math.nextafter(nearest, nearest - nearest - math.inf)
    if wanted > 0 and error > 0:
        result = math.nextafter(nearest, nearest - nearest + math.inf)
    return result


@func
def add(a, b, direction):  # type: ignore[no-untyped-def]
    """``a + b``."""
    total = a + b
    other = total - a
    return toward(total, (a - (total - other)) + (b - other), direction)


@func
def sub(a, b, direction):  # type: ignore[no-untyped-def]
    """``a - b``."""
    return add(a, -b, direction)


@func
def mul(a, b, direction):  # type: ignore[no-untyped-def]
    """``a * b``."""
    product = a * b
    return toward(product, FMA(a, b, -product), direction)


@func
def div(a, b, direction):  # type: ignore[no-untyped-def]
    """``a / b``."""
    quotient = a / b
    rest = FMA(-quotient, b, a)
    return toward(quotient, rest if b > 0 else -rest, direction)


@func
def rcp(a, direction):  # type: ignore[no-untyped-def]
    """``1 / a``."""
    return div(a / a, a, direction)


@func
def sqrt(a, direction):  # type: ignore[no-untyped-def]
    """The square root."""
    root = math.sqrt(a)
    return toward(root, FMA(-root, root, a), direction)


@func
def narrowed(wide, direction):  # type: ignore[no-untyped-def]
    """A float64 as a float32."""
    nearest = float32(wide)
    return toward(nearest, float32(1 if wide > nearest else -1 if wide < nearest else 0), direction)


@func
def floated(number, nearest, limit, direction):  # type: ignore[no-untyped-def]
    """An integer as a float; ``nearest`` is its conversion, ``limit`` the type's maximum + 1."""
    error = -1
    if nearest < limit:  # the integer type has no value for the limit
        back = number.dtype(nearest)
        error = 1 if number > back else -1 if number < back else 0
    return toward(nearest, nearest.dtype(error), direction)


@func
def to_float32(number, limit, direction):  # type: ignore[no-untyped-def]
    """An integer as a float32."""
    return floated(number, float32(number), float32(limit), direction)


@func
def to_float64(number, limit, direction):  # type: ignore[no-untyped-def]
    """An integer as a float64."""
    return floated(number, float64(number), float64(limit), direction)

"""Inverses of the error function, by Newton's method from an estimate.

Each step squares the relative error, until rounding limits it.
"""

from __future__ import annotations

import math

from ..kernel.functions import func


@func
def erfinv(y):  # type: ignore[no-untyped-def]
    """The number whose error function is ``y``."""
    w = -math.log((1 - y) * (1 + y))
    c = 2 / (math.pi * 0.147) + (-w) / 2
    x = math.copysign(math.sqrt(math.sqrt(c * c + w / 0.147) - c), y)
    if abs(y) < 1 and y != 0:
        for _ in range(4):
            error = math.erf(x) - y
            slope = 2 / math.sqrt(math.pi) * math.exp(-x * x)
            x -= error / (slope + x * error)
    if y == 0:
        x = y
    if abs(y) == 1:
        x = y * math.inf
    return x


@func
def erfcinv(y):  # type: ignore[no-untyped-def]
    """The number whose complementary error function is ``y``."""
    near = y if y < 1 else 2 - y
    t = math.sqrt(-2 * math.log(near / 2))
    x = -0.70711 * ((2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)) - t)
    if near > 0:
        for _ in range(4):
            error = math.erfc(x) - near
            slope = 2 / math.sqrt(math.pi) * math.exp(-x * x)
            x += error / (slope - x * error)
    else:
        x = near + math.inf
    return x if y < 1 else -x


@func
def normcdfinv(p):  # type: ignore[no-untyped-def]
    """The number below which a normal variable lies with probability ``p``."""
    return -math.sqrt(2) * erfcinv(2 * p)


@func
def erfcx(x):  # type: ignore[no-untyped-def]
    """``exp(x * x) * erfc(x)``, for large ``x`` by a continued fraction."""
    result = math.exp(x * x) * math.erfc(x) if x < 5 else x
    if x >= 5:
        fraction = x
        for k in range(40, 0, -1):
            fraction = x + x.dtype(k) / 2 / fraction
        result = 1 / (fraction * math.sqrt(math.pi))
    return result

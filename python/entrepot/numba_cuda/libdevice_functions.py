"""Device functions for libdevice's names that the language has no function for."""

from __future__ import annotations

import math

import numpy as np

from ..kernel.functions import func
from ..kernel.language import float16, float32, float64, int32, int64, uint32, uint64


@func
def positive_difference(x, y):  # type: ignore[no-untyped-def]
    """``x - y``, or 0 if that is negative."""
    return x - y if x > y else (x - x) * (y - y)


@func
def normcdf(x):  # type: ignore[no-untyped-def]
    """Distribution function of the normal distribution."""
    return math.erfc(-x * math.sqrt(0.5)) / 2


@func
def rounded(x):  # type: ignore[no-untyped-def]
    """The nearest integer, halves away from zero."""
    below = np.floor(abs(x))
    return math.copysign(below + 1 if abs(x) - below >= 0.5 else below, x)


@func
def sinpi(x):  # type: ignore[no-untyped-def]
    """Sine of ``x`` times pi."""
    return math.sin(math.pi * np.fmod(x, 2))


@func
def cospi(x):  # type: ignore[no-untyped-def]
    """Cosine of ``x`` times pi."""
    return math.cos(math.pi * np.fmod(x, 2))


@func
def sincos(x):  # type: ignore[no-untyped-def]
    """Sine and cosine."""
    return math.sin(x), math.cos(x)


@func
def sincospi(x):  # type: ignore[no-untyped-def]
    """Sine and cosine of ``x`` times pi."""
    return sinpi(x), cospi(x)


@func
def saturate(x):  # type: ignore[no-untyped-def]
    """``x`` between 0 and 1; 0 for nan."""
    return min(max(x, x * 0), x * 0 + 1) if x == x else float32(0)


@func
def signbit(x):  # type: ignore[no-untyped-def]
    """1 if the sign is negative, also of zero."""
    return int32(1) if math.copysign(1.0, x) < 0 else int32(0)


@func
def ilogb(x):  # type: ignore[no-untyped-def]
    """Exponent of two, as an integer."""
    _, exponent = math.frexp(x)
    return int32(exponent - 1)


@func
def logb(x):  # type: ignore[no-untyped-def]
    """Exponent of two, as a float."""
    _, exponent = math.frexp(x)
    return x * 0 + (exponent - 1)


@func
def halved(x, y):  # type: ignore[no-untyped-def]
    """The mean of two integers, rounded down, which does not overflow."""
    return (x & y) + ((x ^ y) >> 1)


@func
def halved_up(x, y):  # type: ignore[no-untyped-def]
    """The mean of two integers, rounded up, which does not overflow."""
    return (x | y) - ((x ^ y) >> 1)


@func
def high32(x, y):  # type: ignore[no-untyped-def]
    """The upper half of the product of two integers that were widened to 64 bits."""
    return (x * y) >> 32


@func
def high64(x, y):  # type: ignore[no-untyped-def]
    """The upper half of the product of two uint64."""
    mask = uint64(0xFFFFFFFF)
    low = (x & mask) * (y & mask)
    first = (x >> 32) * (y & mask) + (low >> 32)
    second = (x & mask) * (y >> 32) + (first & mask)
    return (x >> 32) * (y >> 32) + (first >> 32) + (second >> 32)


@func
def signed_high64(x, y):  # type: ignore[no-untyped-def]
    """The upper half of the product of two int64."""
    high = int64(high64(uint64(x), uint64(y)))
    return high - (y if x < 0 else int64(0)) - (x if y < 0 else int64(0))


@func
def low24(x, y):  # type: ignore[no-untyped-def]
    """The product of the lower 24 bits."""
    return ((x << 8) >> 8) * ((y << 8) >> 8)


@func
def difference(x, y, z):  # type: ignore[no-untyped-def]
    """``|x - y| + z``."""
    return (x - y if x > y else y - x) + z


@func
def power(x, n):  # type: ignore[no-untyped-def]
    """``x`` to an integer power."""
    return x ** (x * 0 + n)


@func
def half_as_float(bits):  # type: ignore[no-untyped-def]
    """The float16 with these bits, as a float32."""
    return float32(bits.view(float16))


@func
def high_word(x):  # type: ignore[no-untyped-def]
    """The upper 32 bits of a float64."""
    return int32(x.view(int64) >> 32)


@func
def low_word(x):  # type: ignore[no-untyped-def]
    """The lower 32 bits of a float64."""
    return int32(uint32(x.view(uint64)))


@func
def joined_words(high, low):  # type: ignore[no-untyped-def]
    """The float64 of two words."""
    return ((uint64(uint32(high)) << 32) | uint64(uint32(low))).view(float64)


@func
def permuted_bytes(x, y, selector):  # type: ignore[no-untyped-def]
    """Four of the eight bytes of ``y`` and ``x``; bit 3 of a selector repeats the byte's sign."""
    both = (uint64(y) << 32) | uint64(x)
    result = uint32(0)
    for place in range(4):
        chosen = (selector >> uint32(4 * place)) & uint32(0xF)
        byte = uint32(both >> uint64(8 * (chosen & uint32(7)))) & uint32(0xFF)
        if chosen >= 8:
            byte = uint32(0xFF) if byte >= 0x80 else uint32(0)
        result |= byte << uint32(8 * place)
    return result


@func
def remainder_and_quotient(x, y):  # type: ignore[no-untyped-def]
    """IEEE 754's remainder, and the nearest integer to ``x / y``."""
    rest = math.remainder(x, y)
    return rest, int32(int64(np.rint((x - rest) / y)))

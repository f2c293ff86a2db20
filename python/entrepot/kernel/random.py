"""Random numbers in kernels: Philox 4x32-10, a counter-based generator without state.

A number depends on its arguments alone, so every device and every range of work-items has the same
numbers. The functions are device functions: kernels and other device functions call them, as
``random.uniform(seed, i, draw)``. The seed is the key of the generator, of 64 bits. The id is the
sequence, of 64 bits: most often the index of an element, or of a work-item. The draw is the
number's place in the sequence, of 32 bits: 0, 1, 2, …

The generator is from J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random
numbers: as easy as 1, 2, 3", SC11. Its key is the seed, and its counter consists of the id, the
draw and the purpose of the number.

Examples
--------
>>> from entrepot import kernel as ek
>>> from entrepot.kernel import random
>>> @ek.kernel
... def roll(dice, seed):
...     i = ek.get_global_id(0)
...     dice[i] = random.integers(seed, i, 0, 1, 7)
>>> dice = ep.zeros(6, "int64", device="host")
>>> roll[6](dice, 2026).wait()
>>> dice.numpy().tolist()
[1, 3, 5, 1, 5, 3]
"""

from __future__ import annotations

import math

from .functions import func
from .language import float32, float64, int64, uint32, uint64

__all__ = [
    "integers",
    "normal",
    "normal_float32",
    "philox",
    "uniform",
    "uniform_float32",
]

# Values of the counter's last word, so that functions of one draw share no bits. ``integers``
# counts its rejected blocks from the third on.
_UNIFORM, _NORMAL, _INTEGERS = 0, 1, 2

_TWO_PI = 2 * math.pi
_OF_24_BITS, _OF_32_BITS, _OF_53_BITS = 2.0**-24, 2.0**-32, 2.0**-53


@func
def philox(counter0, counter1, counter2, counter3, key0, key1):  # type: ignore[no-untyped-def]
    """Return four random words of 32 bits for a counter and a key, by Philox 4x32-10.

    Parameters
    ----------
    counter0, counter1, counter2, counter3 : int
        The words of the counter, the least significant word first. Each is converted to uint32.
    key0, key1 : int
        The words of the key, the least significant word first. Each is converted to uint32.

    Returns
    -------
    tuple of uint32
        Four words, the same on every device.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> from entrepot.kernel import random
    >>> @ek.kernel
    ... def words(out):
    ...     out[0], out[1], out[2], out[3] = random.philox(0, 0, 0, 0, 0, 0)
    >>> out = ep.zeros(4, "uint32", device="host")
    >>> words[1](out).wait()
    >>> [hex(word) for word in out.numpy().tolist()]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    x0, x1, x2, x3 = uint32(counter0), uint32(counter1), uint32(counter2), uint32(counter3)
    k0, k1 = uint32(key0), uint32(key1)
    for _ in range(10):
        product0 = uint64(x0) * 0xD2511F53
        product1 = uint64(x2) * 0xCD9E8D57
        x0, x1, x2, x3 = (
            uint32(product1 >> 32) ^ x1 ^ k0,
            uint32(product1 & 0xFFFFFFFF),
            uint32(product0 >> 32) ^ x3 ^ k1,
            uint32(product0 & 0xFFFFFFFF),
        )
        k0 += 0x9E3779B9
        k1 += 0xBB67AE85
    return x0, x1, x2, x3


@func
def _block(seed, id, draw, purpose):  # type: ignore[no-untyped-def]
    """Two words of 64 bits."""
    key, counter = uint64(seed), uint64(id)
    a, b, c, d = philox(
        uint32(counter & 0xFFFFFFFF),
        uint32(counter >> 32),
        uint32(uint64(draw) & 0xFFFFFFFF),
        uint32(purpose),
        uint32(key & 0xFFFFFFFF),
        uint32(key >> 32),
    )
    return uint64(a) << 32 | uint64(b), uint64(c) << 32 | uint64(d)


@func
def uniform(seed, id, draw):  # type: ignore[no-untyped-def]
    """Return a float64 that is uniform in [0, 1).

    Parameters
    ----------
    seed : int
        The key of the generator, of 64 bits.
    id : int
        The sequence, of 64 bits: most often the index of an element, or of a work-item.
    draw : int
        The number's place in the sequence, of 32 bits: 0, 1, 2, …

    Returns
    -------
    float64
        A multiple of 2**-53, the same on every device.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> from entrepot.kernel import random
    >>> @ek.kernel
    ... def fill(out):
    ...     i = ek.get_global_id(0)
    ...     out[i] = random.uniform(1, i, 0)
    >>> out = ep.zeros(3, "float64", device="host")
    >>> fill[3](out).wait()
    >>> [round(x, 4) for x in out.numpy().tolist()]
    [0.8903, 0.672, 0.2474]
    """
    high, _ = _block(seed, id, draw, _UNIFORM)
    return float64(high >> 11) * _OF_53_BITS


@func
def uniform_float32(seed, id, draw):  # type: ignore[no-untyped-def]
    """Return a float32 that is uniform in [0, 1).

    It consists of the leading bits of ``uniform`` for the same arguments.

    Parameters
    ----------
    seed, id, draw : int
        The generator, the sequence and the place in it, as for ``uniform``.

    Returns
    -------
    float32
        A multiple of 2**-24, the same on every device.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> from entrepot.kernel import random
    >>> @ek.kernel
    ... def fill(out):
    ...     i = ek.get_global_id(0)
    ...     out[i] = random.uniform_float32(1, i, 0)
    >>> out = ep.zeros(3, "float32", device="host")
    >>> fill[3](out).wait()
    >>> [round(x, 4) for x in out.numpy().tolist()]
    [0.8903, 0.672, 0.2474]
    """
    high, _ = _block(seed, id, draw, _UNIFORM)
    return float32(high >> 40) * _OF_24_BITS


@func
def normal(seed, id, draw):  # type: ignore[no-untyped-def]
    """Return a float64 of the standard normal distribution.

    It is found by the transform of Box and Muller, from two uniform numbers.

    Parameters
    ----------
    seed, id, draw : int
        The generator, the sequence and the place in it, as for ``uniform``.

    Returns
    -------
    float64
        A number of mean 0 and variance 1. Its last bits depend on the device's logarithm, cosine
        and square root.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> from entrepot.kernel import random
    >>> @ek.kernel
    ... def fill(out):
    ...     i = ek.get_global_id(0)
    ...     out[i] = random.normal(1, i, 0)
    >>> out = ep.zeros(3, "float64", device="host")
    >>> fill[3](out).wait()
    >>> [round(x, 4) for x in out.numpy().tolist()]
    [-0.4757, -0.2872, 0.9082]
    """
    high, low = _block(seed, id, draw, _NORMAL)
    # In (0, 1], whose logarithm is finite.
    radius = float64((high >> 11) + 1) * _OF_53_BITS
    angle = float64(low >> 11) * _OF_53_BITS
    return math.sqrt(-2 * math.log(radius)) * math.cos(_TWO_PI * angle)


@func
def normal_float32(seed, id, draw):  # type: ignore[no-untyped-def]
    """Return a float32 of the standard normal distribution.

    It is found by the transform of Box and Muller, from two uniform numbers.

    Parameters
    ----------
    seed, id, draw : int
        The generator, the sequence and the place in it, as for ``uniform``.

    Returns
    -------
    float32
        A number of mean 0 and variance 1, at most 6.7 from 0. Its last bits depend on the device's
        logarithm, cosine and square root.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> from entrepot.kernel import random
    >>> @ek.kernel
    ... def fill(out):
    ...     i = ek.get_global_id(0)
    ...     out[i] = random.normal_float32(1, i, 0)
    >>> out = ep.zeros(3, "float32", device="host")
    >>> fill[3](out).wait()
    >>> [round(x, 4) for x in out.numpy().tolist()]
    [-0.4757, -0.2872, 0.9082]
    """
    high, low = _block(seed, id, draw, _NORMAL)
    radius = float32((high >> 32) + 1) * _OF_32_BITS
    angle = float32(low >> 40) * _OF_24_BITS
    return math.sqrt(-2 * math.log(radius)) * math.cos(_TWO_PI * angle)


@func
def _high_product(x, y):  # type: ignore[no-untyped-def]
    """The upper 64 bits of the product of two uint64."""
    x0, x1, y0, y1 = x & 0xFFFFFFFF, x >> 32, y & 0xFFFFFFFF, y >> 32
    middle = x1 * y0 + (x0 * y0 >> 32)
    return x1 * y1 + (middle >> 32) + ((middle & 0xFFFFFFFF) + x0 * y1 >> 32)


@func
def integers(seed, id, draw, low, high):  # type: ignore[no-untyped-def]
    """Return an integer that is uniform from ``low`` to ``high - 1``.

    All integers of the interval are equally likely.

    Parameters
    ----------
    seed, id, draw : int
        The generator, the sequence and the place in it, as for ``uniform``.
    low : int
        The least integer, of int64.
    high : int
        One more than the greatest integer, of int64.

    Returns
    -------
    int64
        The integer, the same on every device. It is ``low`` if ``high`` is not greater.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> from entrepot.kernel import random
    >>> @ek.kernel
    ... def fill(out):
    ...     i = ek.get_global_id(0)
    ...     out[i] = random.integers(1, i, 0, -500, 500)
    >>> out = ep.zeros(3, "int64", device="host")
    >>> fill[3](out).wait()
    >>> out.numpy().tolist()
    [-313, -326, -289]
    """
    first, last = int64(low), int64(high)
    if last <= first:
        return first
    count = uint64(last) - uint64(first)
    first_word, second_word = _block(seed, id, draw, _INTEGERS)
    # D. Lemire, "Fast random integer generation in an interval", 2019. The upper half of the
    # product is the number. The least 2**64 % count lower halves are rejected, so that all numbers
    # are equally likely.
    if first_word * count < count:
        excess = (uint64(0) - count) % count
        block = _INTEGERS
        while first_word * count < excess:
            first_word = second_word
            if first_word * count < excess:
                block += 1
                first_word, second_word = _block(seed, id, draw, block)
    return int64(uint64(first) + _high_product(first_word, count))

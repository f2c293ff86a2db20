"""Reference of ``entrepot.kernel.random``: Philox 4x32-10 in integers of Python."""

from __future__ import annotations

MASK = 0xFFFFFFFF


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Four words for a counter and a key."""
    (a, b, c, d), (k, m) = counter, key
    for _ in range(10):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (q >> 32) ^ b ^ k, q & MASK, (p >> 32) ^ d ^ m, p & MASK
        k, m = (k + 0x9E3779B9) & MASK, (m + 0xBB67AE85) & MASK
    return [a, b, c, d]


def block(seed: int, id: int, draw: int, purpose: int) -> tuple[int, int]:
    seed, id = seed % 2**64, id % 2**64
    a, b, c, d = philox([id & MASK, id >> 32, draw & MASK, purpose], [seed & MASK, seed >> 32])
    return a << 32 | b, c << 32 | d


def integer(seed: int, id: int, draw: int, low: int, high: int) -> int:
    """``random.integers``, by products of any size."""
    count, purpose = high - low, 2
    while True:
        for word in block(seed, id, draw, purpose):
            if word * count % 2**64 >= 2**64 % count:
                return low + (word * count >> 64)
        purpose += 1

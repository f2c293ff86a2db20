"""Device functions of bits, floats and warps that the language writes in terms of others."""

from __future__ import annotations

import math

import numpy as np

from ..kernel.functions import func
from ..kernel.language import (
    Builtin,
    atomic,
    get_sub_group_local_id,
    get_sub_group_size,
    int64,
    sub_group,
    uint32,
    uint64,
)

FMA = Builtin("math.fma", "``x * y + z`` with one rounding.")


@func
def is_wide(x):  # type: ignore[no-untyped-def]
    """True if the integer has 64 bits: a shift by the width of a type gives 0."""
    return ((x - x + 1) << 32) != 0


@func
def popc32(bits):  # type: ignore[no-untyped-def]
    """Number of set bits of 32."""
    pairs = bits - ((bits >> 1) & uint32(0x55555555))
    fours = (pairs & uint32(0x33333333)) + ((pairs >> 2) & uint32(0x33333333))
    return (((fours + (fours >> 4)) & uint32(0x0F0F0F0F)) * uint32(0x01010101)) >> 24


@func
def popc64(bits):  # type: ignore[no-untyped-def]
    """Number of set bits of 64."""
    return popc32(uint32(bits)) + popc32(uint32(bits >> 32))


@func
def brev32(bits):  # type: ignore[no-untyped-def]
    """The 32 bits in reverse order."""
    ones = ((bits >> 1) & uint32(0x55555555)) | ((bits & uint32(0x55555555)) << 1)
    pairs = ((ones >> 2) & uint32(0x33333333)) | ((ones & uint32(0x33333333)) << 2)
    fours = ((pairs >> 4) & uint32(0x0F0F0F0F)) | ((pairs & uint32(0x0F0F0F0F)) << 4)
    eights = ((fours >> 8) & uint32(0x00FF00FF)) | ((fours & uint32(0x00FF00FF)) << 8)
    return (eights >> 16) | (eights << 16)


@func
def brev64(bits):  # type: ignore[no-untyped-def]
    """The 64 bits in reverse order."""
    return (uint64(brev32(uint32(bits))) << 32) | uint64(brev32(uint32(bits >> 32)))


@func
def clz32(bits):  # type: ignore[no-untyped-def]
    """Number of zero bits above the highest set one; 32 for 0."""
    filled = bits | (bits >> 1)
    filled = filled | (filled >> 2)
    filled = filled | (filled >> 4)
    filled = filled | (filled >> 8)
    filled = filled | (filled >> 16)
    return uint32(32) - popc32(filled)


@func
def clz64(bits):  # type: ignore[no-untyped-def]
    """Number of zero bits above the highest set one; 64 for 0."""
    high = uint32(bits >> 32)
    return clz32(high) if high != 0 else uint32(32) + clz32(uint32(bits))


@func
def ffs64(bits):  # type: ignore[no-untyped-def]
    """Place of the lowest set bit, from 1; 0 for 0."""
    return uint32(0) if bits == 0 else popc64(bits ^ (bits - 1))


@func
def popc(x):  # type: ignore[no-untyped-def]
    """Number of set bits."""
    return popc64(uint64(x)) if is_wide(x) else popc32(uint32(x))


@func
def clz(x):  # type: ignore[no-untyped-def]
    """Number of zero bits above the highest set one."""
    return clz64(uint64(x)) if is_wide(x) else clz32(uint32(x))


@func
def brev(x):  # type: ignore[no-untyped-def]
    """The bits in reverse order, in the type of ``x``."""
    return (x - x) + (brev64(uint64(x)) if is_wide(x) else uint64(brev32(uint32(x))))


@func
def ffs(x):  # type: ignore[no-untyped-def]
    """Place of the lowest set bit, from 1; 0 for 0."""
    return ffs64(uint64(x))


@func
def atomic_inc(array, index, limit):  # type: ignore[no-untyped-def]
    """Adds 1, or stores 0 at ``limit`` or above."""
    old = atomic.load(array, index)
    seen = atomic.compare_exchange(array, index, old, old + 1 if old < limit else old - old)
    while seen != old:
        old = seen
        seen = atomic.compare_exchange(array, index, old, old + 1 if old < limit else old - old)
    return old


@func
def atomic_dec(array, index, limit):  # type: ignore[no-untyped-def]
    """Subtracts 1, or stores ``limit`` at 0 or above ``limit``."""
    bound = array.dtype(limit)
    old = atomic.load(array, index)
    seen = atomic.compare_exchange(array, index, old, bound if old == 0 or old > bound else old - 1)
    while seen != old:
        old = seen
        seen = atomic.compare_exchange(
            array, index, old, bound if old == 0 or old > bound else old - 1
        )
    return old


@func
def atomic_nanmax(array, index, value):  # type: ignore[no-untyped-def]
    """Stores the larger one of the element and the value; nan counts as missing."""
    given = array.dtype(value)
    old = atomic.load(array, index)
    while given == given and (old != old or given > old):
        seen = atomic.compare_exchange(array, index, old, given)
        if seen == old or (seen != seen and old != old):
            return old
        old = seen
    return old


@func
def atomic_nanmin(array, index, value):  # type: ignore[no-untyped-def]
    """Stores the smaller one of the element and the value; nan counts as missing."""
    given = array.dtype(value)
    old = atomic.load(array, index)
    while given == given and (old != old or given < old):
        seen = atomic.compare_exchange(array, index, old, given)
        if seen == old or (seen != seen and old != old):
            return old
        old = seen
    return old


@func
def match_any(mask, value):  # type: ignore[no-untyped-def]
    """The lanes of the mask whose values equal this lane's."""
    found = uint64(0)
    size = get_sub_group_size()
    for lane in range(32):
        other = sub_group.shuffle(value, min(lane, size - 1))
        if lane < size and other == value:
            found |= uint64(1) << uint64(lane)
    return uint32(found & uint64(mask))


@func
def match_all(mask, value):  # type: ignore[no-untyped-def]
    """The mask and True if all of its lanes have this value; else 0 and False."""
    lane = get_sub_group_local_id()
    taken = (uint64(mask) >> uint64(lane)) & uint64(1)
    first = int64(ffs64(uint64(mask))) - 1
    leading = sub_group.shuffle(value, first)
    same = sub_group.all(taken == 0 or leading == value)
    return (uint32(mask) if same else uint32(0)), same


@func
def all_equal(is_named, predicate):  # type: ignore[no-untyped-def]
    """1 if the predicates of all named lanes are equally true, else 0."""
    # Both votes are taken by all lanes.
    every = sub_group.all(predicate or not is_named)
    none = sub_group.all(not predicate or not is_named)
    return 1 if every or none else 0


@func
def rsqrt(x):  # type: ignore[no-untyped-def]
    """Reciprocal of the square root."""
    return 1 / math.sqrt(x)


@func
def rcbrt(x):  # type: ignore[no-untyped-def]
    """Reciprocal of the cube root."""
    return 1 / np.cbrt(x)


@func
def exp10(x):  # type: ignore[no-untyped-def]
    """Ten to the power of ``x``."""
    return 10.0**x

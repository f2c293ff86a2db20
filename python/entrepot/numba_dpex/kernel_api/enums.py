"""Enumerations of memory orders, scopes and address spaces, with the numbers of SYCL's.

A kernel takes a member where a name of ``entrepot.kernel`` is expected, and as an int elsewhere.
"""

from __future__ import annotations

from enum import IntEnum


class FlagEnum(IntEnum):
    """Base class of the enumerations."""

    @classmethod
    def basetype(cls) -> int:
        """An int, the type of the members."""
        return 0


class MemoryOrder(FlagEnum):
    """Memory orders of atomics and fences. A kernel refuses CONSUME_UNSUPPORTED."""

    RELAXED = 0
    ACQUIRE = 1
    CONSUME_UNSUPPORTED = 2
    RELEASE = 3
    ACQ_REL = 4
    SEQ_CST = 5


class MemoryScope(FlagEnum):
    """The work-items that observe the order of an atomic operation or a fence."""

    WORK_ITEM = 0
    SUB_GROUP = 1
    WORK_GROUP = 2
    DEVICE = 3
    SYSTEM = 4


class AddressSpace(FlagEnum):
    """Address spaces of AtomicRef. The compiler knows that of an array, and checks it."""

    PRIVATE = 0
    GLOBAL = 1
    CONSTANT = 2
    LOCAL = 3
    GENERIC = 4

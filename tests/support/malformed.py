"""Values of every kind, and false interface dicts of every protocol, for tests of bad input."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st


class Speaker:
    """An object with the given dict as its attribute, which keeps the dict's memory alive."""

    def __init__(self, attribute: str, interface: object, keep: object = None) -> None:
        setattr(self, attribute, interface)
        self.keep = keep


class Hostile:
    """Raises ``ValueError`` in ``__index__``, ``__bool__`` and ``__repr__``."""

    def __index__(self) -> int:
        raise ValueError("no index")

    def __bool__(self) -> bool:
        raise ValueError("no truth")

    def __repr__(self) -> str:
        raise ValueError("no repr")


MISSING = object()

INTEGERS = st.one_of(
    st.integers(-3, 70),
    st.sampled_from(
        [2**31, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**70, -(2**63), -(2**63) - 1]
    ),
)
JUNK = st.one_of(
    st.none(),
    st.just(MISSING),
    INTEGERS,
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.builds(Hostile),
    st.lists(st.one_of(INTEGERS, st.floats(), st.text(max_size=2), st.builds(Hostile)), max_size=5),
    st.lists(INTEGERS, max_size=70).map(tuple),
    st.dictionaries(st.text(max_size=2), INTEGERS, max_size=2),
)
TYPESTRS = st.one_of(
    st.sampled_from(
        [
            "<f4",
            ">f4",
            "=f4",
            "|f4",
            "<f16",
            "|O8",
            "|V8",
            "<M8[s]",
            "|S3",
            "<U2",
            "|t1",
            "f4",
            "<f",
            "<f4x",
            "\ud800",
        ]
    ),
    st.text(max_size=6),
)


def signed(bits: int) -> st.SearchStrategy[int]:
    return INTEGERS.map(lambda n: (n + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1))


def unsigned(bits: int) -> st.SearchStrategy[int]:
    return INTEGERS.map(lambda n: n % 2**bits)


# Fields of a two-dimensional object. A larger, allowed number of dimensions would make the consumer
# read past the shape, which no consumer can detect.
_DIMENSIONS = signed(32).filter(lambda n: not 2 < n <= 64)
_PAIR = st.none() | st.tuples(signed(64), signed(64))

Fields = st.SearchStrategy[dict[str, Any]]

#: Fields of the struct behind ``__array_struct__``.
STRUCT_FIELDS: Fields = st.fixed_dictionaries(
    {},
    optional={
        "two": signed(32),
        "nd": _DIMENSIONS,
        "typekind": st.binary(min_size=1, max_size=1),
        "itemsize": signed(32),
        "flags": st.integers(0, 0xFFFF),
        "shape": _PAIR,
        "strides": _PAIR,
        "data": st.none() | unsigned(64),
    },
)
#: Fields of a ``tensors.Producer``.
TENSOR_FIELDS: Fields = st.fixed_dictionaries(
    {},
    optional={
        "ndim": _DIMENSIONS,
        "shape": _PAIR,
        "strides": _PAIR,
        "dtype": st.tuples(st.integers(0, 255), st.integers(0, 255), st.integers(0, 65535)),
        "device": st.tuples(st.integers(-3, 25), signed(32)),
        "byte_offset": unsigned(64),
        "flags": st.integers(0, 2**64 - 1),
        "version": st.tuples(st.integers(0, 3), st.integers(0, 2**32 - 1)),
        "null_deleter": st.booleans(),
    },
)
#: Fields of a ``buffers.Exporter``.
BUFFER_FIELDS: Fields = st.fixed_dictionaries(
    {},
    optional={
        "ndim": _DIMENSIONS,
        "shape": _PAIR,
        "strides": _PAIR,
        "suboffsets": _PAIR,
        "format": st.none()
        | st.binary(max_size=4)
        | st.sampled_from([b"@f", b">f", b"4f", b"T{f:x:}", b"O", b"Zf", b"&f"]),
        "itemsize": signed(64),
        "length": signed(64),
        "read_only": signed(32),
    },
)


def malformed(valid: dict[str, object]) -> st.SearchStrategy[dict[str, object]]:
    """The valid dict with one to three of its entries replaced or removed."""
    change = st.one_of(
        *(st.tuples(st.just(key), TYPESTRS | JUNK if key == "typestr" else JUNK) for key in valid),
        st.tuples(st.just("data"), st.tuples(JUNK, JUNK)),
        st.tuples(st.just("data"), st.tuples(INTEGERS, st.booleans())),
        st.tuples(st.just("shape"), st.lists(INTEGERS, max_size=4).map(tuple)),
        st.tuples(st.just("strides"), st.lists(INTEGERS, max_size=4).map(tuple)),
    )

    def apply(changes: list[tuple[str, object]]) -> dict[str, object]:
        result = dict(valid)
        for key, value in changes:
            if value is MISSING:
                result.pop(key, None)
            else:
                result[key] = value
        return result

    return st.lists(change, min_size=1, max_size=3).map(apply)


def references_stay(action: Callable[[], object], *objects: object) -> None:
    """Runs the action and checks that it has kept none of the objects.

    Shared values such as None and small numbers are not checked.
    """
    shared = (int, float, str, bytes, type(None))
    empty: tuple[()] = ()
    objects = tuple(each for each in objects if not isinstance(each, shared) and each is not empty)
    before = [sys.getrefcount(each) for each in objects]
    action()
    if [sys.getrefcount(each) for each in objects] != before:
        gc.collect()  # a traceback that was held in a cycle
    assert [sys.getrefcount(each) for each in objects] == before

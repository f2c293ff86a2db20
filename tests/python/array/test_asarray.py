"""The messages of asarray() for objects that are not arrays."""

from __future__ import annotations

import pytest

import entrepot as ep


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            [1, 2],
            r"^a list holds no memory that can be viewed; make an array of it, as in "
            r"numpy\.asarray\(x\)$",
        ),
        (
            3,
            r"^an int holds no memory that can be viewed; make an array of it, as in "
            r"numpy\.asarray\(x\)$",
        ),
        (None, r"^None holds no memory that can be viewed; pass an array$"),
        (
            {},
            r"^a dict holds no memory that can be viewed: it speaks none of .*; make an array of "
            r"it with the library",
        ),
    ],
)
def test_asarray_error_lists_accepted_objects(value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ep.asarray(value)

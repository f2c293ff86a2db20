"""``==`` and ``!=`` of Arrays: identity among Arrays, else TypeError with advice."""

from __future__ import annotations

from unittest import mock

import pytest

import entrepot as ep
from support.places import Place, every_place


@every_place
def test_array_equals_itself_and_no_other_array(place: Place) -> None:
    array = ep.full(3, 7, "int32", device=place.device, kind=place.kind)
    same_memory = array[:]
    assert array == array
    assert not array != array
    assert array != same_memory
    assert not array == same_memory


@every_place
@pytest.mark.parametrize(
    "other", [3, 3.0, 3j, True, "x", b"x", (3,), [3], {}, object(), ep.Scalar(3, "int32")]
)
def test_comparison_with_no_array_raises_with_remedy(place: Place, other: object) -> None:
    array = ep.full(3, 3, "int32", device=place.device, kind=place.kind)
    remedy = r"numpy\.asarray\(array\)"
    kind = type(other).__name__
    with pytest.raises(TypeError, match=rf"Array == {kind}.*{remedy} == .*kernel"):
        array == other  # noqa: B015
    with pytest.raises(TypeError, match=rf"Array != {kind}.*{remedy} != .*kernel"):
        array != other  # noqa: B015
    with pytest.raises(TypeError, match=rf"Array == {kind}"):
        other == array  # noqa: B015


def test_comparison_with_none_names_is() -> None:
    array = ep.zeros(1, "int32")
    with pytest.raises(TypeError, match="`array is None`"):
        array == None  # noqa: B015, E711
    with pytest.raises(TypeError, match="`array is not None`"):
        array != None  # noqa: B015, E711


def test_array_is_a_key_and_is_found_in_lists() -> None:
    first, second = ep.zeros(2, "int32"), ep.zeros(2, "int32")
    assert {first: 1, second: 2}[second] == 2
    assert hash(first) == hash(first)
    assert second in [first, second]
    assert [first, second].index(second) == 1
    assert first not in [second]
    assert len({first, second, first[:]}) == 3
    with pytest.raises(TypeError, match="Array == int"):
        assert 3 in [first]


def test_reflected_comparison_is_used() -> None:
    array = ep.zeros(2, "int32")
    assert array == mock.ANY
    assert mock.ANY == array
    assert not array != mock.ANY


def test_error_of_other_comparison_passes_through() -> None:
    class Raises:
        def __eq__(self, other: object) -> bool:
            raise LookupError("mine")

        __hash__ = None  # type: ignore[assignment]

    with pytest.raises(LookupError, match="mine"):
        ep.zeros(2, "int32") == Raises()  # noqa: B015


@pytest.mark.numpy
def test_numpy_compares_elements() -> None:
    import numpy as np

    array = ep.asarray(np.arange(3))
    assert (array == np.arange(3)).tolist() == [True] * 3
    assert (array != np.array([0, 9, 2])).tolist() == [False, True, False]
    assert (np.asarray(array) == 2).tolist() == [False, False, True]


@pytest.mark.torch
def test_advised_conversion_to_torch_keeps_shape() -> None:
    import torch

    array = ep.full((2, 3), 3, "int32", device="host")
    with pytest.raises(TypeError, match=r"torch\.from_dlpack\(array\) == value"):
        array == 3  # noqa: B015
    assert (torch.from_dlpack(array) == 3).tolist() == [[True] * 3] * 2


@pytest.mark.cuda
@pytest.mark.torch
def test_advised_conversion_to_torch_takes_cuda_memory() -> None:
    import torch

    array = ep.full((2, 3), 3, "int32", device="cuda:0")
    assert (torch.from_dlpack(array) == 3).tolist() == [[True] * 3] * 2


def test_order_of_arrays_is_refused() -> None:
    with pytest.raises(TypeError, match="'<' not supported"):
        ep.zeros(2, "int32") < ep.zeros(2, "int32")  # type: ignore[operator]  # noqa: B015

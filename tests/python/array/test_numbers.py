"""One element as Python's number: item(), float(), int(), bool(), complex(), wherever the memory
is.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import entrepot as ep
from support.places import Place, every_place

VALUES = [
    ("bool", True),
    ("int8", -128),
    ("uint8", 255),
    ("int16", -(2**15)),
    ("uint16", 2**16 - 1),
    ("int32", -(2**31)),
    ("uint32", 2**32 - 1),
    ("int64", -(2**63)),
    ("uint64", 2**64 - 1),
    ("float16", -1.5),
    ("bfloat16", 2.0**100),
    ("float32", 0.1),
    ("float64", 0.1),
    ("complex64", 1.5 - 2j),
    ("complex128", 0.1 + 0.2j),
]


@pytest.mark.parametrize(("dtype", "value"), VALUES)
@every_place
def test_element_has_its_stored_number(place: Place, dtype: str, value: complex) -> None:
    array = ep.full((2, 3), value, dtype, device=place.device, kind=place.kind)
    found = array[1, 2].item()
    assert type(found) is type(value)
    assert found == pytest.approx(value, rel=1e-7 if dtype == "float32" else 0)


@every_place
def test_python_conversions_read_the_element(place: Place) -> None:
    array = ep.full(1, 2.75, "float32", device=place.device, kind=place.kind)
    assert (float(array), int(array), bool(array), complex(array)) == (2.75, 2, True, 2.75)
    ep.fill(array, 0)
    assert not array
    assert complex(ep.full(1, 1 - 2j, "complex64", device=place.device, kind=place.kind)) == 1 - 2j


@pytest.mark.sycl
def test_item_waits_for_pending_work() -> None:
    array = ep.zeros(1 << 22, "int32", device="opencl:cpu", kind="device")
    ep.fill(array, 7)
    assert array[-1].item() == 7


@pytest.mark.parametrize("ask", [ep.Array.item, float, int, bool, complex])
@pytest.mark.parametrize("shape", [(), (2,), (0,), (1, 1, 1)])
def test_conversion_needs_one_element(
    ask: Callable[[ep.Array], object], shape: tuple[int, ...]
) -> None:
    array = ep.zeros(shape, "int32")
    if array.size == 1:
        assert ask(array) == 0
        return
    with pytest.raises(
        ValueError, match=f"an array of {array.size} elements cannot be converted to a number"
    ):
        ask(array)


def test_dtype_without_a_python_number_is_refused() -> None:
    array = ep.asarray(bytes(1)).view("float8_e4m3fn")
    with pytest.raises(ep.ExchangeError, match="Python has no number for float8_e4m3fn"):
        array.item()
    assert array.view("uint8").item() == 0


def test_scalar_repr_round_trips() -> None:
    for scalar in (
        ep.Scalar(1.5, "float32"),
        ep.Scalar(-3, "int64"),
        ep.Scalar(1j, "complex64"),
        ep.Scalar(True, "bool"),
    ):
        again = eval(repr(scalar), {"Scalar": ep.Scalar})
        assert (again.value, again.dtype) == (scalar.value, scalar.dtype)
    assert repr(ep.Scalar(1.5, "float32")) == "Scalar(1.5, 'float32')"

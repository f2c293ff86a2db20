"""Spellings of a dtype: those of libraries, and similar text that is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import entrepot as ep
from entrepot._core import dtype_names

pytestmark = pytest.mark.host


class Shown:
    """An object of some module, with that text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


def of_library(text: str) -> Any:
    return type("dtype", (Shown,), {"__module__": "library.core"})(text)


@pytest.mark.parametrize("text", ["library.float32", "library.core.float32", "float32"])
def test_library_dtype_is_recognized_by_its_text(text: str) -> None:
    assert ep.Dtype(of_library(text)) == ep.Dtype("float32")


@pytest.mark.torch
def test_torch_dtype_is_equal() -> None:
    import torch

    assert ep.Dtype(torch.bfloat16) == torch.bfloat16 == ep.Dtype("bfloat16")


@pytest.mark.parametrize(
    "spelling",
    [Path("weights.float32"), Path("float32"), Shown("weights.float32"), of_library("a.float32")],
)
def test_object_with_a_dtype_name_in_its_repr_is_refused(spelling: Any) -> None:
    with pytest.raises(TypeError, match="a dtype was expected"):
        ep.empty(2, spelling)
    assert ep.Dtype("float32") != spelling


@pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError])
def test_interrupt_while_reading_a_dtype_propagates(raised: type[BaseException]) -> None:
    class Spelling:
        @property
        def name(self) -> str:
            raise raised

    with pytest.raises(raised):
        ep.Dtype(Spelling())
    with pytest.raises(raised):
        _ = ep.Dtype("float32") == Spelling()


def test_dtype_hashes_like_its_name() -> None:
    assert {ep.Dtype("float32"): 1}.get("float32") == 1  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("short", "name"),
    [
        ("b1", "bool"),
        ("u1", "uint8"),
        ("i8", "int64"),
        ("f2", "float16"),
        ("f4", "float32"),
        ("c8", "complex64"),
        ("c16", "complex128"),
    ],
)
def test_numpy_s_short_names(short: str, name: str) -> None:
    assert ep.zeros(3, short).dtype == short == ep.Dtype(name)
    assert ep.Dtype("|" + short) == ep.Dtype("<" + short) == name


@pytest.mark.parametrize("text", ["f3", "x4", "f", "4f", "f44", ""])
def test_unknown_short_name_is_refused(text: str) -> None:
    with pytest.raises(TypeError, match="is unknown"):
        ep.Dtype(text)


@pytest.mark.numpy
@pytest.mark.parametrize("name", [name for name in dtype_names if ep.Dtype(name).typestr])
def test_numpy_accepts_dtype_objects(name: str) -> None:
    import numpy as np

    dtype = ep.Dtype(name)
    assert np.zeros(3, dtype).dtype == name
    assert np.dtype(dtype) == dtype.dtype == dtype.__numpy_dtype__ == np.dtype(name)
    assert np.dtype(name) == dtype
    assert np.dtype("V3") != dtype


@pytest.mark.ml_dtypes
def test_numpy_takes_those_of_ml_dtypes() -> None:
    import ml_dtypes
    import numpy as np

    assert np.zeros(3, ep.Dtype("bfloat16")).dtype == ml_dtypes.bfloat16
    assert np.dtype(ml_dtypes.float8_e4m3fn) == ep.Dtype("float8_e4m3fn")


def test_dtype_unknown_to_numpy_has_no_numpy_attribute() -> None:
    with pytest.raises(AttributeError, match=r"no numpy\.dtype of float32x4"):
        ep.Dtype("float32x4").dtype  # noqa: B018
    assert not hasattr(ep.Dtype("float32x4"), "__numpy_dtype__")


def test_numpy_dtype_without_numpy_is_no_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(AttributeError, match=r"no numpy\.dtype of float32"):
        ep.Dtype("float32").dtype  # noqa: B018

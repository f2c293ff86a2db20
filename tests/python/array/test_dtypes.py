"""Spellings of a dtype: those of libraries, and what only looks like one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import entrepot as ep

pytestmark = pytest.mark.host


class Shown:
    """An object of somebody's module, with that text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


def of_library(text: str) -> Any:
    return type("dtype", (Shown,), {"__module__": "library.core"})(text)


@pytest.mark.parametrize("text", ["library.float32", "library.core.float32", "float32"])
def test_a_library_s_own_is_known_by_what_it_shows(text: str) -> None:
    assert ep.Dtype(of_library(text)) == ep.Dtype("float32")


@pytest.mark.torch
def test_torch_s_own() -> None:
    import torch

    assert ep.Dtype(torch.bfloat16) == torch.bfloat16 == ep.Dtype("bfloat16")


@pytest.mark.parametrize(
    "spelling", [Path("weights.float32"), Path("float32"), Shown("weights.float32"), of_library("a.float32")]
)
def test_an_object_with_such_a_name_in_it_is_none(spelling: Any) -> None:
    with pytest.raises(TypeError, match="a dtype was expected"):
        ep.empty(2, spelling)
    assert ep.Dtype("float32") != spelling


@pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError])
def test_what_the_program_ends_by_is_no_answer(raised: type[BaseException]) -> None:
    class Spelling:
        @property
        def name(self) -> str:
            raise raised

    with pytest.raises(raised):
        ep.Dtype(Spelling())
    with pytest.raises(raised):
        _ = ep.Dtype("float32") == Spelling()


def test_as_a_key_it_is_its_name() -> None:
    assert {ep.Dtype("float32"): 1}.get("float32") == 1

"""Kernels of the host by each compiler that it may have: the examples, checked against NumPy."""

from __future__ import annotations

import shutil

import pytest

from kernel.examples import EXAMPLES, texts_of

pytestmark = [pytest.mark.numpy, pytest.mark.host]


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_examples(compiler, name, monkeypatch, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    calls, listens = tmp_path / "calls", tmp_path / "listens"
    listens.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexec {compiler} "$@"\n')
    listens.chmod(0o755)
    monkeypatch.setenv("CXX", str(listens))
    monkeypatch.setenv("ENTREPOT_CACHE_DIR", str(tmp_path / "cache"))
    assert texts_of(name, "c++"), "what the kernels of the example were compiled from when they ran"
    assert calls.read_text().count(".cpp") > 0, "another compiler was asked"

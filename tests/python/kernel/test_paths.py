"""Kernels in files whose paths have special characters: quotes, line breaks, invalid UTF-8."""

from __future__ import annotations

import os
import re
import subprocess
import types
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_compiler, every_dialect
from support.modules import load_module

pytestmark = pytest.mark.numpy

TEXT = """
import entrepot.kernel as dppy


@dppy.func
def doubled(x):
    return x * 2


@dppy.kernel
def double_each(out, x):
    i = dppy.get_global_id(0)
    out[i] = doubled(x[i])


@dppy.kernel
def wrong(out):
    out[0] = out.no_such_attribute


@dppy.kernel
def outside(out, at):
    out[at] = 1
"""

NAMES = {
    "newline": "a\nb",
    "carriage return": "a\rb",
    "newline and directive": 'a"\n#error found',
    "quote": 'q"uote',
    "single quote": "it's",
    "backslash": "back\\slash\\n",
    "backslash at the end": "end\\",
    "percent": "%s %n %d%",
    "trigraph": "what??/",
    "comment": "*_ *",
    "control": "\x01\x1b[31m\x7f",
    "tab": "\t",
    "digits behind control": "\x0112",
    "unicode": "ünï\u2028\U0001f600",
    "no UTF-8": "\udcff\udc80x",
    "dollar": "$HOME `x` $(y)",
    "spaces": "  two  ",
}
every_name = pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())


@pytest.fixture
def module(name: str, tmp_path: Path) -> ModuleType:
    folder = tmp_path / name
    folder.mkdir()
    file = folder / "kernels.py"
    file.write_text(TEXT)
    return load_module(file)


def shown(path: str) -> str:
    """The path in messages: invalid UTF-8 is escaped as in Python."""
    return path.encode("utf-8", "backslashreplace").decode()


@every_dialect
@every_name
def test_kernel_in_any_folder_is_compiled(backend, module):
    (out, _) = backend.run(module.double_each, 4, None, np.zeros(4), np.arange(4.0))
    assert out.tolist() == [0, 2, 4, 6]


@every_compiler
@every_name
def test_refusal_names_the_file(backend, module):
    with pytest.raises(
        ep.KernelError, match=re.escape(f"{shown(module.__file__)}:18: ")
    ) as refusal:
        backend.launch(module.wrong, 1, None, backend.array(np.zeros(4)))
    str(refusal.value).encode()


@every_compiler
@every_name
def test_index_error_names_the_file(backend, module):
    with pytest.raises(
        IndexError, match=re.escape(f"{shown(module.__file__)}:23: index 4")
    ) as refusal:
        backend.launch(module.outside.options(debug=True), 1, None, backend.array(np.zeros(4)), 4)
    str(refusal.value).encode()


@pytest.mark.parametrize("dialect", ["c++", "opencl-c", "sycl", "cuda", "hip"])
@every_name
def test_path_is_one_line_of_the_program(dialect, module):
    source = module.double_each.source(
        dialect, signature="void(float64[:], float64[:])", device="host"
    )
    directives = [line for line in source.split("\n") if line.startswith("#line")]
    assert directives
    assert all(re.fullmatch(r'#line \d+ "[^"\\\x00-\x1f\x7f?]*"', line) for line in directives)
    assert "#error" not in [line[:6] for line in source.split("\n")]


@pytest.mark.parametrize("name", [NAMES[each] for each in ("newline and directive", "no UTF-8")])
def test_export_to_any_name_is_compiled(module, tmp_path, name):
    header = tmp_path / f"{name}.hpp"
    module.double_each.export(header, signature="void(float64[::1], float64[::1])")
    done = subprocess.run(
        ["c++", "-std=c++20", "-fsyntax-only", "-x", "c++", os.fsencode(header)],
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr


@every_name
def test_simulator_names_the_file(module):
    with pytest.raises(
        ep.KernelError, match=re.escape(f"{shown(module.__file__)}:23: work-item")
    ) as refusal:
        module.outside.simulate[1](np.zeros(4), 4)
    str(refusal.value).encode()


@every_name
def test_changed_file_is_named(module):
    function = module.wrong.function
    Path(module.__file__).write_text("\n" * 30)
    with pytest.raises(ep.KernelError, match=re.escape(shown(module.__file__))) as refusal:
        dppy.kernel(types.FunctionType(function.__code__.replace(co_name="other"), {})).source(
            "c++", signature="void(float64[:])"
        )
    str(refusal.value).encode()

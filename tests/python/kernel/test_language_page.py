"""docs/kernels/language.md lists the functions of the compiler's table, and no others.

``ENTREPOT_UPDATE_GOLDEN=1`` rewrites the list.
"""

from __future__ import annotations

import builtins
import math
import os
from pathlib import Path

import numpy as np
import pytest

from entrepot import _core

pytestmark = [pytest.mark.numpy]

PAGE = Path(__file__).resolve().parents[3] / "docs/kernels/language.md"
BEGIN, END = "<!-- functions:", "<!-- end of functions -->"

# Format is in the table for print's f-strings; a kernel cannot call it.
NOT_CALLED = {"format"}


def functions_by_module() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in _core.kernel_function_names:
        module, _, function = name.rpartition(".")
        if module in ("math", "cmath", "numpy") or (
            not module and hasattr(builtins, name) and name not in NOT_CALLED
        ):
            found.setdefault(module, []).append(function)
    return found


def table() -> str:
    titles = {"": "Python's own", "math": "`math`", "cmath": "`cmath`", "numpy": "`numpy`"}
    rows = [
        f"| {titles[module]} | {', '.join(f'`{name}`' for name in sorted(names))} |"
        for module, names in sorted(
            functions_by_module().items(), key=lambda row: list(titles).index(row[0])
        )
    ]
    return "\n".join(["| of | functions |", "|---|---|", *rows, ""])


def test_language_page_lists_the_functions():
    text = PAGE.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    comment, _, rest = rest.partition("\n")
    listed, end, after = rest.partition(END)
    assert begin and end, "the page has lost the marks of its list"
    if os.environ.get("ENTREPOT_UPDATE_GOLDEN"):
        PAGE.write_text(f"{before}{begin}{comment}\n{table()}{end}{after}", encoding="utf-8")
    else:
        assert listed == table(), "rewrite it with ENTREPOT_UPDATE_GOLDEN=1"


def test_table_has_known_functions():
    found = functions_by_module()
    assert {"abs", "range", "print"} <= set(found[""])
    assert {"sqrt", "atan2", "isnan"} <= set(found["math"])
    assert {"sqrt", "arctan2", "where"} <= set(found["numpy"])
    assert all(hasattr(np, name) for name in found["numpy"])


def test_unknown_math_function_error_lists_functions():
    import entrepot as ep
    import entrepot.kernel as dppy

    @dppy.kernel
    def unknown(a):
        a[0] = math.not_there(a[0])  # type: ignore[attr-defined]

    def not_there(x):
        return x

    not_there.__module__ = "math"
    with (
        pytest.MonkeyPatch.context() as patch,
        ep.device_context("host"),
        pytest.raises(ep.KernelError) as error,
    ):
        patch.setattr(math, "not_there", not_there, raising=False)
        unknown[1](np.zeros(1))
    names = functions_by_module()["math"]
    listed = f"of math kernels have {', '.join(names[:-1])} and {names[-1]}\n"
    assert f"there is no `math.not_there` in a kernel; {listed}" in str(error.value)

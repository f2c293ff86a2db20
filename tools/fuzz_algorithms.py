"""Random calls of the algorithms on arrays, and random numbers of kernels, against NumPy.

    python tools/fuzz_algorithms.py [--seconds 60] [--seed N] [--backend host,opencl:cpu] [--out
    FOLDER]

Exits with 1, and writes a minimized script for each such case, if a call:

- differs from NumPy, or raises an exception,
- crashes or hangs.
"""

from __future__ import annotations

import inspect
import json
import pprint
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fuzz_kernels import backends
from fuzzing import ROOT, Failure, Fuzzer, drawn, main, parser

_SCRIPT = '''"""Found by tools/fuzz_algorithms.py, {heading}.

It ends with an error while the results differ.
"""

import linecache
import sys
import types

CASE = {case}
PLACES = {places}

MODULES = {modules}
for name, text in MODULES.items():
    module = sys.modules[name] = types.ModuleType(name)
    linecache.cache[name] = len(text), None, text.splitlines(True), name  # kernels are read from it
    exec(compile(text, name, "exec"), module.__dict__)

if __name__ == "__main__":
    for place in PLACES:
        sys.modules["kernel.algorithm_cases"].check(CASE, place)
'''
#: Modules that a reproducer includes. It also needs pytest and Hypothesis.
_MODULES = {
    "kernel": None,
    "kernel.philox": "python/kernel/philox.py",
    "kernel.algorithm_cases": "python/kernel/algorithm_cases.py",
}


class Algorithms(Fuzzer):
    """A case: a call of an algorithm, and the devices to run it on."""

    name = "fuzz_algorithms"

    def __init__(self, backends: list[str], command: list[str]) -> None:
        super().__init__(command)
        self.backends = backends
        self.steps = [_with_simpler_fields, _with_plain_arrays, _with_smaller_shapes]

    def make(self, seed: int, case: int) -> dict[str, Any] | None:
        from kernel.algorithm_cases import cases

        made = drawn(cases(), seed, case)
        return None if made is None else {"call": made, "backends": self.backends}

    def run(self, case: dict[str, Any], at: Callable[[str], None]) -> list[Failure]:
        from kernel.algorithm_cases import check

        call, failures = case["call"], []
        for backend in case["backends"]:
            place = f"{call['algorithm']} on {backend}"
            at(place)
            try:
                check(call, backend)
            except Exception as error:
                first = str(error).strip().splitlines()[0] if str(error).strip() else ""
                kind = f"{type(error).__name__}: {re.sub(r'[0-9]+', 'N', first)[:60]}"
                failures.append(Failure(kind, place, f"{error}\n{json.dumps(call)}"))
        return failures

    def focus(self, case: dict[str, Any], failure: Failure) -> dict[str, Any]:
        backend = failure.place.rpartition(" ")[2]
        return case | {"backends": [backend]} if backend in case["backends"] else case

    def script(self, case: dict[str, Any], heading: str) -> str:
        texts = {
            name: (ROOT / "tests" / path).read_text() if path else ""
            for name, path in _MODULES.items()
        }
        modules = "".join(f"    {name!r}: {text!r},\n" for name, text in texts.items())
        return _SCRIPT.format(
            heading=heading,
            case=pprint.pformat(case["call"], sort_dicts=False),
            places=case["backends"],
            modules="{\n" + modules + "}",
        )


def _with_simpler_fields(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Calls without optional arguments."""
    plain = {
        "by_groups": False,
        "axis": 0,
        "out_step": 0,
        "start": None,
        "is_in_place": False,
        "is_latter": False,
        "descending": False,
        "weights": None,
        "range": None,
        "check": True,
        "function": "add",
        "segments": 1,
        "bins": 1,
    }
    call = case["call"]
    for field, value in plain.items():
        if field in call and call[field] != value:
            yield case | {"call": call | {field: value}}


def _with_array(case: dict[str, Any], **changes: Any) -> dict[str, Any]:
    call = case["call"]
    return case | {"call": call | {"array": call["array"] | changes}}


def _with_plain_arrays(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    array = case["call"].get("array")
    if array is None:
        return
    if set(array["steps"]) - {1}:
        yield _with_array(case, steps=[1] * len(array["steps"]))
    for field, value in (("is_transposed", False), ("is_numpy", False), ("dtype", "i8")):
        if array[field] != value:
            yield _with_array(case, **{field: value})


def _with_smaller_shapes(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    array = case["call"].get("array")
    if array is None:
        return
    shape = array["shape"]
    for at, extent in enumerate(shape):
        for smaller in sorted({1, extent // 2, extent - 1} - {extent, -1}):
            yield _with_array(case, shape=[*shape[:at], smaller, *shape[at + 1 :]])


if __name__ == "__main__":
    options = parser(inspect.cleandoc(__doc__ or "").splitlines()[0])
    options.add_argument(
        "--backend", default="", help="devices, as in host,opencl:cpu; one of each by default"
    )
    chosen = options.parse_args()
    places = backends(chosen.backend)
    command = [str(Path(__file__)), "--backend", ",".join(places)]
    sys.exit(main(Algorithms(places, command), chosen))

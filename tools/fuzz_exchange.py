"""Random objects of the exchange's protocols, true and false ones, with NumPy's view of the same
bytes as the oracle.

    python tools/fuzz_exchange.py [--seconds 60] [--seed N] [--out FOLDER]

Exits with 1, and writes a minimized script for each such case, if an import or export:

- differs from NumPy, refuses valid input, or raises an undocumented exception,
- calls a deleter too early, twice or never, or leaks,
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

from fuzzing import ROOT, Failure, Fuzzer, drawn, main, parser

#: Modules that a reproducer includes, each before those that import it. It also needs pytest and
#: Hypothesis.
_MODULES = {
    "support": None,
    "support.malformed": "support/malformed.py",
    "support.array_structs": "support/array_structs.py",
    "support.buffers": "support/buffers.py",
    "support.tensors": "support/tensors.py",
    "support.tables": "support/tables.py",
    "support.places": "support/places.py",
    "contract": None,
    "contract.protocols": "contract/protocols.py",
    "contract.cases": "contract/cases.py",
}

_SCRIPT = '''"""Found by tools/fuzz_exchange.py, {heading}. Ends with an error while it is there."""

import sys
import types

CASE = {case}

MODULES = {modules}
for name, text in MODULES.items():
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)

if __name__ == "__main__":
    sys.modules["contract.cases"].check(CASE)
'''


class Exchange(Fuzzer):
    name = "fuzz_exchange"
    patience = 30.0

    def __init__(self, command: list[str]) -> None:
        super().__init__(command)
        self.steps = [_with_less, _with_smaller_shapes, _with_plain_values]

    def make(self, seed: int, case: int) -> dict[str, Any] | None:
        from contract.cases import cases

        return drawn(cases(), seed, case)

    def run(self, case: dict[str, Any], at: Callable[[str], None]) -> list[Failure]:
        from contract.cases import check

        place = f"{case['protocol']} in {case['place']}"
        at(place)
        try:
            check(case)
        except Exception as error:
            first = str(error).splitlines()[0] if str(error) else ""
            words = f"{type(error).__name__}: {re.sub(r'-?[0-9]+', 'N', first)[:60]}"
            return [Failure(words, place, f"{error}\n{json.dumps(case)}")]
        return []

    def script(self, case: dict[str, Any], heading: str) -> str:
        texts = {
            name: (ROOT / "tests" / path).read_text() if path else ""
            for name, path in _MODULES.items()
        }
        modules = "".join(
            f"    {name!r}: r'''{_embedded(text)}''',\n" for name, text in texts.items()
        )
        return _SCRIPT.format(
            heading=heading,
            case=pprint.pformat(case, sort_dicts=False),
            modules="{\n" + modules + "}",
        )


def _embedded(text: str) -> str:
    if "'''" in text:
        raise ValueError("a module that reproducers carry along has three single quotes in a row")
    return text


def _with_less(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Removes entries of lists and dicts, including true and false fields."""
    for field in ("exports", "after", "layout"):
        for at in reversed(range(len(case[field]))):
            yield case | {field: case[field][:at] + case[field][at + 1 :]}
    for field in ("malformed", "asks"):
        for name in case[field] if len(case[field]) > 1 else ():
            yield case | {field: {key: value for key, value in case[field].items() if key != name}}
    for at, (how, asks) in enumerate(case["exports"]):
        for name in asks:
            fewer = {key: value for key, value in asks.items() if key != name}
            yield case | {
                "exports": [*case["exports"][:at], [how, fewer], *case["exports"][at + 1 :]]
            }
    if case["imports"] > 1:
        yield case | {"imports": 1}
    if case["read_only"]:
        yield case | {"read_only": False}


def _with_smaller_shapes(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    shape = case["shape"]
    for at, extent in enumerate(shape):
        if not case["malformed"]:
            yield case | {"shape": shape[:at] + shape[at + 1 :]}
        for smaller in {1, extent // 2, extent - 1} - {extent, -1}:
            yield case | {"shape": [*shape[:at], smaller, *shape[at + 1 :]]}


def _with_plain_values(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if case["order"]:
        yield case | {"order": 0}
    if case["dtype"] != "int32":
        yield case | {"dtype": "int32"}
    for field in ("malformed", "asks"):
        for name, text in case[field].items():
            for simpler in ("None", "0", "-1", "()"):
                if len(simpler) < len(text):
                    yield case | {field: case[field] | {name: simpler}}


if __name__ == "__main__":
    chosen = parser(inspect.cleandoc(__doc__ or "").splitlines()[0]).parse_args()
    sys.exit(main(Exchange([str(Path(__file__))]), chosen))

"""Random programs have the same result on every backend as in the simulator."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings

from kernel.backends import BACKENDS, Backend
from kernel.programs import View, arguments, programs, sums
from support.modules import load_module
from support.places import values_of

pytestmark = [pytest.mark.numpy, pytest.mark.host]

SIMULATOR = next(each for each in BACKENDS if each.simulates)
COMPILED = [each for each in BACKENDS if each.dialect not in ("", "sycl")]
_numbers = itertools.count()
#: ENTREPOT_EXAMPLES=500 is for long runs: so many for each backend, and new ones each time, even
#: with CI set.
EXAMPLES = int(os.environ.get("ENTREPOT_EXAMPLES", "0"))
#: Every step of shrinking would compile a program.
WITHOUT_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]


def _loaded(folder: Path, text: str) -> ModuleType:
    path = folder / f"program_{next(_numbers)}.py"
    path.write_text(text)
    return load_module(path)


def _results(backend: Backend, module: ModuleType) -> dict[str, list]:
    """Contents, after a launch, of the whole arrays that the program's arguments are part of."""
    given = arguments(module.ITEMS)
    wholes = {
        name: backend.array(each.whole) for name, each in given.items() if isinstance(each, View)
    }
    passed = [
        each.of(wholes[name]) if isinstance(each, View) else each for name, each in given.items()
    ]
    backend.launch(module.program, module.GLOBAL, module.LOCAL, *passed)
    return {name: values_of(whole).tolist() for name, whole in wholes.items()}


def _agree(backend: Backend, folder: Path, text: str, launches: int = 1) -> None:
    note(text)
    module = _loaded(folder, text)
    expected = _results(SIMULATOR, module)
    for _ in range(launches):
        assert _results(backend, module) == expected


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(each, id=str(each), marks=getattr(pytest.mark, each.marker))
        for each in COMPILED
    ],
)
@settings(
    max_examples=EXAMPLES or 20,
    phases=WITHOUT_SHRINKING,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=programs())
def test_random_program_matches_the_simulator(backend, tmp_path, text):
    _agree(backend, tmp_path, text)


@pytest.mark.sycl
@settings(
    max_examples=EXAMPLES // 20 or 3,
    phases=WITHOUT_SHRINKING,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=programs())
def test_program_agrees_in_sycl(tmp_path, text):
    """Only a few: its compiler takes seconds for each."""
    _agree(next(each for each in BACKENDS if each.dialect == "sycl"), tmp_path, text)


@settings(
    max_examples=EXAMPLES or 10,
    phases=WITHOUT_SHRINKING,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=sums())
def test_sums_of_work_items_that_loop_in_step(tmp_path, text):
    """On the host, one thread runs a quick launch, with all its work-items."""
    _agree(next(each for each in BACKENDS if each.dialect == "c++"), tmp_path, text, launches=3)


@settings(
    max_examples=EXAMPLES or 100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(text=programs())
def test_program_runs_in_simulator(tmp_path, text):
    """Without a race, a divergent barrier or a literal out of range: then the comparison is
    meaningful."""
    note(text)
    _results(SIMULATOR, _loaded(tmp_path, text))

"""The demo shows every hand-over on this machine, and detects a copy or a missed write."""

from __future__ import annotations

import array
import importlib.util
import re

import pytest

import entrepot as ep
from entrepot import demo
from support.processes import entrepot

MODULES = {"jnp": "jax"}  # of the demo's short names


def test_demo_reports_zero_copies():
    done = entrepot("demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith("none of them a copy")
    assert "≠" not in done.stdout and "  NO  " not in done.stdout


ROW = re.compile(
    r"(?P<what>\S.*?)  +\S.*?  +(?P<address>[0-9a-f]{6,})  +(yes|-)  +(?P<takes>[\d.]+ [nµm]?s)  "
    r"+\S"
)


def test_installed_libraries_export_and_import(capsys):
    assert demo.main() == 0
    rows = {row["what"] for row in map(ROW.match, capsys.readouterr().out.splitlines()) if row}
    there = [
        name
        for module, name in demo.LIBRARY_NAMES.items()
        if importlib.util.find_spec(MODULES.get(module, module))
    ]
    expected = {f"{party.name} → Entrepot" for party in demo.BUILT_IN} | {"Entrepot → memoryview"}
    expected |= {f"{name} → Entrepot" for name in there} | {f"Entrepot → {name}" for name in there}
    assert expected <= rows


def test_demo_runs_without_libraries(monkeypatch, capsys):
    monkeypatch.setattr(demo, "installed", lambda name: None)
    assert demo.main() == 0
    printed = capsys.readouterr().out
    assert "bytearray → Entrepot" in printed
    assert "shown once they are: NumPy, PyTorch, JAX, dpctl, dpnp" in printed


def test_demo_runs_without_a_device(monkeypatch, capsys):
    monkeypatch.setattr(demo, "installed", lambda name: None)
    monkeypatch.setattr(demo, "demo_device", lambda: "host")
    assert demo.main() == 0
    assert "host memory" in capsys.readouterr().out


@pytest.fixture
def ours():
    return demo.entrepot_party("host", "host")


def outcome_of(call, ours):
    source = demo.BUILT_IN[2]
    assert source.name == "array.array"
    return demo.attempt(demo.HandOver(source, ours, demo.Way("", call)))


def test_hand_over_of_view_passes(ours):
    assert not outcome_of(ep.asarray, ours).failed


def test_copy_is_detected(ours, capsys, monkeypatch):
    outcome = outcome_of(lambda x: ep.asarray(array.array("f", x)), ours)
    assert outcome.copied and outcome.write_seen is False
    row = demo.HandOver(
        demo.BUILT_IN[2], ours, demo.Way("", lambda x: ep.asarray(array.array("f", x)))
    )
    monkeypatch.setattr(demo, "built_in_rows", lambda ours: iter([row]))
    assert demo.main() == 1
    out = capsys.readouterr().out
    assert " ≠ " in out and "  NO  " in out
    assert "1 of " in out.splitlines()[-1]


def test_missed_write_is_detected(ours):
    stale = demo.Party(ours.name, ours.make, ours.address, ours.write, lambda view: 0.0)
    outcome = outcome_of(ep.asarray, stale)
    assert outcome.write_seen is False and outcome.failed


def test_direct_hand_over_shows_time_copy_or_error(ours):
    source = demo.BUILT_IN[1]
    plain = demo.Party("other", ours.make, ours.address, ours.write, ours.first)
    today = lambda call, consumer: demo.today(  # noqa: E731
        demo.HandOver(source, consumer, demo.IN, demo.Way("f(x)", call))
    )
    assert today(ep.asarray, plain).startswith("f(x): ") and "copy" not in today(ep.asarray, plain)
    assert today(lambda x: ep.asarray(bytearray(x)), plain).startswith("f(x): copy, ")
    assert today(lambda x: x + 1, plain) == "f(x): TypeError"


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(3.14159, "3.14 ns"), (999.9, "1 µs"), (12_345, "12.3 µs"), (4.2e6, "4.2 ms")],
)
def test_times_have_units(nanoseconds, text):
    assert demo.time_text(nanoseconds) == text

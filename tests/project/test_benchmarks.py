"""The benchmarks' output, and their figures of fragmentation, which hardly depend on the machine.

Times are not tested."""

from __future__ import annotations

import collections
import platform
import sys
import weakref
from pathlib import Path

import pytest
from benchmarks import fragmentation, harness

from entrepot.demo import time_text
from support.processes import output_of

ROOT = Path(__file__).resolve().parents[2]
PEERS = ("torch", "rocm", "numba")


def left_out(absent: tuple[str, ...], *topics: str) -> list[str]:
    """The lines printed about left-out rows, with these peers absent and the others present."""
    program = f"""if True:
        import sys, types
        from importlib.machinery import ModuleSpec

        from benchmarks.__main__ import left_out

        for name in {PEERS}:
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__spec__ = ModuleSpec(name, None)
        sys.modules.update(dict.fromkeys({absent}))
        print(*left_out({list(topics)}), sep="\\n")
    """
    return output_of([sys.executable, "-c", program], cwd=ROOT, timeout=100).splitlines()


@pytest.mark.numpy
@pytest.mark.sycl
@pytest.mark.dpctl
def test_rows_of_absent_peers_are_named() -> None:
    every = left_out(PEERS)
    topics = ["exchange", "adapters", "bindings", "kernels", "examples", "idioms", "algorithms"]
    assert [line.partition(":")[2].split(",")[0].strip() for line in every] == topics
    assert every[0] == (
        "not measured: exchange, asarray(torch CPU): torch is not installed; `make bench "
        "PEERS=all` brings it"
    )
    assert left_out(("torch",)) == left_out(PEERS, "exchange") == every[:1]
    assert left_out(()) == left_out(PEERS, "memory") == [""]


RUN_ONCE = """
import importlib, sys

topic = importlib.import_module(f"benchmarks.{sys.argv[1]}")
if hasattr(topic, "SIZES"):
    topic.SIZES = dict([*topic.SIZES.items()][:1])
for pair in topic.pairs():
    for side in (pair.ours, pair.peer):
        exec(side, dict(pair.names))
    print(pair.at_least, pair.what)
"""

#: Part of the row's text → lower bound of its speed relative to the peer.
PROMISED: dict[str, dict[str, float]] = {
    "memory": {"queue in order": 6, "queue out of order": 1},
    "exchange": {
        "as_usm_memory(": 8,
        "against dpnp.asarray, which copies": 50,
        "asarray(stored SUAI), against dpctl": 3,
        "__dlpack__ with all keywords": 60,
        "against np.from_dlpack": 3,
        "asarray(NumPy), against memoryview": 1,
        "np.from_dlpack(shared USM": 1 / 1.2,
        "against a memoryview": 1 / 1.2,
        "asarray(torch CPU)": 6,
    },
    "launches": {"submit, against dpctl": 1, "host submit and wait": 4},
    "copies": {"against dpctl": 1},
    "idioms": {"grid stride": 0, "n-body": 0},
}


@pytest.mark.numpy
@pytest.mark.sycl
@pytest.mark.dpctl
@pytest.mark.dpnp
@pytest.mark.parametrize("topic", PROMISED)
def test_benchmark_rows_run_and_report_the_promised_bounds(topic: str) -> None:
    command = [sys.executable, "-c", RUN_ONCE, topic]
    output = output_of(command, cwd=ROOT, timeout=100)
    rows = [line.split(" ", 1) for line in output.splitlines()]
    for part, at_least in PROMISED[topic].items():
        bounds = [float(bound) for bound, what in rows if part in what]
        assert all(bound >= at_least for bound in bounds), part
        assert bounds or "torch" in part, part  # a row that is there where PyTorch is


def test_results_become_a_table_and_a_chart(tmp_path: Path) -> None:
    for package in ("matplotlib", "pyperf"):
        pytest.importorskip(package)
    rows = [
        harness.Result(harness.Pair("asarray(x), against y", "", "", 1), 50, 1500),
        harness.Result(harness.Pair("asarray(x), in empty calls", "", "", 0), 50, 16),
    ]
    written = tmp_path / "cpu.json"
    harness.write_json(written, "benchmarks", {"exchange": rows})
    output_of([sys.executable, ROOT / "tools/performance.py", tmp_path, written])
    table, chart = (tmp_path / name for name in ("cpu.md", "cpu.svg"))
    assert "`python -m benchmarks exchange`:" in table.read_text()
    assert "| asarray(x), against y | 50 ns | 1.5 µs | 30 |" in table.read_text()
    assert "against y" in chart.read_text()
    assert "empty calls" not in chart.read_text()
    assert platform.node() not in written.read_text()


@pytest.mark.parametrize(
    ("ns", "expected"),
    [(0.5, "0.5 ns"), (50, "50 ns"), (999.7, "1 µs"), (1500, "1.5 µs"), (2.5e9, "2.5 s")],
)
def test_time_has_three_digits(ns: float, expected: str) -> None:
    assert time_text(ns) == expected


#: Bound of reserved over peak used bytes of our pool: slightly above docs/concepts/memory.md.
RESERVED_AT_MOST = {"training": 1.08, "mixed": 1.3, "growing": 1.01}


@pytest.mark.host
@pytest.mark.parametrize("trace", fragmentation.TRACES)
def test_our_pool_fragments_little(trace: str) -> None:
    steps = fragmentation.TRACES[trace]()
    found = fragmentation.replay(steps, fragmentation.ours("host"))
    assert 1 <= found.peak / fragmentation.peak_used(steps) <= RESERVED_AT_MOST[trace]


class KeepsEverySize:
    """A cache that reuses a block for its own size only, as pools did before they split blocks."""

    def __init__(self) -> None:
        self.reserved = 0
        self.free: collections.Counter[int] = collections.Counter()

    def allocate(self, nbytes: int) -> object:
        if self.free[nbytes]:
            self.free[nbytes] -= 1
        else:
            self.reserved += nbytes
        block = type("Block", (), {})()
        weakref.finalize(block, self.free.update, [nbytes])
        return block


@pytest.mark.parametrize(("trace", "over"), [("training", 1.3), ("mixed", 5), ("growing", 50)])
def test_replay_finds_fragmentation(trace: str, over: float) -> None:
    steps, cache = fragmentation.TRACES[trace](), KeepsEverySize()
    found = fragmentation.replay(
        steps, fragmentation.Allocator("by size", cache.allocate, lambda: cache.reserved)
    )
    assert found.peak > over * fragmentation.peak_used(steps)

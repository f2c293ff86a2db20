"""The benchmarks' own words; what they measure is measured by nobody's test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PEERS = ("torch", "rocm", "numba")


def left_out(absent: tuple[str, ...], *topics: str) -> list[str]:
    """What is said where of these peers some are absent, and the others are not."""
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
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.numpy
@pytest.mark.sycl
@pytest.mark.dpctl
def test_rows_of_absent_peers_are_named() -> None:
    every = left_out(PEERS)
    topics = ["exchange", "adapters", "bindings", "kernels", "examples"]
    assert [line.partition(":")[2].split(",")[0].strip() for line in every] == topics
    assert every[0] == ("not measured: exchange, asarray(torch CPU): torch is not installed; `make bench PEERS=all` brings it")
    assert left_out(("torch",)) == left_out(PEERS, "exchange") == every[:1]
    assert left_out(()) == left_out(PEERS, "memory") == [""]

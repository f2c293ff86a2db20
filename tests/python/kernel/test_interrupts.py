"""Ctrl-C while the system's compiler runs: it ends the compiler, is raised in Python, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.numpy, pytest.mark.host]

PROGRAM = """
import os, pathlib, signal, sys, threading, time
import numpy as np
import entrepot as ep
import entrepot.kernel as dppy

folder = pathlib.Path(sys.argv[1])

@dppy.kernel
def fill(a):
    a[dppy.get_global_id(0)] = 7

def press_when_the_compiler_runs():
    while not (folder / "pid").exists() or not (folder / "pid").read_text().endswith("\\n"):
        time.sleep(0.01)
    os.kill(os.getpid(), int(sys.argv[2]))

class Alarm(Exception):
    pass

def ring(*_):
    raise Alarm("rung")

signal.signal(signal.SIGALRM, ring)
os.environ["CXX"] = str(folder / "slow")
a = np.zeros(4)
with ep.device_context("host"):
    threading.Thread(target=press_when_the_compiler_runs).start()
    try:
        fill[4](a)
    except (KeyboardInterrupt, Alarm) as error:
        print(type(error).__name__, *error.args)
    del os.environ["CXX"]
    fill[4](a)
    print(a.tolist())
"""


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()


@pytest.mark.parametrize("stubborn", [False, True])
@pytest.mark.parametrize("number,raised", [(2, "KeyboardInterrupt"), (14, "Alarm rung")])
def test_a_signal_ends_the_compiler_and_is_raised(tmp_path, number, raised, stubborn):
    slow = tmp_path / "slow"
    ignoring = "trap '' TERM\n" if stubborn else ""
    slow.write_text(f"#!/bin/sh\n{ignoring}sleep 30 &\necho $! $$ > {tmp_path}/pid\nwait\nsleep 30\n")
    slow.chmod(0o755)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = os.environ | {"ENTREPOT_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path), str(number)],
        env=environment, capture_output=True, text=True, timeout=25, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == [raised, "[7.0, 7.0, 7.0, 7.0]"], done.stderr
    assert not any(map(_is_there, map(int, (tmp_path / "pid").read_text().split())))
    assert not list(tmp_path.glob("entrepot-*"))

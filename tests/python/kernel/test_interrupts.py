"""Signals while the system's compiler runs: Ctrl-C ends it and raises, without leftovers; a
handler may launch."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support.processes import completed

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
def test_signal_ends_the_compiler_and_is_raised(tmp_path, number, raised, stubborn):
    slow = tmp_path / "slow"
    ignoring = "trap '' TERM\n" if stubborn else ""
    slow.write_text(
        f"#!/bin/sh\n{ignoring}sleep 30 &\necho $! $$ > {tmp_path}/pid\nwait\nsleep 30\n"
    )
    slow.chmod(0o755)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = os.environ | {
        "ENTREPOT_CACHE_DIR": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path),
    }
    command = [sys.executable, program, tmp_path, number]
    done = completed(command, env=environment, timeout=25)
    assert done.stdout.splitlines() == [raised, "[7.0, 7.0, 7.0, 7.0]"], done.stderr
    assert not any(map(_is_there, map(int, (tmp_path / "pid").read_text().split())))
    assert not list(tmp_path.glob("entrepot-*"))


LAUNCHING = """
import os, signal, sys
import numpy as np
import entrepot as ep
import entrepot.kernel as dppy

@dppy.kernel
def fill(a):
    a[dppy.get_global_id(0)] = 7

@dppy.kernel
def sizes(a):
    a[dppy.get_global_id(0)] = dppy.get_local_size(0)

def launch(kernel, local):
    a = np.zeros(12)
    with ep.device_context("host"):
        kernel[12, local](a)
    return a.tolist()

def launch_while_compiling(kernel, local, local_of_handler):
    def ring(*_):
        del os.environ["CXX"]
        print("handler", launch(kernel, local_of_handler)[0])

    signal.signal(signal.SIGALRM, ring)
    os.environ["CXX"] = sys.argv[1]  # rings
    print("launch", launch(kernel, local)[0], kernel.specializations)

launch_while_compiling(fill, 2, 2)
for local in (1, 3, 4):
    launch(sizes, local)
launch_while_compiling(sizes, 6, 12)  # there was room for one more
for local in (6, 12, 2, 2):
    print(launch(sizes, local)[0], sizes.specializations)
"""


def test_signal_handler_launches_kernel_being_compiled(tmp_path):
    ringing = tmp_path / "ringing"
    ringing.write_text(
        '#!/bin/sh\ncase $1 in -print*) ;; *) kill -ALRM $PPID; sleep 0.3 ;; esac\nexec c++ "$@"\n'
    )
    ringing.chmod(0o755)
    program = tmp_path / "program.py"
    program.write_text(LAUNCHING)
    environment = os.environ | {
        "ENTREPOT_CACHE_DIR": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path),
    }
    done = completed([sys.executable, program, ringing], env=environment, timeout=60)
    assert done.stdout.splitlines() == [
        "handler 7.0", "launch 7.0 1",
        "handler 12.0", "launch 6.0 5",
        "6.0 5", "12.0 5", "2.0 6", "2.0 6",
    ], done.stderr  # fmt: skip

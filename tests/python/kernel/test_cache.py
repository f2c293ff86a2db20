"""Compiled kernels are cached: in memory by types and captured values, on disk for the next
process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import entrepot.kernel as dppy
from kernel.backends import every_compiler, every_device
from support.processes import completed

pytestmark = pytest.mark.numpy

factor = 2


@dppy.kernel
def times_factor(a):
    a[dppy.get_global_id(0)] *= factor


@every_compiler
def test_changed_global_is_recompiled(backend, monkeypatch):
    """Rule 7: captured values are part of the key."""
    assert backend.run(times_factor, 3, None, np.ones(3, "i4"))[0].tolist() == [2, 2, 2]
    monkeypatch.setitem(globals(), "factor", 5)
    assert backend.run(times_factor, 3, None, np.ones(3, "i4"))[0].tolist() == [5, 5, 5]
    monkeypatch.setitem(globals(), "factor", 2)
    assert backend.run(times_factor, 3, None, np.ones(3, "i4"))[0].tolist() == [2, 2, 2]


zero = 0.0


@dppy.kernel
def copies_zero(a):
    a[dppy.get_global_id(0)] = zero


@every_compiler
def test_zeros_of_both_signs_are_two_values(backend, monkeypatch):
    assert not np.signbit(backend.run(copies_zero, 1, None, np.ones(1))[0][0])
    monkeypatch.setitem(globals(), "zero", -0.0)
    assert np.signbit(backend.run(copies_zero, 1, None, np.ones(1))[0][0])


@every_compiler
def test_closures_of_one_function_differ(backend):
    def adder(by):
        @dppy.kernel
        def add(a):
            a[dppy.get_global_id(0)] += by

        return add

    one, ten = adder(1), adder(10)
    assert backend.run(one, 2, None, np.zeros(2, "i4"))[0].tolist() == [1, 1]
    assert backend.run(ten, 2, None, np.zeros(2, "i4"))[0].tolist() == [10, 10]


PROGRAM = """
    import sys, time
    import entrepot as ep
    import entrepot.kernel as dppy

    @dppy.kernel
    def program(a):
        i = dppy.get_global_id(0)
        a[i] = a[i] * 3 + 1

    a = ep.zeros(16, "float32", device=sys.argv[1])
    ep.copy(a, ep.zeros(16, "float32", device="host")).wait()
    start = time.perf_counter()
    program[16](a).wait()
    print(time.perf_counter() - start)
"""


@pytest.mark.alone
@every_device
def test_second_process_does_not_compile(device, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAM))
    environment = os.environ | {"ENTREPOT_CACHE_DIR": str(tmp_path / "cache")}

    def seconds() -> float:
        done = completed([sys.executable, script, device], env=environment, timeout=120, check=True)
        return float(done.stdout)

    first, second = seconds(), min(seconds() for _ in range(3))
    assert any(path.is_file() for path in (tmp_path / "cache").rglob("*")), "nothing was kept"
    assert second < first / 2


@pytest.mark.sycl
def test_code_for_another_processor_is_other_code(tmp_path):
    """Intel's driver reads the target processor from the environment."""
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAM))
    kept = []
    for target in ("core-avx2", "corei7-avx", "core-avx2"):
        environment = os.environ | {
            "ENTREPOT_CACHE_DIR": str(tmp_path / "cache"),
            "CL_CONFIG_CPU_TARGET_ARCH": target,
        }
        subprocess.run(
            [sys.executable, script, "opencl:cpu"],
            env=environment,
            capture_output=True,
            timeout=120,
            check=True,
        )
        kept.append(sum(path.is_file() for path in (tmp_path / "cache").rglob("*")))
    assert kept[1] == 2 * kept[0] and kept[2] == kept[1]


@pytest.mark.alone
@every_compiler
def test_second_launch_does_not_compile(backend):
    a = backend.array(np.ones(4, "f4"))
    backend.launch(times_factor, 4, None, a)
    start = time.perf_counter()
    for _ in range(20):
        backend.launch(times_factor, 4, None, a)
    assert (time.perf_counter() - start) / 20 < 0.01

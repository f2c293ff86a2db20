"""The fuzzers can fail: they report a defect made on purpose, and write a smaller script."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import completed

pytestmark = [pytest.mark.host, pytest.mark.numpy]

TOOLS = Path(__file__).resolve().parents[2] / "tools"

#: Launches on the host change an element of every program with a division. The simulator runs the
#: programs for the host, also in CRASH and HANG, since minimization would spend most of its time on
#: the host's compiler.
WRONG_VALUES = """
launched = fuzzer.launched

def broken(module, case, backend):
    found = launched(module, case, "")
    return found | {"out": "[]"} if backend and "//" in case["text"] else found

fuzzer.launched = broken
"""
#: Programs with a loop crash.
CRASH = """
import os, signal

launched = fuzzer.launched

def broken(module, case, backend):
    if backend and "while" in case["text"]:
        os.kill(os.getpid(), signal.SIGSEGV)
    return launched(module, case, "")

fuzzer.launched = broken
"""
HANG = """
import time

launched = fuzzer.launched

def broken(module, case, backend):
    if backend and "while" in case["text"]:
        time.sleep(1000)
    return launched(module, case, "")

fuzzer.launched = broken
"""
#: A launch by Intel's compiler is wrong unless its vectorizer is off.
VECTORIZER = """
import os

launched = fuzzer.launched

def broken(module, case, backend):
    found = launched(module, case, backend)
    wrong = backend == "opencl:cpu" and "CL_CONFIG_CPU_VECTORIZER_MODE" not in os.environ
    return found | {"out": "[]"} if wrong else found

fuzzer.launched = broken
"""
#: The compiler takes long to show it.
SLOW_VECTORIZER = (
    VECTORIZER
    + """
if "CL_CONFIG_CPU_VECTORIZER_MODE" in os.environ:
    import time

    fuzzer.launched = lambda *given: time.sleep(3) or broken(*given)
"""
)
#: Intel's code for AVX-512 crashes.
ILLEGAL_INSTRUCTION = """
import os, signal

launched = fuzzer.launched

def broken(module, case, backend):
    if backend == "opencl:cpu" and "CL_CONFIG_CPU_TARGET_ARCH" not in os.environ:
        os.kill(os.getpid(), signal.SIGILL)
    return launched(module, case, backend)

fuzzer.launched = broken
"""
#: The first process is wrong on Intel's device, and later ones are right.
WRONG_ONCE = """
import pathlib

launched = fuzzer.launched

def broken(module, case, backend):
    found = launched(module, case, backend)
    mark = pathlib.Path(__file__).with_name("was_wrong")
    if backend != "opencl:cpu" or mark.exists():
        return found
    mark.touch()
    return found | {"out": "[]"}

fuzzer.launched = broken
"""
#: The host is always wrong, except without the vectorizer: GCC's part is then named.
BROKEN_HOST = """
import os

launched = fuzzer.launched

def broken(module, case, backend):
    found = launched(module, case, backend)
    wrong = backend == "host" and not os.environ.get("CXX", "").endswith("/defined")
    return found | {"out": "[]"} if wrong else found

fuzzer.launched = broken
"""
#: The host is right if the compiler does not see `restrict`.
WRONG_RESTRICT = BROKEN_HOST.replace('"/defined"', '("/defined", "/no_restrict")')
#: Intel's device is right if nothing is optimized, and so is the host if undefined behavior does
#: not end the process.
UNDEFINED_BEHAVIOR = """
import os, signal

launched = fuzzer.launched

def broken(module, case, backend):
    found = launched(module, case, backend)
    if backend == "host" and os.environ.get("CXX", "").endswith("/defined"):
        os.kill(os.getpid(), signal.SIGILL)
    wrong = backend == "opencl:cpu" and "CL_CONFIG_LLVM_OPTIONS" not in os.environ
    return found | {"out": "[]"} if wrong else found

fuzzer.launched = broken
"""
#: The oracle refuses every program.
BROKEN_SIMULATOR = """
launched = fuzzer.launched

def broken(module, case, backend):
    if not backend:
        raise ValueError("the simulator is broken")
    return launched(module, case, backend)

fuzzer.launched = broken
"""
OTHER_BYTES = """
import contract.cases

read = contract.cases.bytes_of
contract.cases.bytes_of = lambda view: read(view)[::-1] if view.ndim > 1 else read(view)
"""

#: Places of argmin and argmax in rows are those in a run of elements.
WRONG_PLACES = """
from entrepot.kernel.algorithms import searches

searches._SEARCH_RUNS = searches._SEARCH_RUNS.replace("found = start + j", "found = j")
"""
#: The stable sort of groups puts equal elements of a work-item into another order.
UNSTABLE_GROUPS = """
from entrepot.kernel.algorithms import sorting

text = sorting._TEXTS["move_groups"]
before, last_loop = text.rsplit("for j in range(first, last):", 1)
sorting._TEXTS["move_groups"] = before + "for j in range(last - 1, first - 1, -1):" + last_loop
"""

#: Children append a line for each case to a file beside this one.
NAMES = """
import hashlib, json, pathlib

run = fuzzer.run

def noted(case, at):
    with open(pathlib.Path(__file__).with_name("seen"), "a") as file:
        file.write(hashlib.sha256(json.dumps(case).encode()).hexdigest() + "\\n")
    return run(case, at)

fuzzer.run = noted
"""


def fuzz(
    tool: str, folder: Path, *words: str, load: str = "", tries: int = 60
) -> subprocess.CompletedProcess[str]:
    (folder / "load.py").write_text(load)
    options = [
        "--seconds",
        "60",
        "--seed",
        "1",
        "--tries",
        str(tries),
        "--failures",
        "1",
        "--out",
        folder / "found",
    ]
    command = [sys.executable, TOOLS / f"{tool}.py", *options, *words, "--load", folder / "load.py"]
    return completed(command, timeout=280)


def reproducer(done: subprocess.CompletedProcess[str], folder: Path) -> str:
    """Text of the only script, which the fuzzer names; the fuzzer exits with 1."""
    assert done.returncode == 1, done.stdout + done.stderr
    (path,) = (folder / "found").iterdir()
    assert str(path) in done.stdout
    assert re.search(r"\b1 failures", done.stdout.splitlines()[-1])
    return path.read_text()


@pytest.mark.parametrize(
    "load,kind,word,tries",
    [(WRONG_VALUES, "other values", "//", 24), (CRASH, "ended by SIGSEGV", "while", 16)],
)
def test_broken_kernels_are_reported_and_minimized(tmp_path, load, kind, word, tries):
    done = fuzz("fuzz_kernels", tmp_path, "--backend", "host", load=load, tries=tries)
    script = reproducer(done, tmp_path)
    assert kind in done.stdout and word in script
    assert script.index("WHOLES") < 1500, "a program that is not minimized:\n" + script


def test_hanging_kernel_is_reported(tmp_path):
    done = fuzz(
        "fuzz_kernels", tmp_path, "--backend", "host", "--patience", "5", load=HANG, tries=1
    )
    assert "while" in reproducer(done, tmp_path)
    assert "host: hang" in done.stdout


@pytest.mark.sycl
@pytest.mark.parametrize(
    "load,name",
    [(VECTORIZER, "Intel's vectorizer"), (ILLEGAL_INSTRUCTION, "Intel's code for AVX-512")],
)
def test_fault_of_a_compiler_is_counted_apart(tmp_path, load, name):
    done = fuzz("fuzz_kernels", tmp_path, "--backend", "host,opencl:cpu", "--cases", "1", load=load)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith(f"0 failures; known faults of others: 1 of {name}")
    (path,) = (tmp_path / "found").iterdir()
    assert path.name.startswith("known_")


@pytest.mark.sycl
@pytest.mark.parametrize(
    "load", [WRONG_RESTRICT, UNDEFINED_BEHAVIOR], ids=["restrict", "undefined behavior"]
)
def test_own_fault_is_not_counted_as_a_compiler_fault(tmp_path, load):
    done = fuzz(
        "fuzz_kernels",
        tmp_path,
        "--backend",
        "host,opencl:cpu",
        "--cases",
        "1",
        load=load,
        tries=1,
    )
    reproducer(done, tmp_path)


@pytest.mark.sycl
def test_many_faults_of_compilers_fail_the_run(tmp_path):
    done = fuzz(
        "fuzz_kernels", tmp_path, "--backend", "host,opencl:cpu", "--cases", "4", load=BROKEN_HOST
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "0 failures; known faults of others: 4 of GCC's vectorizer" in done.stdout
    assert "4 of 4 cases failed by known faults of others, and at most 3 may" in done.stdout


def test_run_of_void_cases_fails(tmp_path):
    done = fuzz("fuzz_kernels", tmp_path, "--backend", "host", load=BROKEN_SIMULATOR)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "no case was tested" in done.stdout
    assert re.search(r"4 cases are void, .*: simulator: the simulator is broken", done.stdout)


@pytest.mark.parametrize("tool", ["fuzz_kernels", "fuzz_algorithms", "fuzz_exchange"])
def test_run_without_cases_fails(tmp_path, tool):
    done = fuzz(tool, tmp_path, "--cases", "0")
    assert done.returncode == 1 and "no case was tested" in done.stdout, done.stdout + done.stderr


@pytest.mark.sycl
def test_unreproduced_failure_is_reported(tmp_path):
    done = fuzz(
        "fuzz_kernels",
        tmp_path,
        "--backend",
        "host,opencl:cpu",
        "--cases",
        "1",
        load=WRONG_ONCE,
        tries=1,
    )
    reproducer(done, tmp_path)


@pytest.mark.sycl
def test_faults_of_compilers_take_time_from_new_cases(tmp_path):
    done = fuzz(
        "fuzz_kernels",
        tmp_path,
        "--backend",
        "host,opencl:cpu",
        "--seconds",
        "5",
        load=SLOW_VECTORIZER,
    )
    (cases,) = re.findall(r"(\d+) cases in", done.stdout)
    assert done.returncode == 0 and int(cases) <= 2, done.stdout + done.stderr


def test_broken_exchange_is_reported_and_minimized(tmp_path):
    script = reproducer(fuzz("fuzz_exchange", tmp_path, load=OTHER_BYTES), tmp_path)
    assert "'exports': []" in script and "'layout': []" in script


@pytest.mark.parametrize(
    ("load", "word"), [(WRONG_PLACES, "'argm"), (UNSTABLE_GROUPS, "sort")], ids=["places", "sort"]
)
def test_broken_algorithm_is_reported_and_minimized(tmp_path, load, word):
    done = fuzz("fuzz_algorithms", tmp_path, "--backend", "host", load=load)
    script = reproducer(done, tmp_path)
    assert word in script
    assert re.search(r"'steps': \[1(, 1)*\]", script), "not minimized:\n" + script[:2000]


def test_same_seed_gives_same_cases(tmp_path):
    """A case that passes leaves no script."""
    on_host = "--backend", "host"
    tools = ("fuzz_kernels", *on_host), ("fuzz_algorithms", *on_host), ("fuzz_exchange",)
    for tool, *words in tools:
        first, second = (fuzz(tool, tmp_path, *words, "--cases", "3", load=NAMES) for _ in range(2))
        assert first.returncode == second.returncode == 0, first.stdout + first.stderr
    assert not (tmp_path / "found").exists()
    seen = (tmp_path / "seen").read_text().splitlines()
    assert len(seen) == 18
    for at in range(0, 18, 6):
        assert seen[at : at + 3] == seen[at + 3 : at + 6]

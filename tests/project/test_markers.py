"""The gate on skipped tests: an absent need is skipped with its reason, and fails where required.

Also the locks of tests that several processes share."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from support.processes import completed

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
#: Installed plugins of pytest take most of the time of an inner run.
ENVIRONMENT = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@pytest.fixture
def run(tmp_path):
    """Runs a test that needs ``host`` under this conftest, on a machine whose host is said to be
    absent."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(
        CONFTEST.read_text() + "\nNEEDS['host'] = lambda: 'it is away'\n"
    )
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n@pytest.mark.host\ndef test_inner():\n    pass\n"
    )

    def run(require: str, *options: str) -> subprocess.CompletedProcess:
        return completed(
            [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", *options],
            cwd=tmp_path,
            env={**ENVIRONMENT, "ENTREPOT_REQUIRE": require},
            timeout=100,
        )

    return run


def test_absent_need_is_skipped_with_reason(run):
    done = run("")
    assert done.returncode == 0
    assert "1 skipped" in done.stdout and "host: it is away" in done.stdout


def test_required_need_fails_with_reason(run):
    done = run("sycl,host")
    assert done.returncode == 1
    assert "1 error" in done.stdout and "ENTREPOT_REQUIRE names host, but it is away" in done.stdout


def test_unknown_requirement_is_refused(run):
    done = run("host,syckl")
    assert done.returncode == 4
    assert "ENTREPOT_REQUIRE names syckl" in done.stderr


ABSENT = """
import sys
import pytest

sys.modules["dpctl"] = None
{}
def test_inner():
    {}
"""


@pytest.mark.parametrize("where", ["module", "test"])
def test_failed_import_skips_and_fails_where_required(run, tmp_path, where):
    lines = ('pytest.importorskip("dpctl.memory")', "pass")
    (tmp_path / "test_it.py").write_text(
        ABSENT.format(*(lines if where == "module" else lines[::-1]))
    )
    said = "could not import 'dpctl.memory'"
    for require in ("", "host"):
        done = run(require)
        assert (
            done.returncode == (5 if where == "module" else 0)
            and "1 skipped" in done.stdout
            and said in done.stdout
        )
    done = run("dpctl")
    assert done.returncode == (2 if where == "module" else 1)
    assert f"ENTREPOT_REQUIRE names dpctl, but {said}" in done.stdout


NUMBA = """
import sys
import pytest

sys.modules.update(dict.fromkeys(("numba", "numba.cuda")))

@pytest.mark.parametrize("module", ["numba", "numba.cuda", "numba.cuda.cudadrv"])
def test_inner(module):
    pytest.importorskip(module)
"""


@pytest.mark.parametrize(
    ("need", "modules"),
    [("numba", ["numba"]), ("numba_cuda", ["numba.cuda", "numba.cuda.cudadrv"])],
)
def test_submodule_with_its_own_need_is_separate(run, tmp_path, need, modules):
    (tmp_path / "test_it.py").write_text(NUMBA)
    done = run(need)
    assert f"{len(modules)} failed, {3 - len(modules)} skipped" in done.stdout, done.stdout
    for module in modules:
        assert f"ENTREPOT_REQUIRE names {need}, but could not import '{module}'" in done.stdout


def test_too_old_version_fails_where_required(run, tmp_path):
    lines = (
        'sys.modules["dpctl"] = sys\n    sys.__version__ = "1.0"\n'
        '    pytest.importorskip("dpctl", minversion="2.0")'
    )
    (tmp_path / "test_it.py").write_text(ABSENT.format("", lines))
    done = run("dpctl")
    assert done.returncode == 1
    assert "ENTREPOT_REQUIRE names dpctl, but module 'dpctl' has __version__ '1.0'" in done.stdout


def test_importorskip_calls_have_no_reason():
    """pytest's message names the module, by which the gate recognizes a required one."""
    tests = CONFTEST.parent
    calls = [
        (f"{path.relative_to(tests)}:{node.lineno}", {each.arg for each in node.keywords})
        for path in sorted(tests.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "importorskip"
    ]
    assert calls
    assert [where for where, keywords in calls if "reason" in keywords] == []


@pytest.mark.sycl
def test_leaked_device_memory_is_an_error(run, tmp_path):
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {CONFTEST.parent}\n")
    # The memory below is never freed, so the gate need not wait for it.
    conftest = tmp_path / "conftest.py"
    before, after = conftest.read_text().split("True, seconds=2)")
    conftest.write_text(f"{before}True, seconds=0.1){after}")
    (tmp_path / "test_it.py").write_text(
        textwrap.dedent(
            """
            import entrepot as ep
            import pytest

            left = []
            pytestmark = pytest.mark.sycl

            @pytest.mark.parametrize("kind", ["device", "host", "shared"])
            class TestKind:
                def test_inner(self, kind):
                    ep.zeros(1000, "uint8", device="opencl:cpu", kind=kind)

                def test_leak(self, kind):
                    left.append(ep.zeros(1000, "uint8", device="opencl:cpu", kind=kind))

                def test_next(self, kind):
                    pass
            """
        )
    )
    assert run("").returncode == 0
    done = run("", "--device-memory")
    assert done.returncode == 1
    assert "9 passed, 3 errors" in done.stdout
    for kind in ("device", "host", "shared"):
        [error] = re.findall(rf"ERROR at teardown of TestKind.test_leak\[{kind}\] .*", done.stdout)
        report = done.stdout.split(error)[1]
        assert "1024 bytes of the pool are left" in report.split("ERROR at")[0]


def by_two_processes(folder: Path, tests: str) -> subprocess.CompletedProcess:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(
        CONFTEST.read_text() + "\nNEEDS['cuda'] = lambda: 'it is away'\n"
    )
    (folder / "test_it.py").write_text(textwrap.dedent(tests))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "xdist.plugin",
        "-n",
        "2",
        "--dist",
        "load",
        "-p",
        "no:cacheprovider",
    ]
    return completed(command, cwd=folder, env={**ENVIRONMENT, "ENTREPOT_REQUIRE": ""}, timeout=100)


def test_alone_test_runs_exclusively(tmp_path):
    """Tests record their begin and end. No other line may come between those of a test marked
    ``alone``, nor between consecutive such tests of one process."""
    done = by_two_processes(
        tmp_path,
        """
        import os
        import time
        from pathlib import Path

        import pytest

        def work(name):
            for _ in range(2):
                with open(Path(__file__).parent / "lines", "a") as file:
                    file.write(name + "\\n")
                time.sleep(0.02)

        @pytest.mark.parametrize("turn", range(20))
        def test_among_others(turn):
            work(f"other {os.getpid()}")

        @pytest.mark.alone
        @pytest.mark.parametrize("turn", range(20))
        def test_alone(turn):
            work(f"alone {os.getpid()} {turn}")
        """,
    )
    assert done.returncode == 0, done.stdout
    lines = (tmp_path / "lines").read_text().splitlines()
    assert len({line for line in lines if line.startswith("other")}) == 2, "two processes"
    alone = [line for line in lines if line.startswith("alone")]
    assert len(alone) == 40, lines
    assert all(lines[lines.index(each) + 1] == each for each in alone), lines
    of_the_first = [line.startswith(alone[0].rpartition(" ")[0]) for line in lines]
    start, count = of_the_first.index(True), sum(of_the_first)
    assert count > 2 and all(of_the_first[start : start + count]), lines


def test_skipped_test_does_not_wait(tmp_path):
    """Each process takes two of the tests, and further ones when it has finished."""
    done = by_two_processes(
        tmp_path,
        """
        import time
        from pathlib import Path

        import pytest

        FOLDER = Path(__file__).parent

        def wait_for(file):
            end = time.monotonic() + 20
            while not (FOLDER / file).exists():
                assert time.monotonic() < end
                time.sleep(0.01)

        def test_long():
            (FOLDER / "begun").touch()
            wait_for("through")

        def test_next():
            pass

        def test_other():
            wait_for("begun")

        @pytest.mark.alone
        @pytest.mark.cuda
        def test_skipped():
            pass

        @pytest.mark.parametrize("turn", range(2))
        def test_last(turn):
            (FOLDER / "through").touch()
        """,
    )
    assert done.returncode == 0 and "5 passed, 1 skipped" in done.stdout, done.stdout


def test_process_crash_at_exit_is_an_error(tmp_path):
    done = by_two_processes(
        tmp_path,
        """
        import atexit
        import os

        def test_inner():
            atexit.register(os.abort)
        """,
    )
    assert done.returncode == 1
    assert "it ended by signal 6" in done.stdout and "1 passed, 1 error" in done.stdout

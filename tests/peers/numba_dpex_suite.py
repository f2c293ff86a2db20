"""The examples and kernel tests of numba-dpex's releases, run with ``entrepot.numba_dpex`` in the
place of ``numba_dpex``.

    python tests/peers/numba_dpex_suite.py REPOSITORY [RELEASE...]

REPOSITORY is a clone of https://github.com/IntelPython/numba-dpex, with its tags. Nothing of it is
here.

An example is run if it imports numba_dpex. The module's name is replaced in the text of
examples and tests. They get dpnp's module ``tensor`` as that of dpctl, which has dropped its own.

Prints the counts of each release, and what fails. Fails if something fails that is not listed here
with a reason, or if something listed passes.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from peers.releases import failure_of, git, written

RELEASES = ("0.21.4", "0.22.1", "0.23.0")
TIMEOUT = 120  # seconds for an example
TIMEOUT_OF_TESTS = 500
KEEP_ON = "--continue-on-collection-errors"

#: Names that dpctl has dropped, and the program that is the first argument.
RUN = """
import runpy, sys
import entrepot
import dpctl, dpnp.tensor
dpctl.tensor = sys.modules["dpctl.tensor"] = dpnp.tensor
dpctl.device_context = entrepot.device_context
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

#: Arguments of examples: less work, or the part that is of numba-dpex.
ARGUMENTS = {
    "debug/side-by-side.py": ["--api", "numba-ndpx-kernel"],
    "debug/side-by-side-2.py": ["--api", "numba-ndpx-kernel"],
    "kernel/pipelining.py": ["--n", "2000", "--n_itr", "4", "--reps", "1"],
}

#: Folders of tests: those of kernels, and of the kernel API in Python.
TESTS = ("kernel_tests/", "kernel_api/", "experimental/")

#: Modules of numba-dpex's compiler, which tests import and Entrepot does not have.
STAND_INS = """
import sys, types
import entrepot
import dpctl, dpnp.tensor
import entrepot.numba_dpex
import numba.core.config

dpctl.tensor = sys.modules["dpctl.tensor"] = dpnp.tensor


class StandIn:
    def __init__(self, name):
        self.name = name

    def __call__(self, *args, **kwargs):
        return StandIn(self.name)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(self.name)


class Finder:
    def find_spec(self, name, path=None, target=None):
        import importlib.machinery
        if name.startswith("entrepot.numba_dpex."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        module.__getattr__ = StandIn(module.__name__).__getattr__


sys.meta_path.insert(-1, Finder())  # the last one is Entrepot's, which refuses modules
entrepot.numba_dpex.dpjit = StandIn("dpjit")
entrepot.numba_dpex.config = StandIn("config")
entrepot.numba_dpex.experimental.testing = StandIn("testing")
entrepot.numba_dpex.DpctlSyclQueue = StandIn("DpctlSyclQueue")

entrepot.numba_dpex.numba_sem_version = (0, 57, 0)
numba.core.config.CAPTURED_ERRORS = "new_style"

outcomes = open("outcomes.jsonl", "a")


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        import json
        kind = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        crash = getattr(report.longrepr, "reprcrash", None)
        reason = getattr(crash, "message", "").split("\\n")[0]
        print(json.dumps([report.nodeid, kind, reason]), file=outcomes, flush=True)


def pytest_collectreport(report):
    if report.failed:
        import json
        reason = str(report.longrepr).strip().split("\\n")[-1]
        print(json.dumps([report.nodeid, "failed", reason]), file=outcomes, flush=True)
"""

#: Programs that cannot pass, by a pattern of its path or test, with the reason.
REFUSED = {
    r"^(dpjit/|blacksholes_njit|debug/njit_basic)": "uses dpjit, which is refused",
    r"^kernel/scan.py@0.2[12]": "does not run with numba-dpex either (its issue 829): the size of "
    "local.array() is that of the launch; use LocalAccessor",
    r"test_atomic_fence": "waits in a loop for another work-item of its group, which hangs",
    r"test_(async_add_from_cache|call_kernel_from_dpjit|dump_)": "numba's compiler",
    r"test_(caching|inline_threshold_|target_specific_overload|\w+_codegen)\b": "numba's compiler",
    r"test_(inline_threshold_(set|level)|LRUcache|caching_)": "numba's compiler",
    r"kernel_tests/.*test_(single|multiple)_specialization@0.2[12]": "numba's compiler",
    r"test_atomic_fp_native": "numba's compiler",
    r"atomic_multi_dim\[.*dim[12]-": "NumPy has dropped a conversion that the test uses",
    r"test_multievel_1d_strided": "compares arrays of dpnp and NumPy, which dpnp has dropped",
    r"test_1D_global_range_as_one|test_2D_global_range_and_2D_local_range4": "private attributes",
    r"test_kernel_launch_params.*(_range_and|_as_|deprecation|ambiguous|illegal)": "a deprecation",
    r"test_passing_numpy_arrays": "NumPy's arrays are served",
    r"test_print_only_str": "printing a string is served",
    r"test_print_array": "refused, but the message is numba's",
    r"test_error_item_get_global_id(?!.*decorator1)": "an Item has get_global_id() as well",
    r"test_func_specialization.*(wrong_signature|(single|list)_signature)": "signatures of device "
    "functions have no effect",
}

#: Tests that would not end.
HANGS = ("test_atomic_fence",)


def changed(text: str) -> str:
    text = re.sub(r"\bnumba_dpex\.tests\b", "originals.tests", text)
    return re.sub(r"(?<![\w./])numba_dpex\b", "entrepot.numba_dpex", text)


def reason_for(release: str, name: str) -> str | None:
    """The reason for a failure that is listed. A pattern may end in a release."""
    for pattern, why in REFUSED.items():
        test, _, of_release = pattern.partition("@")
        if re.search(test, name) and re.match(of_release, release):
            return why
    return None


def examples(repository: Path, release: str) -> Iterator[tuple[str, str]]:
    """The name of each example, with its error or nothing."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        names = written(repository, release, "numba_dpex/examples/", folder, changed, "numba_dpex")
        for name in names:
            yield name, failure_of(RUN, folder / name, TIMEOUT, ARGUMENTS.get(name, ()))


def kernel_tests(repository: Path, release: str) -> Iterator[tuple[str, str]]:
    """The name of each test that ran to its end, with its error or nothing."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tests = folder / "originals" / "tests"
        tests.mkdir(parents=True)
        (folder / "originals" / "__init__.py").touch()
        source = "numba_dpex/tests/"
        for name in ("__init__.py", "_helper.py"):
            text = git(repository, "show", f"{release}:{source}{name}")
            (tests / name).write_text(changed(text))
        present = []
        for part in TESTS:
            if written(repository, release, source + part, tests / part, changed, "numba_dpex"):
                present.append(f"originals/tests/{part}")
        (folder / "conftest.py").write_text(STAND_INS)
        (folder / "pytest.ini").write_text("[pytest]\n")
        options = ["-q", "-p", "no:cacheprovider", KEEP_ON, "-k", f"not ({' or '.join(HANGS)})"]
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, *present],
            cwd=folder,
            capture_output=True,
            timeout=TIMEOUT_OF_TESTS,
        )
        for path in sorted(tests.rglob("test_*.py")):
            for name in re.findall(rf"def ({'|'.join(HANGS)})\b", path.read_text()):
                yield f"{path.relative_to(tests)}::{name}", "is not run"
        for line in (folder / "outcomes.jsonl").read_text().splitlines():
            name, outcome, reason = json.loads(line)
            if outcome in ("passed", "failed"):
                yield (
                    name.removeprefix("originals/tests/"),
                    (reason or "failed") * (outcome == "failed"),
                )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("releases", nargs="*", default=RELEASES)
    given = parser.parse_args()
    unknown = total = 0
    for release in given.releases:
        for what, run in (("examples", examples), ("kernel tests", kernel_tests)):
            counts: Counter[bool] = Counter()
            for name, failure in run(given.repository, release):
                counts[not failure] += 1
                expected = reason_for(release, name)
                unknown += bool(failure) != bool(expected)
                if failure:
                    print(f"{release} {name}: {expected or 'UNEXPECTED ' + failure}")
                elif expected:
                    print(f"{release} {name}: passes, and is listed: {expected}")
            total += counts.total()
            print(f"{release} {what}: {counts[True]} of {counts.total()}", flush=True)
    return 1 if unknown or not total else 0


if __name__ == "__main__":
    sys.exit(main())

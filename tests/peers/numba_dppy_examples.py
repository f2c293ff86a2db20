"""The examples of numba-dppy's releases, run with ``entrepot.kernel`` in the place of
``numba_dppy``.

    python tests/peers/numba_dppy_examples.py REPOSITORY [RELEASE...]

REPOSITORY is a clone of https://github.com/IntelPython/numba-dpex, with its tags. Nothing of it is
here. An example is run if it imports numba_dppy. In its text, the module's name is replaced, and
``opencl:cpu`` takes the place of GPUs. Names that dpctl has dropped since are added to it before an
example starts.

Prints a line for each release, and the examples that fail. Fails if one does that is not listed
here with a reason.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RELEASES = ("0.12.0", "0.13.1", "0.14.4", "0.15.0", "0.16.1", "0.17.4")
FOLDER = "numba_dppy/examples/"
TIMEOUT = 120  # seconds

#: Runs the example that is its argument.
RUN = """
import runpy, sys
import dpctl, dpctl.memory
import entrepot
dpctl.device_context = entrepot.device_context
dpctl.has_gpu_queues = lambda *_: True
dpctl.has_cpu_queues = lambda *_: True
sys.modules["dpctl._memory"] = dpctl.memory
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

#: Examples that cannot run, by their path, with the reason.
REFUSED = {
    "usm_ndarray.py": "uses dpctl.tensor, which dpctl no longer has",
    "vectorize.py": "uses numba.vectorize(target='dppy'); write @dppy.vectorize",
    "debug/sum_local_vars_revive.py": "a device function returns an array",
}


def git(repository: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(repository), *arguments], check=True, capture_output=True, text=True
    ).stdout


def changed(text: str) -> str:
    text = re.sub(r"\bnumba_dppy\b", "entrepot.kernel", text)
    return re.sub(r"\b(opencl|level0|level_zero):gpu\b", "opencl:cpu", text)


def run(folder: Path, name: str) -> str:
    """Runs an example. Returns the last line of its error, or nothing if it succeeds."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", RUN, name],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return f"took more than {TIMEOUT} s"
    if done.returncode == 0:
        return ""
    errors = [
        line for line in done.stderr.splitlines() if re.match(r"[\w.]+(Error|Exception)\b", line)
    ]
    return errors[-1] if errors else f"exit status {done.returncode}"


def examples_of(repository: Path, release: str, folder: Path) -> list[str]:
    """Writes the release's examples to the folder. Returns the paths of those that are run."""
    chosen = []
    for path in git(repository, "ls-tree", "-r", "--name-only", release, FOLDER).split():
        if not path.endswith(".py"):
            continue
        text = git(repository, "show", f"{release}:{path}")
        name = path.removeprefix(FOLDER)
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(changed(text))
        if re.search(r"^\s*(import|from) numba_dppy\b", text, re.MULTILINE):
            chosen.append(name)
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("releases", nargs="*", default=RELEASES)
    given = parser.parse_args()
    passed = total = unknown = 0
    for release in given.releases:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            names = examples_of(given.repository, release, folder)
            failures = {name: run((folder / name).parent, Path(name).name) for name in names}
        failures = {name: reason for name, reason in failures.items() if reason}
        for name, reason in failures.items():
            unknown += name not in REFUSED
            print(f"{release} {name}: {REFUSED.get(name, reason)}")
        print(f"{release}: {len(names) - len(failures)} of {len(names)}", flush=True)
        passed, total = passed + len(names) - len(failures), total + len(names)
    print(f"all: {passed} of {total}")
    return 1 if unknown or not total else 0


if __name__ == "__main__":
    sys.exit(main())

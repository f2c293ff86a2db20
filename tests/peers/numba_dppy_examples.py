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
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from peers.releases import failure_of, written

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
}


def changed(text: str) -> str:
    text = re.sub(r"\bnumba_dppy\b", "entrepot.kernel", text)
    return re.sub(r"\b(opencl|level0|level_zero):gpu\b", "opencl:cpu", text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("releases", nargs="*", default=RELEASES)
    given = parser.parse_args()
    passed = total = unknown = 0
    for release in given.releases:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            names = written(given.repository, release, FOLDER, folder, changed, "numba_dppy")
            failures = {name: failure_of(RUN, folder / name, TIMEOUT) for name in names}
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

"""dpctl's own tests of its memory classes, run with ``entrepot.memory`` in the place of
``dpctl.memory``.

    python tests/peers/dpctl_suite.py [arguments of pytest]

The tests are those of the dpctl that is installed; nothing of them is here. One is left out:
``test_cpython_api`` calls C functions that Cython publishes from dpctl's own extension. One may be
skipped, where there is no GPU.
"""

from __future__ import annotations

import os
import sys

import dpctl
import dpctl.memory
import pytest

import entrepot.memory

SUITE = "dpctl.tests.test_sycl_usm"
LEFT_OUT = "test_cpython_api"
NEEDS_GPU = "test_memory_gpu_context"


class Judge:
    """Checks that the tests ran, and that they tested Entrepot's memory."""

    def __init__(self) -> None:
        self.passed = 0
        self.skipped: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            parent = item.getparent(pytest.Module)
            assert parent is not None
            module = parent.obj
            assert module.MemoryUSMShared is entrepot.memory.MemoryUSMShared, (
                f"{module.__name__} tests {module.MemoryUSMShared}"
            )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed += report.when == "call" and report.passed
        if report.skipped and NEEDS_GPU not in report.nodeid:
            self.skipped.append(report.nodeid)


def main(arguments: list[str]) -> int:
    dpctl.memory = sys.modules["dpctl.memory"] = entrepot.memory
    judge = Judge()
    # Without this repository's configuration: the suite expects pytest's default.
    own = ["-c", os.devnull, "-p", "no:cacheprovider", "--pyargs", SUITE, "-k", f"not {LEFT_OUT}"]
    status = pytest.main([*own, *arguments], plugins=[judge])
    if status == 0 and judge.passed == 0:
        print(f"{SUITE}: no test ran to its end", file=sys.stderr)
        return 1
    if status == 0 and judge.skipped:
        print(
            f"{SUITE}: only {NEEDS_GPU} may be skipped, and so was {', '.join(judge.skipped)}",
            file=sys.stderr,
        )
        return 1
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

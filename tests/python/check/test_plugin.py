"""The pytest plugin: one line, and a test for each clause of a target."""

from __future__ import annotations

import pytest

from check.breaking import names
from entrepot.check.clauses import EXPORT, IMPORT

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.host


@pytest.fixture(autouse=True)
def no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing the other installed plugins would take most of a run."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def run(pytester: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    pytester.makeini("[pytest]\naddopts = --strict-markers -p no:cacheprovider\n")
    pytester.makeconftest('pytest_plugins = ["entrepot.check.plugin"]')
    pytester.makepyfile(test_it="import pytest\n" + source)
    return pytester.runpytest_subprocess(*arguments)


def test_named_target_has_a_test_for_each_clause(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
@pytest.mark.conformance("builtins:bytearray(8)")
def test_bytearray(clause):
    clause.check()
""",
        "-v",
    )
    done.assert_outcomes(passed=len(names("buffer", EXPORT)) - 2, skipped=2)
    done.stdout.fnmatch_lines(["*test_bytearray[[]buffer.export.length[]] PASSED*"])


def test_named_target_runs_in_its_own_process(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        targets="import sys\nassert 'pytest' not in sys.modules\ndef make():\n    return "
        "bytearray(8)\n"
    )
    done = run(
        pytester,
        """
@pytest.mark.conformance("targets:make", only="*.length")
def test_make(clause):
    clause.check()
""",
    )
    done.assert_outcomes(passed=1)


def test_object_target_is_checked_in_process(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
class Broken:
    __array_interface__ = {"shape": (0,), "typestr": "|u1", "data": (0, False), "version": 2}

@pytest.mark.conformance(Broken, only="*.version")
def test_broken(clause):
    clause.check()
""",
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "version is the int 3 (NumPy, The array interface protocol: Python side)",
            "asked: 3",
            "found: 2",
        ]
    )


def test_importer_object_has_a_test_for_each_clause(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
@pytest.mark.conformance(memoryview, protocols=["buffer"], skip=["*.refuses-*", "*.leak"])
def test_memoryview(clause):
    clause.check()
""",
    )
    assert done.parseoutcomes().keys() <= {"passed", "skipped"}
    asked = [
        name
        for name in names("buffer", IMPORT)
        if not name.startswith("refuses ") and name != "leak"
    ]
    assert sum(done.parseoutcomes().values()) == len(asked)


def test_tests_without_the_mark_are_left_alone(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        "\n\n@pytest.fixture\ndef clause():\n    return 7\n\n\ndef test_seven(clause):\n    "
        "assert clause == 7\n",
    )
    done.assert_outcomes(passed=1)


def test_missing_target_is_an_error_with_the_reason(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        '\n@pytest.mark.conformance("no_such:thing")\ndef test_it(clause):\n    clause.check()\n',
    )
    assert done.ret != 0
    done.stdout.fnmatch_lines(["*module 'no_such' cannot be imported*"])


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ('"builtins:int()"', "builtins:int() speaks no protocol; there are dlpack, *"),
        ("5", "int speaks no protocol; there are dlpack, *"),
        (
            '"builtins:bytes(8)", only="*.lenght"',
            "no clause is called '[*].lenght'; 'length' is like it: entrepot check --list *",
        ),
        (
            '"builtins:bytes(8)", skip=["buffer.exprt.length"]',
            "*'buffer.exprt.length'; 'buffer.export.length' is like it*",
        ),
        (
            '"builtins:bytes(8)", protocols="bufer"',
            "no protocol is called 'bufer'; there are dlpack, *",
        ),
        (
            '"builtins:bytes(8)", only="dlpack.*"',
            "builtins:bytes(8): only=('dlpack.[*]',) and skip=() leave no clause of buffer*",
        ),
    ],
)
def test_mark_without_a_target_is_an_error(
    pytester: pytest.Pytester, mark: str, words: str
) -> None:
    done = run(
        pytester, f"\n@pytest.mark.conformance({mark})\ndef test_it(clause):\n    clause.check()\n"
    )
    assert done.ret != 0
    done.stdout.fnmatch_lines([f"*{words}"])


@pytest.mark.parametrize("target", ['"builtins:len"', "len"])
def test_importer_of_no_protocol_fails(pytester: pytest.Pytester, target: str) -> None:
    done = run(
        pytester,
        f"\n@pytest.mark.conformance({target}, protocols='cai')\ndef test_it(clause):\n    "
        "clause.check()\n",
    )
    assert "failed" in done.parseoutcomes() and "passed" not in done.parseoutcomes()
    done = run(
        pytester,
        f"\n@pytest.mark.conformance({target}, only='*.plain')\ndef test_it(clause):\n    "
        "clause.check()\n",
    )
    assert done.parseoutcomes().keys() == {"failed"}
    done.stdout.fnmatch_lines(["*len takes no object of any protocol, so it is no importer*"])

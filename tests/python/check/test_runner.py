"""A target runs in its own process: if it crashes or hangs, the clause fails and the next one is
checked."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from entrepot.check import Request, TargetError, check, runner
from entrepot.check.clauses import EXPORT, FAILED, IMPORT, PASSED
from entrepot.check.targets import resolve

pytestmark = pytest.mark.host

Write = Callable[[str], None]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a module named ``targets``, for this process and those that it starts."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(source: str) -> None:
        (tmp_path / "targets.py").write_text(textwrap.dedent(source))

    return write


def statuses(request: Request) -> dict[str, str]:
    return {outcome.clause: outcome.status for outcome in check(request).outcomes}


def test_crash_fails_only_its_clause(module: Write) -> None:
    module(
        """
        import os, signal
        import entrepot as ep

        def take(obj):
            array = ep.asarray(obj)
            if array.ndim == 0:
                os.kill(os.getpid(), signal.SIGSEGV)
            return array
        """
    )
    result = check(Request("targets:take", protocols=("buffer",)))
    assert [outcome.clause for outcome in result.failed] == ["buffer.import.0-d"]
    assert result.failed[0].found == "the process ended by SIGSEGV"
    assert result.counts()["buffer"] == {"passed": 23, "failed": 1, "not applicable": 1}


def test_deleter_that_needs_the_gil_is_caught(module: Write) -> None:
    module(
        """
        import ctypes
        from entrepot.check import structs
        from entrepot.check.dlpack import Fabricated
        from entrepot.check.subjects import Importer

        ground = Importer(lambda given: given)

        class Careless(Fabricated):
            def __init__(self):
                super().__init__(ground)

            def managed(self, form=None):
                managed = super().managed(form)
                managed.deleter = structs.address_of(ctypes.pythonapi.PyGC_Collect)
                return managed

            def __dlpack__(self, **keywords):
                super().__dlpack__(**keywords)
                return self.capsules.pop()
        """
    )
    found = statuses(
        Request(
            "targets:Careless()",
            only=("dlpack.export.deleter-thread", "dlpack.export.unconsumed-capsule"),
        )
    )
    assert found == {
        "dlpack.export.deleter-thread": FAILED,
        "dlpack.export.unconsumed-capsule": PASSED,
    }


def test_hang_fails_the_clause(module: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PATIENCE", 3.0)
    module(
        """
        import time
        import entrepot as ep

        def take(obj):
            array = ep.asarray(obj)
            if array.strides == (0, 1):
                time.sleep(60)
            return array
        """
    )
    result = check(
        Request(
            "targets:take", protocols=("buffer",), only=("*.broadcast", "*.0-d", "*.transposed")
        )
    )
    assert [outcome.clause for outcome in result.failed] == ["buffer.import.broadcast"]
    assert "without an answer" in result.failed[0].found
    assert len(result.outcomes) == 4  # the plain one is always asked


def test_forked_child_of_a_target_is_not_waited_for(
    module: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "PATIENCE", 30.0)
    module(
        """
        import os, signal, time

        def make():
            if os.fork() == 0:
                signal.alarm(60)
                time.sleep(60)
                os._exit(0)
            return bytearray(8)
        """
    )
    begin = time.monotonic()
    assert (
        check(
            Request("targets:make()", protocols=("buffer",), only=("buffer.export.length",))
        ).failed
        == []
    )
    assert time.monotonic() - begin < 30


def test_output_of_a_target_is_ignored(module: Write, capfd: pytest.CaptureFixture[str]) -> None:
    module(
        """
        import os

        def make():
            os.write(1, b"a line of the target\\n")
            return bytearray(8)
        """
    )
    assert not check(Request("targets:make")).failed
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("numpy", "is no target: write module:attribute"),
        ("no_such_module:x", "module 'no_such_module' cannot be imported: ModuleNotFoundError"),
        ("targets:nothing", "raised NameError"),
        ("targets:make(", "is no expression"),
        ("targets:fails()", "raised RuntimeError: on purpose"),
        ("targets:dies()", "cannot be checked: the process ended by status 3"),
    ],
)
def test_failed_target_is_reported_with_the_reason(module: Write, target: str, words: str) -> None:
    module(
        """
        import os

        def fails():
            raise RuntimeError("on purpose")

        def dies():
            os._exit(3)
        """
    )
    with pytest.raises(TargetError) as refusal:
        check(Request(target))
    assert words in str(refusal.value)


def test_object_as_importer_is_refused() -> None:
    with pytest.raises(TargetError, match="cannot be called"):
        resolve("builtins:bytearray(4)", IMPORT)


@pytest.mark.parametrize(
    ("target", "side", "repeatable"),
    [
        ("builtins:bytearray", EXPORT, True),
        ("builtins:bytearray(4)", EXPORT, True),
        ("builtins:memoryview", IMPORT, True),
        ("entrepot:asarray", IMPORT, True),
        ("entrepot:zeros(3, 'float32', device='host')", EXPORT, True),
        ("entrepot.check.structs:EXCHANGE_API", EXPORT, False),
        ("functools:partial(bytes, 4)", EXPORT, True),
    ],
)
def test_side_of_target_is_detected(target: str, side: str, repeatable: bool) -> None:
    found = resolve(target)
    assert (found.side, found.repeatable) == (side, repeatable)


def test_single_object_skips_clauses_that_need_several() -> None:
    found = {
        outcome.clause: outcome
        for outcome in check(Request("entrepot.check.structs:EXCHANGE_API")).outcomes
    }
    assert found["buffer.export.keeps-the-memory"].found.startswith("only one object was named")
    assert found["buffer.export.length"].status == PASSED


def test_requested_protocol_must_be_supported() -> None:
    result = check(Request("builtins:memoryview", protocols=("dlpack",)))
    assert [(outcome.clause, outcome.status) for outcome in result.outcomes] == [
        ("dlpack.import.plain", FAILED)
    ]
    assert "TypeError" in result.outcomes[0].found


def test_versions_are_those_of_the_distribution() -> None:
    assert check(Request("pytest:__name__.encode()")).versions == {"pytest": pytest.__version__}
    imported = check(Request("builtins:__import__('pytest').__name__.encode()"))
    assert imported.versions == {"pytest": pytest.__version__}, "what the expression imports"


def test_importer_that_claims_copies_is_checked() -> None:
    only = ("buffer.import.zero-copy",)
    copier = "functools:partial(__import__('entrepot').asarray, copy=True)"
    view = "entrepot:asarray"
    outcome = {
        (target, copies): check(
            Request(target, protocols=("buffer",), only=only, copies=copies, side=IMPORT)
        )
        .outcomes[-1]
        .status
        for target in (copier, view)
        for copies in (True, False)
    }
    assert outcome == {
        (copier, True): PASSED,
        (copier, False): FAILED,
        (view, True): FAILED,
        (view, False): PASSED,
    }


def test_shared_ctypes_functions_are_not_modified() -> None:
    program = """
        import ctypes
        import entrepot.check.buffer, entrepot.check.c_exchange_api
        names = (
            "PyObject_GetBuffer",
            "PyBuffer_Release",
            "PyCapsule_New",
            "PyCapsule_SetName",
            "PyCapsule_GetPointer",
        )
        assert [name for name in names if getattr(ctypes.pythonapi, name).argtypes] == []
        """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=60)

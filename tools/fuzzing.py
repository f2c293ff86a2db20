"""The general part of a fuzzer: cases in child processes, minimization, reproducers, the
summary.

Case k of seed S is always the same: Hypothesis draws it from bytes that depend on S and k only.
A child process runs the cases, so that a crash or a hang ends the child and not the fuzzer.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/python"), str(ROOT / "tests")]

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

Value = TypeVar("Value")

#: A child is replaced after so many cases: each leaves modules and compiled code behind.
CASES_OF_A_CHILD = 500


def drawn(strategy: st.SearchStrategy[Value], seed: int, case: int) -> Value | None:
    """The value that Hypothesis makes of these two numbers; None if the strategy rejects them."""
    found: list[Value] = []

    @settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def take(value: Value) -> None:
        found.append(value)

    test: Any = take  # Hypothesis's types do not have the attribute
    test.hypothesis.fuzz_one_input(random.Random(f"{seed}:{case}").randbytes(1 << 16))
    return found[0] if found else None


# ---------------------------------------------------------------- children


@dataclass(frozen=True)
class Failure:
    """Two failures are equal if their kind and place are."""

    kind: str
    place: str
    detail: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.place

    def __str__(self) -> str:
        return f"{self.place}: {self.kind}"


#: Kind of a case that is void, such as a program that the simulator refuses; it is not a failure.
VOID = "void"

#: A run with more void cases fails. Normally there are none.
MOST_VOID = 3


class Child:
    """A process that runs cases, restarted after it has ended."""

    def __init__(self, arguments: list[str], environment: dict[str, str] | None = None) -> None:
        self._command = [sys.executable, *arguments, "--child"]
        self._environment = os.environ | {"ENTREPOT_CACHE_DIR": ""} | (environment or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._cases = 0

    def _start(self) -> subprocess.Popen[bytes]:
        self._cases = 0
        self._errors = tempfile.TemporaryFile()
        return subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=self._environment,
            start_new_session=True,
            bufsize=0,  # select() sees the pipe, and not what a buffer has taken from it
        )

    def run(self, case: Any, seconds: float) -> list[Failure]:
        """The failures of a case. A crash or a hang is a failure at the place that the child has
        named last."""
        if self._process is None or self._cases >= CASES_OF_A_CHILD:
            self.end()
            self._process = self._start()
        self._cases += 1
        process, place, until = self._process, "start", time.monotonic() + seconds
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(case).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return [self._ended(place)]
        while True:
            ready, _, _ = select.select(
                [process.stdout], [], [], max(0.0, until - time.monotonic())
            )
            if not ready:
                self.end()
                return [Failure("hang", place, f"no answer in {seconds:.0f} s")]
            line = process.stdout.readline()
            if not line:
                return [self._ended(place)]
            answer = json.loads(line)
            if "at" in answer:
                place = answer["at"]
            else:
                return [Failure(*each) for each in answer["failures"]]

    def _ended(self, place: str) -> Failure:
        assert self._process is not None
        until = time.monotonic() + 10  # for a process that has closed its output and goes on
        while (
            not os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            and time.monotonic() < until
        ):
            time.sleep(0.01)
        status = self.end()
        self._errors.seek(0)
        words = self._errors.read()[-2000:].decode(errors="replace")
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return Failure(f"ended by {how}", place, words)

    def end(self) -> int:
        """Kills the process and its children; returns its exit status, which may be an earlier
        one."""
        status = 0
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            status = self._process.wait()
            self._process = None
        return status


def serve(run: Callable[[Any, Callable[[str], None]], list[Failure]]) -> None:
    """The child's loop: a case per line on standard input, its failures per line on the former
    standard output."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what kernels and libraries print is not an answer

    def say(answer: dict[str, Any]) -> None:
        out.write(json.dumps(answer) + "\n")
        out.flush()

    for line in sys.stdin:
        failures = run(json.loads(line), lambda place: say({"at": place}))
        say({"failures": [(each.kind, each.place, each.detail) for each in failures]})
    os._exit(0)


# ---------------------------------------------------------------- the fuzzer


class Fuzzer:
    """Makes and judges cases. A case is a value that JSON can carry."""

    name: str
    #: Seconds that a case may take before it counts as hanging.
    patience = 60.0
    #: Ways to make a case smaller: each yields cases that are a step smaller, the smallest first.
    steps: list[Callable[[Any], Iterator[Any]]]

    def __init__(self, command: list[str]) -> None:
        """``command`` is the script with its arguments, by which children are started."""
        self.command = command
        self.children: list[Child] = []

    def make(self, seed: int, case: int) -> Any:
        """The case with this number, or None if there are no more."""
        raise NotImplementedError

    def run(self, case: Any, at: Callable[[str], None]) -> list[Failure]:
        """Runs the case in a child; ``at`` is called with each place before its work begins."""
        raise NotImplementedError

    def known(self, case: Any, failures: list[Failure]) -> str | None:
        """Name of another project's defect that explains all the failures."""
        return None

    def most_known(self, cases: int) -> int:
        """How many of that many cases may fail by known defects of others."""
        return 0

    def focus(self, case: Any, failure: Failure) -> Any:
        """The case without parts that are irrelevant to the failure's place."""
        return case

    def script(self, case: Any, heading: str) -> str:
        """A program that exits with 1 while the case fails, and needs only the package."""
        raise NotImplementedError


def minimized(
    fuzzer: Fuzzer,
    child: Child,
    case: Any,
    failure: Failure,
    options: argparse.Namespace,
    taken: float,
) -> Any:
    """The smallest case that fails in the same way and is found within the options' limits. The
    case itself has taken ``taken`` seconds."""
    until = time.monotonic() + options.minimize
    tried: set[str] = set()
    # A loop without its last statement may not end. That is detected soon, unless hanging is the
    # failure.
    patience = fuzzer.patience if failure.kind == "hang" else min(fuzzer.patience, 5 + 3 * taken)

    def fails(candidate: Any) -> bool:
        text = json.dumps(candidate)
        if text in tried:
            return False
        tried.add(text)
        failures = child.run(candidate, patience)
        if failures and failures[0].kind != VOID:
            child.end()
        return any(each.key == failure.key for each in failures)

    focused = fuzzer.focus(case, failure)
    smallest = focused if fails(focused) else case
    changed = True
    while changed:
        changed = False
        for steps in fuzzer.steps:
            # of a case's candidates those before have not failed, and their like in a smaller case
            # will not either
            done = 0
            candidates = enumerate(steps(smallest))
            while (following := next(candidates, None)) is not None:
                if time.monotonic() > until or len(tried) >= options.tries:
                    return smallest
                number, candidate = following
                if number >= done and fails(candidate):
                    smallest, done, changed = candidate, number, True
                    candidates = enumerate(steps(smallest))
    return smallest


def parser(description: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description)
    made.add_argument(
        "--seconds", type=float, default=60, help="how long new cases are tried (default 60)"
    )
    made.add_argument("--seed", type=int, help="the seed of the cases; a fresh one by default")
    made.add_argument(
        "--first", type=int, default=0, help="the number of the first case (default 0)"
    )
    made.add_argument("--cases", type=int, help="how many cases at most")
    made.add_argument(
        "--out",
        type=Path,
        default=Path("build/fuzz"),
        help="folder of the reproducers (default build/fuzz)",
    )
    made.add_argument(
        "--failures", type=int, default=5, help="stop after so many failures (default 5)"
    )
    made.add_argument(
        "--minimize",
        type=float,
        default=120,
        help="seconds that a failure is minimized for (default 120)",
    )
    made.add_argument(
        "--tries",
        type=int,
        default=sys.maxsize,
        help="how many smaller cases are tried for a failure at most (default: no limit)",
    )
    made.add_argument("--patience", type=float, help="seconds after which a case counts as hanging")
    made.add_argument(
        "--load",
        type=Path,
        help="a Python file that children run first: tests break something with it",
    )
    made.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return made


def main(fuzzer: Fuzzer, options: argparse.Namespace) -> int:
    """Runs the fuzzer, or a child of it. Returns the exit status."""
    if options.child:
        if options.load is not None:
            exec(
                compile(options.load.read_text(), options.load, "exec"),
                {"fuzzer": fuzzer, "__file__": str(options.load)},
            )
        serve(fuzzer.run)
    if options.load is not None:
        fuzzer.command += ["--load", str(options.load)]
    if options.patience is not None:
        fuzzer.patience = options.patience
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    print(f"{fuzzer.name}: seed {seed}, {options.seconds:.0f} s", flush=True)
    child = Child(fuzzer.command)
    fuzzer.children.append(child)
    counts: Counter[str] = Counter()
    why_void = ""
    start, case = time.monotonic(), options.first
    spent_on_failures = 0.0
    try:
        while (
            time.monotonic() - start - spent_on_failures < options.seconds
            and counts["failures"] < options.failures
        ):
            if counts["void"] > MOST_VOID:
                break
            if options.cases is not None and counts["cases"] >= options.cases:
                break
            made = fuzzer.make(seed, case)
            if made is not None:
                began = time.monotonic()
                failures = child.run(made, fuzzer.patience)
                taken = time.monotonic() - began
                void = next((each for each in failures if each.kind == VOID), None)
                if void is not None:
                    counts["void"] += 1
                    why_void = f"case {case}: {void.place}: {void.detail}"
                else:
                    counts["cases"] += 1
                    if failures:
                        began, before = time.monotonic(), counts["failures"]
                        report(
                            fuzzer,
                            child,
                            made,
                            failures,
                            f"seed {seed}, case {case}",
                            options,
                            counts,
                            taken,
                        )
                        if (
                            counts["failures"] > before
                        ):  # of which there are few; known faults may be many
                            spent_on_failures += time.monotonic() - began
            case += 1
    finally:
        for each in fuzzer.children:
            each.end()
    known = {
        name: count for name, count in counts.items() if name not in ("cases", "void", "failures")
    }
    apart = "; known faults of others: " + (
        ", ".join(f"{count} of {name}" for name, count in known.items()) or "none"
    )
    print(
        f"{fuzzer.name}: seed {seed}, {counts['cases']} cases in {time.monotonic() - start:.0f} s, "
        f"{counts['void']} void, {counts['failures']} failures{apart}",
        flush=True,
    )
    problems = problems_of_run(fuzzer, counts, sum(known.values()), why_void)
    for problem in problems:
        print(f"{fuzzer.name}: {problem}", flush=True)
    return 1 if counts["failures"] or problems else 0


def problems_of_run(fuzzer: Fuzzer, counts: Counter[str], known: int, why_void: str) -> list[str]:
    """Reasons for which a run without failures proves nothing."""
    found = []
    if not counts["cases"]:
        found.append("no case was tested")
    if counts["void"] > MOST_VOID:
        found.append(
            f"{counts['void']} cases are void, and at most {MOST_VOID} may be; the last is "
            f"{why_void}"
        )
    if known > (most := fuzzer.most_known(counts["cases"])):
        found.append(
            f"{known} of {counts['cases']} cases failed by known faults of others, and at most "
            f"{most} may: "
            "the scripts known_*.py may show a fault of Entrepot"
        )
    return found


def report(
    fuzzer: Fuzzer,
    child: Child,
    case: Any,
    failures: list[Failure],
    name: str,
    options: argparse.Namespace,
    counts: Counter[str],
    taken: float,
) -> None:
    """Counts a failing case, and writes its reproducer."""
    child.end()  # what a failure has left behind must not fail the next case
    options.out.mkdir(parents=True, exist_ok=True)
    failure = failures[-1]
    stem = f"{fuzzer.name}_{name.replace('seed ', '').replace(', case ', '_')}"
    known = fuzzer.known(case, failures)
    if known is not None:
        counts[known] += 1
        path = options.out / f"known_{stem}.py"
        path.write_text(
            fuzzer.script(fuzzer.focus(case, failure), f"{name}: {failure}; a known fault: {known}")
        )
        print(f"  {name}: {failure}; a known fault of {known}: {path}", flush=True)
        return
    counts["failures"] += 1
    smallest = minimized(fuzzer, child, case, failure, options, taken)
    path = options.out / f"{stem}.py"
    path.write_text(fuzzer.script(smallest, f"{name}: {failure}"))
    print(
        f"  {name}: {'; '.join(map(str, failures))}\n    {failure.detail.strip()[:600]}\n    "
        f"{path}",
        flush=True,
    )
    try:
        alone = subprocess.run(
            [sys.executable, path], capture_output=True, timeout=fuzzer.patience * 2
        ).returncode
        print(f"    by itself the script ends with {alone}", flush=True)
    except subprocess.TimeoutExpired:
        print("    by itself the script does not end", flush=True)

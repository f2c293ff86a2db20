"""Runs the clauses. A named target is checked in a process of its own, which may crash, an object
in this process.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import IO, Any

import entrepot as ep

from .clauses import EXPORT, FAILED, NOT_APPLICABLE, PASSED, Clause, Failed, Outcome, ask, words_of
from .protocols import PROTOCOLS, every_clause, exporter, importer, speaks, spoken
from .subjects import Exporter, Importer
from .targets import Target, TargetError, resolve, versions_of

PATIENCE = 120.0  # seconds that one clause, or the import of the target's module, may take


@dataclass(frozen=True)
class Request:
    """A target and the clauses to check.

    Parameters
    ----------
    target : str
        ``module:attribute`` or ``module:expression``: an object, a factory of objects, or an
        importer.
    side : str, optional
        ``"export"`` or ``"import"``. By default, a target that can be called without arguments and
        returns an object with a protocol is an exporter, any other callable an importer.
    device : str, optional
        The device with the memory that importers are given. The default is ``"host"``.
    protocols : tuple of str, optional
        The names of the protocols to check. By default they are those that the target supports.
    only : tuple of str, optional
        Patterns of the clauses to check, as of fnmatch. The default is all.
    skip : tuple of str, optional
        Patterns of clauses to leave out.
    copies : bool, optional
        True for an importer that always copies: a view is then a failure. The default is False.

    Raises
    ------
    TargetError
        If a protocol or a clause is unknown. Otherwise no clause would run, and the check would
        pass.

    Examples
    --------
    >>> from entrepot.check import Request, check
    >>> request = Request("builtins:bytearray(8)", only=("buffer.*",), skip=("*.leak",))
    >>> check(request).failed
    []
    """

    target: str
    side: str | None = None
    device: str = "host"
    protocols: tuple[str, ...] = ()  # empty: those that the target supports
    only: tuple[str, ...] = ("*",)
    skip: tuple[str, ...] = ()
    copies: bool = False  # an importer that promises a copy

    def __post_init__(self) -> None:
        """Raises TargetError for unknown names: with a misspelt name no clause would run, and the
        check would pass.
        """
        for protocol in self.protocols:
            if protocol not in PROTOCOLS:
                raise TargetError(
                    f"no protocol is called {protocol!r}; there are {', '.join(PROTOCOLS)}"
                )
        names = [clause.id for clause in every_clause()]
        for pattern in (*self.only, *self.skip):
            if not any(fnmatchcase(name, pattern) for name in names):
                short = {name.rpartition(".")[2] for name in names}
                close = get_close_matches(pattern, names, 1) or get_close_matches(
                    pattern.rpartition(".")[2], short, 1
                )
                like = f"; {close[0]!r} is like it" if close else ""
                raise TargetError(
                    f"no clause is called {pattern!r}{like}: entrepot check --list prints them all"
                )

    def wants(self, clause: Clause) -> bool:
        """Check that a clause was requested.

        Parameters
        ----------
        clause : Clause
            The clause.

        Returns
        -------
        bool
            True if a pattern of ``only`` matches its ``id``, and none of ``skip``.

        Examples
        --------
        >>> from entrepot.check import Clause, Request
        >>> clause = Clause("buffer", "export", "ndim", "", "", check=lambda exporter: None)
        >>> Request("builtins:bytearray(8)", skip=("buffer.*",)).wants(clause)
        False
        """
        return any(fnmatchcase(clause.id, p) for p in self.only) and not any(
            fnmatchcase(clause.id, p) for p in self.skip
        )


@dataclass
class Result:
    """The outcomes of a request.

    Parameters
    ----------
    request : Request
        The request.
    side : str
        ``"export"`` or ``"import"``: the side that was checked.
    versions : dict
        The versions of the distributions that the target belongs to, by their names.
    outcomes : list of Outcome, optional
        One outcome for each clause.

    Examples
    --------
    >>> from entrepot.check import Request, check
    >>> result = check(Request("builtins:bytearray(8)", only=("buffer.export.ndim",)))
    >>> result.side, len(result.outcomes), result.failed
    ('export', 1, [])
    """

    request: Request
    side: str
    versions: dict[str, str]
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def failed(self) -> list[Outcome]:
        """The outcomes of the clauses that failed."""
        return [outcome for outcome in self.outcomes if outcome.status == FAILED]

    @property
    def why_nothing(self) -> str:
        """A sentence if no clause was applicable, so that it is not mistaken for success; else
        empty.
        """
        if any(outcome.status != NOT_APPLICABLE for outcome in self.outcomes):
            return ""
        name = self.request.target
        if self.side == EXPORT or not self.outcomes:
            return f"{name} speaks no protocol, or no clause was chosen"
        seen = (
            ""
            if self.request.side
            else ", for which it was taken because a call without arguments gives nothing of the "
            "kind"
        )
        return (
            f"{name} takes no object of any protocol, so it is no importer{seen}; to check what "
            "it returns, write the call, as "
            f"in {name}(3)"
        )

    def counts(self) -> dict[str, dict[str, int]]:
        """Count the outcomes.

        Returns
        -------
        dict of dict
            Protocol → status → number of clauses.

        Examples
        --------
        >>> from entrepot.check import Request, check
        >>> check(Request("builtins:bytearray(8)", only=("buffer.export.ndim",))).counts()
        {'buffer': {'passed': 1, 'failed': 0, 'not applicable': 0}}
        """
        found: dict[str, dict[str, int]] = {}
        for outcome in self.outcomes:
            row = found.setdefault(
                outcome.clause.partition(".")[0], {PASSED: 0, FAILED: 0, NOT_APPLICABLE: 0}
            )
            row[outcome.status] += 1
        return found


# ---------------------------------------------------------------- in this process


def ask_target(
    target: Target, request: Request, done: Mapping[str, str], begin: Callable[[Clause], None]
) -> Iterator[Outcome]:
    """Yields the outcomes of clauses that are not in ``done``; calls ``begin`` before each
    clause.
    """
    asked = ask_exporter if target.side == EXPORT else ask_importer
    yield from asked(target, request, done, begin)


def ask_exporter(
    target: Target, request: Request, done: Mapping[str, str], begin: Callable[[Clause], None]
) -> Iterator[Outcome]:
    subject = exporter(target.call, repeatable=target.repeatable)
    for protocol in PROTOCOLS.values():
        if protocol.name in request.protocols or (
            not request.protocols and speaks(protocol, subject.object)
        ):
            yield from ask_all(protocol.exports, subject, request, done, begin)


def ask_importer(
    target: Target, request: Request, done: Mapping[str, str], begin: Callable[[Clause], None]
) -> Iterator[Outcome]:
    subject = importer(target.call, request.device, copies=request.copies)
    for protocol in PROTOCOLS.values():
        if request.protocols and protocol.name not in request.protocols:
            continue
        plain, *others = protocol.imports
        if plain.id not in done:
            begin(plain)
            refusal = why_not_taken(plain, subject)
            if refusal is None or request.protocols:
                yield ask(plain, subject)
            else:
                yield Outcome(
                    plain.id,
                    NOT_APPLICABLE,
                    plain.says,
                    plain.source,
                    found=f"not taken: {refusal}",
                )
                continue
            if refusal is not None:
                continue
        elif done[plain.id] != PASSED:
            continue
        yield from ask_all(others, subject, request, done, begin)


def why_not_taken(plain: Clause, subject: Importer) -> str | None:
    """The error with which the plainest object of a protocol is refused; None if it is imported,
    even wrongly.
    """
    try:
        plain.check(subject)
    except Failed:
        return None
    except Exception as error:
        return words_of(error)
    return None


def ask_all(
    clauses: Any,
    subject: Exporter | Importer,
    request: Request,
    done: Mapping[str, str],
    begin: Callable[[Clause], None],
) -> Iterator[Outcome]:
    for clause in clauses:
        if clause.id in done or not request.wants(clause):
            continue
        begin(clause)
        if isinstance(subject, Importer):
            subject.ground.reset()
        yield ask(clause, subject)


def check_here(target: Target, request: Request) -> Result:
    """Checks an object in this process, because no other process can access it."""
    outcomes = list(ask_target(target, request, {}, lambda clause: None))
    return Result(request, target.side, {}, outcomes)


def protocols_of(target: Target, request: Request) -> list[str]:
    """The protocols to check."""
    return list(
        request.protocols or (spoken(target.call()) if target.side == EXPORT else PROTOCOLS)
    )


# ---------------------------------------------------------------- in a process of its own


def require_device(selector: str) -> None:
    try:
        ep.Device(selector)
    except (ValueError, ep.DeviceError) as error:
        raise TargetError(f"--device: {error}") from None


def serve(
    request: Request, done: Mapping[str, str] | None, say: Callable[[dict[str, Any]], None]
) -> None:
    """Runs in the child. Reports each clause before it starts, and its outcome. Without ``done``,
    lists the protocols.
    """
    try:
        require_device(request.device)
        target = resolve(request.target, request.side)
    except TargetError as error:
        say({"error": str(error)})
        return
    say({"side": target.side})
    try:
        if done is None:
            say({"protocols": protocols_of(target, request)})
            return
        for outcome in ask_target(target, request, done, lambda clause: say({"begin": clause.id})):
            say({"outcome": outcome.to_dict()})
    except Exception as error:
        say({"error": f"{request.target} cannot be checked: {words_of(error)}"})
        return
    say({"end": True})


class Child:
    """A process that runs clauses and reports line by line; the target's output goes to a file."""

    def __init__(self, request: Request, done: Mapping[str, str] | None) -> None:
        self._printed: IO[bytes] = tempfile.TemporaryFile()
        reading, writing = os.pipe()
        order = {
            "request": asdict(request),
            "done": None if done is None else dict(done),
            "path": sys.path,
            "pipe": writing,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "entrepot.check.worker"],
            stdin=subprocess.PIPE,
            stdout=self._printed,
            stderr=self._printed,
            pass_fds=[writing],
        )
        os.close(writing)
        assert self._process.stdin
        self._process.stdin.write(json.dumps(order).encode())
        self._process.stdin.close()
        self._pipe = reading

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yields lines until the process ends. A process that is silent for too long is killed."""
        rest = b""
        while True:
            if not select.select([self._pipe], [], [], PATIENCE)[0]:
                self._process.kill()
                return
            block = os.read(self._pipe, 1 << 16)
            if not block:
                return
            *lines, rest = (rest + block).split(b"\n")
            yield from map(json.loads, lines)

    def ended(self) -> str:
        """How the process ended, and the last line that it printed."""
        start = time.monotonic()
        status = self._process.wait()
        self._printed.seek(0)
        said = [
            line.strip()
            for line in self._printed.read().decode(errors="replace").splitlines()
            if line.strip()
        ]
        telling = next((line for line in said if "what()" in line or "rror" in line), "")
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        if status == -signal.SIGKILL and time.monotonic() - start < 1:
            how = f"SIGKILL, after {PATIENCE:.0f} s without an answer, or by the system"
        return f"the process ended by {how}{': ' + telling[:120] if telling else ''}"

    def close(self) -> None:
        os.close(self._pipe)
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._printed.close()


def look(request: Request) -> tuple[str, list[str]]:
    """The target's side and the protocols to check."""
    child = Child(request, None)
    side = ""
    try:
        for line in child.lines():
            if "error" in line:
                raise TargetError(line["error"])
            side = line.get("side", side)
            if "protocols" in line:
                return side, line["protocols"]
        raise TargetError(f"{request.target} cannot be checked: {child.ended()}")
    finally:
        child.close()


def check(request: Request) -> Result:
    """Check a target in a process of its own.

    If a clause crashes the process, that clause fails, and a new process continues.

    Parameters
    ----------
    request : Request
        The target and the clauses.

    Returns
    -------
    Result
        The outcomes of the clauses, in the order in which they ran.

    Raises
    ------
    TargetError
        If the target or the device does not exist, or if the process ends before a clause begins.

    Examples
    --------
    >>> from entrepot.check import Request, check
    >>> result = check(Request("builtins:bytearray(8)", skip=("*.leak",)))
    >>> [outcome.clause for outcome in result.failed]
    []
    """
    clauses = {clause.id: clause for clause in every_clause()}
    outcomes: list[Outcome] = []
    side = request.side or ""
    while True:
        child = Child(request, {outcome.clause: outcome.status for outcome in outcomes})
        asking, ended = "", False
        try:
            for line in child.lines():
                if "error" in line:
                    raise TargetError(line["error"])
                side = line.get("side", side)
                asking = line.get("begin", asking)
                if "outcome" in line:
                    outcomes.append(Outcome(**line["outcome"]))
                    asking = ""
                if "end" in line:  # children of the target inherit the pipe and may hold it open
                    ended = True
                    break
            if ended:
                return Result(request, side, versions_of(request.target), outcomes)
            if not asking:
                raise TargetError(f"{request.target} cannot be checked: {child.ended()}")
            clause = clauses[asking]
            outcomes.append(
                Outcome(
                    asking,
                    FAILED,
                    clause.says,
                    clause.source,
                    asked=clause.says,
                    found=child.ended(),
                )
            )
        finally:
            child.close()

"""Clauses and their outcomes. A clause is a sentence of a protocol with its source and a function
that checks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NoReturn, TypeVar

PASSED, FAILED, NOT_APPLICABLE = "passed", "failed", "not applicable"

EXPORT, IMPORT = "export", "import"  # the sides of a protocol: producer and consumer

Check = TypeVar("Check", bound=Callable[[Any], None])


class Failed(Exception):
    """The clause does not hold."""

    def __init__(self, asked: str, found: str) -> None:
        super().__init__(asked, found)
        self.asked, self.found = asked, found


class NotApplicable(Exception):
    """The clause does not apply to this object, or cannot be checked on this machine."""


@dataclass(frozen=True)
class Clause:
    """One row of a protocol's table.

    Parameters
    ----------
    protocol : str
        The name of the protocol, such as ``"dlpack"``.
    side : str
        ``"export"`` or ``"import"``: the side of the protocol that the clause is about.
    name : str
        The name of the clause in its table.
    says : str
        The requirement.
    source : str
        The document and section that state it.
    check : callable
        The function that checks the clause on an exporter or importer.

    Examples
    --------
    >>> from entrepot.check import Clause
    >>> says, source = "there are 0 to 64 dimensions", "Python's C API"
    >>> Clause("buffer", "export", "ndim", says, source, check=lambda exporter: None).id
    'buffer.export.ndim'
    """

    protocol: str
    side: str
    name: str
    says: str
    source: str
    check: Callable[[Any], None]

    @property
    def id(self) -> str:
        """The name on the command line, which is protocol, side and name with dots between."""
        return f"{self.protocol}.{self.side}.{self.name.replace(' ', '-')}"


@dataclass(frozen=True)
class Outcome:
    """The outcome of one clause.

    Parameters
    ----------
    clause : str
        The ``id`` of the clause.
    status : str
        ``"passed"``, ``"failed"`` or ``"not applicable"``.
    says : str
        The requirement.
    source : str
        The document and section that state it.
    asked : str, optional
        The expectation, if the clause failed.
    found : str, optional
        The observation if the clause failed, or the reason if it is not applicable.

    Examples
    --------
    >>> from entrepot.check import Request, check
    >>> (outcome,) = check(Request("builtins:bytearray(8)", only=("buffer.export.ndim",))).outcomes
    >>> outcome.clause, outcome.status
    ('buffer.export.ndim', 'passed')
    """

    clause: str
    status: str
    says: str
    source: str
    asked: str = ""
    found: str = ""

    def to_dict(self) -> dict[str, str]:
        """Convert the outcome to a dict.

        Returns
        -------
        dict
            The fields by their names.

        Examples
        --------
        >>> from entrepot.check import Outcome
        >>> outcome = Outcome("buffer.export.ndim", "passed", "there are 0 to 64 dimensions", "")
        >>> outcome.to_dict()["status"]
        'passed'
        """
        return asdict(self)


class Table:
    """The clauses of one side of a protocol, in the order in which they run."""

    def __init__(self, protocol: str, side: str) -> None:
        self.protocol, self.side = protocol, side
        self._clauses: list[Clause] = []

    def __iter__(self) -> Iterator[Clause]:
        return iter(self._clauses)

    def __len__(self) -> int:
        return len(self._clauses)

    def clause(self, name: str, says: str, source: str) -> Callable[[Check], Check]:
        """Decorator that adds the function as the clause's check."""

        def enter(check: Check) -> Check:
            self.add(name, says, source, check)
            return check

        return enter

    def add(self, name: str, says: str, source: str, check: Callable[[Any], None]) -> None:
        self._clauses.append(Clause(self.protocol, self.side, name, says, source, check))


def require(holds: object, asked: str, found: object) -> None:
    """Fails the clause unless ``holds``."""
    if not holds:
        raise Failed(asked, str(found))


def skip(reason: str) -> NoReturn:
    raise NotApplicable(reason)


def words_of(error: BaseException) -> str:
    """An exception as one short line."""
    text = " ".join(str(error).split())
    kind = type(error).__name__
    return f"{kind}: {text if len(text) <= 160 else text[:159] + '…'}" if text else kind


def ask(clause: Clause, subject: Any) -> Outcome:
    """The outcome of one clause. An exception that the check did not expect is a failure: the
    subject raised it.
    """
    outcome = {"clause": clause.id, "says": clause.says, "source": clause.source}
    try:
        clause.check(subject)
    except NotApplicable as reason:
        return Outcome(status=NOT_APPLICABLE, found=str(reason), **outcome)
    except Failed as failure:
        return Outcome(status=FAILED, asked=failure.asked, found=failure.found, **outcome)
    except Exception as error:
        return Outcome(status=FAILED, asked=clause.says, found=words_of(error), **outcome)
    return Outcome(status=PASSED, **outcome)

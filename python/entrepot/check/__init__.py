"""Checks the conformance of an exporter or importer clause by clause: ``entrepot check``, and a
pytest plugin.

:func:`check` checks a target, named as on the command line, in a process of its own.
"""

from __future__ import annotations

from .clauses import Clause, Outcome
from .runner import Request, Result, check
from .targets import TargetError

__all__ = ["Clause", "Outcome", "Request", "Result", "TargetError", "check"]

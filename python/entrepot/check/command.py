"""``entrepot check TARGET``: checks the clauses of every protocol that a target supports."""

from __future__ import annotations

import argparse
import json
import os
import sys

from . import report
from .clauses import EXPORT, IMPORT
from .protocols import PROTOCOLS, every_clause
from .runner import Request, check
from .targets import TargetError

SIDES = {"exporter": EXPORT, "importer": IMPORT}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 no clause failed, 1 a clause failed, 2 there is no such target, or it "
        "speaks no protocol. "
        "The target runs in a process of its own: where it crashes, the clause has failed."
    )
    parser.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="module:attribute or module:expression, such as 'numpy:zeros(3)'",
    )
    parser.add_argument(
        "--as",
        dest="side",
        choices=SIDES,
        help="exporter or importer (default: detected)",
    )
    parser.add_argument(
        "--device",
        default="host",
        help="device of the memory that is passed to importers, such as opencl:cpu",
    )
    parser.add_argument(
        "--copies",
        action="store_true",
        help="the importer always copies; a view is a failure",
    )
    parser.add_argument(
        "--protocol",
        action="append",
        default=[],
        choices=PROTOCOLS,
        help="check only this protocol, even if the target does not support it; may be repeated",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PATTERN",
        help="check only clauses that match, such as 'dlpack.*'",
    )
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave out clauses that match",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--list",
        action="store_true",
        help="print all clauses with their sources, and check nothing",
    )


def main(chosen: argparse.Namespace) -> int:
    """Prints the report. Returns 1 if a clause failed, 2 if nothing could be checked."""
    if chosen.list:
        report.show_clauses(every_clause())
        return 0
    if chosen.target is None:
        print(
            "entrepot check: TARGET is missing: module:attribute or module:expression, or --list",
            file=sys.stderr,
        )
        return 2
    sys.path.insert(0, os.getcwd())  # the installed script has its own folder first in the path
    try:
        request = Request(
            chosen.target,
            SIDES.get(chosen.side),
            chosen.device,
            tuple(chosen.protocol),
            tuple(chosen.only) or ("*",),
            tuple(chosen.skip),
            chosen.copies,
        )
        result = check(request)
    except TargetError as error:
        print(f"entrepot check: {error}", file=sys.stderr)
        return 2
    if chosen.json:
        print(json.dumps(report.to_dict(result), indent=2, ensure_ascii=False))
    else:
        report.show(result)
    if result.why_nothing:
        print(f"entrepot check: {result.why_nothing}", file=sys.stderr)
        return 2
    return 1 if result.failed else 0

"""The command line: a table of commands, whose modules are imported on use."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from . import __version__, get_include

# Command → its help text, and the module whose main() runs it.
COMMANDS = {
    "devices": ("every device, and why a backend is absent", "entrepot.device_list"),
    "info": ("versions, devices and settings, for a bug report", "entrepot.info"),
    "demo": (
        "exchanges between the installed libraries, with addresses that show that nothing was "
        "copied",
        "entrepot.demo",
    ),
    "check": (
        "test an exporter or importer against the clauses of its protocols",
        "entrepot.check.command",
    ),
    "cache": (
        "list or remove compiled code on disk",
        "entrepot.code_cache",
    ),
}


class _CommandParser(argparse.ArgumentParser):
    """Imports a command's module for its options only if the command is used."""

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        module = import_module(COMMANDS[self.prog.split()[-1]][1])
        if hasattr(module, "add_options"):
            module.add_options(self)
        return super().parse_known_args(args, namespace)


class _PrintFolder(argparse.Action):
    """Prints the option's ``const``. argparse's version action would break long lines."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(self.const)
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="entrepot",
        description="Zero-copy exchange of accelerator memory between the libraries of a process.",
        epilog="Exit status: 0 done, 1 the demo saw a copy or missed a write, or a clause failed, "
        "2 the command line was wrong, 141 if the reader of a pipe closed it.",
    )
    parser.add_argument(
        "--version", action="version", version=f"entrepot {__version__}", help="print the version"
    )
    include = Path(get_include())
    for option, folder, use in (
        ("--include-dir", include, "of the C and C++ headers"),
        ("--cmake-dir", include.with_name("cmake"), "that find_package(entrepot) needs"),
        ("--pkg-config", include.with_name("pkgconfig"), "for PKG_CONFIG_PATH"),
    ):
        parser.add_argument(
            option, action=_PrintFolder, nargs=0, const=folder, help=f"print the folder {use}"
        )
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=_CommandParser
    )
    for name, (help_text, _) in COMMANDS.items():
        commands.add_parser(name, help=help_text, description=help_text)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command in the arguments and returns its exit status."""
    chosen = _parser().parse_args(arguments)
    try:
        module = import_module(COMMANDS[chosen.command][1])
        status: int = module.main(chosen) if hasattr(module, "add_options") else module.main()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does. Redirects output so that the flush at exit
        # does not fail, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return status

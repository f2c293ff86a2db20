"""``kernel.report()``: what the host's compiler says about the loops of a kernel."""

from __future__ import annotations

import linecache
import os
import re
from dataclasses import dataclass
from typing import Any

from .._core import KernelError, Program
from .source import shown_path

#: Options that let a compiler say which loops it vectorizes: GCC's and Clang's.
_OPTIONS = (
    "-fopt-info-vec-optimized-missed",
    "-gline-tables-only -Rpass=loop-vectorize -Rpass-missed=loop-vectorize "
    "-Rpass-analysis=loop-vectorize",
)
_PLACE = r"^(?P<file>.+?):(?P<line>\d+):\d+: "
_VECTORIZED = re.compile(
    _PLACE + r"(?:optimized: loop vectorized using (?P<bytes>\d+) byte vectors"
    r"|remark: vectorized loop \(vectorization width: (?P<lanes>\d+))"
)
#: GCC's line about a loop, which the reason follows at the place of a statement.
_MISSED_LOOP = re.compile(_PLACE + r"missed: couldn't vectorize loop$")
_REASON = re.compile(r"missed: not vectorized: (?P<reason>.+)$")
_MISSED = re.compile(_PLACE + r"remark: loop not vectorized: (?P<reason>.+?)(?: \[-R.*)?$")
#: Clang's line after a remark, with the place that #line gave to the loop.
_TRUE_PLACE = re.compile(
    r"note: could not determine the original source location for (?P<file>.+):(?P<line>\d+):\d+$"
)

#: A listing on the standard output, by GNU's assembler. Clang has one of its own, without listings.
_LISTING_OPTIONS = ("-Wa,-aln", "-fno-integrated-as -Wa,-aln")
_LABEL = re.compile(r" *\d+ +\t*(?P<label>[\w.$]+:)")
_CODE = re.compile(r" *\d+ [0-9a-f]{4,} [0-9A-F]+ *\t+(?P<text>\S.*)")

_WORK_ITEMS = "over work-items"


@dataclass
class _Remark:
    """A compiler's words about one version of a loop: a width, or why it is not vectorized."""

    file: str
    line: int
    width: str = ""
    reason: str = ""

    @property
    def place(self) -> tuple[str, int]:
        """File and line in Python; no line for loops that only the generated code has."""
        if self.file.endswith(".py") or self.file.startswith("<"):
            return os.path.abspath(self.file), self.line
        return "", 0


def report(translation: dict[str, Any]) -> str:
    remarks = _remarks(
        _log(translation, _OPTIONS, "report() needs GCC or Clang, which say what they vectorize")
    )
    lines = []
    for place in sorted({each.place for each in remarks}):
        here = [each for each in remarks if each.place == place]
        lines.append(_shown(*place))
        if widths := {each.width for each in here if each.width}:
            numbers = sorted(widths, key=lambda width: -int(width.split()[0]))
            lines.append(f"    vectorized: {', '.join(numbers)}")
        else:
            lines += sorted({f"    not vectorized: {each.reason}" for each in here})
    return "\n".join(lines) or "the compiler names no loop"


def _remarks(log: str) -> list[_Remark]:
    remarks: list[_Remark] = []
    loop: _Remark | None = None
    for line in log.splitlines():
        if found := _VECTORIZED.match(line):
            width = f"{found['bytes']} bytes" if found["bytes"] else f"{found['lanes']} lanes"
            remarks.append(_Remark(found["file"], int(found["line"]), width=width))
        elif found := _MISSED_LOOP.match(line):
            loop = _Remark(found["file"], int(found["line"]))
        elif (found := _REASON.search(line)) and loop:
            loop.reason = found["reason"].rstrip(".")
            remarks.append(loop)
            loop = None
        elif found := _MISSED.match(line):
            reason = found["reason"].rstrip(".")
            remarks.append(_Remark(found["file"], int(found["line"]), reason=reason))
        elif remarks and (found := _TRUE_PLACE.search(line)):
            remarks[-1].file, remarks[-1].line = found["file"], int(found["line"])
    return remarks


def assembly(translation: dict[str, Any]) -> str:
    log = _log(translation, _LISTING_OPTIONS, "assembly() needs GCC or Clang with GNU's assembler")
    lines = []
    labels: list[str] = []
    for line in log.splitlines():
        if found := _LABEL.match(line):
            labels.append(found["label"])
        elif found := _CODE.match(line):
            text = found["text"].expandtabs()
            if not text.startswith("."):
                lines += [*labels, f"    {text}"]
            if not text.startswith(".p2align"):  # other directives are data, with labels of its own
                labels.clear()
    return "\n".join(lines)


def _log(translation: dict[str, Any], choices: tuple[str, ...], needed: str) -> str:
    refused = None
    for asked in choices:
        try:
            options = f"{translation['options']} {asked}"
            return Program(translation["source"], "host", options=options).log
        except KernelError as error:
            refused = refused or error
    raise KernelError(f"{needed}: {refused}") from refused


def _shown(file: str, line: int) -> str:
    if not file:
        return _WORK_ITEMS
    return f"{shown_path(file)}:{line}: {linecache.getline(file, line).strip()}"

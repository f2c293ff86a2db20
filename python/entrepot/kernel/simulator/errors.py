"""Errors of the simulator, with their position in the Python file."""

from __future__ import annotations

import linecache
import re
import sys
from types import FrameType

from ..._core import KernelError
from ..source import SourceLanguage, shown_path

#: A global of simulated code, by which its frames are recognized: the language of its source.
MARK = "__ep_simulated__"
_OWN = SourceLanguage("entrepot.kernel")


def named(name: str) -> str:
    """A name of ``entrepot.kernel`` in a message, which is shown in the words of the kernel's
    language.
    """
    return f"\x02{name}\x03"


def _in_language(message: str, language: SourceLanguage) -> str:
    terms = re.compile("|".join(["\x02(.*?)\x03", *map(re.escape, language.terms)]))

    def word(found: re.Match[str]) -> str:
        if found[1] is None:
            return language.terms[found[0]]
        return language.spellings.get(found[1], found[1])

    return terms.sub(word, message)


class IndexKernelError(KernelError, IndexError):
    """Index out of bounds: a KernelError like all errors here, and an IndexError as with compiled
    code.
    """


class AssertionKernelError(KernelError, AssertionError):
    """An assertion that failed: also an AssertionError, as with compiled code."""


def line_of_kernel() -> tuple[str, int]:
    """File and line of the innermost frame of kernel code."""
    frame = _frame_of_kernel()
    return frame.f_code.co_filename, frame.f_lineno


def _frame_of_kernel() -> FrameType:
    frame = sys._getframe(1)
    while frame.f_back is not None and MARK not in frame.f_globals:
        frame = frame.f_back
    return frame


def refusal(
    file: str,
    line: int,
    message: str,
    kind: type[KernelError] = KernelError,
    language: SourceLanguage = _OWN,
) -> KernelError:
    """An error in the compiler's form: place, message in the words of the language, source line."""
    source = linecache.getline(file, line).strip()
    shown = f"{shown_path(file)}:{line}: {_in_language(message, language)}"
    return kind(shown + (f"\n    {source}" if source else ""))


def refuse(message: str, kind: type[KernelError] = KernelError) -> KernelError:
    """An error at the current line of the kernel, in the words of its language."""
    frame = _frame_of_kernel()
    language = frame.f_globals.get(MARK, _OWN)
    return refusal(frame.f_code.co_filename, frame.f_lineno, message, kind, language)

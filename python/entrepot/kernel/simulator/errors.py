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

_NAMES = re.compile("\x02(.*?)\x03")


def named(name: str) -> str:
    """A name of ``entrepot.kernel`` in a message, which is shown in the words of the kernel's
    language.
    """
    return f"\x02{name}\x03"


def _in_language(message: str, language: SourceLanguage) -> str:
    return _NAMES.sub(lambda found: language.spellings.get(found[1], found[1]), message)


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
    file: str, line: int, message: str, kind: type[KernelError] = KernelError
) -> KernelError:
    """An error in the compiler's form: place, message, source line."""
    source = linecache.getline(file, line).strip()
    return kind(f"{shown_path(file)}:{line}: {message}" + (f"\n    {source}" if source else ""))


def refuse(message: str, kind: type[KernelError] = KernelError) -> KernelError:
    """An error at the current line of the kernel, in the words of its language."""
    frame = _frame_of_kernel()
    language = frame.f_globals.get(MARK, SourceLanguage("entrepot.kernel"))
    shown = _in_language(message, language)
    return refusal(frame.f_code.co_filename, frame.f_lineno, shown, kind)

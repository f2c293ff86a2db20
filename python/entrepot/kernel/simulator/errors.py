"""Errors of the simulator, with their position in the Python file."""

from __future__ import annotations

import linecache
import sys

from ..._core import KernelError
from ..source import shown_path

#: A global of simulated code, by which its frames are recognized.
MARK = "__ep_simulated__"


class IndexKernelError(KernelError, IndexError):
    """Index out of bounds: a KernelError like all errors here, and an IndexError as with compiled
    code.
    """


class AssertionKernelError(KernelError, AssertionError):
    """An assertion that failed: also an AssertionError, as with compiled code."""


def line_of_kernel() -> tuple[str, int]:
    """File and line of the innermost frame of kernel code."""
    frame = sys._getframe(1)
    while frame.f_back is not None and MARK not in frame.f_globals:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def refusal(
    file: str, line: int, message: str, kind: type[KernelError] = KernelError
) -> KernelError:
    """An error in the compiler's form: place, message, source line."""
    source = linecache.getline(file, line).strip()
    return kind(f"{shown_path(file)}:{line}: {message}" + (f"\n    {source}" if source else ""))


def refuse(message: str, kind: type[KernelError] = KernelError) -> KernelError:
    """An error at the current line of the kernel."""
    return refusal(*line_of_kernel(), message, kind)

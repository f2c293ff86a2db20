"""How the simulator says what is wrong, and where in the Python file."""

from __future__ import annotations

import linecache
import sys

from entrepot import KernelError
from entrepot.kernel.source import shown_path

#: Starts the name of the module that simulated code believes to be in: by it frames of kernels are told from ours.
MARK = "__ep_simulated__"


class IndexKernelError(KernelError, IndexError):
    """An index outside of an array: refused as everything else here, and an IndexError as a launch of compiled code raises."""


def line_of_kernel() -> tuple[str, int]:
    """File and line of the innermost kernel code that is running."""
    frame = sys._getframe(1)
    while frame.f_back is not None and MARK not in frame.f_globals:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def refusal(file: str, line: int, message: str, kind: type[KernelError] = KernelError) -> KernelError:
    """An error in the form of the compiler's: place, message, source line."""
    source = linecache.getline(file, line).strip()
    return kind(f"{shown_path(file)}:{line}: {message}" + (f"\n    {source}" if source else ""))


def refuse(message: str, kind: type[KernelError] = KernelError) -> KernelError:
    """The error for the line of the kernel that is running."""
    return refusal(*line_of_kernel(), message, kind)

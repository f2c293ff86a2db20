"""Errors of numba-dpex programs: KernelErrors that are also of the classes that programs catch."""

from __future__ import annotations

import sys
from typing import NoReturn

from .._core import KernelError
from .._imports import is_imported

PAGE = "docs/kernels/numba_dpex.md lists the names that are served"


class DpexError(KernelError):
    """Base class of the errors that numba-dpex names."""

    @property
    def message(self) -> str:
        """The text of the error."""
        return str(self)


class NotServedError(KernelError, ImportError):
    """A name of numba-dpex that has no counterpart: the message says what to use."""


class HostAccessError(KernelError, NotImplementedError):
    """Something that exists in kernels only was used in plain Python."""


class SpecializationFormError(KernelError, NotImplementedError):
    """A signature was given as a string."""


class LaunchTypeError(KernelError, TypeError):
    """An argument of a launch is of a type that the launch does not take."""


class LaunchValueError(KernelError, ValueError):
    """A launch was given something else than a function, its range and its arguments."""


class RangeTypeError(KernelError, TypeError):
    """A range is not made of ints, or has more than three dimensions."""


class ExecutionQueueInferenceError(DpexError):
    """No queue follows from the arguments: they have several, or there is no array."""


class IllegalRangeValueError(DpexError, ValueError):
    """A range in brackets is empty."""


class InvalidKernelLaunchArgsError(DpexError, ValueError):
    """The brackets of a launch do not have a global range and, if any, a local range."""


class UnknownGlobalRangeError(DpexError, TypeError):
    """A kernel was called without a range."""


class InvalidKernelSpecializationError(DpexError):
    """A signature has a type that kernels do not take."""


class KernelHasReturnValueError(DpexError):
    """A kernel returns a value, or its signature says so."""


class MissingSpecializationError(DpexError, TypeError):
    """The arguments are of other types than the kernel's signatures."""


class UnmatchedNumberOfRangeDimsError(DpexError, ValueError):
    """The global and the local range differ in their number of dimensions."""


class UnsupportedGroupWorkItemSizeError(DpexError, ValueError):
    """The local range does not divide the global range."""


class UnsupportedKernelArgumentError(DpexError, TypeError):
    """An argument cannot be given to a kernel."""


def typed(error: Exception | str, kind: type[KernelError] = KernelError) -> KernelError:
    """The error, or an error of that text, as one of ``kind``.

    It is also numba's TypingError if the program has imported that. Numba-dpex raises this class
    for every kernel that does not compile.
    """
    return _with_typing_error(kind, _class_of_numba())(str(error))


def _class_of_numba() -> type[Exception] | None:
    errors = sys.modules.get("numba.core.errors")
    return getattr(errors, "TypingError", None)


#: Classes that are also numba's, by the class that they extend.
_made: dict[type[KernelError], type[KernelError]] = {}


def _with_typing_error(
    kind: type[KernelError], typing_error: type[Exception] | None
) -> type[KernelError]:
    if typing_error is None:
        return kind
    # Two threads may both make one. One of them is stored.
    return _made.setdefault(
        kind, type(kind.__name__, (kind, typing_error), {"__doc__": kind.__doc__})
    )


def refuse_unknown(module: str, name: str) -> NoReturn:
    """Raises the error of a name that a module does not have and no table lists.

    It is a NotServedError in an import, and an AttributeError elsewhere.

    Requires: the module's ``__getattr__`` is the caller.
    """
    if is_imported(2) and not name.startswith("__"):
        unsupported(module, name, PAGE)
    # With name and obj, Python's message suggests a similar name.
    raise AttributeError(
        f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules[module]
    )


def refuse_module(name: str) -> NotServedError:
    """The error of a module of numba-dpex that is not served."""
    return NotServedError(f"entrepot.numba_dpex.{name} is not served: {PAGE}")


def unsupported(module: str, name: str, instead: str) -> NoReturn:
    """Raises NotServedError, which ``from module import name`` shows, too."""
    raise NotServedError(f"{module}.{name} is not served: {instead}")

"""Errors of the module, which are those of Entrepot under numba.cuda's names where programs catch
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from .._core import DeviceError, KernelError
from .._imports import is_imported

# numba.cuda raises these where the driver refuses a call, or no device is found.
CudaAPIError = DeviceError
CudaDriverError = DeviceError
CudaRuntimeError = DeviceError
CudaSupportError = DeviceError
# numba.cuda raises these where a kernel cannot be compiled, or checks of a debug build fail.
KernelRuntimeError = KernelError
TypingError = KernelError


class LaunchError(KernelError, ValueError):
    """A launch without blocks and threads, or with invalid ones. numba.cuda raises ValueError."""


class NotServedError(KernelError, AttributeError, NotImplementedError):
    """A name of numba.cuda that this module does not serve. The message says what to use."""


class NotServedImportError(KernelError, ImportError, NotImplementedError):
    """An import of a name that this module does not serve. The message says what to use."""


def unsupported(name: str, instead: str) -> NotServedError:
    """The error of a name of numba.cuda that is not served."""
    return NotServedError(
        f"numba.cuda's {name} is not served by entrepot.numba_cuda: {instead}", name=name
    )


PAGE = "docs/kernels/numba_cuda_names.md lists the names that are served"


def refusing(
    module: str,
    refused: Mapping[str, str] = MappingProxyType({}),
    otherwise: str = PAGE,
    members: Mapping[str, Any] = MappingProxyType({}),
) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module, which refuses names.

    Parameters
    ----------
    module : str
        The module's name in numba.cuda.
    refused : mapping, optional
        Replacements of some of the names.
    otherwise : str, optional
        The replacement of the other ones.
    members : mapping, optional
        Names that the module has without being variables of it.
    """

    def refuse(name: str) -> Any:
        if name in members:
            return members[name]
        if name.startswith("__"):
            raise AttributeError(f"module 'entrepot.numba_cuda.{module}' has no attribute {name!r}")
        refusal = unsupported(f"{module}.{name}", refused.get(name, otherwise))
        if is_imported():
            raise NotServedImportError(str(refusal), name=name)
        raise refusal

    return refuse

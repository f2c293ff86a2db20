"""Errors of the module, which are those of Entrepot under numba.cuda's names where programs catch
them.
"""

from __future__ import annotations

from .._core import DeviceError, KernelError

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


def not_served(name: str, instead: str) -> NotServedError:
    """The error of a name that is not served."""
    return NotServedError(
        f"numba.cuda's {name} is not served by entrepot.numba_cuda: {instead}", name=name
    )

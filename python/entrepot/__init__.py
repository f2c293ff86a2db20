"""Zero-copy exchange of accelerator memory between Python libraries.

``asarray`` views the memory of any library's object as an :class:`Array`. Consumers import the
Array through the protocol that they support. ``entrepot.memory`` is a drop-in for ``dpctl.memory``.
"""

import sys as _sys
from importlib import import_module as _import_module

from . import _runtime

_runtime.prepare()

# The environment must be set before the first listing of devices.
from . import _core  # noqa: E402
from ._core import (  # noqa: E402
    Array,
    ArrayHandle,
    Context,
    Device,
    DeviceError,
    Dtype,
    EntrepotError,
    EntrepotWarning,
    Event,
    ExchangeError,
    InterfaceError,
    Kernel,
    KernelError,
    LibraryError,
    LocalMemory,
    Program,
    Queue,
    Scalar,
    USMAllocationError,
    __version__,
    asarray,
    copy,
    device,
    device_context,
    devices,
    empty,
    fill,
    from_address,
    from_dlpack,
    full,
    pin,
    zeros,
)

__all__ = [
    "Array",
    "ArrayHandle",
    "Context",
    "Device",
    "DeviceError",
    "Dtype",
    "EntrepotError",
    "EntrepotWarning",
    "Event",
    "ExchangeError",
    "Graph",
    "GraphNode",
    "InterfaceError",
    "Kernel",
    "KernelError",
    "LibraryError",
    "LocalMemory",
    "Program",
    "Queue",
    "Scalar",
    "USMAllocationError",
    "__version__",
    "adapters",
    "allocators",
    "asarray",
    "copy",
    "device",
    "device_context",
    "devices",
    "dumps",
    "empty",
    "ffi",
    "fill",
    "from_address",
    "from_dlpack",
    "full",
    "get_include",
    "hip",
    "hiprand",
    "hiprtc",
    "hipsparse",
    "kernel",
    "memory",
    "pickling",
    "pin",
    "record",
    "transport",
    "zeros",
]


def get_include() -> str:
    """The folder of the C and C++ headers, for a compiler's ``-I``.

    Returns
    -------
    str
        The path of the folder that contains the folder ``entrepot`` of the headers.

    Examples
    --------
    >>> import os, entrepot
    >>> os.path.isfile(os.path.join(entrepot.get_include(), "entrepot", "python", "c_api.h"))
    True
    """
    # in a working copy, the compiled module and the headers are in another folder than this file
    return f"{_core.__file__.rpartition('/')[0]}/include"


# Type checkers take it as true; importing it from typing would double the import time.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import adapters, allocators, ffi, hip, hiprand, hiprtc, hipsparse, memory, transport
    from .graph import Graph, GraphNode, record
    from .kernel.callable_module import CallableModule
    from .pickles import dumps, pickling

    kernel: CallableModule

# Modules that are imported on first use, to keep importing the package cheap.
_LAZY = frozenset(
    {
        "adapters",
        "allocators",
        "ffi",
        "hip",
        "hiprand",
        "hiprtc",
        "hipsparse",
        "kernel",
        "memory",
        "transport",
    }
)

# Names of modules that are imported on first use as well.
_NAMES_OF = {
    "Graph": "graph",
    "GraphNode": "graph",
    "dumps": "pickles",
    "pickling": "pickles",
    "record": "graph",
}


# Modules of HIP Python that Entrepot does not provide.
_NOT_HERE = frozenset({"amdsmi", "hipblas", "hipfft", "hipfile", "hipsolver", "rccl", "roctx"})


class _Absent:
    """The last finder of modules. For modules of HIP Python that do not exist here, its error names
    alternatives.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        package, _, module = name.rpartition(".")
        if package == __name__ and module in _NOT_HERE:
            # With the full name, `from entrepot import …` would report a missing attribute instead
            # of this error.
            raise ModuleNotFoundError(_absence(module), name=module)


def _absence(name: str) -> str:
    return (
        f"there is no {__name__}.{name}: of HIP Python's modules there are hip, hiprtc, hiprand "
        "and hipsparse; "
        "another is written from its headers by `make bindings` and a TOML file, or declared by "
        "hand with entrepot.ffi "
        "(docs/bindgen.md)"
    )


_sys.meta_path.append(_Absent)


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return _import_module(f"{__name__}.{name}")
    if name in _NAMES_OF:
        return getattr(_import_module(f"{__name__}.{_NAMES_OF[name]}"), name)
    raise AttributeError(
        _absence(name) if name in _NOT_HERE else f"module {__name__!r} has no attribute {name!r}"
    )


def __dir__() -> list[str]:
    return sorted(__all__)

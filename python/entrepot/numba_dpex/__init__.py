"""Programs of numba-dpex 0.21 to 0.23, with the import changed.

``kernel_api`` has what kernels call. This module has the decorators, launches and types.

Examples
--------
>>> from entrepot import numba_dpex as dpex  # was: import numba_dpex as dpex
>>> from entrepot.numba_dpex import kernel_api as kapi
>>> @dpex.kernel
... def add(item: kapi.Item, a, b, c):
...     i = item.get_id(0)
...     c[i] = a[i] + b[i]
>>> a, b = ep.full(4, 2, "float32", device="host"), ep.full(4, 1, "float32", device="host")
>>> c = ep.zeros(4, "float32", device="host")
>>> dpex.call_kernel(add, dpex.Range(4), a, b, c)
>>> c.numpy().tolist()
[3.0, 3.0, 3.0, 3.0]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from .._imports import refuse_modules
from ..kernel import (
    CLK_GLOBAL_MEM_FENCE,
    CLK_LOCAL_MEM_FENCE,
    DEFAULT_LOCAL_SIZE,
    atomic,
    barrier,
    get_global_id,
    get_global_size,
    get_group_id,
    get_local_id,
    get_local_size,
    get_num_groups,
    get_work_dim,
    local,
    mem_fence,
    private,
    sub_group_barrier,
)
from . import types
from .decorators import Kernel, device_func, func, kernel
from .errors import refuse_module, refuse_unknown, unsupported
from .launches import call_kernel, call_kernel_async
from .ranges import NdRange, Range
from .types import (
    DpnpNdArray,
    USMNdArray,
    b1,
    bool_,
    boolean,
    double,
    f4,
    f8,
    float32,
    float64,
    float_,
    i4,
    i8,
    int32,
    int64,
    none,
    u4,
    u8,
    uint32,
    uint64,
    usm_ndarray,
    void,
)

if TYPE_CHECKING:
    from . import core as core
    from . import experimental as experimental
    from . import kernel_api as kernel_api

GLOBAL_MEM_FENCE, LOCAL_MEM_FENCE = CLK_GLOBAL_MEM_FENCE, CLK_LOCAL_MEM_FENCE

__all__ = [
    "DEFAULT_LOCAL_SIZE",
    "GLOBAL_MEM_FENCE",
    "LOCAL_MEM_FENCE",
    "DpnpNdArray",
    "Kernel",
    "NdRange",
    "Range",
    "USMNdArray",
    "atomic",
    "b1",
    "barrier",
    "bool_",
    "boolean",
    "call_kernel",
    "call_kernel_async",
    "device_func",
    "double",
    "f4",
    "f8",
    "float32",
    "float64",
    "float_",
    "func",
    "get_global_id",
    "get_global_size",
    "get_group_id",
    "get_local_id",
    "get_local_size",
    "get_num_groups",
    "get_work_dim",
    "i4",
    "i8",
    "int32",
    "int64",
    "kernel",
    "local",
    "mem_fence",
    "none",
    "private",
    "sub_group_barrier",
    "types",
    "u4",
    "u8",
    "uint32",
    "uint64",
    "usm_ndarray",
    "void",
]

#: Submodules that are imported on first use.
_SUBMODULES = ("core", "experimental", "kernel_api")

#: Names of numba-dpex that are not served, with the replacement.
_INSTEAD = {
    "DpctlSyclEvent": "numba's functions do not take events here; give dpctl's SyclEvent to "
    "call_kernel_async",
    "DpctlSyclQueue": "numba's functions do not take queues here; a kernel runs in the queue of "
    "its arrays",
    "IntEnumLiteral": "members of kernel_api's enumerations are constants of kernels without it",
    "KernelDispatcherType": "numba's functions do not take kernels here; call call_kernel in "
    "Python",
    "NdRangeType": "numba's functions do not take ranges here; call call_kernel in Python",
    "RangeType": "numba's functions do not take ranges here; call call_kernel in Python",
    "config": "the options of a kernel are those of entrepot.kernel.kernel, and kernel.source() "
    "shows its code",
    "dpjit": "numba does not compile for devices here; write a kernel, or "
    "entrepot.kernel.vectorize for a function of elements",
    "prange": "numba does not compile for devices here; write a kernel, whose work-items are the "
    "rounds of the loop",
}


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES, *(name for name in globals() if name.startswith("__"))])


def __getattr__(name: str) -> object:
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _INSTEAD:
        unsupported(__name__, name, _INSTEAD[name])
    refuse_unknown(__name__, name)


refuse_modules(__name__, refuse_module)

"""Kernels written in Python, compiled for the host, SYCL, CUDA and HIP, on memory from anywhere.

The names are those of numba-dppy and of numba-dpex's kernel API. A kernel runs on the device of its
arrays. The module is callable: ``@entrepot.kernel`` is ``@entrepot.kernel.kernel``.

Examples
--------
>>> import entrepot.kernel as dppy  # was: import numba_dppy as dppy
>>> @dppy.kernel
... def axpy(a, x, y):
...     i = dppy.get_global_id(0)
...     y[i] += a * x[i]
>>> x = ep.full(1024, 3, "float32", device="host")
>>> y = ep.full(1024, 1, "float32", device="host")
>>> axpy[1024, dppy.DEFAULT_LOCAL_SIZE](2.0, x, y).wait()
>>> y[0].item(), y[-1].item()
(7.0, 7.0)
"""

import importlib
import sys

from .._core import (
    KernelError,
    LocalAccessor,
    asarray,
    device_context,
    devices,
    get_num_threads,
    set_num_threads,
)
from .._imports import is_imported
from .callable_module import CallableModule as _CallableModule
from .calls import call_kernel, call_kernel_async
from .functions import DeviceFunction, KernelFunction, func, kernel
from .language import (
    CLK_GLOBAL_MEM_FENCE,
    CLK_LOCAL_MEM_FENCE,
    AddressSpace,
    AtomicRef,
    Item,
    MemoryOrder,
    MemoryScope,
    NdItem,
    PrivateArray,
    atomic,
    atomic_fence,
    barrier,
    bfloat16,
    bool_,
    complex64,
    complex128,
    constant,
    dot,
    float16,
    float32,
    float64,
    get_global_id,
    get_global_size,
    get_group_id,
    get_local_id,
    get_local_size,
    get_num_groups,
    get_num_sub_groups,
    get_sub_group_id,
    get_sub_group_local_id,
    get_sub_group_size,
    get_work_dim,
    grid_barrier,
    group,
    group_barrier,
    int8,
    int16,
    int32,
    int64,
    local,
    mem_fence,
    private,
    sub_group,
    sub_group_barrier,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .ranges import DEFAULT_LOCAL_SIZE, NdRange, Range
from .structs import StructArray
from .transfer import (
    copy_from_host,
    copy_from_host_async,
    copy_to_host,
    copy_to_host_async,
    device_array,
    device_array_like,
    to_device,
)
from .vectors import (
    char2,
    char3,
    char4,
    double2,
    double3,
    double4,
    float2,
    float3,
    float4,
    float16x2,
    float16x3,
    float16x4,
    float32x2,
    float32x3,
    float32x4,
    float64x2,
    float64x3,
    float64x4,
    half2,
    half3,
    half4,
    int2,
    int3,
    int4,
    int8x2,
    int8x3,
    int8x4,
    int16x2,
    int16x3,
    int16x4,
    int32x2,
    int32x3,
    int32x4,
    int64x2,
    int64x3,
    int64x4,
    long2,
    long3,
    long4,
    short2,
    short3,
    short4,
    uchar2,
    uchar3,
    uchar4,
    uint2,
    uint3,
    uint4,
    uint8x2,
    uint8x3,
    uint8x4,
    uint16x2,
    uint16x3,
    uint16x4,
    uint32x2,
    uint32x3,
    uint32x4,
    uint64x2,
    uint64x3,
    uint64x4,
    ulong2,
    ulong3,
    ulong4,
    ushort2,
    ushort3,
    ushort4,
)

__all__ = [
    "CLK_GLOBAL_MEM_FENCE",
    "CLK_LOCAL_MEM_FENCE",
    "DEFAULT_LOCAL_SIZE",
    "AddressSpace",
    "AtomicRef",
    "DeviceFunction",
    "Item",
    "KernelError",
    "KernelFunction",
    "LocalAccessor",
    "MemoryOrder",
    "MemoryScope",
    "NdItem",
    "NdRange",
    "PrivateArray",
    "Range",
    "StructArray",
    "asarray",
    "atomic",
    "atomic_fence",
    "barrier",
    "bfloat16",
    "bool_",
    "call_kernel",
    "call_kernel_async",
    "char2",
    "char3",
    "char4",
    "complex64",
    "complex128",
    "constant",
    "copy_from_host",
    "copy_from_host_async",
    "copy_to_host",
    "copy_to_host_async",
    "device_array",
    "device_array_like",
    "dot",
    "double2",
    "double3",
    "double4",
    "float2",
    "float3",
    "float4",
    "float16",
    "float16x2",
    "float16x3",
    "float16x4",
    "float32",
    "float32x2",
    "float32x3",
    "float32x4",
    "float64",
    "float64x2",
    "float64x3",
    "float64x4",
    "func",
    "get_global_id",
    "get_global_size",
    "get_group_id",
    "get_local_id",
    "get_local_size",
    "get_num_groups",
    "get_num_sub_groups",
    "get_num_threads",
    "get_sub_group_id",
    "get_sub_group_local_id",
    "get_sub_group_size",
    "get_work_dim",
    "grid_barrier",
    "group",
    "group_barrier",
    "half2",
    "half3",
    "half4",
    "int2",
    "int3",
    "int4",
    "int8",
    "int8x2",
    "int8x3",
    "int8x4",
    "int16",
    "int16x2",
    "int16x3",
    "int16x4",
    "int32",
    "int32x2",
    "int32x3",
    "int32x4",
    "int64",
    "int64x2",
    "int64x3",
    "int64x4",
    "is_available",
    "kernel",
    "local",
    "long2",
    "long3",
    "long4",
    "mem_fence",
    "private",
    "reduce",
    "set_num_threads",
    "short2",
    "short3",
    "short4",
    "sub_group",
    "sub_group_barrier",
    "to_device",
    "uchar2",
    "uchar3",
    "uchar4",
    "uint2",
    "uint3",
    "uint4",
    "uint8",
    "uint8x2",
    "uint8x3",
    "uint8x4",
    "uint16",
    "uint16x2",
    "uint16x3",
    "uint16x4",
    "uint32",
    "uint32x2",
    "uint32x3",
    "uint32x4",
    "uint64",
    "uint64x2",
    "uint64x3",
    "uint64x4",
    "ulong2",
    "ulong3",
    "ulong4",
    "ushort2",
    "ushort3",
    "ushort4",
    "vectorize",
]


def is_available() -> bool:
    """Return whether there is a device other than the host, as numba-dppy's function of this name.

    Kernels run on the host in any case.

    Returns
    -------
    bool
        True if there is a SYCL, CUDA or HIP device.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> ek.is_available() == any(each.backend != "host" for each in ep.devices())
    True
    """
    return any(each.backend != "host" for each in devices())


#: Names of numba-dppy and numba-dpex for objects of this module: docs/kernels/numba_dppy.md.
_ALIASES = {
    "GLOBAL_MEM_FENCE": CLK_GLOBAL_MEM_FENCE,
    "LOCAL_MEM_FENCE": CLK_LOCAL_MEM_FENCE,
    "autojit": kernel,
    "offload_to_sycl_device": device_context,
}

#: Submodules that are imported on first use.
_SUBMODULES = ("algorithms", "random", "tile")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import algorithms as algorithms
    from . import random as random
    from . import tile as tile
    from .elementwise import vectorize
    from .reduction import reduce

    offload_to_sycl_device = device_context

# Names of numba.cuda, numba-dppy and entrepot that this module does not have:
# docs/kernels/numba_cuda.md.
_INSTEAD = {
    "jit": "a kernel is made by @kernel, a function that kernels call by @func",
    "grid": "grid(1) of numba.cuda is get_global_id(0), and grid(2) is get_global_id(1), "
    "get_global_id(0)",
    "gridsize": "gridsize(1) of numba.cuda is get_global_size(0)",
    "threadIdx": "threadIdx.x of numba.cuda is get_local_id(0)",
    "blockIdx": "blockIdx.x of numba.cuda is get_group_id(0)",
    "blockDim": "blockDim.x of numba.cuda is get_local_size(0)",
    "gridDim": "gridDim.x of numba.cuda is get_num_groups(0)",
    "laneid": "laneid of numba.cuda is get_sub_group_local_id()",
    "warpsize": "warpsize of numba.cuda is get_sub_group_size()",
    "shared": "shared memory of numba.cuda is local.array(shape, dtype), or the argument "
    "LocalAccessor(shape, dtype)",
    "const": "const.array_like(values) of numba.cuda is constant.array(values)",
    "syncthreads": "syncthreads() of numba.cuda is barrier()",
    "cg": "cg.this_grid().sync() of numba.cuda is grid_barrier()",
    "syncwarp": "syncwarp() of numba.cuda is sub_group_barrier()",
    "threadfence": "threadfence() of numba.cuda is mem_fence()",
    "syncthreads_or": "syncthreads_or(x) of numba.cuda is group.any(x)",
    "syncthreads_and": "syncthreads_and(x) of numba.cuda is group.all(x)",
    "shfl_sync": "shfl_sync(mask, x, lane) of numba.cuda is sub_group.shuffle(x, lane)",
    "shfl_xor_sync": "shfl_xor_sync(mask, x, n) of numba.cuda is sub_group.shuffle_xor(x, n)",
    "shfl_up_sync": "shfl_up_sync(mask, x, n) of numba.cuda is sub_group.shuffle_up(x, n)",
    "shfl_down_sync": "shfl_down_sync(mask, x, n) of numba.cuda is sub_group.shuffle_down(x, n)",
    "synchronize": "a launch returns an event, and event.wait() waits for it",
    "config": "numba-dppy's variables have no effect here; kernel.source() shows the code",
    "prange": "a loop over prange(n) of numba-dppy is a kernel with n work-items",
    "LocalMemory": "local memory of a size that is given at the launch is LocalAccessor(shape, "
    "dtype)",
}


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES, *(name for name in globals() if name.startswith("__"))])


def __getattr__(name: str) -> object:
    # Names that need NumPy are loaded on first use.
    if name == "vectorize":
        from .elementwise import vectorize

        return vectorize
    if name == "reduce":
        from .reduction import reduce

        return reduce
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _ALIASES:
        return _ALIASES[name]
    instead = _INSTEAD.get(name)
    if instead:
        message = f"module {__name__!r} has no attribute {name!r}: {instead}"
        raise ImportError(message, name=name) if is_imported() else AttributeError(message)
    # With name and obj, Python's message suggests a similar name.
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__]
    )


sys.modules[__name__].__class__ = _CallableModule

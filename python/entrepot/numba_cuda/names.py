"""The public names of numba.cuda, each served or refused: the data of the documentation's page.

``python -m entrepot.numba_cuda`` prints them, and the share that is served.
"""

from __future__ import annotations

from typing import NamedTuple

from . import cudadrv, libdevice
from .devices import INSTEAD as _OF_DEVICES
from .dispatcher import INSTEAD as _OF_DISPATCHERS
from .errors import NotServedError, unsupported


class Group(NamedTuple):
    """Names that are found at one place."""

    title: str
    prefix: str  # of each name, as programs write it
    served: tuple[str, ...]
    refused: dict[str, str]  # what to use


_INDICES = "an index is threadIdx.x, .y or .z, and a function takes the numbers"
_GRID_GROUP = "a group of threads is not an argument: call cg.this_grid() in the function"
_STRUCTS = "a structure is an element of entrepot.kernel.StructArray"
_FUNCTIONS = "kernels call Python functions only, with jit(device=True)"
_LINKED = "link= takes no code: C++ is run by entrepot.Program, or write the function in Python"
_RESOURCE = "entrepot.set_resource(device, resource) chooses where memory comes from"
_SHARE = "array.share() of entrepot makes a handle, and handle.open() opens it"
_SOURCE = "dispatcher.kernel.source() is the text that the device's compiler is given"
_ENTREPOT = "device.device is the entrepot.Device, whose properties describe it"
_MODULE = "entrepot.Program builds CUDA C++, PTX and cubins"
_NUMBERS = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64".split()
_WORDS = ("char uchar short ushort int uint long ulong longlong ulonglong float double").split()
_HALVES = (
    "habs hadd hceil hcos hdiv heq hexp hexp10 hexp2 hfloor hfma hge hgt hle hlog hlog10 hlog2 hlt "
    "hmax hmin hmul hne hneg hrcp hrint hrsqrt hsin hsqrt hsub htrunc"
)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


GROUPS = (
    Group(
        "Kernels",
        "cuda.",
        _words("jit grid gridsize threadIdx blockIdx blockDim gridDim laneid warpsize"),
        {
            "declare_device": "write the function in Python with jit(device=True)",
            "compile": _SOURCE,
            "compile_for_current_device": _SOURCE,
            "compile_ptx": _SOURCE,
            "compile_ptx_for_current_device": _SOURCE,
            "compile_all": _SOURCE,
            "literal_unroll": "a loop goes over a tuple of numbers without it",
        },
    ),
    Group(
        "Options of jit",
        "cuda.jit ",
        _words("device debug fastmath max_registers boundscheck inline opt lineinfo cache"),
        {
            "link": "C++ is run by entrepot.Program, and a device function is written in Python",
            "extensions": "arguments are what entrepot.asarray() accepts",
        },
    ),
    Group(
        "Dispatchers",
        "kernel.",
        _words(
            "__getitem__ configure forall specialize compile signatures specialized extensions "
            "py_func inspect_asm get_max_threads_per_block overloads"
        ),
        dict(_OF_DISPATCHERS),
    ),
    Group(
        "Memory in kernels",
        "cuda.",
        _words("shared.array local.array const.array_like"),
        {},
    ),
    Group(
        "Synchronization",
        "cuda.",
        _words(
            "syncthreads syncthreads_and syncthreads_or syncthreads_count syncwarp threadfence "
            "threadfence_block threadfence_system nanosleep cg.this_grid"
        ),
        {},
    ),
    Group(
        "Warps",
        "cuda.",
        _words(
            "shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync all_sync any_sync eq_sync "
            "ballot_sync match_any_sync match_all_sync activemask lanemask_lt"
        ),
        {
            "shfl_sync_intrinsic": "write one of the four shuffles",
            "vote_sync_intrinsic": "write one of the four votes",
        },
    ),
    Group(
        "Types",
        "cuda.",
        _words(
            "b1 bfloat16 bool_ boolean byte c16 c8 char complex128 complex64 double f2 f4 f8 "
            "float16 float32 float64 float_ i1 i2 i4 i8 int16 int32 int64 int8 int_ intc intp "
            "long_ longlong none short size_t ssize_t u1 u2 u4 u8 uchar uint uint16 uint32 "
            "types uint64 uint8 uintc uintp ulong ulonglong ushort void"
        ),
        {
            "dim3": _INDICES,
            "Dim3": _INDICES,
            "grid_group": _GRID_GROUP,
            "GridGroup": _GRID_GROUP,
            "optional": "write two kernels, with the array and without it",
            "deferred_type": _STRUCTS,
            "ffi": _FUNCTIONS,
            "ffi_forced_object": _FUNCTIONS,
        },
    ),
    Group(
        "Atomics",
        "cuda.atomic.",
        _words("add sub and_ or_ xor inc dec exch max min nanmax nanmin cas compare_and_swap"),
        {},
    ),
    Group(
        "Loads and stores with hints",
        "cuda.",
        _words("ldca ldcg ldcs ldlu stcg stcs stwb stwt"),
        {"ldcv": "threads see each other's writes by cuda.atomic, or after syncthreads()"},
    ),
    Group("Bits and numbers", "cuda.", _words("popc brev clz ffs fma cbrt selp"), {}),
    Group("float16", "cuda.fp16.", _words(_HALVES), {}),
    Group(
        "Vectors",
        "cuda.",
        tuple(f"{name}x{count}" for name in _NUMBERS for count in (1, 2, 3, 4))
        + tuple(f"{name}{count}" for name in _WORDS for count in (1, 2, 3, 4)),
        {},
    ),
    Group(
        "Arrays",
        "cuda.",
        _words(
            "to_device device_array device_array_like pinned_array pinned_array_like mapped_array "
            "mapped_array_like managed_array pinned mapped as_cuda_array is_cuda_array "
            "from_cuda_array_interface prepare_shape_strides_dtype In Out InOut"
        ),
        {"open_ipc_array": _SHARE},
    ),
    Group(
        "DeviceNDArray",
        "array.",
        _words(
            "shape dtype strides ndim size nbytes alloc_size flags T transpose reshape ravel "
            "squeeze view split bind copy_to_host copy_to_device getitem setitem __getitem__ "
            "__setitem__ __len__ is_c_contiguous is_f_contiguous device_ctypes_pointer "
            "__cuda_array_interface__ __array__ stream"
        ),
        {"get_ipc_handle": _SHARE},
    ),
    Group(
        "Streams and events",
        "cuda.",
        _words(
            "stream default_stream legacy_default_stream per_thread_default_stream external_stream "
            "event event_elapsed_time synchronize defer_cleanup"
        ),
        {},
    ),
    Group(
        "Stream",
        "stream.",
        _words("synchronize auto_synchronize add_callback async_done"),
        {},
    ),
    Group("Event", "event.", _words("record query synchronize wait elapsed_time"), {}),
    Group(
        "Devices",
        "cuda.",
        _words(
            "gpus list_devices select_device get_current_device current_context require_context "
            "close detect is_available is_supported_version is_float16_supported cuda_error "
            "CudaSupportError KernelRuntimeError MemoryInfo implementation profile_start "
            "profile_stop profiling"
        ),
        {
            "runtime": "entrepot.backends() lists the drivers that were loaded",
            "test": "the project's tests are run by pytest",
            "set_memory_manager": _RESOURCE,
            "BaseCUDAMemoryManager": _RESOURCE,
            "HostOnlyCUDAMemoryManager": _RESOURCE,
            "GetIpcHandleMixin": _SHARE,
            "IpcHandle": _SHARE,
            "MemoryPointer": _RESOURCE,
            "MappedMemory": _RESOURCE,
            "PinnedMemory": _RESOURCE,
        },
    ),
    Group(
        "Device",
        "device.",
        _words(
            "id name reset get_primary_context get_device_identity supports_float16 "
            "MAX_THREADS_PER_BLOCK MULTIPROCESSOR_COUNT MAX_SHARED_MEMORY_PER_BLOCK"
        ),
        {**_OF_DEVICES, "uuid": _ENTREPOT},
    ),
    Group(
        "Context",
        "context.",
        _words("device synchronize reset"),
        {
            "get_memory_info": "entrepot.Device.global_mem_size is the total",
            "push": "with cuda.gpus[0]: … makes a device current",
            "pop": "with cuda.gpus[0]: … makes a device current",
        },
    ),
    Group(
        "Random numbers",
        "cuda.random.",
        _words(
            "create_xoroshiro128p_states init_xoroshiro128p_states init_xoroshiro128p_state "
            "init_xoroshiro128p_states_cpu xoroshiro128p_dtype xoroshiro128p_type "
            "xoroshiro128p_next xoroshiro128p_jump xoroshiro128p_uniform_float32 "
            "xoroshiro128p_uniform_float64 xoroshiro128p_normal_float32 "
            "xoroshiro128p_normal_float64 uint64_to_unit_float32 uint64_to_unit_float64 rotl"
        ),
        {},
    ),
    Group(
        "Code of other languages",
        "cuda.",
        (),
        dict.fromkeys(
            _words("Archive CUSource Cubin Fatbin LTOIR LinkableCode Object PTXSource"), _LINKED
        ),
    ),
    Group("Functions of arrays", "cuda.", _words("reduce Reduce vectorize guvectorize"), {}),
    Group(
        "Driver",
        "cuda.cudadrv.",
        _words(
            "driver.CudaAPIError driver.Stream driver.Event driver.Device error.CudaSupportError "
            "error.CudaDriverError error.CudaRuntimeError error.NvvmError error.NvvmSupportError "
            "enums.CUDA_SUCCESS enums.CUDA_ERROR_INVALID_VALUE enums.CUDA_ERROR_OUT_OF_MEMORY "
            "devicearray.DeviceNDArray devicearray.MappedNDArray devicearray.ManagedNDArray"
        ),
        {"driver.Linker": _MODULE},
    ),
    Group("libdevice", "cuda.libdevice.", libdevice.functions(), dict(libdevice.INSTEAD)),
)


#: Modules of numba.cuda, and what to use in their place.
_MODULES = {
    **dict.fromkeys(
        _words("api args decorators device_init dispatcher intrinsics kernels stubs vector_types"),
        "its public names are those of entrepot.numba_cuda itself",
    ),
    "bf16": "kernels compute with bfloat16 by the operators and the functions of math",
    "compiler": _SOURCE,
    "config": "numba's variables have no effect here, but for NUMBA_ENABLE_CUDASIM",
    **{f"cudadrv.{name}": instead for name, instead in cudadrv.INSTEAD.items()},
    "extending": _FUNCTIONS,
    "fp8": "kernels have no numbers of 8 bits with a point: convert them on the host",
    "simulator": "NUMBA_ENABLE_CUDASIM=1 runs kernels in the simulator",
    "testing": "the project's tests are run by pytest",
    "tests": "the project's tests are run by pytest",
}


def share() -> float:
    """Part of the names that are served."""
    served = sum(len(group.served) for group in GROUPS)
    return served / (served + sum(len(group.refused) for group in GROUPS))


def refuse(name: str) -> NotServedError:
    """The error of a name that the module does not have."""
    for group in GROUPS:
        if group.prefix == "cuda." and name in group.refused:
            return unsupported(name, group.refused[name])
    if name in _MODULES:
        return unsupported(name, _MODULES[name])
    return NotServedError(
        f"entrepot.numba_cuda has no {name!r}, and does not know it as a name of numba.cuda: "
        "docs/kernels/numba_cuda_names.md lists the names",
        name=name,
    )


def refuse_module(name: str) -> NotServedError:
    """The error of a module of numba.cuda that is not served."""
    package = name.partition(".")[0]
    return refuse(package if package in _MODULES else name)


def page() -> str:
    """The names as a table of the documentation."""
    lines = ["| names | served | refused, and what to use |", "|---|---|---|"]
    for group in GROUPS:
        served = ", ".join(f"`{name}`" for name in group.served)
        refused = "; ".join(f"`{name}`: {why}" for name, why in group.refused.items())
        lines.append(f"| {group.title}: `{group.prefix}…` | {served} | {refused} |")
    return "\n".join(lines) + "\n"


def summary() -> str:
    """The number of names served and refused in each group, and the share of all."""
    lines = [f"{'':24} served refused"]
    lines += [f"{group.title:24} {len(group.served):6} {len(group.refused):7}" for group in GROUPS]
    return "\n".join([*lines, f"{share():.1%} of the names are served"])

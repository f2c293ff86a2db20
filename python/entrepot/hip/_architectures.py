"""Architectures that hipRTC supports. HIP 5 aborts the process for any other, so its compiler is
queried first.

The HIP backend does the same for its own programs, in src/backends/hip/rtc.cpp.
"""

# Annotations of entrepot.ffi are not valid types for mypy.
# mypy: disable-error-code="valid-type, empty-body"

from __future__ import annotations

from threading import local

from .. import hip
from ..ffi import CStr, In, Library, LibraryError, Returned, c_int, c_size_t, c_uint64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..ffi import ListOfBytes

_compiler = Library("the compiler of HIP 5", sonames=["libamd_comgr.so.2"])

_TARGET = b"amdgcn-amd-amdhsa--"


@_compiler.function
def amd_comgr_get_isa_count(count: Returned[c_size_t]) -> c_int: ...


@_compiler.function
def amd_comgr_get_isa_name(index: c_size_t, name: Returned[CStr]) -> c_int: ...


@_compiler.function
def amd_comgr_create_action_info(info: Returned[c_uint64]) -> c_int: ...


@_compiler.function
def amd_comgr_action_info_set_isa_name(info: c_uint64, name: In[CStr]) -> c_int: ...


@_compiler.function
def amd_comgr_destroy_action_info(info: c_uint64) -> c_int: ...


_compiler.declared(globals())


_of_thread = local()


def _ends_the_process() -> bool:
    """True for HIP 5.2, where it was observed, and for the rest of HIP 5, where it is assumed.

    Each thread queries HIP once. If a thread has never called HIP and has to wait for a compilation
    in another thread, HIP aborts the process.
    """
    known: bool | None = getattr(_of_thread, "known", None)
    if known is None:
        known = _of_thread.known = _is_known_to_end_it()
    return known


def _is_known_to_end_it() -> bool:
    try:
        status, version = hip.hipRuntimeGetVersion()
    except LibraryError:
        return False
    return bool(status == 0 and version < 60_000_000 and _compiler.is_there())


def _compiles_for(architecture: bytes) -> bool:
    """True if HIP's own query succeeds; features after a colon count, too."""
    status, info = amd_comgr_create_action_info()
    if status != 0:
        return True
    try:
        return bool(amd_comgr_action_info_set_isa_name(info, _TARGET + architecture) == 0)
    finally:
        amd_comgr_destroy_action_info(info)


def _known() -> str:
    names = [str(amd_comgr_get_isa_name(index)[1]) for index in range(amd_comgr_get_isa_count()[1])]
    return ", ".join(name.removeprefix(_TARGET.decode()) for name in names)


def why_not(options: ListOfBytes | None) -> str | None:
    """The reason why hipRTC would abort the process with these options; None if it would not.

    Only the first architecture matters. For a later one hipRTC just fails, with a message in its
    log.
    """
    if not _ends_the_process():
        return None
    for option in options or []:
        if option is None:
            return "one of them is NULL, and HIP 5's hipRTC ends the process over it; pass strings"
        name, equals, architecture = option.partition(b"=")
        if not equals or name not in (b"--offload-arch", b"--gpu-architecture"):  # hipRTC itself refuses options of two words
            continue
        if _compiles_for(architecture):
            return None
        said = architecture.decode(errors="backslashreplace")
        what = (
            f"{said!r} is no architecture that hipRTC knows" if said else "no architecture is named, as where no device is there"
        )
        return f"{name.decode()}: {what}, and HIP 5's ends the process over it; it compiles for {_known()}"
    return None

"""Allocators return a DeviceArray of the requested bytes; a freed one is refused afterwards."""

from __future__ import annotations

import subprocess

import pytest

from support.processes import run

# Host memory. `allocated` records the last request, as bytes * 1000 + flags, a stream or a pool.
RUNTIME = """
#include <stdint.h>
#include <stdlib.h>
long long allocated, freed;
static int allocate(void **out, size_t bytes, uintptr_t how) {
    allocated = bytes * 1000 + how;
    *out = bytes < 1000000 ? malloc(bytes) : 0;
    return *out ? 0 : 2;
}
static int take_back(void *memory, uintptr_t how) {
    freed = how;
    free(memory);
    return 0;
}
int hipMalloc(void **out, size_t bytes) { return allocate(out, bytes, 0); }
int hipExtMallocWithFlags(void **out, size_t bytes, unsigned flags) {
    return allocate(out, bytes, flags);
}
int hipMallocManaged(void **out, size_t bytes, unsigned flags) {
    return allocate(out, bytes, flags);
}
int hipMallocAsync(void **out, size_t bytes, void *stream) {
    return allocate(out, bytes, (uintptr_t)stream);
}
int hipMallocFromPoolAsync(void **out, size_t bytes, void *pool, void *stream) {
    return allocate(out, bytes, (uintptr_t)pool * 10 + (uintptr_t)stream);
}
int hipFree(void *memory) { return take_back(memory, 1); }
int hipFreeAsync(void *memory, void *stream) { return take_back(memory, 10 + (uintptr_t)stream); }
int hipHostFree(void *memory) { return take_back(memory, 2); }
int hipFreeHost(void *memory) { return take_back(memory, 3); }
int hipHostMalloc(void **out, size_t bytes, unsigned flags) { return allocate(out, bytes, flags); }
"""

# The call, the bytes that it requests, and further arguments that C gets.
ALLOCATORS = {
    "hipMalloc": ("hip.hipMalloc(60)", "size=60", 0),
    "hipExtMallocWithFlags": ("hip.hipExtMallocWithFlags(60, 3)", "sizeBytes=60, flags=3", 3),
    "hipMallocManaged": ("hip.hipMallocManaged(60, 2)", "size=60, flags=2", 2),
    "hipMallocAsync": ("hip.hipMallocAsync(60, 7)", "size=60, stream=7", 7),
    "hipMallocFromPoolAsync": (
        "hip.hipMallocFromPoolAsync(60, 4, 5)",
        "size=60, mem_pool=4, stream=5",
        45,
    ),
}

DEALLOCATORS = {
    "hip.hipFree(x)": 1,
    "hip.hipFree(ptr=x)": 1,
    "hip.hipFreeAsync(x, 6)": 16,
    "hip.hipFreeAsync(dev_ptr=x, stream=None)": 10,
    "hip.hipHostFree(x)": 2,
    "hip.hipFreeHost(x)": 3,
}

PROLOGUE = """
import ctypes, os
os.environ["ENTREPOT_HIP_LIBRARY"] = "{library}"
from entrepot import hip
from entrepot.adapters import DeviceArray, Pointer
told = lambda name: ctypes.c_longlong.in_dll(ctypes.CDLL("{library}"), name).value
"""

ALLOCATED = """
for call in ({call!r}, {by_name!r}):
    status, x = eval(call)
    assert status is hip.hipError_t.hipSuccess and type(x) is DeviceArray and int(x), (status, x)
    assert (x.typestr, x.shape, x.size, x.is_owner) == ("|u1", (60,), 60, False), x
    assert x.__cuda_array_interface__["data"] == (int(x), False)
    assert told("allocated") == 60_000 + {besides}
    rows = x.configure(typestr="float32", shape=(3, 5))
    assert rows is x and int(rows[1]) == int(x) + 20
    hip.hip_check(hip.hipFree(x))
status, none = eval({call!r}.replace("60", "1_000_000"))
assert status is hip.hipError_t.hipErrorOutOfMemory and none is None, none
print("done")
"""

FREED = """
x = hip.hip_check(hip.hipMallocAsync(60, None))
part = x[10:]
hip.hip_check({call})
assert told("freed") == {how}
for gone in (x, part):
    try:
        hip.hipFreeAsync(gone, None)
        print("it was freed again")
    except ValueError as error:
        assert "has been freed" in str(error), error
assert told("freed") == {how}
print("done")
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runtime")
    (folder / "hip.c").write_text(RUNTIME)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", folder / "libhip.so", folder / "hip.c"], check=True
    )
    return folder / "libhip.so"


@pytest.mark.parametrize("name", ALLOCATORS)
def test_allocator_returns_device_array(library, name):
    call, arguments, besides = ALLOCATORS[name]
    body = ALLOCATED.format(call=call, by_name=f"hip.{name}({arguments})", besides=besides)
    assert run(PROLOGUE.format(library=library) + body) == "done"


@pytest.mark.parametrize("call", DEALLOCATORS)
def test_freed_memory_is_refused(library, call):
    assert (
        run(PROLOGUE.format(library=library) + FREED.format(call=call, how=DEALLOCATORS[call]))
        == "done"
    )


def test_memory_of_the_host_is_a_pointer(library):
    """A Pointer, like in HIP Python, as it is not a device's memory."""
    body = (
        "status, x = hip.hipHostMalloc(60, 1)\n"
        "print(status.name, type(x) is Pointer, bool(x))\n"
        "hip.hip_check(hip.hipHostFree(x))"
    )
    assert run(PROLOGUE.format(library=library) + body) == "hipSuccess True True"

"""The examples of HIP Python's documentation with nothing changed but their import, run to the end: on a stand-in whose device is
the host, programs compiled by AMD's hipRTC."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from robustness.processes import run

PROLOGUE = """
import os
os.environ["ENTREPOT_HIP_LIBRARY"] = "{library}"
import array, ctypes, random
from entrepot import hip, hiprtc

def hip_check(call_result):
    err = call_result[0]
    result = call_result[1:]
    if len(result) == 1:
        result = result[0]
    if isinstance(err, hip.hipError_t) and err != hip.hipError_t.hipSuccess:
        raise RuntimeError(str(err))
    if isinstance(err, hiprtc.hiprtcResult) and err != hiprtc.hiprtcResult.HIPRTC_SUCCESS:
        raise RuntimeError(str(err))
    return result

def compiled(source, name, cflags, headers=(), include_names=()):
    prog = hip_check(hiprtc.hiprtcCreateProgram(source, name, len(headers), headers or None, include_names or None))
    hip_check(hiprtc.hiprtcCompileProgram(prog, len(cflags), cflags))
    code = bytearray(hip_check(hiprtc.hiprtcGetCodeSize(prog)))
    hip_check(hiprtc.hiprtcGetCode(prog, code))
    hip_check(hiprtc.hiprtcDestroyProgram(prog.createRef()))
    module = hip_check(hip.hipModuleLoadData(code))
    return module, hip_check(hip.hipModuleGetFunction(module, name))
"""

DEVICE_ATTRIBUTES = """
for attrib in (
    hip.hipDeviceAttribute_t.hipDeviceAttributeMaxBlockDimX,
    hip.hipDeviceAttribute_t.hipDeviceAttributeMaxGridDimX,
    hip.hipDeviceAttribute_t.hipDeviceAttributeWarpSize,
):
    assert hip_check(hip.hipDeviceGetAttribute(attrib, 0)) == 1000 + attrib, attrib.name
"""

DEVICE_PROPERTIES = """
props = hip.hipDeviceProp_t()
hip_check(hip.hipGetDeviceProperties(props, 0))
shown = {attrib: getattr(props, attrib) for attrib in sorted(props.PROPERTIES())}
assert shown["name"] == b"stand-in" and shown["warpSize"] == 0
"""

STREAM = """
n = 100
x_h = array.array("i", [1 + int(random.random() * 10) for i in range(0, n)])
num_bytes = x_h.itemsize * len(x_h)
x_d = hip_check(hip.hipMalloc(num_bytes))
stream = hip_check(hip.hipStreamCreate())
hip_check(hip.hipMemcpyAsync(x_d, x_h, num_bytes, hip.hipMemcpyKind.hipMemcpyHostToDevice, stream))
hip_check(hip.hipMemsetAsync(x_d, 0, num_bytes, stream))
hip_check(hip.hipMemcpyAsync(x_h, x_d, num_bytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost, stream))
hip_check(hip.hipStreamSynchronize(stream))
hip_check(hip.hipStreamDestroy(stream))
hip_check(hip.hipFree(x_d))
for i, x in enumerate(x_h):
    if x != 0:
        raise ValueError(f"expected '0' for element {i}, is: '{x}'")
"""

LAUNCH_WITHOUT_ARGUMENTS = """
source = b'''
#include "tid.h"
extern "C" __global__ void print_tid() {
  if (TID < 0) __builtin_trap();
}
'''
module, kernel = compiled(source, b"print_tid", [b"--offload-arch=gfx90a"], [b"#define TID threadIdx.x"], [b"tid.h"])
hip_check(
    hip.hipModuleLaunchKernel(
        kernel,
        *(1, 1, 1),  # grid
        *(32, 1, 1),  # block
        sharedMemBytes=128,
        stream=None,
        kernelParams=None,
        extra=None,
    )
)
hip_check(hip.hipDeviceSynchronize())
hip_check(hip.hipModuleUnload(module))
"""

LAUNCH_WITH_ARGUMENTS = """
source = b'''
extern "C" __global__ void scale_vector(float factor, int n, short unused1, int unused2, float unused3, float *x) {
  int tid = threadIdx.x + blockIdx.x * blockDim.x;
  if (tid == 0) x[tid] *= factor;
}
'''
module, kernel = compiled(source, b"scale_vector", [b"--offload-arch=gfx906"])
x_h = array.array("f", [1.5] * 100)
num_bytes = x_h.itemsize * len(x_h)
x_d = hip_check(hip.hipMalloc(num_bytes))
hip_check(hip.hipMemcpy(x_d, x_h, num_bytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
block, grid = hip.dim3(x=32), hip.dim3(x=4)
for dims in ((*grid, *block), (grid.x, grid.y, grid.z, block.x, block.y, block.z)):  # both spellings
    hip_check(
        hip.hipModuleLaunchKernel(
            kernel,
            *dims,
            sharedMemBytes=128,
            stream=None,
            kernelParams=None,
            extra=(
                ctypes.c_float(2),
                ctypes.c_int(len(x_h)),
                ctypes.c_short(5),
                ctypes.c_int(2),
                ctypes.c_float(5.6),
                x_d,
            ),
        )
    )
hip_check(hip.hipMemcpy(x_h, x_d, num_bytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
assert x_h.tolist() == [6.0] * 100, x_h

from entrepot.adapters import HipModuleLaunchKernel_extra
arguments = [ctypes.c_float(2), ctypes.c_int(100), ctypes.c_short(5), ctypes.c_int(2), ctypes.c_float(5.6), x_d]
block_of_arguments = HipModuleLaunchKernel_extra(arguments)
hip_check(hip.hipModuleLaunchKernel(kernel, *grid, *block, 0, None, None, block_of_arguments))
hip_check(hip.hipFree(x_d))
for extra in (block_of_arguments, arguments):
    try:
        hip.hipModuleLaunchKernel(kernel, *grid, *block, 0, None, None, extra)
    except ValueError as error:
        assert "argument 'extra': argument 5" in str(error) and "has been freed" in str(error), error
    else:
        raise AssertionError("a freed array was passed to a kernel")
"""

DEVICE_ARRAY = """
x_h = array.array("f", [1.0] * 60)
num_bytes = x_h.itemsize * len(x_h)
x_d = hip_check(hip.hipMalloc(num_bytes)).configure(typestr="float32", shape=(3, 20))
hip_check(hip.hipMemcpy(x_d, x_h, num_bytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
for r in range(0, x_d.shape[0]):
    row = x_d[r, :]
    assert row.size == 20 and int(row) == int(x_d) + 80 * r
    hip_check(hip.hipMemset(row, r, row.size * row.itemsize))
hip_check(hip.hipMemcpy(x_h, x_d, num_bytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
assert x_h.tobytes() == bytes([0] * 80 + [1] * 80 + [2] * 80)
hip_check(hip.hipFree(x_d))
"""

COPIES = """
kinds = hip.hipMemcpyKind
first, second = hip_check(hip.hipMalloc(12)), hip_check(hip.hipMalloc(12))
from entrepot.adapters import ListOfInt
out = (ctypes.c_int * 3)()
hip_check(hip.hipMemcpy(dst=first, src=ListOfInt([1, 2, 3]), sizeBytes=12, kind=kinds.hipMemcpyHostToDevice))
hip_check(hip.hipMemcpy(second, first, 12, kinds.hipMemcpyDeviceToDevice))
hip_check(hip.hipMemcpy(out, second, 12, kinds.hipMemcpyDeviceToHost))
assert out[:] == [1, 2, 3]
hip_check(hip.hipMemcpy(out, array.array("i", [4, 5, 6]), 12, kinds.hipMemcpyHostToHost))
hip_check(hip.hipMemcpyHtoD(first, out, 12))
hip_check(hip.hipMemcpyDtoD(second, first, 12))
back = bytearray(12)
hip_check(hip.hipMemcpyDtoH(back, second, 12))
assert ListOfInt(back).to_list() == [4, 5, 6]
hip_check(hip.hipMemcpy(back, second[4:], 8, kinds.hipMemcpyDefault))
assert ListOfInt(back).to_list() == [5, 6, 6]
pitched = bytearray(b"ab..cd..ef..")
packed = bytearray(6)
hip_check(hip.hipMemcpy2D(packed, 2, pitched, 4, 2, 3, kinds.hipMemcpyHostToHost))
assert packed == b"abcdef"
"""

EVENTS = """
start, stop = hip_check(hip.hipEventCreate()), hip_check(hip.hipEventCreate())
hip_check(hip.hipEventRecord(start, None))
hip_check(hip.hipEventRecord(stop, None))
hip_check(hip.hipEventSynchronize(stop))
assert 0 <= hip_check(hip.hipEventElapsedTime(start, stop)) < 1000
for event in (start, stop):
    hip_check(hip.hipEventDestroy(event))

from entrepot.hip import Event, Stream
with Stream() as stream, Event() as first, Event() as second:
    stream.record(first)
    stream.record(second).synchronize()
    assert 0 <= second.milliseconds_since(first) < 1000
"""

GRAPHS = """
kinds = hip.hipMemcpyKind
source, out, x_d = bytearray(b"goods"), bytearray(5), hip_check(hip.hipMalloc(5))
graph = hip_check(hip.hipGraphCreate(0))
up = hip_check(hip.hipGraphAddMemcpyNode1D(graph, None, 0, x_d, source, 5, kinds.hipMemcpyHostToDevice))
hip_check(hip.hipGraphAddMemcpyNode1D(graph, [up], 1, out, x_d, 5, kinds.hipMemcpyDeviceToHost))
executable = hip_check(hip.hipGraphInstantiate(graph, None, 0))[0]
hip_check(hip.hipGraphLaunch(executable, None))
assert out == b"goods"
source[:] = b"other"
hip_check(hip.hipGraphLaunch(executable, None))
assert out == b"other"
hip_check(hip.hipGraphExecDestroy(executable))
hip_check(hip.hipGraphDestroy(graph))
"""

EXAMPLES = {
    "device attributes": DEVICE_ATTRIBUTES,
    "device properties": DEVICE_PROPERTIES,
    "stream": STREAM,
    "device array": DEVICE_ARRAY,
    "copies": COPIES,
    "events": EVENTS,
    "graphs": GRAPHS,
}
COMPILED = {"launch without arguments": LAUNCH_WITHOUT_ARGUMENTS, "launch with arguments": LAUNCH_WITH_ARGUMENTS}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    made = tmp_path_factory.mktemp("stand_in") / "libhip.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", made, Path(__file__).with_name("stand_in.c")], check=True)
    return made


@pytest.mark.parametrize("name", EXAMPLES)
def test_runs(library, name):
    assert run(PROLOGUE.format(library=library) + EXAMPLES[name] + "\nprint('done')") == "done"


@pytest.mark.hip_library
@pytest.mark.parametrize("name", COMPILED)
def test_compiles_and_runs(library, name):
    assert run(PROLOGUE.format(library=library) + COMPILED[name] + "\nprint('done')") == "done"

"""The examples of HIP Python's documentation, with only their import changed, run to the end.

They run on a HIP device: AMD's, or NVIDIA's with the library of ``tests/hip_over_cuda``. They
also run on a stand-in whose device is the host. Its two kernels are in C, and AMD's hipRTC still
compiles their text. Entrepot has no hipBLAS module, so a kernel scales the array's rows, instead
of hipblasSscal.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.processes import run

PROLOGUE = """
import array, ctypes, math, random
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
"""

#: Shared by the examples with a kernel: compiles it for the current device.
COMPILED = """
def compiled(source, name, headers=(), include_names=()):
    prog = hip_check(
        hiprtc.hiprtcCreateProgram(
            source, name, len(headers), headers or None, include_names or None
        )
    )
    props = hip.hipDeviceProp_t()
    hip_check(hip.hipGetDeviceProperties(props, 0))
    arch = props.gcnArchName
    cflags = [b"--offload-arch=" + arch]
    (err,) = hiprtc.hiprtcCompileProgram(prog, len(cflags), cflags)
    if err != hiprtc.hiprtcResult.HIPRTC_SUCCESS:
        log_size = hip_check(hiprtc.hiprtcGetProgramLogSize(prog))
        log = bytearray(log_size)
        hip_check(hiprtc.hiprtcGetProgramLog(prog, log))
        raise RuntimeError(log.decode())
    code_size = hip_check(hiprtc.hiprtcGetCodeSize(prog))
    code = bytearray(code_size)
    hip_check(hiprtc.hiprtcGetCode(prog, code))
    module = hip_check(hip.hipModuleLoadData(code))
    kernel = hip_check(hip.hipModuleGetFunction(module, name))
    return prog, module, kernel

scale_vector = b'''
extern "C" __global__ void scale_vector(float factor, int n, short unused1, int unused2,
                                        float unused3, float *x) {
  int tid = threadIdx.x + blockIdx.x * blockDim.x;
  if (tid == 0) {
    printf("factor: %f, n: %d, unused: %d %d %f\\\\n", factor, n, (int)unused1, unused2, unused3);
  }
  if (tid < n) {
    x[tid] *= factor;
  }
}
'''
"""

DEVICE_ATTRIBUTES = """
device_num = 0
for attrib in (
    hip.hipDeviceAttribute_t.hipDeviceAttributeMaxBlockDimX,
    hip.hipDeviceAttribute_t.hipDeviceAttributeMaxBlockDimY,
    hip.hipDeviceAttribute_t.hipDeviceAttributeMaxBlockDimZ,
    hip.hipDeviceAttribute_t.hipDeviceAttributeMaxGridDimX,
    hip.hipDeviceAttribute_t.hipDeviceAttributeMaxGridDimY,
    hip.hipDeviceAttribute_t.hipDeviceAttributeMaxGridDimZ,
    hip.hipDeviceAttribute_t.hipDeviceAttributeWarpSize,
):
    value = hip_check(hip.hipDeviceGetAttribute(attrib, device_num))
    print(f"{attrib.name}: {value}")
print("ok")
"""

DEVICE_PROPERTIES = """
props = hip.hipDeviceProp_t()
hip_check(hip.hipGetDeviceProperties(props, 0))
for attrib in sorted(props.PROPERTIES()):
    print(f"props.{attrib}={getattr(props, attrib)}")
print("ok")
"""

#: The properties equal the attributes, one by one.
SAME_AS_ATTRIBUTES = """
def attribute(name):
    which = hip.hipDeviceAttribute_t["hipDeviceAttribute" + name]
    return hip_check(hip.hipDeviceGetAttribute(which, 0))

names = (props.name, props.gcnArchName)
assert props.name and props.gcnArchName.startswith((b"gfx", b"sm_")), names
assert props.totalGlobalMem == hip_check(hip.hipDeviceTotalMem(0)) > 0
assert props.warpSize == attribute("WarpSize") > 0
assert props.maxThreadsPerBlock == attribute("MaxThreadsPerBlock") > 0
assert list(props.maxThreadsDim) == [attribute("MaxBlockDim" + axis) for axis in "XYZ"]
assert list(props.maxGridSize) == [attribute("MaxGridDim" + axis) for axis in "XYZ"]
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
print("ok")
"""

LAUNCH_WITHOUT_ARGUMENTS = """
source = b'''
extern "C" __global__ void print_tid() {
  printf("tid: %d\\\\n", (int) threadIdx.x);
}
'''
prog, module, kernel = compiled(source, b"print_tid")
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
hip_check(hiprtc.hiprtcDestroyProgram(prog.createRef()))
print("ok")
"""

#: Lists as headers and their names.
LAUNCH_WITH_HEADERS = (
    LAUNCH_WITHOUT_ARGUMENTS.replace("extern", '#include "tid.h"\nextern', 1)
    .replace("threadIdx.x", "TID", 1)
    .replace('b"print_tid")', 'b"print_tid", [b"#define TID threadIdx.x"], [b"tid.h"])', 1)
)

LAUNCH_WITH_ARGUMENTS = """
prog, module, kernel = compiled(scale_vector, b"scale_vector")

x_h = array.array("f", [random.random() for i in range(0, 100)])
num_bytes = x_h.itemsize * len(x_h)
x_d = hip_check(hip.hipMalloc(num_bytes))
hip_check(hip.hipMemcpy(x_d, x_h, num_bytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))

factor = 1.25
x_expected = [a * factor for a in x_h]

block = hip.dim3(x=32)
grid = hip.dim3(x=math.ceil(len(x_h) / block.x))
hip_check(
    hip.hipModuleLaunchKernel(
        kernel,
        *grid,
        *block,
        sharedMemBytes=128,
        stream=None,
        kernelParams=None,
        extra=(
            ctypes.c_float(factor),
            ctypes.c_int(len(x_h)),
            ctypes.c_short(5),
            ctypes.c_int(2),
            ctypes.c_float(5.5),
            x_d,
        ),
    )
)
hip_check(hip.hipMemcpy(x_h, x_d, num_bytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
for i, x_h_i in enumerate(x_h):
    if not math.isclose(x_h_i, x_expected[i], rel_tol=1e-6):
        raise RuntimeError(f"values do not match, {x_h[i]=} vs. {x_expected[i]=}, {i=}")
"""

#: Another spelling of dim3, the arguments' block as an object, and an array that has been freed.
LAUNCHED_AGAIN = """
from entrepot.adapters import HipModuleLaunchKernel_extra

arguments = [
    ctypes.c_float(4),
    ctypes.c_int(99),
    ctypes.c_short(5),
    ctypes.c_int(2),
    ctypes.c_float(5.5),
    x_d,
]
extra = HipModuleLaunchKernel_extra(arguments)
hip_check(
    hip.hipModuleLaunchKernel(
        kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, 0, None, None, extra
    )
)
hip_check(hip.hipMemcpy(x_h, x_d, num_bytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
for found, before in zip(x_h[:99], x_expected):
    assert math.isclose(found, 4 * before, rel_tol=1e-6), x_h
assert math.isclose(x_h[99], x_expected[99], rel_tol=1e-6), (
    "the last is behind the n that the kernel was told"
)

hip_check(hip.hipFree(x_d))
for freed in (extra, arguments):
    try:
        hip.hipModuleLaunchKernel(kernel, *grid, *block, 0, None, None, freed)
    except ValueError as error:
        said = str(error)
        assert "argument 'extra': argument 5" in said and "has been freed" in said, error
    else:
        raise AssertionError("a freed array was passed to a kernel")
hip_check(hip.hipModuleUnload(module))
hip_check(hiprtc.hiprtcDestroyProgram(prog.createRef()))
"""

DEVICE_ARRAY = """
prog, module, kernel = compiled(scale_vector, b"scale_vector")

x_h = array.array("f", [1.0] * 60)
num_bytes = x_h.itemsize * len(x_h)
x_d = hip_check(hip.hipMalloc(num_bytes)).configure(typestr="float32", shape=(3, 20))
hip_check(hip.hipMemcpy(x_d, x_h, num_bytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
for r in range(0, x_d.shape[0]):
    row = x_d[r, :]
    row_len = row.size
    extra = (
        ctypes.c_float(r + 2),
        ctypes.c_int(row_len),
        ctypes.c_short(5),
        ctypes.c_int(2),
        ctypes.c_float(5.5),
        row,
    )
    hip_check(hip.hipModuleLaunchKernel(kernel, *hip.dim3(), *hip.dim3(x=32), 0, None, None, extra))
hip_check(hip.hipMemcpy(x_h, x_d, num_bytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
for i, x in enumerate(x_h):
    if x != i // 20 + 2:
        raise ValueError(f"expected '{i // 20 + 2}' for element {i}, is: '{x}'")

for r in range(0, x_d.shape[0]):
    row = x_d[r, :]
    assert int(row) == int(x_d) + 80 * r
    hip_check(hip.hipMemset(row, r, row.size * row.itemsize))
hip_check(hip.hipMemcpy(x_h, x_d, num_bytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
assert x_h.tobytes() == bytes([0] * 80 + [1] * 80 + [2] * 80)
hip_check(hip.hipFree(x_d))
print("ok")
"""

COPIES = """
kinds = hip.hipMemcpyKind
first, second = hip_check(hip.hipMalloc(12)), hip_check(hip.hipMalloc(12))
from entrepot.adapters import ListOfInt
out = (ctypes.c_int * 3)()
hip_check(
    hip.hipMemcpy(
        dst=first, src=ListOfInt([1, 2, 3]), sizeBytes=12, kind=kinds.hipMemcpyHostToDevice
    )
)
hip_check(hip.hipMemcpy(second, first, 12, kinds.hipMemcpyDeviceToDevice))
hip_check(hip.hipMemcpy(out, second, 12, kinds.hipMemcpyDeviceToHost))
assert out[:] == [1, 2, 3]
hip_check(hip.hipMemcpy(out, array.array("i", [4, 5, 6]), 12, kinds.hipMemcpyHostToHost))
assert out[:] == [4, 5, 6]
hip_check(hip.hipMemcpyHtoD(first, out, 12))
hip_check(hip.hipMemcpyDtoD(second, first, 12))
back = bytearray(12)
hip_check(hip.hipMemcpyDtoH(back, second, 12))
assert ListOfInt(back).to_list() == [4, 5, 6]
hip_check(hip.hipMemcpy(back, second[4:], 8, kinds.hipMemcpyDefault))
assert ListOfInt(back).to_list() == [5, 6, 6]

pitched, packed = bytearray(b"ab..cd..ef.."), bytearray(6)
hip_check(hip.hipMemcpy2D(packed, 2, pitched, 4, 2, 3, kinds.hipMemcpyHostToHost))
assert packed == b"abcdef"
hip_check(hip.hipMemset(first, ord("-"), 12))
hip_check(hip.hipMemcpy2D(first, 3, pitched, 4, 2, 3, kinds.hipMemcpyHostToDevice))
hip_check(hip.hipMemcpy2D(second, 4, first, 3, 3, 3, kinds.hipMemcpyDeviceToDevice))
wide = bytearray(9)
hip_check(hip.hipMemcpy2D(wide, 3, second, 4, 3, 3, kinds.hipMemcpyDeviceToHost))
assert wide == b"ab-cd-ef-", wide
hip_check(hip.hipMemcpy2D(packed, 2, second, 4, 2, 3, kinds.hipMemcpyDefault))
assert packed == b"abcdef", packed
for each in (first, second):
    hip_check(hip.hipFree(each))
print("ok")
"""

EVENTS = """
x_d = hip_check(hip.hipMalloc(1 << 24))
start, stop = hip_check(hip.hipEventCreate()), hip_check(hip.hipEventCreate())
hip_check(hip.hipEventRecord(start, None))
hip_check(hip.hipMemsetAsync(x_d, 0, 1 << 24, None))
hip_check(hip.hipEventRecord(stop, None))
hip_check(hip.hipEventSynchronize(stop))
assert 0 < hip_check(hip.hipEventElapsedTime(start, stop)) < 1000
for event in (start, stop):
    hip_check(hip.hipEventDestroy(event))

from entrepot.hip import Event, Stream
with Stream() as stream, Event() as first, Event() as second:
    stream.record(first)
    hip_check(hip.hipMemsetAsync(x_d, 0, 1 << 24, stream))
    stream.record(second).synchronize()
    assert 0 < second.milliseconds_since(first) < 1000
hip_check(hip.hipFree(x_d))
print("ok")
"""

GRAPHS = """
kinds = hip.hipMemcpyKind
source, out, x_d = bytearray(b"bytes"), bytearray(5), hip_check(hip.hipMalloc(5))
graph = hip_check(hip.hipGraphCreate(0))
up = hip_check(
    hip.hipGraphAddMemcpyNode1D(graph, None, 0, x_d, source, 5, kinds.hipMemcpyHostToDevice)
)
hip_check(hip.hipGraphAddMemcpyNode1D(graph, [up], 1, out, x_d, 5, kinds.hipMemcpyDeviceToHost))
executable = hip_check(hip.hipGraphInstantiate(graph, None, 0))[0]
stream = hip_check(hip.hipStreamCreate())
hip_check(hip.hipGraphLaunch(executable, stream))
hip_check(hip.hipStreamSynchronize(stream))
assert out == b"bytes"
source[:] = b"other"
hip_check(hip.hipGraphLaunch(executable, stream))
hip_check(hip.hipStreamSynchronize(stream))
assert out == b"other"
hip_check(hip.hipStreamDestroy(stream))
hip_check(hip.hipGraphExecDestroy(executable))
hip_check(hip.hipGraphDestroy(graph))
hip_check(hip.hipFree(x_d))
print("ok")
"""


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    made = tmp_path_factory.mktemp("stand_in") / "libhip.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", made, Path(__file__).with_name("stand_in.c")], check=True
    )
    return str(made)


@pytest.fixture
def library(request, monkeypatch):
    """The library for the example's process: on a device the one that this process uses."""
    if request.param == "stand-in":
        monkeypatch.setenv("ENTREPOT_HIP_LIBRARY", request.getfixturevalue("stand_in"))
        monkeypatch.delenv("ENTREPOT_HIPRTC_LIBRARY", raising=False)  # AMD's own
    return request.param


device = pytest.param("device", marks=pytest.mark.hip)
everywhere = pytest.mark.parametrize("library", ["stand-in", device], indirect=True)
where_it_compiles = pytest.mark.parametrize(
    "library", [pytest.param("stand-in", marks=pytest.mark.hip_library), device], indirect=True
)


class TestQueries:
    @everywhere
    def test_device_attributes(self, library):
        *found, ok = run(PROLOGUE + DEVICE_ATTRIBUTES).splitlines()
        values = {
            name.removeprefix("hipDeviceAttribute"): int(value)
            for name, value in (line.split(": ") for line in found)
        }
        assert ok == "ok" and len(values) == 7
        if library == "stand-in":
            assert list(values.values()) == [
                1026,
                1027,
                1028,
                1029,
                1030,
                1031,
                1087,
            ]  # 1000 and the attribute's number
        else:
            assert values["MaxBlockDimX"] == values["MaxBlockDimY"] == 1024 and values[
                "MaxBlockDimZ"
            ] in (64, 1024)
            assert (
                values["MaxGridDimX"] == 2**31 - 1
                and min(values["MaxGridDimY"], values["MaxGridDimZ"]) >= 65535
            )
            assert values["WarpSize"] in (32, 64)

    @everywhere
    def test_device_properties(self, library):
        *found, ok = run(PROLOGUE + DEVICE_PROPERTIES + SAME_AS_ATTRIBUTES).splitlines()
        assert ok == "ok" and len(found) > 100
        values = dict(line.removeprefix("props.").split("=", 1) for line in found)
        assert "totalGlobalMem" in values and (
            library == "device" or values["name"] == "b'stand-in'"
        )


class TestLaunches:
    @where_it_compiles
    @pytest.mark.parametrize(
        "example", [LAUNCH_WITHOUT_ARGUMENTS, LAUNCH_WITH_HEADERS], ids=["plain", "headers"]
    )
    def test_launch_without_arguments_prints_ids(self, library, example):
        lines = run(PROLOGUE + COMPILED + example).splitlines()
        assert sorted(lines) == sorted([*(f"tid: {tid}" for tid in range(32)), "ok"])

    @where_it_compiles
    def test_launch_with_arguments_prints_values(self, library):
        lines = run(
            PROLOGUE + COMPILED + LAUNCH_WITH_ARGUMENTS + LAUNCHED_AGAIN + 'print("ok")'
        ).splitlines()
        said = [
            f"factor: {factor:f}, n: {n}, unused: 5 2 {5.5:f}"
            for factor, n in ((1.25, 100), (4, 99))
        ]
        assert sorted(lines) == sorted([*said, "ok"])


@where_it_compiles
def test_device_array_example_completes(library):
    assert run(PROLOGUE + COMPILED + DEVICE_ARRAY).splitlines().count("ok") == 1


@everywhere
@pytest.mark.parametrize(
    "example", [STREAM, COPIES, EVENTS, GRAPHS], ids=["stream", "copies", "events", "graphs"]
)
def test_example_completes(library, example):
    assert run(PROLOGUE + example) == "ok"

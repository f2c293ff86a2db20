"""HIP Python's documented examples with only the import changed, as far as AMD's library goes
without a device."""

from __future__ import annotations

import ctypes
import pickle
import sys

import pytest

from entrepot import LibraryError, hip, hiprtc
from entrepot.hip import HipError, hip_check
from support.processes import completed

pytestmark = pytest.mark.hip_library


def has_device() -> bool:
    try:
        return hip.hipGetDeviceCount()[0] == 0
    except LibraryError:  # asked before the marker's skip
        return False


without_device = pytest.mark.skipif("has_device()", reason="there is a HIP device here")


@without_device
class TestWithoutDevice:
    def test_calls_without_device_return_errors(self):
        absent = (
            hip.hipError_t.hipErrorInvalidDevice,
            hip.hipError_t.hipErrorNoDevice,
        )  # until HIP 5, and since 6
        (status,) = hip.hipInit(0)
        assert status in absent
        assert hip.hipGetDeviceCount() == (hip.hipError_t.hipErrorNoDevice, 0)
        status, pointer = hip.hipMalloc(4)
        assert status in absent
        assert pointer is None
        assert (
            hip.hipDeviceGetAttribute(hip.hipDeviceAttribute_t.hipDeviceAttributeWarpSize, 0)[0]
            != 0
        )

    def test_properties_without_device_are_readable(self):
        props = hip.hipDeviceProp_t()
        (status,) = hip.hipGetDeviceProperties(props, 0)
        assert status != 0
        status, returned = hip.hipGetDeviceProperties(0)
        assert isinstance(returned, hip.hipDeviceProp_t)
        for attribute in sorted(props.PROPERTIES()):
            getattr(props, attribute)

    def test_streams_and_events(self):
        status, stream = hip.hipStreamCreate()
        assert status != 0
        assert stream is None
        with pytest.raises(HipError, match="hipError"):
            hip.Stream()
        with pytest.raises(HipError, match="hipError"), hip.Event():
            pass

    def test_copies_take_lists_and_names(self):
        destination = (ctypes.c_int * 3)()
        kind = hip.hipMemcpyKind.hipMemcpyHostToHost
        (status,) = hip.hipMemcpy(dst=destination, src=hip_list([1, 2, 3]), sizeBytes=12, kind=kind)
        assert isinstance(status, hip.hipError_t)

    def test_launch_without_arguments_has_a_status(self):
        grid, block = hip.dim3(x=32), hip.dim3(x=32)
        (status,) = hip.hipModuleLaunchKernel(  # type: ignore[misc] # a dim3 has three items
            None, *grid, *block, sharedMemBytes=0, stream=None, kernelParams=None, extra=None
        )
        assert status != 0

    def test_launch_with_arguments_has_a_status(self):
        grid, block = hip.dim3(x=32), hip.dim3(x=32)
        (status,) = hip.hipModuleLaunchKernel(  # type: ignore[misc] # a dim3 has three items
            None,
            *grid,
            *block,
            sharedMemBytes=0,
            stream=None,
            kernelParams=None,
            extra=(ctypes.c_float(1.0), ctypes.c_int(2), ctypes.c_short(3)),
        )
        assert status != 0

    def test_error_is_picklable(self):
        raised = HipError(hip.hipError_t.hipErrorInvalidValue)
        error = pickle.loads(pickle.dumps(raised))
        assert error.status is raised.status
        assert str(error) == str(raised)

    def test_hip_check_raises_the_status(self):
        with pytest.raises(HipError) as caught:
            hip_check(hip.hipGetDeviceCount())
        assert caught.value.status is hip.hipError_t.hipErrorNoDevice
        assert isinstance(caught.value, RuntimeError)
        assert hip_check((hip.hipError_t.hipSuccess,)) == ()
        assert hip_check((hip.hipError_t.hipSuccess, 3)) == 3
        assert hip_check((hip.hipError_t.hipSuccess, 3, 4)) == (3, 4)


def hip_list(numbers):
    from entrepot.adapters import ListOfInt

    return ListOfInt(numbers)


SOURCE = b"""
extern "C" __global__ void scale_vector(float factor, float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= factor;
}
"""


UNKNOWN_ARCHITECTURE = """
from entrepot import hiprtc
from entrepot.hip import hip_check
prog = hip_check(hiprtc.hiprtcCreateProgram(b"// nothing\\n", b"empty", 0, None, None))
print("created", flush=True)
(err,) = hiprtc.hiprtcCompileProgram(prog, 1, [b"--offload-arch=gfx9999"])
assert err
assert hip_check(hiprtc.hiprtcGetProgramLogSize(prog)) > 1
print("refused with words")
"""


class TestCompiler:
    @pytest.mark.parametrize("arch", [b"gfx90a", b"gfx906"])
    def test_program_is_compiled(self, arch):
        prog = hip_check(hiprtc.hiprtcCreateProgram(SOURCE, b"scale_vector", 0, None, None))
        cflags = [b"--offload-arch=" + arch]
        (err,) = hiprtc.hiprtcCompileProgram(prog, len(cflags), cflags)
        assert err == hiprtc.hiprtcResult.HIPRTC_SUCCESS
        code_size = hip_check(hiprtc.hiprtcGetCodeSize(prog))
        code = bytearray(code_size)
        hip_check(hiprtc.hiprtcGetCode(prog, code))
        assert code[:4] == b"\x7fELF"
        hip_check(hiprtc.hiprtcDestroyProgram(prog.createRef()))

    def test_headers_as_lists(self):
        source = b'#include "one.h"\nextern "C" __global__ void k(int *x) { *x = ONE; }'
        prog = hip_check(
            hiprtc.hiprtcCreateProgram(source, b"k", 1, [b"#define ONE 1\n"], [b"one.h"])
        )
        hip_check(hiprtc.hiprtcCompileProgram(prog, 1, ["--offload-arch=gfx90a"]))
        hip_check(hiprtc.hiprtcDestroyProgram(prog.createRef()))

    def test_error_of_refused_source_has_the_log(self):
        prog = hip_check(hiprtc.hiprtcCreateProgram(b"no C at all", b"bad", 0, None, None))
        (err,) = hiprtc.hiprtcCompileProgram(prog, 1, [b"--offload-arch=gfx90a"])
        assert err == hiprtc.hiprtcResult.HIPRTC_ERROR_COMPILATION
        log = bytearray(hip_check(hiprtc.hiprtcGetProgramLogSize(prog)))
        hip_check(hiprtc.hiprtcGetProgramLog(prog, log))
        assert b"error" in log
        with pytest.raises(HipError, match="HIPRTC_ERROR_COMPILATION"):
            hip_check((err,))

    @pytest.mark.parametrize("arch", [b"gfx942", b"gfx9999"])
    def test_refused_architecture_is_in_the_log(self, arch):
        """HIP 5.2 does not know gfx942. It reports that if a known architecture precedes it."""
        if arch == b"gfx942" and hip_check(hip.hipRuntimeGetVersion()) >= 60_000_000:
            pytest.skip("this hipRTC compiles for gfx942")
        prog = hip_check(hiprtc.hiprtcCreateProgram(SOURCE, b"scale_vector", 0, None, None))
        cflags = [b"--offload-arch=gfx90a", b"--offload-arch=" + arch]
        (err,) = hiprtc.hiprtcCompileProgram(prog, len(cflags), cflags)
        assert err == hiprtc.hiprtcResult.HIPRTC_ERROR_COMPILATION
        log = bytearray(hip_check(hiprtc.hiprtcGetProgramLogSize(prog)))
        hip_check(hiprtc.hiprtcGetProgramLog(prog, log))
        assert arch in log
        hip_check(hiprtc.hiprtcDestroyProgram(prog.createRef()))

    def test_unknown_architecture_is_refused(self):
        """It is refused with a message: by Entrepot where HIP 5 would crash (test_refusals.py),
        else by hipRTC."""
        done = completed([sys.executable, "-c", UNKNOWN_ARCHITECTURE], timeout=60)
        if hip_check(hip.hipRuntimeGetVersion()) < 60_000_000:
            assert (
                done.returncode == 1
                and done.stdout == "created\n"
                and "'gfx9999' is no architecture" in done.stderr
            ), done.stderr
        else:
            assert done.stdout == "created\nrefused with words\n", done.stderr


def test_text_of_errors():
    assert str(hip_check(hip.hipGetErrorString(hip.hipError_t.hipErrorInvalidValue))) in (
        "hipErrorInvalidValue",
        "invalid argument",
    )
    assert (
        str(hip_check(hip.hipGetErrorName(hip.hipError_t.hipErrorInvalidValue)))
        == "hipErrorInvalidValue"
    )

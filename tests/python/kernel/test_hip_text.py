"""HIP C++ of kernels: hipRTC, which needs no GPU, compiles the text of every example."""

from __future__ import annotations

import pytest

import entrepot.kernel as dppy
from kernel.examples import EXAMPLES, filling, looking_up, texts_of, texts_of_the_suite

pytestmark = [pytest.mark.numpy, pytest.mark.host, pytest.mark.hip_library]


def compile_for_mi250(text: str) -> str:
    """The compiler's log for the text; empty if it compiles."""
    from entrepot import hiprtc

    _, program = hiprtc.hiprtcCreateProgram(text.encode(), b"kernel.hip", 0, None, None)
    options = [b"--offload-arch=gfx90a", b"-fwrapv"]
    (failed,) = hiprtc.hiprtcCompileProgram(program, len(options), options)
    _, size = hiprtc.hiprtcGetProgramLogSize(program)
    log = bytearray(size)
    hiprtc.hiprtcGetProgramLog(program, log)
    hiprtc.hiprtcDestroyProgram(program.createRef())
    return log.decode() or "refused" if failed else ""


@pytest.mark.parametrize("name", EXAMPLES)
def test_kernels_of_example_compile(name):
    texts = texts_of(name, "hip")
    assert texts
    for text in texts:
        assert compile_for_mi250(text) == "", text


def test_kernels_of_the_suite_compile():
    for text in texts_of_the_suite("hip"):
        assert compile_for_mi250(text) == "", text


def test_error_of_compiler_is_reported():
    assert "error" in compile_for_mi250("not a program")


@pytest.mark.parametrize("size", [48 << 10, (48 << 10) + 1, 64 << 10])
def test_local_memory_of_every_size_compiles(size):
    text = filling(size, with_group_function=True).source("hip")
    assert compile_for_mi250(text) == "", text


@pytest.mark.parametrize("sizes", [(65_536,), (40_000, 40_000)], ids=str)
def test_constants_of_every_size_compile(sizes):
    text = looking_up(sizes).source("hip")
    assert compile_for_mi250(text) == ""


@dppy.kernel
def least_and_greatest(found, values):
    i = dppy.get_global_id(0)
    dppy.atomic.min(found, 0, values[i])
    dppy.atomic.max(found, 1, values[i])


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float32", "float64"])
def test_atomics_of_every_type_compile(dtype):
    """HIP 5.2 has no atomicMin or atomicMax for signed 64-bit integers."""
    text = least_and_greatest.source("hip", signature=f"void({dtype}[::1], {dtype}[::1])")
    assert compile_for_mi250(text) == ""

"""CUDA C++ of kernels: NVRTC, which needs no GPU, compiles the text of every example."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from kernel.examples import EXAMPLES, filling, looking_up, texts_of, texts_of_the_suite

pytestmark = [pytest.mark.numpy, pytest.mark.host]


@pytest.fixture(scope="module")
def nvrtc():
    nvidia = pytest.importorskip("nvidia")
    found = [path for root in nvidia.__path__ for path in Path(root).rglob("libnvrtc.so*")]
    if not found:
        pytest.skip("NVRTC is not installed")
    return ctypes.CDLL(str(found[0]))


def compile_for_h100(nvrtc, text: str) -> str:
    """The compiler's log for the text; empty if it compiles."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert (
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
        == 0
    )
    options = (ctypes.c_char_p * 2)(b"--gpu-architecture=sm_90", b"--std=c++17")
    failed = nvrtc.nvrtcCompileProgram(program, 2, options)
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return log.value.decode() or "refused" if failed else ""


@pytest.mark.parametrize("name", EXAMPLES)
def test_kernels_of_example_compile(name, nvrtc):
    texts = texts_of(name, "cuda")
    assert texts
    for text in texts:
        assert compile_for_h100(nvrtc, text) == "", text


def test_kernels_of_the_suite_compile(nvrtc):
    for text in texts_of_the_suite("cuda"):
        assert compile_for_h100(nvrtc, text) == "", text


def test_error_of_compiler_is_reported(nvrtc):
    assert "expected" in compile_for_h100(nvrtc, "not a program")


@pytest.mark.parametrize(
    "with_group_function", [False, True], ids=["alone", "with a group function"]
)
@pytest.mark.parametrize("size", [48 << 10, (48 << 10) + 1, 227 << 10])
def test_local_memory_of_every_size_compiles(nvrtc, size, with_group_function):
    """A kernel may declare 48 KiB, including the memory of its group functions."""
    text = filling(size, with_group_function).source("cuda")
    assert compile_for_h100(nvrtc, text) == "", text
    assert ("launch_memory" in text) == (size > 48 << 10 or with_group_function)


@pytest.mark.parametrize(
    "sizes", [(65_536,), (65_537,), (40_000, 40_000), (30_001, 30_001, 5_488, 9)], ids=str
)
def test_constants_of_every_size_compile(nvrtc, sizes):
    """All arrays of a program share 64 KiB of constant memory."""
    text = looking_up(sizes).source("cuda")
    assert compile_for_h100(nvrtc, text) == ""
    assert "__constant__" in text
    assert ("static __device__ const" in text) == (len(sizes) < 3)

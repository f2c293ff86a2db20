"""CUDA C++ of the programs' kernels, which NVRTC compiles without a GPU."""

from __future__ import annotations

import pytest

from cuda_names import (
    test_elementwise_programs,
    test_grid_programs,
    test_libdevice,
    test_shared_memory_programs,
    test_warp_programs,
)
from kernel.test_cuda_text import compile_for_h100

pytestmark = [pytest.mark.numpy, pytest.mark.host]

KERNELS = {
    "add": (test_elementwise_programs.add, "void(float32[:], float32[:], float32[:])"),
    "saxpy": (test_elementwise_programs.saxpy, "void(float64, float32[::1], float32[::1])"),
    "coordinates": (test_elementwise_programs.coordinates, "void(int64[:, :, :, ::1])"),
    "mandelbrot": (
        test_elementwise_programs.mandelbrot,
        "void(int32[:, ::1], float64, float64, float64, float64, int64)",
    ),
    "julia": (test_elementwise_programs.julia, "void(uint8[:, ::1], complex128)"),
    "matmul": (
        test_shared_memory_programs.matmul_tiled,
        "void(float64[:, ::1], float64[:, ::1], float64[:, ::1])",
    ),
    "dynamic": (
        test_shared_memory_programs.reverse_blocks,
        "void(local float32[:], float32[::1])",
    ),
    "votes": (test_shared_memory_programs.votes, "void(int32[::1], int32[:, ::1])"),
    "sobel": (test_grid_programs.sobel, "void(float32[:, ::1], float32[:, ::1])"),
    "warps": (test_warp_programs.sums_of_warps, "void(int32[::1], int32[::1])"),
    "shuffles": (test_warp_programs.shuffles, "void(int32[::1], int32[:, ::1])"),
    "votes of warps": (test_warp_programs.votes, "void(int32[::1], int64[:, ::1])"),
    "matches": (test_warp_programs.matches, "void(int32[::1], int64[:, ::1])"),
    "updates": (test_warp_programs.updates, "void(int32[::1])"),
    "extremes": (test_warp_programs.extremes, "void(float32[::1], float32[::1])"),
    "bits": (test_warp_programs.bits, "void(uint64[::1], uint64[:, ::1])"),
    "numbers": (test_warp_programs.numbers, "void(float32[::1], float32[:, ::1])"),
    "halves": (test_warp_programs.halves, "void(float16[::1], float16[:, ::1])"),
    "libdevice": (test_libdevice.of_floats, "void(float64[::1], float64[:, ::1])"),
    "inverses": (test_libdevice.inverses, "void(float64[::1], float64[:, ::1])"),
    "integers": (test_libdevice.of_integers, "void(int64[::1], int64[::1], int64[:, ::1])"),
    "directed": (test_libdevice.directed, "void(float64[::1], float64[::1], float64[:, ::1])"),
    "reinterpreted": (test_libdevice.reinterpreted, "void(float64[::1], int64[:, ::1])"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_of_program_compiles(name, nvrtc):
    dispatcher, signature = KERNELS[name]
    text = dispatcher.kernel.source("cuda", signature=signature, device="host")
    assert compile_for_h100(nvrtc, text) == "", text


def test_width_of_warps_is_a_literal():
    dispatcher, signature = KERNELS["warps"]
    assert " 32" in dispatcher.kernel.source("cuda", signature=signature, device="host")

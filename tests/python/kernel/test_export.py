"""``kernel.export``: the header compiles in a program without Python, with the kernel's results."""

from __future__ import annotations

import shutil
import subprocess

import pytest

import entrepot as ep
import entrepot.kernel as dppy
from support.processes import output_of

pytestmark = [
    pytest.mark.host,
    pytest.mark.skipif(
        shutil.which("g++") is None, reason="g++ is not there to compile what was exported"
    ),
]


@dppy.kernel
def scaled(x, out, by):
    i = dppy.get_global_id(0)
    out[i] = x[i, 1] * by


@dppy.kernel
def mirrored(data, scratch):
    """Values live across the barrier, and the caller sizes the group's memory."""
    i, item = dppy.get_global_id(0), dppy.get_local_id(0)
    own = data[i]
    scratch[item] = own
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    data[i] = scratch[dppy.get_local_size(0) - 1 - item] * 100 + own


def output(folder, program: str) -> str:
    (folder / "main.cpp").write_text(program)
    subprocess.run(
        ["g++", "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "main.cpp", "other.cpp", "-o",
            "main", "-pthread"],
        cwd=folder, check=True, timeout=120,
    )  # fmt: skip
    return output_of([folder / "main"], timeout=20)


def test_exported_kernel_runs_a_range(tmp_path):
    scaled.export(tmp_path / "scaled.hpp", signature="void(float32[:, :], float32[::1], float32)")
    (tmp_path / "other.cpp").write_text('#include "scaled.hpp"\n')  # two translation units have it
    program = """
        #include "scaled.hpp"
        #include <cstdio>
        int main() {
            float x[1000][3], out[1000];
            for (int i = 0; i < 1000; ++i)
                x[i][1] = i;
            ARGUMENTS
            for (int i = 0; i < 1000; ++i)
                if (out[i] != 2 * i) return 1;
            std::puts("right");
        }
    """
    declared = (tmp_path / "scaled.hpp").read_text()
    strides = "3, 1" if "x_stride1" in declared else "3"
    assert (
        output(
            tmp_path,
            program.replace("ARGUMENTS", f"launch_scaled({{1000}}, x[0], {strides}, out, 2.0f);"),
        )
        == "right\n"
    )


def test_groups_with_barriers(tmp_path):
    mirrored.export(tmp_path / "mirrored.hpp", signature="void(int64[::1], local int64[:])")
    (tmp_path / "other.cpp").write_text('#include "mirrored.hpp"\n')
    program = """
        #include "mirrored.hpp"
        #include <cstdio>
        #include <vector>
        int main() {
            std::vector<std::int64_t> data(64);
            for (int i = 0; i < 64; ++i) data[i] = i;
            launch_mirrored({64}, {8}, data.data(), 8 * sizeof(std::int64_t), 8, 3);
            for (int i = 0; i < 64; ++i)
                if (data[i] != (i / 8 * 8 + 7 - i % 8) * 100 + i) return 1;
            try {
                launch_mirrored({64}, {7}, data.data(), 8 * sizeof(std::int64_t), 8);
            } catch (const std::invalid_argument &) {
                std::puts("right, and refused");
            }
        }
    """
    assert output(tmp_path, program) == "right, and refused\n"


def test_unexportable_kernels_are_refused(tmp_path):
    with pytest.raises(ep.KernelError, match="has not been launched, and has no signature"):
        dppy.kernel(scaled.function).export(tmp_path / "x.hpp")
    with pytest.raises(ep.KernelError, match="reports C\\+\\+ cannot read"):
        scaled.options(debug=True).export(
            tmp_path / "x.hpp", signature="void(float32[:, :], float32[::1], float32)"
        )

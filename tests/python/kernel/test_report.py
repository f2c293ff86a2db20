"""``kernel.report()``: loops that the host's compiler vectorizes."""

from __future__ import annotations

import inspect
import shutil

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy

pytestmark = [pytest.mark.numpy, pytest.mark.host]


@dppy.kernel
def sums_of_columns(out, a):
    i = dppy.get_global_id(0)
    total = np.float32(0)
    for k in range(a.shape[0]):
        total += a[k, i]
    out[i] = total


@dppy.kernel
def axpy(x, y):
    i = dppy.get_global_id(0)
    y[i] += 2 * x[i]


@dppy.kernel
def recurrence(out, x, n):
    i = dppy.get_global_id(0)
    for k in range(n):
        out[i] = out[i] * 3 + x[(i * k) % 7]


@dppy.kernel
def sum_of_group(out, x, n):
    lane = dppy.get_local_id(0)
    total = np.float32(0)
    for k in range(lane, n, dppy.get_local_size(0)):
        total += x[k]
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    out[dppy.get_global_id(0)] = total


@pytest.fixture(params=["g++", "clang++"])
def compiler(request, monkeypatch):
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    monkeypatch.setenv("CXX", request.param)
    return request.param


def lines_after(report, kernel, text):
    """The report's lines about the loop whose line in this file has the text."""
    source, first = inspect.getsourcelines(kernel.function)
    line = first + next(i for i, each in enumerate(source) if text in each)
    lines = report.splitlines()
    at = next((i for i, each in enumerate(lines) if f"{__file__}:{line}: " in each), None)
    assert at is not None, report
    after = lines[at + 1 :]
    end = next((i for i, each in enumerate(after) if not each.startswith("    ")), len(after))
    return "\n".join(after[:end])


def test_loop_over_work_items_is_named_without_a_line(compiler):
    report = axpy.report(signature="void(float32[::1], float32[::1])")
    assert report.startswith("over work-items\n    vectorized: "), report


def test_vectorized_loop_of_a_group_is_named_by_its_line(compiler):
    report = sum_of_group.report(signature="void(float32[::1], float32[::1], int64)")
    found = lines_after(report, sum_of_group, "for k in range")
    assert found.startswith("    vectorized: "), report


def test_loop_that_is_not_vectorized_has_a_reason(compiler):
    report = recurrence.report(signature="void(int64[::1], int64[::1], int64)")
    assert "    not vectorized: " in report
    assert "[-R" not in report


def test_report_is_that_of_the_last_launch():
    kernel = sums_of_columns.options()
    with pytest.raises(ep.KernelError, match="has not been launched, and has no signature"):
        kernel.report()
    out = ep.zeros(70, "float32", device="host")
    kernel[70](out, ep.zeros((3, 70), "float32", device="host")).wait()
    assert "vectorized: " in kernel.report()
    assert (out.numpy() == 0).all()


def test_refused_signature_says_why():
    with pytest.raises(TypeError, match="2 parameters"):
        sums_of_columns.report(signature="void(float32[::1])")


def test_other_compiler_is_refused_by_name(tmp_path, monkeypatch):
    other = tmp_path / "c++"
    other.write_text("#!/bin/sh\necho 'no such option' >&2\nexit 1\n")
    other.chmod(0o755)
    monkeypatch.setenv("CXX", str(other))
    with pytest.raises(ep.KernelError, match="report\\(\\) needs GCC or Clang"):
        sums_of_columns.report(signature="void(float32[::1], float32[:, ::1])")


@pytest.mark.host
def test_assembly_lists_instructions_without_directives(compiler):
    lines = sum_of_group.assembly(signature="void(float32[::1], float32[::1], int64)").splitlines()
    assert lines[0] == "sum_of_group:"
    assert any(line.split()[0] in ("ret", "retq") for line in lines if line.startswith("    "))
    assert not [line for line in lines if line.lstrip().startswith(".") and ":" not in line]


@pytest.mark.host
def test_assembly_without_types_is_refused():
    @dppy.kernel
    def never_launched(x):
        x[0] = 1

    with pytest.raises(dppy.KernelError, match="signature"):
        never_launched.assembly()


@pytest.mark.host
def test_num_threads_out_of_range_is_refused():
    most = dppy.get_num_threads()
    for count in (most + 1, 2**40):
        with pytest.raises(ValueError, match=rf"may use 1 to {most}"):
            dppy.set_num_threads(count)
    for count in (0, -1):
        with pytest.raises(ValueError, match="at least 1 is needed"):
            dppy.set_num_threads(count)
    assert dppy.get_num_threads() == most

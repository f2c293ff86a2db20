"""Programs and kernels: what is built, what is refused and with which words."""

from __future__ import annotations

import pytest

import entrepot as ep

OPENCL = "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }"


@pytest.mark.sycl
class TestOpenCl:
    def test_it_is_built_and_described(self):
        device = ep.device("opencl:cpu")
        program = ep.Program(OPENCL, device)
        assert program.dialect == "opencl-c"
        assert program.device == device
        assert program.context == device.context
        kernel = program.kernel("twice")
        assert kernel.name == "twice"
        assert kernel.num_arguments == 1
        assert kernel.work_group_size >= 1
        assert kernel.program.device == device
        assert "twice" in repr(kernel)
        assert "opencl-c" in repr(program)

    def test_bytes_are_a_source_too(self):
        assert ep.Program(OPENCL.encode(), "opencl:cpu").kernel("twice").name == "twice"

    def test_a_refused_source_carries_the_log(self):
        with pytest.raises(ep.KernelError, match=r"undeclared|unknown type|error"):
            ep.Program("kernel void bad() { nonsense }", "opencl:cpu")

    def test_a_missing_kernel_is_named(self):
        with pytest.raises(ep.KernelError, match="thrice"):
            ep.Program(OPENCL, "opencl:cpu").kernel("thrice")

    def test_another_dialect_is_refused_with_those_that_there_are(self):
        with pytest.raises(ep.DeviceError, match=r"does not build PTX.*'opencl-c'"):
            ep.Program(OPENCL, "opencl:cpu", dialect="ptx")


def test_an_unknown_dialect_is_a_value_error():
    with pytest.raises(ValueError, match=r"'opencl-c'.*not 'fortran'"):
        ep.Program("", "host", dialect="fortran")


@pytest.mark.parametrize("wrong", [None, 3, ["x"]])
def test_a_source_is_text_or_bytes(wrong):
    with pytest.raises(TypeError, match="source: a str or bytes"):
        ep.Program(wrong, "host")

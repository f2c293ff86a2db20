"""Programs and kernels: builds and refusals, with their messages."""

from __future__ import annotations

import pytest

import entrepot as ep
from support.processes import run

OPENCL = "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }"


@pytest.mark.sycl
class TestOpenCl:
    def test_program_is_built_and_described(self):
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

    def test_bytes_are_accepted_as_source(self):
        assert ep.Program(OPENCL.encode(), "opencl:cpu").kernel("twice").name == "twice"

    def test_error_of_refused_source_has_the_log(self):
        with pytest.raises(ep.KernelError, match=r"undeclared|unknown type|error"):
            ep.Program("kernel void bad() { nonsense }", "opencl:cpu")

    def test_missing_kernel_is_named(self):
        with pytest.raises(ep.KernelError, match="thrice"):
            ep.Program(OPENCL, "opencl:cpu").kernel("thrice")

    def test_unsupported_dialect_error_lists_supported(self):
        with pytest.raises(ep.DeviceError, match=r"does not build PTX.*'opencl-c'"):
            ep.Program(OPENCL, "opencl:cpu", dialect="ptx")


def test_unknown_dialect_is_a_value_error():
    with pytest.raises(ValueError, match=r"'opencl-c'.*not 'fortran'"):
        ep.Program("", "host", dialect="fortran")


@pytest.mark.parametrize("wrong", [None, 3, ["x"]])
def test_source_of_other_type_is_refused(wrong):
    with pytest.raises(TypeError, match="source: a str or bytes"):
        ep.Program(wrong, "host")


# In a process of its own, because the mode would persist for later tests.
@pytest.mark.host
def test_fast_math_of_a_program_leaves_subnormals_alone():
    run(
        """
import entrepot as ep
source = "extern \\"C\\" void k(const long long *, void *const *) {}"
for _ in range(2):  # built, and then taken from the cache
    ep.Program(source, "host", options="-ffast-math").kernel("k")
assert 2.2250738585072014e-308 / 2 != 0 and 5e-324 * 1.0 != 0
"""
    )


#: Calls `min` twice on 64-bit numbers, with an operand uniform in the group, after a barrier.
MINIMA = """
kernel void minima(global long *out, global const long *given, long n) {
    local long shared[4];
    const long i = get_global_id(0), lid = get_local_id(0);
    shared[lid] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] += shared[lid];
    const long least = min(given[i], n);
    shared[lid] = min(n, lid);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] += least;
}
"""


@pytest.mark.sycl
@pytest.mark.parametrize("settings", [("core-avx2", ""), ("", "-g")], ids=["variable", "option"])
def test_settings_avoid_intels_miscompilation(monkeypatch, settings):
    """See docs/concepts/devices.md. Without either setting the process crashes on machines with
    AVX-512."""
    processor, options = settings
    if processor:
        monkeypatch.setenv("CL_CONFIG_CPU_TARGET_ARCH", processor)
    monkeypatch.setenv("ENTREPOT_CACHE_DIR", "")
    printed = run(f"""
        import entrepot as ep
        from array import array

        kernel = ep.Program({MINIMA!r}, device="opencl:cpu", options={options!r}).kernel("minima")
        out = ep.zeros(8, "int64", device="opencl:cpu")
        numbers = array("q", [5, 30, 28, 87, 0, 1, 49, 82])
        given = ep.asarray(numbers, device="opencl:cpu", copy=True)
        kernel[8, 4](out, given, ep.Scalar(5, "int64")).wait()
        print(list(memoryview(out.copy_to_host())))
    """)
    assert printed == str(
        [i + min(each, 5) for i, each in enumerate([5, 30, 28, 87, 0, 1, 49, 82])]
    )

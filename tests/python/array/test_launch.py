"""Kernels on arrays: every kind of argument, index order, order between queues, and errors that
name the argument."""

from __future__ import annotations

import ctypes
import time

import pytest

import entrepot as ep
from support.places import SYCL, Place

np = pytest.importorskip("numpy")
pytestmark = [pytest.mark.numpy, pytest.mark.sycl]

SOURCE = """
__kernel void axpy(__global float *y, __global const float *x, float a) {
    size_t i = get_global_id(0);
    y[i] += a * x[i];
}
__kernel void ids(__global int *out, int rows, int columns) {
    size_t i = get_global_id(2) * rows * columns + get_global_id(1) * columns + get_global_id(0);
    out[i] = (int)i;
}
typedef struct { int add; short times; } Recipe;
__kernel void cook(__global int *data, Recipe recipe) {
    size_t i = get_global_id(0);
    data[i] = (data[i] + recipe.add) * recipe.times;
}
__kernel void reverse_groups(__global int *data, __local int *scratch) {
    size_t i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
    scratch[l] = data[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[i] = scratch[n - 1 - l];
}
__kernel void slow(__global int *data, long turns) {
    int x = data[0];
    for (long i = 0; i < turns; ++i) x = x * 1664525 + 1013904223;
    data[1] = x;
    data[0] = 42;
}
"""


@pytest.fixture(scope="module")
def program() -> ep.Program:
    return ep.Program(SOURCE, ep.device("opencl:cpu"))


@pytest.mark.parametrize("place", SYCL, ids=str)
class TestArguments:
    def test_arrays_and_a_scalar(self, program: ep.Program, place: Place) -> None:
        y, x = place.empty(64, "float32"), place.empty(64, "float32")
        ep.fill(y, 1)
        ep.copy(x, np.arange(64, dtype="float32"))
        event = program.kernel("axpy")[64, 16](y, x, np.float32(2))
        event.wait()
        np.testing.assert_array_equal(
            y.copy_to_host().numpy(), 1 + 2 * np.arange(64, dtype="float32")
        )

    @pytest.mark.parametrize(
        "scalar",
        [np.float32(2), ep.Scalar(2, "float32"), ctypes.c_float(2)],
        ids=["numpy", "ours", "ctypes"],
    )
    def test_many_arguments_are_passed(self, place: Place, scalar: object) -> None:
        """More arguments than fit without an allocation."""
        count = 24
        names = ", ".join(f"float a{i}" for i in range(count))
        total = " + ".join(f"a{i}" for i in range(count))
        source = f"__kernel void sum(__global float *out, {names}) {{ out[0] = {total}; }}"
        out = place.empty(1, "float32")
        ep.Program(source, ep.device("opencl:cpu")).kernel("sum")[1](out, *[scalar] * count).wait()
        assert out.copy_to_host().numpy()[0] == 2 * count

    def test_struct_is_passed_by_value(self, program: ep.Program, place: Place) -> None:
        class Recipe(ctypes.Structure):
            _fields_ = (("add", ctypes.c_int), ("times", ctypes.c_short))

        data = place.empty(8, "int32")
        ep.fill(data, 5)
        program.kernel("cook")[8](data, Recipe(2, 3))
        assert (data.copy_to_host().numpy() == 21).all()

    def test_local_memory_is_shared_within_a_group(self, program: ep.Program, place: Place) -> None:
        data = place.empty(64, "int32")
        ep.copy(data, np.arange(64, dtype="int32"))
        program.kernel("reverse_groups")[64, 8](data, ep.LocalMemory(8, "int32"))
        expected = np.arange(64).reshape(8, 8)[:, ::-1].ravel()
        np.testing.assert_array_equal(data.copy_to_host().numpy(), expected)

    def test_last_dimension_is_the_fastest(self, program: ep.Program, place: Place) -> None:
        out = place.empty((2, 3, 4), "int32")
        program.kernel("ids")[(2, 3, 4), None](out, ctypes.c_int(3), ep.Scalar(4, "int32"))
        np.testing.assert_array_equal(out.copy_to_host().numpy().ravel(), np.arange(24))

    @pytest.mark.parametrize("shape", [(8,), ()], ids=["1-d", "0-d"])
    def test_numpy_array_is_passed_without_copy(
        self, program: ep.Program, place: Place, shape: tuple[int, ...]
    ) -> None:
        x, y = np.full(shape, 5, "float32"), place.empty(8, "float32")
        ep.fill(y, 1)
        program.kernel("axpy")[max(x.size, 1)](y, x, np.float32(2)).wait()
        assert y.copy_to_host().numpy()[0] == 11
        program.kernel("axpy")[1](x, y, np.float32(1)).wait()
        assert x.flat[0] == 16, "the kernel writes to the array itself"


def test_kernel_call_without_a_range_is_refused(program: ep.Program) -> None:
    out = ep.zeros(2, "int32", device="opencl:cpu")
    with pytest.raises(
        TypeError,
        match=r"launch: the kernel slow was called without a range, .*: kernel\[global, "
        r"local\]\(arguments",
    ):
        program.kernel("slow")(out, ep.Scalar(1, "int64"))


@pytest.mark.alone
class TestOrder:
    def test_reader_on_other_queue_waits(self, program: ep.Program) -> None:
        device = ep.device("opencl:cpu")
        first, second = ep.Queue(device), ep.Queue(device)
        data = ep.zeros(2, "int32", kind="device", queue=first)
        out = ep.zeros(2, "int32", kind="device", queue=second)
        started = time.perf_counter()
        done = program.kernel("slow")[1](data, ep.Scalar(400_000_000, "int64"), queue=first)
        ep.copy(out, data, queue=second)
        submitted = time.perf_counter() - started
        assert not done.done, "the kernel must be slow enough for the test to mean anything"
        assert out.copy_to_host().numpy()[0] == 42
        assert submitted < 0.1, "handing over work must not wait for it"

    def test_host_access_waits_for_kernel(self, program: ep.Program) -> None:
        data = ep.zeros(2, "int32", device="opencl:cpu", kind="shared")
        program.kernel("slow")[1](data, ep.Scalar(400_000_000, "int64"))
        assert data.numpy()[0] == 42

    def test_event_is_done_when_its_kernel_is(self, program) -> None:
        """Also if its event is recorded late, just before the next work."""
        data = ep.zeros(2, "int32", device="opencl:cpu")
        slow = program.kernel("slow")[1]
        for again in (
            lambda: slow(data, ep.Scalar(400_000_000, "int64")),
            lambda: ep.fill(data, 3),
        ):
            first = slow(data, ep.Scalar(10_000_000, "int64"))
            slow(data, ep.Scalar(400_000_000, "int64"))
            second = again()
            first.wait()
            assert first.done
            assert not second.done
            second.wait()

    def test_memory_dropped_while_a_kernel_uses_it(self, program: ep.Program) -> None:
        data = ep.zeros(2, "int32", device="opencl:cpu", kind="device")
        queue = data.queue
        done = program.kernel("slow")[1](data, ep.Scalar(400_000_000, "int64"))
        started = time.perf_counter()
        del data
        assert time.perf_counter() - started < 0.05, "the release must not wait for the kernel"
        assert not done.done
        other = ep.zeros(2, "int32", kind="device", queue=ep.Queue(queue.device))
        assert other.copy_to_host().numpy().tolist() == [0, 0]
        done.wait()


class TestRefusals:
    def test_unknown_keyword_is_refused(self, program: ep.Program) -> None:
        with pytest.raises(
            TypeError,
            match=r"launch\(\) got an unexpected keyword argument 'stream'; it takes queue",
        ):
            program.kernel("slow")[1](stream=1)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="keywords must be strings"):
            program.kernel("slow")[1](**{1: 2})  # type: ignore[arg-type]

    def test_uninitialized_kernel_is_refused(self) -> None:
        with pytest.raises(TypeError, match="this Kernel was never made"):
            ep.Kernel.__new__(ep.Kernel)[4]

    def test_scalar_of_unsupported_dtype_is_refused(self, program: ep.Program) -> None:
        with pytest.raises(ep.ExchangeError, match="M8"):
            program.kernel("slow")[1](
                ep.zeros(2, "int32", device="opencl:cpu"), np.datetime64("2026-11-21")
            )

    def test_scalar_without_type_is_refused(self, program: ep.Program) -> None:
        with pytest.raises(TypeError, match="does not say its type"):
            program.kernel("slow")[1](ep.zeros(2, "int32", device="opencl:cpu"), 3)

    def test_memory_of_other_context_is_refused(self, program: ep.Program) -> None:
        part = ep.device("opencl:cpu").sub_devices(equally=1)[0]
        stranger = ep.empty(
            8, "float32", kind="device", queue=ep.Queue(part, context=ep.Context([part]))
        )
        with pytest.raises(ep.KernelError, match=r"argument 1.*compute follows data"):
            program.kernel("axpy")[8](
                ep.zeros(8, "float32", device="opencl:cpu"), stranger, np.float32(1)
            )

    @pytest.mark.parametrize("count", [0, 2, 4])
    def test_wrong_number_of_arguments_is_refused(self, program: ep.Program, count: int) -> None:
        y = ep.zeros(8, "float32", device="opencl:cpu")
        with pytest.raises((ep.KernelError, ValueError), match="argument"):
            program.kernel("axpy")[8](*[y] * count, queue=y.queue)

    @pytest.mark.parametrize("index", [(), (8, 4, 2), ((8, 8), 4), (1, 2, 3, 4)])
    def test_malformed_range_is_refused(self, program: ep.Program, index: object) -> None:
        with pytest.raises((TypeError, ValueError)):
            program.kernel("axpy")[index]

    @pytest.mark.parametrize("extents", [(2**32, 2**32), (2**62, 2**62, 4)])
    def test_uncountable_range_is_refused(
        self, program: ep.Program, extents: tuple[int, ...]
    ) -> None:
        with pytest.raises(ep.KernelError, match=r"2\*\*64 work-items or more"):
            program.kernel("axpy")[extents, None](
                *[ep.zeros(4, "float32", device="opencl:cpu")] * 2, np.float32(1)
            )

    def test_local_size_that_does_not_divide_is_refused(self, program: ep.Program) -> None:
        y = ep.zeros(10, "float32", device="opencl:cpu")
        with pytest.raises((ep.KernelError, ValueError), match=r"10.*4|4.*10"):
            program.kernel("axpy")[10, 4](y, y, np.float32(1))

    def test_scalar_of_other_size_is_refused(self, program: ep.Program) -> None:
        y = ep.zeros(8, "float32", device="opencl:cpu")
        with pytest.raises(ep.KernelError, match=r"values of other sizes.*8 \(argument 2\)"):
            program.kernel("axpy")[8](y, y, np.float64(1))
        program.kernel("axpy")[8](y, y, np.float32(1)).wait()

    def test_program_without_kernels_is_refused(self) -> None:
        with pytest.raises(ep.KernelError, match="it has none"):
            ep.Program("void f() {}", "opencl:cpu").kernel("f")

    def test_unknown_kernel_is_refused(self, program: ep.Program) -> None:
        with pytest.raises(ep.KernelError, match="nothing"):
            program.kernel("nothing")

    def test_source_that_does_not_compile_is_refused(self) -> None:
        with pytest.raises(ep.KernelError, match=r"undeclared|error"):
            ep.Program(
                "__kernel void f(__global int *p) { p[0] = nonsense; }", ep.device("opencl:cpu")
            )

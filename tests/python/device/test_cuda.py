"""CUDA devices in Python: forms of programs, ranges, order, and other users of CUDA."""

from __future__ import annotations

import ctypes
import sys
import threading
import time

import pytest

import entrepot as ep
from support.cuda_streams import has_clusters
from support.places import values_of
from support.processes import entrepot, output_of

np = pytest.importorskip("numpy")
pytestmark = [pytest.mark.cuda, pytest.mark.numpy]

SOURCE = """
extern "C" __global__ void axpy(float *y, const float *x, float a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] += a * x[i];
}
extern "C" __global__ void places(int *out) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    out[y * gridDim.x * blockDim.x + x] = 1000 * y + x;
}
struct Recipe { int add; short times; };
extern "C" __global__ void cook(int *data, Recipe recipe) {
    data[threadIdx.x] = (data[threadIdx.x] + recipe.add) * recipe.times;
}
extern "C" __global__ void reverse_groups(int *data) {
    extern __shared__ int scratch[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    scratch[threadIdx.x] = data[i];
    __syncthreads();
    data[i] = scratch[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void slow(int *data, long long turns) {
    unsigned x = 1;
    for (long long i = 0; i < turns; ++i) x = x * 1664525 + 1013904223;
    data[1] = x;
    data[0] = 42;
}
template <class T> __global__ void square(T *x) { x[threadIdx.x] *= x[threadIdx.x]; }
"""
KINDS = ("host", "device", "shared")


@pytest.fixture(scope="module")
def program() -> ep.Program:
    return ep.Program(SOURCE, "cuda:0")


def moved(values: object, kind: str = "device") -> ep.Array:
    source = np.asarray(values)
    array = ep.empty(source.shape, source.dtype, device="cuda:0", kind=kind)
    ep.copy(array, source).wait()
    return array


class TestDevice:
    def test_device_matches_its_selector(self):
        device = ep.device("cuda:0")
        assert str(device) == "cuda:0"
        assert (device.backend, device.device_type, device.vendor) == ("cuda", "gpu", "NVIDIA")
        assert device.global_mem_size > 1 << 30
        assert device.can_access(device)
        assert device.partitions == []

    def test_devices_command_lists_cuda(self):
        done = entrepot("devices", check=True)
        assert "cuda:0" in done.stdout
        assert "libcuda.so" in done.stdout


@pytest.mark.parametrize("kind", KINDS)
class TestLaunch:
    def test_arrays_and_a_scalar(self, program, kind):
        y, x = moved(np.ones(64, "float32"), kind), moved(np.arange(64, dtype="float32"), kind)
        program.kernel("axpy")[64, 16](y, x, np.float32(2)).wait()
        np.testing.assert_array_equal(values_of(y), 1 + 2 * np.arange(64, dtype="float32"))

    def test_struct_is_passed_by_value(self, program, kind):
        class Recipe(ctypes.Structure):
            _fields_ = (("add", ctypes.c_int), ("times", ctypes.c_short))

        data = moved(np.arange(8, dtype="int32"), kind)
        program.kernel("cook")[8, 8](data, Recipe(3, -2)).wait()
        np.testing.assert_array_equal(values_of(data), (np.arange(8) + 3) * -2)

    def test_local_memory_is_shared_within_a_group(self, program, kind):
        data = moved(np.arange(8, dtype="int32"), kind)
        program.kernel("reverse_groups")[8, 4](data, ep.LocalMemory(4, "int32")).wait()
        assert values_of(data).tolist() == [3, 2, 1, 0, 7, 6, 5, 4]

    def test_template_instance_is_found_by_name(self, program, kind):
        data = moved(np.arange(4, dtype="float64"), kind)
        program.kernel("square<double>")[4](data).wait()
        assert values_of(data).tolist() == [0, 1, 4, 9]


class TestRange:
    @pytest.mark.parametrize("local", [None, (1, 1), (2, 3), (6, 9)])
    def test_global_size_is_in_work_items_with_the_last_axis_fastest(self, program, local):
        out = ep.zeros((6, 9), "int32", device="cuda:0")
        program.kernel("places")[(6, 9), local](out).wait()
        rows, columns = np.indices((6, 9))
        np.testing.assert_array_equal(values_of(out), 1000 * rows + columns)

    def test_range_matches_host_backend(self, program):
        host = ep.Program(
            """extern "C" void places(const long long *range, void *const *arguments) {
                   int *out = (int *)arguments[0];
                   for (long long i = range[10]; i < range[11]; ++i)
                       out[i] = 1000 * (int)(i / range[2]) + (int)(i % range[2]);
               }""",
            "host",
        )
        there, here = (
            ep.zeros((4, 10), "int32", device="cuda:0"),
            ep.zeros((4, 10), "int32", device="host"),
        )
        program.kernel("places")[(4, 10), None](there).wait()
        host.kernel("places")[(4, 10), None](here).wait()
        np.testing.assert_array_equal(values_of(there), values_of(here))

    def test_groups_that_do_not_divide_are_refused(self, program):
        with pytest.raises(ep.KernelError, match="do not divide"):
            program.kernel("places")[(6, 9), (4, 3)](ep.zeros((6, 9), "int32", device="cuda:0"))

    def test_cooperation_is_refused_where_it_is_impossible(self, program):
        kernel, out = program.kernel("places"), ep.zeros((1000, 1024), "int32", device="cuda:0")
        with pytest.raises(ep.KernelError, match="at once"):
            kernel[(60000, 1024), (1, 1024)](out, cooperative=True)
        with pytest.raises(ValueError, match="cluster"):
            kernel[(6, 8), (1, 1)](out, cluster=(2,))
        source = 'extern "C" void f(const long long *range, void *const *arguments) {}'
        on_host = ep.Program(source, "host").kernel("f")
        with pytest.raises(ep.DeviceError, match="no clusters"):
            on_host[4](cluster=(2,))
        with pytest.raises(ep.KernelError, match="has 300 work-groups, and host runs 256"):
            on_host[300](cooperative=True)

    def test_cooperative_groups_synchronize(self, program):
        out = ep.zeros((2, 64), "int32", device="cuda:0")
        program.kernel("places")[(2, 64), (1, 32)](out, cooperative=True).wait()
        assert values_of(out)[1, 63] == 1063

    def test_groups_have_the_requested_cluster_size(self):
        source = """extern "C" __global__ void rank(unsigned *out) {
            unsigned rank = 0, size = 0;
        #if __CUDA_ARCH__ >= 900
            asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
            asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
        #endif
            out[2 * blockIdx.x] = rank;
            out[2 * blockIdx.x + 1] = size;
        }"""
        kernel, out = (
            ep.Program(source, "cuda:0").kernel("rank"),
            ep.zeros((16, 2), "uint32", device="cuda:0"),
        )
        launch = kernel[16 * 32, 32]
        if not has_clusters():
            with pytest.raises(ep.KernelError, match="cluster"):
                launch(out, cluster=4)
            return
        for cluster, size in ((4, 4), ((2,), 2)):
            launch(out, cluster=cluster).wait()
            assert values_of(out).tolist() == [[group % size, size] for group in range(16)]
        with pytest.raises(ep.KernelError):
            launch(out, cluster=3)


class TestProgram:
    def test_kernels_are_described(self, program):
        kernel = program.kernel("axpy")
        assert kernel.num_registers > 0
        assert kernel.work_group_size >= 256
        assert kernel.num_arguments is None
        assert program.dialect == "cuda"

    def test_error_of_refused_source_has_the_log(self):
        with pytest.raises(ep.KernelError, match=r"nonsense.*undefined"):
            ep.Program("__global__ void bad() { nonsense; }", "cuda:0")

    def test_missing_kernel_error_lists_existing_ones(self, program):
        with pytest.raises(ep.KernelError, match=r"no kernel \"thrice\"; it has: .*axpy"):
            program.kernel("thrice")

    def test_argument_of_other_size_is_refused(self, program):
        y = ep.zeros(4, "float32", device="cuda:0")
        with pytest.raises(ep.KernelError, match=r"argument 2 .* has 4 bytes, and 8 were given"):
            program.kernel("axpy")[4](y, y, np.float64(2))
        with pytest.raises(ep.KernelError, match="takes 3 arguments, and 1 were given"):
            program.kernel("axpy")[4](y)

    def test_ptx_is_a_dialect(self):
        ptx = """.version 7.0
        .target sm_70
        .address_size 64
        .visible .entry put(.param .u64 out, .param .u32 value) {
            .reg .b64 %a; .reg .b32 %v;
            ld.param.u64 %a, [out];
            ld.param.u32 %v, [value];
            st.global.u32 [%a], %v;
            ret;
        }"""
        out = ep.zeros(1, "int32", device="cuda:0")
        ep.Program(ptx, "cuda:0", dialect="ptx").kernel("put")[1](out, np.int32(7)).wait()
        assert values_of(out).tolist() == [7]


@pytest.mark.alone
class TestOrder:
    def test_launch_is_asynchronous_and_later_accesses_wait(self, program):
        data, other = ep.zeros(2, "int32", device="cuda:0"), ep.Queue("cuda:0")
        kernel = program.kernel("slow")
        kernel[1](data, np.int64(1)).wait()
        start = time.perf_counter()
        event = kernel[1](data, np.int64(200_000_000))
        copy = ep.zeros(2, "int32", device="cuda:0")
        ep.copy(copy, data, queue=other)
        assert time.perf_counter() - start < 0.1
        assert not event.done
        assert values_of(copy)[0] == 42
        assert event.done

    def test_events_have_times(self, program):
        queue = ep.Queue("cuda:0", profiling=True)
        data = ep.zeros(2, "int32", queue=queue)
        start = queue.record()
        program.kernel("slow")[1](data, np.int64(10_000_000), queue=queue)
        end = queue.record()
        end.wait()
        assert 1e-3 < start.seconds_until(end) < 10

    def test_threads_work_at_once(self, program):
        wrong = []

        def work(number: int) -> None:
            for _ in range(50):
                data = moved(np.full(100, number, "int32"))
                program.kernel("cook")[4, 4](data, (ctypes.c_int * 2)(number, 1))
                if values_of(data)[:5].tolist() != [2 * number] * 4 + [number]:
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def fresh(code: str) -> str:
    return output_of([sys.executable, "-c", code], timeout=120).strip()


class TestFork:
    def test_forked_child_is_refused(self):
        out = fresh(
            "import os, entrepot as ep\n"
            "queue = ep.Queue('cuda:0'); array = ep.zeros(4, 'int32', queue=queue); queue.wait()\n"
            "if os.fork() == 0:\n"
            "    for ask in (queue.wait, lambda: ep.zeros(4, 'int32', device='cuda:0'), lambda: "
            "array.copy_to_host()):\n"
            "        try: ask()\n"
            "        except ep.DeviceError as error: print('forked' in str(error), flush=True)\n"
            "    ep.zeros(4, 'int32', device='host'); os._exit(0)\n"
            "os.wait(); queue.wait(); print('the parent lives')"
        )
        assert out.splitlines() == ["True"] * 3 + ["the parent lives"]

    @pytest.mark.torch
    def test_forked_child_of_a_cuda_process_is_refused(self):
        out = fresh(
            "import os, torch; torch.zeros(4, device='cuda')\n"
            "import entrepot as ep\n"
            "if os.fork() == 0:\n"
            "    try: ep.device('cuda:0')\n"
            "    except ep.DeviceError as error: print('forked' in str(error), flush=True)\n"
            "    os._exit(0)\n"
            "os.wait()"
        )
        assert out == "True"


@pytest.mark.two_cuda
class TestTwoDevices:
    @pytest.mark.parametrize("kind", KINDS)
    def test_arrays_of_any_layout_move_between_devices(self, kind):
        numbers = np.arange(1000, dtype="float32")
        here = moved(numbers)
        there = here.to("cuda:1", kind=kind)
        assert (str(there.device), there.kind) == ("cuda:1", kind)
        np.testing.assert_array_equal(values_of(there), numbers)
        np.testing.assert_array_equal(values_of(there[::2].to("cuda:0")), numbers[::2])
        columns = ep.empty((500, 2), "float32", device="cuda:1", kind=kind)
        ep.copy(columns.T, here.reshape(2, 500)).wait()
        np.testing.assert_array_equal(values_of(columns), numbers.reshape(2, 500).T)

    def test_copy_waits_for_other_device(self, program):
        data = ep.zeros(2, "int32", device="cuda:0")
        program.kernel("slow")[1](data, np.int64(100_000_000))
        assert values_of(data.to("cuda:1"))[0] == 42

    def test_kernels_reach_a_peers_memory_or_are_refused(self, program):
        y, x = moved(np.ones(64, "float32")), ep.full(64, 5, "float32", device="cuda:1")
        launch = program.kernel("axpy")[64, 64]
        if ep.device("cuda:0").can_access(ep.device("cuda:1")):
            launch(y, x, np.float32(2)).wait()
            assert values_of(y).tolist() == [11] * 64
        else:
            with pytest.raises(ep.KernelError, match="compute follows data"):
                launch(y, x, np.float32(2))

    def test_devices_have_separate_pools(self):
        with ep.memory.use_resource(ep.memory.pool()) as pool:
            here, there = (ep.empty(1000, "uint8", device=f"cuda:{number}") for number in (0, 1))
            assert (str(here.device), str(there.device)) == ("cuda:0", "cuda:1")
            freed = there.data_ptr
            del there
            again = [ep.empty(1000, "uint8", device="cuda:0") for _ in range(64)]
            assert freed not in {array.data_ptr for array in again}, (
                "blocks of one device are not for the other"
            )
        assert pool is not None

    @pytest.mark.torch
    def test_current_device_of_caller_is_unchanged(self):
        import torch

        for current in (0, 1):
            with torch.cuda.device(current):
                for number in (0, 1):
                    ep.zeros(4, "int32", device=f"cuda:{number}").copy_to_host()
                    assert torch.cuda.current_device() == current


@pytest.mark.torch
class TestBesideTorch:
    def test_device_and_stream_of_torch_stay_current(self, program):
        import torch

        before = torch.zeros(4, device="cuda")
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            data = moved(np.arange(8, dtype="int32"))
            program.kernel("reverse_groups")[8, 4](data, ep.LocalMemory(4, "int32")).wait()
            assert torch.cuda.current_stream() == side
            assert torch.cuda.current_device() == 0
        assert (before + 1).sum().item() == 4


class TestWithoutCompiler:
    def test_strided_copies_and_fills_need_no_nvrtc(self):
        """Their kernels are shipped as PTX: a process that launches them has not opened NVRTC."""
        out = fresh(
            "import entrepot as ep, numpy as np\n"
            "numbers = np.arange(24, dtype='int32').reshape(4, 6)\n"
            "a, b = ep.empty((4, 6), 'int32', device='cuda:0'), ep.zeros((6, 4), 'int32', "
            "device='cuda:0')\n"
            "ep.copy(a, numbers).wait(); ep.copy(b, a.T).wait()\n"
            "assert (b.copy_to_host().numpy() == numbers.T).all()\n"
            "c = ep.zeros((3, 5, 7), 'complex128', device='cuda:0')\n"
            "ep.fill(c[::2, ::-2, 1:6:2], 3 + 4j).wait()\n"
            "assert c.copy_to_host().numpy().sum() == (3 + 4j) * 2 * 3 * 3\n"
            "print('nvrtc' in open('/proc/self/maps').read())"
        )
        assert out == "False"

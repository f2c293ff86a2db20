"""Entrepot as the allocator of CuPy and PyTorch: allocations, releases and refusals."""

from __future__ import annotations

import ctypes
import gc
import sys
import textwrap
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import entrepot as ep
from entrepot import _core, allocators, memory
from support.processes import output_of

MIB = 1 << 20


def run(source: str) -> str:
    """Standard output of a new process: a process chooses its allocator once."""
    return output_of([sys.executable, "-c", textwrap.dedent(source)])


@pytest.mark.host
class TestWithoutDevice:
    def test_allocator_functions_exist_in_the_library(self) -> None:
        library = ctypes.CDLL(allocators.library_path())
        assert getattr(library, allocators.MALLOC)
        assert getattr(library, allocators.FREE)
        getattr(library, allocators.FREE)(None, 0, 0, None)  # nothing, as C's free takes it

    def test_cupy_allocator_uses_its_stream(self, monkeypatch: pytest.MonkeyPatch) -> None:
        given: list[Any] = []
        stream = SimpleNamespace(ptr=77)
        allocated: list[tuple[Any, ...]] = []
        cuda = SimpleNamespace(
            get_current_stream=lambda: stream,
            PythonFunctionAllocator=lambda malloc, free: SimpleNamespace(malloc=malloc, free=free),
            set_allocator=given.append,
        )
        monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))

        def allocate(*arguments: Any) -> int:
            allocated.append(arguments)
            return 4096

        monkeypatch.setattr(_core, "_allocate_on_stream", allocate)
        ep.allocators.use_in_cupy()
        (malloc,) = given
        assert malloc(100, 1) == 4096
        assert allocated == [(100, 1, 77, stream)]

    def test_allocation_on_absent_device_is_refused(self) -> None:
        with pytest.raises(ep.DeviceError):
            _core._allocate_on_stream(100, 4711, 0, None)


@pytest.fixture
def numbers() -> Iterator[memory.statistics]:
    counted = memory.statistics(memory.pool())
    memory.set_resource("cuda:0", counted)
    yield counted
    memory.set_resource("cuda:0", None)


@pytest.fixture
def cupy(numbers: memory.statistics) -> Iterator[Any]:
    import cupy

    allocators.use_in_cupy()
    with cupy.cuda.Device(
        0
    ):  # PyTorch may have left another current, if the first one's context was not there yet
        yield cupy
    cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)
    gc.collect()


@pytest.mark.cuda
@pytest.mark.cupy
class TestCupy:
    def test_cupy_arrays_use_the_resource(self, cupy: Any, numbers: memory.statistics) -> None:
        array = cupy.arange(1000, dtype="float64")
        assert numbers.current_bytes >= 8000
        assert float((array * 2).sum()) == 999_000
        address = array.data.ptr
        del array
        assert numbers.current_bytes == 0
        assert cupy.empty(1000, "float64").data.ptr == address, (
            "the same block again, on the same stream"
        )

    def test_arrays_of_no_bytes(self, cupy: Any, numbers: memory.statistics) -> None:
        assert cupy.zeros((0, 3)).sum() == 0
        gc.collect()
        assert numbers.current_bytes == 0

    def test_cupy_respects_the_limit(self, cupy: Any) -> None:
        memory.set_resource("cuda:0", memory.limit(10 * MIB))
        kept = cupy.zeros(6 * MIB, "uint8")
        with pytest.raises(MemoryError, match="would exceed the limit"):
            cupy.zeros(6 * MIB, "uint8")
        assert int(kept.sum()) == 0

    def test_cupy_streams_reuse_blocks_in_order(self, cupy: Any) -> None:
        import numpy as np

        chance = np.random.default_rng(0)
        for round_ in range(60):
            stream = cupy.cuda.Stream(non_blocking=True) if round_ % 2 else cupy.cuda.Stream()
            with stream:
                host = chance.random(chance.integers(1, 300_000)).astype("float32")
                array = cupy.asarray(host)
                for _ in range(5):
                    array = array * 2 + 1
                expected = host
                for _ in range(5):
                    expected = expected * 2 + 1
                np.testing.assert_allclose(cupy.asnumpy(array), expected, rtol=1e-5)
            del array, stream

    def test_block_of_destroyed_stream_is_not_reused_early(self, cupy: Any) -> None:
        spin = cupy.RawKernel(
            'extern "C" __global__ void spin(unsigned char *p, long long n) '
            "{ long long s = clock64(); while (clock64() - s < n) {} p[0] = 7; }",
            "spin",
        )
        addresses = set()
        for _ in range(20):
            stream = cupy.cuda.Stream(non_blocking=True)
            with stream:
                array = cupy.zeros(MIB, "uint8")
                spin((1,), (1,), (array, 2_000_000))
                addresses.add(array.data.ptr)
                del array
            del stream
            gc.collect()
            other = cupy.cuda.Stream(non_blocking=True)
            with other:
                array = cupy.full(MIB, 9, "uint8")
                other.synchronize()
                cupy.cuda.Device().synchronize()
                assert int(array.min()) == 9, (
                    "work of a stream that was destroyed wrote into a block that was given again"
                )
                del array
            del other
        memory.trim()

    def test_block_of_per_thread_stream_waits_for_kernels(self, cupy: Any) -> None:
        spin = cupy.RawKernel(
            'extern "C" __global__ void spin(unsigned char *p, long long n) '
            "{ long long s = clock64(); while (clock64() - s < n) {} p[0] = 7; }",
            "spin",
        )
        others: list[int] = []

        def allocate() -> None:
            with cupy.cuda.Stream(non_blocking=True):
                kept = [cupy.empty(8 * MIB, "uint8") for _ in range(20)]
                others.extend(array.data.ptr for array in kept)

        with cupy.cuda.Stream.ptds as stream:
            array = cupy.zeros(8 * MIB, "uint8")
            spin((1,), (1,), (array, 1))
            stream.synchronize()
            spin((1,), (1,), (array, 1_000_000_000))
            address = array.data.ptr
            del array
            thread = threading.Thread(target=allocate)
            thread.start()
            thread.join()
            assert not stream.done, "the kernel must be slow enough for a test to mean anything"
            stream.synchronize()
        assert all(abs(other - address) >= 8 * MIB for other in others)

    def test_cupy_arrays_on_eight_threads_keep_their_values(self, cupy: Any) -> None:
        failures: list[BaseException] = []

        def work(value: int) -> None:
            try:
                with cupy.cuda.Stream(non_blocking=True) as stream:
                    for size in range(1, 60):
                        array = cupy.full(size * 1000, value, "int32")
                        assert int(array.sum()) == value * size * 1000
                    stream.synchronize()
                del stream  # before the array, which was made on it
            except BaseException as error:
                failures.append(error)

        for size in range(
            1, 60
        ):  # sizes have kernels of their own: compiled once, and not by every thread
            cupy.full(size * 1000, 1, "int32").sum()
        threads = [threading.Thread(target=work, args=(value,)) for value in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not failures

    def test_per_thread_default_streams(self) -> None:
        run(
            """
            import os
            os.environ["CUPY_CUDA_PER_THREAD_DEFAULT_STREAM"] = "1"
            import threading
            import cupy, entrepot as ep
            from entrepot import memory
            numbers = memory.statistics(memory.pool())
            memory.set_resource("cuda:0", numbers)
            ep.allocators.use_in_cupy()
            cupy.full(1000, 1, "int32").sum()  # compiled once, and not by every thread
            failures, passed = [], []
            def work(value):
                try:
                    for size in range(1, 80):
                        array = cupy.full(size * 1000, value, "int32")
                        assert int(array.sum()) == value * size * 1000
                        if size % 7 == 0:
                            passed.append(array)  # another thread lets it go
                except BaseException as error:
                    failures.append(error)
            threads = [threading.Thread(target=work, args=(value,)) for value in range(6)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            assert not failures, failures
            del passed[:]
            assert int(cupy.ones(10).sum()) == 10
            memory.trim()
            assert numbers.current_bytes == 0, "blocks of threads that have ended"
            """
        )


TORCH = """
    import torch, entrepot as ep
    from entrepot import memory
    numbers = memory.statistics(memory.pool())
    memory.set_resource("cuda:0", numbers)
    ep.allocators.use_in_torch()
"""


@pytest.mark.cuda
@pytest.mark.torch
class TestTorch:
    def test_torch_tensors_use_the_resource(self) -> None:
        run(
            TORCH
            + """
    tensor = torch.arange(1000, device="cuda", dtype=torch.float64)
    assert numbers.current_bytes >= 8000, numbers.current_bytes
    assert float((tensor * 2).sum()) == 999000
    address, count = tensor.data_ptr(), numbers.current_count
    del tensor
    assert numbers.current_count < count
    assert torch.empty(1000, device="cuda", dtype=torch.float64).data_ptr() == address
            """
        )

    def test_network_trains_with_entrepot_memory(self) -> None:
        run(
            TORCH
            + """
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 1)
    ).cuda()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    losses = []
    for step in range(100):
        x = torch.randn(128 + 16 * (step % 5), 64, device="cuda")
        loss = ((net(x) - x.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2, losses[::10]
    assert numbers.total_count > 1000
            """
        )

    def test_out_of_memory_has_the_message_of_entrepot(self) -> None:
        run(
            TORCH
            + """
    memory.set_resource("cuda:0", memory.limit(100 << 20))
    kept = torch.zeros(60 << 20, dtype=torch.uint8, device="cuda")
    try:
        torch.zeros(60 << 20, dtype=torch.uint8, device="cuda")
        raise SystemExit("was not refused")
    except (RuntimeError, MemoryError) as refusal:
        assert "would exceed the limit of 104857600 bytes" in str(refusal), refusal
    assert int(kept[0]) == 0
            """
        )

    def test_torch_tensors_on_dropped_streams_stay_correct(self) -> None:
        run(
            TORCH
            + """
    for _ in range(50):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            a = torch.full((1 << 20,), 3.0, device="cuda")
            for _ in range(10):
                a = a + 1
            stream.synchronize()
            assert float(a.min()) == float(a.max()) == 13
            """
        )

    @pytest.mark.cupy
    def test_libraries_share_one_pool(self) -> None:
        run(
            TORCH
            + """
    import cupy
    ep.allocators.use_in_cupy()
    a = torch.ones(1 << 20, device="cuda")
    b = cupy.ones(1 << 20, "float32")
    c = ep.full(1 << 20, 1, "float32", device="cuda:0")
    assert numbers.current_bytes >= 12 << 20
    ep.Queue("cuda:0").wait()
    torch.cuda.synchronize()
    del a, b, c
    assert numbers.current_bytes == 0, numbers
            """
        )

    def test_use_in_torch_after_an_allocation_is_refused(self) -> None:
        run(
            """
            import torch, entrepot as ep
            torch.ones(1, device="cuda")
            try:
                ep.allocators.use_in_torch()
                raise SystemExit("was not refused")
            except RuntimeError:
                pass
            """
        )


@pytest.mark.two_cuda
class TestSecondDevice:
    """Each device has a resource of its own, which serves its allocations, whichever device is
    current."""

    @pytest.fixture
    def there(self) -> Iterator[memory.statistics]:
        counted = memory.statistics(memory.pool())
        memory.set_resource("cuda:1", counted)
        yield counted
        memory.set_resource("cuda:1", None)

    @pytest.mark.cupy
    def test_cupy_uses_the_resource_of_second_device(
        self, cupy: Any, numbers: memory.statistics, there: memory.statistics
    ) -> None:
        with cupy.cuda.Device(1):
            array = cupy.arange(1000, dtype="float64")
            assert there.current_bytes >= 8000
            assert numbers.current_bytes == 0
            assert float((array * 2).sum()) == 999_000
            address = array.data.ptr
        assert str(ep.asarray(array).device) == "cuda:1"
        here = cupy.arange(1000)
        assert numbers.current_bytes >= 8000
        del array  # while the other device is current
        assert there.current_bytes == 0
        with cupy.cuda.Device(1):
            assert cupy.empty(1000, "float64").data.ptr == address, (
                "the same block again, on the same stream"
            )
        assert int(here.sum()) == 499_500

    @pytest.mark.cupy
    def test_cupy_streams_on_second_device_release_memory(
        self, cupy: Any, there: memory.statistics
    ) -> None:
        with cupy.cuda.Device(1):
            for value in range(20):
                with cupy.cuda.Stream(non_blocking=True) as stream:
                    array = cupy.full(100_000, value, "int32")
                    stream.synchronize()
                    assert int(array.sum()) == 100_000 * value
                del array, stream
        gc.collect()
        memory.trim()
        assert there.current_bytes == 0

    @pytest.mark.torch
    def test_torch_uses_the_resource_of_second_device(self) -> None:
        run(
            """
            import torch, entrepot as ep
            from entrepot import memory
            here, there = memory.statistics(memory.pool()), memory.statistics(memory.pool())
            memory.set_resource("cuda:0", here)
            memory.set_resource("cuda:1", there)
            ep.allocators.use_in_torch()
            tensor = torch.arange(1000, device="cuda:1", dtype=torch.float64)
            assert torch.cuda.current_device() == 0
            assert there.current_bytes >= 8000, there.current_bytes
            assert here.current_bytes == 0, here.current_bytes
            assert float((tensor * 2).sum()) == 999000
            assert str(ep.asarray(tensor).device) == "cuda:1"
            count = there.current_count
            del tensor
            assert there.current_count < count
            """
        )

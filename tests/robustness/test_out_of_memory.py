"""Out of memory: caches are reclaimed first, then the request fails with its size and the
available bytes; all works afterwards."""

from __future__ import annotations

import gc
import pickle
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

import entrepot as ep
from entrepot import _core, memory
from support.places import HOST, SYCL, Place, every_place
from support.polling import eventually_equal
from support.processes import output_of, run

pytestmark = [pytest.mark.host, pytest.mark.numpy]

MIB = 1 << 20


@pytest.fixture
def limit() -> Iterator[memory.limit]:
    """At most 8 MiB, under a pool; all of it must be released."""
    limit = memory.limit(8 * MIB, memory.direct())
    with memory.use_resource(memory.pool(limit)):
        yield limit
    assert eventually_equal(lambda: limit.used_bytes, 0), limit


def works(place: Place) -> bool:
    array = place.empty(1000, "int32")
    ep.fill(array, 3)
    return set(array.to("host").numpy().tolist()) == {3}


class TestLimit:
    @every_place
    def test_limit_error_has_both_sizes(self, place: Place, limit: memory.limit) -> None:
        kept = [place.empty(3 * MIB, "uint8"), place.empty(3 * MIB, "uint8")]
        for _ in range(3):
            with pytest.raises(ep.USMAllocationError) as refused:
                place.empty(4 * MIB, "uint8")
        words = str(refused.value)
        assert isinstance(refused.value, MemoryError)
        assert f"{4 * MIB} bytes" in words, "what was asked for"
        assert f"limit is {8 * MIB} bytes" in words, "what there is"
        assert place.kind in words
        del kept, refused
        gc.collect()
        assert works(place)
        place.empty(4 * MIB, "uint8")

    @every_place
    def test_cached_memory_is_reclaimed_first(self, place: Place, limit: memory.limit) -> None:
        for size in (6, 5, 7, 3, 8):
            array = place.empty(size * MIB, "uint8")
            ep.fill(array, 1)
            array.queue.wait()
            del array
        assert limit.used_bytes <= limit.limit

    @every_place
    def test_cached_memory_of_another_pool_is_reclaimed(
        self, place: Place, limit: memory.limit
    ) -> None:
        other = memory.pool(limit)
        with memory.use_resource(other):
            array = place.empty(6 * MIB, "uint8")
            array.queue.wait()
            del array
            assert other.cached_bytes == 6 * MIB
        place.empty(6 * MIB, "uint8")
        assert other.cached_bytes == 0

    @pytest.mark.sycl
    @pytest.mark.parametrize("place", SYCL, ids=str)
    def test_memory_in_use_by_a_kernel_is_waited_for(
        self, place: Place, limit: memory.limit
    ) -> None:
        from support.opencl_kernels import launch

        array = place.empty(6 * MIB, "uint8")
        done = launch("slow", array.view("int64"), seconds=0.3, queue=ep.Queue(place.device))
        del array
        place.empty(6 * MIB, "uint8")
        assert done.done or place.kind == "device", (
            "only there may the next owner's queue do the waiting"
        )

    @pytest.mark.sycl
    @pytest.mark.parametrize(
        "ask",
        [
            lambda big: ep.zeros(9 * MIB, "uint8", device="opencl:cpu"),
            lambda big: ep.full((3, 3 * MIB), 1, "uint8", device="host"),
            lambda big: big.to("opencl:cpu"),
            lambda big: big.to("opencl:cpu", kind="shared"),
            lambda big: ep.asarray(big, copy=True),
            lambda big: ep.asarray(memoryview(big), copy=True),
            lambda big: ep.asarray(memoryview(big), copy=True, device="opencl:cpu"),
            lambda big: big[::-1].copy_to_host(),
            lambda big: big.__dlpack__(copy=True),
            lambda big: big.__dlpack__(
                dl_device=ep.zeros(1, "uint8", device="opencl:cpu").__dlpack_device__(), copy=True
            ),
            lambda big: memory.MemoryUSMShared(9 * MIB),
            lambda big: memory.MemoryUSMDevice(9 * MIB, alignment=4096),
        ],
    )
    def test_failed_allocation_leaves_devices_working(
        self, ask: Callable[[ep.Array], object], limit: memory.limit
    ) -> None:
        big = ep.asarray(bytearray(9 * MIB))
        for _ in range(2):
            with pytest.raises(ep.USMAllocationError, match=str(9 * MIB)):
                ask(big)
        assert works(HOST)
        assert works(SYCL[2])

    @pytest.mark.sycl
    def test_unpickling_beyond_limit_is_refused(self, limit: memory.limit) -> None:
        kept = memory.MemoryUSMShared(5 * MIB)
        words = pickle.dumps(kept)
        with pytest.raises(ep.USMAllocationError, match=str(5 * MIB)):
            pickle.loads(words)
        del kept
        assert pickle.loads(words).nbytes == 5 * MIB


class TestDriver:
    @every_place
    @pytest.mark.parametrize("bytes_asked", [1 << 45, 1 << 62], ids=["2**45", "2**62"])
    def test_size_beyond_memory_is_an_allocation_error(
        self, place: Place, bytes_asked: int
    ) -> None:
        for _ in range(2):
            with pytest.raises(ep.USMAllocationError) as refused:
                place.empty(bytes_asked, "uint8")
        assert f"{bytes_asked} bytes" in str(refused.value)
        assert works(place)

    @every_place
    def test_size_overflow_is_refused(self, place: Place) -> None:
        for shape in ((1 << 62, 4), (1 << 40, 1 << 40), (1 << 63,)):
            with pytest.raises((OverflowError, ValueError, ep.USMAllocationError)):
                place.empty(shape, "float64")
        assert works(place)

    def test_failed_malloc_is_an_allocation_error(self) -> None:
        """A full address space: malloc itself fails."""
        program = """
            import resource
            import entrepot as ep
            import numpy
            from entrepot import memory

            # By all threads of the host, whose stacks take address space.
            ep.zeros(24 << 20, "uint8", device="host")
            used = int(open("/proc/self/statm").read().split()[0]) * 4096
            resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), resource.RLIM_INFINITY))
            kept, refused = [], 0
            while refused < 5:
                try:
                    kept.append(ep.zeros(24 << 20, "uint8", device="host"))
                except ep.USMAllocationError as error:
                    assert str(24 << 20) in str(error), error
                    refused += 1
            assert 3 < len(kept) < 12, len(kept)
            kept.clear()
            assert ep.full(24 << 20, 7, "uint8", device="host").numpy()[-1] == 7
        """
        assert run(program) == ""


class TestPrivateMemory:
    """Private memory of a kernel on the host is a block of the thread that runs it. Here it cannot
    be allocated: it exceeds the 64 MiB of address space that malloc sets aside for a thread."""

    PRELUDE = '''
        import resource
        import entrepot as ep

        big = ep.Program("""
            extern "C" const long long big_private = 16384;
            extern "C" const int big_arguments = 0;
            extern "C" void big(const long long *, void *const *blocks) {
                *(volatile char *)blocks[0] = 1;
            }
        """, "host").kernel("big")

        def refused(launch):
            used = int(open("/proc/self/statm").read().split()[0]) * 4096
            before = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (used + (4 << 20), before[1]))
            try:
                launch()
            except (ep.DeviceError, MemoryError) as error:
                return f"{16384 * 4096} bytes of local and private memory" in str(error)
            finally:
                resource.setrlimit(resource.RLIMIT_AS, before)
    '''

    def test_smaller_launch_succeeds_after_failure(self) -> None:
        program = """
            for _ in range(20):
                big[2048, 2048]().wait()  # quick, so that the caller's thread runs the next one
            print(refused(lambda: big[4096, 4096]().wait()))
            big[1024, 1024]().wait()
        """
        assert run(dedent(self.PRELUDE) + dedent(program)) == "True"

    def test_refusal_on_a_thread_reaches_the_waiter(self) -> None:
        program = """
            big[1, 1]().wait()  # starts a thread, and says that 4096 work-items are not quick
            print(refused(lambda: big[4096, 4096]().wait()))
            big[1024, 1024]().wait()
        """
        assert run(dedent(self.PRELUDE) + dedent(program)) == "True"


def test_exception_does_not_cross_the_c_interface(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(*command: str) -> str:
        return output_of([*command, _core.__file__])

    if "libstdc++" not in told("readelf", "-d"):
        pytest.skip(
            "the extension was linked with a C++ runtime of its own, whose operator new[] no "
            "other takes the place of"
        )
    assert "_Znam" in told("nm", "-D", "--undefined-only"), "what fails here is an operator new[]"
    library = tmp_path / "no_memory.so"
    source = Path(__file__).with_name("no_memory.cpp")
    subprocess.run(["c++", "-shared", "-fPIC", "-o", library, source], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    program = """
        import ctypes
        import entrepot as ep
        from support.c_interface import c_interface

        table = c_interface()
        handle = table.from_object(ep.zeros((1, 2, 3, 4, 5), "uint8", device="host"), 0)
        fail_new = ctypes.CDLL(None).fail_new
        fail_new(1)
        try:
            table.to_object(handle)
        except MemoryError:
            fail_new(0)
            print(table.to_object(handle).shape)
    """
    assert run(program) == "(1, 2, 3, 4, 5)"

"""Effects after the call: errors of work, memory freed while in use, deleters on any thread."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import entrepot as ep
from entrepot import memory
from support.c_interface import c_interface
from support.capsules import rename
from support.malformed import Speaker
from support.opencl_kernels import launch
from support.places import SYCL, Place
from support.polling import eventually_equal
from support.processes import output_of
from support.tables import Table, table_of
from support.tensors import DLDataType, DLDevice, DLTensor, Versioned, content

pytestmark = pytest.mark.sycl

REPOSITORY = Path(__file__).parents[2]


# ---------------------------------------------------------------- errors


@pytest.fixture(scope="module")
def failing_work(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    tool = [sys.executable, REPOSITORY / "cmake" / "sycl_prefix.py"]
    prefix = output_of(tool).strip()
    if not prefix:
        pytest.skip("the SYCL headers are not installed: pip install intel-sycl-rt")
    ep.devices()  # so that the library finds the runtime that is there
    library = tmp_path_factory.mktemp("failing") / "failing_work.so"
    subprocess.run(
        [
            *(
                "c++",
                "-std=c++17",
                "-shared",
                "-fPIC",
                "-w",
                "-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING",
            ),
            *(f"-I{prefix}/include", f"-I{prefix}/include/sycl", f"-L{prefix}/lib"),
            *("-o", library, Path(__file__).with_name("failing_work.cpp"), "-lsycl"),
        ],
        check=True,
    )
    return ctypes.CDLL(str(library))


@pytest.fixture
def fail_later(failing_work: ctypes.CDLL) -> Callable[[ep.Queue, str], None]:
    """Submits work that will fail with the given words."""
    return submission(failing_work.fail_later)


@pytest.fixture
def fail_at_once(failing_work: ctypes.CDLL) -> Callable[[ep.Queue, str], None]:
    """Submits work that fails with the given words, and returns after the failure."""
    return submission(failing_work.fail_at_once)


def submission(function: Any) -> Callable[[ep.Queue, str], None]:
    function.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    return lambda queue, words: function(queue.addressof_ref(), words.encode())


class TestErrors:
    """The OpenCL CPU device itself reports nothing late: commands after a failed one still run."""

    def waits(self, queue: ep.Queue) -> dict[str, Callable[[], object]]:
        device = ep.zeros(1 << 20, "uint8", kind="device", queue=queue)
        shared = ep.zeros(1 << 20, "uint8", kind="shared", queue=queue)
        return {
            "queue.wait": queue.wait,
            "event.wait": lambda: queue.record().wait(),
            "copy_to_host": lambda: (ep.fill(device, 1), device.copy_to_host()),
            "memoryview": lambda: (ep.fill(shared, 1), memoryview(shared)),
            "numpy": lambda: (ep.fill(shared, 1), shared.numpy()),
        }

    def test_error_is_raised_once_at_next_wait(
        self, fail_later: Callable[[ep.Queue, str], None]
    ) -> None:
        queue = ep.Queue("opencl:cpu")
        for name, wait in self.waits(queue).items():
            queue.wait()
            fail_later(queue, f"the reactor is on fire: {name}")
            with pytest.raises(ep.DeviceError, match=f"the reactor is on fire: {name}"):
                wait()
                pytest.fail(f"{name} reported nothing")
            queue.wait()
            assert (
                memoryview(ep.full(4, 7, "uint8", kind="shared", queue=queue)).tolist() == [7] * 4
            )

    def test_error_is_not_raised_by_other_queue(
        self, fail_later: Callable[[ep.Queue, str], None]
    ) -> None:
        guilty, innocent = ep.Queue("opencl:cpu"), ep.Queue("opencl:cpu")
        fail_later(guilty, "mine")
        innocent.wait()
        with pytest.raises(ep.DeviceError, match="mine"):
            guilty.wait()

    def test_unobserved_queue_error_is_dropped(
        self, fail_at_once: Callable[[ep.Queue, str], None]
    ) -> None:
        forgotten, remembered, other = (ep.Queue("opencl:cpu") for _ in range(3))
        for queue in (forgotten, forgotten, remembered):
            fail_at_once(queue, "lost")
        del forgotten, queue
        gc.collect()
        other.wait()
        ep.Queue("opencl:cpu").wait()
        with pytest.raises(ep.DeviceError, match="lost"):
            remembered.wait()

    def test_several_errors_are_raised_once(
        self, fail_later: Callable[[ep.Queue, str], None]
    ) -> None:
        queue = ep.Queue("opencl:cpu")
        for number in range(5):
            fail_later(queue, f"number {number}")
        with pytest.raises(ep.DeviceError, match="number"):
            queue.wait()
        queue.wait()

    def test_memory_of_failed_work_is_freed(
        self, fail_later: Callable[[ep.Queue, str], None]
    ) -> None:
        statistics = memory.statistics(memory.direct())
        queue = ep.Queue("opencl:cpu")
        with memory.use_resource(statistics):
            array = ep.zeros(1000, "uint8", kind="device", queue=queue)
        fail_later(queue, "again")
        ep.fill(array, 2)
        del array
        with pytest.raises(ep.DeviceError, match="again"):
            queue.wait()
        assert statistics.current_bytes == 0


# -------------------- memory dropped while a kernel uses it

every_place = pytest.mark.parametrize("place", SYCL, ids=str)
SOON = 0.05  # seconds; a free that waits takes as long as the kernel
RESOURCES = pytest.mark.parametrize(
    "make_resource",
    [
        pytest.param(memory.direct, id="direct"),
        pytest.param(lambda: memory.pool(memory.direct()), id="pool"),
    ],
)


def drop_soon(arrays: list[ep.Array]) -> None:
    begin = time.perf_counter()
    arrays.clear()
    assert time.perf_counter() - begin < SOON, "the release has waited"


def is_allocated(address: int) -> bool:
    """True if the driver knows the address as USM."""
    interface = {
        "shape": (1,),
        "typestr": "|u1",
        "data": (address, False),
        "version": 1,
        "syclobj": "opencl:cpu",
    }
    try:
        ep.asarray(Speaker("__sycl_usm_array_interface__", interface))
    except ep.InterfaceError:
        return False
    return True


@pytest.mark.alone
class TestDropped:
    @RESOURCES
    @every_place
    def test_drop_returns_and_memory_is_freed_later(
        self, place: Place, make_resource: Callable[[], memory.Resource]
    ) -> None:
        queue = ep.Queue(place.device)
        statistics = memory.statistics(make_resource())
        with memory.use_resource(statistics):
            arrays = [place.empty(1 << 20, "int32")]
        address = arrays[0].__sycl_usm_array_interface__["data"][0]
        done = launch("slow", arrays[0], seconds=1, queue=queue)
        drop_soon(arrays)
        memory.trim()
        assert not done.done, "nor does trimming wait"
        assert is_allocated(address), "it was freed under the kernel"
        assert statistics.current_bytes == 0, "it is still counted as owned"
        done.wait()
        assert eventually_equal(lambda: is_allocated(address), False)

    @RESOURCES
    @every_place
    def test_memory_used_indirectly_is_freed_after_kernel(
        self, place: Place, make_resource: Callable[[], memory.Resource]
    ) -> None:
        """The kernel reads the address from memory; it is not an argument."""
        queue, other = ep.Queue(place.device), ep.Queue(place.device)
        with memory.use_resource(make_resource()):
            arrays = [place.empty(1 << 18, "int32")]
            table = ep.empty(2, "uint64", kind="shared", queue=queue)
            address = arrays[0].data_ptr
            table.copy_from_host(memoryview((ctypes.c_uint64 * 2)(address, 0)))
            done = launch("indirect", table, queue=queue)
            drop_soon(arrays)
            neighbors = [ep.empty(1 << 18, "int32", kind=place.kind, queue=other) for _ in range(4)]
            memory.trim()
            assert not done.done, "nothing of this waits for the kernel"
            assert address not in [each.data_ptr for each in neighbors], (
                "it was reused while the kernel runs"
            )
            assert is_allocated(address), "it was freed under the kernel"
            del table, neighbors
        done.wait()
        assert eventually_equal(lambda: is_allocated(address), False)

    @every_place
    def test_memory_is_freed_after_its_last_view(self, place: Place) -> None:
        queue = ep.Queue(place.device)
        with memory.use_resource(memory.direct()):
            arrays = [place.empty((1000, 1000), "int32")]
        address = arrays[0].data_ptr
        arrays += [
            arrays[0].T,
            arrays[0][::2],
            ep.asarray(arrays[0].__dlpack__(max_version=(1, 0), stream=-1)),
        ]
        done = launch("slow", arrays[0], queue=queue)
        drop_soon(arrays)
        assert not done.done
        assert is_allocated(address)
        done.wait()
        assert eventually_equal(lambda: is_allocated(address), False)

    def test_memory_outlives_its_queue_until_work_is_done(self) -> None:
        with memory.use_resource(memory.direct()):
            arrays = [ep.empty(1000, "int32", kind="shared", queue=ep.Queue("opencl:cpu"))]
        address = arrays[0].data_ptr
        queues = [ep.Queue("opencl:cpu")]
        done = launch("slow", arrays[0], queue=queues[0])
        begin = time.perf_counter()
        queues.clear()
        assert time.perf_counter() - begin < SOON, "releasing the queue has waited"
        drop_soon(arrays)
        assert not done.done
        assert is_allocated(address)
        done.wait()
        assert eventually_equal(lambda: is_allocated(address), False)

    @pytest.mark.numpy
    def test_borrowed_memory_lives_until_the_kernel_is_done(self) -> None:
        import numpy as np

        owner = np.zeros(16, "int32")
        gone = weakref.ref(owner)
        arrays = [ep.asarray(owner)]
        done = launch("slow", arrays[0], queue=ep.Queue("opencl:cpu"))
        del owner
        drop_soon(arrays)
        assert not done.done
        assert gone() is not None
        done.wait()
        assert gone() is None


# -------------------- deleters on threads without the GIL

libc = ctypes.CDLL(None)
Thread = ctypes.c_ulong


def call_on_a_new_thread(function: int, argument: int) -> None:
    """Runs the function on a thread unknown to Python, and joins it."""
    thread = Thread()
    assert (
        libc.pthread_create(
            ctypes.byref(thread), None, ctypes.c_void_p(function), ctypes.c_void_p(argument)
        )
        == 0
    )
    assert libc.pthread_join(thread, None) == 0  # ctypes releases the GIL meanwhile


def call_without_the_gil(function: int, argument: int) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)(argument)


class Source(bytearray):
    pass


@pytest.mark.parametrize("call", [call_on_a_new_thread, call_without_the_gil])
class TestDeleters:
    def export(self, source: object) -> tuple[int, int]:
        """Deleter and tensor of an export, taken from its capsule."""
        capsule = ep.asarray(source).__dlpack__(max_version=(1, 0))
        managed = content(capsule, Versioned)
        rename(capsule, Versioned.names[1])
        return managed.deleter or 0, ctypes.addressof(managed)

    def test_python_objects_are_dropped_with_the_gil(
        self, call: Callable[[int, int], None]
    ) -> None:
        source = Source(100)
        gone = weakref.ref(source)
        deleter, tensor = self.export(source)
        del source
        assert gone() is not None
        call(deleter, tensor)
        for _ in range(100):
            pass  # a pending call of the interpreter comes between two instructions
        assert gone() is None

    def test_deleter_of_device_memory(self, call: Callable[[int, int], None]) -> None:
        statistics = memory.statistics(memory.direct())
        with memory.use_resource(statistics):
            array = ep.zeros(1000, "uint8", device="opencl:cpu", kind="device")
        deleter, tensor = self.export(array)
        del array
        assert statistics.current_bytes == 1000
        call(deleter, tensor)
        assert eventually_equal(lambda: statistics.current_bytes, 0)

    def test_deleters_from_many_threads_run(self, call: Callable[[int, int], None]) -> None:
        sources = [Source(10) for _ in range(400)]
        gone = [weakref.ref(source) for source in sources]
        exports = [self.export(source) for source in sources]
        del sources

        def work(part: list[tuple[int, int]]) -> None:
            for deleter, tensor in part:
                call(deleter, tensor)

        threads = [threading.Thread(target=work, args=(exports[number::8],)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert eventually_equal(lambda: sum(reference() is not None for reference in gone), 0)


# -------------------- other threads while this one waits


@pytest.fixture
def standstill() -> Iterator[Callable[[], float]]:
    """The longest time, in seconds, that another thread has had to wait for the GIL."""
    longest, stop = [0.0], threading.Event()

    def watch() -> None:
        last = time.perf_counter()
        while not stop.is_set():
            time.sleep(0.001)
            longest[0], last = max(longest[0], time.perf_counter() - last), time.perf_counter()

    thread = threading.Thread(target=watch)
    thread.start()
    yield lambda: longest[0]
    stop.set()
    thread.join()


HOST_SOURCE = """
extern "C" void slow(const long long *, void *const *arguments) {
    unsigned x = 1;
    for (long i = *(const long *)arguments[1]; i > 0; --i) x = x * 1664525 + 1013904223;
    ((volatile int *)arguments[0])[1] = (int)x;
    ((volatile int *)arguments[0])[0] = 42;
}
"""


@pytest.fixture(scope="module")
def host_kernel() -> ep.Kernel:
    return ep.Program(HOST_SOURCE, "host").kernel("slow")


def ask_as_extension() -> None:
    table = c_interface()
    unsigned, host = 1, 1
    table.release(table.empty(1, (ctypes.c_int64 * 1)(1 << 20), unsigned, 8, b"opencl:cpu", host))


def ask_by_exchange_table() -> None:
    """Called with the GIL held, though the table does not require it."""
    with memory.use_resource(memory.direct()):
        device = ep.empty(1, "uint8", device="opencl:cpu", kind="device").__dlpack_device__()
    tensor = DLTensor(device=DLDevice(*device), ndim=1, dtype=DLDataType(1, 8, 1))
    tensor.shape = (ctypes.c_int64 * 1)(1 << 20)
    allocate = ctypes.cast(
        table_of(ep.Array).allocate,
        ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3, Table.SetError),
    )
    made, set_error = (
        ctypes.c_void_p(),
        Table.SetError(lambda _, kind, message: print(kind, message)),
    )
    assert allocate(ctypes.addressof(tensor), ctypes.addressof(made), None, set_error) == 0
    Versioned.from_address(made.value or 0).delete()


@pytest.mark.alone
class TestOtherThreads:
    """A SYCL queue cannot wait for the host's work: the thread waits, and other threads run
    meanwhile."""

    def waits_for(
        self, done: ep.Event, standstill: Callable[[], float], act: Callable[[], object]
    ) -> None:
        assert not done.done, "the work must be slow enough for the test to mean anything"
        started = time.perf_counter()
        act()
        assert done.done
        waited = time.perf_counter() - started
        assert waited > 0.3
        assert standstill() < waited / 2

    @pytest.mark.parametrize(
        "hand_over",
        [
            lambda array: array.__dlpack__(stream=ep.Queue(array.device)),
            lambda array: array.__sycl_usm_array_interface__,
            lambda array: memory.as_usm_memory(array.host()),
        ],
        ids=["dlpack", "suai", "memory"],
    )
    def test_waiting_for_host_work_releases_the_gil(
        self,
        host_kernel: ep.Kernel,
        standstill: Callable[[], float],
        hand_over: Callable[[ep.Array], object],
    ) -> None:
        array = ep.zeros(16, "int32", device="opencl:cpu", kind="shared")
        done = host_kernel[1](
            array.host(), ep.Scalar(500_000_000, "int64"), queue=ep.Queue(ep.device("host"))
        )
        self.waits_for(done, standstill, lambda: hand_over(array))

    @pytest.mark.parametrize(
        ("kind", "ask"),
        [
            (memory.MemoryUSMHost, lambda: memory.MemoryUSMHost(1 << 20)),
            (memory.MemoryUSMHost, ask_as_extension),
            (memory.MemoryUSMDevice, ask_by_exchange_table),
        ],
        ids=["memory", "extension", "exchange_table"],
    )
    def test_allocation_waits_for_work_without_the_gil(
        self, standstill: Callable[[], float], kind: type, ask: Callable[[], object]
    ) -> None:
        with memory.use_resource(memory.pool(memory.limit(2 << 20, memory.direct()))):
            used, kept = kind(1 << 20, queue=ep.Queue("opencl:cpu")), kind(1 << 20)
            done = launch("slow", ep.asarray(used).view("int32"))
            del used
            self.waits_for(done, standstill, ask)
            del kept

    def test_before_use_of_extension_waits_without_the_gil(
        self, host_kernel: ep.Kernel, standstill: Callable[[], float]
    ) -> None:
        array = ep.zeros(16, "int32", device="opencl:cpu", kind="shared")
        table = c_interface()
        handle = table.from_object(array, 0)
        done = host_kernel[1](
            array.host(), ep.Scalar(500_000_000, "int64"), queue=ep.Queue(ep.device("host"))
        )
        self.waits_for(done, standstill, lambda: table.before_use(handle, 1))
        table.release(handle)

    @pytest.mark.dpctl
    def test_export_beside_waiting_thread_releases_the_gil(
        self, standstill: Callable[[], float]
    ) -> None:
        """OpenCL blocks marking an out-of-order queue during another thread's wait on it. The
        export may wait for that, but no other thread may."""
        import dpctl
        import dpctl.memory

        theirs = dpctl.SyclQueue("opencl:cpu")
        queue, raw = ep.Queue(theirs), dpctl.memory.MemoryUSMShared(64, queue=theirs)
        done = launch(
            "slow", ep.zeros(16, "int32", kind="shared", queue=queue), seconds=1, queue=queue
        )
        array = ep.asarray(raw)
        waiter = threading.Thread(target=queue.wait)
        waiter.start()
        time.sleep(0.1)
        self.waits_for(
            done,
            standstill,
            lambda: array.__dlpack__(stream=dpctl.SyclQueue("opencl:cpu", property="in_order")),
        )
        waiter.join()

"""Memory of other owners that a device uses in place: addresses, lifetime, order and refusals."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import os
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import entrepot as ep
from entrepot import kernel as dppy
from entrepot import memory
from support.other_process import Other
from support.processes import completed

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.numpy

HOST = pytest.param("host", marks=pytest.mark.host)
SYCL = pytest.param("opencl:cpu", marks=pytest.mark.sycl)
CUDA = pytest.param("cuda:0", marks=pytest.mark.cuda)
HIP = pytest.param("hip:0", marks=pytest.mark.hip)
every_device = pytest.mark.parametrize("device", [HOST, SYCL, CUDA, HIP])
gpus = pytest.mark.parametrize("device", [CUDA, HIP])
PAGE = mmap.PAGESIZE


@dppy.kernel
def add_one(numbers: Any) -> None:
    i = dppy.get_global_id(0)
    numbers[i] += 1


@dppy.kernel
def seven_slowly(numbers: Any, turns: Any) -> None:
    x = dppy.uint32(1)
    for _ in range(turns):
        x = x * 1664525 + 1013904223
    numbers[1] = x
    numbers[0] = 7


TURNS = 100_000_000


def starts_slowly(numbers: ep.Array, queue: ep.Queue) -> ep.Event:
    """A slow kernel that sets the first number to 7, already compiled."""
    seven_slowly[1](ep.zeros(2, "int32", queue=queue), 1).wait()
    started: ep.Event = seven_slowly[1](numbers, TURNS, queue=queue)
    assert not started.done, "the kernel must be slow enough for the test to mean anything"
    return started


def pages(count: int = 4) -> Any:
    """A NumPy array that has its pages to itself."""
    return np.frombuffer(mmap.mmap(-1, count * PAGE), "int32")


def memfd() -> mmap.mmap:
    file = os.memfd_create("test_pin")
    try:
        os.ftruncate(file, 4 * PAGE)
        return mmap.mmap(file, 4 * PAGE)
    finally:
        os.close(file)


def shared() -> ep.Array:
    with memory.use_resource(memory.shareable()):
        return ep.zeros(4 * PAGE, "uint8", device="host")


OWNERS: dict[str, Callable[[], Any]] = {
    "numpy": pages,
    "mmap": lambda: mmap.mmap(-1, 4 * PAGE),
    "memfd": memfd,
    "memoryview": lambda: memoryview(mmap.mmap(-1, 4 * PAGE)),
    "ctypes": lambda: (ctypes.c_int32 * PAGE)(),
    "array": lambda: array.array("i", bytes(4 * PAGE)),
    "shareable": shared,
}


@every_device
class TestPinned:
    @pytest.mark.parametrize("owner", OWNERS)
    def test_kernel_writes_memory_of_the_owner(self, device: str, owner: str) -> None:
        x = OWNERS[owner]()
        pinned = ep.pin(x, device=device)
        numbers = pinned.view("int32")
        add_one[numbers.size, 64](numbers).wait()
        assert np.frombuffer(x, "int32").tolist() == [1] * numbers.size
        assert pinned.device == ep.device(device)
        assert pinned.kind == "host"
        assert pinned.data_ptr == ep.asarray(x).data_ptr

    def test_copies_go_both_ways(self, device: str) -> None:
        x = pages()
        pinned = ep.pin(x, device=device)
        there = ep.empty(x.shape, "int32", device=device)
        x[:] = np.arange(x.size)
        ep.copy(there, pinned).wait()
        x[:] = 0
        ep.copy(pinned, there).wait()
        np.testing.assert_array_equal(x, np.arange(x.size))

    def test_layout_of_a_view_is_kept(self, device: str) -> None:
        x = pages().reshape(-1, 8)
        pinned = ep.pin(x[::-2, 1:3], device=device)
        assert pinned.strides == (-16, 1)
        x[:] = np.arange(x.size).reshape(x.shape)
        np.testing.assert_array_equal(pinned.numpy(), x[::-2, 1:3])

    def test_owner_lives_as_long_as_a_view(self, device: str) -> None:
        x = pages()
        gone = weakref.ref(x)
        pinned = ep.pin(x, device=device)
        assert pinned.owner is x
        view = pinned[3:5]
        del x, pinned
        gc.collect()
        assert gone() is not None
        del view
        gc.collect()
        assert gone() is None

    def test_memory_can_be_pinned_again(self, device: str) -> None:
        x = pages()
        for _ in range(3):
            pinned = ep.pin(x, device=device)
            assert pinned.data_ptr == x.ctypes.data
            del pinned

    def test_pinned_array_is_pinned_already(self, device: str) -> None:
        pinned = ep.pin(pages(), device=device)
        again = ep.pin(pinned, device=device)
        assert again.data_ptr == pinned.data_ptr and again.device == pinned.device

    def test_array_without_elements_is_pinned(self, device: str) -> None:
        pinned = ep.pin(np.empty((0, 3)), device=device)
        assert pinned.shape == (0, 3) and pinned.device == ep.device(device)

    def test_part_of_pinned_memory_shares_the_pin(self, device: str) -> None:
        x = pages()
        whole = ep.pin(x, device=device)
        part = ep.pin(x[8:16], device=device)
        del whole
        gc.collect()
        ep.fill(part, 7).wait()
        assert x[8:16].tolist() == [7] * 8 and x[16] == 0

    def test_pending_write_is_waited_for(self, device: str) -> None:
        x = pages(64)
        queue = ep.Queue(device)
        pinned = ep.pin(x, device=device)
        for value in range(8):
            ep.fill(pinned, value, queue=queue)
        assert memoryview(pinned)[x.size - 1] == 7

    def test_cycle_through_the_owner_is_collected(self, device: str) -> None:
        class Holder(bytearray):
            pinned: ep.Array

        x = Holder(4 * PAGE)
        x.pinned = ep.pin(x, device=device)
        gone = weakref.ref(x)
        gc.disable()
        try:
            del x
            assert gone() is not None
            gc.collect()
            assert gone() is None
        finally:
            gc.enable()

    def test_kernels_end_before_the_memory_is_unpinned(self, device: str) -> None:
        x = pages(1024)
        queue = ep.Queue(device)
        pinned = ep.pin(x, device=device)
        for _ in range(20):
            add_one[pinned.size, 64](pinned, queue=queue)
        del pinned
        gc.collect()
        queue.wait()
        assert x[0] == x[-1] == 20


READS: dict[str, Callable[[ep.Array], Any]] = {
    "source": lambda source: memoryview(source)[0],
    "numpy by dlpack": lambda source: np.from_dlpack(source)[0],
    "numpy by buffer": lambda source: np.asarray(source)[0],
    "copy on the host": lambda source: source.to("host").numpy()[0],
}


@pytest.mark.parametrize("device", [SYCL, CUDA, HIP])
class TestOrderWithTheSource:
    @pytest.mark.parametrize("read", READS)
    def test_source_waits_for_a_kernel_on_the_pinned_array(self, device: str, read: str) -> None:
        source = ep.asarray(pages())
        pinned = ep.pin(source, device=device)
        started = starts_slowly(pinned, ep.Queue(device))
        assert READS[read](source) == 7
        assert started.done

    def test_write_of_the_source_waits_for_the_pinned_array(self, device: str) -> None:
        x = pages()
        source = ep.asarray(x)
        pinned = ep.pin(source, device=device)
        starts_slowly(pinned, ep.Queue(device))
        ep.fill(source, 9).wait()
        assert x[0] == 9
        assert pinned.to("host").numpy()[0] == 9

    def test_kernel_on_the_pinned_array_waits_for_the_source(self, device: str) -> None:
        source = ep.asarray(pages(1 << 14))
        pinned = ep.pin(source, device=device)
        for value in range(4):
            ep.fill(source, value, queue=ep.Queue("host"))
            add_one[pinned.size, 64](pinned, queue=ep.Queue(device))
        assert np.from_dlpack(source)[-1] == 4

    def test_part_and_whole_are_in_order(self, device: str) -> None:
        source = ep.asarray(pages())
        whole, part = ep.pin(source, device=device), ep.pin(source[:8], device=device)
        starts_slowly(whole, ep.Queue(device))
        add_one[8, 8](part, queue=ep.Queue(device))
        assert memoryview(source)[0] == 8

    def test_pin_ends_with_the_source(self, device: str) -> None:
        x = pages()
        gone = weakref.ref(x)
        source = ep.asarray(x)
        started = starts_slowly(ep.pin(source, device=device), ep.Queue(device))
        del x, source
        gc.collect()
        assert gone() is not None or started.done
        started.wait()
        ep.asarray(b"")  # a later call releases the owner
        assert gone() is None


@pytest.mark.cuda
class TestConsumersOfPinnedMemory:
    def test_source_waits_for_a_stream_of_cupy(self) -> None:
        cupy = pytest.importorskip("cupy")
        source = ep.asarray(pages(1 << 12))
        theirs = cupy.asarray(ep.pin(source, device="cuda:0"))
        for _ in range(50):
            theirs += 1
        assert memoryview(source)[source.size - 1] == 50

    def test_stream_of_cupy_waits_for_earlier_work(self) -> None:
        cupy = pytest.importorskip("cupy")
        source = ep.asarray(pages())
        pinned = ep.pin(source, device="cuda:0")
        starts_slowly(pinned, ep.Queue("cuda:0"))
        ep.fill(source, 9)
        assert int(cupy.asarray(pinned)[0]) == 9


@every_device
def test_shared_pickle_is_pinned_for_the_receiver(device: str) -> None:
    source = shared()
    data = ep.dumps(ep.pin(source, device=device), "share")
    other = Other()
    found = other.run(
        """
        array = pickle.loads(data)
        ep.fill(array, 7).wait()
        _ = (str(array.device), array.kind, array.__dlpack_device__()[0])
        """,
        data=data,
    )
    other.end()
    assert found == (str(ep.device(device)), "host", {"cuda:0": 3, "hip:0": 11}.get(device, 1))
    assert source.numpy()[-1] == 7


@pytest.mark.parametrize("device", [HOST, SYCL])
def test_read_only_object_gives_a_read_only_array(device: str) -> None:
    pinned = ep.pin(b"words", device=device)
    assert pinned.read_only and bytes(pinned) == b"words"


def test_default_device_is_that_of_the_current_queue() -> None:
    with ep.device_context("host"):
        assert ep.pin(pages()).device == ep.device("host")


@pytest.mark.parametrize("x", [None, 3, [1, 2]])
def test_object_without_memory_is_refused(x: object) -> None:
    with pytest.raises(TypeError, match="holds no memory"):
        ep.pin(x, device="host")


@pytest.mark.sycl
def test_host_memory_of_another_device_is_refused_by_name() -> None:
    there = ep.zeros(4, "int32", device="host")
    theirs = ep.zeros(4, "int32", device="opencl:cpu", kind="host")
    assert ep.pin(theirs, device="opencl:cpu").data_ptr == theirs.data_ptr
    assert ep.pin(theirs, device="host").data_ptr == theirs.data_ptr
    assert ep.pin(there, device="opencl:cpu").kind == "host"


@pytest.mark.cuda
@pytest.mark.sycl
@pytest.mark.parametrize("kind", ["host", "shared"])
def test_memory_of_another_device_is_refused_with_its_kind(kind: str) -> None:
    theirs = ep.zeros(4, "int32", device="opencl:cpu", kind=kind)
    with pytest.raises(ep.ExchangeError, match=rf"is {kind} memory of opencl:cpu.*process's own"):
        ep.pin(theirs, device="cuda:0")


@pytest.mark.parametrize("device", [SYCL, CUDA])
def test_device_memory_is_refused(device: str) -> None:
    there = ep.zeros(4, "int32", device=device)
    with pytest.raises(ep.ExchangeError, match="host memory is pinned"):
        ep.pin(there, device=device)


# ---------------------------------------------------- devices that read memory of the process


@pytest.mark.sycl
class TestDeviceThatReadsHostMemory:
    def test_asarray_names_the_device_and_copies_nothing(self) -> None:
        x: Any = pages()
        view = ep.asarray(x, device="opencl:cpu")
        assert (view.device, view.kind) == (ep.device("opencl:cpu"), "host")
        assert view.data_ptr == x.ctypes.data
        assert bool(view.owner is x)
        add_one[view.size, 64](view).wait()
        assert x.tolist() == [1] * x.size

    def test_owner_lives_as_long_as_the_view(self) -> None:
        x = pages()
        gone = weakref.ref(x)
        view = ep.asarray(x, device="opencl:cpu")[1:]
        del x
        gc.collect()
        assert gone() is not None
        del view
        gc.collect()
        assert gone() is None

    def test_view_shares_the_order_of_its_array(self) -> None:
        numbers = ep.zeros(1 << 16, "int32", device="host")
        view = ep.asarray(numbers, device="opencl:cpu", kind="host")
        for value in range(4):
            ep.fill(numbers, 2 * value, queue=ep.Queue("host"))
            ep.fill(view, 2 * value + 1, queue=ep.Queue("opencl:cpu"))
        assert memoryview(numbers)[-1] == 7

    def test_queue_of_the_view_is_on_the_device(self) -> None:
        queue = ep.Queue("opencl:cpu")
        view = ep.asarray(pages(), device="opencl:cpu", queue=queue)
        assert view.queue == queue and view[1:].queue == queue
        assert view[1:].device == queue.device
        assert ep.asarray(view, queue=ep.Queue("host")).device == ep.device("host")

    def test_view_is_exported_as_host_memory(self) -> None:
        x = pages()
        view = ep.asarray(x, device="opencl:cpu")
        assert view.__dlpack_device__() == (1, 0)
        assert np.from_dlpack(view).ctypes.data == x.ctypes.data
        assert memoryview(view).nbytes == x.nbytes
        assert not hasattr(view, "__sycl_usm_array_interface__")
        assert ep.asarray(view, device="host").device == ep.device("host")

    def test_other_kinds_are_refused(self) -> None:
        for kind in ("device", "shared"):
            with pytest.raises(ep.ExchangeError, match=f"cannot become {kind} of opencl:cpu"):
                ep.asarray(pages(), device="opencl:cpu", kind=kind)

    def test_copy_is_still_a_copy(self) -> None:
        x = pages()
        copied = ep.asarray(x, device="opencl:cpu", copy=True)
        assert copied.kind == "device" and copied.data_ptr != x.ctypes.data

    def test_device_without_the_aspect_refuses_by_name(self) -> None:
        program = """if True:
            import numpy as np
            import entrepot as ep
            for function in (ep.asarray, ep.pin):
                try:
                    function(np.zeros(4), device="opencl:cpu")
                except ep.ExchangeError as error:
                    print(error)
        """
        environment = {**os.environ, "ENTREPOT_SYCL_HIDDEN_ASPECTS": "usm_system_allocations"}
        done = completed([sys.executable, "-c", program], env=environment)
        as_array, as_pin = done.stdout.splitlines()
        assert "without a copy; pass copy=True" in as_array and "ep.pin(x, device)" in as_array
        assert "neither the aspect usm_system_allocations" in as_pin
        assert "ext_oneapi_register_host_memory" in as_pin


# ---------------------------------------------------------------- drivers that register memory


@gpus
class TestRegistration:
    def test_overlap_is_refused_with_both_ranges(self, device: str) -> None:
        x = pages()
        part = ep.pin(x[: PAGE // 4], device=device)  # the first page
        with pytest.raises(
            ep.ExchangeError, match=r"overlap the .* bytes from .*, which ep.pin has"
        ):
            ep.pin(x, device=device)
        del part
        gc.collect()
        assert ep.pin(x, device=device).size == x.size

    def test_arrays_on_one_page_are_pinned_each(self, device: str) -> None:
        x = pages()
        first, second = ep.pin(x[:8], device=device), ep.pin(x[16:24], device=device)
        del first
        gc.collect()
        ep.fill(second, 7).wait()
        assert x[:24].tolist() == [0] * 16 + [7] * 8
        assert ep.pin(x[:8], device=device).device == ep.device(device)

    def test_unpinned_memory_can_be_registered_by_another(self, device: str) -> None:
        pytest.importorskip("cupy")
        import cupy

        x = pages()
        pinned = ep.pin(x, device=device)
        del pinned
        gc.collect()
        cupy.cuda.runtime.hostRegister(x.ctypes.data, x.nbytes, 0)
        cupy.cuda.runtime.hostUnregister(x.ctypes.data)


@pytest.mark.cuda
class TestOtherLibraries:
    def test_memory_registered_by_another_is_refused_by_name(self) -> None:
        cupy = pytest.importorskip("cupy")
        x = pages()
        cupy.cuda.runtime.hostRegister(x.ctypes.data, x.nbytes, 0)
        try:
            for part in (x, x[4:8]):
                with pytest.raises(ep.ExchangeError, match=r"another library .*from_address"):
                    ep.pin(part, device="cuda:0")
        finally:
            cupy.cuda.runtime.hostUnregister(x.ctypes.data)
        assert ep.pin(x, device="cuda:0").kind == "host"

    def test_registration_inside_the_range_is_refused(self) -> None:
        cupy = pytest.importorskip("cupy")
        x = pages(8)
        middle = x.ctypes.data + 2 * PAGE
        cupy.cuda.runtime.hostRegister(middle, PAGE, 0)
        try:
            with pytest.raises(ep.ExchangeError, match="registered with the driver already"):
                ep.pin(x, device="cuda:0")
        finally:
            cupy.cuda.runtime.hostUnregister(middle)

    @pytest.mark.torch
    def test_pinned_tensor_is_refused_and_can_be_named_by_address(self) -> None:
        torch = pytest.importorskip("torch")
        tensor = torch.zeros(1024, pin_memory=True)
        with pytest.raises(ep.ExchangeError, match="pin_memory"):
            ep.pin(tensor.numpy(), device="cuda:0")
        same = ep.from_address(tensor.data_ptr(), 1024, "float32", device="cuda:0", owner=tensor)
        assert same.kind == "host"

    @pytest.mark.torch
    def test_tensor_of_the_cpu_is_pinned(self) -> None:
        torch = pytest.importorskip("torch")
        tensor = torch.zeros(4 * PAGE, dtype=torch.int32)
        pinned = ep.pin(tensor, device="cuda:0")
        add_one[pinned.size, 64](pinned).wait()
        assert tensor.tolist() == [1] * tensor.numel()
        assert tensor.is_pinned()
        del pinned
        gc.collect()
        assert not tensor.is_pinned()

    def test_read_only_memory_is_pinned_or_refused_by_name(self, tmp_path: Path) -> None:
        file = tmp_path / "numbers"
        file.write_bytes(bytes(range(256)) * 64)
        with file.open("rb") as opened:
            mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            pinned = ep.pin(mapped, device="cuda:0")
        except ep.ExchangeError as error:
            assert "read-only" in str(error) or "cannot be pinned" in str(error)
            return
        assert pinned.read_only
        assert bytes(pinned.to("cuda:0").copy_to_host()) == bytes(range(256)) * 64

    def test_pinned_array_is_exported_as_pinned_memory(self) -> None:
        pinned = ep.pin(pages(), device="cuda:0")
        assert pinned.__dlpack_device__() == (3, 0)
        assert np.from_dlpack(pinned).ctypes.data == pinned.data_ptr

    def test_driver_knows_the_memory_until_it_is_unpinned(self) -> None:
        x = pages()
        pinned = ep.pin(x, device="cuda:0")
        found = ep.from_address(x.ctypes.data, x.size, "int32", owner=x)
        assert (str(found.device), found.kind) == ("cuda:0", "host")
        del pinned, found
        gc.collect()
        assert ep.from_address(x.ctypes.data, x.size, "int32", owner=x).device.backend == "host"

"""Pickling of arrays by policy: refusals, copies with and without buffers, shared memory and its
leases."""

from __future__ import annotations

import concurrent.futures
import contextvars
import copy
import gc
import os
import pickle
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import entrepot as ep
from entrepot import leases, pickles
from interop import slow
from support.other_process import TIMEOUT, Other, open_files, pages, shareable, shared_mappings
from support.places import Place, every_place, moved, values_of
from support.polling import eventually_equal

np = pytest.importorskip("numpy")
pytestmark = [pytest.mark.numpy, pytest.mark.host]

BASE = np.arange(24, dtype="float32").reshape(2, 3, 4)
LAYOUTS = {
    "whole": lambda a: a,
    "transposed": lambda a: a.transpose(2, 0, 1),
    "sliced": lambda a: a[:, ::2],
    "reversed": lambda a: a[::-1],
    "0-d": lambda a: a[1, 1, 1],
    "empty": lambda a: a[:0],
    "short axis": lambda a: a[1:, :],
    "broadcast": lambda a: a.broadcast_to(5, 2, 3, 4),
}
DENSE = {"whole", "transposed", "0-d", "empty", "short axis"}


@pytest.fixture(autouse=True)
def no_lease_is_left() -> Iterator[None]:
    gc.collect()  # what earlier tests left would end in the middle of this one
    yield
    assert leases.wait_until_opened(2)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


class TestPolicy:
    def test_pickling_without_policy_names_both(self) -> None:
        with pytest.raises(TypeError, match=r"cannot pickle.*pickling\('copy'\).*'share'"):
            pickle.dumps(ep.zeros(3, "int8", device="host"))

    def test_refusal_in_a_thread_names_the_transport(self) -> None:
        found: list[str] = []

        def work() -> None:
            try:
                pickle.dumps(ep.zeros(3, "int8", device="host"))
            except TypeError as error:
                found.append(str(error))

        with ep.pickling("copy"):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join(TIMEOUT)
        assert len(found) == 1
        assert "entrepot.transport.enable('multiprocessing')" in found[0]

    def test_policy_ends_with_its_block(self) -> None:
        array = ep.zeros(3, "int8", device="host")
        with ep.pickling("copy"):
            pickle.dumps(array)
            with ep.pickling("refuse"), pytest.raises(TypeError):
                pickle.dumps(array)
            pickle.dumps(array)
        with pytest.raises(TypeError):
            pickle.dumps(array)

    def test_policy_ends_with_an_exception(self) -> None:
        with pytest.raises(ZeroDivisionError), ep.pickling("copy"):
            raise ZeroDivisionError
        with pytest.raises(TypeError):
            pickle.dumps(ep.zeros(3, "int8", device="host"))

    def test_policy_of_one_call_leaves_the_others(self) -> None:
        array = ep.full(3, 4, "int8", device="host")
        (same,) = pickle.loads(ep.dumps([array], "copy"))
        assert values_of(same).tolist() == [4, 4, 4]
        with pytest.raises(TypeError):
            pickle.dumps(array)

    def test_policy_belongs_to_its_context(self) -> None:
        array = ep.zeros(3, "int8", device="host")

        def outcome() -> str:
            try:
                pickle.dumps(array)
            except TypeError:
                return "refused"
            return "copied"

        with ep.pickling("copy"), concurrent.futures.ThreadPoolExecutor(1) as pool:
            here = contextvars.copy_context()
            assert outcome() == "copied"
            assert pool.submit(outcome).result() == "refused", "a thread has a context of its own"
            assert pool.submit(here.run, outcome).result() == "copied"

    def test_threads_with_different_policies_do_not_mix(self) -> None:
        array = shareable(np.zeros(5), "host")
        names: list[set[str]] = []
        start = threading.Barrier(8)

        def work(policy: Any) -> None:
            start.wait()
            found = set()
            for _ in range(200):
                with ep.pickling(policy, hold=0):
                    function, _arguments = array.__reduce_ex__(5)
                    found.add(function.__name__)
            names.append(found)

        workers = [
            threading.Thread(target=work, args=(policy,)) for policy in ("copy", "share") * 4
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(TIMEOUT)
        assert sorted(map(sorted, names)) == [["opened"]] * 4 + [["unpacked"]] * 4

    @pytest.mark.parametrize("policy", ["", "COPY", None, 3])
    def test_unknown_policy_is_refused(self, policy: Any) -> None:
        with pytest.raises(ValueError, match="'share', 'copy' or 'refuse'"):
            ep.pickling(policy)
        with pytest.raises(ValueError, match="'share', 'copy' or 'refuse'"):
            ep.dumps(None, policy)

    @pytest.mark.parametrize("hold", [-1, float("nan")])
    def test_negative_time_is_refused(self, hold: float) -> None:
        with pytest.raises(ValueError, match="seconds"):
            ep.pickling("share", hold=hold)


class TestCopy:
    @pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
    @pytest.mark.parametrize("layout", LAYOUTS)
    @every_place
    def test_copy_keeps_elements_and_place(self, place: Place, layout: str, protocol: int) -> None:
        array = LAYOUTS[layout](moved(BASE, place))
        made = pickle.loads(ep.dumps(array, "copy", protocol=protocol))
        assert values_of(made).tolist() == values_of(array).tolist()
        assert (made.shape, made.dtype, made.device, made.kind, made.read_only) == (
            array.shape,
            array.dtype,
            array.device,
            array.kind,
            array.read_only,
        )
        if not array.read_only and array.size:
            before = values_of(array).tolist()
            ep.fill(made, 100).wait()
            assert values_of(array).tolist() == before, "the copy has memory of its own"

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_dense_host_memory_is_passed_without_a_copy(self, layout: str) -> None:
        array = LAYOUTS[layout](ep.asarray(BASE.copy()))
        buffers: list[pickle.PickleBuffer] = []
        data = ep.dumps(array, "copy", buffer_callback=buffers.append)
        assert len(data) < 400
        made = pickle.loads(data, buffers=buffers)
        assert (made.data_ptr == array.data_ptr) == (layout in DENSE)
        if array.size:
            address = np.frombuffer(buffers[0].raw(), "uint8").ctypes.data
            assert made.data_ptr == address, "unpickling makes no copy"
        if layout in DENSE and array.size > 1:
            assert [s for s, n in zip(made.strides, made.shape, strict=True) if n > 1] == [
                s for s, n in zip(array.strides, array.shape, strict=True) if n > 1
            ]

    def test_pickle_within_the_stream_is_writable(self) -> None:
        made = pickle.loads(ep.dumps(ep.asarray(BASE), "copy"))
        assert not made.read_only
        ep.fill(made, 3).wait()
        assert set(values_of(made).ravel().tolist()) == {3}

    def test_read_only_buffer_makes_a_read_only_array(self) -> None:
        """Buffers of an object store are immutable."""
        buffers: list[pickle.PickleBuffer] = []
        data = ep.dumps(ep.asarray(BASE), "copy", buffer_callback=buffers.append)
        made = pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])
        assert made.read_only
        assert values_of(made).tolist() == BASE.tolist()

    def test_read_only_array_stays_read_only(self) -> None:
        buffers: list[pickle.PickleBuffer] = []
        array = ep.asarray(BASE.tobytes())
        data = ep.dumps(array, "copy", buffer_callback=buffers.append)
        assert memoryview(buffers[0]).readonly
        made = pickle.loads(data, buffers=[bytearray(buffer.raw()) for buffer in buffers])
        assert made.read_only

    def test_misaligned_buffer_is_moved(self) -> None:
        buffers: list[pickle.PickleBuffer] = []
        data = ep.dumps(ep.asarray(BASE), "copy", buffer_callback=buffers.append)
        shifted = memoryview(bytearray(b"x" + bytes(buffers[0].raw())))[1:]
        made = pickle.loads(data, buffers=[shifted])
        assert values_of(made).tolist() == BASE.tolist()

    @pytest.mark.parametrize(
        "dtype",
        ["bool", "complex128", "bfloat16", "float8_e4m3fn", "float4_e2m1fn", "float32x4", "int64"],
    )
    def test_copy_keeps_dtype(self, dtype: str) -> None:
        array = ep.empty((2, 8), dtype, device="host")
        ep.copy(array.view("uint8"), np.arange(array.nbytes, dtype="u1").reshape(2, -1) % 2).wait()
        made = pickle.loads(ep.dumps(array, "copy"))
        assert made.dtype == array.dtype
        assert values_of(made.view("uint8")).tolist() == values_of(array.view("uint8")).tolist()

    def test_copy_waits_for_pending_work(self) -> None:
        array, queue = ep.zeros(1 << 22, "int32", device="host"), ep.Queue("host")
        for value in range(100):
            ep.fill(array, value, queue=queue)
        assert set(values_of(pickle.loads(ep.dumps(array, "copy"))).tolist()) == {99}

    def test_buffer_keeps_the_memory_alive(self) -> None:
        source = np.arange(1000)
        gone = weakref.ref(source)
        buffers: list[pickle.PickleBuffer] = []
        data = ep.dumps(ep.asarray(source), "copy", buffer_callback=buffers.append)
        del source
        gc.collect()
        made = pickle.loads(data, buffers=buffers)
        buffers.clear()
        gc.collect()
        assert values_of(made).tolist() == list(range(1000))
        del made
        gc.collect()
        assert gone() is None

    def test_absent_device_is_named(self) -> None:
        array = ep.full(3, 5, "int8", device="host")
        absent = pickles.packed(array)._replace(device="cuda:99", kind="device")
        with pytest.raises(ep.DeviceError, match=r"was on cuda:99.*copy_to_host\(\)"):
            pickles.unpacked(*absent)

    def test_copy_and_deepcopy_are_independent(self) -> None:
        array = shareable(np.arange(4), "host")
        with ep.pickling("share", hold=0):
            copies = [copy.copy(array), copy.deepcopy(array), copy.deepcopy([array])[0]]
        ep.fill(array, 9).wait()
        assert [values_of(each).tolist() for each in copies] == [[0, 1, 2, 3]] * 3


HOST = pytest.param("host", marks=pytest.mark.host)
CUDA = pytest.param("cuda:0", marks=pytest.mark.cuda)


class TestShare:
    @pytest.mark.parametrize("device", [HOST, CUDA])
    def test_writes_are_seen_on_both_sides(self, device: str, other: Other) -> None:
        array = shareable(np.arange(12, dtype="int32").reshape(3, 4), device)
        seen = other.run(
            "array = pickle.loads(data)[0].T; _ = array.copy_to_host().numpy().tolist()",
            data=ep.dumps([array], "share"),
        )
        assert seen == values_of(array).T.tolist()
        other.run("ep.fill(array[0], 77).wait(); _ = None")
        assert values_of(array)[:, 0].tolist() == [77] * 3
        ep.fill(array, 5).wait()
        assert other.run("_ = set(array.copy_to_host().numpy().ravel().tolist())") == {5}

    def test_both_processes_map_the_same_pages(self, other: Other) -> None:
        """The numbers of the page frames where the kernel tells them, else device and inode of the
        mapped file."""
        array = shareable(np.zeros(4 * 4096 // 8), "host")
        there = other.run(
            "array = pickle.loads(data)\nimport sys; sys.path.insert(0, tests)\n"
            "from support.other_process import pages\n_ = pages(array)",
            data=ep.dumps(array, "share"),
            tests=str(Path(__file__).parents[2]),
        )
        assert there == pages(array)

    @pytest.mark.parametrize("device", [HOST, CUDA])
    @pytest.mark.parametrize("read_only", [False, True])
    def test_received_array_is_shared_on(self, device: str, read_only: bool, other: Other) -> None:
        """From a worker to the next one, as a scheduler forwards data."""
        array = shareable(np.arange(4), device)
        sent = array.broadcast_to(4) if read_only else array
        onward = other.run(
            "array = pickle.loads(data); _ = ep.dumps(array[1:], 'share')",
            data=ep.dumps(sent, "share"),
        )
        third = Other()
        seen = third.run("array = pickle.loads(data); _ = array.copy_to_host().numpy().tolist(), "
            "array.read_only", data=onward)  # fmt: skip
        assert seen == ([1, 2, 3], read_only)
        other.kill()
        ep.fill(array, 9).wait()
        assert third.run("_ = array.copy_to_host().numpy().tolist()") == [9, 9, 9]
        third.end()

    def test_unpickling_in_the_same_process_is_a_view(self) -> None:
        array = shareable(np.arange(4), "host")
        mappings = shared_mappings()
        made = pickle.loads(ep.dumps(array, "share"))
        assert made.data_ptr == array.data_ptr
        assert shared_mappings() == mappings
        assert leases.wait_until_opened(1)

    @pytest.mark.parametrize("make", [
        lambda: ep.zeros(3, "int8", device="host"), lambda: ep.asarray(np.zeros(3))])  # fmt: skip
    def test_memory_that_cannot_be_shared_is_refused(self, make: Any) -> None:
        with pytest.raises(ep.ExchangeError, match=r"shareable\(\).*policy 'copy'"):
            ep.dumps(make(), "share")

    @pytest.mark.cuda
    @pytest.mark.torch
    def test_device_memory_of_another_library_is_refused(self) -> None:
        import torch

        with pytest.raises(ep.ExchangeError, match=r"array\.share\(\) and hold"):
            ep.dumps(ep.asarray(torch.zeros(3, device="cuda")), "share")

    def test_memory_without_elements_is_shared(self, other: Other) -> None:
        data = ep.dumps(shareable(np.zeros((0, 3)), "host"), "share")
        assert other.run("_ = pickle.loads(data).shape", data=data) == (0, 3)

    def test_handle_of_another_machine_is_refused(self, monkeypatch: Any, other: Other) -> None:
        monkeypatch.setattr(pickles, "machine", lambda: "another boot net:[1]")
        data = ep.dumps(shareable(np.arange(4), "host"), "share", hold=0.1)
        with pytest.raises(RuntimeError, match=r"ExchangeError: .*another machine.*'copy'") as it:
            other.run("pickle.loads(data)", data=data)
        assert "hold=" not in str(it.value), "a longer time would not help"

    def test_share_waits_for_pending_work(self, other: Other) -> None:
        other.run("_ = 1")  # it has imported everything, and reads at once
        array, queue = shareable(np.zeros(1 << 22, "int32"), "host"), ep.Queue("host")
        for value in range(100):
            done = ep.fill(array, value, queue=queue)
        assert not done.done, "there is work to wait for"
        data = ep.dumps(array, "share")
        assert other.run("_ = set(pickle.loads(data).numpy().tolist())", data=data) == {99}

    @pytest.mark.parametrize("device", [HOST, CUDA])
    def test_share_waits_for_reads_before_a_receivers_write(
        self, device: str, other: Other
    ) -> None:
        other.run("_ = 1")
        queue = ep.Queue(device)
        array = shareable(np.full(1 << 22, 1, "int32"), device)
        copies = [ep.empty(1 << 22, "int32", device=device) for _ in range(30)]
        if device != "host":  # its copies are fast, and wait for this kernel
            slow.launch(ep.zeros((4, 6), "int32", device=device, queue=queue))
        for copied in copies:
            done = ep.copy(copied, array, queue=queue)
        assert not done.done, "there is work to wait for"
        data = ep.dumps(array, "share")
        other.run("ep.fill(pickle.loads(data), 2).wait(); _ = None", data=data)
        assert {values_of(copied)[-1] for copied in copies} == {1}

    @pytest.mark.alone  # the copies take a tenth of a second
    def test_share_of_a_read_only_view_waits_for_no_reads(self) -> None:
        queue = ep.Queue("host")
        array = shareable(np.full(1 << 22, 1, "int32"), "host")
        copies = [ep.empty(1 << 22, "int32", device="host") for _ in range(30)]
        for copied in copies:
            done = ep.copy(copied, array, queue=queue)
        ep.dumps(array.broadcast_to(array.shape), "share", hold=0)
        assert not done.done
        done.wait()

    @pytest.mark.sycl
    def test_view_on_another_device_stays_there(self, other: Other) -> None:
        array = ep.asarray(shareable(np.arange(4), "host"), device="opencl:cpu")
        data = ep.dumps([array, array.broadcast_to(4)], "share")
        seen = other.run(
            "made = pickle.loads(data)\n"
            "_ = [(str(each.device), each.read_only, each.copy_to_host().numpy().tolist())"
            " for each in made]",
            data=data,
        )
        place = str(array.device)
        assert seen == [(place, False, [0, 1, 2, 3]), (place, True, [0, 1, 2, 3])]

    @pytest.mark.sycl
    def test_host_memory_of_another_library_is_named_so(self) -> None:
        memory_of_dpctl = pytest.importorskip("dpctl.memory").MemoryUSMHost(64)
        array = ep.asarray(memory_of_dpctl)
        assert array.kind == "host"
        assert array.owner is not None
        with pytest.raises(ep.ExchangeError) as caught:
            ep.dumps(array, "share")
        assert "allocated on a device" not in str(caught.value)
        assert "policy 'copy'" in str(caught.value)


class TestLeases:
    """A pickled handle holds the memory until it has been opened, its time is over, or the process
    ends."""

    @staticmethod
    def pickled(hold: float = 60) -> tuple[bytes, Any]:
        """A pickled handle of memory that nothing else holds, and whether the memory is mapped."""
        before = shared_mappings()
        data = ep.dumps(shareable(np.full(1000, 7), "host"), "share", hold=hold)
        gc.collect()
        assert shared_mappings() == before + 1
        return data, lambda: shared_mappings() == before + 1

    def test_memory_is_held_until_unpickled(self, other: Other) -> None:
        data, is_held = self.pickled()
        time.sleep(0.2)
        assert is_held()
        other.run("array = pickle.loads(data); _ = None", data=data)
        assert eventually_equal(is_held, False, seconds=1)
        assert other.run("_ = set(array.numpy().tolist())") == {7}
        with pytest.raises(RuntimeError, match=r"ExchangeError: .*released.*for 60 seconds.*hold="):
            other.run("pickle.loads(data)", data=data)

    def test_handle_never_unpickled_is_released_in_time(self, other: Other) -> None:
        data, is_held = self.pickled(hold=0.2)
        assert eventually_equal(is_held, False, seconds=1)
        with pytest.raises(RuntimeError, match=r"released.*for 0\.2 seconds.*hold="):
            other.run("pickle.loads(data)", data=data)

    def test_held_array_is_unpickled_repeatedly(self, other: Other) -> None:
        array = shareable(np.arange(4), "host")
        data = ep.dumps(array, "share", hold=0)
        time.sleep(0.05)
        for _ in range(3):
            assert other.run("_ = pickle.loads(data).numpy().sum()", data=data) == 6

    def test_earlier_end_is_met_after_a_later_one(self) -> None:
        long, is_held_long = self.pickled(hold=30)
        _, is_held = self.pickled(hold=0.1)
        assert eventually_equal(is_held, False, seconds=1)
        assert is_held_long()
        pickle.loads(long)
        assert leases.wait_until_opened(2)

    def test_thread_and_socket_end_with_the_last_lease(self) -> None:
        assert eventually_equal(lambda: "entrepot-leases" in threads(), False, seconds=2)
        files = len(open_files())
        data, _is_held = self.pickled()
        assert "entrepot-leases" in threads()
        pickle.loads(data)
        assert eventually_equal(lambda: "entrepot-leases" in threads(), False, seconds=1.5)
        assert len(open_files()) <= files + 1, "the sender's socket stays"

    def test_unknown_report_changes_nothing(self) -> None:
        _, is_held = self.pickled(hold=0.4)
        (held,) = leases._table.held
        assert leases._table.socket
        address = leases._table.socket.getsockname()
        for token in (b"", b"x", bytes(16), bytes(17), held[:-1], held + b"x"):
            leases.report(leases.Lease(address, token))
        time.sleep(0.1)
        assert is_held()
        assert leases.wait_until_opened(2)

    def test_wait_until_opened_tells_what_is_left(self) -> None:
        data, _is_held = self.pickled()
        assert not leases.wait_until_opened(0.05)
        pickle.loads(data)
        assert leases.wait_until_opened(1)

    def test_killed_maker_is_reported(self) -> None:
        mappings = shared_mappings()
        maker = Other()
        data = maker.run("""
            with memory.use_resource(memory.shareable()):
                array = ep.full(1000, 7, "uint8", device="host")
            _ = ep.dumps(array, "share")
        """)  # fmt: skip
        array = pickle.loads(data)
        maker.kill()
        assert set(values_of(array).tolist()) == {7}, "the opener holds the memory"
        before = time.monotonic()
        with pytest.raises(ep.ExchangeError, match=f"process {maker.process.pid}.*has ended"):
            pickle.loads(data)
        assert time.monotonic() - before < 1
        del array
        gc.collect()
        assert shared_mappings() == mappings
        maker.end()

    def test_killed_opener_leaves_the_lease_to_time(self, other: Other) -> None:
        data, is_held = self.pickled(hold=1.5)
        killed = Other()
        # It has the handle, and ends before it opens the memory.
        assert killed.run("_ = len(data)", data=data) == len(data)
        killed.kill()
        killed.end()
        assert is_held()
        assert eventually_equal(is_held, False, seconds=2)

    def test_forked_child_holds_no_leases(self) -> None:
        data, is_held = self.pickled()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                alone = not leases._table.held and "entrepot-leases" not in threads()
                opened = values_of(pickle.loads(data))[0] == 7
                mine = ep.dumps(shareable(np.zeros(3), "host"), "share", hold=0.1)
                status = 0 if alone and opened and mine and leases.wait_until_opened(2) else 2
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert eventually_equal(is_held, False, seconds=1)

    def test_thread_that_cannot_start_leaves_no_socket(self, monkeypatch: Any) -> None:
        assert eventually_equal(lambda: "entrepot-leases" in threads(), False, seconds=2)
        files = len(open_files())

        def fail(thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", fail)
            with pytest.raises(RuntimeError, match="can't start"):
                self.pickled()
        assert leases._table.socket is None
        assert not leases._table.held
        assert len(open_files()) <= files + 1, "the sender's socket stays"
        _, is_held = self.pickled(hold=0.2)
        assert eventually_equal(is_held, False, seconds=1), "the next lease has a thread"

    def test_receiver_does_not_stall_on_a_full_queue(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as busy:
            busy.bind(b"\0entrepot-test." + os.urandom(8))
            lease = leases.Lease(busy.getsockname(), bytes(16))
            start = time.monotonic()
            for _ in range(20):  # the kernel queues fewer
                leases.report(lease)
            assert time.monotonic() - start < 3

    @pytest.mark.skipif(os.getuid() != 0, reason="only root can run as another user")
    def test_report_of_another_user_changes_nothing(self) -> None:
        _, is_held = self.pickled()
        assert leases._table.socket
        lease = leases.Lease(leases._table.socket.getsockname(), next(iter(leases._table.held)))
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            leases.report(lease)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        time.sleep(0.1)
        assert is_held()
        leases.report(lease)
        assert eventually_equal(is_held, False, seconds=1), "the same report of this user counts"

    def test_owner_of_a_released_array_may_use_leases(self) -> None:
        """It runs any code, so no lock is held."""
        was_free: list[bool] = []

        class Owner(bytearray):
            def __del__(self) -> None:
                asking = threading.Thread(target=leases.wait_until_opened, args=(0,))
                asking.start()
                asking.join(2)
                was_free.append(not asking.is_alive())

        leases.report(leases.hold(ep.asarray(Owner(8)), 60))
        assert eventually_equal(lambda: was_free, [True], seconds=5)

    def test_failed_pickle_ends_its_leases(self) -> None:
        array = shareable(np.zeros(3), "host")
        with pytest.raises(Exception, match="pickle"):
            ep.dumps([array, lambda: 0], "share")
        assert leases.wait_until_opened(0)
        data = ep.dumps(array, "share")
        assert not leases.wait_until_opened(0)
        pickle.loads(data)

    def test_many_handles_leave_nothing(self, other: Other) -> None:
        def round_trip() -> None:
            data = ep.dumps(shareable(np.zeros(100), "host"), "share")
            other.run("pickle.loads(data); _ = None", data=data)

        mappings = shared_mappings()
        round_trip()
        assert leases.wait_until_opened(2)
        files = len(open_files())
        for _ in range(300):
            round_trip()
        assert eventually_equal(shared_mappings, mappings, seconds=1)
        assert len(open_files()) <= files

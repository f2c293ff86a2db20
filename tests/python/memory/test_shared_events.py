"""Work that is pending on shared memory: another process waits for it in its queues."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

import pytest

import entrepot as ep
from support.other_process import Other, open_files
from support.pending_work import (
    FEW_TURNS,
    RESULT,
    forget_kernels,
    prepared,
    slow_kernel,
    start,
    warm_up,
    zeros,
)
from support.places import values_of

np = pytest.importorskip("numpy")
# The work takes a second. Beside other tests, the statements of two processes may take longer.
pytestmark = [pytest.mark.numpy, pytest.mark.alone]

HOST = pytest.param("host", marks=pytest.mark.host)
CUDA = pytest.param("cuda:0", marks=pytest.mark.cuda)
SIZE = 1 << 22  # the calling thread itself makes smaller copies
every_device = pytest.mark.parametrize("device", [HOST, CUDA])


@pytest.fixture
def maker(device: str) -> Iterator[Other]:
    process = prepared(device)
    yield process
    process.kill()


@pytest.fixture
def opener(device: str) -> Iterator[Other]:
    process = prepared(device)
    yield process
    process.end()


@every_device
class TestOrder:
    def test_opener_waits_in_its_queue(self, device: str, opener: Other) -> None:
        warm_up(device)
        array = zeros(device)
        done = start(array)
        handle = array.share()
        assert handle.has_event, handle.host_wait
        assert handle.host_wait == ""
        assert not opener.run(
            """
            opened = handle.open()
            copied = ep.empty(2, "int32", device=device)
            event = ep.copy(copied, opened)
            _ = event.done
            """,
            handle=handle,
        )
        assert not done.done, "neither process has waited on the host"
        assert opener.run("event.wait(); _ = copied.copy_to_host().numpy().tolist()[0]") == 42

    def test_host_of_opener_waits_where_it_reads(self, device: str, opener: Other) -> None:
        warm_up(device)
        array = zeros(device)
        done = start(array)
        handle = array.share()
        assert not done.done
        seen = opener.run("_ = handle.open().copy_to_host().numpy().tolist()[0]", handle=handle)
        assert seen == RESULT

    def test_opened_memory_is_ordered_in_the_same_process(self, device: str) -> None:
        warm_up(device)
        array = zeros(device)
        done = start(array)
        opened = array.share().open()
        copied = ep.empty(2, "int32", device=device)
        event = ep.copy(copied, opened, queue=ep.Queue(device))
        assert not event.done
        assert not done.done
        assert values_of(copied).tolist()[0] == RESULT

    def test_write_of_opener_waits_for_reads(self, device: str, opener: Other) -> None:
        warm_up(device)
        array, copied = zeros(device, SIZE), zeros(device, SIZE)
        queue = ep.Queue(device)
        start(copied, queue)  # which the copy waits for
        read = ep.copy(copied, array, queue=queue)
        assert not read.done
        handle = array.share()
        assert handle.has_event, handle.host_wait
        opener.run("event = ep.fill(handle.open(), 7); _ = None", handle=handle)
        assert not read.done
        assert opener.run("event.wait(); _ = None") is None
        assert not values_of(copied).any(), "the opener wrote before the read"
        assert (values_of(array) == 7).all()

    def test_receiver_of_read_only_array_waits_for_no_reads(
        self, device: str, opener: Other
    ) -> None:
        warm_up(device)
        array, busy = zeros(device, SIZE), zeros(device, SIZE)
        queue = ep.Queue(device)
        start(busy, queue)
        read = ep.copy(busy, array, queue=queue)
        handle = array.broadcast_to(array.shape).share()
        assert not handle.has_event
        seen = opener.run("_ = handle.open()[:2].copy_to_host().numpy().tolist()", handle=handle)
        assert seen == [0, 0]
        assert not read.done
        read.wait()

    def test_handle_is_opened_by_several(self, device: str, opener: Other, maker: Other) -> None:
        """By two processes, each more than once, and passed on by the first."""
        handle, passed = maker.run(
            "array = zeros(device); done = start(array); _ = array.share(), array.share()"
        )
        assert bytes(handle) == bytes(passed), "one event stands for the same work"
        source = """
            opened = [handle.open() for _ in range(3)]
            copied = ep.zeros((3, 2), "int32", device=device)
            for i in range(3): event = ep.copy(copied[i], opened[i])
            onward = opened[0].share()
            _ = onward, event.done
        """
        onward, is_done = opener.run(source, handle=handle)
        assert not is_done
        assert onward.has_event
        opened = onward.open()
        assert opener.run("_ = copied.copy_to_host().numpy()[:, 0].tolist()") == [RESULT] * 3
        assert values_of(opened).tolist()[0] == RESULT

    def test_several_queues_are_waited_for(self, device: str, opener: Other) -> None:
        warm_up(device)
        array = zeros(device, 4)
        events = [start(array[at : at + 2], ep.Queue(device)) for at in (0, 2)]
        handle = array.share()
        seen = opener.run("_ = handle.open().copy_to_host().numpy().tolist()", handle=handle)
        assert [seen[0], seen[2]] == [RESULT, RESULT]
        assert all(event.done for event in events)

    def test_handle_without_pending_work_has_no_event(self, device: str) -> None:
        handle = zeros(device).share()
        assert not handle.has_event
        assert handle.host_wait == ""

    def test_event_of_a_pickle_orders_the_receiver(self, device: str, opener: Other) -> None:
        warm_up(device)
        array = zeros(device)
        done = start(array)
        data = ep.dumps(array, "share")
        assert not done.done
        opener.run(
            """
            copied = ep.empty(2, "int32", device=device)
            event = ep.copy(copied, pickle.loads(data))
            _ = None
            """,
            data=data,
        )
        assert opener.run("event.wait(); _ = copied.copy_to_host().numpy().tolist()[0]") == 42


@every_device
class TestLifetime:
    def test_many_handles_leave_nothing(self, device: str, opener: Other) -> None:
        warm_up(device)
        count = 10_000 if device == "host" else 2_000
        turns = 5 * FEW_TURNS
        array, queue = zeros(device), ep.Queue(device)
        source = """
            import os
            for _ in range(count // 10): ep.copy(copied, handle.open(), queue=queue)
            _ = len(os.listdir("/proc/self/fd")), open("/proc/self/maps").read().count("ep-events")
        """
        opener.run("queue = ep.Queue(device); copied = ep.empty(2, 'int32', device=device)")

        def share_and_open() -> tuple[int, Any]:
            for _ in range(10):
                done = start(array, queue, turns=turns)
                for _ in range(count // 10):
                    handle = array.share()
                assert handle.has_event, handle.host_wait
                done.wait()
                seen = opener.run(source, handle=handle, count=count)
            opener.run("queue.wait(); memory.trim(); _ = None")
            return len(open_files()), seen

        first = share_and_open()
        files, (others, mappings) = share_and_open()
        assert files <= first[0] + 1
        assert others <= first[1][0] + 1
        assert mappings <= 1

    def test_memory_may_be_dropped_while_its_work_is_pending(
        self, device: str, opener: Other
    ) -> None:
        warm_up(device)
        array = zeros(device)
        done = start(array)
        opener.run("opened = handle.open(); _ = None", handle=array.share())
        del array
        assert opener.run("_ = opened.copy_to_host().numpy().tolist()[0]") == 42
        assert done.done

    def test_opener_may_drop_memory_before_the_work_is_done(
        self, device: str, opener: Other
    ) -> None:
        warm_up(device)
        array = zeros(device)
        done = start(array)
        opener.run("opened = handle.open(); del opened; _ = None", handle=array.share())
        assert not done.done, "dropping the memory has not waited"
        assert values_of(array).tolist()[0] == RESULT


@every_device
class TestEndOfMaker:
    def test_killed_maker_is_reported(self, device: str, maker: Other, opener: Other) -> None:
        """The opener neither hangs nor reads memory as if the work were done."""
        handle = maker.run("array = zeros(device); done = start(array); _ = array.share()")
        opener.run("opened = handle.open(); _ = None", handle=handle)
        maker.kill()
        begin = time.monotonic()
        source = "_ = opened.copy_to_host().numpy().tolist()[0]"
        try:
            seen = opener.run(source)
        except RuntimeError as error:
            message = (
                f"DeviceError: process {maker.process.pid}, which shared this memory, ended before"
            )
            assert message in str(error)
        else:  # a driver may end the work of a process as if it were done
            assert device != "host"
            assert seen in (0, RESULT)
        assert time.monotonic() - begin < 5
        with pytest.raises(RuntimeError, match=r"ExchangeError: .*has ended"):
            opener.run("handle.open()")

    def test_maker_that_ends_after_its_work_is_no_error(
        self, device: str, maker: Other, opener: Other
    ) -> None:
        handle = maker.run("array = zeros(device); done = start(array); _ = array.share()")
        opener.run("opened = handle.open(); _ = None", handle=handle)
        maker.run("array.queue.wait(); _ = None")  # with the event, which follows the work
        maker.kill()
        assert opener.run("_ = opened.copy_to_host().numpy().tolist()[0]") == 42

    def test_process_that_exits_ends_its_work_first(
        self, device: str, maker: Other, opener: Other
    ) -> None:
        handle = maker.run("array = zeros(device); done = start(array); _ = array.share()")
        opener.run("opened = handle.open(); _ = None", handle=handle)
        maker.end()
        assert maker.process.returncode == 0
        assert opener.run("_ = opened.copy_to_host().numpy().tolist()[0]") == RESULT


def _share_pending_work(connection: Connection) -> None:
    array = zeros("host")
    start(array)
    connection.send(array.share())


@pytest.mark.host
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_child_of_multiprocessing_waits_for_its_work(method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    child = context.Process(target=_share_pending_work, args=(theirs,))
    child.start()
    opened = ours.recv().open()
    child.join()
    assert child.exitcode == 0
    assert opened.numpy()[0] == RESULT


@pytest.mark.host
class TestHost:
    @pytest.fixture
    def device(self) -> str:
        return "host"

    def test_queue_that_waits_for_a_killed_maker_fails(self, maker: Other, opener: Other) -> None:
        handle = maker.run("array = zeros(device); done = start(array); _ = array.share()")
        assert not opener.run(
            """
            queue = ep.Queue("host")
            copied = ep.empty(2, "int32", device="host")
            event = ep.copy(copied, handle.open(), queue=queue)
            _ = event.done
            """,
            handle=handle,
        )
        maker.kill()
        with pytest.raises(RuntimeError, match=r"DeviceError: .*ended before its pending work"):
            opener.run("queue.wait()")

    def test_child_of_killed_maker_hides_no_end(self, maker: Other, opener: Other) -> None:
        """The child has the maker's files, and would hold its lock."""
        handle, child = maker.run(
            """
            array = zeros(device)
            done = start(array)
            handle = array.share()
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            _ = handle, child
            """
        )
        opener.run("opened = handle.open(); _ = None", handle=handle)
        maker.kill()
        begin = time.monotonic()
        try:
            with pytest.raises(RuntimeError, match="ended before its pending work"):
                opener.run("opened.copy_to_host()")
            assert time.monotonic() - begin < 5
        finally:
            os.kill(child, 9)

    def test_forked_child_waits_for_its_parent(self) -> None:
        warm_up("host")
        array = zeros("host")
        done = start(array, ep.Queue("host"))
        handle = array.share()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                opened = handle.open()
                code = 0 if opened.copy_to_host().numpy().tolist()[0] == RESULT else 2
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert done.done

    def test_forked_child_shares_pending_work_of_its_own(self) -> None:
        warm_up("host")
        start(zeros("host")).wait()
        zeros("host").share()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                array = zeros("host")
                start(array, ep.Queue("host"))
                os.write(writing, bytes(array.share()))
                time.sleep(60)
            finally:
                os._exit(1)
        try:
            handle = ep.ArrayHandle(os.read(reading, 1 << 16))
            assert handle.has_event, handle.host_wait
            assert values_of(handle.open()).tolist()[0] == RESULT
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)
            os.close(reading)
            os.close(writing)

    def test_more_pending_events_than_words_wait_on_the_host(self) -> None:
        warm_up("host")
        busy, queue = zeros("host"), ep.Queue("host")
        array = zeros("host")
        done = start(busy, queue)
        waits = ""
        for _ in range(1100):
            slow_kernel("host")[1](array, ep.Scalar(1, "int64"), queue=queue)
            waits = array.share().host_wait
            if waits:
                break
        assert "events of 1023 shared arrays are pending" in waits
        assert done.done
        forget_kernels()  # this one is quick now, as the host sees it
        start(array, queue)
        again = array.share()
        assert again.has_event, "the words are free again"
        assert again.host_wait == ""

    def test_forged_event_is_refused(self) -> None:
        warm_up("host")
        array = zeros("host")
        done = start(array)
        good = bytes(array.share())
        opened = 0
        for place in range(len(good)):
            for flip in (0x01, 0x80, 0xFF):
                bad = bytearray(good)
                bad[place] ^= flip
                try:
                    ep.ArrayHandle(bytes(bad)).open()
                    opened += 1
                except (ep.EntrepotError, ValueError, OverflowError):
                    pass
        assert opened < 400
        done.wait()

    def test_waiting_for_another_process_releases_the_gil(
        self, maker: Other, opener: Other
    ) -> None:
        handle = maker.run("array = zeros(device); done = start(array); _ = array.share()")
        turns = opener.run(
            """
            import threading
            turns, ended = [], threading.Event()
            def count():
                while not ended.is_set():
                    turns.append(1)
                    time.sleep(0.005)
            thread = threading.Thread(target=count)
            opened = handle.open()
            thread.start()
            opened.copy_to_host()
            ended.set()
            thread.join()
            _ = len(turns)
            """,
            handle=handle,
        )
        assert turns > 10


@pytest.mark.cuda
class TestCuda:
    @pytest.fixture
    def device(self) -> str:
        return "cuda:0"

    @pytest.mark.torch
    def test_torch_after_opened_memory_is_ordered(self, opener: Other) -> None:
        """The next operation of a library, on its own stream."""
        warm_up("cuda:0")
        # CUDA loads the code of an operation at its first use, and waits for the context then.
        opener.run(
            "import torch\n"
            "(torch.zeros(2, device='cuda', dtype=torch.int32) * 2).cpu()\n"
            "stream = torch.cuda.Stream()\n_ = None"
        )
        array = zeros("cuda:0")
        done = start(array)
        handle = array.share()
        opener.run(
            """
            with torch.cuda.stream(stream):
                tensor = torch.from_dlpack(handle.open())
                result = tensor * 2
            _ = None
            """,
            handle=handle,
        )
        assert not done.done, "the opener has not waited on the host"
        assert opener.run("stream.synchronize(); _ = result.tolist()[0]") == 84

    @pytest.mark.torch
    def test_work_of_torch_is_shared_as_an_event(self, opener: Other) -> None:
        import torch

        warm_up("cuda:0")
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            tensor = torch.zeros(1 << 20, device="cuda", dtype=torch.int32)
            tensor += 0
            ep.asarray(tensor).share()  # the first export of an allocation may wait for its device
            torch.cuda._sleep(1_000_000_000)
            tensor += RESULT
            handle = ep.asarray(tensor).share()
        assert handle.has_event, handle.host_wait
        assert not stream.query()
        opener.run(
            "copied = ep.empty(1 << 20, 'int32', device='cuda:0')\n"
            "event = ep.copy(copied, handle.open())\n_ = None",
            handle=handle,
        )
        assert not stream.query(), "neither process has waited on the host"
        seen = opener.run("_ = np.unique(copied.copy_to_host().numpy()).tolist()")
        assert seen == [RESULT]

    def test_more_events_than_are_pooled_cover_older_work(self, opener: Other) -> None:
        """Events are recorded again when all are pending."""
        warm_up("cuda:0")
        busy, queue = zeros("cuda:0"), ep.Queue("cuda:0")
        arrays = [zeros("cuda:0") for _ in range(100)]
        start(busy, queue)
        handles = []
        for value, array in enumerate(arrays):
            ep.fill(array, value, queue=queue)
            handles.append(array.share())
        assert all(handle.has_event for handle in handles)
        seen = opener.run(
            "_ = [h.open().copy_to_host().numpy().tolist() for h in handles]", handles=handles
        )
        assert seen == [[value, value] for value in range(100)]

    def test_host_memory_with_work_of_a_device_waits_on_the_host(self) -> None:
        warm_up("cuda:0")
        array = zeros("host")
        view = ep.pin(array, device="cuda:0")
        done = start(view)
        handle = array.share()
        assert "work of another backend" in handle.host_wait
        assert done.done

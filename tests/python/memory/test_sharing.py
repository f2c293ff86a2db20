"""Memory shared between processes: contents, lifetime, refusals, and cleanup after a crash."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import multiprocessing
import os
import pickle
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import entrepot as ep
from entrepot import memory
from support.other_process import (
    TIMEOUT,
    Other,
    is_shared_at,
    open_files,
    shareable,
    shared_mappings,
)
from support.places import values_of

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.numpy

HOST = pytest.param("host", marks=pytest.mark.host)
CUDA = pytest.param("cuda:0", marks=pytest.mark.cuda)
SECOND = pytest.param("cuda:1", marks=pytest.mark.two_cuda)  # which is not the current device
every_device = pytest.mark.parametrize("device", [HOST, CUDA, SECOND])


@every_device
class TestSharedMemory:
    def test_writes_are_seen_on_both_sides(self, device: str, other: Other) -> None:
        array = shareable(np.arange(12, dtype="int32").reshape(3, 4), device)
        seen = other.run(
            "array = handle.open(); _ = array.copy_to_host().numpy()", handle=array.share()
        )
        np.testing.assert_array_equal(seen, np.arange(12).reshape(3, 4))
        other.run("ep.fill(array[1], 77).wait(); _ = None")
        assert values_of(array)[1].tolist() == [77] * 4
        ep.fill(array[2], 5).wait()
        assert other.run("_ = array.copy_to_host().numpy()[2].tolist()") == [5] * 4

    @pytest.mark.parametrize(
        "index",
        [np.s_[...], np.s_[1:, ::2], np.s_[::-1, 3], np.s_[2:2], np.s_[1, 2]],
        ids=["whole", "sliced", "reversed", "empty", "0-d"],
    )
    def test_shared_array_keeps_layout_and_dtype(
        self, device: str, other: Other, index: Any
    ) -> None:
        base = np.arange(24, dtype="float16").reshape(4, 6)
        array = shareable(base, device)[index]
        handle = array.share()
        assert (handle.shape, str(handle.dtype), handle.kind) == (
            array.shape,
            "float16",
            array.kind,
        )
        found = other.run(
            "array = handle.open(); _ = (array.shape, array.strides, str(array.dtype), "
            "array.copy_to_host().numpy())",
            handle=handle,
        )
        assert found[:3] == (array.shape, array.strides, "float16")
        np.testing.assert_array_equal(found[3], base[index])

    @pytest.mark.parametrize("dtype", ["bool", "complex64", "bfloat16", "float8_e4m3fn"])
    def test_shared_array_keeps_dtype(self, device: str, other: Other, dtype: str) -> None:
        with memory.use_resource(memory.shareable()):
            array = ep.empty(16, dtype, device=device)
        ep.copy(array.view("uint8"), np.arange(array.nbytes, dtype="uint8") % 2).wait()
        found = other.run(
            "a = handle.open(); _ = (str(a.dtype), "
            "a.view('uint8').copy_to_host().numpy().tolist())",
            handle=array.share(),
        )
        assert found == (dtype, [0, 1] * (array.nbytes // 2))

    def test_shared_array_keeps_read_only_flag(self, device: str, other: Other) -> None:
        array = shareable(np.zeros((2, 3), "int8"), device)
        handle = array.broadcast_to((4, 2, 3)).share()
        assert handle.read_only
        assert other.run(
            "array = handle.open(); _ = (array.read_only, array.strides)", handle=handle
        ) == (True, (0, 3, 1))
        with pytest.raises(RuntimeError, match=r"ValueError: .*read-only"):
            other.run("ep.fill(array, 1)")

    def test_share_waits_for_pending_work(self, device: str, other: Other) -> None:
        array = shareable(np.zeros(1 << 22, "int32"), device)
        queue = ep.Queue(device)
        for value in range(400):
            ep.fill(array, value, queue=queue)
        seen = other.run(
            "_ = np.unique(handle.open().copy_to_host().numpy()).tolist()", handle=array.share()
        )
        assert seen == [399]

    def test_handle_is_opened_repeatedly(self, device: str, other: Other) -> None:
        array = shareable(np.arange(5), device)
        handle = array.share()
        assert bytes(array.share()) == bytes(handle), "one memory has one name"
        other.run(
            "arrays = [handle.open() for _ in range(3)]; ep.fill(arrays[0], 9).wait(); _ = None",
            handle=handle,
        )
        assert (
            other.run("del arrays[0]; _ = [a.copy_to_host().numpy().tolist() for a in arrays]")
            == [[9] * 5] * 2
        )
        here = [handle.open() for _ in range(2)]
        assert len({array.data_ptr, *(each.data_ptr for each in here)}) == 3
        ep.fill(here[0], 4).wait()
        assert values_of(array).tolist() == values_of(here[1]).tolist() == [4] * 5

    def test_opened_memory_can_be_shared_again(self, device: str, other: Other) -> None:
        array = shareable(np.arange(6), device)
        other.run("array = handle.open()[1:4]; _ = None", handle=array.share())
        onward = other.run("_ = array.share()")
        assert values_of(onward.open()).tolist() == [1, 2, 3]

    def test_opened_memory_is_exchanged_by_dlpack(self, device: str, other: Other) -> None:
        array = shareable(np.arange(6.0), device)
        found = other.run("view = ep.from_dlpack(handle.open()); _ = (view.kind, "
            "view.copy_to_host().numpy().tolist())",
                          handle=array.share())  # fmt: skip
        assert found == (array.kind, [0, 1, 2, 3, 4, 5])

    def test_handle_round_trips_as_bytes(self, device: str, other: Other) -> None:
        array = shareable(np.arange(4), device)
        data = bytes(array.share())
        assert other.run(
            "_ = ep.ArrayHandle(data).open().copy_to_host().numpy().tolist()", data=data
        ) == [0, 1, 2, 3]
        assert bytes(ep.ArrayHandle(data)) == data
        assert repr(ep.ArrayHandle(data)) == repr(array.share())
        assert f"process {os.getpid()}" in repr(array.share())


@every_device
class TestLifetime:
    def test_memory_outlives_the_sharing_process(self, device: str) -> None:
        owner = Other()
        handle = owner.run(
            """
            with memory.use_resource(memory.shareable()):
                array = ep.empty(1000, "int16", device=device)
            ep.fill(array, 321).wait()
            _ = array.share()
            """,
            device=device,
        )
        assert handle.process == owner.process.pid
        array = handle.open()
        owner.kill()
        assert (values_of(array) == 321).all()
        ep.fill(array, 5).wait()
        assert (values_of(array) == 5).all()
        with pytest.raises(
            ep.ExchangeError,
            match=f"process {owner.process.pid}, which shared it, cannot be reached: it has ended",
        ):
            handle.open()

    def test_memory_outlives_the_shared_array(self, device: str, other: Other) -> None:
        array = shareable(np.full(100, 7), device)
        other.run("array = handle.open(); _ = None", handle=array.share())
        del array
        gc.collect()
        assert other.run("_ = set(array.copy_to_host().numpy().tolist())") == {7}

    def test_released_memory_cannot_be_opened(self, device: str, other: Other) -> None:
        array = shareable(np.full(100, 7), device)
        handle = array.share()
        data = bytes(handle)
        del array
        assert (values_of(handle.open()) == 7).all(), (
            "the handle keeps the memory in the process that shared it"
        )
        del handle
        gc.collect()
        with pytest.raises(
            RuntimeError,
            match=f"ExchangeError: .*process {os.getpid()} has released the memory of this handle",
        ):
            other.run("ep.ArrayHandle(data).open()", data=data)

    def test_memory_is_kept_until_the_work_on_it_is_done(self, device: str) -> None:
        handle = shareable(np.zeros(1 << 22, "int64"), device).share()
        queue = ep.Queue(device)
        for value in range(20):
            ep.fill(handle.open(), value, queue=queue)
        queue.wait()
        assert (values_of(handle.open()) == 19).all()

    def test_shared_memory_is_freed_after_release(self, device: str, other: Other) -> None:
        """On the host these are mappings and files; for a device see TestCuda."""

        def share_once() -> None:
            other.run("handle.open(); _ = None", handle=shareable(np.zeros(1000), device).share())

        share_once()  # a device's context has files of its own
        before = (open_files(), shared_mappings())
        for _ in range(20):
            share_once()
        gc.collect()
        files, mappings = open_files(), shared_mappings()
        assert len(files) <= len(before[0]) + 1, "the socket stays"
        assert mappings == before[1]
        count = (
            "import os; _ = [os.readlink(f'/proc/self/fd/{n}') for n in "
            "os.listdir('/proc/self/fd') if "
            "os.path.islink(f'/proc/self/fd/{n}')].count('/memfd:entrepot (deleted)')"
        )
        assert other.run(count) == 0


def shm() -> set[str]:
    """Named shared memory of Entrepot: there must be none. Other processes' names may change."""
    return (
        {name for name in os.listdir("/dev/shm") if "entrepot" in name}
        if os.path.isdir("/dev/shm")
        else set()
    )


@pytest.mark.host
class TestCrashes:
    # measures the whole machine, which runs other programs as well
    @pytest.mark.alone
    def test_killed_owner_leaks_nothing(self) -> None:
        half = shared_memory() + (1 << 27)
        owner = Other()
        handle = owner.run(
            """
            with memory.use_resource(memory.shareable()):
                array = ep.empty(1 << 28, "uint8", device="host")
            ep.fill(array, 1).wait()
            _ = array.share()
            """
        )
        array = handle.open()
        assert shared_memory() > half
        owner.kill()
        assert values_of(array[:10]).tolist() == [1] * 10
        address = array.data_ptr
        assert is_shared_at(address)
        del array
        gc.collect()
        assert not is_shared_at(address)
        assert shared_memory() < half, "the pages are freed with the last mapping"
        assert not shm()

    def test_killed_opener_leaks_nothing(self) -> None:
        files = len(open_files())
        array = shareable(np.arange(1 << 20), "host")
        other = Other()
        other.run("array = handle.open(); _ = None", handle=array.share())
        other.kill()
        assert values_of(array[-3:]).tolist() == [(1 << 20) - 3, (1 << 20) - 2, (1 << 20) - 1]
        address = array.data_ptr
        assert is_shared_at(address)
        del array
        gc.collect()
        other.end()
        assert (shm(), is_shared_at(address)) == (set(), False)
        assert len(open_files()) <= files + 1

    def test_owner_killed_during_a_request_is_reported(self) -> None:
        for _ in range(5):
            owner = Other()
            handle = owner.run(
                """
                with memory.use_resource(memory.shareable()):
                    array = ep.zeros(100, "uint8", device="host")
                _ = array.share()
                """
            )
            threading.Timer(0.01, owner.kill).start()
            deadline = time.monotonic() + TIMEOUT
            with pytest.raises(ep.ExchangeError, match=r"cannot be reached|closed the connection"):
                while time.monotonic() < deadline:
                    handle.open()

    def test_stopped_owner_times_out(self) -> None:
        owner = Other()
        handle = owner.run(
            "with memory.use_resource(memory.shareable()):\n    array = ep.zeros(100, 'uint8', "
            "device='host')\n_ = array.share()"
        )
        owner.process.send_signal(signal.SIGSTOP)
        while not has_stopped(owner.process.pid):
            time.sleep(0.01)
        try:
            with pytest.raises(ep.ExchangeError, match="did not answer within 10 seconds"):
                handle.open()
        finally:
            owner.process.send_signal(signal.SIGCONT)
        assert values_of(handle.open()).tolist() == [0] * 100
        owner.end()

    def test_idle_clients_delay_no_opener(self, other: Other) -> None:
        array = shareable(np.arange(3), "host")
        handle = array.share()
        with contextlib.ExitStack() as stack:
            for _ in range(100):
                stack.enter_context(socket.socket(socket.AF_UNIX)).connect(server_name(os.getpid()))
            start = time.monotonic()
            assert other.run(
                "_ = handle.open().copy_to_host().numpy().tolist()", handle=handle
            ) == [0, 1, 2]
            assert time.monotonic() - start < 2

    def test_idle_clients_are_disconnected(self) -> None:
        array = shareable(np.arange(3), "host")
        handle = array.share()
        files = len(open_files())
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(5)]
            for number, client in enumerate(clients):
                client.settimeout(TIMEOUT)
                client.connect(server_name(os.getpid()))
                client.sendall(bytes(3 * number))  # less than a ticket
            assert [client.recv(1) for client in clients] == [b""] * 5
        assert len(open_files()) == files
        assert handle.open().shape == (3,)

    def test_unknown_ticket_opens_nothing(self) -> None:
        array = shareable(np.arange(3), "host")
        array.share()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(server_name(os.getpid()))
            client.sendall(bytes(8))
            time.sleep(0.05)  # in two parts
            client.sendall(bytes(8))
            assert client.recv(10) == b"\0"


class Server:
    """A stand-in for a process's sender: answers the first client with bytes and files, or not
    at all."""

    def __init__(self, text: bytes = b"", files: list[int] | None = None) -> None:
        self.handle = shareable(np.arange(3), "host").share()
        self.good = bytes(self.handle)
        address = bytes.fromhex(server_name(os.getpid()).rpartition(".")[2])
        self.address = bytes(reversed(address))
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(f"\0entrepot.{os.getpid()}.{self.address.hex()}")
        self.socket.listen()
        self.forged = ep.ArrayHandle(self.good.replace(address, self.address))
        self.answer = (text, files or [])
        self.thread = threading.Thread(target=self.serve)
        self.delay = 0.0

    def serve(self) -> None:
        client, _ = self.socket.accept()
        with client:
            client.recv(16)
            time.sleep(self.delay)
            if self.answer[0]:
                socket.send_fds(client, [self.answer[0]], self.answer[1])

    def __enter__(self) -> Server:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.thread.join(TIMEOUT)
        self.socket.close()


@pytest.mark.host
class TestOpening:
    def test_signal_while_waiting_does_not_end_open(self) -> None:
        rung: list[int] = []
        before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
        file = os.memfd_create("test", os.MFD_ALLOW_SEALING)
        os.ftruncate(file, 4096)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        server = Server(b"\1", [file])
        server.delay = 0.5
        try:
            with server:
                signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
                opened = server.forged.open()
                signal.setitimer(signal.ITIMER_REAL, 0)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            os.close(file)
        assert values_of(opened).tolist() == [0, 0, 0]
        assert rung

    def test_handler_that_raises_ends_open(self) -> None:
        def ring(*_: object) -> None:
            raise InterruptedError("rung")

        before = signal.signal(signal.SIGALRM, ring)
        server = Server()
        server.delay = 3
        try:
            with server:
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                start = time.monotonic()
                with pytest.raises(InterruptedError, match="rung"):
                    server.forged.open()
                assert time.monotonic() - start < 2
        finally:
            signal.signal(signal.SIGALRM, before)

    @pytest.mark.parametrize("count", [2, 3, 100])
    def test_answer_with_several_files_leaks_none(self, count: int) -> None:
        reading, writing = os.pipe()
        server = Server(b"\1", [reading] * count)
        files = len(open_files())
        with server, pytest.raises(ValueError, match="not sealed"):
            server.forged.open()
        assert len(open_files()) == files - 1  # the server's socket
        os.close(reading)
        os.close(writing)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (b"", "closed the connection"),
            (b"\0", "has released the memory"),
            (b"\1", "cannot receive it"),
        ],
    )
    def test_answer_without_a_file_is_refused(self, text: bytes, message: str) -> None:
        with Server(text) as server, pytest.raises(ep.ExchangeError, match=message):
            server.forged.open()


def server_name(process: int) -> str:
    """Name of the abstract socket on which the process hands out its files."""
    lines = Path("/proc/net/unix").read_text().splitlines()
    (name,) = {line.split()[-1] for line in lines if f"@entrepot.{process}." in line}
    return "\0" + name[1:]


def has_stopped(process: int) -> bool:
    """True once all threads of the process have stopped, which takes a moment."""
    states = [
        stat.read_text().rpartition(")")[2].split()[0]
        for stat in Path(f"/proc/{process}/task").glob("*/stat")
    ]
    return set(states) == {"T"}


def shared_memory() -> int:
    """Bytes of shared memory that the machine has in use."""
    row = next(
        line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("Shmem:")
    )
    return int(row.split()[1]) << 10


@pytest.mark.host
class TestRefusals:
    def test_memory_of_pool_is_refused(self) -> None:
        with pytest.raises(
            ep.ExchangeError, match=r"resource 'pool'.*entrepot\.memory\.shareable\(\)"
        ):
            ep.empty(100, "uint8", device="host").share()

    def test_memory_of_the_driver(self) -> None:
        with (
            memory.use_resource(memory.direct()),
            pytest.raises(ep.ExchangeError, match=r"'direct'.*shareable"),
        ):
            ep.empty(100, "uint8", device="host").share()

    def test_sharing_from_pool_is_refused(self) -> None:
        with (
            memory.use_resource(memory.pool(memory.shareable())),
            pytest.raises(ep.ExchangeError, match=r"'pool'.*shareable"),
        ):
            ep.empty(100, "uint8", device="host").share()

    @pytest.mark.parametrize("wrap",
        [lambda up: memory.limit(1 << 20, up), memory.statistics, memory.track,
                                      lambda up: memory.log(up, sink=print)])  # fmt: skip
    def test_observing_resources_do_not_affect_sharing(self, wrap: Any, other: Other) -> None:
        with memory.use_resource(wrap(memory.shareable())):
            array = ep.full(10, 3, "uint8", device="host")
        assert (
            other.run("_ = handle.open().copy_to_host().numpy().tolist()", handle=array.share())
            == [3] * 10
        )

    def test_borrowed_memory_is_refused(self) -> None:
        with pytest.raises(ep.ExchangeError, match=r"private to the process.*shareable"):
            ep.asarray(np.zeros(10)).share()

    def test_numpy_view_of_shareable_memory_is_shared(self, other: Other) -> None:
        array = shareable(np.arange(8), "host")
        view = array.numpy()[2:5]
        assert other.run(
            "_ = handle.open().copy_to_host().numpy().tolist()", handle=ep.asarray(view).share()
        ) == [2, 3, 4]

    @pytest.mark.sycl
    def test_memory_of_sycl(self) -> None:
        with pytest.raises(
            ep.DeviceError, match="opencl:cpu:0 lacks the aspect ext_oneapi_ipc_memory"
        ):
            with memory.use_resource(memory.shareable()):
                ep.empty(10, "uint8", device="opencl:cpu")
        with pytest.raises(ep.ExchangeError, match=r"'pool'.*shareable"):
            memory.MemoryUSMShared(100).share()

    @pytest.mark.dpctl
    @pytest.mark.sycl
    def test_memory_of_dpctl_is_refused_by_aspect(self) -> None:
        import dpctl.memory

        theirs = dpctl.memory.MemoryUSMDevice(100, queue=dpctl.SyclQueue("opencl:cpu"))
        with pytest.raises(ep.ExchangeError, match="lacks the aspect ext_oneapi_ipc_memory"):
            ep.asarray(theirs).share()

    def test_fabric_handle_of_host_memory_is_refused(self) -> None:
        with pytest.raises(ep.ExchangeError, match="on one machine"):
            shareable(np.zeros(3), "host").share(fabric=True)

    def test_alignment_of_a_page_is_accepted(self) -> None:
        with memory.use_resource(memory.shareable()):
            block = memory.MemoryUSMHost(100, alignment=4096, queue=ep.Queue("host"))
            assert block.nbytes == 100

    def test_arrays_are_still_not_pickled(self) -> None:
        with pytest.raises(TypeError):
            pickle.dumps(shareable(np.zeros(3), "host"))


@pytest.mark.host
class TestForgeries:
    def test_garbage_is_refused(self) -> None:
        for data in (b"", b"x", bytes(500), b"entrepot array handle 0\n" + bytes(300)):
            with pytest.raises(ValueError, match="no handle of an array"):
                ep.ArrayHandle(data)

    def test_corrupted_handle_does_not_crash(self) -> None:
        array = shareable(np.arange(6, dtype="int64").reshape(2, 3), "host")
        good = bytes(array.share())
        for length in range(len(good)):
            with pytest.raises(ValueError):
                ep.ArrayHandle(good[:length])
        with pytest.raises(ValueError, match="1 bytes too many"):
            ep.ArrayHandle(good + b"x")
        opened = 0
        for place in range(len(good)):
            for flip in (0x01, 0x80, 0xFF):
                bad = bytearray(good)
                bad[place] ^= flip
                try:
                    view = ep.ArrayHandle(bytes(bad)).open()
                    view.copy_to_host()
                    opened += 1
                except (ep.EntrepotError, ValueError, OverflowError):
                    pass
        assert opened < 300, "unchecked names are few"

    @pytest.mark.parametrize(
        ("shape", "strides", "offset"),
        [
            ((2, 600), None, 0),
            ((2, 3), (-3000, -1), 0),
            ((2, 3), (1 << 40, 1), 0),
            ((2, 3), None, 4080),
        ],
    )
    def test_elements_outside_the_memory_are_refused(
        self, shape: Any, strides: Any, offset: int
    ) -> None:
        import struct

        array = shareable(np.arange(6, dtype="int64").reshape(2, 3), "host")
        good = bytes(array.share())
        forged = good[: -4 * 8] + struct.pack("<4q", *shape, *(strides or (shape[1], 1)))
        place = good.index(b"host\1") + 5
        forged = forged[:place] + struct.pack("<Q", offset) + forged[place + 8 :]
        with pytest.raises(ValueError, match="reaches beyond its memory of 4096 bytes"):
            ep.ArrayHandle(forged).open()

    def test_handle_larger_than_its_file_is_refused(self) -> None:
        import struct

        array = shareable(np.arange(6), "host")
        good = bytes(array.share())
        with pytest.raises(ValueError, match="8192 bytes, and its file has 4096"):
            ep.ArrayHandle(good.replace(struct.pack("<Q", 4096), struct.pack("<Q", 8192))).open()


def answer(handle: ep.ArrayHandle, answers: Any) -> None:
    array = handle.open()
    answers.put(array.copy_to_host().numpy().sum())
    ep.fill(array, 1).wait()


def produce(handles: Any, leave: Any, device: str) -> None:
    array = shareable(np.arange(10), device)
    handles.put(array.share())
    leave.get(timeout=TIMEOUT)


@pytest.mark.host
class TestMultiprocessing:
    @pytest.mark.parametrize(
        ("method", "device"),
        [
            *((method, "host") for method in ("spawn", "forkserver", "fork")),
            # CUDA does not survive a fork, but the fork server has not used it.
            *(
                pytest.param(method, "cuda:0", marks=pytest.mark.cuda)
                for method in ("spawn", "forkserver")
            ),
        ],
    )
    def test_handles_are_passed_between_processes(self, method: str, device: str) -> None:
        context: Any = multiprocessing.get_context(method)
        array = shareable(np.arange(10), device)
        answers = context.Queue()
        worker = context.Process(target=answer, args=(array.share(), answers))
        worker.start()
        assert answers.get(timeout=TIMEOUT) == 45
        worker.join(TIMEOUT)
        assert values_of(array).tolist() == [1] * 10

        leave, handles = context.Queue(), context.Queue()
        worker = context.Process(target=produce, args=(handles, leave, device))
        worker.start()
        opened = handles.get(timeout=TIMEOUT).open()
        leave.put(None)
        worker.join(TIMEOUT)
        assert worker.exitcode == 0
        assert values_of(opened).tolist() == list(range(10))

    def test_forked_child_can_share_inherited_memory(self) -> None:
        array = shareable(np.arange(4), "host")
        handle = array.share()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                own = array.share()
                assert own.process == os.getpid()
                assert bytes(own) != bytes(handle)
                assert values_of(handle.open()).tolist() == [0, 1, 2, 3], (
                    "the parent answers for what it shared"
                )
                ep.fill(array[1:2], 50).wait()
                os.write(writing, bytes(own))
                time.sleep(TIMEOUT)
            finally:
                os._exit(1)
        try:
            opened = ep.ArrayHandle(os.read(reading, 1 << 16)).open()
            assert values_of(opened).tolist() == values_of(array).tolist() == [0, 50, 2, 3]
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)
            os.close(writing)
        assert values_of(opened).tolist() == [0, 50, 2, 3]

    def test_threads_share_and_open_at_once(self, other: Other) -> None:
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for _ in range(30):
                    array = shareable(np.full(50, number), "host")
                    assert (values_of(array.share().open()) == number).all()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(TIMEOUT)
        assert not failures


@pytest.mark.cuda
class TestCuda:
    def test_sharing_from_driver_pool_is_refused(self) -> None:
        with pytest.raises(
            ep.ExchangeError, match=r"resource 'pool'.*entrepot\.memory\.shareable\(\)"
        ):
            ep.empty(100, "uint8", device="cuda:0").share()

    @pytest.mark.parametrize("kind", ["host", "shared"])
    def test_pinned_and_managed_memory_refuse(self, kind: str) -> None:
        with (
            memory.use_resource(memory.shareable()),
            pytest.raises(ep.DeviceError, match="only device memory can be shared"),
        ):
            ep.empty(100, "uint8", device="cuda:0", kind=kind)

    def test_killed_opener_leaks_no_device_memory(self) -> None:
        nbytes = 1 << 30
        array = shareable(np.zeros(nbytes // 8), "cuda:0")
        other = Other()
        before = other.run("import ctypes\n" + FREE + "_ = free()")
        other.run("array = handle.open(); _ = None", handle=array.share())
        assert abs(other.run("_ = free()") - before) < nbytes // 2, (
            "opening takes no second gigabyte"
        )
        other.kill()
        watcher = Other()
        with_array = watcher.run(
            "import ctypes\nep.zeros(1, 'uint8', device='cuda:0')\n" + FREE + "_ = free()"
        )
        del array
        gc.collect()
        memory.trim()
        assert watcher.run("_ = free()") - with_array > nbytes * 0.9
        watcher.end()

    @pytest.mark.alone  # measures the whole device, which other programs use as well
    @pytest.mark.parametrize("device", [CUDA, SECOND])
    def test_killed_owner_leaks_no_device_memory(self, device: str) -> None:
        nbytes = 1 << 30
        owner, watcher = Other(), Other()
        free = (
            "import ctypes\nep.zeros(1, 'uint8', device=device)\n"
            + FREE
            + "_ = free(int(device[-1]))"
        )
        handle = owner.run(
            """
            with memory.use_resource(memory.shareable()):
                array = ep.empty(nbytes, "uint8", device=device)
            ep.fill(array, 3).wait()
            _ = array.share()
            """,
            nbytes=nbytes,
            device=device,
        )
        array = handle.open()
        owner.kill()
        with_array = watcher.run(free, device=device)
        assert values_of(array[-10:]).tolist() == [3] * 10
        del array
        gc.collect()
        memory.trim()
        assert watcher.run(free, device=device) - with_array > nbytes * 0.9, (
            "the memory is freed with the last handle"
        )
        watcher.end()
        owner.end()

    @pytest.mark.alone
    @pytest.mark.parametrize("device", [CUDA, SECOND])
    def test_shared_device_memory_is_freed_after_release(self, device: str) -> None:
        nbytes = 256 << 20
        other = Other()
        free = (
            "import ctypes\nep.zeros(1, 'uint8', device=device)\n"
            + FREE
            + "_ = free(int(device[-1]))"
        )
        values_of(shareable(np.zeros(10), device))
        before = other.run(free, device=device)
        for _ in range(8):
            array = shareable(np.zeros(nbytes, "uint8"), device)
            other.run("handle.open(); _ = None", handle=array.share())
            del array
        gc.collect()
        memory.trim()
        assert before - other.run("memory.trim()\n" + free, device=device) < nbytes, (
            "the rounds leave their memory"
        )
        other.end()

    @staticmethod
    def as_the_driver_says(other: Other, handle: Any) -> Any:
        tell = """
            array = handle.open()
            class Speaker:
                __cuda_array_interface__ = array.__cuda_array_interface__
            again = ep.asarray(Speaker())
            _ = (
                str(again.device),
                again.kind,
                again.data_ptr == array.data_ptr,
                again.copy_to_host().numpy().tolist(),
            )
        """
        found = other.run(tell, handle=handle)
        other.run("del array, again, Speaker; _ = None")
        return found

    def test_opened_memory_has_the_drivers_device(self, other: Other) -> None:
        """Memory shared by files of virtual memory, imported as another library's."""
        found = self.as_the_driver_says(other, shareable(np.arange(6), "cuda:0").share())
        assert found == ("cuda:0", "device", True, [0, 1, 2, 3, 4, 5])

    @pytest.mark.torch
    def test_opened_torch_memory_has_the_drivers_device(self, other: Other) -> None:
        """Memory shared by the driver's own handles."""
        import torch

        tensor = torch.arange(6, device="cuda")
        torch.cuda.synchronize()
        found = self.as_the_driver_says(other, ep.asarray(tensor)[2:].share())
        assert found == ("cuda:0", "device", True, [2, 3, 4, 5])

    def test_fabric_handle_is_opened_or_refused(self) -> None:
        array = shareable(np.arange(3), "cuda:0")
        try:
            handle = array.share(fabric=True)
        except ep.ExchangeError as refusal:
            assert "fabric handles" in str(refusal)
        else:
            other = Other()
            assert other.run(
                "_ = handle.open().copy_to_host().numpy().tolist()", handle=handle
            ) == [0, 1, 2]
            other.end()

    def test_handle_of_invisible_device_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        array = shareable(np.arange(3), "cuda:0")
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
        blind = Other()
        with pytest.raises(RuntimeError, match="DeviceError"):
            blind.run("handle.open()", handle=array.share())
        blind.end()

    @pytest.mark.torch
    def test_memory_of_torch_is_shared_by_the_driver(self, other: Other) -> None:
        import torch

        tensor = torch.arange(10, device="cuda", dtype=torch.int32)
        torch.cuda.synchronize()
        handle = ep.asarray(tensor)[2:5].share()
        seen = other.run(
            "array = handle.open(); _ = array.copy_to_host().numpy().tolist()", handle=handle
        )
        assert seen == [2, 3, 4]
        other.run("again = handle.open(); ep.fill(again, 70).wait(); del again, array; _ = None")
        assert tensor.tolist() == [0, 1, 70, 70, 70, 5, 6, 7, 8, 9]
        with pytest.raises(ep.ExchangeError, match="this process shared it"):
            handle.open()

    @pytest.mark.torch
    def test_expandable_segments_of_torch_are_shared(self) -> None:
        """64 MiB, which PyTorch maps in several allocations."""
        owner = Other(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
        handle = owner.run(
            """
            import torch
            tensor = torch.arange(1 << 24, device="cuda", dtype=torch.int32)
            torch.cuda.synchronize()
            first = ep.asarray(tensor)
            first.share()
            del first
            gc.collect()
            # With the socket, and with files that the driver opens for the first export.
            before = len(os.listdir("/proc/self/fd"))
            array = ep.asarray(tensor)
            _ = array.share()
            """
        )
        opened = handle.open()
        np.testing.assert_array_equal(values_of(opened), np.arange(1 << 24))
        part = owner.run("_ = array[1000:2000].share()").open()
        ep.fill(part, 7).wait()
        assert owner.run("_ = tensor[999:2001:500].tolist()") == [999, 7, 7]
        assert values_of(opened[998:1002]).tolist() == [998, 999, 7, 7]
        assert owner.run(
            """
            files = len(os.listdir("/proc/self/fd"))
            del array
            gc.collect()
            _ = (files > before, len(os.listdir("/proc/self/fd")) - before)
            """
        ) == (True, 0), "the files of the segments are closed"
        with pytest.raises(ep.ExchangeError, match="has released the memory"):
            handle.open()
        owner.kill()
        assert values_of(opened[-3:]).tolist() == [(1 << 24) - 3, (1 << 24) - 2, (1 << 24) - 1]

    @pytest.mark.torch
    def test_opened_segments_are_shared_on(self, other: Other) -> None:
        owner = Other(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
        handle = owner.run(
            """
            import torch
            tensor = torch.ones(1 << 24, device="cuda", dtype=torch.int32)
            torch.cuda.synchronize()
            array = ep.asarray(tensor)
            _ = array.share()
            """
        )
        opened = handle.open()
        onward = opened.share()
        owner.kill()
        found = other.run("_ = int(handle.open().copy_to_host().numpy().sum())", handle=onward)
        assert found == 1 << 24

    @pytest.mark.torch
    @pytest.mark.parametrize(
        ("settings", "advice"),
        [
            (
                {
                    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
                    "TORCH_CUDA_EXPANDABLE_SEGMENTS_IPC": "0",
                },
                "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False",
            ),
            (
                {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"},
                "PYTORCH_CUDA_ALLOC_CONF=backend:native",
            ),
        ],
        ids=["segments", "cudaMallocAsync"],
    )
    def test_unshareable_memory_names_the_setting(
        self, settings: dict[str, str], advice: str
    ) -> None:
        owner = Other(**settings)
        with pytest.raises(RuntimeError, match=f"ExchangeError: share: .*{advice}"):
            owner.run(
                """
                import torch
                array = ep.asarray(torch.ones(1000, device="cuda"))
                array.share()
                """
            )
        owner.end()

    def test_memory_of_a_pool_with_handles_is_shared(self, other: Other) -> None:
        pytest.importorskip("cuda.bindings.driver")
        handle = other.run(
            """
            from cuda.bindings import driver as d
            ep.zeros(1, "uint8", device="cuda:0").queue.wait()
            d.cuCtxSetCurrent(d.cuDevicePrimaryCtxRetain(0)[1])
            properties = d.CUmemPoolProps()
            properties.allocType = d.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
            properties.handleTypes = (
                d.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
            )
            properties.location.type = d.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
            properties.location.id = 0
            status, pool = d.cuMemPoolCreate(properties)
            assert int(status) == 0, status
            status, pointer = d.cuMemAllocFromPoolAsync(4000, pool, 0)
            assert int(status) == 0, status
            d.cuStreamSynchronize(0)
            array = ep.from_address(int(pointer), 1000, "int32", device="cuda:0")
            ep.fill(array, 5).wait()
            _ = array[100:200].share()
            """
        )
        for _ in range(3):
            opened = handle.open()
            assert values_of(opened).tolist() == [5] * 100
            ep.fill(opened, 6).wait()
            assert other.run("_ = array.copy_to_host().numpy()[[99, 100]].tolist()") == [5, 6]
            ep.fill(opened, 5).wait()
            del opened
            gc.collect()

    def test_mappings_of_another_library_are_shared_in_order(self, other: Other) -> None:
        pytest.importorskip("cuda.bindings.driver")
        handle = other.run(
            """
            from cuda.bindings import driver as d
            ep.zeros(1, "uint8", device="cuda:0").queue.wait()
            d.cuCtxSetCurrent(d.cuDevicePrimaryCtxRetain(0)[1])
            piece = 2 << 20
            properties = d.CUmemAllocationProp()
            properties.type = d.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
            properties.requestedHandleTypes = (
                d.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
            )
            properties.location.type = d.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
            properties.location.id = 0
            status, start = d.cuMemAddressReserve(3 * piece, 0, 0, 0)
            assert int(status) == 0, status
            for i in (2, 0, 1):
                status, block = d.cuMemCreate(piece, properties, 0)
                assert int(status) == 0, status
                assert int(d.cuMemMap(int(start) + i * piece, piece, 0, block, 0)[0]) == 0
                assert int(d.cuMemRelease(block)[0]) == 0
            access = d.CUmemAccessDesc()
            access.location = properties.location
            access.flags = d.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
            assert int(d.cuMemSetAccess(start, 3 * piece, [access], 1)[0]) == 0
            array = ep.from_address(int(start), 3 * piece // 4, "int32", device="cuda:0")
            ep.copy(array, np.arange(3 * piece // 4, dtype="int32")).wait()
            _ = array[1000:-1000].share()
            """
        )
        values = np.arange(1000, 3 * (2 << 20) // 4 - 1000)
        np.testing.assert_array_equal(values_of(handle.open()), values)

    def test_invalid_driver_handle_is_refused(self) -> None:
        array = shareable(np.arange(3), "cuda:0")
        good = bytes(array.share())
        for place in range(0, len(good), 3):
            bad = bytearray(good)
            bad[place] ^= 0xFF
            with contextlib.suppress(ep.EntrepotError, ValueError, OverflowError):
                ep.ArrayHandle(bytes(bad)).open().copy_to_host()
        assert values_of(array).tolist() == [0, 1, 2], "the context is still well"


FREE = """
def free(number=0):
    driver = ctypes.CDLL("libcuda.so.1")
    available, all = ctypes.c_size_t(), ctypes.c_size_t()
    context = ctypes.c_void_p()
    device = ctypes.c_int(number)
    assert driver.cuInit(0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
    assert driver.cuCtxPushCurrent_v2(context) == 0
    assert driver.cuMemGetInfo_v2(ctypes.byref(available), ctypes.byref(all)) == 0
    return available.value
"""

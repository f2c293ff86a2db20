"""Arrays in multiprocessing's queues, pipes and pools, in ``concurrent.futures`` and in joblib."""

from __future__ import annotations

import concurrent.futures
import gc
import io
import multiprocessing
import os
import pickle
import signal
import time
from collections.abc import Iterator
from functools import partial
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest

import entrepot as ep
from entrepot import leases, memory, pickles, transport
from support.other_process import TIMEOUT, open_files, pages, shareable, shared_mappings
from support.places import values_of
from support.polling import eventually_equal
from support.processes import run

np = pytest.importorskip("numpy")
pytestmark = [pytest.mark.host, pytest.mark.numpy]

HOST = pytest.param("host", marks=pytest.mark.host)
CUDA = pytest.param("cuda:0", marks=pytest.mark.cuda)
every_method = pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    gc.collect()  # what earlier tests left would end in the middle of this one
    transport.multiprocessing.enable()
    yield
    transport.multiprocessing.disable()
    assert leases.wait_until_opened(5)


def double(array: ep.Array) -> tuple[list[tuple[int, int]], ep.Array]:
    """Doubles in place, and returns the array's pages and another array."""
    ep.copy(array, array.copy_to_host().numpy() * 2).wait()
    found = pages(array) if array.kind == "host" else []
    return found, shareable(np.arange(3), str(array.device))


def work(tasks: Any, results: Any) -> None:
    transport.enable("multiprocessing")
    while (task := tasks.get(timeout=TIMEOUT)) is not None:
        results.put(double(task))
    assert transport.multiprocessing.wait_until_opened(TIMEOUT)


def sum_of(array: ep.Array) -> float:
    return float(array.copy_to_host().numpy().sum())


@every_method
class TestQueues:
    @pytest.mark.parametrize("device", [HOST, CUDA])
    def test_queue_shares_memory_both_ways(self, method: str, device: str) -> None:
        if method == "fork" and device != "host":
            pytest.skip("CUDA does not survive a fork")
        context: Any = multiprocessing.get_context(method)
        tasks, results = context.Queue(), context.Queue()
        worker = context.Process(target=work, args=(tasks, results))
        worker.start()
        array = shareable(np.arange(10, dtype="int64"), device)
        tasks.put(array)
        found, made = results.get(timeout=TIMEOUT)
        assert values_of(array).tolist() == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]
        if device == "host":
            assert found == pages(array), "both processes map the same pages"
        assert values_of(made).tolist() == [0, 1, 2]
        tasks.put(None)
        worker.join(TIMEOUT)
        assert worker.exitcode == 0
        assert values_of(made).tolist() == [0, 1, 2], "the memory outlives its maker"

    def test_arguments_of_a_process_are_shared(self, method: str) -> None:
        context: Any = multiprocessing.get_context(method)
        array = shareable(np.arange(10, dtype="int64"), "host")
        worker = context.Process(target=double, args=(array,))
        worker.start()
        worker.join(TIMEOUT)
        assert worker.exitcode == 0
        assert values_of(array)[1] == 2

    def test_pool_returns_arrays(self, method: str) -> None:
        context: Any = multiprocessing.get_context(method)
        arrays = [shareable(np.full(4, n, "int64"), "host") for n in range(6)]
        with context.Pool(2, initializer=transport.enable, initargs=("multiprocessing",)) as pool:
            made = [array for _, array in pool.map(double, arrays)]
            assert [values_of(array).tolist() for array in made] == [[0, 1, 2]] * 6
        assert [values_of(array)[0] for array in arrays] == [0, 2, 4, 6, 8, 10]

    def test_executor_of_processes_returns_arrays(self, method: str) -> None:
        context: Any = multiprocessing.get_context(method)
        arrays = [shareable(np.full(4, n, "int64"), "host") for n in range(6)]
        with concurrent.futures.ProcessPoolExecutor(
            2, context, initializer=transport.enable, initargs=("multiprocessing",)
        ) as pool:
            made = [array for _, array in pool.map(double, arrays)]
            assert [values_of(array).tolist() for array in made] == [[0, 1, 2]] * 6
        assert [values_of(array)[0] for array in arrays] == [0, 2, 4, 6, 8, 10]


class TestPolicies:
    def test_copies_are_sent_by_policy(self) -> None:
        array = ep.asarray(np.arange(4))
        receiving, sending = multiprocessing.Pipe()
        with pytest.raises(
            ep.ExchangeError, match=r"shareable\(\).*multiprocessing.enable.*policy 'copy'"
        ):
            sending.send(array)
        transport.multiprocessing.enable("copy")
        sending.send(array)
        made = receiving.recv()
        ep.fill(array, 7).wait()
        assert values_of(made).tolist() == [0, 1, 2, 3]

    def test_other_pickles_are_not_affected(self) -> None:
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(shareable(np.arange(4), "host"))


USES: dict[str, Any] = {
    "numpy": lambda array: array.numpy(),
    "np.asarray": np.asarray,
    "ep.asarray": ep.asarray,
    "ep.fill": lambda array: ep.fill(array, 1),
    "ep.copy": lambda array: ep.copy(ep.zeros(3, "int64", device="host"), array),
    "index": lambda array: array[0],
    "len": len,
    "iteration": list,
    "comparison": lambda array: array == 3,
    "bool": bool,
    "pickle": pickle.dumps,
    "attribute": lambda array: setattr(array, "T", 3),
}


class TestFailures:
    @staticmethod
    def started(target: Any, *args: Any) -> Any:
        worker = multiprocessing.get_context("spawn").Process(target=target, args=args)
        worker.start()
        return worker

    def test_queue_whose_reader_died_is_released_in_time(self) -> None:
        mappings, files = shared_mappings(), len(open_files())
        transport.multiprocessing.enable(hold=1)
        receiving, sending = multiprocessing.get_context("spawn").Pipe()
        reader = self.started(wait_with, receiving)
        for _ in range(10):
            sending.send(shareable(np.zeros(1000), "host"))
        os.kill(reader.pid, signal.SIGKILL)
        reader.join(TIMEOUT)
        reader.close()
        gc.collect()
        assert shared_mappings() == mappings + 10
        assert eventually_equal(shared_mappings, mappings, seconds=2)
        with pytest.raises(ep.ExchangeError, match=r"released.*hold="):
            receiving.recv().numpy()
        receiving.close()
        sending.close()
        assert eventually_equal(lambda: len(open_files()) <= files + 1, True, seconds=1)

    def test_maker_that_ended_is_named(self) -> None:
        receiving, sending = multiprocessing.get_context("spawn").Pipe()
        maker = self.started(send_and_end, sending)
        maker.join(TIMEOUT)
        with pytest.raises(ep.ExchangeError, match=f"process {maker.pid}.*has ended"):
            receiving.recv().numpy()

    @pytest.mark.parametrize("use", USES)
    def test_unavailable_array_raises_on_use(self, use: str) -> None:
        receiving, sending = multiprocessing.Pipe()
        with transport.multiprocessing.enable(hold=0):
            sending.send(shareable(np.arange(3), "host"))
        assert leases.wait_until_opened(5)
        gc.collect()
        array = receiving.recv()
        assert "released" in repr(array)
        with pytest.raises(ep.ExchangeError, match=r"released.*hold="):
            USES[use](array)

    def test_copy_for_an_absent_device_raises_on_use(self) -> None:
        absent = pickles.packed(ep.zeros(3, "int8", device="host"))._replace(device="cuda:99")
        with transport.multiprocessing.enable("copy"):
            reducer: Any = ForkingPickler(io.BytesIO()).dispatch_table[ep.Array]
            function, arguments = reducer(ep.zeros(3, "int8", device="host"))
        array = function(arguments[0], *absent)
        with pytest.raises(ep.DeviceError, match="was on cuda:99"):
            array.numpy()

    @pytest.mark.alone  # the lease ends at once, and the worker must be later
    @pytest.mark.parametrize("method", ["spawn", "fork"])
    def test_pool_reports_an_array_that_is_not_available(self, method: str) -> None:
        """An error of unpickling would end a worker, and the pool would hang."""
        context: Any = multiprocessing.get_context(method)
        transport.multiprocessing.enable(hold=0)
        with context.Pool(1) as pool:
            result = pool.apply_async(sum_of, (shareable(np.arange(3), "host"),))
            with pytest.raises(ep.ExchangeError, match=r"released.*hold="):
                result.get(30)
            held = shareable(np.arange(3), "host")
            assert pool.apply_async(sum_of, (held,)).get(30) == 3

    @pytest.mark.parametrize("method", ["spawn", "fork"])
    def test_pool_of_short_lived_workers_returns_arrays(self, method: str) -> None:
        context: Any = multiprocessing.get_context(method)
        with context.Pool(
            1, initializer=transport.enable, initargs=("multiprocessing",), maxtasksperchild=1
        ) as pool:
            made = pool.map_async(made_with, range(4), chunksize=1).get(60)
        assert [values_of(array).tolist() for array in made] == [[n] * 3 for n in range(4)]

    @pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
    def test_queue_of_a_process_that_ends_is_waited_for(self, method: str) -> None:
        context: Any = multiprocessing.get_context(method)
        queue = context.Queue()
        maker = context.Process(target=put_and_end, args=(queue, 60))
        maker.start()
        time.sleep(1.5)  # it reaches its end before this process reads
        array = queue.get(timeout=TIMEOUT)
        assert values_of(array).tolist() == [0, 1, 2]
        maker.join(10)
        assert maker.exitcode == 0, "it waits no longer"

    def test_process_waits_at_its_end_until_the_time_is_over(self) -> None:
        context: Any = multiprocessing.get_context("spawn")
        queue = context.Queue()
        maker = context.Process(target=put_and_end, args=(queue, 0.5))
        maker.start()
        maker.join(20)
        assert maker.exitcode == 0

    def test_forked_child_waits_at_its_end_without_a_call(self) -> None:
        context: Any = multiprocessing.get_context("fork")
        queue = context.Queue()
        maker = context.Process(target=put_by_inherited_transport, args=(queue,))
        maker.start()
        time.sleep(0.5)
        assert values_of(queue.get(timeout=TIMEOUT)).tolist() == [0, 1, 2]
        maker.join(10)
        assert maker.exitcode == 0

    def test_child_of_a_plain_fork_waits_at_its_end(self) -> None:
        run(
            """
            import multiprocessing, os, sys, time
            import entrepot as ep
            from entrepot import memory, transport

            transport.multiprocessing.enable()
            receiving, sending = multiprocessing.Pipe()
            child = os.fork()
            if child == 0:
                with memory.use_resource(memory.shareable()):
                    sending.send(ep.full(3, 5, "int32", device="host"))
                sys.exit(7)
            time.sleep(0.5)
            assert receiving.recv().numpy().tolist() == [5, 5, 5]
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            """
        )

    def test_maker_that_waits_is_not_lost(self) -> None:
        receiving, sending = multiprocessing.get_context("spawn").Pipe()
        maker = self.started(send_and_wait, sending)
        time.sleep(0.2)
        array = receiving.recv()
        maker.join(TIMEOUT)
        assert maker.exitcode == 0
        assert values_of(array).tolist() == [0, 1, 2]

    def test_killed_opener_leaves_the_makers_memory(self) -> None:
        array = shareable(np.zeros(4, "int64"), "host")
        receiving, sending = multiprocessing.get_context("spawn").Pipe()
        opener = self.started(open_and_sleep, receiving, sending)
        sending.send(array)
        assert eventually_equal(partial(int, array[0]), 5, seconds=TIMEOUT)
        os.kill(opener.pid, signal.SIGKILL)
        opener.join(TIMEOUT)
        assert values_of(array).tolist() == [5] * 4
        mappings = shared_mappings()
        del array
        gc.collect()
        assert shared_mappings() == mappings - 1


def send_and_end(sending: Any) -> None:
    transport.enable("multiprocessing")
    sending.send(shareable(np.arange(3), "host"))
    os._exit(0)  # the end of a crash, without waiting for the receiver


def send_and_wait(sending: Any) -> None:
    transport.enable("multiprocessing")
    sending.send(shareable(np.arange(3), "host"))
    assert transport.multiprocessing.wait_until_opened(TIMEOUT)


def wait_with(_receiving: Any) -> None:
    time.sleep(TIMEOUT)


def put_and_end(queue: Any, hold: float) -> None:
    transport.multiprocessing.enable(hold=hold)
    queue.put(shareable(np.arange(3), "host"))


def put_by_inherited_transport(queue: Any) -> None:
    queue.put(shareable(np.arange(3), "host"))


def made_with(number: int) -> ep.Array:
    return shareable(np.full(3, number), "host")


def open_and_sleep(receiving: Any, sending: Any) -> None:
    array = receiving.recv()
    ep.fill(array, 5).wait()
    time.sleep(TIMEOUT)


def usage() -> tuple[int, int, int]:
    """Open descriptors, mappings of shared memory, and bytes of resident memory."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return len(open_files()), shared_mappings(), resident


def open_each(pipe: Any) -> None:
    while (given := pipe.recv()) is not None:
        pipe.send(given.size if isinstance(given, ep.Array) else usage())


@pytest.mark.alone
def test_many_handles_leave_nothing() -> None:
    """Neither here nor in the process that opens them."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    worker = context.Process(target=open_each, args=(there,))
    worker.start()

    def usages() -> list[int]:
        here.send("usage")
        theirs = here.recv()
        assert leases.wait_until_opened(5)
        return [*usage(), *theirs]

    def open_and_close(count: int) -> None:
        for _ in range(count):
            here.send(ep.full(1024, 1, "float32", device="host"))
            assert here.recv() == 1024

    with memory.use_resource(memory.shareable()):
        open_and_close(1000)
        before = usages()
        open_and_close(10_000)
        after = usages()
    here.send(None)
    worker.join(TIMEOUT)
    # The last array of each side may still be in use.
    for grown, limit in zip(
        [now - then for now, then in zip(after, before, strict=True)],
        [1, 1, 4 << 20] * 2,
        strict=True,
    ):
        assert grown <= limit, (before, after)


@pytest.mark.joblib
class TestJoblib:
    def test_arguments_and_results_are_shared(self) -> None:
        from joblib import Parallel, delayed

        arrays = [shareable(np.full(4, n, "int64"), "host") for n in range(4)]
        with transport.enable("joblib") as enabled:
            assert enabled.engines == ("joblib",)
            results = Parallel(2, initializer=transport.enable, initargs=("joblib",))(
                delayed(double)(array) for array in arrays
            )
        assert [values_of(array)[0] for array in arrays] == [0, 2, 4, 6]
        assert [values_of(array).tolist() for _, array in results] == [[0, 1, 2]] * 4

    def test_array_that_is_not_available_raises_on_use(self) -> None:
        from joblib.externals.loky.backend.reduction import dumps

        with transport.joblib.enable(hold=0):
            data = bytes(dumps([shareable(np.zeros(4), "host")]))
        assert leases.wait_until_opened(5)
        gc.collect()
        (array,) = pickle.loads(data)
        with pytest.raises(ep.ExchangeError, match=r"released.*hold="):
            array.numpy()

    def test_disabled_transport_refuses(self) -> None:
        from joblib import Parallel, delayed

        with transport.enable("joblib"):
            pass
        with pytest.raises(Exception, match=r"[Pp]ickle"):
            Parallel(2)(delayed(sum_of)(shareable(np.zeros(4), "host")) for _ in range(2))

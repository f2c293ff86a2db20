"""64 MiB between two processes of this machine, by each engine's own calls.

The peer is NumPy's array in the engine's own transport. Rows "against …" have the required time as
the peer. Engines that are not installed have no rows.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import statistics
import time
from pathlib import Path

import numpy as np

import entrepot as ep
from entrepot import memory, transport

from .harness import Pair, Result

SIZE = 1 << 24  # of float32
ROUNDS = 50
PEER_ROUNDS = 7
ROOT = str(Path(__file__).resolve().parents[1])


def shareable() -> ep.Array:
    with memory.use_resource(memory.shareable()):
        return ep.full(SIZE, 3, "float32", device="host")


def private() -> np.ndarray:
    return np.full(SIZE, 3, "float32")


def first_of(array) -> float:
    """Reads the array, so that the receiver has to have it."""
    return float(np.asarray(array)[0])


def rows(what: str, limit_ms: float, ours_ns: list[float], peer_ns: list[float]) -> list[Result]:
    median = statistics.median(ours_ns)
    return [
        Result(Pair(what, "", "", 1), median, statistics.median(peer_ns)),
        Result(Pair(f"{what}, against {limit_ms:g} ms", "", "", 1), median, limit_ms * 1e6),
    ]


# ---------------------------------------------------------------- multiprocessing


def answer(pipe) -> None:
    while (array := pipe.recv()) is not None:
        pipe.send(first_of(array))


def by_multiprocessing() -> list[Result]:
    """Through a pipe, with a number as the answer."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    worker = context.Process(target=answer, args=(there,))
    worker.start()

    def times_ns(array: object, rounds: int) -> list[float]:
        found = []
        for _ in range(1 + rounds):
            start = time.perf_counter_ns()
            here.send(array)
            assert here.recv() == 3
            found.append(float(time.perf_counter_ns() - start))
        return found[1:]

    with transport.enable("multiprocessing"):
        result = rows(
            "multiprocessing, pipe and answer",
            0.3,
            times_ns(shareable(), ROUNDS),
            times_ns(private(), PEER_ROUNDS),
        )
    here.send(None)
    worker.join()
    return result


# ---------------------------------------------------------------- Dask


async def fetch_ns(key: str, address: str, rounds: int, *, dask_worker=None) -> list[float]:
    """Times of a worker's request for another worker's data, the call that Dask itself makes."""
    from distributed.worker import get_data_from_worker

    found = []
    for _ in range(1 + rounds):
        start = time.perf_counter_ns()
        response = await get_data_from_worker(
            dask_worker.rpc, [key], address, who=dask_worker.address
        )
        assert first_of(response["data"][key]) == 3
        found.append(float(time.perf_counter_ns() - start))
    return found[1:]


def by_dask() -> list[Result]:
    # For both sides. By default, Dask serializes large objects in another thread.
    os.environ["DASK_DISTRIBUTED__COMM__OFFLOAD"] = "False"
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.register_worker_callbacks(transport.dask.enable)
        first, second = sorted(client.scheduler_info()["workers"])

        def times_ns(make, rounds: int) -> list[float]:
            future = client.submit(make, workers=[first], pure=False)
            distributed.wait(future)
            found = client.run(fetch_ns, future.key, first, rounds, workers=[second])
            return list(found[second])

        return rows(
            "Dask, worker to worker", 1, times_ns(shareable, ROUNDS), times_ns(private, PEER_ROUNDS)
        )


# ---------------------------------------------------------------- Ray


def by_ray() -> list[Result]:
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    import ray

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=1 << 30,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": ROOT}},
    )
    transport.enable("ray")

    @ray.remote(enable_tensor_transport=True)
    class Source:
        def __init__(self) -> None:
            self.array, self.other = shareable(), private()

        @ray.method(tensor_transport=transport.ray.TRANSPORT)
        def shared(self):
            return self.array

        def stored(self):
            return self.other

        def described(self):
            """The transport's description, and the time that it takes."""
            from entrepot.transport.ray_manager import Transport

            start = time.perf_counter_ns()
            metadata = Transport().extract_tensor_transport_metadata("", [self.array])
            return metadata, time.perf_counter_ns() - start

    @ray.remote(enable_tensor_transport=True)
    class Sink:
        def read(self, array) -> float:
            return first_of(array)

        def received_ns(self, metadata) -> int:
            from entrepot.transport.ray_manager import Transport

            start = time.perf_counter_ns()
            (array,) = Transport().recv_multiple_tensors("", metadata, None)
            assert first_of(array) == 3
            return time.perf_counter_ns() - start

    source, sink = Source.remote(), Sink.remote()  # type: ignore[attr-defined]

    def whole_ns(method, rounds: int) -> list[float]:
        found = []
        for _ in range(3 + rounds):
            start = time.perf_counter_ns()
            assert ray.get(sink.read.remote(method.remote())) == 3
            found.append(float(time.perf_counter_ns() - start))
        return found[3:]

    def own_ns() -> list[float]:
        found = []
        for _ in range(3 + ROUNDS):
            metadata, described = ray.get(source.described.remote())
            found.append(float(described + ray.get(sink.received_ns.remote(metadata))))
        return found[3:]

    ours, stored = whole_ns(source.shared, ROUNDS), whole_ns(source.stored, PEER_ROUNDS)
    transports = rows("Ray, actor to actor, without Ray's calls", 0.5, own_ns(), stored)
    ray.shutdown()
    whole = Pair("Ray, actor to actor, whole calls", "", "", 1)
    return [
        Result(whole, statistics.median(ours), statistics.median(stored)),
        transports[1],
    ]


# ---------------------------------------------------------------- handles


SPIN = """
extern "C" __global__ void spin(int *data, long long turns) {
    unsigned x = 1;
    for (long long i = 0; i < turns; ++i) x = x * 1664525 + 1013904223;
    data[0] = x;
}
"""
SHARE_LIMIT_NS, OPEN_LIMIT_NS = 2e3, 50e3


def keep_busy(queue: ep.Queue) -> None:
    """Occupies the queue for about two seconds."""
    if queue.device.backend == "cuda":
        array = ep.zeros(1, "int32", device=queue.device)
        spin = ep.Program(SPIN, queue.device).kernel("spin")
        spin[1](array, ep.Scalar(1, "int64")).wait()
        spin[1](array, ep.Scalar(1_000_000_000, "int64"), queue=queue)
        return
    array = ep.empty(SIZE, "float32", device=queue.device)
    for value in range(200):
        ep.fill(array, value, queue=queue)


def times_ns(call, count: int, before=lambda: None) -> float:
    """Median of single calls, without ``before``."""
    found = []
    for _ in range(count):
        before()
        start = time.perf_counter_ns()
        call()
        found.append(float(time.perf_counter_ns() - start))
    return statistics.median(found)


def open_handles(pipe) -> None:
    """Another process: answers with the time of ``open()`` for each handle and number of calls."""
    while (task := pipe.recv()) is not None:
        handle, count = task
        handle.open().copy_to_host()
        pipe.send(times_ns(handle.open, count))


def handles(device: str) -> list[Result]:
    """Many handles of one array. "New" is work that no earlier handle has an event for."""
    count = 10_000 if device == "host" else 1_000
    with memory.use_resource(memory.shareable()):
        array = ep.empty(SIZE, "float32", device=device)
    ep.fill(array, 1).wait()
    queue, where = ep.Queue(device), device.partition(":")[0]
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    opener = context.Process(target=open_handles, args=(theirs,), daemon=True)
    opener.start()

    def opened_elsewhere(handle: ep.ArrayHandle) -> float:
        ours.send((handle, 200))
        return float(ours.recv())

    def row(what: str, found: float, limit: float) -> Result:
        return Result(Pair(f"{where}: {what}, against {limit / 1e3:g} µs", "", "", 1), found, limit)

    idle = array.share()
    files = len(os.listdir("/proc/self/fd"))
    found = [
        row("share()", times_ns(array.share, count), SHARE_LIMIT_NS),
        row("open()", times_ns(idle.open, count), OPEN_LIMIT_NS),
        row("open() in another process", opened_elsewhere(idle), OPEN_LIMIT_NS),
    ]
    keep_busy(queue)
    new = times_ns(array.share, 200, lambda: ep.fill(array[:1], 2, queue=queue))
    pending = array.share()
    found += [
        row("share() of new pending work", new, SHARE_LIMIT_NS),
        row("share() of pending work", times_ns(array.share, count), SHARE_LIMIT_NS),
        row("open() with pending work", times_ns(pending.open, count // 10), OPEN_LIMIT_NS),
    ]
    assert pending.has_event, "the queue was busy for too short a time"
    queue.wait()
    assert len(os.listdir("/proc/self/fd")) <= files + 8, "descriptors are left"
    ours.send(None)
    opener.join()
    return found


def results() -> list[Result]:
    found = by_multiprocessing()
    for device in ("host", "cuda:0"):
        if any(each.backend == device.partition(":")[0] for each in ep.devices()):
            found += handles(device)
    for module, measured in (("distributed", by_dask), ("ray", by_ray)):
        if importlib.util.find_spec(module) is not None:
            found += measured()
    return found

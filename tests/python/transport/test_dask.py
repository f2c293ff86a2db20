"""Arrays in Dask's distributed: between workers, through the scheduler, and in pickles."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import entrepot as ep
from entrepot import leases, memory, transport
from support.other_process import open_files, pages, shareable, shared_mappings
from support.places import Place, every_place, moved, values_of
from support.polling import eventually_equal

np = pytest.importorskip("numpy")
distributed = pytest.importorskip("distributed")
cloudpickle = pytest.importorskip("cloudpickle")
pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.distributed]

BASE = np.arange(24, dtype="float32").reshape(2, 3, 4)
HERE = "tcp://127.0.0.1:1"


def context(protocol: int = 5, recipient: str = "tcp://127.0.0.1:2") -> dict[str, Any]:
    return {
        "sender": {"address": HERE},
        "recipient": {"address": recipient},
        "pickle-protocol": protocol,
    }


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    transport.dask.enable()
    yield
    transport.dask.disable()
    assert leases.wait_until_opened(5)


def exchanged(array: Any, **options: Any) -> tuple[dict[str, Any], list[Any], Any]:
    header, frames = distributed.protocol.serialize(array, on_error="raise", **options)
    return header, frames, distributed.protocol.deserialize(header, frames)


class TestSerialization:
    @pytest.mark.parametrize("index", [np.s_[...], np.s_[:, ::2], np.s_[0, 0, 0], np.s_[:0]])
    @every_place
    def test_frames_keep_elements_and_place(self, place: Place, index: Any) -> None:
        array = moved(BASE, place)[index]
        header, frames, made = exchanged(array)
        assert (header["serializer"], len(frames)) == ("dask", 1)
        assert values_of(made).tolist() == values_of(array).tolist()
        assert (made.device, made.kind, made.shape) == (array.device, array.kind, array.shape)

    def test_frames_of_host_memory_are_not_copied(self) -> None:
        array = ep.asarray(BASE.copy())
        _, _, made = exchanged(array, context=context(protocol=4))
        assert made.data_ptr == array.data_ptr

    def test_message_to_a_worker_here_shares_memory(self) -> None:
        array = shareable(BASE, "host")
        header, frames, made = exchanged(array.T, context=context())
        assert not frames
        assert made.data_ptr == array.data_ptr
        assert made.read_only
        assert made.strides == array.T.strides
        assert header["serializer"] == "dask"

    @pytest.mark.parametrize("to", [
        context(protocol=4), context(recipient="tcp://10.1.2.3:4"), context(recipient="inproc://x"),
        {}, None])  # fmt: skip
    def test_message_elsewhere_has_the_elements(self, to: Any) -> None:
        _, frames, made = exchanged(shareable(BASE, "host"), context=to)
        assert len(frames) == 1
        assert values_of(made).tolist() == BASE.tolist()

    def test_memory_that_is_not_shareable_goes_as_frames(self) -> None:
        _, frames, made = exchanged(ep.asarray(BASE), context=context())
        assert len(frames) == 1
        assert values_of(made).tolist() == BASE.tolist()

    @pytest.mark.parametrize("to", [context(), context(protocol=4)])
    def test_received_array_is_read_only_from_any_place(self, to: Any) -> None:
        for array in (shareable(BASE, "host"), ep.asarray(BASE.copy())):
            _, _, made = exchanged(array, context=to)
            assert made.read_only
            assert not array.read_only

    def test_error_of_sharing_is_reported(self, monkeypatch: Any) -> None:
        """Frames are for memory that cannot be shared, and not for failures."""

        def fail(*_: object, **__: object) -> None:
            raise ep.ExchangeError("shared memory: too many open files")

        monkeypatch.setattr(leases, "hold", fail)
        with pytest.raises(ep.ExchangeError, match="too many open files"):
            transport.dask._serialize(shareable(BASE, "host"), context())

    def test_policy_of_the_program_applies_to_cloudpickle(self) -> None:
        array = shareable(BASE, "host")
        with ep.pickling("share"):
            made = cloudpickle.loads(cloudpickle.dumps(array))
        assert made.data_ptr == array.data_ptr
        with ep.pickling("refuse"), pytest.raises(Exception, match="cannot pickle"):
            cloudpickle.dumps(array)
        copied = cloudpickle.loads(cloudpickle.dumps(array))
        assert copied.data_ptr != array.data_ptr
        assert values_of(copied).tolist() == BASE.tolist()

    def test_reducer_of_the_program_returns_when_disabled(self) -> None:
        def reduce(array: ep.Array) -> Any:
            return str, ("array",)

        transport.dask.disable()
        reducers = cloudpickle.CloudPickler.dispatch_table
        reducers[ep.Array] = reduce
        try:
            with transport.dask.enable(), transport.dask.enable(hold=3):
                assert reducers[ep.Array] is not reduce
            assert reducers[ep.Array] is reduce
            with transport.dask.enable():
                reducers[ep.Array] = reduce
            assert reducers[ep.Array] is reduce, "it was set in between"
        finally:
            del reducers[ep.Array]

    def test_copies_are_sent_by_policy(self) -> None:
        transport.dask.enable("copy")
        _, frames, made = exchanged(shareable(BASE, "host"), context=context())
        assert len(frames) == 1
        assert values_of(made).tolist() == BASE.tolist()
        with pytest.raises(ValueError, match="'share', 'copy' or 'refuse'"):
            transport.dask.enable("frames")  # type: ignore[arg-type]

    @pytest.mark.parametrize("protocol", [4, 5])
    def test_array_inside_an_object_is_pickled(self, protocol: int) -> None:
        class Model:
            def __init__(self, weights: ep.Array) -> None:
                self.weights = weights

        _, _, made = exchanged(Model(ep.asarray(BASE)), context=context(protocol))
        assert values_of(made.weights).tolist() == BASE.tolist()

    @pytest.mark.parametrize("how", ["disable", "refuse"])
    def test_disabled_transport_reports_an_error(self, how: str) -> None:
        if how == "refuse":
            transport.dask.enable("refuse")
        else:
            transport.dask.disable()
        header, _ = distributed.protocol.serialize(ep.asarray(BASE))
        assert header["serializer"] == "error"
        with pytest.raises(TypeError):
            exchanged(ep.asarray(BASE))

    def test_size_is_that_of_the_elements(self) -> None:
        from dask.sizeof import sizeof

        assert sizeof(ep.asarray(BASE)) == BASE.nbytes

    @pytest.mark.cuda
    def test_cuda_family_sends_device_memory(self) -> None:
        with memory.use_resource(memory.direct()):
            array = moved(BASE, Place("cuda:0", "device"))
        header, frames = distributed.protocol.serialize(array.T, serializers=["cuda"])
        assert header["serializer"] == "cuda"
        assert frames[0].__cuda_array_interface__["data"][0] == array.data_ptr
        made = distributed.protocol.deserialize(header, frames)
        assert made.data_ptr == array.data_ptr
        assert values_of(made).tolist() == BASE.T.tolist()

    def test_cuda_family_leaves_host_memory_to_the_others(self) -> None:
        header, _ = distributed.protocol.serialize(ep.asarray(BASE), serializers=["cuda", "dask"])
        assert header["serializer"] == "dask"


def made_by_worker(size: int) -> ep.Array:
    return shareable(np.arange(size, dtype="int64"), "host")


def seen_by_worker(array: ep.Array) -> tuple[int, bool, list[tuple[int, int]]]:
    return int(array.copy_to_host().numpy().sum()), array.read_only, pages(array)


def usage_of_worker() -> tuple[int, int]:
    gc.collect()
    return len(open_files()), shared_mappings()


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.register_worker_callbacks(transport.dask.enable)
        yield client


@pytest.fixture
def workers(client: Any) -> list[str]:
    return sorted(client.scheduler_info()["workers"])


class TestCluster:
    def test_worker_maps_the_memory_of_another(self, client: Any, workers: list[str]) -> None:
        array = client.submit(made_by_worker, 5000, workers=workers[:1])
        there = client.submit(seen_by_worker, array, workers=workers[1:], pure=False).result()
        here = client.submit(seen_by_worker, array, workers=workers[:1], pure=False).result()
        assert there == (sum(range(5000)), True, here[2])
        assert here[1] is False

    def test_array_of_the_client_reaches_a_worker_and_returns(
        self, client: Any, workers: list[str]
    ) -> None:
        array = shareable(np.arange(100, dtype="int64"), "host")
        for direct in (False, True):
            future = client.scatter(array, workers=workers[:1], direct=direct, hash=False)
            task = client.submit(seen_by_worker, future, workers=workers[1:], pure=False)
            assert task.result()[0] == 4950
            assert values_of(client.gather(future, direct=direct)).tolist() == list(range(100))

    def test_result_of_a_worker_reaches_the_client(self, client: Any, workers: list[str]) -> None:
        future = client.submit(made_by_worker, 10, workers=workers[:1], pure=False)
        assert values_of(future.result()).tolist() == list(range(10))

    def test_killed_maker_leaves_the_opener_its_memory(
        self, client: Any, workers: list[str]
    ) -> None:
        array = client.submit(made_by_worker, 5000, workers=workers[:1], pure=False)
        copy = client.submit(first_and_hold, array, workers=workers[1:], pure=False)
        assert copy.result() == 4999
        client.restart_workers(workers[:1])
        held = client.submit(last_of_held, workers=workers[1:], pure=False).result()
        assert held == 4999
        client.submit(drop_held, workers=workers[1:], pure=False).result()

    def test_transfers_leave_nothing(self, client: Any) -> None:
        first, second = sorted(client.scheduler_info()["workers"])

        def exchange() -> None:
            array = client.submit(made_by_worker, 1000, workers=[first], pure=False)
            client.submit(seen_by_worker, array, workers=[second], pure=False).result()

        for _ in range(3):
            exchange()
        before = client.run(usage_of_worker)
        for _ in range(30):
            exchange()

        def grown() -> bool:
            after = client.run(usage_of_worker)
            return any(
                after[worker][n] > before[worker][n] + 1 for worker in before for n in range(2)
            )

        assert eventually_equal(grown, False, seconds=5)


_held: list[ep.Array] = []


def first_and_hold(array: ep.Array) -> int:
    _held.append(array)
    return last_of_held()


def last_of_held() -> int:
    return int(_held[0][-1])


def drop_held() -> None:
    _held.clear()


def test_pickled_module_enables_a_worker() -> None:
    """The way of ``dask worker --preload entrepot.transport.dask``."""
    transport.dask.disable()
    transport.dask.dask_setup(None)
    _, _, made = exchanged(ep.asarray(BASE))
    assert values_of(made).tolist() == BASE.tolist()
    assert pickle.loads(pickle.dumps(transport.dask.enable)) is transport.dask.enable

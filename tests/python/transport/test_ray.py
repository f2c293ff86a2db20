"""Arrays in Ray: shared between actors by the tensor transport, and in the object store."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

import entrepot as ep
from entrepot import transport
from support.other_process import open_files, pages, shareable, shared_mappings
from support.places import values_of
from support.polling import eventually_equal

np = pytest.importorskip("numpy")
ray = pytest.importorskip("ray")
from entrepot.transport.ray_manager import Transport  # noqa: E402

pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.ray]


class Maker:
    def __init__(self) -> None:
        self.array: Any = None

    def make(self, size: int, device: str = "host") -> ep.Array:
        self.array = shareable(np.arange(size, dtype="int64"), device)
        return self.array

    def make_two(self) -> dict[str, Any]:
        return {"a": shareable(np.arange(3), "host"), "b": [shareable(np.zeros((2, 2)), "host").T]}

    def make_private(self) -> ep.Array:
        return ep.zeros(3, "int64", device="host")

    def first(self) -> int:
        return int(self.array[0])

    def pages(self) -> list[tuple[int, int]]:
        return pages(self.array)

    def pid(self) -> int:
        return os.getpid()

    def drop(self) -> None:
        self.array = None

    def usage(self) -> tuple[int, int]:
        gc.collect()
        return len(open_files()), shared_mappings()


class Taker(Maker):
    def take(self, array: ep.Array) -> tuple[int, list[tuple[int, int]]]:
        self.array = array
        return int(values_of(array).sum()), pages(array)

    def total(self, array: ep.Array) -> int:
        return int(values_of(array).sum())

    def take_two(self, arrays: dict[str, Any]) -> tuple[int, tuple[int, ...]]:
        return arrays["a"].size, arrays["b"][0].strides

    def write(self) -> None:
        ep.fill(self.array[:1], 77).wait()

    def last(self) -> int:
        return int(self.array[-1])


def remote(kind: type, **options: Any) -> Any:
    """An actor of the class whose methods that make arrays use the transport."""

    class Actor(kind):
        pass

    for name in ("make", "make_two", "make_private"):
        method = getattr(kind, name)
        setattr(Actor, name, ray.method(tensor_transport="ENTREPOT")(method))
    return ray.remote(enable_tensor_transport=True, **options)(Actor).remote()


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    tests = os.path.abspath(f"{__file__}/../../..")
    ray.init(
        num_cpus=4,
        include_dashboard=False,
        object_store_memory=1 << 28,
        log_to_driver=False,
        runtime_env={
            "worker_process_setup_hook": transport.ray.setup_worker,
            "env_vars": {"PYTHONPATH": f"{tests}/..:{tests}:{tests}/python"},
        },
    )
    transport.ray.enable()
    yield
    transport.ray.disable()
    ray.shutdown()


class TestTensorTransport:
    def test_actors_map_the_same_pages(self) -> None:
        maker, taker = remote(Maker), remote(Taker)
        total, found = ray.get(taker.take.remote(maker.make.remote(5000)))
        assert total == sum(range(5000))
        assert found == ray.get(maker.pages.remote())
        ray.get(taker.write.remote())
        assert ray.get(maker.first.remote()) == 77, "a write is seen on the other side"

    def test_object_with_several_arrays_keeps_them(self) -> None:
        maker, taker = remote(Maker), remote(Taker)
        assert ray.get(taker.take_two.remote(maker.make_two.remote())) == (3, (1, 2))

    def test_array_returns_to_its_actor_unchanged(self) -> None:
        maker = remote(Taker)
        reference = maker.make.remote(10)
        assert ray.get(maker.total.remote(reference)) == 45

    def test_memory_outlives_the_actor_that_made_it(self) -> None:
        maker, taker = remote(Maker), remote(Taker)
        reference = maker.make.remote(5000)
        ray.get(taker.take.remote(reference))
        ray.kill(maker)
        assert ray.get(taker.last.remote()) == 4999
        ray.get(taker.drop.remote())
        del reference
        assert eventually_equal(lambda: ray.get(taker.usage.remote())[1], 0, seconds=10), (
            "the memory ends with its last user"
        )

    def test_actor_that_died_before_is_reported(self) -> None:
        maker, taker = remote(Maker), remote(Taker)
        reference = maker.make.remote(10)
        pid = ray.get(maker.pid.remote())
        os.kill(pid, signal.SIGKILL)
        assert eventually_equal(lambda: os.path.exists(f"/proc/{pid}"), False, seconds=10)
        with pytest.raises(ray.exceptions.RayError):
            ray.get(taker.take.remote(reference), timeout=60)

    def test_memory_is_released_with_the_last_reference(self) -> None:
        maker, taker = remote(Maker), remote(Taker)
        ray.get(taker.total.remote(maker.make.remote(1000)))
        ray.get(maker.drop.remote())
        assert eventually_equal(lambda: ray.get(maker.usage.remote())[1], 0, seconds=10)
        before = ray.get([maker.usage.remote(), taker.usage.remote()])
        for _ in range(20):
            ray.get(taker.total.remote(maker.make.remote(1000)))
        ray.get(maker.drop.remote())

        def grown() -> bool:
            after = ray.get([maker.usage.remote(), taker.usage.remote()])
            return any(now[n] > then[n] for now, then in zip(after, before, strict=True)
                       for n in range(2))  # fmt: skip

        assert eventually_equal(grown, False, seconds=10)

    def test_private_memory_is_refused(self) -> None:
        maker, taker = remote(Maker), remote(Taker)
        with pytest.raises(ray.exceptions.RayError, match=r"shareable\(\)"):
            ray.get(taker.total.remote(maker.make_private.remote()), timeout=60)

    @pytest.mark.cuda
    def test_device_memory_is_shared(self) -> None:
        maker, taker = remote(Maker, num_gpus=0.5), remote(Taker, num_gpus=0.5)
        reference = maker.make.remote(1000, "cuda:0")
        assert ray.get(taker.total.remote(reference)) == sum(range(1000))


def test_transport_describes_the_arrays_to_ray() -> None:
    metadata = Transport().extract_tensor_transport_metadata("id", [shareable(np.zeros(3), "host")])
    assert (metadata.tensor_meta, metadata.tensor_device) == ([((3,), "float64")], "cpu")


def test_receiving_into_buffers_is_refused() -> None:
    metadata = Transport().extract_tensor_transport_metadata("id", [shareable(np.zeros(3), "host")])
    with pytest.raises(ep.ExchangeError, match="does not receive into buffers; copy"):
        Transport().recv_multiple_tensors("id", metadata, None, [np.zeros(3)])


def test_arrays_of_two_kinds_of_device_are_refused() -> None:
    other = ep.zeros(3, "int8", device=_other_device())
    with pytest.raises(ep.ExchangeError, match="one kind of device"):
        Transport().extract_tensor_transport_metadata("id", [shareable(np.zeros(3), "host"), other])


def test_private_memory_is_refused_with_the_object_store() -> None:
    with pytest.raises(ep.ExchangeError, match=r"shareable\(\).*without tensor_transport"):
        Transport().extract_tensor_transport_metadata("id", [ep.zeros(3, "int8", device="host")])


def test_write_of_receiver_is_ordered_after_pending_reads() -> None:
    array, queue = shareable(np.full(1 << 22, 1, "int32"), "host"), ep.Queue("host")
    for _ in range(30):
        copied = ep.empty(1 << 22, "int32", device="host")
        done = ep.copy(copied, array, queue=queue)
    assert not done.done, "there is work to wait for"
    metadata = Transport().extract_tensor_transport_metadata("id", [array])
    (received,) = Transport().recv_multiple_tensors("id", metadata, None)
    ep.fill(received, 2).wait()
    assert done.done
    assert (values_of(copied) == 1).all()


def _other_device() -> str:
    found = [str(device) for device in ep.devices() if str(device) != "host"]
    if not found:
        pytest.skip("there is the host alone")
    return found[0]


class TestObjectStore:
    def test_array_in_the_store_is_a_view(self) -> None:
        values = np.arange(1 << 17)
        reference = ray.put([ep.asarray(values)])
        (first,), (second,) = ray.get(reference), ray.get(reference)
        assert first.data_ptr == second.data_ptr, "both are the memory of the store"
        assert first.read_only
        assert values_of(first).tolist() == values.tolist()

    def test_tasks_take_and_return_arrays(self) -> None:
        @ray.remote
        def doubled(array: Any) -> Any:
            return ep.asarray(values_of(array) * 2)

        found = ray.get(doubled.remote(ep.asarray(np.arange(4))))
        assert values_of(found).tolist() == [0, 2, 4, 6]

    @pytest.mark.sycl
    def test_device_memory_is_copied_to_the_device(self) -> None:
        array = ep.full(4, 5, "int32", device="opencl:cpu", kind="device")
        made = ray.get(ray.put(array))
        assert (made.device, made.kind) == (array.device, "device")
        assert values_of(made).tolist() == [5] * 4

    def test_disabled_transport_refuses(self) -> None:
        transport.ray.disable()
        try:
            with pytest.raises(TypeError, match="cannot pickle"):
                ray.put(ep.asarray(np.arange(4)))
        finally:
            transport.ray.enable()

"""Streams, events, devices and the current device."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import weakref
from typing import cast

import numpy as np
import pytest

import entrepot as ep
from entrepot import numba_cuda as cuda
from entrepot.numba_cuda import devices
from entrepot.numba_cuda.streams import stream_of
from support.processes import output_of

pytestmark = pytest.mark.numpy


@cuda.jit
def scale(a, factor):
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        a[i] *= factor


@cuda.jit
def work(out):
    i = cuda.grid(1)
    total = 0.0
    for k in range(1_000_000):
        total = total * 0.5 + k
    out[i] = total


def test_streams_with_parts_of_an_array_overlap(device):
    values = cuda.pinned_array(1000, dtype=np.float32)
    values[:] = 1
    result = cuda.pinned_array_like(values)
    streams = [cuda.stream() for _ in range(4)]
    for part, stream in enumerate(streams):
        here = slice(250 * part, 250 * (part + 1))
        there = cuda.to_device(values[here], stream=stream)
        scale[2, 64, stream](there, part)
        there.copy_to_host(result[here], stream=stream)
    for stream in streams:
        stream.synchronize()
    assert result.reshape(4, 250)[:, 0].tolist() == [0, 1, 2, 3]


def test_stream_runs_in_order_and_synchronizes_at_the_end(device):
    stream = cuda.stream()
    with stream.auto_synchronize():
        there = cuda.to_device(np.ones(100), stream=stream)
        for _ in range(3):
            scale[1, 32, stream](there, 2)
        result = there.copy_to_host(stream=stream)
    assert (result == 8).all()


def test_bound_array_uses_its_stream(device):
    stream = cuda.stream()
    there = cuda.to_device(np.ones(3)).bind(stream)
    result = there.copy_to_host()
    stream.synchronize()
    assert result.tolist() == [1, 1, 1]


def test_event_times_the_work_between(device):
    if not device.has_aspect_queue_profiling:
        pytest.skip("the device measures no time")
    start, end = cuda.event(), cuda.event(timing=True)
    there = cuda.to_device(np.ones(1 << 16))
    start.record()
    for _ in range(20):
        scale[64, 64](there, 1.0)
    end.record()
    end.synchronize()
    assert start.query()
    assert end.query()
    assert 0 < start.elapsed_time(end) < 10_000
    assert cuda.event_elapsed_time(start, end) == start.elapsed_time(end)


def test_event_without_times_orders_streams(device):
    first, second = cuda.stream(), cuda.stream()
    event = cuda.event(timing=False)
    there = cuda.to_device(np.ones(10), stream=first)
    scale[1, 16, first](there, 3)
    event.record(first)
    event.wait(second)
    scale[1, 16, second](there, 2)
    second.synchronize()
    assert (there.copy_to_host() == 6).all()


def test_time_of_event_that_is_not_recorded_is_refused():
    with pytest.raises(ep.DeviceError, match="recorded"):
        cuda.event().elapsed_time(cuda.event())


def test_callback_is_called_after_the_work(device):
    done = threading.Event()
    seen = []
    stream = cuda.stream()

    def callback(*given):
        seen.append(given)
        done.set()

    stream.add_callback(callback, "argument")
    assert done.wait(30)
    assert seen == [(stream, 0, "argument")]


def test_future_of_stream_is_done_after_the_work(device):
    async def wait() -> cuda.Stream:
        return await asyncio.wait_for(stream.async_done(), 30)

    stream = cuda.stream()
    assert asyncio.run(wait()) == stream


class FailingQueue:
    """A queue whose work has failed."""

    def record(self) -> FailingQueue:
        return self

    def wait(self) -> None:
        raise ep.DeviceError("the work failed")


def test_callback_after_failed_work_has_an_error_status():
    done = threading.Event()
    seen = []

    def callback(stream, status, arg):
        seen.append(status)
        done.set()

    cuda.Stream(cast("ep.Queue", FailingQueue())).add_callback(callback)
    assert done.wait(30)
    assert seen == [999]


def test_future_after_failed_work_has_the_exception():
    async def wait() -> None:
        stream = cuda.Stream(cast("ep.Queue", FailingQueue()))
        await asyncio.wait_for(stream.async_done(), 30)

    with pytest.raises(ep.DeviceError, match="failed"):
        asyncio.run(wait())


def test_streams_of_other_libraries_have_one_queue_for_times(device):
    if not device.has_aspect_queue_profiling:
        pytest.skip("the device measures no time")
    queue = ep.Queue(device)
    first, second = stream_of(queue), stream_of(ep.Queue(queue))
    assert first.timing_queue() is second.timing_queue()


def test_dropped_stream_is_not_held_by_a_kernel(device):
    stream = cuda.stream()
    there = cuda.to_device(np.ones(3))
    scale[1, 4, stream](there, 2)
    cuda.synchronize()
    dropped = weakref.ref(stream)
    del stream
    gc.collect()
    assert dropped() is None


def test_default_streams_are_the_device_queue(device):
    assert cuda.default_stream() == cuda.legacy_default_stream()
    assert cuda.default_stream() == cuda.per_thread_default_stream()
    assert cuda.default_stream().queue == device.queue
    assert cuda.external_stream(device.queue) == cuda.default_stream()


def test_current_device_follows_the_context(device):
    assert cuda.get_current_device().device == device
    assert cuda.current_context().device.device == device
    assert cuda.gpus.current.device == device


def test_selected_device_is_current_in_its_thread(monkeypatch):
    monkeypatch.delenv("ENTREPOT_DEVICE", raising=False)
    host = next(each for each in cuda.gpus if each.device.backend == "host")
    try:
        assert cuda.select_device(host.id) == host
        with ep.device_context(cuda.gpus[-1].device):
            assert cuda.get_current_device() == host
        found = []
        thread = threading.Thread(target=lambda: found.append(cuda.get_current_device().id))
        thread.start()
        thread.join()
        assert found == [0]
    finally:
        cuda.close()


def test_device_as_context_manager_is_current(monkeypatch):
    monkeypatch.delenv("ENTREPOT_DEVICE", raising=False)
    last = cuda.gpus[len(cuda.gpus) - 1]
    with last:
        assert cuda.get_current_device() == last
        assert cuda.device_array(2).array.device == last.device
    assert cuda.get_current_device().id == 0


@pytest.mark.parametrize("change", [cuda.close, lambda: cuda.select_device(0)])
def test_device_of_an_outer_statement_is_restored(monkeypatch, change):
    monkeypatch.delenv("ENTREPOT_DEVICE", raising=False)
    last = cuda.gpus[len(cuda.gpus) - 1]
    try:
        cuda.select_device(last.id)
        with last:
            with cuda.gpus[0]:
                change()
                assert cuda.get_current_device().id == 0
            assert cuda.get_current_device() == last
        assert cuda.get_current_device() == last
    finally:
        cuda.close()


@pytest.mark.parametrize("wait", ["synchronize", "reset"])
def test_context_waits_for_its_own_device(device, wait):
    context = cuda.current_context()
    other = next((each for each in cuda.gpus if each.device != device), context.device)
    stream = cuda.stream()
    there = cuda.device_array(64, stream=stream)
    event = cuda.event(timing=False)
    work[64, 1, stream](there)
    event.record(stream)
    with other:
        getattr(context, wait)()
    assert event.query()


def test_work_of_a_dropped_stream_is_waited_for(device):
    stream = cuda.stream()
    event = cuda.event(timing=False)
    there = cuda.device_array(64)
    work[64, 1, stream](there)
    event.record(stream)
    del stream
    gc.collect()
    cuda.synchronize()
    assert event.query()


def test_streams_of_threads_are_all_waited_for(device):
    made: list[cuda.Stream] = []
    threads = [
        threading.Thread(target=lambda: made.extend(cuda.stream() for _ in range(50)))
        for _ in range(8)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    known = [each.queue for each in devices._watched]
    assert all(each.queue in known for each in made)


def test_refused_property_of_a_device_says_what_to_use():
    with pytest.raises(cuda.NotServedError, match="has_aspect_fp64"):
        cuda.gpus[0].compute_capability  # noqa: B018


def test_unknown_number_of_a_device_is_refused():
    with pytest.raises(cuda.CudaSupportError, match="there are"):
        cuda.select_device(1000)


def test_devices_describe_themselves(capsys):
    assert cuda.detect()
    assert cuda.is_available()
    assert f"Found {len(cuda.gpus)} devices" in capsys.readouterr().out
    first = cuda.list_devices()[0]
    assert first.name
    assert first.id == 0
    assert first.MAX_THREADS_PER_BLOCK > 0
    assert first.MULTIPROCESSOR_COUNT > 0


@pytest.mark.parametrize("variable", ["NUMBA_ENABLE_CUDASIM", "ENTREPOT_SIMULATE"])
def test_variable_of_the_simulator_runs_kernels_in_python(variable, tmp_path):
    program = tmp_path / "simulated.py"
    program.write_text(
        "import numpy as np\n"
        "from entrepot import numba_cuda as cuda\n"
        "ran = []\n"
        "@cuda.jit\n"
        "def k(a):\n"
        "    ran.append(cuda.grid(1))\n"
        "k[2, 3](np.zeros(2))\n"
        "print([int(i) for i in ran])\n"
    )
    said = output_of([sys.executable, program], env=os.environ | {variable: "1"})
    assert said.strip() == "[0, 1, 2, 3, 4, 5]"


def test_environment_chooses_the_device(tmp_path):
    said = output_of(
        [
            sys.executable,
            "-c",
            "from entrepot import numba_cuda as c; print(c.get_current_device().device)",
        ],
        env=os.environ | {"ENTREPOT_DEVICE": "host"},
    )
    assert said.strip() == "host"

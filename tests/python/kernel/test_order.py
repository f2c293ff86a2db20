"""When kernels run: launches return early, and work on an argument is in order across streams."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_device
from support import cuda_kernels
from support.cuda_streams import Stream
from support.places import values_of

pytestmark = [pytest.mark.numpy, pytest.mark.alone]

#: Devices whose queues run asynchronously to the caller.
every_other_device = pytest.mark.parametrize(
    "device",
    [
        pytest.param("opencl:cpu", marks=pytest.mark.sycl),
        pytest.param("cuda:0", marks=pytest.mark.cuda),
        pytest.param("hip:0", marks=pytest.mark.hip),
    ],
)

TURNS = 300_000_000
RESULT = 42


@dppy.kernel
def slow(out, turns):
    x = dppy.uint32(1)
    for _ in range(turns):
        x = x * 1664525 + 1013904223
    out[1] = x
    out[0] = 42


@dppy.kernel
def slow_sum(out, x, turns):
    y = dppy.uint32(1)
    for _ in range(turns):
        y = y * 1664525 + 1013904223
    out[1] = y
    out[0] = x[0] + 1


@dppy.kernel
def adds(out, x):
    out[0] += x[0]


@dppy.kernel
def marks(out):
    out[0] = 7


def zeros(queue: ep.Queue) -> ep.Array:
    array = ep.zeros(2, "int32", queue=queue)
    queue.wait()
    return array


def starts_slowly(array: ep.Array, queue: ep.Queue | None = None) -> ep.Event:
    """A slow kernel, already compiled."""
    slow[1](zeros(array.queue), 1).wait()
    return slow[1](array, TURNS, queue=queue)


@every_other_device
def test_launch_returns_before_completion(device):
    array = zeros(ep.Queue(device))
    event = starts_slowly(array)
    assert not event.done
    event.wait()
    assert event.done
    assert values_of(array)[0] == RESULT


@every_other_device
@pytest.mark.parametrize(
    "chosen",
    [
        lambda quick, slow: slow,
        lambda quick, slow: [quick, slow],
        lambda quick, slow: (slow, quick),
    ],
    ids=["one", "a list", "a tuple"],
)
def test_launch_waits_for_depends_on(device, chosen):
    """Waits for events of other queues that have nothing to do with its memory."""
    own, other, third = (zeros(ep.Queue(device)) for _ in range(3))
    marks[1](own).wait()
    quick, started = marks[1](third), starts_slowly(other)
    behind = chosen(quick, started)
    last = marks[1](own, depends_on=behind)
    assert not started.done, "the kernel must be slow enough for the test to mean anything"
    last.wait()
    assert started.done
    if behind is not started:  # else there was no wait for the quick one
        assert quick.done


@every_device
def test_queue_of_the_first_array_waits_for_the_others(device):
    """The launch uses the queue of its first array, while a queue of its own still writes the
    other array."""
    here, there = ep.Queue(device), ep.Queue(device)
    out, x = zeros(here), zeros(there)
    adds[1](out, zeros(here)).wait()
    writing = starts_slowly(x)
    event = adds[1](out, x)
    event.wait()
    assert writing.done
    assert values_of(out)[0] == RESULT


@every_device
def test_writer_waits_for_reader(device):
    here, there = ep.Queue(device), ep.Queue(device)
    out, x = zeros(here), zeros(there)
    slow_sum[1](out, x, 1).wait()
    marks[1](zeros(there)).wait()
    slow_sum[1](out, x, TURNS)
    marks[1](x).wait()  # on x's own queue
    assert values_of(out)[0] == 1
    assert values_of(x)[0] == 7


@every_device
def test_copy_waits_for_the_kernel(device):
    array, other = zeros(ep.Queue(device)), zeros(ep.Queue(device))
    starts_slowly(array)
    ep.copy(other, array).wait()
    assert values_of(other)[0] == RESULT


@every_device
def test_numpy_arguments_are_read_and_written_before_return(device):
    """Accessed in place or by copies: the call waits, since no later access can."""
    x, out = np.ones(2, "i4"), np.zeros(2, "i4")
    with ep.device_context(device):
        slow_sum[1](out, x, TURNS // 10)
        x[0] = 100
    assert out[0] == 2


@every_other_device
def test_kernel_and_later_copy_wait_for_an_event(device):
    """The event's work has nothing to do with their memory."""
    queue = ep.Queue(device)
    there, gate = dppy.device_array(2, "int32", queue=queue), zeros(ep.Queue(device))
    into = np.zeros(2, "i4")
    marks[1](there).wait()  # compiled before
    dppy.copy_from_host(there, np.full(2, 5, "i4"))
    started = starts_slowly(gate)
    marked = marks[1](there, depends_on=started)
    assert not started.done
    done = dppy.copy_to_host_async(there, into)
    done.wait()
    assert started.done
    assert marked.done
    assert into.tolist() == [7, 5]


@pytest.mark.cuda
class TestStreams:
    def test_kernel_waits_for_the_stream_of_cai(self):
        """The kernel waits for the stream that the dict names."""
        memory, far = zeros(ep.Queue("cuda:0")), Stream()
        out = zeros(ep.Queue("cuda:0"))
        adds[1](out, zeros(out.queue)).wait()
        said = {**memory.__cuda_array_interface__, "stream": far.handle}
        done = cuda_kernels.launch(memory, ep.Queue(far))

        class Speaks:
            __cuda_array_interface__ = said

        event = adds[1](out, Speaks())
        assert not done.done, "the launch waited"
        event.wait()
        assert values_of(out)[0] == cuda_kernels.RESULT

    def test_kernel_runs_on_the_named_stream(self):
        array, far = zeros(ep.Queue("cuda:0")), Stream()
        event = starts_slowly(array, ep.Queue(far))
        assert not event.done
        far.wait()
        assert event.done
        assert values_of(array)[0] == RESULT

    @pytest.mark.torch
    def test_kernel_waits_for_torchs_current_stream(self):
        """The kernel reads what torch's current stream is still writing."""
        import torch

        side, out = torch.cuda.Stream(), zeros(ep.Queue("cuda:0"))
        tensor = torch.zeros(2, dtype=torch.int32, device="cuda")
        adds[1](out, tensor).wait()
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(500_000_000)
            tensor.fill_(RESULT)
            event = adds[1](out, tensor)
            assert not side.query(), "the launch waited"
        event.wait()
        assert values_of(out)[0] == RESULT

    @pytest.mark.cupy
    def test_kernel_waits_for_cupys_current_stream(self):
        import cupy

        side, out = cupy.cuda.Stream(non_blocking=True), zeros(ep.Queue("cuda:0"))
        array = cupy.zeros(2, "i4")
        adds[1](out, array).wait()
        spin = cupy.RawKernel(
            'extern "C" __global__ void spin(int *p, long long n) '
            "{ long long t = clock64(); while (clock64() - t < n); p[0] = 42; }",
            "spin",
        )
        spin((1,), (1,), (array, 1))
        array[:] = 0
        cupy.cuda.Device().synchronize()
        with side:
            spin((1,), (1,), (array, 500_000_000))
            event = adds[1](out, array)
            assert not side.done, "the launch waited"
        event.wait()
        assert values_of(out)[0] == RESULT

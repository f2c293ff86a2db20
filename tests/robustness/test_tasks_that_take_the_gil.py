"""Host tasks that take the GIL. A thread that holds the GIL and waits for such a queue deadlocks;
so does one that waits for a thread doing that.

On SYCL, dpctl and dpnp submit such a task after each operation, to drop the operation's arguments.
On CUDA, callbacks of CuPy and Numba are such tasks. While a CUDA call that frees memory waits for
all work, no thread can record an event.

Each program runs in its own process, since one that deadlocks never ends."""

from __future__ import annotations

import pytest

from support.processes import run

KEEP_ALIVE = """
import threading, time
import dpctl, dpctl.memory
import entrepot as ep
from support.c_interface import c_interface
from entrepot import memory
from support.opencl_kernels import launch

out_of_order = dpctl.SyclQueue("opencl:cpu")
in_order = dpctl.SyclQueue("opencl:cpu", property="in_order")
queue, other = ep.Queue(out_of_order), ep.Queue(in_order)

def memory_of(queue):
    return ep.zeros(16, "int32", kind="shared", queue=queue)

def keep_alive(event):
    out_of_order._submit_keep_args_alive((object(),), [event])
"""

# One thread. The array's last work waits for such a task; an out-of-order queue cannot join it.
TWO_QUEUES = """
array = memory_of(queue)
queue.wait()
launch("slow", array, queue=queue)
keep_alive(out_of_order.submit_barrier())
launch("slow", array, seconds=0.01, queue=queue)
array.__dlpack__(stream=dpctl.SyclQueue("opencl:cpu"))
"""

# Two threads: the other one waits for the queue, whose last task takes the GIL.
BESIDE_A_WAITER = """
raw = dpctl.memory.MemoryUSMShared(64, queue=out_of_order)
# Work of `other` is pending on it, and its own queue is out of order.
elsewhere = ep.asarray(memory_of(other), queue=queue)
# So many that the pool asks meanwhile which of them are free.
seen = [memory_of(other) for _ in range(200)]
for each in seen:
    each.__dlpack__()
del each
handle = c_interface().from_object(elsewhere, 0)
queue.wait()
other.wait()
launch("slow", elsewhere, seconds=1, queue=other)
{task}
marked_by_nobody = ep.asarray(raw)
waiter = threading.Thread(target=queue.wait)
waiter.start()
time.sleep(0.2)
{act}
waiter.join()
"""
OF_THE_QUEUE = """
launch("slow", memory_of(queue), queue=queue)
keep_alive(out_of_order.submit_barrier())
"""
OF_ANOTHER = "keep_alive(in_order.submit_barrier())"  # the queue waited for has no work of Entrepot


def finishes(program: str) -> None:
    assert run(KEEP_ALIVE + program + "print('done')") == "done"


@pytest.mark.sycl
@pytest.mark.dpctl
def test_host_tasks_of_one_thread_finish() -> None:
    finishes(TWO_QUEUES)


@pytest.mark.sycl
@pytest.mark.dpctl
@pytest.mark.parametrize("task", [OF_THE_QUEUE, OF_ANOTHER], ids=["of_the_queue", "of_another"])
@pytest.mark.parametrize(
    "act",
    [
        "marked_by_nobody.__dlpack__(stream=in_order)",
        "elsewhere.__dlpack__(stream=out_of_order)",
        "elsewhere.__sycl_usm_array_interface__",
        "memory.as_usm_memory(marked_by_nobody.host())",
        "c_interface().before_use(handle, 1)",
        "memoryview(marked_by_nobody)",
        "queue.record().done",
        "queue.is_idle",
        "seen.clear()",
    ],
)
def test_thread_acts_while_other_thread_waits(act: str, task: str) -> None:
    finishes(BESIDE_A_WAITER.format(act=act, task=task))


BESIDE_ONE_WHO_FREES = """
import ctypes, threading, time
import entrepot as ep
from support.c_interface import c_interface
from entrepot import memory
from support.cuda_kernels import launch
from support.cuda_streams import Stream, check, driver, inside, primary_context

queue, other, busy = (ep.Queue("cuda:0") for _ in range(3))
stream = Stream()
array = ep.zeros(16, "int32", queue=queue)
shared = ep.zeros(16, "int32", kind="shared", queue=queue)
handle = c_interface().from_object(ep.asarray(array, queue=other), 0)
kept = ep.zeros(16, "int32", queue=other)
with memory.use_resource(memory.direct()):
    pinned, managed = (ep.zeros(16, "int32", kind=kind, queue=busy) for kind in ("host", "shared"))
program = ep.Program('extern "C" __global__ void nothing() {}', "cuda:0")
fresh, timing = ep.Queue("cuda:0"), ep.Queue("cuda:0", profiling=True)
# So many that the pool asks meanwhile which of them are free.
seen = [ep.zeros(16, "int32", queue=queue) for _ in range(200)]
for each in seen:
    each.__dlpack__(stream=stream.handle)
del each
wrapped = ep.Queue(stream)

class Foreign:
    __cuda_array_interface__ = {**array.__cuda_array_interface__, "stream": stream.handle}

answered = threading.Event()
callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: answered.set())
block = ctypes.c_uint64()
with inside(primary_context()):
    check(driver().cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(1 << 20)))

def free():
    with inside(primary_context()):
        check(driver().cuMemFree_v2(block))

launch(ep.zeros(16, "int32", queue=busy))
launch(ep.zeros(16, "int32", queue=busy))
check(driver().cuLaunchHostFunc(ctypes.c_void_p(busy.__cuda_stream__()[1]), callback, None))
launch(kept, wrapped)
launch(shared)
for each in seen:
    ep.fill(each, 1)
del each
event, timed = launch(array), timing.record()
waiter = threading.Thread(target=free)
waiter.start()
time.sleep(0.1)
assert waiter.is_alive() and not answered.is_set()
{act}
waiter.join()
queue.wait()
assert answered.is_set()
print("done")
"""


@pytest.mark.cuda
@pytest.mark.parametrize(
    "act",
    [
        "array.__dlpack__(stream=stream.handle)",
        "array.__dlpack__(stream=1)",
        "array.__dlpack__(stream=2)",
        "array.__cuda_array_interface__",
        "c_interface().before_use(handle, 1)",
        "ep.asarray(Foreign())",
        "memoryview(shared)",
        "launch(array, queue=other)",
        "other.wait_for(queue)",
        "queue.record().done",
        "event.done",
        "repr(event)",
        "queue.is_idle",
        "queue.__cuda_stream__()",
        "ep.Queue('cuda:0')",
        "ep.fill(array, 1)",
        "ep.empty(16, 'int32', queue=queue)",
        "ep.empty(16, 'int32', kind='shared', queue=queue)",
        "ep.empty(16, 'int32', kind='host', queue=queue)",
        "ep.empty(10_000_000, 'uint8', queue=queue)",
        "array.copy_to_host()",
        "shared.host()",
        "array.to('host')",
        "ep.Queue('cuda:0', profiling=True).record()",
        "seen.clear()",
        "del kept",
        "del event",
        "del timed",
        "del fresh",
        "del program",
        "del pinned",
        "del managed",
    ],
)
def test_thread_acts_while_other_thread_frees(act: str) -> None:
    assert run(BESIDE_ONE_WHO_FREES.replace("{act}", act), timeout=30) == "done"

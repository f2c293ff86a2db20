"""What dpctl and dpnp submit behind each of their operations: a task of the host that drops the operation's arguments, for which
it takes the GIL. A thread that has the GIL and waits for such a queue, or for one who does, waits for ever.

Each program has a process of its own, which others may keep waiting: one that waits for ever does so whenever it runs."""

from __future__ import annotations

import pytest

from robustness.processes import run

pytestmark = [pytest.mark.sycl, pytest.mark.dpctl]

KEEP_ALIVE = """
import threading, time
import dpctl, dpctl.memory
import entrepot as ep
from c_interface import c_interface
from entrepot import memory
from robustness.kernels import launch

out_of_order, in_order = dpctl.SyclQueue("opencl:cpu"), dpctl.SyclQueue("opencl:cpu", property="in_order")
queue, other = ep.Queue(out_of_order), ep.Queue(in_order)

def memory_of(queue):
    return ep.zeros(16, "int32", kind="shared", queue=queue)

def keep_alive(event):
    out_of_order._submit_keep_args_alive((object(),), [event])
"""

# One thread: the array's last work comes behind such a task, and cannot be put before a queue that is not in order either.
TWO_QUEUES = """
array = memory_of(queue)
queue.wait()
launch("slow", array, queue=queue)
keep_alive(out_of_order.submit_barrier())
launch("slow", array, seconds=0.01, queue=queue)
array.__dlpack__(stream=dpctl.SyclQueue("opencl:cpu"))
"""

# Two threads: the other one waits for the queue, whose last task is such a one.
BESIDE_A_WAITER = """
raw = dpctl.memory.MemoryUSMShared(64, queue=out_of_order)
elsewhere = ep.asarray(memory_of(other), queue=queue)  # work of `other` is pending on it, and its own queue is out of order
seen = [memory_of(other) for _ in range(200)]  # so many that the pool asks meanwhile which of them are free
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
OF_ANOTHER = "keep_alive(in_order.submit_barrier())"  # nothing of ours is in the queue that is waited for


def finishes(program: str) -> None:
    assert run(KEEP_ALIVE + program + "print('done')") == "done"


def test_the_only_thread_hands_over() -> None:
    finishes(TWO_QUEUES)


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
def test_a_thread_acts_while_another_waits(act: str, task: str) -> None:
    finishes(BESIDE_A_WAITER.format(act=act, task=task))

"""Queues, events and the current device."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import pytest

import entrepot as ep
from support.capsules import name_of, new_capsule, pointer_in
from support.malformed import Speaker
from support.opencl_kernels import launch
from support.sycl_capsules import capsule_of

SAME_AS_DPCTL = [
    "name", "vendor", "driver_version", "max_compute_units", "max_work_group_size",
    "max_work_item_sizes3d",
    "global_mem_size", "local_mem_size", "max_mem_alloc_size", "partition_max_sub_devices",
    "is_cpu", "is_gpu", "is_accelerator", "has_aspect_fp16", "has_aspect_fp64",
    "has_aspect_atomic64",
    "has_aspect_queue_profiling",
    "has_aspect_usm_host_allocations", "has_aspect_usm_device_allocations",
    "has_aspect_usm_shared_allocations",
]  # fmt: skip


@pytest.fixture
def cpu() -> ep.Device:
    return ep.device("opencl:cpu")


class Wrapper:
    """An object of a library that passes its queue or context in a capsule."""

    def __init__(self, wrapped):
        self.wrapped = wrapped

    def _get_capsule(self):
        return self.wrapped._get_capsule()


@pytest.mark.parametrize("device", ep.devices(), ids=str)
class TestQueue:
    def test_queue_is_new_and_in_order(self, device):
        queue = ep.Queue(device)
        assert queue != ep.Queue(device)
        assert queue == queue
        assert queue.is_in_order
        assert not queue.has_enable_profiling
        assert queue.device == device
        assert queue.context == device.context
        assert str(device) in repr(queue)

    def test_idle_queue_does_not_wait(self, device):
        queue = ep.Queue(str(device))
        queue.wait()
        assert queue.is_idle
        event = queue.record()
        event.wait()
        assert event.done
        queue.wait_for(event)
        assert "done" in repr(event)

    def test_queue_waits_for_other_queue_or_itself(self, device):
        first, second = ep.Queue(device), ep.Queue(device)
        array = ep.zeros(64, "int32", queue=first)
        assert second.wait_for(first) is None  # type: ignore[func-returns-value]
        first.wait_for(first)
        ep.fill(array, 7, queue=second)
        first.wait_for(second)
        second.wait()
        assert memoryview(array.copy_to_host())[63] == 7
        with pytest.raises(TypeError, match="an event or a queue was expected"):
            first.wait_for(1)
        with pytest.raises(TypeError, match="never initialized"):
            ep.Queue.__new__(ep.Queue).wait_for(first)
        with pytest.raises(TypeError, match="an event or a queue was expected"):
            first.wait_for(ep.Queue.__new__(ep.Queue))

    def test_queue_is_released_with_last_reference(self, device):
        queue = ep.Queue(device)
        gone = weakref.ref(queue)
        del queue
        gc.collect()
        assert gone() is None

    def test_events_of_profiling_queues_have_times(self, device):
        if not device.has_aspect_queue_profiling:
            with pytest.raises(ep.DeviceError, match="cannot time"):
                ep.Queue(device, profiling=True)
            return
        queue = ep.Queue(device, profiling=True)
        assert queue.has_enable_profiling
        start = queue.record()
        target = ep.empty(1 << 20, "uint8", queue=queue)
        ep.fill(target, 1)
        end = queue.record()
        end.wait()
        assert 0 <= start.seconds_until(end) < 10

    def test_events_without_times_say_so(self, device):
        queue = ep.Queue(device)
        first, second = queue.record(), queue.record()
        second.wait()
        with pytest.raises(ep.DeviceError):
            first.seconds_until(second)


@pytest.mark.host
class TestEvents:
    """Events come from a free list: a reused one has no state of its predecessor."""

    def test_weak_references_are_of_one_event(self) -> None:
        queue = ep.Queue("host")
        events = [queue.record() for _ in range(200)]
        references = [weakref.ref(event) for event in events]
        assert all(
            reference() is event for reference, event in zip(references, events, strict=True)
        )
        del events
        again = [queue.record() for _ in range(200)]
        assert [reference() for reference in references] == [None] * 200
        assert all(weakref.getweakrefcount(event) == 0 for event in again)

    def test_events_release_their_class(self) -> None:
        queue = ep.Queue("host")
        gc.collect()
        before = sys.getrefcount(ep.Event)
        for _ in range(3):
            events = [queue.record() for _ in range(200)]
            del events
        after = sys.getrefcount(ep.Event)  # not within the assertion, which holds the class
        assert after == before

    def test_event_cannot_be_constructed(self) -> None:
        with pytest.raises(TypeError, match=r"entrepot\.Event"):
            ep.Event()

    def test_seconds_until_needs_an_event(self) -> None:
        event = ep.Queue("host").record()
        with pytest.raises(TypeError, match=r"an event was expected .* not 3"):
            event.seconds_until(3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"seconds_until\(\) is missing its argument 'later'"):
            event.seconds_until()  # type: ignore[call-arg]


class TestCurrent:
    def test_innermost_scope_is_current(self):
        host = ep.device("host")
        outer, inner = ep.Queue(host), ep.Queue(host)
        before = ep.empty(1, "uint8").queue
        with outer as given:
            assert given == outer
            with ep.device_context(inner) as queue:
                assert queue == inner == ep.empty(1, "uint8").queue
            assert ep.empty(1, "uint8").queue == outer
            assert ep.device() == host
        assert ep.empty(1, "uint8").queue == before

    @pytest.mark.sycl
    @pytest.mark.dpctl
    def test_device_context_of_dpctls_queue_yields_that_object(self):
        import dpctl
        import dpctl.memory

        class Derived(dpctl.SyclQueue):
            pass

        before = ep.device()
        for queue in (dpctl.SyclQueue("opencl:cpu"), Derived("opencl:cpu")):
            context = ep.device_context(queue)
            assert isinstance(context, ep.Queue)
            assert context == queue
            assert context.device == ep.device("opencl:cpu")
            for _ in range(2):
                with context as yielded:
                    assert yielded is queue
                    assert dpctl.memory.MemoryUSMShared(64, queue=yielded).sycl_queue == queue
                    assert ep.empty(1, "uint8").queue == queue
                    with ep.device_context(yielded) as again:
                        assert again is queue
                assert ep.device() == before

    @pytest.mark.sycl
    @pytest.mark.dpctl
    def test_device_context_keeps_dpctls_queue_alive(self):
        import dpctl

        context = ep.device_context(dpctl.SyclQueue("opencl:cpu"))
        gc.collect()
        with context as yielded:
            assert isinstance(yielded, dpctl.SyclQueue)
            with pytest.raises(ValueError, match="innermost first"):
                ep.device_context(dpctl.SyclQueue("opencl:cpu")).__exit__(None, None, None)

    @pytest.mark.sycl
    @pytest.mark.dpctl
    def test_cycle_through_device_context_is_collected(self):
        import dpctl

        class Derived(dpctl.SyclQueue):
            pass

        queue = Derived("opencl:cpu")
        queue.context = ep.device_context(queue)
        alive = weakref.ref(queue)
        for _ in range(8):  # the most recently wrapped queues stay alive
            ep.Queue(dpctl.SyclQueue("opencl:cpu"))
        gc.collect()
        assert alive() is queue
        del queue
        gc.collect()
        assert alive() is None

    @pytest.mark.sycl
    @pytest.mark.dpctl
    def test_device_context_of_dpctls_device_yields_our_queue(self):
        import dpctl

        with ep.device_context(dpctl.SyclDevice("opencl:cpu")) as yielded:
            assert type(yielded) is ep.Queue

    def test_selector_stands_for_default_queue(self):
        with ep.device_context("host") as queue:
            assert queue == ep.device("host").queue

    def test_scope_ends_on_an_exception(self):
        before = ep.empty(1, "uint8").queue
        with pytest.raises(KeyError), ep.Queue("host"):
            raise KeyError
        assert ep.empty(1, "uint8").queue == before

    def test_scopes_exit_innermost_first_on_their_thread(self):
        queue, other = ep.Queue("host"), ep.Queue("host")
        with pytest.raises(ValueError, match="innermost first"):
            queue.__exit__(None, None, None)
        with queue:
            with pytest.raises(ValueError, match="innermost first"):
                other.__exit__(None, None, None)
            assert ep.empty(1, "uint8").queue == queue

    def test_current_queue_is_thread_local(self):
        seen = []
        with ep.Queue("host") as queue:
            thread = threading.Thread(
                target=lambda: seen.append(ep.empty(1, "uint8").queue == queue)
            )
            thread.start()
            thread.join()
        assert seen == [False]


@pytest.mark.sycl
class TestCapsules:
    def test_capsule_round_trip_keeps_queue_and_context(self, cpu):
        queue = ep.Queue(cpu)
        assert ep.Queue(capsule_of(queue)).context == queue.context
        assert ep.Queue(Wrapper(queue)).device == cpu
        assert ep.Context(capsule_of(queue)) == queue.context
        assert ep.Context(cpu.context._get_capsule()) == cpu.context
        assert ep.Context(Wrapper(cpu.context)) == cpu.context

    def test_capsule_is_consumed_once(self, cpu):
        capsule = cpu.queue._get_capsule()
        ep.Queue(capsule)
        assert name_of(capsule) == b"used_SyclQueueRef"
        with pytest.raises(ValueError, match="used already"):
            ep.Queue(capsule)

    def test_capsule_keeps_pointer_valid(self, cpu):
        queue = ep.Queue(cpu)
        address = queue.addressof_ref()
        capsule = capsule_of(queue)
        del queue
        gc.collect()
        assert pointer_in(capsule, b"SyclQueueRef") == address
        ep.Queue(capsule).wait()

    def test_capsule_of_other_name_is_refused(self):
        for name in (b"dltensor", b"used_SyclContextRef", None):
            with pytest.raises(ValueError, match="capsule"):
                ep.Queue(new_capsule(1, name))

    def test_context_capsule_is_refused_as_queue(self, cpu):
        with pytest.raises(TypeError, match=r"Queue\(device, context"):
            ep.Queue(cpu.context._get_capsule())

    def test_error_of_provider_propagates(self):
        class Broken:
            def _get_capsule(self):
                raise RuntimeError("no queue today")

        with pytest.raises(RuntimeError, match="no queue today"):
            ep.Queue(Broken())

    def test_provider_of_other_object_is_refused(self):
        class Wrong:
            def _get_capsule(self):
                return 5

        with pytest.raises(TypeError, match="returned 5, which is no capsule"):
            ep.Queue(Wrong())

    def test_wrapped_queue_with_options_is_refused(self, cpu):
        with pytest.raises(TypeError, match="has its own"):
            ep.Queue(ep.Queue(cpu), profiling=True)


class TestContexts:
    @pytest.mark.sycl
    def test_new_context_is_not_the_default(self, cpu):
        context = ep.Context([cpu])
        assert context != cpu.context
        assert context.devices == context.get_devices() == [cpu]
        assert context.device_count == 1
        assert not context.is_default
        queue = ep.Queue(cpu, context=context)
        assert queue.context == context
        assert "opencl:cpu:0" in repr(context)

    @pytest.mark.sycl
    def test_queue_of_the_current_device_has_the_given_context(self, cpu):
        context = ep.Context([cpu])
        with ep.device_context(cpu):
            assert ep.Queue(context=context).context == context
        with ep.device_context("host"), pytest.raises(ValueError, match="host"):
            ep.Queue(context=context)

    @pytest.mark.sycl
    def test_devices_of_two_backends_do_not_mix(self, cpu):
        with pytest.raises(ValueError, match="two backends"):
            ep.Context([cpu, "host"])

    def test_context_without_devices_is_refused(self):
        with pytest.raises(ValueError, match="at least one"):
            ep.Context([])

    def test_context_of_a_device_or_queue(self):
        host = ep.device("host")
        assert ep.Context("host") == ep.Context(host) == ep.Context(host.queue) == host.context


@pytest.mark.parametrize("wrong", [3, 1.5, b"cpu", [], object(), {}])
def test_non_queue_is_a_type_error(wrong):
    with pytest.raises(TypeError, match="a queue was expected"):
        ep.Queue(wrong)
    with pytest.raises(
        TypeError,
        match=r"an event or a queue was expected \(an Event, dpctl's SyclEvent, or a Queue\), not ",
    ):
        ep.Queue("host").wait_for(wrong)


@pytest.mark.dpctl
@pytest.mark.sycl
class TestDpctl:
    """dpctl's objects for the same thing equal Entrepot's, and dpctl accepts Entrepot's."""

    @pytest.fixture
    def dpctl(self):
        return pytest.importorskip("dpctl")

    def test_dpctl_device_equals_ours(self, dpctl, cpu):
        theirs = dpctl.SyclDevice("opencl:cpu:0")
        assert cpu == theirs
        assert ep.device(theirs) == cpu
        assert ep.device("host") != theirs
        assert theirs.filter_string == cpu.filter_string
        for name in SAME_AS_DPCTL:
            assert getattr(cpu, name) == getattr(theirs, name), name

    def test_dpctl_sub_device_is_recognized(self, dpctl, cpu):
        theirs = dpctl.SyclDevice("opencl:cpu:0").create_sub_devices(partition=1)
        assert ep.device(theirs[0]).parent_device == cpu

    def test_dpctl_queue_equals_ours(self, dpctl, cpu):
        theirs = dpctl.SyclQueue("opencl:cpu:0")
        ours = ep.Queue(theirs)
        assert ours == theirs
        assert ep.Queue(theirs) == ours
        assert ep.Queue(dpctl.SyclQueue(theirs._get_capsule())) == ours
        assert ep.Queue(cpu) != theirs
        assert not ours.is_in_order
        assert ep.Queue(dpctl.SyclQueue("opencl:cpu:0", property="in_order")).is_in_order
        assert ours.context == theirs.sycl_context
        assert ep.Context(theirs) == ep.Context(theirs.sycl_context)

    def test_equal_objects_hash_alike(self, dpctl, cpu):
        theirs = dpctl.SyclQueue("opencl:cpu:0")
        assert hash(cpu) == hash(theirs.sycl_device)
        assert hash(ep.Queue(theirs)) == hash(theirs)
        assert hash(ep.Context(theirs)) == hash(theirs.sycl_context)

    def test_default_context_equals_dpctl_context(self, dpctl, cpu):
        assert cpu.context == dpctl.SyclDevice("opencl:cpu:0").sycl_platform.default_context

    def test_dpctl_accepts_queue_and_context(self, dpctl, cpu):
        queue = ep.Queue(cpu)
        theirs = dpctl.SyclQueue(capsule_of(queue))
        assert theirs.is_in_order
        assert ep.Queue(theirs) == queue
        assert dpctl.SyclContext(cpu.context._get_capsule()).device_count == 1

    def test_later_work_waits_for_dpctl_event(self, dpctl, cpu):
        theirs = dpctl.SyclQueue("opencl:cpu:0", property="in_order")
        array, copied = (ep.zeros(2, "int32", device=cpu, kind="device") for _ in range(2))
        launch("slow", array, queue=ep.Queue(theirs))
        event, ours = theirs.submit_barrier(), ep.Queue(cpu)
        ours.wait_for(event)
        # An import without the memory's history, so that only the event orders the two queues.
        interface = {**array.__sycl_usm_array_interface__, "syclobj": cpu.sycl_context}
        ep.copy(
            copied,
            ep.asarray(Speaker("__sycl_usm_array_interface__", interface, array)),
            queue=ours,
        ).wait()
        assert memoryview(copied.copy_to_host())[0] == 42

    def test_subclass_of_dpctl_queue_is_accepted(self, dpctl):
        class Mine(dpctl.SyclQueue):  # type: ignore[name-defined]
            pass

        theirs = Mine("opencl:cpu:0")
        assert ep.Queue(theirs) == theirs

    def test_released_queue_is_not_confused_with_a_new_one(self, dpctl):
        for _ in range(50):
            theirs = dpctl.SyclQueue("opencl:cpu:0")
            assert ep.Context(theirs) == theirs.sycl_context
            assert ep.Queue(theirs) == theirs
            del theirs

"""Devices: their properties and their division."""

from __future__ import annotations

import functools
import gc
import weakref

import pytest

import entrepot as ep
from support.sycl_capsules import capsule_of


@pytest.fixture
def cpu() -> ep.Device:
    return ep.device("opencl:cpu")


@pytest.mark.parametrize("device", ep.devices(), ids=str)
class TestDevice:
    def test_device_describes_itself(self, device):
        assert device.filter_string == device.get_filter_string() == str(device)
        assert device.name
        assert device.vendor
        assert device.driver_version
        assert device.device_type in {"cpu", "gpu", "accelerator"}
        assert [device.is_cpu, device.is_gpu, device.is_accelerator].count(True) == 1
        assert device.global_mem_size > 1 << 20
        assert 0 < device.max_mem_alloc_size <= device.global_mem_size
        assert device.max_compute_units >= 1
        assert device.max_work_group_size >= 1
        assert len(device.max_work_item_sizes3d) == 3
        assert device.has_aspect_usm_host_allocations

    def test_default_context_and_queue_are_unique(self, device):
        assert device.queue == device.queue
        assert device.context == device.queue.context == device.sycl_context
        assert device.queue.device == device == device.sycl_device
        assert device.context.is_default
        assert device in device.context.devices
        assert device.queue.is_in_order
        assert hash(device.queue) == hash(device.queue)
        assert hash(device.context) == hash(device.queue.sycl_context)

    def test_root_device_has_no_parent(self, device):
        assert device.parent_device is None
        assert device.get_unpartitioned_parent_device() == device

    def test_device_supports_weak_references(self, device):
        other = ep.device(str(device))
        gone = weakref.ref(other)
        del other
        gc.collect()
        assert gone() is None


def test_host_has_no_sycl_object():
    host = ep.device("host")
    for ask in (
        host.addressof_ref,
        host.queue.addressof_ref,
        functools.partial(capsule_of, host.queue),
        functools.partial(capsule_of, host.context),
    ):
        with pytest.raises(
            ep.DeviceError, match="not a SYCL object: it belongs to the host backend"
        ):
            ask()


def test_device_is_not_equal_to_other_objects():
    host = ep.device("host")
    assert host != "host"
    assert host != None  # noqa: E711
    assert host in {host}


@pytest.mark.sycl
class TestSubDevices:
    def test_sub_devices_of_equal_size_have_the_parent(self, cpu):
        halves = cpu.sub_devices(equally=max(1, cpu.max_compute_units // 2))
        assert len(halves) >= 2
        assert len({str(half) for half in halves}) == len(halves)
        for half in halves:
            assert half.parent_device == cpu
            assert str(half).startswith("opencl:cpu:0/")
            assert ep.device(str(half)) == half

    def test_sub_devices_by_counts_have_the_units(self, cpu):
        (one,) = cpu.sub_devices(counts=[1])
        assert one.max_compute_units == 1

    def test_equal_divisions_give_equal_devices(self, cpu):
        assert (
            cpu.sub_devices(equally=1)
            == cpu.sub_devices(equally=1)
            == cpu.create_sub_devices(partition=1)
        )
        assert cpu.create_sub_devices(partition=[1]) == cpu.sub_devices(counts=[1])

    def test_sub_device_has_one_default_queue_and_context(self, cpu):
        sub = cpu.sub_devices(equally=1)[0]
        assert sub.queue.device == sub
        assert sub.context == sub.context
        sub.queue.wait()

    def test_impossible_divisions_are_refused(self, cpu):
        with pytest.raises(ValueError, match=r"ask for 10000 compute units, opencl:cpu:0 has \d+"):
            cpu.sub_devices(counts=[10000])
        with pytest.raises(ValueError, match="0 compute units"):
            cpu.sub_devices(equally=0)
        with pytest.raises(ValueError, match=r"'numa', 'l4'.*not 'l7'"):
            cpu.sub_devices(affinity="l7")
        with pytest.raises(ep.DeviceError):
            cpu.sub_devices(affinity="l1")
        with pytest.raises(TypeError, match="exactly one"):
            cpu.sub_devices()
        with pytest.raises(TypeError, match="exactly one"):
            cpu.sub_devices(equally=1, counts=[1])
        with pytest.raises(TypeError, match="partition"):
            cpu.create_sub_devices(partition=1.5)

    def test_unknown_sub_device_is_not_found(self, cpu):
        with pytest.raises(ep.DeviceError, match="has handed out no sub-device 999"):
            ep.device(f"{cpu}/999")

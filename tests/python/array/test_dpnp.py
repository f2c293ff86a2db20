"""dpnp.asarray imports an Array without a copy, by ``__usm_ndarray__`` and ``sycl_queue``."""

from __future__ import annotations

import gc
import weakref

import pytest

import entrepot as ep

pytestmark = [pytest.mark.sycl, pytest.mark.dpnp]


@pytest.fixture
def dpnp():
    return pytest.importorskip("dpnp")


@pytest.fixture
def array(dpnp):
    return ep.zeros((2, 3), "float32", device="opencl:cpu", kind="shared")


def address(x) -> int:
    return x.__sycl_usm_array_interface__["data"][0]


@pytest.mark.parametrize("kind", ["shared", "device", "host"])
def test_asarray_does_not_copy(dpnp, kind):
    array = ep.zeros((2, 3), "float32", device="opencl:cpu", kind=kind)
    assert address(dpnp.asarray(array)) == array.data_ptr
    assert address(dpnp.asarray(array, copy=False)) == array.data_ptr, (
        "and again, from what was kept"
    )


def test_second_asarray_sees_work_since_the_first(dpnp, array):
    dpnp.asarray(array)
    ep.fill(array, 7)
    assert dpnp.asnumpy(dpnp.asarray(array)).tolist() == [[7, 7, 7], [7, 7, 7]]


def test_reshaping_one_result_leaves_the_next_unchanged(dpnp, array):
    first = dpnp.asarray(array)
    first.shape = (3, 2)
    assert dpnp.asarray(array).shape == (2, 3)


def test_dpnp_keeps_the_memory_and_not_the_array(dpnp):
    array = ep.zeros((2, 3), "float32", device="opencl:cpu", kind="shared")
    ep.fill(array, 5).wait()
    taken, gone = dpnp.asarray(array), weakref.ref(array)
    del array
    gc.collect()
    assert gone() is None
    assert dpnp.asnumpy(taken).sum() == 30


def test_asarray_keeps_the_queue_of_an_imported_array(dpnp):
    import dpctl

    queue = dpctl.SyclQueue("opencl:cpu")
    x = dpnp.arange(6, dtype="f4", sycl_queue=queue)
    for taken in (ep.asarray(x), ep.asarray(x)[:], ep.asarray(x).reshape(2, 3).reshape(-1)):
        for copy in (None, False):
            y = dpnp.asarray(taken, copy=copy)
            assert y.sycl_queue == queue == taken.sycl_queue
            assert address(y) == address(x)
            assert dpnp.asnumpy(x + y).tolist() == [0, 2, 4, 6, 8, 10]


def test_asarray_keeps_the_queue_of_a_read_only_part(dpnp):
    import dpctl

    queue = dpctl.SyclQueue("opencl:cpu")
    x = dpnp.tensor.arange(6, dtype="f4", sycl_queue=queue)
    x.flags.writable = False
    y = dpnp.tensor.asarray(ep.asarray(x)[::-2])
    assert y.sycl_queue == queue
    assert not y.flags.writable
    assert dpnp.tensor.asnumpy(y).tolist() == [5, 3, 1]


def test_asarray_keeps_the_queue_of_a_created_array(dpnp):
    queue = ep.Queue("opencl:cpu")
    array = ep.zeros(4, "float32", queue=queue)
    y = dpnp.asarray(array)
    assert queue == y.sycl_queue
    assert address(y) == array.data_ptr


def test_arrays_of_the_default_queue_are_on_dpnps(dpnp, array):
    y = dpnp.asarray(array)
    assert y.sycl_queue == dpnp.zeros(1, device="opencl:cpu").sycl_queue
    assert dpnp.asnumpy(y + dpnp.ones((2, 3), dtype="f4", device="opencl:cpu")).sum() == 6


def test_asarray_waits_for_work_in_another_queue(dpnp):
    import dpctl

    x = dpnp.zeros(1 << 20, dtype="f4", sycl_queue=dpctl.SyclQueue("opencl:cpu"))
    a = ep.asarray(x)
    ep.fill(a, 7, queue=ep.Queue("opencl:cpu"))
    assert float(dpnp.asarray(a).min()) == 7


def test_memory_of_another_context_has_no_such_attribute(dpnp):
    context = ep.Context([ep.device("opencl:cpu")])
    array = ep.zeros(4, "float32", kind="shared", queue=ep.Queue("opencl:cpu", context=context))
    assert not hasattr(array, "__usm_ndarray__")
    with pytest.raises(AttributeError, match="default context"):
        array.sycl_queue  # noqa: B018


def test_host_memory_has_no_such_attribute(dpnp):
    assert not hasattr(ep.zeros(4, "float32"), "__usm_ndarray__")

"""NumPy arrays as arguments of kernels, on every device.

A device that cannot read host memory gets copies. The results have to be the same:
test_copied_host_arrays.py runs these tests again with OpenCL's CPU device treated as such a device.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import entrepot as ep
import entrepot.kernel as dppy
from entrepot import memory
from entrepot.kernel.source import make
from kernel.backends import every_device

pytestmark = pytest.mark.numpy


@dppy.kernel
def plus_one(out, x):
    i = dppy.get_global_id(0)
    out[i] = x[i] + 1


@dppy.kernel
def plus_one_of_first(x, out):
    i = dppy.get_global_id(0)
    out[i] = x[i] + 1


@dppy.kernel
def plus_one_2d(out, x):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    out[i, j] = x[i, j] + 1


@dppy.kernel
def summed(out, x, y):
    i = dppy.get_global_id(0)
    out[i] = x[i] + y[i]


@dppy.kernel
def summed_2d(out, x, y):
    i, j = dppy.get_global_id(0), dppy.get_global_id(1)
    out[i, j] = x[i, j] + y[i, j]


@dppy.kernel
def copy_element(out, x):
    i = dppy.get_global_id(0)
    out[i] = x[i]


@dppy.kernel
def increment_each(x, y, z):
    i = dppy.get_global_id(0)
    x[i] += 1
    y[i] += 10
    z[i] += 100


@dppy.kernel
def first_element(x):
    x[0] = 7


@dppy.kernel
def running_sum(out, x):
    for k in range(x.shape[0]):
        out[k] = out[k] + x[k]


@dppy.kernel
def bits_of_first(floats, bits, out):
    floats[0] = 1.5
    out[0] = bits[0]


@dppy.kernel
def plus_offset(out, x, at):
    i = dppy.get_global_id(0)
    out[i] = x[i + at]


@dppy.kernel
def fill_seven(p, turns):
    y = dppy.uint32(1)
    for _ in range(turns):
        y = y * 1664525 + 1013904223
    p[1] = y
    p[0] = 7


def frozen(values):
    view = values.view()
    view.flags.writeable = False
    return view


@pytest.fixture
def queue(device):
    with ep.device_context(device) as current:
        yield current


def copies(queue):
    """True if the queue's device gets copies of NumPy arrays."""
    return queue.device.backend != "host" and not queue.device.has_aspect_usm_system_allocations


@every_device
class TestOneArray:
    def test_written_array_has_results(self, queue):
        out = np.zeros(4)
        plus_one[4](out, np.arange(4.0))
        assert out.tolist() == [1, 2, 3, 4]

    def test_unwritten_elements_keep_their_values(self, queue):
        x = np.arange(4.0)
        first_element[1](x)
        assert x.tolist() == [7, 1, 2, 3]

    def test_read_only_array_is_read(self, queue):
        out = np.zeros(4)
        plus_one[4](out, frozen(np.arange(4.0)))
        assert out.tolist() == [1, 2, 3, 4]

    def test_read_only_array_that_is_written_is_refused(self, queue):
        out = np.zeros(4)
        with pytest.raises(ep.KernelError, match="read-only"):
            plus_one[4](frozen(out), np.arange(4.0))
        assert not out.any()

    def test_numpy_scalar_array_is_read(self, queue):
        out = np.zeros((), "i4")

        @dppy.kernel
        def set_it(out):
            out[()] = 3

        set_it[1](out)
        assert out == 3

    def test_empty_array_is_accepted(self, queue):
        plus_one[0](np.zeros(0), np.zeros(0))

    def test_launch_of_no_work_items_compiles(self, queue):
        kernel = dppy.kernel(plus_one.function)
        out = np.zeros(4)
        kernel[0](out, np.ones(4))
        assert not out.any()
        assert kernel.specializations == 1
        kernel[4](out, np.ones(4))
        assert out.all()
        assert kernel.specializations == 1

    @pytest.mark.parametrize(
        "part", [np.s_[::2, 1:], np.s_[::-1, ::-1], np.s_[1:4, ::3], np.s_[:, 2:3]]
    )
    def test_strided_views_are_read_and_written(self, queue, part):
        source, target = np.arange(48, dtype="i4").reshape(6, 8), np.full((6, 8), -1, "i4")
        expected = target.copy()
        expected[part] = source[part] + 1
        plus_one_2d[source[part].shape, None](target[part], source[part])
        assert target.tolist() == expected.tolist()

    def test_gaps_between_elements_are_not_written(self, queue):
        x, y = np.zeros(8), np.zeros(8)
        event = plus_one[4](x[::2], y[::2], wait=False)
        event.wait()
        assert x.tolist() == [1, 0] * 4

    def test_buffers_of_ctypes_have_results(self, queue):
        out = (ctypes.c_double * 4)()
        plus_one[4](out, (ctypes.c_double * 4)(1, 2, 3, 4))
        assert list(out) == [2, 3, 4, 5]

    def test_host_array_has_results(self, queue):
        out, x = ep.zeros(4, "float64", device="host"), ep.asarray(np.arange(4.0))
        plus_one[4](out, x).wait()
        assert out.numpy().tolist() == [1, 2, 3, 4]

    def test_results_of_one_launch_are_read_by_the_next(self, queue):
        x = np.zeros(4)
        for _ in range(5):
            plus_one[4](x, x)
        assert x.tolist() == [5] * 4

    def test_results_are_written_when_the_event_is_done(self, queue):
        out = np.zeros(4)
        plus_one[4](out, np.arange(4.0), wait=False).wait()
        assert out.tolist() == [1, 2, 3, 4]


@every_device
class TestSharedElements:
    def test_same_array_written_by_first(self, queue):
        x = np.arange(4.0)
        plus_one[4](x, x)
        assert x.tolist() == [1, 2, 3, 4]

    def test_same_array_written_by_second(self, queue):
        x = np.arange(4.0)
        plus_one_of_first[4](x, x)
        assert x.tolist() == [1, 2, 3, 4]

    def test_same_memory_in_two_objects_written_by_second(self, queue):
        x = np.arange(4.0)
        plus_one_of_first[4](x[:], x[:])
        assert x.tolist() == [1, 2, 3, 4]

    def test_same_array_read_only_first_written_second(self, queue):
        x = np.arange(4.0)
        plus_one_of_first[4](frozen(x), x)
        assert x.tolist() == [1, 2, 3, 4]

    def test_same_array_three_times(self, queue):
        x = np.zeros(4)
        increment_each[4](x, x, x)
        assert x.tolist() == [111] * 4

    def test_overlapping_slices_are_read(self, queue):
        x, out = np.arange(6.0), np.zeros(5)
        summed[5](out, x[:-1], x[1:])
        assert out.tolist() == [1, 3, 5, 7, 9]

    def test_overlapping_read_only_slices_are_read(self, queue):
        x, out = frozen(np.arange(6.0)), np.zeros(5)
        summed[5](out, x[:-1], x[1:])
        assert out.tolist() == [1, 3, 5, 7, 9]

    def test_overlapping_slices_are_written(self, queue):
        x = np.ones(9, "i8")
        running_sum[1](x[1:], x[:-1])
        assert x.tolist() == list(range(1, 10))

    def test_slices_that_overlap_through_a_third(self, queue):
        x = np.zeros(6)
        increment_each[3](x[:3], x[1:4], x[3:])
        assert x.tolist() == [1, 11, 11, 110, 100, 100]

    def test_interleaved_slices_are_written(self, queue):
        x = np.arange(8.0)
        plus_one[4](x[::2], x[1::2])
        assert x.tolist() == [2, 1, 4, 3, 6, 5, 8, 7]

    def test_columns_of_large_matrix_are_copied_alone(self, queue):
        x = np.zeros((1000, 1000))
        counted = memory.statistics()
        with memory.use_resource(counted):
            plus_one[1000](x[:, 0], x[:, 1])
        assert x.sum() == x[:, 0].sum() == 1000
        assert counted.total_bytes < x.nbytes / 10

    def test_reversed_array_beside_itself(self, queue):
        x = np.arange(4.0)
        out = np.zeros(4)
        summed[4](out, x, x[::-1])
        assert out.tolist() == [3, 3, 3, 3]

    def test_transposed_array_beside_itself(self, queue):
        x = np.arange(9.0).reshape(3, 3)
        out = np.zeros((3, 3))
        summed_2d[(3, 3), None](out, x, x.T)
        assert out.tolist() == (x + x.T).tolist()

    def test_memory_as_two_dtypes(self, queue):
        x, out = np.zeros(4, "f4"), np.zeros(1, "u4")
        bits_of_first[1](x, x.view("u4"), out)
        assert out[0] == np.float32(1.5).view("u4")
        assert x[0] == 1.5

    def test_odd_offset_between_dtypes(self, queue):
        raw = np.zeros(40, "u1")
        bytes_of, words = raw[1:], raw[8:24].view("f8")
        words[:] = [1.5, 2.5]
        out = np.zeros(2, "f8")

        @dppy.kernel
        def both(out, words, bytes_of):
            i = dppy.get_global_id(0)
            out[i] = words[i]
            bytes_of[i] = 9

        both[2](out, words, bytes_of)
        assert out.tolist() == [1.5, 2.5]
        assert raw[:4].tolist() == [0, 9, 9, 0]

    def test_array_beside_its_numpy_view(self, queue):
        array = ep.zeros(4, "float64", device="host")
        view = array.numpy()
        view[:] = 1
        running_sum[1](view[1:], array[:-1]).wait()
        assert view.tolist() == [1, 2, 3, 4]

    def test_launch_with_twenty_overlapping_arrays(self, queue):
        x = np.zeros(24)
        names = ", ".join(f"a{i}" for i in range(20))
        text = f"def many({names}):\n" + "".join(f"    a{i}[0] += {i}\n" for i in range(20))
        many = dppy.kernel(make("many", text, {}))
        many[1](*(x[i : i + 4] for i in range(20)))
        assert x.tolist() == [*range(20), 0, 0, 0, 0]


@every_device
class TestRepeatedElements:
    """Arrays with several elements at one address."""

    def test_sliding_windows_are_read(self, queue):
        windows = sliding_window_view(np.arange(6.0), 3)
        out = np.zeros((4, 3))
        plus_one_2d[(4, 3), None](out, windows)
        assert out.tolist() == (windows + 1).tolist()

    def test_broadcast_array_is_not_expanded(self, queue):
        x = np.broadcast_to(np.arange(4.0), (1 << 40, 4))
        out = np.zeros((2, 4))
        plus_one_2d[(2, 4), None](out, x)
        assert out.tolist() == [[1, 2, 3, 4]] * 2

    def test_written_array_is_written_or_refused(self, queue):
        x = np.zeros(4)
        windows = as_strided(x, (2, 3), (8, 8))
        source = np.arange(6.0).reshape(2, 3)
        if copies(queue):
            with pytest.raises(ep.KernelError, match=r"argument 0 \(out\).*share"):
                plus_one_2d[(2, 3), None](windows, source)
            assert not x.any()
        else:
            plus_one_2d[(2, 3), None](windows, source)
            assert x[0] == 1
            assert x[3] == 6


@every_device
class TestErrors:
    def test_compile_error_leaves_arrays_alone(self, queue):
        @dppy.kernel
        def wrong(out, x):
            out[0] = 1
            out[1] = x.no_such_attribute

        out = np.zeros(4)
        with pytest.raises(ep.KernelError, match="no_such_attribute"):
            wrong[4](out, np.arange(4.0))
        assert not out.any()

    def test_index_error_of_debug_kernel_is_raised(self, queue):
        x = np.arange(4.0)
        with pytest.raises(IndexError, match="index 4 is out of bounds"):
            plus_offset.options(debug=True)[4](np.zeros(4), x, 1)
        plus_one[4](x, x)
        assert x.tolist() == [1, 2, 3, 4]

    def test_refused_range_leaves_arrays_unchanged(self, queue):
        x = np.zeros(4)
        with pytest.raises(ep.KernelError, match="do not divide"):
            plus_one[4, 3](x, x)
        assert not x.any()

    def test_wrong_depends_on_is_refused_before_the_launch(self, queue):
        x = np.zeros(4)
        with pytest.raises(TypeError):
            plus_one[4](x, x, depends_on=[3])
        assert not x.any()

    def test_memory_is_released_after_error(self, queue):
        counted = memory.statistics()
        with memory.use_resource(counted), pytest.raises(ep.KernelError):
            plus_one[4, 3](np.zeros(4), np.zeros(4))
        queue.wait()
        assert counted.current_count == 0


def written_slowly(x):
    """The event of a kernel that sets x[0] to 7 at its end, on a host queue and through another
    Array of x."""
    queue = ep.Queue("host")
    fill_seven[1](ep.zeros(2, "int64", queue=queue), 1, queue=queue).wait()
    return fill_seven[1](ep.asarray(x), 100_000_000, queue=queue, wait=False)


@every_device
class TestOrder:
    @pytest.mark.alone
    @pytest.mark.parametrize("step", [1, 2], ids=["contiguous", "strided"])
    def test_depends_on_is_waited_for_before_x_is_read(self, queue, step):
        x = np.zeros(16, "i8")
        out = ep.zeros(2, "int64", queue=queue)
        copy_element[1](out, x[::step]).wait()
        written = written_slowly(x)
        copy_element[1](out, x[::step], depends_on=[written], queue=queue).wait()
        assert out.copy_to_host().numpy()[0] == 7

    @pytest.mark.alone
    @pytest.mark.parametrize("step", [1, 2], ids=["contiguous", "strided"])
    def test_queue_that_waits_is_waited_for(self, queue, step):
        x = np.zeros(16, "i8")
        out = ep.zeros(2, "int64", queue=queue)
        copy_element[1](out, x[::step]).wait()
        queue.wait_for(written_slowly(x))
        copy_element[1](out, x[::step], queue=queue).wait()
        assert out.copy_to_host().numpy()[0] == 7


@every_device
class TestOtherLaunches:
    def test_call_kernel_has_results(self, queue):
        x = np.arange(4.0)
        dppy.call_kernel(plus_one_of_first, dppy.Range(4), x, x)
        assert x.tolist() == [1, 2, 3, 4]

    def test_call_kernel_async_has_results_when_done(self, queue):
        x = np.arange(4.0)
        dppy.call_kernel_async(plus_one_of_first, dppy.Range(4), [], x, x).wait()
        assert x.tolist() == [1, 2, 3, 4]

    def test_vectorized_function_of_same_array(self, queue):
        x = np.arange(4.0)
        assert dppy.vectorize(lambda a, b: a + b)(x, x).tolist() == [0, 2, 4, 6]

    def test_vectorized_function_of_overlapping_slices(self, queue):
        x = np.arange(5.0)
        assert dppy.vectorize(lambda a, b: a + b)(x[1:], x[:-1]).tolist() == [1, 3, 5, 7]

    def test_vectorized_function_into_its_argument(self, queue):
        x = np.arange(4.0)
        dppy.vectorize(lambda a: a + 1)(x, out=x)
        assert x.tolist() == [1, 2, 3, 4]

    def test_vectorized_function_broadcasts(self, queue):
        made = dppy.vectorize(lambda a, b: a * 10 + b)(np.arange(3.0)[:, None], np.arange(2.0))
        assert made.tolist() == [[0, 1], [10, 11], [20, 21]]

    def test_reduction_of_strided_array(self, queue):
        assert dppy.reduce(lambda a, b: a + b)(np.arange(2001.0)[::2]) == sum(range(0, 2001, 2))

    def test_reduction_of_read_only_array(self, queue):
        assert dppy.reduce(lambda a, b: a + b)(frozen(np.arange(100.0))) == sum(range(100))


@pytest.mark.sycl
class TestPrograms:
    """Kernels of entrepot.Program take no copies: memory that the device cannot read is refused."""

    @pytest.fixture
    def double_it(self):
        source = "kernel void double_it(global long *p) { p[get_global_id(0)] *= 2; }"
        return ep.Program(source, "opencl:cpu").kernel("double_it")

    def test_numpy_array_is_written_or_refused(self, double_it):
        x = np.arange(4)
        if ep.device("opencl:cpu").has_aspect_usm_system_allocations:
            double_it[4](x)
            assert x.tolist() == [0, 2, 4, 6]
        else:
            with pytest.raises(
                ep.KernelError, match=r"argument 0 is host memory.*move it with \.to\(device\)"
            ):
                double_it[4](x)
            assert x.tolist() == [0, 1, 2, 3]

    def test_copy_on_the_device_is_written(self, double_it):
        array = ep.asarray(np.arange(4)).to("opencl:cpu")
        double_it[4](array).wait()
        assert array.copy_to_host().numpy().tolist() == [0, 2, 4, 6]

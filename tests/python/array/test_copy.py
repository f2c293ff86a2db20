"""Copies and fills between every two places, against NumPy: any strides, and every refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import entrepot as ep
from support.malformed import Speaker
from support.opencl_kernels import kernel, launch
from support.places import HOST, SYCL, Place, moved, values_of

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.numpy


@pytest.mark.sycl
@pytest.mark.parametrize("source_place", SYCL, ids=str)
@pytest.mark.parametrize("target_place", SYCL, ids=str)
class TestBetweenDevices:
    def test_copy_between_kinds_keeps_values(
        self, source_place: Place, target_place: Place
    ) -> None:
        source = moved(np.arange(100, dtype="int32"), source_place)
        target = target_place.empty(100, "int32")
        ep.copy(target[::-1], source).wait()
        np.testing.assert_array_equal(values_of(target), np.arange(100)[::-1])

    def test_copy_between_contexts_keeps_values(
        self, source_place: Place, target_place: Place
    ) -> None:
        first, second = source_place.device.sub_devices(equally=1)
        queues = (
            ep.Queue(first, context=ep.Context([first])),
            ep.Queue(second, context=ep.Context([second])),
        )
        source = ep.empty((50, 3), "float32", kind=source_place.kind, queue=queues[0])
        target = ep.empty((50, 3), "float32", kind=target_place.kind, queue=queues[1])
        assert source.context != target.context
        expected = np.arange(150, dtype="float32").reshape(50, 3)
        ep.copy(source, expected).wait()
        ep.copy(target, source).wait()
        np.testing.assert_array_equal(values_of(target), expected)
        ep.fill(target, 0).wait()
        ep.copy(target[::-2, 1:], source[1::2, :0:-1]).wait()
        strided = np.zeros_like(expected)
        strided[::-2, 1:] = expected[1::2, :0:-1]
        np.testing.assert_array_equal(values_of(target), strided)


@pytest.mark.sycl
@pytest.mark.parametrize("place", SYCL, ids=str)
class TestQueues:
    def test_overlap_in_own_context_is_refused(self, place: Place) -> None:
        part = place.device.sub_devices(equally=1)[0]
        array = ep.empty(
            10, "int32", kind=place.kind, queue=ep.Queue(part, context=ep.Context([part]))
        )
        with pytest.raises(ValueError, match="overlap"):
            ep.copy(array[1:], array[:-1])

    def test_memory_without_a_queue_is_copied_in_its_context(self, place: Place) -> None:
        part = place.device.sub_devices(equally=1)[0]
        context = ep.Context([part])
        source = ep.empty(30, "int32", kind=place.kind, queue=ep.Queue(part, context=context))
        ep.fill(source, 5).wait()
        interface = {**source.__sycl_usm_array_interface__, "syclobj": context}
        array = ep.asarray(Speaker("__sycl_usm_array_interface__", interface, source))
        assert array.queue.context == context
        assert array.to("host").numpy().tolist() == [5] * 30

    def test_queue_without_access_to_memory_is_refused(self, place: Place) -> None:
        source = ep.full(4, 7, "int32", device=place.selector, kind=place.kind)
        if place.kind == "device":
            with pytest.raises(ep.ExchangeError, match="queue of"):
                ep.asarray(source, queue=ep.Queue("host"))
        else:
            assert (
                ep.asarray(source, queue=ep.Queue("host")).copy_to_host().numpy().tolist()
                == [7] * 4
            )


@pytest.mark.sycl
@pytest.mark.parametrize("function", [ep.asarray, ep.from_dlpack])
def test_copy_by_a_queue_of_another_device_is_refused(function: Callable[..., ep.Array]) -> None:
    queue = ep.Queue("opencl:cpu")
    with pytest.raises(ValueError, match=r"the queue is of opencl:cpu.*device asked for is host"):
        function(np.zeros(4, "i4"), device="host", copy=True, queue=queue)
    copied = function(np.zeros(4, "i4"), copy=True, queue=queue)
    assert (copied.device, copied.kind) == (queue.device, "device")  # as Array.to


@pytest.mark.alone
@pytest.mark.sycl
class TestMemoryChangedByTheHost:
    """NumPy's memory may be written at any time. A copy after a running kernel waits for it."""

    WAYS: ClassVar[dict[str, Callable[[Any, ep.Queue], ep.Array]]] = {
        "asarray": lambda source, queue: ep.asarray(
            source, device="opencl:cpu", copy=True, queue=queue
        ),
        "from_dlpack": lambda source, queue: ep.from_dlpack(
            source, device="opencl:cpu", copy=True, queue=queue
        ),
        "to": lambda source, queue: ep.asarray(source).to(queue=queue),
    }

    @pytest.fixture
    def busy(self) -> ep.Queue:
        queue = ep.Queue("opencl:cpu")
        self.running = launch("slow", ep.zeros(2, "int32", queue=queue), queue=queue)
        return queue

    @pytest.mark.parametrize("way", WAYS)
    def test_copy_has_read_source_on_return(self, busy: ep.Queue, way: str) -> None:
        source = np.full(1000, 7, "int32")
        copied = self.WAYS[way](source, busy)
        source[:] = 9
        assert set(values_of(copied)) == {7}

    def test_copy_of_escaped_memory_is_made_before_return(self, busy: ep.Queue) -> None:
        source = ep.full(1000, 7, "int32", device="host")
        given = source.numpy()
        copied = source.to(queue=busy)
        given[:] = 9
        assert set(values_of(copied)) == {7}

    def test_copy_of_an_array_is_ordered_without_a_host_wait(self, busy: ep.Queue) -> None:
        source = ep.full(1000, 7, "int32", device="host")
        copied = source.to(queue=busy)
        assert not self.running.done
        ep.fill(source, 9)
        assert set(values_of(copied)) == {7}

    def test_copies_between_it_and_an_array(self, busy: ep.Queue) -> None:
        array, source, target = (
            ep.zeros(1000, "int32", queue=busy),
            np.full(1000, 7, "int32"),
            np.zeros(1000, "int32"),
        )
        ep.copy(array, source)
        source[:] = 9
        ep.copy(target, array)
        assert set(target) == {7}

    def test_copy_from_asarray_returns_a_pending_event(self, busy: ep.Queue) -> None:
        array, source = ep.zeros(1000, "int32", queue=busy), np.full(1000, 7, "int32")
        done = ep.copy(array, ep.asarray(source))
        assert not done.done
        done.wait()
        assert set(values_of(array)) == {7}

    def test_program_on_ndarray_ends_before_return(self, busy: ep.Queue) -> None:
        target = np.zeros(2, "int32")
        kernel("slow")[1](target, ep.Scalar(1, "int64"), queue=busy)
        assert target[0] == 42


@pytest.mark.host
def test_filled_numpy_array_is_written_before_return() -> None:
    for value in range(5):
        target = np.full(20_000_000, 9, "uint8")
        assert ep.fill(target, value).done
        assert target[-1] == value


def test_zeros_of_vectors() -> None:
    array = ep.zeros(4, "float64x8")
    assert bytes(array.reshape(4).view("uint8")) == bytes(4 * 64)


class TestRefusals:
    def test_empty_arrays_of_other_dtypes_are_refused(self) -> None:
        with pytest.raises(ValueError, match="dtype"):
            ep.copy(ep.empty(0, "int32"), ep.empty(0, "float32"))

    def test_write_to_read_only_array_is_refused(self) -> None:
        frozen = ep.asarray(b"abc")
        with pytest.raises(ValueError, match="read-only"):
            ep.copy(frozen, b"xyz")
        with pytest.raises(ValueError, match="read-only"):
            ep.fill(frozen, 0)

    def test_copy_of_other_dtype_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"float32.*int32"):
            ep.copy(ep.zeros(3, "float32"), ep.zeros(3, "int32"))

    def test_copy_of_other_shape_is_refused(self) -> None:
        with pytest.raises(ValueError):
            ep.copy(ep.zeros(3, "int8"), ep.zeros(4, "int8"))

    @pytest.mark.parametrize("target", [slice(1, None), slice(None, None, -1)])
    def test_overlapping_copy_is_refused(self, target: slice) -> None:
        array = ep.zeros(10, "int32")
        with pytest.raises(ValueError, match="overlap"):
            ep.copy(array[target], array[: array[target].size])

    def test_interleaved_is_no_overlap(self) -> None:
        array = ep.asarray(np.arange(10))
        ep.copy(array[::2], array[1::2])
        assert array.numpy().tolist() == [1, 1, 3, 3, 5, 5, 7, 7, 9, 9]

    def test_overlapping_destination_is_refused(self) -> None:
        window = np.lib.stride_tricks.as_strided(np.zeros(4), shape=(3, 2), strides=(8, 8))
        with pytest.raises(ValueError, match="share one place"):
            ep.copy(window, np.zeros((3, 2)))

    @pytest.mark.parametrize(
        ("value", "dtype"), [(256, "uint8"), (-1, "uint32"), (1 << 40, "int32"), (1 << 70, "int64")]
    )
    def test_value_out_of_range_is_refused(self, value: int, dtype: str) -> None:
        with pytest.raises(OverflowError):
            ep.full(3, value, dtype)

    def test_value_of_other_type_is_refused(self) -> None:
        with pytest.raises(
            TypeError,
            match=r"a float was given for an element of int32; pass an int, as int\(value\)",
        ):
            ep.full(3, 1.5, "int32")
        with pytest.raises(
            TypeError, match="a str was given for an element of float32; pass a float or an int"
        ):
            ep.fill(ep.zeros(3, "float32"), "1.5")
        with pytest.raises(
            TypeError, match="a NoneType was given for an element of complex64; pass a number"
        ):
            ep.full(3, None, "complex64")  # type: ignore[arg-type]

    def test_error_of_value_propagates(self) -> None:
        class Number:
            def __index__(self) -> int:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            ep.full(3, Number(), "int32")  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("call", "words"),
        [
            (
                lambda: ep.zeros(3),  # type: ignore[call-arg]
                r"zeros\(\) is missing its argument 'dtype'; it takes shape, dtype, device, kind, "
                r"queue",
            ),
            (lambda: ep.full(3, 1), r"full\(\) is missing its argument 'dtype'"),  # type: ignore[call-arg]
            (
                lambda: ep.fill(ep.zeros(3, "int8")),  # type: ignore[call-arg]
                r"fill\(\) is missing its argument 'value'; it takes array, value, queue",
            ),
            (lambda: ep.copy(ep.zeros(3, "int8")), r"copy\(\) is missing its argument 'src'"),  # type: ignore[call-arg]
            (
                lambda: ep.zeros(3, "int8", "host"),  # type: ignore[call-arg]
                r"zeros\(\) takes 2 positional arguments but 3 were given; by name it takes device",
            ),
            (
                lambda: ep.zeros(3, dtyp="int8"),  # type: ignore[call-arg]
                r"unexpected keyword argument 'dtyp'; it takes shape, dtype",
            ),
        ],
    )
    def test_wrong_arguments_are_refused_in_words(
        self, call: Callable[[], object], words: str
    ) -> None:
        with pytest.raises(TypeError, match=words):
            call()

    @pytest.mark.parametrize("shape", [-1, (2, -3)])
    def test_empty_with_negative_extent_is_refused(self, shape: Any) -> None:
        with pytest.raises(ValueError):
            ep.empty(shape, "int8")

    @pytest.mark.parametrize("shape", [(1 << 62, 4), (1 << 40, 1 << 40)])
    def test_too_many_elements(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(OverflowError):
            ep.empty(shape, "float64")

    def test_out_of_memory_names_the_bytes(self) -> None:
        with pytest.raises(ep.USMAllocationError, match=str(1 << 50)):
            ep.empty(1 << 50, "uint8")
        assert ep.zeros(3, "uint8").numpy().tolist() == [0, 0, 0]


def test_half_precision_values_are_numpys() -> None:
    numbers = [0.0, 1.0, -2.5, 65504.0, 65520.0, 1e-8, 6e-8, 1 / 3, float("inf"), float("-inf")]
    for number in numbers:
        with np.errstate(over="ignore"):
            expected = np.float16(number)
        assert ep.full((), number, "float16").numpy()[()] == expected
    assert np.isnan(ep.full((), float("nan"), "float16").numpy()[()])


@pytest.mark.host
def test_default_place_is_the_host() -> None:
    array = ep.zeros(3, "int8")
    assert (str(array.device), array.kind) == (HOST.selector, "host")

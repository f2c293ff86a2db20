"""The contract of a place: rules that hold on the host and for every kind of memory of SYCL, CUDA
and HIP devices."""

from __future__ import annotations

import gc
import itertools
import weakref

import hypothesis.extra.numpy as hnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

import entrepot as ep
from support.places import Place, every_host_accessible_place, every_place, moved, values_of

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.numpy

DTYPES = [
    "bool",
    "int8",
    "uint16",
    "int32",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@every_place
class TestIdentity:
    def test_empty_array_has_requested_place(self, place: Place) -> None:
        array = place.empty((4, 6), "float32")
        assert (array.device, array.kind) == (place.device, place.kind)
        assert array.queue.device == place.device
        assert array.context == array.queue.context
        assert str(ep.device(str(array.device))) == str(array.device)
        assert (array.read_only, array.owner) == (False, None)

    def test_view_has_the_place_of_the_array(self, place: Place) -> None:
        array = place.empty((4, 6), "float32")
        for view in (
            array[1:, ::-2],
            array.T,
            array.reshape(24),
            array.view("int32"),
            array[0].broadcast_to(3, 6),
        ):
            assert (view.device, view.kind, view.context) == (
                array.device,
                array.kind,
                array.context,
            )
        assert array[1:, ::-2].data_ptr == array.data_ptr + 4 * (6 + 5)

    def test_arrays_do_not_share_memory(self, place: Place) -> None:
        arrays = [place.empty(100, "uint8") for _ in range(20)]
        starts = sorted(array.data_ptr for array in arrays)
        assert all(second - first >= 100 for first, second in itertools.pairwise(starts))

    def test_view_keeps_memory_without_the_array_object(self, place: Place) -> None:
        array = place.empty(4, "int8")
        gone = weakref.ref(array)
        part = array[1:]
        del array
        assert gone() is None, "the memory is kept by its parts, not the object"
        ep.fill(part, 3).wait()
        assert values_of(part).tolist() == [3, 3, 3]


@every_place
class TestRoundTrip:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_round_trip_keeps_values_of_each_dtype(self, place: Place, dtype: str) -> None:
        source = np.arange(60).reshape(3, 4, 5).astype(dtype)
        np.testing.assert_array_equal(values_of(moved(source, place)), source)

    @given(data=st.data())
    def test_strided_on_both_sides(self, place: Place, data: st.DataObject) -> None:
        shape = data.draw(hnp.array_shapes(max_dims=4, max_side=4))
        base = np.arange(np.prod(shape), dtype="int32").reshape(shape)
        index = data.draw(hnp.basic_indices(shape))
        source = base[index]
        target_base = np.full(shape, -1, dtype="int32")
        target = moved(target_base, place)
        ep.copy(target[index], source).wait()
        target_base[index] = source
        np.testing.assert_array_equal(values_of(target), target_base)

    def test_empty_and_zero_dimensional(self, place: Place) -> None:
        assert values_of(moved(np.zeros((0, 3), "float32"), place)).shape == (0, 3)
        assert values_of(moved(np.float32(7).reshape(()), place)) == 7

    def test_copy_broadcasts_source(self, place: Place) -> None:
        target = place.empty((2, 3), "int64")
        ep.copy(target, np.arange(3)).wait()
        np.testing.assert_array_equal(values_of(target), [[0, 1, 2], [0, 1, 2]])

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_fill_of_strided_view_leaves_other_elements(self, place: Place, dtype: str) -> None:
        array = place.empty((4, 6), dtype)
        ep.fill(array, 1).wait()
        ep.fill(array[1::2, ::-3], 0).wait()
        expected = np.ones((4, 6), dtype)
        expected[1::2, ::-3] = 0
        np.testing.assert_array_equal(values_of(array), expected)

    def test_zeros_and_full(self, place: Place) -> None:
        where = {"device": place.selector, "kind": place.kind}
        assert not values_of(ep.zeros((3, 3), "float64", **where)).any()
        assert (values_of(ep.full(5, -2, "int16", **where)) == -2).all()

    def test_to_copies_array_to_place(self, place: Place) -> None:
        source = ep.asarray(np.arange(6, dtype="int32").reshape(2, 3))
        array = source.T.to(place.selector, kind=place.kind)
        assert (array.device, array.kind) == (place.device, place.kind)
        np.testing.assert_array_equal(values_of(array), source.numpy().T)

    def test_large_array_round_trips(self, place: Place) -> None:
        source = np.random.default_rng(0).integers(0, 255, size=1 << 22, dtype="uint8")
        np.testing.assert_array_equal(values_of(moved(source, place)), source)


@every_host_accessible_place
class TestHostAccess:
    def test_host_view_shares_memory(self, place: Place) -> None:
        array = moved(np.arange(24, dtype="int32").reshape(4, 6), place)
        view = array.host()
        assert (view.data_ptr, str(view.device), view.shape) == (
            array.data_ptr,
            "host",
            array.shape,
        )
        view.numpy()[1, 2] = 77
        assert values_of(array)[1, 2] == 77

    def test_host_view_keeps_memory_alive(self, place: Place) -> None:
        view = moved(np.arange(24, dtype="int32"), place).host()
        gc.collect()
        others = [place.empty(24, "int32") for _ in range(8)]
        assert view.data_ptr not in {other.data_ptr for other in others}
        assert values_of(view).tolist() == list(range(24))


@pytest.mark.sycl
def test_device_memory_has_no_view_for_the_host() -> None:
    array = ep.empty(4, "int32", device="opencl:cpu", kind="device")
    with pytest.raises(ep.ExchangeError, match="device memory"):
        array.host()

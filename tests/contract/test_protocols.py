"""The contract of each protocol, for imports and exports, in every place that it can name."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis.extra.numpy as hnp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import entrepot as ep
from contract.protocols import EVERY_PROTOCOL, Keeper, Protocol, Seen
from entrepot.adapters import ListOfInt, ListOfPointer, ListOfUInt64, Pointer, PointerToInt
from support.places import Place, strides_of_long_axes, values_of

np = pytest.importorskip("numpy")
pytestmark = [pytest.mark.host, pytest.mark.numpy]

LAYOUTS: dict[str, Callable[[ep.Array], ep.Array]] = {
    "whole": lambda a: a,
    "0-d": lambda a: a[2, 3, ...],
    "zero-size": lambda a: a[4:],
    "one element": lambda a: a[1:2, 1:2],
    "negative strides": lambda a: a[::-1, ::-2],
    "one negative stride": lambda a: a[1:, ::-1],
    "broadcast strides": lambda a: a[1].broadcast_to(3, 6),
    "offset": lambda a: a[1:3, 2:],
    "transposed": lambda a: a.T,
    "new axes": lambda a: a[None, :, None, 1::2],
}


def pairs() -> Iterator[object]:
    for protocol in EVERY_PROTOCOL:
        for place in protocol.places:
            yield pytest.param(protocol, place, id=f"{protocol}, {place}", marks=[place.marker])


every_protocol_and_place = pytest.mark.parametrize(("protocol", "place"), list(pairs()))


def numbers(place: Place, dtype: str = "int32") -> ep.Array:
    """0 to 23, 4 by 6."""
    array = place.empty((4, 6), dtype)
    if dtype == "int32":
        ep.copy(array, np.arange(24, dtype=dtype).reshape(4, 6)).wait()
    return array


def assert_same(view: ep.Array, array: ep.Array) -> None:
    assert view.shape == array.shape
    assert view.dtype == array.dtype
    assert strides_of_long_axes(view.shape, view.strides) == strides_of_long_axes(
        array.shape, array.strides
    )
    if array.size:
        assert view.data_ptr == array.data_ptr
        assert values_of(view).tolist() == values_of(array).tolist()


@every_protocol_and_place
class TestImport:
    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_import_keeps_layout(self, protocol: Protocol, place: Place, layout: str) -> None:
        array = LAYOUTS[layout](numbers(place))
        view = protocol.take(protocol.produce(array, Keeper(array)))
        assert_same(view, array)
        if array.size:
            assert view.kind == (place.kind if protocol.knows_places else "host")
            assert view.device == (place.device if protocol.knows_places else ep.device("host"))

    def test_import_keeps_random_layout(self, protocol: Protocol, place: Place) -> None:
        base = place.empty((3, 4, 5), "int16")
        ep.copy(base, np.arange(60, dtype="int16").reshape(3, 4, 5)).wait()

        @settings(max_examples=25)
        @given(
            index=hnp.basic_indices((3, 4, 5), allow_newaxis=True),
            order=st.randoms(use_true_random=False),
        )
        def check(index: Any, order: random.Random) -> None:
            array = base[index]
            axes = list(range(array.ndim))
            order.shuffle(axes)
            array = array.transpose(*axes) if axes else array
            assert_same(protocol.take(protocol.produce(array, Keeper(array))), array)

        check()

    def test_import_keeps_dtype(self, protocol: Protocol, place: Place) -> None:
        for dtype in protocol.dtypes:
            array = numbers(place, dtype)
            view = protocol.take(protocol.produce(array, Keeper(array)))
            assert (str(view.dtype), view.data_ptr, view.itemsize) == (
                dtype,
                array.data_ptr,
                array.itemsize,
            )

    def test_write_is_visible_on_both_sides(self, protocol: Protocol, place: Place) -> None:
        array = numbers(place)
        view = protocol.take(protocol.produce(array, Keeper(array)))
        ep.fill(view[1], 77).wait()
        assert values_of(array)[1].tolist() == [77] * 6
        ep.fill(array[2], 55).wait()
        assert values_of(view)[2].tolist() == [55] * 6

    @pytest.mark.parametrize(
        "adapter",
        [ListOfInt, PointerToInt, ListOfUInt64, ListOfPointer],
        ids=lambda each: each.__name__,
    )
    def test_integer_adapters_take_elements_of_their_size(
        self, protocol: Protocol, place: Place, adapter: type[Pointer]
    ) -> None:
        size = 4 if adapter in (ListOfInt, PointerToInt) else 8
        for dtype in ("int8", "int16", "int32", "int64", "float32", "float64"):
            array = place.empty(8, dtype)
            producer = protocol.produce(array, Keeper(array))
            is_number = dtype.startswith("int") or adapter is ListOfPointer
            if is_number and array.itemsize in (1, size):
                assert int(adapter(producer)) == array.data_ptr
            else:
                refusal = (
                    rf"{adapter.__name__}: the elements of a .* have {array.itemsize} bytes.* "
                    rf"of {size} bytes; convert them"
                )
                with pytest.raises(ValueError, match=refusal):
                    adapter(producer)
            assert int(adapter(Pointer(producer))) == array.data_ptr
            if adapter is not PointerToInt:  # which asks for room for one
                assert int(adapter(protocol.produce(array[8:], Keeper(array)))) in (
                    0,
                    array[8:].data_ptr,
                )

    def test_read_only_is_kept(self, protocol: Protocol, place: Place) -> None:
        array = numbers(place)
        assert not protocol.take(protocol.produce(array, Keeper(array))).read_only
        if not protocol.says_read_only:
            return
        view = protocol.take(protocol.produce(array, Keeper(array), read_only=True))
        assert view.read_only
        for part in (view[1:], view.T, view.reshape(24), view.view("uint8")):
            assert part.read_only, "a view of it would write"
        with pytest.raises(ValueError, match="read-only"):
            ep.fill(view, 0)

    def test_view_keeps_producer_alive(self, protocol: Protocol, place: Place) -> None:
        array = numbers(place)
        keeper = Keeper(array)
        producer, gone = protocol.produce(array, keeper), weakref.ref(keeper)
        view = protocol.take(producer)
        part = view[1:]
        del producer, keeper, array
        gc.collect()
        assert gone() is not None, "the view must keep its producer alive"
        assert values_of(view).ravel().tolist() == list(range(24))
        del view
        gc.collect()
        assert gone() is not None, "so must a part of it"
        del part
        gc.collect()
        assert gone() is None, "and released it"

    def test_repeated_views_release_the_producer(self, protocol: Protocol, place: Place) -> None:
        array = numbers(place)
        keeper = Keeper(array)
        producer, gone = protocol.produce(array, keeper), weakref.ref(keeper)
        del keeper
        for _ in range(3):
            first, second = protocol.take(producer), protocol.take(producer)
            assert first.data_ptr == second.data_ptr == array.data_ptr
            first_gone = weakref.ref(first)
            del first
            assert first_gone() is None
            assert values_of(second).ravel().tolist() == list(range(24))
            del second
        gc.collect()
        assert gone() is not None, "the producer is still there"
        del producer
        gc.collect()
        assert gone() is None, "nothing may be kept"


@every_protocol_and_place
class TestExport:
    def assert_exported(self, seen: Seen, array: ep.Array) -> None:
        assert (seen.shape, seen.dtype, seen.read_only) == (
            array.shape,
            str(array.dtype),
            array.read_only,
        )
        assert strides_of_long_axes(seen.shape, seen.strides) == strides_of_long_axes(
            array.shape, array.strides
        )
        if array.size:
            assert seen.address == array.data_ptr

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_export_keeps_layout(self, protocol: Protocol, place: Place, layout: str) -> None:
        array = LAYOUTS[layout](numbers(place))
        if array.read_only and not protocol.says_read_only:
            with pytest.raises(ep.ExchangeError, match="read-only"):
                protocol.consume(array)
        else:
            self.assert_exported(protocol.consume(array), array)

    def test_export_keeps_random_layout(self, protocol: Protocol, place: Place) -> None:
        base = numbers(place)

        @settings(max_examples=25)
        @given(index=hnp.basic_indices((4, 6), allow_newaxis=True), transposed=st.booleans())
        def check(index: object, transposed: bool) -> None:
            array = base[index].T if transposed else base[index]
            self.assert_exported(protocol.consume(array), array)

        check()

    def test_export_keeps_dtype(self, protocol: Protocol, place: Place) -> None:
        for dtype in protocol.dtypes:
            array = numbers(place, dtype)
            self.assert_exported(protocol.consume(array), array)

    def test_consumer_keeps_memory_alive(self, protocol: Protocol, place: Place) -> None:
        array = numbers(place)
        keeper = Keeper(array)
        borrowed, gone = protocol.take(protocol.produce(array, keeper)), weakref.ref(keeper)
        del array, keeper
        seen = protocol.consume(borrowed)
        del borrowed
        gc.collect()
        assert gone() is not None, "the consumer still has it"
        del seen
        gc.collect()
        assert gone() is None, "and releases it"

    def test_array_outlives_the_consumer(self, protocol: Protocol, place: Place) -> None:
        array = numbers(place)
        for _ in range(3):
            protocol.consume(array)
        gc.collect()
        assert values_of(array).ravel().tolist() == list(range(24))

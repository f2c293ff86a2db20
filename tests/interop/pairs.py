"""The matrix of pairs: every way between Entrepot and a peer (a row) passes every check (a column).

A peer joins by describing its objects once (``Peer``) and listing its ways in and out (``In``,
``Out``). Its row states with a reason what the peer cannot do. Such a check still runs and must
fail in the stated manner: the row turns red once the peer supports it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import itertools
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

import entrepot as ep
from interop import slow
from support.cuda_streams import check as check_status
from support.cuda_streams import driver, inside, primary_context
from support.malformed import Speaker
from support.places import CUDA, HOST, SYCL, Place

np = pytest.importorskip("numpy")

HOST_ACCESSIBLE = (HOST, *(place for place in (*SYCL, *CUDA) if place.host_accessible))
EVERYWHERE = (HOST, *SYCL, *CUDA)
ROWS, COLUMNS = 4, 6
NUMPY_DTYPES = tuple(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 "
    "complex128".split()
)

# ---------------------------------------------------------------- rows


@dataclass(frozen=True)
class Cannot:
    """Reason why a check fails, and its exception; without ``how`` the check cannot be tried."""

    reason: str
    how: type[BaseException] | tuple[type[BaseException], ...] | None = Exception

    @classmethod
    def lacks(cls, reason: str, *columns: str) -> dict[str, Cannot]:
        """The peer lacks what these columns check."""
        return dict.fromkeys(columns, cls(reason, how=None))

    @property
    def exception(self) -> type[BaseException] | tuple[type[BaseException], ...]:
        assert self.how is not None, self.reason
        return self.how

    @property
    def mark(self) -> pytest.MarkDecorator:
        if self.how is None:
            return pytest.mark.skip(reason=self.reason)
        return pytest.mark.xfail(reason=self.reason, raises=self.how, strict=True)


COPIES = AssertionError  # a peer that copies fails the check of the address


@dataclass(frozen=True)
class View:
    """Properties that a peer's object reports; strides in elements. None: not available."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    read_only: bool | None = None


class Peer:
    """A library as the matrix uses it: how its objects are made, viewed, written and cut."""

    name: str

    def make(self, place: Place, dtype: str = "int32", layout: str = "whole") -> Any:
        """An object of 4 by 6 elements, or the view of it that LAYOUTS names; int32 ones are 0
        to 23."""
        raise NotImplementedError

    def view(self, obj: Any) -> View:
        raise NotImplementedError

    def values(self, obj: Any) -> Any:
        """A NumPy array of the elements, read as the peer's users read them."""
        raise NotImplementedError

    def dtype_of(self, obj: Any) -> str:
        return str(obj.dtype)

    def write(self, obj: Any, value: int) -> None:
        """Sets the first element."""
        raise NotImplementedError

    def make_read_only(self, place: Place) -> Any:
        raise NotImplementedError

    def start_slow_kernel(self, obj: Any) -> None:
        """Puts the kernel of slow.py on the object's queue."""
        raise NotImplementedError

    def make_slowly(self, place: Place) -> Any:
        """An object whose first element is slow.RESULT after a kernel that is still running on
        it."""
        obj = self.make(place)
        self.start_slow_kernel(obj)
        return obj

    def wait(self) -> None:
        """Waits until the peer is idle; for ways that carry no order."""

    def is_idle(self, obj: Any) -> bool:
        """True if the object's queue is idle."""
        raise NotImplementedError

    def address_of(self, array: ep.Array) -> int:
        """Address that the peer's view of an Array must have."""
        return array.data_ptr

    def expected(self, values: Any) -> Any:
        """Values that the peer's view shows for these."""
        return values


class StreamPeer(Peer):
    """A peer on its default stream or on one of its own."""

    def __init__(self, *, own_stream: bool = False) -> None:
        self.own_stream = own_stream

    @functools.cached_property
    def stream(self) -> Any:
        raise NotImplementedError

    @property
    def stream_name(self) -> str:
        return "own stream" if self.own_stream else "default stream"

    def on(self) -> contextlib.AbstractContextManager[Any]:
        """Makes the peer's stream the current one."""
        raise NotImplementedError

    def on_stream(self, carry: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """``carry`` with the peer's stream as the current one."""

        def carry_on_stream(obj: Any) -> Any:
            with self.on():
                return carry(obj)

        return carry_on_stream


class SynchronizingPeer(StreamPeer):
    """A peer that waits for its stream after each write."""

    def write(self, obj: Any, value: int) -> None:
        with self.on():
            obj[0, 0] = value
        self.stream.synchronize()

    def wait(self) -> None:
        self.stream.synchronize()


@dataclass(frozen=True)
class Way:
    """A row: one call that passes memory on."""

    name: str
    peer: Peer
    carry: Callable[[Any], Any]
    places: Sequence[Place] = (HOST,)
    dtypes: Sequence[str] = ("int32",)
    cannot: Mapping[str, Cannot] = field(default_factory=dict)
    alignment: int = 1  # of the addresses that it takes
    more_dtypes: Mapping[str, Sequence[str]] = field(
        default_factory=dict
    )  # that need another package as well: its marker
    at_once: bool = False  # no call waits on the host for work of the device

    def __str__(self) -> str:
        return self.name


class In(Way):
    """A way in: the peer's object becomes an Array."""


class Out(Way):
    """A way out: an Array becomes the peer's object."""


# ---------------------------------------------------------------- layouts

SHAPED = ("0-d", "zero-size", "negative strides", "broadcast strides", "offset", "transposed")

# Views of 4 by 6 elements, in operations that all peers have; `broadcast` is the peer's own.
LAYOUTS: dict[str, Callable[[Any, Callable[[Any, tuple[int, ...]], Any]], Any]] = {
    "whole": lambda x, broadcast: x,
    "0-d": lambda x, broadcast: x[2, 3, ...],
    "zero-size": lambda x, broadcast: x[ROWS:],
    "negative strides": lambda x, broadcast: x[::-1, ::-2],
    "broadcast strides": lambda x, broadcast: broadcast(x[1], (3, COLUMNS)),
    "offset": lambda x, broadcast: x[1:3, 2:],
    "transposed": lambda x, broadcast: x.T,
}


def cut(array: ep.Array, layout: str) -> ep.Array:
    return LAYOUTS[layout](array, lambda x, shape: x.broadcast_to(*shape))


def numbers(layout: str = "whole") -> Any:
    whole = np.arange(ROWS * COLUMNS, dtype="int32").reshape(ROWS, COLUMNS)
    return LAYOUTS[layout](whole, np.broadcast_to)


# ---------------------------------------------------------------- our side


def ours(place: Place, dtype: str = "int32") -> ep.Array:
    array = place.empty((ROWS, COLUMNS), dtype)
    if dtype == "int32":
        ep.copy(array, numbers()).wait()
    return array


def owned(place: Place) -> tuple[ep.Array, weakref.ref]:
    """An Array of 0 to 23 whose memory is owned by an object, and a weak reference to that
    object."""
    memory = ours(place)
    owner = Speaker(place.interface, getattr(memory, place.interface), keep=memory)
    return ep.asarray(owner), weakref.ref(owner)


def host_values(array: ep.Array) -> Any:
    return np.array(array.numpy() if array.kind != "device" else array.copy_to_host().numpy())


def same_strides(view: View, strides: tuple[int, ...]) -> bool:
    """True if the strides agree on all axes longer than one."""
    if view.strides is None or 0 in view.shape:
        return True
    return all(
        mine == theirs
        for mine, theirs, extent in zip(view.strides, strides, view.shape, strict=True)
        if extent > 1
    )


def alive(obj: Any) -> Callable[[], bool] | None:
    """Returns a function that says, without holding the object, if it is alive; None if its type
    has no weak references."""
    try:
        reference = weakref.ref(obj)
    except TypeError:
        return None
    return lambda: reference() is not None


def is_released(reference: weakref.ref[Any]) -> bool:
    """Waits for the release. Memory in use by a stream is released at a later call of Entrepot."""
    for _ in range(100):
        if reference() is None:
            return True
        time.sleep(0.01)
        ep.empty(1, "uint8", device="host")
    return False


def write_by_driver(address: int, value: int) -> None:
    """An int32 on a CUDA device, for peers without such an array."""
    with inside(primary_context()):
        check_status(
            driver().cuMemcpyHtoD_v2(
                ctypes.c_void_p(address), ctypes.byref(ctypes.c_int(value)), ctypes.c_size_t(4)
            )
        )
        check_status(
            driver().cuCtxSynchronize()
        )  # the copy returns before the device has the bytes


# ---------------------------------------------------------------- columns of the ways out


def out_layout(layout: str) -> Callable[[Out, Place], None]:
    def check(way: Out, place: Place) -> None:
        array = cut(ours(place), layout)
        seen = way.carry(array)
        view = way.peer.view(seen)
        if array.size:
            assert view.address == way.peer.address_of(array), "copied"
        expected = way.peer.expected(numbers(layout))
        assert view.shape == expected.shape
        assert same_strides(view, tuple(stride // expected.itemsize for stride in expected.strides))
        assert way.peer.values(seen).tolist() == expected.tolist()

    return check


def out_our_write(way: Out, place: Place) -> None:
    array = ours(place)
    seen = way.carry(array)
    ep.fill(array, 5).wait()
    assert (way.peer.values(seen) == way.peer.expected(np.full((ROWS, COLUMNS), 5, "int32"))).all()


def out_their_write(way: Out, place: Place) -> None:
    array = ours(place)
    way.peer.write(way.carry(array), 77)
    assert host_values(array)[0, 0] == 77


def out_producer_first(way: Out, place: Place) -> None:
    array, gone = owned(place)
    seen = way.carry(array)
    del array
    gc.collect()
    assert gone() is not None, "the peer must keep the memory alive"
    assert way.peer.values(seen).tolist() == way.peer.expected(numbers()).tolist()
    del seen
    gc.collect()
    assert is_released(gone), "and release it"


def out_consumer_first(way: Out, place: Place) -> None:
    array, gone = owned(place)
    seen = way.carry(array)
    del seen
    gc.collect()
    assert gone() is not None
    assert host_values(array).tolist() == numbers().tolist()
    again = way.carry(array)
    assert way.peer.view(again).address == way.peer.address_of(array), "a second time"
    del again, array
    gc.collect()
    assert is_released(gone), "nothing may be kept"


def out_writable(way: Out, place: Place) -> None:
    assert way.peer.view(way.carry(ours(place))).read_only is False


def out_read_only(way: Out, place: Place) -> None:
    array = ours(place)
    description = getattr(array, place.interface) | {"data": (array.data_ptr, True)}
    read_only = ep.asarray(Speaker(place.interface, description, keep=array))
    assert read_only.read_only
    view = way.peer.view(way.carry(read_only))
    assert view.address == array.data_ptr
    assert view.read_only, "the flag is lost"


def out_order(way: Out, place: Place) -> None:
    array = ep.zeros(
        (ROWS, COLUMNS),
        "int32",
        device=place.selector,
        kind=place.kind,
        queue=ep.Queue(place.selector),
    )
    slow.launch(array)
    seen = way.carry(array)
    assert way.peer.values(seen).ravel()[0] == slow.RESULT, "read before our kernel was done"


def out_at_once(way: Out, place: Place) -> None:
    array = ep.zeros(
        (ROWS, COLUMNS),
        "int32",
        device=place.selector,
        kind=place.kind,
        queue=ep.Queue(place.selector),
    )
    way.carry(array)  # everything that must be loaded is loaded
    array.queue.wait()
    done = slow.launch(array)
    seen = way.carry(array)
    assert not done.done, "the call waited for our kernel"
    done.wait()
    del seen


def out_sub_devices(way: Out, place: Place) -> None:
    """Memory of two sub-devices with a context each, in which the other's memory is unknown."""
    queues = [ep.Queue(part) for part in place.device.sub_devices(equally=1)[:2]]
    assert queues[0].context != queues[1].context
    arrays = [ep.empty((ROWS, COLUMNS), "int32", kind=place.kind, queue=queue) for queue in queues]
    for array, seen in [(array, way.carry(array)) for array in arrays]:
        assert way.peer.view(seen).address == way.peer.address_of(array), "copied"
        ep.fill(array, 5).wait()
        assert (
            way.peer.values(seen) == way.peer.expected(np.full((ROWS, COLUMNS), 5, "int32"))
        ).all()


def out_dtype(dtype: str) -> Callable[[Out, Place], None]:
    def check(way: Out, place: Place) -> None:
        array = ours(place, dtype)
        seen = way.carry(array)
        assert way.peer.view(seen).address == array.data_ptr
        assert way.peer.dtype_of(seen) == dtype

    return check


# ---------------------------------------------------------------- columns of the ways in


def in_layout(layout: str) -> Callable[[In, Place], None]:
    def check(way: In, place: Place) -> None:
        obj = way.peer.make(place, layout=layout)
        array = way.carry(obj)
        view = way.peer.view(obj)
        assert array.shape == view.shape
        if array.size:
            assert (array.data_ptr, array.kind) == (view.address, place.kind)
        assert same_strides(view, array.strides)
        assert host_values(array).tolist() == way.peer.expected(numbers(layout)).tolist()

    return check


def in_our_write(way: In, place: Place) -> None:
    obj = way.peer.make(place)
    ep.fill(way.carry(obj), 5).wait()
    assert (way.peer.values(obj) == 5).all()


def in_their_write(way: In, place: Place) -> None:
    obj = way.peer.make(place)
    array = way.carry(obj)
    way.peer.write(obj, 77)
    assert host_values(array).tobytes()[:1] == b"\x4d"


def in_producer_first(way: In, place: Place) -> None:
    obj = way.peer.make(place)
    expected = way.peer.values(obj).tolist()
    lives = alive(obj)
    array = way.carry(obj)
    holds_object = array.owner is obj
    del obj
    gc.collect()
    others = [way.peer.make(place) for _ in range(8)]  # would get the memory if it were free
    junk = [np.full((ROWS, COLUMNS), -1, "int32") for _ in range(8)]
    for other in others:
        assert way.peer.view(other).address != array.data_ptr, "the memory was given away"
    assert host_values(array).tolist() == expected, "the memory was given away"
    del others, junk
    if holds_object and lives:
        assert lives()
    del array
    gc.collect()
    if lives:
        assert not lives(), "the object must be released"


def in_consumer_first(way: In, place: Place) -> None:
    obj = way.peer.make(place)
    expected, references = way.peer.values(obj).tolist(), sys.getrefcount(obj)
    array = way.carry(obj)
    part = array[1:]
    del array, part
    gc.collect()
    assert sys.getrefcount(obj) == references, "the object must be released"
    assert way.peer.values(obj).tolist() == expected
    assert way.carry(obj).data_ptr == way.peer.view(obj).address, "a second time"


def in_writable(way: In, place: Place) -> None:
    assert not way.carry(way.peer.make(place)).read_only


def in_read_only(way: In, place: Place) -> None:
    assert way.carry(way.peer.make_read_only(place)).read_only, "the flag is lost"


def in_order(way: In, place: Place) -> None:
    other = ep.Queue(place.selector)
    for read in (host_values, lambda array: host_values(array.to(queue=other))):
        obj = way.peer.make_slowly(place)
        assert read(way.carry(obj)).ravel()[0] == slow.RESULT, (
            "read before the peer's kernel was done"
        )


def in_at_once(way: In, place: Place) -> None:
    way.carry(way.peer.make(place))  # everything that must be loaded is loaded
    obj = way.peer.make_slowly(place)
    array = way.carry(obj)
    assert not way.peer.is_idle(obj), "the call waited for the peer's kernel"
    host_values(array)


def in_dtype(dtype: str) -> Callable[[In, Place], None]:
    def check(way: In, place: Place) -> None:
        obj = way.peer.make(place, dtype)
        array = way.carry(obj)
        assert str(array.dtype) == dtype
        assert array.data_ptr == way.peer.view(obj).address

    return check


# ---------------------------------------------------------------- crossing rows and columns


def columns(way: Way, place: Place) -> Iterator[tuple[str, Callable[[Any, Place], None]]]:
    goes_out = isinstance(way, Out)
    for layout in LAYOUTS:
        yield layout, (out_layout if goes_out else in_layout)(layout)
    yield "our write", out_our_write if goes_out else in_our_write
    yield "their write", out_their_write if goes_out else in_their_write
    yield "producer dropped first", out_producer_first if goes_out else in_producer_first
    yield "consumer dropped first", out_consumer_first if goes_out else in_consumer_first
    yield "writable", out_writable if goes_out else in_writable
    yield "read-only", out_read_only if goes_out else in_read_only
    if place is not HOST:  # the host's work is done when its call returns
        yield "order", out_order if goes_out else in_order
    if place in SYCL and goes_out:  # imports are of dpctl and dpnp, whose own tests cover it
        yield "sub-devices", out_sub_devices
    if place in CUDA and way.at_once:
        yield "at once", out_at_once if goes_out else in_at_once
    for dtype in itertools.chain(way.dtypes, *way.more_dtypes.values()):
        yield f"dtype {dtype}", (out_dtype if goes_out else in_dtype)(dtype)


def marks_of(place: Place) -> list[pytest.MarkDecorator]:
    """Always with the host's marker. Asking for it lists the devices before a peer maps an
    OpenCL loader that finds none."""
    return [pytest.mark.host] if place is HOST else [pytest.mark.host, place.marker]


def matrix(ways: Sequence[Way]) -> Callable[..., None]:
    """The test of all rows by all columns: ``test_pair = matrix(WAYS)``."""
    cases = []
    for way in ways:
        asked = {name for place in way.places for name, _ in columns(way, place)}
        assert asked >= set(way.cannot), (
            f"{way} cannot do {set(way.cannot) - asked}, which no check asks for"
        )
        for place in way.places:
            for name, check in columns(way, place):
                marks = [*marks_of(place), *([way.cannot[name].mark] if name in way.cannot else [])]
                dtype = name.removeprefix("dtype ")
                marks += (
                    [pytest.mark.alone] if name == "at once" else []
                )  # a kernel has to be running still
                marks += [
                    getattr(pytest.mark, need)
                    for need, dtypes in way.more_dtypes.items()
                    if dtype in dtypes
                ]
                cases.append(
                    pytest.param(check, way, place, id=f"{way}, {place}, {name}", marks=marks)
                )

    @pytest.mark.parametrize(("check", "way", "place"), cases)
    def test_pair(check: Callable[[Way, Place], None], way: Way, place: Place) -> None:
        check(way, place)

    return test_pair

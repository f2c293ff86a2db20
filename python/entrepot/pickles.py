"""Pickling of arrays, by a policy that the program chooses.

``pickling`` sets the policy of a context, and ``dumps`` that of one call. Both are attributes of
``entrepot``. ``Array.__reduce_ex__`` calls ``reduce``.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, SupportsIndex

from . import _core, leases

__all__ = ["dumps", "pickling"]

_PolicyName = Literal["share", "copy", "refuse"]

#: Seconds that the memory of a pickled handle is held for its receiver, if none are named.
HOLD = 60.0


class Policy(NamedTuple):
    """How arrays are pickled."""

    name: str
    hold: float = HOLD  # seconds that 'share' holds memory
    engine: str = ""  # the module of entrepot.transport that sets it, for messages
    ends_by_report: bool = True  # False if a pickle has several receivers
    defers_errors: bool = False  # True if an error of unpickling would end the receiver

    @property
    def otherwise(self) -> str:
        """Advice for memory that cannot be shared."""
        if self.engine:
            return f"or call entrepot.transport.{self.engine}.enable with the policy 'copy'"
        return "or pickle the array with the policy 'copy'"


_policy: ContextVar[Policy | None] = ContextVar("entrepot.pickling", default=None)
#: The leases of a call of ``dumps``, which ends them if it fails.
_leases: ContextVar[list[leases.Lease] | None] = ContextVar("entrepot.leases", default=None)


def chosen() -> Policy | None:
    """The policy that the program has set for the context, None without any."""
    return _policy.get()


def policy_from(name: object, hold: float = HOLD, **details: Any) -> Policy:
    """The policy of that name. Raises ValueError for other names and for times below zero."""
    if name not in ("share", "copy", "refuse"):
        raise ValueError(f"the policy {name!r} is not known: use 'share', 'copy' or 'refuse'")
    if not hold >= 0:
        raise ValueError(f"hold={hold!r}: a number of seconds is needed, 0 or more")
    return Policy(name, float(hold), **details)


def pickling(policy: _PolicyName, *, hold: float = HOLD) -> contextlib.AbstractContextManager[None]:
    """Set how arrays are pickled in a block.

    The policy holds for the current context (see ``contextvars``): the thread or the task of
    asyncio. Without a block, it is 'refuse'.

    A pickle with the policy 'share' contains a handle. The memory has to come from
    ``entrepot.memory.shareable()``. The receiver's work waits for pending work on the memory, see
    ``Array.share``. This process holds the memory until the first of these:

    - A process of this machine has unpickled the array. It then holds the memory by itself.
    - ``hold`` seconds are over.
    - This process ends.

    The handle can be unpickled again as long as this process holds the memory in another way, for
    example by the array.

    Parameters
    ----------
    policy : {'share', 'copy', 'refuse'}
        With 'share', the unpickled array is the same memory, in any process of this machine and
        user. With 'copy', a pickle contains the elements. An array of a device is copied to the
        host, and unpickled on the device of the same name. With 'refuse', pickling raises an
        error.
    hold : float, optional
        How long the policy 'share' holds memory for a receiver, in seconds. The default is 60.

    Returns
    -------
    context manager
        The policy is set in its block, and the earlier one is set after it.

    Raises
    ------
    ValueError
        If the policy is not known, or ``hold`` is negative.

    Examples
    --------
    >>> import pickle
    >>> array = ep.full(3, 5, "int32", device="host")
    >>> with ep.pickling("copy"):
    ...     data = pickle.dumps(array)
    >>> pickle.loads(data).numpy()
    array([5, 5, 5], dtype=int32)
    """
    return in_block(policy_from(policy, hold))


@contextlib.contextmanager
def in_block(policy: Policy) -> Iterator[None]:
    token = _policy.set(policy)
    try:
        yield
    finally:
        _policy.reset(token)


@contextlib.contextmanager
def in_call(policy: Policy) -> Iterator[None]:
    """``in_block`` for one pickle. If the block fails, the leases of its handles end."""
    made: list[leases.Lease] = []
    token = _leases.set(made)
    try:
        with in_block(policy):
            yield
    except BaseException:
        for lease in made:
            leases.take(lease)
        raise
    finally:
        _leases.reset(token)


def dumps(
    obj: object,
    policy: _PolicyName,
    *,
    hold: float = HOLD,
    protocol: int | None = None,
    buffer_callback: Callable[[pickle.PickleBuffer], object] | None = None,
) -> bytes:
    """Pickle an object whose arrays are pickled by the policy: ``pickle.dumps`` in ``pickling``.

    Parameters
    ----------
    obj : object
        An array, or any object that contains arrays.
    policy : {'share', 'copy', 'refuse'}
        See ``pickling``.
    hold : float, optional
        See ``pickling``.
    protocol : int, optional
        The protocol of pickle. The default is the highest one.
    buffer_callback : callable, optional
        With protocol 5 and the policy 'copy', it is called with a ``pickle.PickleBuffer`` of each
        array. This is the array's memory if the host can access it and its elements are dense.

    Returns
    -------
    bytes
        The pickle, for ``pickle.loads``.

    Raises
    ------
    TypeError
        If the policy is 'refuse' and the object contains an array.
    ExchangeError
        If the policy is 'share' and the memory of an array cannot be shared.
    ValueError
        If the policy is not known, or ``hold`` is negative.

    Examples
    --------
    >>> import pickle
    >>> array = ep.full(3, 5, "int32", device="host")
    >>> buffers = []
    >>> data = ep.dumps(array, "copy", buffer_callback=buffers.append)
    >>> same = pickle.loads(data, buffers=buffers)
    >>> same.data_ptr == array.data_ptr  # no copy was made
    True
    """
    with in_call(policy_from(policy, hold)):
        return pickle.dumps(
            obj,
            pickle.HIGHEST_PROTOCOL if protocol is None else protocol,
            buffer_callback=buffer_callback,
        )


def reduce(
    array: _core.Array, protocol: SupportsIndex, policy: Policy | None = None
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function and its arguments that make the array again, by the policy.

    The default is the policy of the context.
    """
    policy = policy or _policy.get() or Policy("refuse")
    made: tuple[Callable[..., _core.Array], tuple[Any, ...]]
    if policy.name == "share":
        made = opened, leased(array, policy)
    elif policy.name == "copy":
        made = _reduce_copied(array, protocol.__index__())
    else:
        _refuse(policy)
    return (or_unavailable, (made[0], *made[1])) if policy.defers_errors else made


def _refuse(policy: Policy) -> NoReturn:
    if policy.engine:
        raise TypeError(
            f"cannot pickle an entrepot.Array: entrepot.transport.{policy.engine} is enabled with "
            "the policy 'refuse'. Enable it with 'share' or 'copy'"
        )
    advice = ""
    if threading.current_thread() is not threading.main_thread():
        advice = (
            ". A policy holds for one thread: for queues and pools, which pickle in others, call "
            "entrepot.transport.enable('multiprocessing')"
        )
    raise TypeError(
        "cannot pickle an entrepot.Array: no policy says what its pickle contains. Pickle it in "
        "`with entrepot.pickling('copy'):` for its elements, or with 'share' for a handle of its "
        f"memory{advice}"
    )


# ---------------------------------------------------------------- copy


class Packed(NamedTuple):
    """The elements of an array as dense bytes, and what makes an array of them again."""

    data: _core.Array  # uint8, of one dimension
    dtype: str
    shape: tuple[int, ...]  # of the axes in the order of memory
    axes: tuple[int, ...]  # the place of each of these axes in the array
    device: str
    kind: str
    read_only: bool


def packed(array: _core.Array, *, on_host: bool = True) -> Packed:
    """The elements without a copy if they are dense in any order of axes and, with ``on_host``, the
    host can access them. Otherwise they are copied to such memory.
    """
    axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    ordered = array.transpose(axes)
    if not is_dense(ordered):
        axes = list(range(array.ndim))
        ordered = array.to()  # copies into C order
    if on_host and ordered.kind == "device":
        ordered = ordered.copy_to_host()
    return Packed(
        ordered.reshape(-1).view("uint8"),
        str(array.dtype),
        ordered.shape,
        tuple(axes),
        str(array.device),
        array.kind,
        array.read_only,
    )


def is_dense(array: _core.Array) -> bool:
    """True if the elements lie in C order without gaps."""
    expected = 1
    for extent, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if extent > 1 and stride != expected:
            return array.size == 0
        expected *= extent
    return True


def _reduce_copied(
    array: _core.Array, protocol: int
) -> tuple[Callable[..., _core.Array], tuple[Any, ...]]:
    data, *rest = packed(array)
    # Reading waits for pending writes. Older protocols have no buffers, and a copy of the elements.
    view = memoryview(data)
    return unpacked, (pickle.PickleBuffer(view) if protocol >= 5 else bytearray(view), *rest)


def unpacked(
    data: Any,
    dtype: str,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    device: str,
    kind: str,
    read_only: bool,
) -> _core.Array:
    """The array of ``Packed``, whose ``data`` is any buffer.

    In host memory it is a view of the buffer, read-only if the buffer is. Raises DeviceError if
    the process has no device of that name.
    """
    elements = _core.asarray(data)
    itemsize = _core.Dtype(dtype).itemsize
    if elements.data_ptr % min(itemsize & -itemsize, 16):
        elements = elements.to()  # a buffer may begin at any byte
    elements = elements.view(dtype)
    if device != "host":
        elements = elements.to(_device(device), kind=kind)
    return arranged(elements, shape, axes, read_only)


def arranged(
    elements: _core.Array, shape: tuple[int, ...], axes: tuple[int, ...], read_only: bool
) -> _core.Array:
    """A view of elements of one dimension, in the shape and order of ``Packed``."""
    ordered = elements.reshape(shape)
    if read_only:
        ordered = ordered.broadcast_to(shape)  # a read-only view
    return ordered.transpose(sorted(range(len(axes)), key=axes.__getitem__))


def _device(name: str) -> _core.Device:
    try:
        return _core.device(name)
    except _core.DeviceError as error:
        raise _core.DeviceError(
            f"the pickled array was on {name}, which this process does not have: {error}. Pickle "
            "array.copy_to_host() for a process without the device"
        ) from None


# ---------------------------------------------------------------- share


_machine = ""  # set on first use, to the same text by every thread


def machine() -> str:
    """Identifies the processes that can open each other's handles: those of one kernel and one
    network namespace, where the sockets are.
    """
    global _machine
    if not _machine:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        _machine = f"{boot} {os.readlink('/proc/self/ns/net')}"
    return _machine


class Shared(NamedTuple):
    """An array that other processes can open. Plain data, for a pickle or a message."""

    handle: bytes
    machine: str
    #: The array's device, which differs from that of the handle for a view of host memory.
    device: str


def shared(array: _core.Array, otherwise: str) -> Shared:
    """A handle that stays valid while any process holds the memory.

    The receiver's work is ordered after pending work on the memory, as with ``Array.share``.
    Raises ExchangeError for memory that cannot be shared, with the advice ``otherwise``.
    """
    if array.owner is not None and array.kind == "device":
        # Such memory has to stay allocated while another process uses it, which no lease covers.
        raise _core.ExchangeError(
            "share: the memory was allocated on a device by another library, and has to stay "
            f"allocated while another process uses it. Send array.share() and hold the array, "
            f"{otherwise}"
        )
    try:
        handle = bytes(array.share())
    except _core.ExchangeError as error:
        raise _core.ExchangeError(f"{error}; {otherwise}") from None
    return Shared(handle, machine(), str(array.device))


def open_shared(handle: bytes, where: str, device: str) -> _core.Array:
    """The array of ``Shared``, without a copy.

    Memory that was pinned for a device is pinned here as well, unless the device needs no pin.
    Raises ExchangeError on another machine, and if the memory has been released. Raises DeviceError
    if the process has no device of that name.
    """
    if where != machine():
        raise _core.ExchangeError(
            "the array was shared on another machine or in another network namespace. Pickle it "
            "with the policy 'copy'"
        )
    array = _core.ArrayHandle(handle).open()
    # Devices of one backend may have other names in this process.
    if device.partition(":")[0] == array.device.backend:
        return array
    place = _device(device)
    if place.has_aspect_usm_system_allocations:
        return _core.asarray(array, device=place)
    return _core.pin(array, device=place)


def leased(
    array: _core.Array, policy: Policy
) -> tuple[tuple[bytes, str, str], tuple[bytes, bytes] | None, float]:
    """The arguments of ``opened``, without a lease if no receiver ends it.

    Raises as ``shared`` does.
    """
    made = shared(array, policy.otherwise)
    lease = leases.hold(array, policy.hold, ends_by_report=policy.ends_by_report)
    if (of_call := _leases.get()) is not None:
        of_call.append(lease)
    # Plain tuples have shorter pickles.
    reported = (lease.address, lease.token) if policy.ends_by_report else None
    return (made.handle, made.machine, made.device), reported, policy.hold


def opened(
    shared: tuple[bytes, str, str], lease: tuple[bytes, bytes] | None, seconds: float
) -> _core.Array:
    """The array of ``leased``, without a copy. Raises as ``open_shared`` does."""
    if lease and (own := leases.take(leases.Lease(*lease))) is not None:
        return own[...]
    try:
        array = open_shared(*shared)
    except _core.ExchangeError as error:
        if "has released" not in str(error) and "has ended" not in str(error):
            raise
        raise _core.ExchangeError(
            f"{error}. A pickled handle holds the memory for {seconds:g} seconds, and until it is "
            "unpickled for the first time: pass a larger hold=, or hold the array"
        ) from None
    if lease:
        leases.report(leases.Lease(*lease))
    return array


def or_unavailable(
    function: Callable[..., _core.Array], *arguments: object
) -> _core.Array | UnavailableArray:
    """The array of ``opened`` or ``unpacked``, or an object that raises their error on use.

    A pool of multiprocessing unpickles outside of its tasks. An error there ends its worker or the
    thread that receives results, and the pool hangs.
    """
    try:
        return function(*arguments)
    except (_core.ExchangeError, _core.DeviceError) as error:
        return UnavailableArray(error)


class UnavailableArray:
    """Stands for an array whose memory could not be opened. Each use raises the error."""

    __slots__ = ("_error",)

    def __init__(self, error: Exception) -> None:
        object.__setattr__(self, "_error", error)

    def __getattribute__(self, name: str) -> NoReturn:
        _raise(self)

    def __repr__(self) -> str:
        error = object.__getattribute__(self, "_error")
        return f"<entrepot.UnavailableArray: {type(error).__name__}: {error}>"


def _raise(array: UnavailableArray, *_: object) -> NoReturn:
    error = object.__getattribute__(array, "_error")
    raise type(error)(str(error))


# Python looks these up in the type.
for _name in (
    "bool complex eq float format ge getitem gt hash int iter le len lt ne setattr setitem str"
).split():
    setattr(UnavailableArray, f"__{_name}__", _raise)

"""Arrays in Dask's distributed scheduler: zero-copy within a machine, frames between machines.

Within a machine, a worker sends a handle to another worker, or to a client that asks the worker
directly. Other messages contain the elements as frames. The scheduler forwards those messages, so
their receiver is not known.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .. import pickles
from .._core import Array, ExchangeError, _synchronize_for_host, asarray
from .engine import Enabled, Engine

__all__ = ["disable", "enable"]

#: distributed pickles with protocol 4 on connections of the scheduler, for workers with an older
#: Python. Between workers and clients, it uses the highest protocol of both.
_PROTOCOL_BETWEEN_WORKERS = 5

#: Pickles within connections of the scheduler have protocol 4.
_PROTOCOL_OF_CLOUDPICKLE = 4

_INSIDE_A_PICKLE: Any = object()


def _is_direct(context: dict[str, Any] | None) -> bool:
    """True if the receiver of the message deserializes it, and is on this machine."""
    if not context or context.get("pickle-protocol", 0) < _PROTOCOL_BETWEEN_WORKERS:
        return False
    host_of = import_module("distributed.comm.addressing").get_address_host
    ends = [context.get(end, {}).get("address", "") for end in ("sender", "recipient")]
    if not all(end.startswith(("tcp://", "tls://", "ws://", "wss://")) for end in ends):
        return False
    return bool(host_of(ends[0]) == host_of(ends[1]))


def _serialize(array: Array, context: Any = _INSIDE_A_PICKLE) -> tuple[dict[str, Any], list[Any]]:
    options = _enabled_options()
    # Read-only, because a task of the sender may still use the memory. Copies are read-only too, so
    # that a task does not depend on the place of its worker.
    array = array.broadcast_to(array.shape)
    may_share = options["policy"] == "share" and context is not _INSIDE_A_PICKLE
    if may_share and _is_direct(context) and _is_shareable(array):
        policy = pickles.Policy("share", options["hold"], engine="dask")
        return {"shared": pickles.leased(array, policy)}, []
    data, *described = pickles.packed(array)
    view = memoryview(data)
    # A pickle of another object contains these frames, and cannot contain a memoryview.
    return {"packed": described}, [bytearray(view) if context is _INSIDE_A_PICKLE else view]


def _is_shareable(array: Array) -> bool:
    """False for memory that other processes cannot open, by its allocation."""
    if array.owner is not None and array.kind == "device":
        return False
    try:
        array.share()
    except ExchangeError as error:
        # The core refuses such memory with this prefix. Other errors have other ones.
        if str(error).startswith("share: "):
            return False
        raise
    return True


def _deserialize(header: dict[str, Any], frames: list[Any]) -> Array:
    if "shared" in header:
        return pickles.opened(*header["shared"])
    dtype, shape, axes, *rest = header["packed"]
    return pickles.unpacked(frames[0], dtype, tuple(shape), tuple(axes), *rest)


def _serialize_for_cuda(array: Array) -> tuple[dict[str, Any], list[Any]]:
    """Frames of device memory, for comms that send them without the host, such as UCX."""
    _enabled_options()
    if array.device.backend != "cuda" or array.kind != "device":
        raise NotImplementedError("this is not device memory of CUDA")
    data, *described = pickles.packed(array.broadcast_to(array.shape), on_host=False)
    _synchronize_for_host(data)  # the comm asks for no order
    return {"packed": described}, [data]


def _deserialize_for_cuda(header: dict[str, Any], frames: list[Any]) -> Array:
    dtype, shape, axes, _device, _kind, read_only = header["packed"]
    elements = asarray(frames[0]).view("uint8").view(dtype)
    return pickles.arranged(elements, tuple(shape), tuple(axes), read_only)


def _enabled_options() -> dict[str, Any]:
    options = _engine.options
    if options is None or options["policy"] == "refuse":
        # Dask then tries its next family of serializers, as without this module.
        raise NotImplementedError("entrepot.transport.dask is not enabled, or refuses arrays")
    return options


def _install(policy: pickles._PolicyName, hold: float) -> None:
    pickles.policy_from(policy, hold)
    serialize = import_module("distributed.protocol.serialize")
    serialize.dask_serialize.register(Array)(_serialize)
    serialize.dask_deserialize.register(Array)(_deserialize)
    cuda = import_module("distributed.protocol.cuda")
    cuda.cuda_serialize.register(Array)(_serialize_for_cuda)
    cuda.cuda_deserialize.register(Array)(_deserialize_for_cuda)
    import_module("dask.sizeof").sizeof.register(Array)(_bytes_of)
    # For arrays in functions and in objects of classes that the workers do not import.
    reducers = _cloud_pickler().dispatch_table
    if reducers.get(Array) is not _reduce:
        _earlier_reducer.append(reducers.get(Array))
        reducers[Array] = _reduce


def _cloud_pickler() -> Any:
    return import_module("cloudpickle").CloudPickler


#: The program's own reducer for arrays in cloudpickle, or None, while ``_reduce`` replaces it.
_earlier_reducer: list[Any] = []


def _reduce(array: Array) -> tuple[Any, ...]:
    if (policy := pickles.chosen()) is not None:
        return pickles.reduce(array, _PROTOCOL_OF_CLOUDPICKLE, policy)
    return _deserialize, _serialize(array)


def _bytes_of(array: Array) -> int:
    return array.nbytes


def _remove() -> None:
    # Dask has no call that removes a serializer. Those here look at the options of the engine.
    reducers = _cloud_pickler().dispatch_table
    earlier = _earlier_reducer.pop() if _earlier_reducer else None
    if reducers.get(Array) is _reduce:
        if earlier is None:
            del reducers[Array]
        else:
            reducers[Array] = earlier


_engine = Engine("dask", _install, _remove)


def enable(policy: pickles._PolicyName = "share", *, hold: float = pickles.HOLD) -> Enabled:
    """Send arrays between the processes of a Dask cluster.

    Each process that sends or receives arrays has to enable it: the client, and the workers by
    ``client.register_worker_callbacks(entrepot.transport.dask.enable)``, or with
    ``--preload entrepot.transport.dask``. The scheduler does not need it.

    Memory of ``entrepot.memory.shareable()`` is not copied between workers of one machine. Other
    memory is copied, and so is what passes the scheduler. Received arrays are read-only.
    Arrays inside other objects are copied into their pickles, by cloudpickle as well. A policy of
    ``entrepot.pickling`` applies to cloudpickle instead.
    Device memory of CUDA is sent without the host where the comm can do so (distributed-ucxx).

    Parameters
    ----------
    policy : {'share', 'copy', 'refuse'}, optional
        With 'copy', all messages have the elements, and with 'refuse', Dask reports an error. The
        default is 'share'.
    hold : float, optional
        Seconds that shared memory is held for its receiver. The default is 60.

    Returns
    -------
    Enabled
        A context manager that disables it.

    Raises
    ------
    ValueError
        If the policy is not known, or ``hold`` is negative.
    ModuleNotFoundError
        If distributed is not installed.

    Examples
    --------
    >>> from distributed import Client, LocalCluster  # doctest: +SKIP
    >>> from entrepot import transport
    >>> enabled = transport.dask.enable()  # doctest: +SKIP
    >>> client = Client(LocalCluster(n_workers=2))  # doctest: +SKIP
    >>> client.register_worker_callbacks(transport.dask.enable)  # doctest: +SKIP
    """
    return _engine.enable(policy=policy, hold=hold)


def disable() -> None:
    """Send no arrays any more: Dask reports that it cannot serialize them.

    Examples
    --------
    >>> from entrepot import transport
    >>> transport.dask.disable()  # doctest: +SKIP
    """
    _engine.disable()


def dask_setup(worker: object) -> None:
    """Enable it in a worker that was started with ``--preload entrepot.transport.dask``."""
    enable()

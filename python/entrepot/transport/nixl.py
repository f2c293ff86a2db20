"""Arrays in NIXL: registered memory and descriptors of transfers.

NIXL takes descriptors of addresses. It has no streams, so pending work has to be complete before a
registration and before a transfer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .._core import Array
from .exposing import idle

__all__ = ["registered"]


@contextlib.contextmanager
def registered(agent: Any, *arrays: Array, receive: bool = False) -> Iterator[Any]:
    """Register arrays with a NIXL agent for the transfers in a block.

    The call waits once for pending work on each array. Submit no work on the memory in the block,
    and complete all transfers before its end, those of remote agents as well.

    Parameters
    ----------
    agent : nixl_agent
        The agent of this process.
    *arrays : Array
        C- or F-contiguous arrays, all in memory of the host or all on devices of CUDA or HIP.
    receive : bool, optional
        True if transfers write the memory. The default is False.

    Yields
    ------
    nixlXferDList
        Descriptors of transfers, one for each array, for ``agent.initialize_xfer``. For a remote
        agent, pass them on by ``agent.get_serialized_descs``.

    Raises
    ------
    ValueError
        If there is no array, or arrays of both types of memory. Also if an array is not contiguous,
        or is read-only and has to receive.
    ExchangeError
        If it is device memory of another backend.

    Examples
    --------
    >>> from entrepot import transport
    >>> array = ep.full(3, 5, "int32", device="host")
    >>> with transport.nixl.registered(agent, array) as descriptors:  # doctest: +SKIP
    ...     handle = agent.initialize_xfer("WRITE", descriptors, theirs, "them")
    """
    memory = [idle("NIXL", array, receive=receive) for array in arrays]
    types = {_type_of(each) for each in memory}
    if len(types) != 1:
        raise ValueError(
            f"NIXL registers memory of one type, not of {len(types)} ({sorted(types)}): call "
            "registered() for the arrays of each"
        )
    (kind,) = types
    descriptors = [(each.data_ptr, each.nbytes, _device_of(each)) for each in memory]
    registration = agent.register_memory([(*each, "") for each in descriptors], kind)
    try:
        yield agent.get_xfer_descs(descriptors, kind)
    finally:
        agent.deregister_memory(registration)


def _type_of(array: Array) -> str:
    return "VRAM" if array.kind == "device" and array.device.backend != "host" else "DRAM"


def _device_of(array: Array) -> int:
    return array.__dlpack_device__()[1] if _type_of(array) == "VRAM" else 0

"""Memory that is exposed to a library which takes addresses and asks for no order."""

from __future__ import annotations

from .. import pickles
from .._core import Array, ExchangeError, _synchronize_for_host

__all__ = ["idle", "require_contiguous"]

#: Backends whose device memory libraries recognize by its address.
_KNOWN = ("cuda", "hip")


def require_contiguous(library: str, array: Array) -> None:
    """Raises ValueError if there are gaps between the elements, in C and in Fortran order."""
    if not (pickles.is_dense(array) or pickles.is_dense(array.transpose())):
        raise ValueError(
            f"{library} takes contiguous memory, and the array of shape {array.shape} has the "
            f"strides {array.strides}: send a copy, array.to()"
        )


def idle(library: str, array: Array, *, receive: bool) -> Array:
    """The array's bytes in the order of memory, after all work that the library has to wait for.

    Without ``receive`` it is a read-only view.

    Raises ValueError for a read-only array that is to receive, and for one with gaps. Raises
    ExchangeError for device memory that only its own backend knows.
    """
    if receive and array.read_only:
        raise ValueError(f"{library}: the array is read-only, and cannot receive: use array.to()")
    require_contiguous(library, array)
    if array.kind == "device" and array.device.backend not in ("host", *_KNOWN):
        raise ExchangeError(
            f"{library} takes memory of the host, CUDA and HIP, not device memory of "
            f"{array.device.backend}: send array.copy_to_host()"
        )
    _synchronize_for_host(array)
    ordered = array if pickles.is_dense(array) else array.transpose()
    memory = ordered.reshape(-1).view("uint8")
    return memory if receive else memory.broadcast_to(memory.shape)

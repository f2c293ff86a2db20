"""Arrays in ucxx: memory for ``Endpoint.send`` and ``Endpoint.recv``.

ucxx recognizes device memory by the CUDA array interface, and host memory by the buffer protocol.
It waits for no device work, and ignores that a buffer is read-only. ``lent`` sees to both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .._core import Array
from .exposing import idle

__all__ = ["lent"]


@contextlib.contextmanager
def lent(array: Array, *, receive: bool = False) -> Iterator[Array]:
    """Lend an array's memory to ucxx for the messages in a block.

    The call waits once for pending work on the memory. Submit no work on the memory in the block,
    and await all messages before its end.

    Parameters
    ----------
    array : Array
        C- or F-contiguous, in memory of the host, CUDA or HIP.
    receive : bool, optional
        True if messages write the memory. The default is False.

    Yields
    ------
    Array
        The bytes, which ucxx takes as a buffer. It is a read-only view without ``receive``.

    Raises
    ------
    ValueError
        If the array is not contiguous, or is read-only and has to receive.
    ExchangeError
        If it is device memory of another backend.

    Examples
    --------
    >>> from entrepot import transport
    >>> array = ep.full(3, 5, "int32", device="host")
    >>> with transport.ucxx.lent(array) as buffer:
    ...     buffer.nbytes  # await endpoint.send(buffer)
    12
    """
    yield idle("ucxx", array, receive=receive)

"""Arrays in mpi4py: ``lent`` for messages of memory, and ``enable`` for messages of objects.

MPI takes addresses and asks for no order. The program has to wait for pending work on the memory
before a message. It must not submit more work until the message is complete.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from .. import pickles
from .._core import Array, ExchangeError, _synchronize_for_host
from .engine import Enabled, Engine
from .exposing import require_contiguous

__all__ = ["disable", "enable", "lent"]

#: Codes of element types that MPI has.
_CODES = {
    "bool": "b1", "int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8",
    "uint8": "u1", "uint16": "u2", "uint32": "u4", "uint64": "u8",
    "float32": "f4", "float64": "f8", "complex64": "c8", "complex128": "c16",
}  # fmt: skip


@contextlib.contextmanager
def lent(comm: Any, array: Array, *, device_aware: bool | None = None) -> Iterator[list[Any]]:
    """Lend an array's memory to MPI for the messages in a block.

    The call waits once for pending work on the memory. Messages in the block do not wait. Submit no
    work on the memory in the block, and complete non-blocking messages before its end.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator of the messages.
    array : Array
        C- or F-contiguous. If it is read-only, it can be sent only.
    device_aware : bool, optional
        True if the MPI library takes device memory, False if not. By default, the library is asked:
        by ``MPIX_Query_cuda_support``, or by the allocation kinds of the communicator (MPI 4.1).

    Yields
    ------
    list
        The memory and the datatype of its elements, which mpi4py takes as a buffer.

    Raises
    ------
    ValueError
        If the array is not contiguous.
    TypeError
        If MPI has no datatype for the elements. View them as another dtype, for example 'uint16'.
    ExchangeError
        If the memory is not accessible to the host and the MPI library does not take it.

    Examples
    --------
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> from entrepot import transport
    >>> array = ep.full(3, 5, "int32", device="host")
    >>> with transport.mpi.lent(MPI.COMM_WORLD, array) as buffer:  # doctest: +SKIP
    ...     MPI.COMM_WORLD.Bcast(buffer)
    """
    mpi = import_module("mpi4py.MPI")
    code = _CODES.get(str(array.dtype))
    if code is None:
        raise TypeError(f"MPI has no datatype for {array.dtype}: send array.view('uint8')")
    require_contiguous("MPI", array)
    if array.kind == "device" and array.device.backend != "host":
        _require_device_aware(comm, array, device_aware)
    _synchronize_for_host(array)
    memory = mpi.buffer.fromaddress(array.data_ptr, array.nbytes, readonly=array.read_only)
    yield [memory, mpi.Datatype.fromcode(code)]


def _require_device_aware(comm: Any, array: Array, given: bool | None) -> None:
    backend = array.device.backend
    if given is None:
        given = backend in _device_kinds(comm)
    if not given:
        raise ExchangeError(
            f"MPI: the library does not say that it takes device memory of {backend}, and the host "
            "cannot access it. Send array.copy_to_host(), or pass device_aware=True if it does"
        )


def _device_kinds(comm: Any) -> set[str]:
    """Backends whose device memory the MPI library takes, as far as it says so."""
    info = comm.Get_info()
    try:
        stated = info.get("mpi_memory_alloc_kinds") or ""
    finally:
        info.Free()
    kinds = {kind.split(":")[0].strip() for kind in stated.split(",")}
    found = {backend for kind, backend in _KINDS.items() if kind in kinds}
    # The wheel of mpi4py opens the library itself, which is then among the process's own.
    for library in (ctypes.CDLL(import_module("mpi4py.MPI").__file__), ctypes.CDLL(None)):
        query = getattr(library, "MPIX_Query_cuda_support", None)
        if query is not None and query() == 1:
            found.add("cuda")
    return found


_KINDS = {"cuda": "cuda", "rocm": "hip", "level_zero": "level_zero"}


#: Functions and protocols that the picklers had before this module was enabled.
_earlier: list[tuple[Any, Any, Any]] = []


def _install(policy: pickles._PolicyName, hold: float) -> None:
    # A collective message pickles once for many receivers, so no report can end the lease.
    chosen = pickles.policy_from(policy, hold, engine="mpi", ends_by_report=False)
    picklers = _picklers()
    if not _earlier:
        _earlier.extend(_functions_of(pickler) for pickler in picklers)
    for pickler, (dumps, loads, protocol) in zip(picklers, _earlier, strict=True):
        pickler.__init__(_by_policy(dumps, chosen), loads, protocol)


def _by_policy(dumps: Any, policy: pickles.Policy) -> Any:
    def dumps_by_policy(*args: Any, **kwargs: Any) -> Any:
        with pickles.in_call(policy):
            return dumps(*args, **kwargs)

    return dumps_by_policy


def _functions_of(pickler: Any) -> tuple[Any, Any, Any]:
    """The functions and the protocol of mpi4py's pickler, which has attributes for the latter
    alone.
    """
    dumps, loads = (each for each in gc.get_referents(pickler) if callable(each))
    return dumps, loads, pickler.PROTOCOL


def _remove() -> None:
    for pickler, functions in zip(_picklers(), _earlier, strict=True):
        pickler.__init__(*functions)
    _earlier.clear()


def _picklers() -> list[Any]:
    return [import_module("mpi4py.MPI").pickle, import_module("mpi4py.util.pkl5").pickle]


_engine = Engine("mpi", _install, _remove)


def enable(policy: pickles._PolicyName = "copy", *, hold: float = pickles.HOLD) -> Enabled:
    """Pickle arrays in mpi4py's messages of objects (``comm.send``, ``mpi4py.util.pkl5``).

    Functions that the program has set in ``mpi4py.MPI.pickle`` before are called with the policy.

    A message may have several receivers, as in ``comm.bcast``. With 'share', the sender therefore
    holds the memory for ``hold`` seconds after each message. It has to run until all ranks have
    received the array.

    Parameters
    ----------
    policy : {'share', 'copy', 'refuse'}, optional
        See ``entrepot.pickling``. The default is 'copy', because ranks may be on other machines.
        ``mpi4py.util.pkl5`` passes host memory out of band, without a copy.
    hold : float, optional
        Seconds that 'share' holds the memory. The default is 60.

    Returns
    -------
    Enabled
        A context manager that disables it.

    Raises
    ------
    ValueError
        If the policy is not known, or ``hold`` is negative.
    ModuleNotFoundError
        If mpi4py is not installed.

    Examples
    --------
    >>> from entrepot import transport
    >>> enabled = transport.mpi.enable()  # doctest: +SKIP
    """
    return _engine.enable(policy=policy, hold=hold)


def disable() -> None:
    """Pickle with the functions and the protocol that mpi4py had before.

    Examples
    --------
    >>> from entrepot import transport
    >>> transport.mpi.disable()  # doctest: +SKIP
    """
    _engine.disable()

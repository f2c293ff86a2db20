"""Arrays in Ray: between actors of one machine without a copy, and through the object store.

The tensor transport ``"ENTREPOT"`` of Ray Direct Transport sends handles of memory that can be
shared. Ray owns the array in the source actor until the last reference to the object is dropped.
The receiving actor maps the memory, and holds it by itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .. import pickles
from .._core import Array
from .engine import Enabled, Engine

__all__ = ["TRANSPORT", "disable", "enable", "setup_worker"]

#: The name for ``@ray.method(tensor_transport=…)`` and ``ray.put(…, _tensor_transport=…)``.
TRANSPORT = "ENTREPOT"

_is_registered = False


def _install() -> None:
    from .ray_manager import register

    global _is_registered
    if not _is_registered:
        register(TRANSPORT)
        _is_registered = True
    import_module("ray").util.register_serializer(
        Array, serializer=_serialize, deserializer=_deserialize
    )


def _serialize(array: Array) -> tuple[Any, ...]:
    return pickles.reduce(array, 5, pickles.Policy("copy"))[1]


def _deserialize(packed: tuple[Any, ...]) -> Array:
    return pickles.unpacked(*packed)


def _remove() -> None:
    # Ray has no call that removes a transport. It is not used unless a program names it.
    import_module("ray").util.deregister_serializer(Array)


_engine = Engine("ray", _install, _remove)


def enable() -> Enabled:
    """Pass arrays between Ray's tasks and actors.

    Call it before the actors are created, in the process that creates them. Workers that return
    arrays need it as well: ``ray.init(runtime_env={"worker_process_setup_hook":
    entrepot.transport.ray.setup_worker})``.

    - ``@ray.method(tensor_transport="ENTREPOT")`` on an actor's method shares the returned arrays
      with other actors of the machine, without a copy. Their memory has to come from
      ``entrepot.memory.shareable()``. All actors may write to it.
    - Other arguments and results are copied into Ray's object store, and are read-only views of the
      store where they are received. Device memory is copied to the device of the same name.

    Returns
    -------
    Enabled
        A context manager that disables it.

    Raises
    ------
    ModuleNotFoundError
        If Ray is not installed.

    Examples
    --------
    >>> import ray  # doctest: +SKIP
    >>> from entrepot import transport
    >>> enabled = transport.ray.enable()  # doctest: +SKIP
    """
    return _engine.enable()


def disable() -> None:
    """Refuse arrays in the object store again. The tensor transport stays registered in Ray.

    Examples
    --------
    >>> from entrepot import transport
    >>> transport.ray.disable()  # doctest: +SKIP
    """
    _engine.disable()


def setup_worker() -> None:
    """Enable it in a worker, as Ray's ``worker_process_setup_hook``.

    Examples
    --------
    >>> import ray  # doctest: +SKIP
    >>> from entrepot import transport
    >>> hook = {"worker_process_setup_hook": transport.ray.setup_worker}
    >>> ray.init(runtime_env=hook)  # doctest: +SKIP
    """
    enable()

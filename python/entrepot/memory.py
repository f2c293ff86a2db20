"""USM memory as bytes, a drop-in for ``dpctl.memory``, and the memory resources of all allocations.

>>> import entrepot.memory as dpmem  # was: import dpctl.memory as dpmem
>>> block = dpmem.MemoryUSMShared(4, queue="host")
>>> block.memset(65)
>>> block.tobytes()
b'AAAA'

Differences from ``dpctl.memory``:

- allocations come from a pool
- memory may be dropped while kernels use it
- copies are checked against the sizes of both sides
- ``copy=True`` always copies
- memory that is read-only for its producer stays read-only
"""

from ._core import (
    Memory,
    MemoryUSMDevice,
    MemoryUSMHost,
    MemoryUSMShared,
    Resource,
    TrackedAllocation,
    USMAllocationError,
    _rebuild_usm_memory,  # noqa: F401  referenced by pickles
    as_usm_memory,
    direct,
    get_resource,
    limit,
    log,
    pool,
    set_resource,
    shareable,
    statistics,
    track,
    trim,
    use_resource,
)

_Memory = Memory  # dpctl's name

__all__ = [
    "Memory",
    "MemoryUSMDevice",
    "MemoryUSMHost",
    "MemoryUSMShared",
    "Resource",
    "TrackedAllocation",
    "USMAllocationError",
    "as_usm_memory",
    "direct",
    "get_resource",
    "limit",
    "log",
    "pool",
    "set_resource",
    "shareable",
    "statistics",
    "track",
    "trim",
    "use_resource",
]

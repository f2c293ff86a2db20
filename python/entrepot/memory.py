"""USM memory as bytes: a drop-in for ``dpctl.memory``, and the resources that all allocations of Entrepot come from.

    import entrepot.memory as dpmem   # was: import dpctl.memory as dpmem

What is different from ``dpctl.memory``: allocations come from a pool; memory may be dropped while kernels use it; copies are
checked against the sizes of both sides; ``copy=True`` always copies; memory that its producer calls read-only stays so.
"""

from ._core import (
    Memory,
    MemoryUSMDevice,
    MemoryUSMHost,
    MemoryUSMShared,
    Resource,
    TrackedAllocation,
    USMAllocationError,
    _rebuild_usm_memory,  # noqa: F401  what pickles name
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

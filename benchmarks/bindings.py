"""Calls of the HIP runtime that do no work, and records, against HIP Python; what importing costs,
in fresh processes.
"""

from __future__ import annotations

from typing import Any

from entrepot import LibraryError, hip

from .harness import Pair, Result, processes_ns

AT_LEAST = 1.0
RECORD_AT_LEAST = 5.0
IMPORT_AT_LEAST = 3.0
RUNS = 15

#: Row → call, evaluated in the module's namespace.
CALLS = [
    ("hipGetErrorString", "hipGetErrorString(error)"),
    ("hipGetErrorName", "hipGetErrorName(error)"),
    ("hipDriverGetVersion", "hipDriverGetVersion()"),
    ("hipGetDeviceCount", "hipGetDeviceCount()"),
]
RECORDS = [
    ("dim3 by name", "dim3(x=32)", RECORD_AT_LEAST),
    ("dim3 by position", "dim3(32, 2, 1)", RECORD_AT_LEAST),
    ("dim3: a field", "point.x", AT_LEAST),
    ("hipDeviceProp_t", "hipDeviceProp_t()", AT_LEAST),
]


def _peer() -> Any:
    """HIP Python's module; None where it, or the library, is not there."""
    try:
        import rocm.bindings.hip
    except ImportError:
        return None
    try:
        hip.hipInit(0)
    except LibraryError:
        return None
    return rocm.bindings.hip


def pairs() -> list[Pair]:
    peer = _peer()
    if peer is None:
        return []
    names = {"ours": hip, "peer": peer}

    def pair(what: str, statement: str, at_least: float) -> Pair:
        sides = []
        for side in ("ours", "peer"):
            module = names[side]
            own = {f"error_{side}": module.hipError_t(1), f"point_{side}": module.dim3(1)}
            names.update(own)
            name, _, rest = statement.partition("(")
            bound = f"{name}_{side}"
            if name != "point.x":
                names[bound] = getattr(module, name)
                sides.append(f"{bound}({rest.replace('error', f'error_{side}')}")
            else:
                sides.append(f"point_{side}.x")
        return Pair(what, sides[0], sides[1], at_least, names, "hip-python")

    calls = [pair(what, statement, AT_LEAST) for what, statement in CALLS]
    return calls + [pair(what, statement, at_least) for what, statement, at_least in RECORDS]


def results() -> list[Result]:
    if _peer() is None:
        return []
    statement = "from entrepot import hip, against from hip import hip"
    return [
        processes_ns(
            Pair(statement, "from entrepot import hip", "from hip import hip", IMPORT_AT_LEAST),
            RUNS,
        )
    ]

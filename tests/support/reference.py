"""The public names of the package, each of which the reference has."""

from __future__ import annotations

import entrepot
import entrepot.adapters
import entrepot.allocators
import entrepot.check
import entrepot.hip.objects
import entrepot.kernel
import entrepot.memory
import entrepot.numba_dpex.core.exceptions
import entrepot.numba_dpex.kernel_api
import entrepot.transport
from entrepot.transport import dask, joblib, mpi, multiprocessing, nixl, ray, ucxx


def public_names() -> list[str]:
    """Full names of all public objects; those of entrepot that another module also has are under
    entrepot alone.
    """
    lists = {
        "entrepot": [
            name for name in entrepot.__all__ if name not in ("__version__", *entrepot._LAZY)
        ],
        "entrepot.ffi": [
            "Library",
            "Record",
            "Field",
            "Handle",
            "FunctionPointer",
            "CType",
            "bits",
            "anonymous",
        ],
        "entrepot.hip": entrepot.hip.objects.__all__,
        # The other names are those of entrepot.kernel, types, or of another page.
        "entrepot.numba_dpex": [
            "Kernel",
            "NdRange",
            "Range",
            "call_kernel",
            "call_kernel_async",
            "device_func",
            "kernel",
        ],
        "entrepot.numba_dpex.kernel_api": [
            name
            for name in entrepot.numba_dpex.kernel_api.__all__
            if name not in entrepot.numba_dpex.__all__
        ],
        "entrepot.numba_dpex.core.exceptions": entrepot.numba_dpex.core.exceptions.__all__,
    }
    for module in (
        entrepot.adapters,
        entrepot.allocators,
        entrepot.check,
        entrepot.kernel,
        entrepot.memory,
        entrepot.transport,
        dask,
        joblib,
        mpi,
        multiprocessing,
        nixl,
        ray,
        ucxx,
    ):
        shared = {
            name
            for name in lists["entrepot"]
            if getattr(module, name, None) is getattr(entrepot, name)
        }
        lists[module.__name__] = [name for name in module.__all__ if name not in shared]
    return [f"{module}.{name}" for module, names in lists.items() for name in names]

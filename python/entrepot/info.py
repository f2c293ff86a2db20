"""``entrepot info``: what a bug report needs, of Entrepot, the machine and the other libraries."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path

from . import __version__, _core, _table, code_cache, device_list

#: Variables that change what Entrepot or a runtime below it does. Other variables may hold secrets.
VARIABLES = re.compile(
    r"ENTREPOT_.*|ONEAPI_.*|SYCL_.*|UR_.*|ZES?_.*|OCL_.*|OPENCL_.*|CUDA_.*|HIP_.*|ROCR_.*|HSA_.*"
    r"|AMD_LOG_LEVEL|GPU_DEVICE_ORDINAL|NVIDIA_(VISIBLE_DEVICES|DRIVER_CAPABILITIES|TF32_OVERRIDE)"
    r"|NUMBA_.*|JAX_PLATFORMS|XLA_.*|PYTORCH_.*|XDG_CACHE_HOME|LD_LIBRARY_PATH|LD_PRELOAD"
    r"|CC|CXX|OMP_.*|PYTHONMALLOC|PYTHON_GIL"
)
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
#: Packages that exchange memory with Entrepot, or that Entrepot's runtimes come from.
PACKAGES = re.compile(
    r"numpy|ml[-_.]dtypes|torch|cupy.*|jax|jaxlib|numba|numba[-_.]cuda|dpctl|dpnp|hip[-_.]python.*"
    r"|cuda[-_.].*|intel[-_].*[-_.]rt|nvidia[-_.].*|apache[-_.]tvm[-_.]ffi|pytorch[-_.]triton"
    r"|mpi4py|nanobind|pybind11|cython|rich|triton|warp[-_.]lang|ray|dask|distributed|ucxx.*|rmm.*",
    re.IGNORECASE,
)


def _python() -> str:
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    gil = "with the GIL" if has_gil else "without the GIL"
    return f"{platform.python_implementation()} {platform.python_version()}, {gil}"


def _system() -> str:
    libc = " ".join(platform.libc_ver()) or "unknown C library"
    return f"{platform.platform()}, {libc}, {os.cpu_count()} processors"


def _cache() -> str:
    place = code_cache.directory()
    return "off" if place is None else f"{place}: {code_cache.contents()}"


def versions() -> list[tuple[str, str]]:
    """Property → value, of Entrepot, Python and the system."""
    return [
        ("entrepot", f"{__version__} in {Path(_core.__file__).parent}"),
        ("built by", _core.__compiler__),
        ("Python", f"{_python()}, {sys.executable}"),
        ("system", _system()),
        ("cache", _cache()),
    ]


def variables() -> list[tuple[str, str]]:
    """The environment's variables that matter here, with their values, but without secrets."""
    return sorted(
        (name, "(hidden)" if SECRET.search(name) else value)
        for name, value in os.environ.items()
        if VARIABLES.fullmatch(name)
    )


def packages() -> list[tuple[str, str]]:
    """The installed packages that matter here, with their versions. None is imported."""
    found: dict[str, str] = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if name and PACKAGES.fullmatch(name):
            found.setdefault(name, distribution.version)  # the first on the path is imported
    return sorted(found.items(), key=lambda item: item[0].lower())


def main() -> int:
    """Prints the tables. Always returns 0."""
    _table.show(["", "value"], versions())
    print()
    device_list.main()
    print()
    _table.show(["variable", "value"], variables() or [("none is set", "")])
    print()
    _table.show(["package", "version"], packages() or [("none is installed", "")])
    return 0

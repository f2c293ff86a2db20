"""``entrepot info``: what a bug report needs, of Entrepot, the machine and the other libraries."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path

from . import __version__, _core, _table, code_cache, device_list

#: Variables that change what Entrepot or a runtime below it does. Others may be private.
VARIABLES = re.compile(
    r"ENTREPOT_.*|ONEAPI_.*|SYCL_.*|UR_.*|ZE_.*|OCL_.*|OPENCL_.*|CUDA_.*|NVIDIA_.*|HIP_.*|ROCR_.*"
    r"|HSA_.*|NUMBA_.*|JAX_PLATFORMS|XLA_.*|PYTORCH_.*|XDG_CACHE_HOME|LD_LIBRARY_PATH|LD_PRELOAD"
    r"|CC|CXX|OMP_.*|PYTHONMALLOC|PYTHON_GIL"
)
#: Packages that exchange memory with Entrepot, or that Entrepot's runtimes come from.
PACKAGES = re.compile(
    r"numpy|ml[-_.]dtypes|torch|cupy.*|jax|jaxlib|numba|numba[-_.]cuda|dpctl|dpnp|hip[-_.]python"
    r"|cuda[-_.].*|intel[-_.](sycl|opencl)[-_.]rt|nvidia[-_.]cuda[-_.].*|apache[-_.]tvm[-_.]ffi"
    r"|mpi4py|nanobind|pybind11|cython|rich|triton|warp[-_.]lang|ray|dask|distributed|ucxx.*|rmm.*",
    re.IGNORECASE,
)


def _python() -> str:
    threads = "without" if not getattr(sys, "_is_gil_enabled", lambda: True)() else "with"
    return f"{platform.python_implementation()} {platform.python_version()}, {threads} the GIL"


def _system() -> str:
    libc = " ".join(platform.libc_ver()) or "unknown C library"
    return f"{platform.platform()}, {libc}, {os.cpu_count()} processors"


def _cache() -> str:
    place = code_cache.directory()
    if place is None:
        return "off"
    files = [path for kind in code_cache.KINDS for path in code_cache.kept(kind)]
    size = sum(path.stat().st_size for path in files if path.exists())
    return f"{place}: {len(files)} entries, {device_list.bytes_text(size)}"


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
    """The environment's variables that matter here, with their values."""
    return sorted(item for item in os.environ.items() if VARIABLES.fullmatch(item[0]))


def packages() -> list[tuple[str, str]]:
    """The installed packages that matter here, with their versions. None is imported."""
    found = {
        name: distribution.version
        for distribution in metadata.distributions()
        if (name := distribution.metadata["Name"]) and PACKAGES.fullmatch(name)
    }
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

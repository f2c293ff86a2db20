"""Makes runtimes from Python packages findable, before the process lists devices for the first
time.

Imported first whenever entrepot is imported, so nothing here may be slow.
"""

from __future__ import annotations

import os
import sys

_CPU_DEVICE = "libintelocl.so"  # of intel-opencl-rt
# NVIDIA's packages in site-packages: CUDA 13 and 12.
_NVIDIA = ("nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib")
_AMD = ("_rocm_sdk_core/lib",)  # of AMD's
_SYSTEM_DRIVERS = "/etc/OpenCL/vendors"


def library_directories() -> list[str]:
    """Directories in which Python packages install shared libraries: ``lib`` of each prefix, and
    some in site-packages.
    """
    found = [os.path.join(sys.prefix, "lib")]
    for entry in sys.path:
        if os.path.basename(entry) in ("site-packages", "dist-packages"):
            # <prefix>/lib/python3.x/site-packages
            found.append(os.path.dirname(os.path.dirname(entry)))
            found.extend(os.path.join(entry, directory) for directory in _NVIDIA + _AMD)
    return list(dict.fromkeys(found))


def _system_has_drivers() -> bool:
    try:
        return any(name.endswith(".icd") for name in os.listdir(_SYSTEM_DRIVERS))
    except OSError:
        return False


def prepare() -> None:
    """Tells the OpenCL loader where the package of the OpenCL CPU device is, which it would not
    find itself.

    The loader reads its variable when the process lists platforms for the first time; later changes
    have no effect. The system's loader, which MPI loads, reads another variable. That is set only
    if no system drivers are registered, because it would hide them. ``ENTREPOT_OPENCL_CPU=0`` turns
    this off. Variables that are already set are not changed.
    """
    if "OCL_ICD_FILENAMES" in os.environ or os.environ.get("ENTREPOT_OPENCL_CPU") == "0":
        return
    for directory in library_directories():
        path = os.path.join(directory, _CPU_DEVICE)
        if os.path.exists(path):
            os.environ["OCL_ICD_FILENAMES"] = path  # also visible to C's getenv
            if not _system_has_drivers():
                os.environ.setdefault("OCL_ICD_VENDORS", path)
            return

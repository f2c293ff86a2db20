"""Makes the runtimes that were installed as Python packages findable, before anyone in the process asks for devices.

Imported first and by everyone who imports entrepot: nothing here may be slow.
"""

from __future__ import annotations

import os
import sys

_CPU_DEVICE = "libintelocl.so"  # of intel-opencl-rt
_NVIDIA = ("nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib")  # of NVIDIA's packages, beside the others: CUDA 13 and 12
_AMD = ("_rocm_sdk_core/lib",)  # of AMD's
_SYSTEM_DRIVERS = "/etc/OpenCL/vendors"


def library_directories() -> list[str]:
    """Where Python packages put shared libraries: ``lib`` of the environment, beside each place of packages, or inside."""
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
    """Name the OpenCL CPU device to the OpenCL loader, which does not look where the package puts it.

    The loader reads the variable when platforms are listed for the first time in the process; later is too late. The system's
    loader, which MPI brings along, reads another one; that is set where no driver is registered that it would hide.
    ``ENTREPOT_OPENCL_CPU=0`` turns this off, and a variable that is set already stays as it is.
    """
    if "OCL_ICD_FILENAMES" in os.environ or os.environ.get("ENTREPOT_OPENCL_CPU") == "0":
        return
    for directory in library_directories():
        path = os.path.join(directory, _CPU_DEVICE)
        if os.path.exists(path):
            os.environ["OCL_ICD_FILENAMES"] = path  # reaches C's getenv as well
            if not _system_has_drivers():
                os.environ.setdefault("OCL_ICD_VENDORS", path)
            return

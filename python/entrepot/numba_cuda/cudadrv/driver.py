"""Classes of numba.cuda's driver module."""

from __future__ import annotations

from ..devices import Device as Device
from ..devices import MemoryInfo as MemoryInfo
from ..errors import CudaAPIError as CudaAPIError
from ..errors import CudaDriverError as CudaDriverError
from ..errors import refusing
from ..streams import Event as Event
from ..streams import Stream as Stream

__getattr__ = refusing(
    "cudadrv.driver",
    otherwise="entrepot.Program builds CUDA C++, PTX and cubins for a device, and "
    "entrepot.set_resource(device, resource) chooses where memory comes from",
)

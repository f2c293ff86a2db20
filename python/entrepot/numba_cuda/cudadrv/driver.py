"""Classes of numba.cuda's driver module."""

from __future__ import annotations

from typing import Any

from ..devices import Device as Device
from ..devices import MemoryInfo as MemoryInfo
from ..errors import CudaAPIError as CudaAPIError
from ..errors import CudaDriverError as CudaDriverError
from ..errors import not_served
from ..streams import Event as Event
from ..streams import Stream as Stream


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise not_served(
        f"cudadrv.driver.{name}", "entrepot.Program builds CUDA C++, PTX and cubins for a device"
    )

"""Classes of numba.cuda's driver module."""

from ..devices import Device as Device
from ..devices import MemoryInfo as MemoryInfo
from ..errors import CudaAPIError as CudaAPIError
from ..errors import CudaDriverError as CudaDriverError
from ..streams import Event as Event
from ..streams import Stream as Stream

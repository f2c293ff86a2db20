"""Classes of numba.cuda's arrays."""

from ..arrays import DeviceNDArray as DeviceNDArray
from ..arrays import MappedNDArray as MappedNDArray
from ..arrays import auto_device as auto_device

ManagedNDArray = MappedNDArray

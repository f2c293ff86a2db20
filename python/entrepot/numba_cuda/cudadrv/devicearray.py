"""Classes of numba.cuda's arrays."""

from ..arrays import DeviceNDArray as DeviceNDArray
from ..arrays import MappedNDArray as MappedNDArray
from ..arrays import auto_device as auto_device
from ..errors import refusing

ManagedNDArray = MappedNDArray
__getattr__ = refusing(
    "cudadrv.devicearray",
    {"is_cuda_ndarray": "cuda.is_cuda_array(obj) says if an object is an array on a device"},
    "DeviceNDArray, MappedNDArray and ManagedNDArray are the classes of arrays",
)

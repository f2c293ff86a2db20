"""Errors of numba.cuda's drivers, which are those of Entrepot."""

from ..errors import CudaDriverError as CudaDriverError
from ..errors import CudaRuntimeError as CudaRuntimeError
from ..errors import CudaSupportError as CudaSupportError
from ..errors import refusing

NvvmError = CudaRuntimeError
NvvmSupportError = CudaSupportError
__getattr__ = refusing(
    "cudadrv.error", otherwise="it is never raised; catch entrepot.DeviceError or KernelError"
)

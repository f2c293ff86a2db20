"""Errors of numba.cuda's drivers, which are those of Entrepot."""

from ..errors import CudaDriverError as CudaDriverError
from ..errors import CudaRuntimeError as CudaRuntimeError
from ..errors import CudaSupportError as CudaSupportError

NvvmError = CudaRuntimeError
NvvmSupportError = CudaSupportError

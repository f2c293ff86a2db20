"""Entrepot's resources as the allocator of other libraries: one pool, and one budget, for a whole
program.

One limit counts for all libraries. PyTorch's allocator is set before PyTorch's first allocation on
a device.

>>> import entrepot as ep
>>> ep.memory.set_resource("cuda:0", ep.memory.limit(8 << 30))  # doctest: +SKIP
>>> ep.allocators.use_in_cupy()  # doctest: +SKIP
>>> ep.allocators.use_in_torch()  # doctest: +SKIP

Blocks come from the device's current resource and are reused in stream order. A block that was
freed on a stream is available on that stream immediately, and on other streams once its work is
complete. To use an array on another stream than the one it was allocated on, make that stream wait,
as with the libraries' own pools. Entrepot holds references to CuPy's streams while it may still
query them for freed blocks. External streams of PyTorch (``torch.cuda.ExternalStream``) must stay
valid.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import _core

__all__ = ["FREE", "MALLOC", "library_path", "use_in_cupy", "use_in_torch"]

#: The library's C functions ``void *(ssize_t size, int device, cudaStream_t stream)`` and
#: ``void (void *, ssize_t, int, cudaStream_t)``, which form an allocator as PyTorch expects it. The
#: first
#: throws a C++ exception if memory is exhausted.
MALLOC = "entrepot_cuda_malloc"
FREE = "entrepot_cuda_free"

_kept: list[Any] = []  # referenced by the libraries until the process exits


def library_path() -> str:
    """Path of the shared library with the functions ``MALLOC`` and ``FREE``.

    Returns
    -------
    str
        The path, for a library that loads an allocator's C functions from a file.

    Examples
    --------
    >>> import ctypes
    >>> library = ctypes.CDLL(ep.allocators.library_path())
    >>> hasattr(library, ep.allocators.MALLOC)
    True
    """
    assert _core.__file__ is not None
    return _core.__file__


def use_in_cupy() -> None:
    """Make CuPy allocate from Entrepot from now on, on every device and thread.

    Memory is allocated for CuPy's current stream. Existing arrays are not affected.
    ``cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)`` undoes it.

    Raises
    ------
    ModuleNotFoundError
        If CuPy is not installed.

    Examples
    --------
    >>> import cupy  # doctest: +SKIP
    >>> ep.allocators.use_in_cupy()  # doctest: +SKIP
    >>> ones = cupy.ones(1000, "float32")  # doctest: +SKIP
    """
    cupy = import_module("cupy")

    current_stream = cupy.cuda.get_current_stream
    # Looked up once: CuPy calls them for every array.
    allocate, deallocate = _core._allocate_on_stream, _core._deallocate_on_stream

    def malloc(size: int, device: int) -> int:
        stream = current_stream()
        return allocate(size, device, stream.ptr, stream)

    def free(address: int, device: int) -> None:
        deallocate(address)

    allocator = cupy.cuda.PythonFunctionAllocator(malloc, free)
    _kept.append(allocator)
    cupy.cuda.set_allocator(allocator.malloc)


def use_in_torch() -> None:
    """Make PyTorch allocate device memory from Entrepot until the process exits.

    Entrepot is its ``CUDAPluggableAllocator``. PyTorch then has no statistics
    (``torch.cuda.memory_allocated``) and no ``Tensor.record_stream``, as with any pluggable
    allocator. If memory is exhausted, PyTorch raises RuntimeError with Entrepot's message.

    Raises
    ------
    RuntimeError
        If PyTorch has allocated on a device before. It accepts another allocator only before its
        first allocation.
    ModuleNotFoundError
        If PyTorch is not installed.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> ep.allocators.use_in_torch()  # doctest: +SKIP
    >>> ones = torch.ones(1000, device="cuda")  # doctest: +SKIP
    """
    torch = import_module("torch")

    allocator = torch.cuda.memory.CUDAPluggableAllocator(library_path(), MALLOC, FREE)
    _kept.append(allocator)
    torch.cuda.memory.change_current_allocator(allocator)

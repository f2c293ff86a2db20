"""Entrepot's resources as the allocator of other libraries: one pool, and one budget, for a whole program.

    import entrepot as ep

    ep.memory.set_resource("cuda:0", ep.memory.limit(8 << 30))  # counts for all of them
    ep.allocators.use_in_cupy()
    ep.allocators.use_in_torch()  # before PyTorch's first allocation on a device

Blocks come from the resource that is current for the device, and are reused in the order of the library's streams: one that
came back on a stream is given again on that stream at once, and on another when its work is done. Who works with an array on
another stream than the one it was made on makes that stream wait, as with the libraries' own pools. Streams of CuPy are kept as
long as blocks of theirs may be asked about; those that PyTorch was given by others (``torch.cuda.ExternalStream``) must last.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import _core

__all__ = ["FREE", "MALLOC", "library_path", "use_in_cupy", "use_in_torch"]

#: The C functions ``void *(ssize_t size, int device, cudaStream_t stream)`` and ``void (void *, ssize_t, int, cudaStream_t)`` of
#: the library, for whoever takes an allocator in PyTorch's form. The first throws a C++ exception where there is no memory.
MALLOC = "entrepot_cuda_malloc"
FREE = "entrepot_cuda_free"

_kept: list[Any] = []  # what the libraries point to, as long as the process lives


def library_path() -> str:
    """The shared library that has the functions ``MALLOC`` and ``FREE``."""
    assert _core.__file__ is not None
    return _core.__file__


def use_in_cupy() -> None:
    """Let CuPy allocate from Entrepot from now on, on every device and thread, for its current stream.

    Arrays that exist stay where they are. ``cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)`` undoes it.
    """
    cupy = import_module("cupy")

    current_stream = cupy.cuda.get_current_stream
    lend, take_back = _core._lend, _core._take_back  # found once: CuPy calls them for every array

    def malloc(size: int, device: int) -> int:
        stream = current_stream()
        return lend(size, device, stream.ptr, stream)

    def free(address: int, device: int) -> None:
        take_back(address)

    allocator = cupy.cuda.PythonFunctionAllocator(malloc, free)
    _kept.append(allocator)
    cupy.cuda.set_allocator(allocator.malloc)


def use_in_torch() -> None:
    """Let PyTorch allocate device memory from Entrepot, as its ``CUDAPluggableAllocator``, for the rest of the process.

    PyTorch takes another allocator only before its first allocation on a device: it raises RuntimeError later. With any
    other allocator than its own it has no statistics (``torch.cuda.memory_allocated``) and no ``Tensor.record_stream``; out of
    memory is a RuntimeError with Entrepot's sentence.
    """
    torch = import_module("torch")

    allocator = torch.cuda.memory.CUDAPluggableAllocator(library_path(), MALLOC, FREE)
    _kept.append(allocator)
    torch.cuda.memory.change_current_allocator(allocator)

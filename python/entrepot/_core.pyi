"""The C++ side of entrepot; import entrepot instead."""

from collections.abc import Callable, Sequence
from typing import Any


import ctypes
from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn, final

from typing_extensions import Buffer, CapsuleType, Self

__version__: str

def _rebuild_usm_memory(cls: type[Memory], data: bytes, usm_type: str, /) -> Memory:
    """Make an object from its pickled state."""
def _allocate_on_stream(nbytes: int, device: int, stream: int, owner: object) -> int: ...
def _deallocate_on_stream(address: int) -> None: ...
def _device_array(address: int, nbytes: int, /) -> DeviceArray:
    """A DeviceArray of memory that a native allocator returned. It does not own the memory."""
def _mark_freed(obj: object, /) -> None:
    """Mark the memory as freed by a native deallocator, so that later use is refused."""

__compiler__: str

class EntrepotError(Exception):
    """The root of all errors that Entrepot defines."""

class ExchangeError(EntrepotError, BufferError):
    """
    Memory cannot be imported or exported as asked: the message names the protocol, the reason and what to do.
    """

class InterfaceError(ExchangeError, ValueError):
    """A SUAI, CAI or NumPy array interface says something malformed or untrue."""

class DeviceError(EntrepotError):
    """A device, driver or queue is absent or reported an error."""

class KernelError(EntrepotError):
    """A program's source, or the launch of a kernel, was refused."""

class USMAllocationError(EntrepotError, MemoryError):
    """Memory could not be allocated: the message gives the bytes asked for and what there was."""

class LibraryError(EntrepotError, ImportError):
    """A shared library, or a function of it, is not there: the message lists what was tried."""

class EntrepotWarning(UserWarning):
    """An operation succeeded in a degraded way: the message says why and what to do."""

class Dtype:
    """
    The type of an element: DLPack's code, bits and lanes. Equal to every other spelling of the same type.
    """

    def __init__(self, spelling: object) -> None:
        """
        Make a Dtype from a name, a typestr, a numpy.dtype, a torch.dtype or a scalar type.

        Raises TypeError for any other object.
        """

    @property
    def name(self) -> str:
        """NumPy's or ml_dtypes' name."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element; types of 4 and 6 bits take a whole byte."""

    @property
    def code(self) -> int:
        """DLPack's type code."""

    @property
    def bits(self) -> int:
        """Bits of a lane."""

    @property
    def lanes(self) -> int:
        """Lanes of a short vector; 1 for ordinary types."""

    @property
    def typestr(self) -> str | None:
        """
        Type string of the array interface; None if the type has no type string.
        """

    @property
    def format(self) -> str | None:
        """Format of the buffer protocol; None if the type has no format."""

    @property
    def dtype(self) -> Any:
        """
        The equivalent numpy.dtype.

        NumPy reads this attribute, so a Dtype can be passed wherever NumPy
        expects a dtype. Raises AttributeError if the library that defines the
        type, NumPy or ml_dtypes, is not installed or lacks it.
        """

    @property
    def __numpy_dtype__(self) -> Any:
        """
        The numpy.dtype, as in ``dtype``. Newer versions of NumPy read this attribute.
        """

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int:
        """
        Hash of the name: a Dtype and its name are equal dictionary keys.

        Other spellings that compare equal, such as numpy.dtype and '<f4', hash
        differently. Convert them with ``Dtype()`` before a lookup.
        """

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __reduce__(self) -> tuple[object, ...]: ...

dtype_names: tuple[str, ...]

class Device:
    """
    A device or sub-device. It compares equal to dpctl's SyclDevice of the same device.

    ``str(device)`` is the selector that finds the device again.

    ``Device(selector)`` is equivalent to ``entrepot.device(selector)``. It also accepts
    dpctl's SyclDevice.
    """

    def __init__(self, device: object) -> None: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __reduce__(self) -> tuple[object, ...]: ...

    @property
    def filter_string(self) -> str:
        """The selector, as ``str(device)``."""

    @property
    def backend(self) -> str:
        """'opencl', 'level_zero', 'cuda', 'hip', 'host' …"""

    @property
    def device_type(self) -> str:
        """'cpu', 'gpu' or 'accelerator'."""

    @property
    def name(self) -> str:
        """The driver's name for the device."""

    @property
    def vendor(self) -> str:
        """The vendor's name."""

    @property
    def driver_version(self) -> str:
        """The driver's version, as the driver reports it."""

    @property
    def global_mem_size(self) -> int:
        """Memory of the device, in bytes."""

    @property
    def local_mem_size(self) -> int:
        """Local memory of a work-group, in bytes."""

    @property
    def max_mem_alloc_size(self) -> int:
        """Size of the largest possible allocation, in bytes."""

    @property
    def max_compute_units(self) -> int:
        """Number of compute units."""

    @property
    def max_work_group_size(self) -> int:
        """Largest number of work-items in a work-group."""

    @property
    def max_work_item_sizes3d(self) -> tuple[int, int, int]:
        """
        Largest number of work-items in a work-group along each of three dimensions.
        """

    @property
    def default_selector_score(self) -> int:
        """
        Score of SYCL's default selector. A device with a negative score is never chosen by default.
        """

    @property
    def is_cpu(self) -> bool:
        """True if the device is a CPU."""

    @property
    def is_gpu(self) -> bool:
        """True if the device is a GPU."""

    @property
    def is_accelerator(self) -> bool:
        """True if the device is an accelerator other than a GPU."""

    @property
    def has_aspect_fp16(self) -> bool:
        """True if kernels can compute in float16."""

    @property
    def has_aspect_fp64(self) -> bool:
        """True if kernels can compute in float64."""

    @property
    def has_aspect_atomic64(self) -> bool:
        """True if kernels can use 64-bit atomics."""

    @property
    def has_aspect_usm_host_allocations(self) -> bool:
        """True if memory of kind 'host' can be allocated."""

    @property
    def has_aspect_usm_device_allocations(self) -> bool:
        """True if memory of kind 'device' can be allocated."""

    @property
    def has_aspect_usm_shared_allocations(self) -> bool:
        """True if memory of kind 'shared' can be allocated."""

    @property
    def has_aspect_usm_system_allocations(self) -> bool:
        """True if kernels can access ordinary host memory."""

    @property
    def has_aspect_queue_profiling(self) -> bool:
        """True if queues can measure time."""

    @property
    def partition_max_sub_devices(self) -> int:
        """Largest number of sub-devices; 0 or 1 if the device cannot be divided."""

    @property
    def partitions(self) -> list[str]:
        """
        Supported arguments of sub_devices(): any of 'equally', 'counts' and 'affinity'.
        """

    @property
    def parent_device(self) -> Device | None:
        """The device that this sub-device is part of; None for a root device."""

    def get_unpartitioned_parent_device(self) -> Device:
        """The root device that contains this sub-device, or the device itself."""

    def get_filter_string(self) -> str:
        """The selector, as ``str(device)``."""

    def can_access(self, peer: Device) -> bool:
        """
        True if kernels on this device can access memory of ``peer``. Copies do not require this.
        """

    def sub_devices(self, *, equally: int | None = None, counts: Sequence[int] | None = None, affinity: str | None = None) -> list[Device]:
        """
        Divide the device in one of three ways.

        - ``equally=n``: sub-devices of ``n`` compute units each.
        - ``counts=[…]``: one sub-device for each entry, with that many compute units.
        - ``affinity=``: one sub-device for each unit of that level: 'numa', 'l4', 'l3',
          'l2', 'l1' or 'next'.

        Repeating a division returns the same devices.

        Raises DeviceError if the device does not support the division, ValueError for
        compute units that it does not have. Raises TypeError unless exactly one way is
        given.
        """

    def create_sub_devices(self, partition: object) -> list[Device]:
        """
        Divide the device like ``sub_devices``, with dpctl's argument.

        An int divides equally, a sequence gives counts, and a string names an affinity domain.
        """

    @property
    def context(self) -> Context:
        """
        The default context of the platform.

        A sub-device has a default context of its own if the SYCL runtime requires it.
        """

    @property
    def sycl_context(self) -> Context:
        """The default context, as ``context``."""

    @property
    def sycl_device(self) -> Device:
        """The device itself."""

    @property
    def queue(self) -> Queue:
        """
        The default queue: in order, in the default context. Every access returns the same queue.
        """

    def addressof_ref(self) -> int:
        """
        Address of the sycl::device, valid until the process exits.

        Raises DeviceError for devices of other backends.
        """

class Context:
    """
    A driver context, which memory is bound to.

    Contexts of the same native context are equal, dpctl's included.

    ``Context([device, …])`` makes a new context of these devices. Other arguments are
    wrapped: dpctl's SyclContext, a capsule 'SyclContextRef', or an object with
    ``_get_capsule()``. A queue gives its context, a device its default context.
    """

    def __init__(self, obj: object) -> None: ...

    def __repr__(self) -> str: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    @property
    def devices(self) -> list[Device]:
        """The devices in the context."""

    def get_devices(self) -> list[Device]:
        """The devices in the context, as ``devices``."""

    @property
    def device_count(self) -> int:
        """Number of devices in the context."""

    @property
    def is_default(self) -> bool:
        """True if this is the default context of its platform."""

    @property
    def sycl_context(self) -> Context:
        """The context itself."""

    def addressof_ref(self) -> int:
        """
        Address of the sycl::context, valid while this context exists.

        Raises DeviceError for contexts of other backends.
        """

@final
class Event:
    """
    A position in a queue. The event is done when all work before it is done.

    Launches, copies and ``Queue.record()`` return an Event: ``event = kernel[1024](array)``,
    then ``event.wait()``.
    """

    def wait(self) -> None:
        """
        Block until the event is done.

        Raises DeviceError if the work before the event failed or is captured into a graph.
        """
    @property
    def done(self) -> bool:
        """
        True if the event is done; does not block.

        Raises DeviceError if the event marks work that is captured into a graph.
        """
    def seconds_until(self, later: Event) -> float:
        """
        Seconds from this event to ``later``.

        Raises DeviceError unless both events are done and come from profiling queues of one
        backend.
        """

class Queue:
    """
    A queue of work for a device.

    Within ``with queue:``, it is the current queue: calls that name no device use it.

    ``Queue(device, *, context=None, profiling=False)`` makes a new in-order queue.
    Without ``device`` it is on the current device, without ``context`` in the device's
    default context.

    ``Queue(obj)`` wraps an existing queue, which may be out of order: dpctl's
    SyclQueue, a capsule 'SyclQueueRef', or an object with ``_get_capsule()``. Wrapping
    a capsule consumes it. A CUDA stream, an object with ``__cuda_stream__()``, can also
    be wrapped; the Queue holds a reference to it, which the garbage collector does not see.

    Raises DeviceError if the device cannot measure time, ValueError for a consumed
    capsule.
    """

    def __init__(self, device: object | None = None, *, context: object | None = None, profiling: bool = False) -> None: ...

    def __repr__(self) -> str: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __enter__(self) -> Queue: ...

    def __exit__(self, exc_type: object, exc_value: object, traceback: object, /) -> None: ...

    def wait(self) -> None:
        """
        Block until all work of the queue is done.

        Raises DeviceError if earlier work failed, or while the queue is being captured
        into a graph.
        """

    def record(self) -> Event:
        """
        Record an Event that is done when all work that the queue holds now is done.

        Raises DeviceError if the driver cannot record an event, and in a process that was
        forked from one that used the device.
        """

    @property
    def device(self) -> Device:
        """The device that runs the work."""

    @property
    def context(self) -> Context:
        """The context of the memory that the work uses."""

    @property
    def sycl_device(self) -> Device:
        """The device, as ``device``."""

    @property
    def sycl_context(self) -> Context:
        """The context, as ``context``."""

    def get_sycl_device(self) -> Device:
        """The device, as ``device``."""

    def get_sycl_context(self) -> Context:
        """The context, as ``context``."""

    @property
    def backend(self) -> str:
        """The device's backend: 'opencl', 'host' …"""

    @property
    def is_idle(self) -> bool:
        """
        True if all work is done; does not block.

        Raises DeviceError while the queue is being captured into a graph.
        """

    @property
    def is_captured(self) -> bool:
        """
        True if the stream is being captured into a graph.

        Work that is submitted during the capture runs when the graph is launched.
        """

    @property
    def is_in_order(self) -> bool:
        """True if work runs in the order of submission."""

    @property
    def has_enable_profiling(self) -> bool:
        """True if the queue's events record times."""

    def addressof_ref(self) -> int:
        """
        Address of the sycl::queue, valid while this queue exists.

        Raises DeviceError for queues of other backends.
        """

    def __cuda_stream__(self) -> tuple[int, int]:
        """
        The version of the protocol, 0, and the CUstream, which is valid while this queue exists.

        Raises DeviceError for queues of other backends.
        """

    def wait_for(self, other: object, /) -> None:
        """
        Make later work of the queue wait for ``other``.

        ``other`` is an Event, dpctl's SyclEvent, or a Queue, which stands for all work that it
        holds now. The call blocks only if ``other`` belongs to another backend, or is outside the
        graph capture that this queue is in. Waiting for captured work adds this queue to the
        capture.

        Raises DeviceError if ``other`` belongs to another capture, or is an event of a capture that
        has ended.
        """

class Program:
    """
    A program that was built for a device.

    ``dialect`` is 'opencl-c', 'sycl', 'spirv', 'cuda', 'ptx', 'cubin', 'hip', 'hsaco'
    or 'c++' (for the host). None is the first dialect that the device can build.

    ``context`` is the context of the queues that will run the kernels; None is the
    device's default context.

    Raises KernelError with the build log, DeviceError if the device cannot build the
    dialect.
    """

    def __init__(self, source: object | None, device: object | None = None, *, dialect: str | None = None, options: str = '', context: object | None = None) -> None: ...

    def __repr__(self) -> str: ...

    def kernel(self, name: str) -> Kernel:
        """
        The kernel with that name. Raises KernelError if the program has no such kernel.
        """

    @property
    def log(self) -> str:
        """The compiler's output."""

    @property
    def device(self) -> Device:
        """The device that the program was built for."""

    @property
    def context(self) -> Context:
        """The context that the program was built in."""

    @property
    def dialect(self) -> str:
        """The dialect of the source."""

class Kernel:
    """A kernel of a program. It keeps the program alive."""

    def __repr__(self) -> str: ...

    @property
    def name(self) -> str:
        """The kernel's name in the source."""

    @property
    def program(self) -> Program:
        """The program that contains the kernel."""

    @property
    def num_arguments(self) -> int | None:
        """Number of arguments; None if unknown."""

    @property
    def work_group_size(self) -> int:
        """Largest number of work-items in a work-group."""

    @property
    def preferred_work_group_size_multiple(self) -> int:
        """
        Work-group sizes that are multiples of this number run best; 0 if unknown.
        """

    @property
    def local_mem_size(self) -> int:
        """Local memory that the kernel itself declares, in bytes."""

    @property
    def private_mem_size(self) -> int:
        """Private memory of a work-item, in bytes; 0 if unknown."""

    @property
    def num_registers(self) -> int:
        """Registers of a work-item; 0 if unknown."""

    def __getitem__(self, range: object) -> Launcher:
        """
        The kernel with a range: kernel[global, local].

        ``global`` is the number of work-items and ``local`` the number of work-items in
        a work-group. Each is an int or a tuple of 1 to 3 ints, of which the last
        dimension is the fastest. Without ``local`` the device chooses. kernel[n] means
        kernel[n, None].
        """

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        """
        Raises TypeError: a kernel is launched with its range, kernel[global, local](…).
        """

def devices() -> list[Device]:
    """
    All root devices of all available backends, the host last.

    The first call loads every backend.
    """

def device(selector: object | None = None) -> Device:
    """
    The device that a selector names.

    A selector is 'opencl:cpu:0', 'gpu', 'level_zero', '0', 'cuda:0', 'hip:1', 'host',
    'default', or 'opencl:cpu:0/1' for a sub-device. If several devices match, the one
    with the highest score is chosen, then the one with the lowest number. A Device and
    dpctl's SyclDevice are also accepted; None is the current device.

    Raises ValueError for a malformed selector, DeviceError if no device matches. The
    message lists the available devices, and why other backends are absent.
    """

def device_context(device: object) -> Queue:
    """
    A queue for a ``with`` statement: the default queue of a device or selector, or the
    given queue.

    ``with device_context('gpu') as queue:`` makes the queue current in this thread, so
    that calls that name no device use it. For a dpctl.SyclQueue, ``as`` binds that same
    object.

    Raises DeviceError if there is no such device, ValueError for a malformed selector,
    TypeError for an object that is neither a device nor a queue.
    """

def backends() -> list[tuple[str, bool, str]]:
    """
    All backends that this version knows.

    A row is the backend's name, True if it is available, and what was loaded or why it is
    absent.
    """

class Scalar:
    """A number with a stated type, for use as a kernel argument."""

    def __init__(self, value: object, dtype: object) -> None:
        """Raises OverflowError if the value does not fit the dtype."""

    @property
    def dtype(self) -> Dtype:
        """The type of the value."""

    @property
    def value(self) -> bool | int | float | complex:
        """The number, as the dtype stores it."""

    def __repr__(self) -> str: ...

@final
class Array:
    """
    A shape and a type for memory, which may belong to any library.

    Arrays are made by asarray, from_dlpack, from_address, empty, zeros and full. An Array
    computes nothing. It slices, transposes and reshapes without a copy, and exports its memory
    through every protocol. The Array is immutable, its elements are not. It keeps the owner of
    the memory alive.

    ``==`` of two Arrays is ``is``. Comparing with numbers, None or any other object that does
    not define the comparison raises TypeError: numpy.asarray(array) == 3 compares elements.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each axis, in elements."""
    @property
    def strides(self) -> tuple[int, ...]:
        """Distance between neighbors along each axis, in elements (not bytes)."""
    @property
    def dtype(self) -> Dtype:
        """The type of an element, an entrepot.Dtype."""
    @property
    def ndim(self) -> int:
        """Number of axes, 0 to 64."""
    @property
    def size(self) -> int:
        """Number of elements."""
    @property
    def nbytes(self) -> int:
        """Bytes of all elements, each counted once."""
    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
    @property
    def device(self) -> Device:
        """The device that the memory is on."""
    @property
    def context(self) -> Context:
        """The context that the memory is bound to."""
    @property
    def queue(self) -> Queue:
        """
        The queue of operations on the array that name no other queue.

        For imported memory it is the current stream of the memory's library, or the stream that the
        owner of the memory names. The Queue keeps CuPy's stream object alive, or this Array if the
        owner names the stream. PyTorch never destroys its streams. Streams of other libraries, and
        those that CuPy's ExternalStream wraps, are not kept alive: they must outlive the Queue.
        """
    @property
    def kind(self) -> str:
        """'host', 'device' or 'shared': where the memory can be accessed."""
    @property
    def read_only(self) -> bool:
        """True if the elements cannot be changed through this array."""
    @property
    def data_ptr(self) -> int:
        """Address of the first element, an int."""
    @property
    def owner(self) -> object:
        """The Python object that the memory was borrowed from, or None."""
    @property
    def T(self) -> Array:
        """The array with its axes reversed, without a copy."""
    def transpose(self, *axes: int | Sequence[int]) -> Array:
        """
        A view with permuted axes. Without arguments, the axes are reversed.

        Raises ValueError if the arguments are not a permutation of the axes.
        """
    def reshape(self, *shape: int | Sequence[int]) -> Array:
        """
        A view of the elements in another shape; one extent may be -1.

        Raises ValueError if the sizes differ, or if the shape requires a copy.
        """
    def broadcast_to(self, *shape: int | Sequence[int]) -> Array:
        """
        A read-only view in which axes of extent 1 are stretched to the shape.

        Raises ValueError if the array does not broadcast to the shape.
        """
    def view(self, dtype: object, /) -> Array:
        """
        A view of the bytes as elements of another dtype.

        Raises ValueError if the last axis or the alignment does not allow it.
        """
    def to(self, device: object | None = None, *, kind: str | None = None, queue: object | None = None) -> Array:
        """
        A C-contiguous copy on another device or in another kind of memory.

        Without ``device``, the copy is on the same device. It is ordered with other work. The call
        waits for the copy only if the host can access this array's memory and the memory is
        borrowed or exported, such as NumPy's. That memory may be changed when the call returns.

        Raises USMAllocationError if the memory cannot be allocated.
        """
    def host(self) -> Array:
        """
        An Array of the same memory on the host device, without a copy.

        Raises ExchangeError for memory that the host cannot access.
        """
    def numpy(self) -> Any:
        """
        A numpy.ndarray of the same memory. Waits for work that writes the memory.

        Types such as bfloat16 and the narrower floats require ml_dtypes. Raises ExchangeError for
        memory that the host cannot access.
        """
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """
        NumPy's conversion protocol: ``numpy()``, converted to ``dtype`` or copied if requested.

        Raises ExchangeError for memory that the host cannot access.
        """
    def item(self) -> bool | int | float | complex:
        """
        The only element as a bool, int, float or complex.

        The element is copied to the host if the host cannot access the memory. Raises ValueError
        unless the array has exactly one element, ExchangeError for a type without a Python number.
        """
    def __complex__(self) -> complex:
        """``complex(a.item())``."""
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Any: ...
    def __hash__(self) -> int: ...
    def copy_to_host(self) -> Array:
        """
        A copy in ordinary host memory, complete on return.

        Raises DeviceError if earlier work on the memory failed, USMAllocationError if the copy
        cannot be allocated.
        """
    def copy_from_host(self, obj: object, /) -> None:
        """
        Copy the elements of any object that asarray accepts, complete on return.

        Raises ValueError under the same conditions as entrepot.copy.
        """
    def share(self, *, fabric: bool = False) -> ArrayHandle:
        """
        An ArrayHandle with which another process opens the array, without a copy.

        The memory must come from ``entrepot.memory.shareable()``, or from cudaMalloc in
        another library. The call waits for submitted work that writes the memory. The two
        processes must order later work between them.

        Keep the array or the handle until the other process has opened it. After that, each
        process keeps the memory alive by itself. Memory of cudaMalloc must stay allocated
        while the other process uses it.

        Pass ``fabric=True`` for processes on other machines, if the device supports fabric
        handles.

        Raises ExchangeError for memory that cannot be shared; the message names the
        resource whose memory can.
        """
    def __dlpack__(
        self,
        *,
        stream: object | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType:
        """
        A DLPack capsule of the same memory (DLPack 1.3, array API).

        Raises BufferError (ExchangeError) with the reason if the memory cannot be exported without
        a copy.
        """
    def __dlpack_device__(self) -> tuple[int, int]:
        """Device type and device id, in DLPack's numbering."""
    __dlpack_c_exchange_api__: ClassVar[CapsuleType]
    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        """
        The SYCL USM Array Interface, version 1.

        Raises AttributeError for memory that is not SYCL memory.
        """
    @property
    def __usm_ndarray__(self) -> Any:
        """An array of dpnp with the same memory, so that dpnp.asarray does not copy."""
    @property
    def sycl_queue(self) -> Any:
        """The dpctl.SyclQueue of __usm_ndarray__."""
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """
        The CUDA array interface, version 3.

        Raises AttributeError for memory that is neither CUDA nor HIP memory.
        """
    @property
    def __array_interface__(self) -> dict[str, Any]:
        """
        NumPy's array interface, version 3.

        Raises AttributeError for memory that the host cannot access.
        """
    @property
    def __array_struct__(self) -> CapsuleType:
        """
        NumPy's array interface as a C structure in a capsule.

        Raises AttributeError for memory that the host cannot access.
        """
    def __getitem__(self, index: object, /) -> Array: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, buffer: memoryview, /) -> None: ...

def asarray(
    obj: object,
    /,
    *,
    dtype: object | None = None,
    copy: bool | None = False,
    device: object | None = None,
    kind: str | None = None,
    queue: object | None = None,
    protocol: str | None = None,
) -> Array:
    """
    View the memory of ``obj`` as an Array, without a copy, whichever library it belongs
    to.

    These protocols are tried in order, or only the one that ``protocol`` names:

    - 'entrepot.memory' and 'entrepot.adapters': objects of this package
    - 'numpy' and 'cupy': the fields of their array objects
    - 'c_exchange_api': DLPack's C exchange API
    - 'suai': ``__sycl_usm_array_interface__``
    - 'dlpack': ``__dlpack__``, any version
    - 'cai': ``__cuda_array_interface__``
    - 'buffer': the buffer protocol
    - 'array_struct' and 'array_interface': NumPy's array interface

    With ``device`` or ``kind``, the memory must already be there, unless ``copy=True``,
    which copies like ``Array.to``. Host memory that was copied may be changed when the
    call returns. The memory must have the type ``dtype``; elements are never converted.
    The array's default queue is ``queue``.

    Raises ExchangeError if the memory cannot be viewed; the message names the protocol
    and the reason. Raises TypeError for objects that hold no memory, ValueError for an
    unknown ``protocol``.
    """

def from_dlpack(
    x: object,
    /,
    *,
    dtype: object | None = None,
    copy: bool | None = False,
    device: object | None = None,
    kind: str | None = None,
    queue: object | None = None,
) -> Array:
    """
    View the memory of ``x`` without a copy (array API, DLPack 1.3).

    ``x`` has a method ``__dlpack__`` or is a DLPack capsule. The keywords are those of
    ``asarray``.

    Raises ExchangeError (a BufferError) with the reason if the memory cannot be viewed.
    """

def from_address(
    address: int,
    shape: int | Sequence[int],
    dtype: object,
    *,
    strides: int | Sequence[int] | None = None,
    device: object | None = None,
    queue: object | None = None,
    read_only: bool = False,
    owner: object | None = None,
    deleter: Callable[[int], object] | CapsuleType | int | None = None,
) -> Array:
    """
    An Array of memory that another library allocated, given by its address, without a
    copy.

    ``address`` is the address of the first element, an int. ``shape`` is an int or a
    sequence of ints. The ``strides`` have as many entries, in elements. No element may
    lie below the address.

    The drivers are asked for the device and the kind of the memory. Memory that no
    driver knows is ordinary host memory. With ``device`` or ``queue``, the memory must
    be on that device, in the queue's context. The device ``'host'`` accepts any memory
    that the host can access. Work that ``queue`` holds now counts as work on the
    memory. The array's default queue is ``queue``.

    The memory is released, on any thread, when its last array, view and export is gone
    and submitted work on it is done. Until then, ``owner``, any object, is kept alive.

    A ``deleter`` is called once with the address when the memory is released. It is one
    of these:

    - a Python callable. Exceptions go to ``sys.unraisablehook``.
    - a C function ``void (*)(void *)`` of ctypes, or its address, an int. It is called
      without the GIL.
    - a PyCapsule, which is kept alive like an owner, because its destructor is the
      deleter.

    Without ``owner`` and ``deleter``, the memory must outlive the array.

    Raises TypeError for an address that is not an int, and for other deleters. Raises
    ValueError for elements at a null or misaligned address, strides that lead below the
    address, a negative extent, or both ``owner`` and ``deleter``. Raises OverflowError
    for sizes and addresses beyond 64 bits. Raises ExchangeError if the driver knows the
    memory as another device's, as smaller than the elements need, or not at all. The
    deleter is not called if from_address raises: the caller still owns the memory.
    """

def empty(
    shape: int | Sequence[int],
    dtype: object,
    *,
    device: object | None = None,
    kind: str | None = None,
    queue: object | None = None,
) -> Array:
    """
    An Array of new, uninitialized memory, C-contiguous.

    ``device`` is a Device, a selector or a dpctl device. Without it, memory is
    allocated on the device of the innermost ``device_context``, then of
    ``ENTREPOT_DEVICE``, then on the host. Valid values of ``kind`` are 'host', 'device'
    (the default for devices) and 'shared'.

    Raises USMAllocationError if the memory cannot be allocated, DeviceError if the
    device does not support the kind.
    """

def zeros(
    shape: int | Sequence[int],
    dtype: object,
    *,
    device: object | None = None,
    kind: str | None = None,
    queue: object | None = None,
) -> Array:
    """
    An Array of new memory in which all bits are zero.

    ``device`` is a Device, a selector or a dpctl device. Without it, memory is
    allocated on the device of the innermost ``device_context``, then of
    ``ENTREPOT_DEVICE``, then on the host. Valid values of ``kind`` are 'host', 'device'
    (the default for devices) and 'shared'.

    Raises USMAllocationError if the memory cannot be allocated, DeviceError if the
    device does not support the kind.
    """

def full(
    shape: int | Sequence[int],
    value: complex | Scalar,
    dtype: object,
    *,
    device: object | None = None,
    kind: str | None = None,
    queue: object | None = None,
) -> Array:
    """
    An Array of new memory in which every element is ``value``.

    ``device`` is a Device, a selector or a dpctl device. Without it, memory is
    allocated on the device of the innermost ``device_context``, then of
    ``ENTREPOT_DEVICE``, then on the host. Valid values of ``kind`` are 'host', 'device'
    (the default for devices) and 'shared'.

    Raises USMAllocationError if the memory cannot be allocated, DeviceError if the
    device does not support the kind.
    """

def fill(array: object, value: object, *, queue: object | None = None) -> Event:
    """
    Set every element of ``array`` to ``value``.

    Returns an Event that is done when all elements are set. If ``array`` is not an
    Array and the host can access its memory, such as a NumPy array, the call waits.

    Raises ValueError for a read-only array, OverflowError for a value that does not fit
    the dtype.
    """

def copy(dst: object, src: object, queue: object | None = None) -> Event:
    """
    Copy ``src`` into ``dst``, which may be on another device.

    Both are Arrays or other objects that asarray accepts; ``src`` is broadcast. Returns
    an Event that is done when the copy is complete. The memory stays alive until then.
    If an argument is not an Array and the host can access its memory, such as a NumPy
    array, the call waits.

    Raises ValueError for a read-only destination, different dtypes, shapes that do not
    broadcast, or overlapping memory.
    """

class ArrayHandle:
    """
    A picklable handle of some hundred bytes, with which another process opens an array.

    Handles are made by ``Array.share`` and ``Memory.share``. In the process that shared the
    array, the handle keeps the memory alive.
    """

    def __init__(self, data: bytes) -> None:
        """
        Make a handle from the bytes that bytes(handle) returned.

        Raises ValueError for other bytes, and for a handle of another version.
        """

    def open(self) -> Array:
        """
        The shared array in this process.

        It is the same memory at another address, and read-only if the array was. May be
        called any number of times, in any process of the same user, while the process
        that shared the array holds the memory.

        Raises ExchangeError if that process has ended or released the memory, ValueError
        for a handle that contradicts the memory. Raises DeviceError if the device is not
        available in this process.
        """

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each axis, in elements."""

    @property
    def dtype(self) -> Dtype:
        """The type of an element."""

    @property
    def kind(self) -> str:
        """'host', 'device' or 'shared'."""

    @property
    def read_only(self) -> bool:
        """True if the array cannot be written."""

    @property
    def process(self) -> int:
        """Process ID of the process that shared the array."""

    def __bytes__(self) -> bytes:
        """The handle as bytes, which can be sent by any means."""

    def __reduce__(self) -> tuple[object, ...]: ...

    def __repr__(self) -> str: ...

class LocalMemory:
    """
    A kernel argument: memory that a work-group shares, whose size is set at launch.
    """

    def __init__(self, shape: object, dtype: object = 'uint8') -> None:
        """
        Each work-group gets memory for ``shape`` elements of ``dtype``.

        A bare int without ``dtype`` is a number of bytes.
        """

    @property
    def nbytes(self) -> int:
        """Bytes for each work-group."""

@final
class Launcher:
    """
    A kernel with its nd-range. Calling it with the kernel's arguments submits the kernel.

    The call returns an Event. Arguments are Arrays, other objects that asarray accepts,
    LocalMemory, and scalars that state their type (Scalar, NumPy's, ctypes'). The call waits if
    an argument is not an Array and the host can access its memory, such as a NumPy array. The
    keywords are:

    - ``queue``: the queue to use; by default the queue of the first array on a device (compute
      follows data)
    - ``cooperative``: True if all groups run at once and may wait for each other (CUDA)
    - ``cluster``: the number of groups in a cluster, an int or a tuple like the range. The
      groups of a cluster share their local memory (CUDA).

    Raises KernelError if the range or the arguments contradict the kernel. Raises TypeError for
    a scalar without a type, DeviceError if the device does not support the keywords.
    """

    def __call__(self, *args: object, queue: object | None = None, cooperative: bool = False,
                 cluster: int | tuple[int, ...] | None = None) -> Event: ...

@final
class KernelLauncher:
    """
    A kernel with its range. Calling it with the kernel's arguments submits the kernel.

    The call returns an Event. Arguments are Arrays, other objects that asarray accepts, numbers
    and LocalAccessors. The keywords are:

    - ``queue``: the queue to use; by default the queue of the arrays (compute follows data)
    - ``depends_on``: an Event, or several, that the kernel waits for
    - ``wait``: True if the call waits for the kernel. By default, it waits if an argument is
      not an Array and the host can access its memory, such as a NumPy array.

    Raises KernelError if the kernel, its range or its arguments are not supported, TypeError
    for arguments of other types.
    """

    def __call__(self, *args: object, queue: object = None, depends_on: object = None, wait: bool | None = None) -> Event: ...

class PythonKernel:
    """
    A Python function that is compiled for the arguments of its launches:
    ``kernel[global, local](arguments…)``.
    """

    def __new__(
        cls,
        function: object,
        *,
        signatures: tuple[tuple[tuple[str, Dtype, int, bool], ...], ...] | None = None,
        debug: bool = False,
        fast_math: bool = False,
        dialect: str | None = None,
    ) -> Self: ...
    @property
    def function(self) -> Any:
        """The Python function, as it was written."""
    @property
    def specializations(self) -> int:
        """Number of times that the kernel has been compiled in this process."""
    def __getitem__(self, index: object, /) -> KernelLauncher: ...
    def _translate(
        self,
        dialect: str | None = None,
        signature: object = None,
        device: object = None,
        dimensions: int | None = None,
        *,
        any_local: bool = False,
    ) -> dict[str, Any]:
        """
        The source of the kernel and its parameters, without building it.

        The source is for the local size of the last launch, or for any with ``any_local``.
        """
    def _specialize(self, device: object = None, dimensions: int | None = None) -> None:
        """Compile the kernel for its signatures."""
    def _range(self, index: object, /) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The global and the local range of an index in brackets."""
    def _arguments(self, name: str, parameters: tuple[str, ...], arguments: tuple[object, ...], /) -> list[Any]:
        """The arguments of a launch, converted like those of the kernel."""
    def _type_of(self, variable: str, signature: object, device: object, /) -> Dtype:
        """The type of a variable of the kernel, compiled for the signature and the device."""
    def _types(self, arguments: tuple[object, ...], /) -> list[tuple[Any, dict[str, Any], dict[Any, Any]]]:
        """The types of the numbers in the kernel and its device functions for those arguments."""

kernel_function_names: tuple[str, ...]

class LocalAccessor:
    """
    A kernel argument: an array in local memory, whose shape is set at launch.
    """

    def __init__(self, shape: object, dtype: object) -> None:
        """
        Each work-group gets an array of this shape and dtype.

        ``shape`` is an int or a tuple of up to 3 ints.
        """

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, in elements."""

    @property
    def dtype(self) -> Dtype:
        """The type of an element."""

def cache_directory() -> bytes:
    """
    The directory of the cache of compiled code, from the current environment; empty if off.
    """

def cache_obstacle(kind: str) -> bytes:
    """
    The reason why the cache folder for a kind of code is not writable; empty if it is writable.
    """

c_api: CapsuleType

class Resource:
    """
    A source of memory. Most resources wrap another resource, their upstream.
    """

    @property
    def name(self) -> str:
        """The kind of resource, such as 'pool'."""

    @property
    def upstream(self) -> Resource | None:
        """
        The resource that this one wraps; None for a resource that allocates from the driver.
        """

    def trim(self) -> int:
        """
        Return unused memory of this resource and its upstream to the driver.

        Returns the number of bytes.
        """

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

class direct(Resource):
    """
    A resource that allocates every block from the driver.

    A block is freed once the work that uses it is done.
    """

    def __init__(self) -> None: ...

class pool(Resource):
    """
    A resource that caches freed blocks and reuses them, mostly without a lock or a
    driver call.

    Blocks come from ``upstream``; the default is the driver. The pool caches at most
    ``max_cached`` unused bytes, as far as the blocks in use allow.
    """

    def __init__(self, upstream: Resource | None = None, *, max_cached: int | None = None) -> None: ...

    @property
    def reserved_bytes(self) -> int:
        """Bytes that were allocated from the upstream and not returned."""

    @property
    def used_bytes(self) -> int:
        """Bytes of blocks in use, as rounded by the pool."""

    @property
    def cached_bytes(self) -> int:
        """Unused bytes, available for reuse."""

    @property
    def waiting_bytes(self) -> int:
        """Bytes of freed blocks that a device may still be using."""

class shareable(Resource):
    """
    A resource of memory that other processes can open, by ``Array.share``.

    Each block is a separate allocation in whole pages of the device. On the host, it is
    a file without a name. On CUDA, it is device memory with a file descriptor of the
    driver. A block is freed when the last process that holds it releases it or dies.

    Allocating for a device without such memory raises DeviceError.
    """

    def __init__(self) -> None: ...

class limit(Resource):
    """
    A resource that limits the bytes in use of its upstream (the default pool).

    Allocations beyond ``limit`` bytes raise USMAllocationError.
    """

    def __init__(self, limit: int, upstream: Resource | None = None) -> None: ...

    @property
    def limit(self) -> int:
        """Largest number of bytes that may be in use."""

    @property
    def used_bytes(self) -> int:
        """Bytes in use, as requested."""

class log(Resource):
    """
    A resource that logs each allocation and deallocation of its
    upstream (the default pool).

    The allocating thread calls ``sink`` with each line. Without
    ``sink``, lines go to standard error.
    """

    def __init__(self, upstream: Resource | None = None, *, sink: Callable[[str], object] | None = None) -> None: ...

class TrackedAllocation:
    """An allocation that has not been freed."""

    @property
    def address(self) -> int:
        """Address of the memory."""

    @property
    def nbytes(self) -> int:
        """Size in bytes, as requested."""

    @property
    def kind(self) -> str:
        """'host', 'device' or 'shared'."""

    @property
    def device(self) -> Device:
        """The device of the allocation."""

    @property
    def stack(self) -> str:
        """Python stack of the allocation, the most recent call last."""

    def __repr__(self) -> str: ...

class track(Resource):
    """
    A resource that records the Python stack of each allocation of its upstream (the
    default pool).

    Stacks have at most ``frames`` frames. Allocations that are live at interpreter
    shutdown are reported on standard error.
    """

    def __init__(self, upstream: Resource | None = None, *, frames: int = 16) -> None: ...

    @property
    def live(self) -> list[TrackedAllocation]:
        """The allocations that have not been freed, in the order of allocation."""

    def report(self) -> str:
        """
        A text that lists the live allocations and their stacks; '' if there are no live
        allocations.
        """

class statistics(Resource):
    """
    A resource that counts the allocations of its upstream (the default pool).

    Bytes are counted as requested.
    """

    def __init__(self, upstream: Resource | None = None) -> None: ...

    @property
    def current_bytes(self) -> int:
        """Bytes in use."""

    @property
    def peak_bytes(self) -> int:
        """Largest number of bytes in use at one time."""

    @property
    def total_bytes(self) -> int:
        """Bytes of all allocations so far."""

    @property
    def current_count(self) -> int:
        """Number of allocations in use."""

    @property
    def peak_count(self) -> int:
        """Largest number of allocations in use at one time."""

    @property
    def total_count(self) -> int:
        """Number of all allocations so far."""

    @property
    def failed_count(self) -> int:
        """
        Number of allocations that the upstream refused. Retries are not counted.
        """

    def reset_peaks(self) -> None:
        """Reset the peaks to the current values."""

def set_resource(device: object, resource: Resource | None) -> None:
    """
    Set the resource of later allocations for ``device``, on every thread.

    None restores the default pool.
    """

def get_resource(device: object) -> Resource:
    """
    The resource that an allocation for ``device`` would use now.

    It is the thread's innermost ``use_resource``, else the resource of
    ``set_resource``, else the default pool.
    """

def trim() -> int:
    """
    Return unused memory of every pool to the driver. Returns the number of bytes.
    """

class use_resource:
    """
    A context manager that sets the resource of the thread's allocations, for every device.

    ``with use_resource(resource):`` may be nested.
    """

    def __init__(self, resource: Resource) -> None: ...

    def __enter__(self) -> Resource: ...

    def __exit__(self, exc_type: object, exc_value: object, traceback: object, /) -> None: ...

class Memory:
    """
    Bytes of USM memory, allocated or borrowed.

    Memory is the base class of MemoryUSMHost, MemoryUSMShared and MemoryUSMDevice and is not
    instantiated itself.

    - From a number of bytes, they allocate memory on the queue's device (default: SYCL's
      default device). ``alignment`` is a power of two.
    - From an object with __sycl_usm_array_interface__, or an Array, they view its memory
      without a copy, from the lowest byte to the highest. The memory must be of the same kind.
      With ``copy=True`` the bytes are copied to new memory.

    Raises ValueError (InterfaceError) if the object's memory cannot be viewed,
    USMAllocationError if the memory cannot be allocated. Raises DeviceError if the device does
    not support the kind.
    """

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
    @property
    def size(self) -> int:
        """Number of bytes."""
    @property
    def _pointer(self) -> int:
        """Address of the first byte, an int."""
    @property
    def _context(self) -> Any:
        """sycl_context."""
    @property
    def _queue(self) -> Any:
        """sycl_queue."""
    @property
    def reference_obj(self) -> object:
        """The object that the memory was borrowed from, or None."""
    @property
    def sycl_context(self) -> Any:
        """The context that the memory is bound to."""
    @property
    def sycl_device(self) -> Any:
        """The device that the memory was allocated on."""
    @property
    def sycl_queue(self) -> Any:
        """The queue that the memory was allocated with: the caller's object if one was passed."""
    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        """
        The SYCL USM Array Interface, version 1: the bytes as a C-contiguous array of '|u1'.

        Raises AttributeError for memory that is not SYCL memory.
        """
    def __new__(
        cls, other: object, /, *, alignment: int = 0, queue: object | None = None, copy: bool = False
    ) -> Self: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """
        A numpy.ndarray of the bytes.

        Raises ExchangeError for memory that the host cannot access.
        """
    def get_usm_type(self, syclobj: object | None = None) -> str:
        """
        The kind of the memory: 'host', 'device' or 'shared'.

        With a context or a queue ``syclobj``, the kind of the memory in that context, or
        'unknown'. Raises TypeError for other objects.
        """
    def get_usm_type_enum(self, syclobj: object | None = None) -> int:
        """The kind of get_usm_type() as a number: 0 unknown, 1 device, 2 shared, 3 host."""
    def copy_to_host(self, obj: Any = None) -> Any:
        """
        Copy all bytes to the front of ``obj``, a writable C-contiguous buffer, and return
        ``obj``.

        Without ``obj``, the bytes are copied to a new NumPy array of uint8, or to a
        bytearray if NumPy is not installed. Complete on return.

        Raises ValueError if ``obj`` is too small.
        """
    def copy_from_host(self, obj: Buffer) -> None:
        """
        Copy the bytes of ``obj``, a C-contiguous buffer, to the front of the memory.

        Complete on return. Raises ValueError if the memory is too small or read-only.
        """
    def copy_from_device(self, sycl_usm_ary: object) -> None:
        """
        Copy the bytes that another object spans to the front of the memory.

        The object is an Array or has __sycl_usm_array_interface__. If the contexts differ,
        the copy goes through the host. Complete on return.

        Raises ValueError if the memory is too small or read-only, and for other objects.
        """
    def memset(self, val: int = 0) -> None:
        """
        Set every byte to ``val``. Complete on return.

        Raises OverflowError unless ``val`` is 0 to 255, ValueError for read-only memory.
        """
    def share(self) -> ArrayHandle:
        """
        An ArrayHandle with which another process opens all bytes, without a copy.

        The conditions are those of ``Array.share``.
        """
    def tobytes(self) -> bytes:
        """A copy as bytes."""
    def __bytes__(self) -> bytes:
        """A copy as bytes."""
    def __len__(self) -> int: ...

class MemoryUSMHost(Memory):
    """Host memory that the queue's device can access."""

    def __buffer__(self, flags: int, /) -> memoryview: ...

class MemoryUSMShared(Memory):
    """Memory that moves between the host and the queue's device. Both can access it."""

    def __buffer__(self, flags: int, /) -> memoryview: ...

class MemoryUSMDevice(Memory):
    """Memory of the queue's device that the host cannot access."""

def as_usm_memory(obj: object, /) -> MemoryUSMHost | MemoryUSMShared | MemoryUSMDevice:
    """
    The memory of an object with ``__sycl_usm_array_interface__``, or of an Array,
    without a copy.

    The driver's kind of the memory decides between MemoryUSMHost, MemoryUSMShared and
    MemoryUSMDevice.

    Raises ValueError (InterfaceError) if the object has no such interface, or a
    malformed or untrue one.
    """

class Pointer:
    """
    An address to pass to a C function. It keeps the memory alive.

    ``pyobj`` is one of these, tried in this order:

    - None, which is NULL
    - an adapter: its address is copied, its buffer is not
    - an int
    - a ctypes pointer (c_void_p, c_char_p, POINTER, a function): the address that it points to
    - an Array
    - an object with ``__cuda_array_interface__``
    - an object with a contiguous buffer, which is held as long as the adapter lives. A ctypes
      number or structure is a buffer: its address is C's ``&x``.
    - an object with ``as_c_void_p()``
    - any other object that asarray accepts

    ``p[n]`` is the pointer ``n`` bytes further on. Adapters are equal to adapters and ints with
    the same address.

    Raises TypeError for an object without an address, OverflowError for ints outside of 0 …
    2**64 - 1, ValueError for strided memory.
    """

    def __init__(self, pyobj: object = None) -> None: ...
    @classmethod
    def fromObj(cls, pyobj: object, /) -> Self:
        """Return ``pyobj`` if it has this class, else a new adapter made from it."""
    def createRef(self) -> Pointer:
        """A Pointer to the address in this adapter, as C's ``&p``. It keeps the adapter alive."""
    def as_c_void_p(self) -> ctypes.c_void_p:
        """The address as a ctypes.c_void_p."""
    @property
    def is_ptr_null(self) -> bool:
        """True if the address is NULL."""
    @property
    def is_owner(self) -> bool:
        """True if the adapter allocated the memory."""
    @property
    def is_read_only(self) -> bool:
        """True if the memory must not be written; such an adapter is refused as a destination."""
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getitem__(self, offset: Any, /) -> Any: ...

class CStr(Pointer):
    """
    A C string, made from a str (as UTF-8), from bytes, or from an object that Pointer
    accepts.

    The adapter keeps that object alive. After a C function has written the string,
    ``str()`` reads its new contents.
    """

    def __init__(self, pyobj: object) -> None: ...
    def decode(self, encoding: str = 'utf-8', errors: str = 'strict') -> str:
        """The string, decoded like bytes.decode()."""
    def encode(self, encoding: str = 'utf-8', errors: str = 'strict') -> bytes:
        """The string's bytes in another encoding, like str.encode()."""
    def malloc(self, content_len: int, /) -> None:
        """
        Allocate a zeroed string of ``content_len`` bytes and its terminating NUL.

        Raises RuntimeError unless this CStr is NULL.
        """
    def free(self) -> None:
        """
        Free the memory that malloc() allocated. A no-op for NULL.

        Raises RuntimeError for any other memory.
        """
    def __bytes__(self) -> bytes:
        """The string's bytes, without the NUL."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int | slice, /) -> str: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, buffer: memoryview, /) -> None: ...

class DeviceArray(Pointer):
    """
    An address of device memory with a shape and a type, as hipMalloc returns it.

    It is made from an object that Pointer accepts. An Array, an object with
    ``__cuda_array_interface__`` and other objects that asarray accepts give the shape and the
    type.

    Use ``configure()`` to change the description. A part, ``array[…]``, is a view as in NumPy,
    and keeps the whole array alive. If a driver knows the address, asarray(array) is an Array
    of the same memory.
    """

    def __init__(self, pyobj: object) -> None: ...
    def configure(
        self,
        *,
        typestr: str = ...,
        shape: int | Sequence[int] = ...,
        strides: Sequence[int] | None = ...,
        itemsize: int = ...,
        read_only: bool = ...,
        stream: int | None = ...,
        _force: bool = False,
    ) -> Self:
        """
        Describe the elements at the address, and return the array itself.

        - ``typestr``: the array interface's type string or NumPy's name of a type ('<f4',
          'float32')
        - ``shape``: an int or ints
        - ``strides``: in bytes; None for C-contiguous
        - ``itemsize``: may be left out if there is a typestr
        - ``stream``: the stream that consumers synchronize with

        Arguments that are left out keep their values. The number of bytes must not change,
        unless ``_force=True``. A call that raises has changed nothing.

        Raises ValueError for arguments that contradict each other or the size of the
        memory.
        """
    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each axis, in elements; (0,) if the shape is unknown."""
    @property
    def strides(self) -> tuple[int, ...]:
        """Distance between neighbors along each axis, in bytes."""
    @property
    def typestr(self) -> str:
        """The type of an element, as a type string of the array interface."""
    @property
    def size(self) -> int:
        """Number of elements."""
    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
    @property
    def rank(self) -> int:
        """Number of axes."""
    @property
    def stream_as_int(self) -> int | None:
        """The stream that consumers synchronize with, or None."""
    @property
    def is_freed(self) -> bool:
        """True if the memory has been freed; every later use is refused."""
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """
        The CUDA array interface, version 3, in a new dict.

        Raises AttributeError for host memory.
        """
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """
        A numpy.ndarray of the same memory.

        Raises ExchangeError for memory that the host cannot access.
        """
    def __dlpack__(
        self,
        *,
        stream: object | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType:
        """
        A DLPack capsule of the same memory, like that of entrepot.Array.

        Raises BufferError (ExchangeError) with the reason if the memory cannot be exported.
        """
    def __dlpack_device__(self) -> tuple[int, int]:
        """Device type and device id, in DLPack's numbering."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: object, /) -> DeviceArray: ...

class ListOfBytes(Pointer):
    """
    An array of C strings, made from a list or tuple of bytes, str or CStr.

    The adapter keeps the strings alive. It can also be made from the address of such an array,
    as Pointer accepts it.
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which is freed with the adapter."""
    def to_list(self) -> list[bytes | None]:
        """
        The current elements, in a list.

        Raises TypeError if the length is unknown.
        """
    def to_tuple(self) -> tuple[bytes | None, ...]:
        """
        The current elements, in a tuple.

        Raises TypeError if the length is unknown.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[bytes | None]: ...

class ListOfPointer(Pointer):
    """
    An array of addresses, made from a list or tuple of objects that Pointer accepts.

    The adapter keeps the objects alive. It can also be made from the address of such an array.
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which is freed with the adapter."""
    def to_list(self) -> list[Pointer]:
        """
        The current elements, in a list.

        Raises TypeError if the length is unknown.
        """
    def to_tuple(self) -> tuple[Pointer, ...]:
        """
        The current elements, in a tuple.

        Raises TypeError if the length is unknown.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Pointer]: ...

class ListOfInt(Pointer):
    """
    An array of C integers, made from a list or tuple of ints.

    It can also be made from the address of such an array, as Pointer accepts it.

    Raises TypeError for an element that is not an int, OverflowError for an element that does
    not fit; the message has the index.
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which is freed with the adapter."""
    def to_list(self) -> list[int]:
        """
        The current elements, in a list.

        Raises TypeError if the length is unknown.
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        The current elements, in a tuple.

        Raises TypeError if the length is unknown.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class ListOfUnsigned(Pointer):
    """
    An array of C integers, made from a list or tuple of ints.

    It can also be made from the address of such an array, as Pointer accepts it.

    Raises TypeError for an element that is not an int, OverflowError for an element that does
    not fit; the message has the index.
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which is freed with the adapter."""
    def to_list(self) -> list[int]:
        """
        The current elements, in a list.

        Raises TypeError if the length is unknown.
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        The current elements, in a tuple.

        Raises TypeError if the length is unknown.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class ListOfLong(Pointer):
    """
    An array of C integers, made from a list or tuple of ints.

    It can also be made from the address of such an array, as Pointer accepts it.

    Raises TypeError for an element that is not an int, OverflowError for an element that does
    not fit; the message has the index.
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which is freed with the adapter."""
    def to_list(self) -> list[int]:
        """
        The current elements, in a list.

        Raises TypeError if the length is unknown.
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        The current elements, in a tuple.

        Raises TypeError if the length is unknown.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class ListOfUnsignedLong(Pointer):
    """
    An array of C integers, made from a list or tuple of ints.

    It can also be made from the address of such an array, as Pointer accepts it.

    Raises TypeError for an element that is not an int, OverflowError for an element that does
    not fit; the message has the index.
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which is freed with the adapter."""
    def to_list(self) -> list[int]:
        """
        The current elements, in a list.

        Raises TypeError if the length is unknown.
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        The current elements, in a tuple.

        Raises TypeError if the length is unknown.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class ListOfInt64(Pointer):
    """
    An array of C integers, made from a list or tuple of ints.

    It can also be made from the address of such an array, as Pointer accepts it.

    Raises TypeError for an element that is not an int, OverflowError for an element that does
    not fit; the message has the index.
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which is freed with the adapter."""
    def to_list(self) -> list[int]:
        """
        The current elements, in a list.

        Raises TypeError if the length is unknown.
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        The current elements, in a tuple.

        Raises TypeError if the length is unknown.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class ListOfUInt64(Pointer):
    """
    An array of C integers, made from a list or tuple of ints.

    It can also be made from the address of such an array, as Pointer accepts it.

    Raises TypeError for an element that is not an int, OverflowError for an element that does
    not fit; the message has the index.
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which is freed with the adapter."""
    def to_list(self) -> list[int]:
        """
        The current elements, in a list.

        Raises TypeError if the length is unknown.
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        The current elements, in a tuple.

        Raises TypeError if the length is unknown.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class PointerToInt(ListOfInt):
    """
    The address of one C integer. Its ``value`` reads and writes the integer.

    It is made from a list of one int, by ``allocate()``, or from an object that Pointer
    accepts.
    """

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """An array of ``count`` zeros, which is freed with the adapter."""
    value: int
    """The integer at the address."""

class PointerToUnsigned(ListOfUnsigned):
    """
    The address of one C integer. Its ``value`` reads and writes the integer.

    It is made from a list of one int, by ``allocate()``, or from an object that Pointer
    accepts.
    """

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """An array of ``count`` zeros, which is freed with the adapter."""
    value: int
    """The integer at the address."""

class PointerToLong(ListOfLong):
    """
    The address of one C integer. Its ``value`` reads and writes the integer.

    It is made from a list of one int, by ``allocate()``, or from an object that Pointer
    accepts.
    """

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """An array of ``count`` zeros, which is freed with the adapter."""
    value: int
    """The integer at the address."""

class PointerToUnsignedLong(ListOfUnsignedLong):
    """
    The address of one C integer. Its ``value`` reads and writes the integer.

    It is made from a list of one int, by ``allocate()``, or from an object that Pointer
    accepts.
    """

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """An array of ``count`` zeros, which is freed with the adapter."""
    value: int
    """The integer at the address."""

class PointerToInt64(ListOfInt64):
    """
    The address of one C integer. Its ``value`` reads and writes the integer.

    It is made from a list of one int, by ``allocate()``, or from an object that Pointer
    accepts.
    """

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """An array of ``count`` zeros, which is freed with the adapter."""
    value: int
    """The integer at the address."""

class PointerToUInt64(ListOfUInt64):
    """
    The address of one C integer. Its ``value`` reads and writes the integer.

    It is made from a list of one int, by ``allocate()``, or from an object that Pointer
    accepts.
    """

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """An array of ``count`` zeros, which is freed with the adapter."""
    value: int
    """The integer at the address."""

class HipModuleLaunchKernel_extra(Pointer):
    """
    The arguments of a kernel in the layout of hipModuleLaunchKernel, made from a list
    or tuple.

    The items are ctypes data, which are passed by value, and objects that Pointer
    accepts. They are laid out as the C ABI requires.

    Raises TypeError with the index of any other item: wrap numbers in ctypes.
    """

    def __init__(self, pyobj: object) -> None: ...

class Form:
    """A C type and its conversion to Python. Made by entrepot.ffi."""

    def __new__(
        cls, how: str, kind: str, type: type | None = None, element: Form | None = None, count: int = 0
    ) -> Self: ...
    @property
    def size(self) -> int:
        """Size of the C type, in bytes."""
    def complete(self, type: type, /) -> None:
        """Set the record class of a pointer form that was made before the record."""

class Record(Pointer):
    """
    A C struct or union, whose fields are attributes; the base class of records in bindings.

    A Record is a Pointer to its own memory, which is zeroed, or to the memory given to
    ``fromObj``.
    """

    def __init__(self, *values: object, **fields: object) -> None: ...
    @classmethod
    def PROPERTIES(cls) -> list[str]:
        """The names of the fields, in C's order."""
    @classmethod
    def c_sizeof(cls) -> int:
        """Size of one record, in bytes."""
    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """
        A contiguous array of ``count`` records. The attributes are those of the first record.

        ``element(i)`` is the i-th record.
        """
    @classmethod
    def fromObj(cls, pyobj: object, /) -> Self:
        """The record at the address of Pointer(pyobj), or ``pyobj`` if it is one. None is NULL."""
    def element(self, i: int, /) -> Self:
        """The i-th record of an array. It keeps the array alive."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> Any: ...

class Field:
    """A field of a struct or union."""

    @property
    def name(self) -> str:
        """Name of the field in C."""
    @property
    def offset(self) -> int:
        """Offset of the field in the record, in bytes."""
    @property
    def size(self) -> int:
        """Size of the field, in bytes."""
    @property
    def bits(self) -> int:
        """Width of a bit-field; 0 for other fields."""
    @property
    def first_bit(self) -> int:
        """Position of a bit-field in its unit, in bits."""

def make_record(
    name: str,
    size: int,
    alignment: int,
    is_union: bool,
    fields: tuple[tuple[str, Form, int, int, int, Any, bool], ...],
    dict: dict[str, Any],
    /,
) -> Any:
    """Make the class of a struct or union. For entrepot.ffi."""

class Handle(Pointer):
    """
    A pointer to an opaque struct of a library; the base class of handles in bindings.

    A function with a handle parameter refuses handles of another class. It accepts ints, None,
    ctypes pointers and adapters without a class: use ``Pointer(handle)`` to drop the class.
    """

def make_handle(name: str, dict: dict[str, Any], /) -> Any:
    """Make the class of a handle. For entrepot.ffi."""

class FunctionPointer(Pointer):
    """
    A pointer to a C function.

    It is made from a Python callable, or from an object that Pointer accepts other than an
    array (CAI, DLPack, SUAI), which is data. C may call a Python callable as long as this
    object lives. If the callable raises, sys.unraisablehook reports the exception and C gets
    zero.

    Call the object to call the C function from Python.
    """

    def __new__(cls, pyobj: object, /) -> Self: ...
    def __init__(self, pyobj: object, /) -> None: ...
    def __call__(self, *values: object) -> Any: ...

def make_callback(
    name: str, result: Form, parameters: tuple[tuple[str, Form], ...], dict: dict[str, Any], /
) -> Any:
    """Make the class of a function pointer. For entrepot.ffi."""

class ForeignLibrary:
    """A shared library that is opened on first use and never closed."""

    def __new__(
        cls,
        name: str,
        sonames: Sequence[str],
        directories: Sequence[str] = (),
        variable: str = "",
        advice: str = "",
    ) -> Self: ...
    def find(self, symbol: str, /) -> int | None:
        """The address of a symbol, or None. Raises LibraryError if the library is not found."""
    def require(self, symbol: str, /) -> int:
        """The address of a symbol. Raises LibraryError if it is not found."""
    def is_there(self) -> bool:
        """True if the library is found and loads."""
    @property
    def path(self) -> str:
        """The file that was opened. Raises LibraryError if the library is not found."""

class ForeignFunction:
    def __new__(cls, library: object, declaration: Any, symbol: str | None = None) -> Self: ...
    @property
    def __name__(self) -> str: ...
    @property
    def declaration(self) -> Any:
        """The Python function that declares it."""
    @property
    def symbol(self) -> str | None:
        """The name of the function in older libraries; None if the name is the same."""
    def __call__(self, *args: object, **kwargs: object) -> Any: ...

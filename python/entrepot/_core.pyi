"""The C++ side of entrepot; import entrepot instead."""

from collections.abc import Callable, Sequence
from typing import Any


import ctypes
from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn, final

from typing_extensions import Buffer, CapsuleType, Self

__version__: str

def _rebuild_usm_memory(cls: type[Memory], data: bytes, usm_type: str, /) -> Memory: ...
def _lend(nbytes: int, device: int, stream: int, owner: object) -> int: ...
def _take_back(address: int) -> None: ...
def _device_array(address: int, nbytes: int, /) -> DeviceArray: ...
def _mark_freed(obj: object, /) -> None: ...

class EntrepotError(Exception):
    """The root of all errors that Entrepot defines."""

class ExchangeError(EntrepotError, BufferError):
    """Memory cannot be imported or exported as asked: the message names the protocol, the reason and what to do."""

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
        From a name, a typestr, numpy.dtype, torch.dtype or a scalar type. Raises TypeError for any other object.
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
        """The array interface's type string, None where the type has none."""

    @property
    def format(self) -> str | None:
        """The buffer protocol's format, None where the type has none."""

    @property
    def dtype(self) -> Any:
        """
        The numpy.dtype, which NumPy asks for: a Dtype may be given where NumPy takes a dtype. Raises AttributeError where neither
        NumPy nor ml_dtypes is there with such a type.
        """

    @property
    def __numpy_dtype__(self) -> Any:
        """The same, as newer versions of NumPy ask for it."""

    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int:
        """
        Of the name: as keys, a Dtype and its name are one. Other spellings that are equal, numpy.dtype and '<f4', have
        hashes of their own, and find nothing among Dtypes: make a Dtype of them first.
        """

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __reduce__(self) -> tuple[object, ...]: ...

dtype_names: tuple[str, ...]

class Device:
    """
    A device or sub-device. ``str(device)`` is the selector that finds it again; it compares equal to dpctl's SyclDevice for the same device.

    ``Device(selector)`` is what ``entrepot.device(selector)`` returns; it takes dpctl's SyclDevice as well.
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
        """The driver's version, as it puts it."""

    @property
    def global_mem_size(self) -> int:
        """Memory of the device, in bytes."""

    @property
    def local_mem_size(self) -> int:
        """Local memory of a work-group, in bytes."""

    @property
    def max_mem_alloc_size(self) -> int:
        """The largest allocation, in bytes."""

    @property
    def max_compute_units(self) -> int:
        """Number of compute units."""

    @property
    def max_work_group_size(self) -> int:
        """Most work-items of a work-group."""

    @property
    def max_work_item_sizes3d(self) -> tuple[int, int, int]:
        """Most work-items of a work-group in each of three dimensions."""

    @property
    def default_selector_score(self) -> int:
        """
        What SYCL's default selector gives the device; negative: never chosen by default.
        """

    @property
    def is_cpu(self) -> bool:
        """Whether the device is a CPU."""

    @property
    def is_gpu(self) -> bool:
        """Whether the device is a GPU."""

    @property
    def is_accelerator(self) -> bool:
        """Whether the device is an accelerator of another kind."""

    @property
    def has_aspect_fp16(self) -> bool:
        """Whether kernels may compute in float16."""

    @property
    def has_aspect_fp64(self) -> bool:
        """Whether kernels may compute in float64."""

    @property
    def has_aspect_atomic64(self) -> bool:
        """Whether kernels have atomics of 64 bits."""

    @property
    def has_aspect_usm_host_allocations(self) -> bool:
        """Whether kind='host' can be allocated."""

    @property
    def has_aspect_usm_device_allocations(self) -> bool:
        """Whether kind='device' can be allocated."""

    @property
    def has_aspect_usm_shared_allocations(self) -> bool:
        """Whether kind='shared' can be allocated."""

    @property
    def has_aspect_usm_system_allocations(self) -> bool:
        """Whether kernels may be given ordinary host memory."""

    @property
    def has_aspect_queue_profiling(self) -> bool:
        """Whether queues can measure time."""

    @property
    def partition_max_sub_devices(self) -> int:
        """Most sub-devices; 0 or 1: cannot be divided."""

    @property
    def partitions(self) -> list[str]:
        """
        The ways in which sub_devices() can divide the device: of 'equally', 'counts', 'affinity'.
        """

    @property
    def parent_device(self) -> Device | None:
        """What it is a sub-device of; None for a root device."""

    def get_unpartitioned_parent_device(self) -> Device:
        """The root device that it is part of, or itself."""

    def get_filter_string(self) -> str:
        """The selector, as ``str(device)``."""

    def can_access(self, peer: Device) -> bool:
        """
        Whether kernels on this device may be given memory of ``peer``. Copies need no such way.
        """

    def sub_devices(self, *, equally: int | None = None, counts: Sequence[int] | None = None, affinity: str | None = None) -> list[Device]:
        """
        Divide the device: ``equally=`` compute units each; ``counts=[…]`` compute units of every one; ``affinity=`` 'numa', 'l4', 'l3',
        'l2', 'l1' or 'next' for what shares that level.

        The same division gives the same devices again. Raises DeviceError where the device cannot be divided that way, ValueError for
        compute units that it does not have.
        """

    def create_sub_devices(self, partition: object) -> list[Device]:
        """
        As ``sub_devices``, with dpctl's argument: an int is equally, a sequence counts, a string an affinity domain.
        """

    @property
    def context(self) -> Context:
        """
        The default context: its platform's, or its own for a sub-device whose runtime wants one.
        """

    @property
    def sycl_context(self) -> Context:
        """The default context, as ``context``."""

    @property
    def sycl_device(self) -> Device:
        """The device itself."""

    @property
    def queue(self) -> Queue:
        """The default queue: in order, in the default context; always the same."""

    def addressof_ref(self) -> int:
        """
        Address of its sycl::device, which lives as long as the process. Raises DeviceError for other backends' devices.
        """

class Context:
    """
    What memory is bound to. Contexts of the same native context are equal, dpctl's included.

    ``Context([device, …])`` makes a new one of these devices; ``Context(obj)`` wraps that of dpctl's SyclContext, of a capsule
    'SyclContextRef', of an object with ``_get_capsule()``, or is the context of a queue or the default one of a device.
    """

    def __init__(self, obj: object) -> None: ...

    def __repr__(self) -> str: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    @property
    def devices(self) -> list[Device]:
        """The devices in it."""

    def get_devices(self) -> list[Device]:
        """The devices in it, as ``devices``."""

    @property
    def device_count(self) -> int:
        """Number of devices in it."""

    @property
    def is_default(self) -> bool:
        """Whether it is its platform's default context."""

    @property
    def sycl_context(self) -> Context:
        """The context itself."""

    def addressof_ref(self) -> int:
        """
        Address of its sycl::context, which lives as long as the context. Raises DeviceError for other backends' contexts.
        """

@final
class Event:
    """
    A mark in a queue: done when the work before it is. Launches, copies and Queue.record() return one:
    ``event = kernel[1024](array)``, then ``event.wait()``.
    """

    def wait(self) -> None:
        """
        Block until it is done. Raises DeviceError for an error of the work before it, or where that is captured into a graph.
        """
    @property
    def done(self) -> bool:
        """
        Whether it is done; does not block. Raises DeviceError where it marks work that is captured into a graph.
        """
    def seconds_until(self, later: Event) -> float:
        """
        Seconds from this event to ``later``. Raises DeviceError unless both are done and of profiling queues of one backend.
        """

class Queue:
    """
    Work in order. ``with queue:`` makes it the current one: what names no device then uses it.

    ``Queue(device, *, context=None, profiling=False)`` makes a new one, in order, in the device's default context unless another is
    given; without a device, on the current one. ``Queue(obj)`` wraps dpctl's SyclQueue, a capsule 'SyclQueueRef', which is used up,
    or an object with ``_get_capsule()``, as it is: in order or not; or a CUDA stream, an object with ``__cuda_stream__()``,
    which is kept.

    Raises DeviceError where the device cannot measure time, ValueError for a used capsule.
    """

    def __init__(self, device: object | None = None, *, context: object | None = None, profiling: bool = False) -> None: ...

    def __repr__(self) -> str: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __enter__(self) -> Queue: ...

    def __exit__(self, exc_type: object, exc_value: object, traceback: object, /) -> None: ...

    def wait(self) -> None:
        """
        Block until all its work is done. Raises DeviceError for an error of earlier work, or while the queue is captured.
        """

    def record(self) -> Event:
        """
        An Event that is done when all that the queue holds now is done. Raises DeviceError where the driver records none,
        and in a process that was forked from one that used the device.
        """

    @property
    def device(self) -> Device:
        """The device that runs its work."""

    @property
    def context(self) -> Context:
        """The context of the memory that it works on."""

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
        Whether all its work is done; does not block. Raises DeviceError while the queue is captured.
        """

    @property
    def is_captured(self) -> bool:
        """
        Whether its stream is being captured into a graph: what is submitted then runs when the graph does.
        """

    @property
    def is_in_order(self) -> bool:
        """Whether its work runs in the order in which it was submitted."""

    @property
    def has_enable_profiling(self) -> bool:
        """Whether its events have times."""

    def addressof_ref(self) -> int:
        """
        Address of its sycl::queue, which lives as long as the queue. Raises DeviceError for other backends' queues.
        """

    def __cuda_stream__(self) -> tuple[int, int]:
        """
        The protocol's version, 0, and the CUstream, which lives as long as the queue. Raises DeviceError for other backends' queues.
        """

    def wait_for(self, other: object, /) -> None:
        """
        Let later work of the queue wait for ``other``: an Event, dpctl's SyclEvent, or a Queue with all that it holds now.
        Blocks only where that is of another backend, or from outside of the graph capture that the queue is in. What is of a capture
        takes the queue into it.

        Raises DeviceError where ``other`` is of another capture, or an event of one that has ended.
        """

class Program:
    """
    Source that was built for a device.

    ``dialect`` is 'opencl-c', 'sycl', 'spirv', 'cuda', 'ptx', 'cubin', 'hip', 'hsaco' or 'c++' (the host's), as the device builds;
    None: its first. ``context`` is that of the queues that will run it; None: the device's default one.

    Raises KernelError with the build log; DeviceError where the device does not build the dialect.
    """

    def __init__(self, source: object | None, device: object | None = None, *, dialect: str | None = None, options: str = '', context: object | None = None) -> None: ...

    def __repr__(self) -> str: ...

    def kernel(self, name: str) -> Kernel:
        """
        The kernel of that name. Raises KernelError if the program has no such kernel.
        """

    @property
    def log(self) -> str:
        """What the compiler said."""

    @property
    def device(self) -> Device:
        """The device that it was built for."""

    @property
    def context(self) -> Context:
        """The context that it was built in."""

    @property
    def dialect(self) -> str:
        """The dialect of its source."""

class Kernel:
    """A function of a program; it keeps the program."""

    def __repr__(self) -> str: ...

    @property
    def name(self) -> str:
        """Its name in the source."""

    @property
    def program(self) -> Program:
        """The program that it is part of."""

    @property
    def num_arguments(self) -> int | None:
        """Number of arguments; None: not known."""

    @property
    def work_group_size(self) -> int:
        """Most work-items of a work-group."""

    @property
    def preferred_work_group_size_multiple(self) -> int:
        """
        Work-groups of a multiple of this many work-items run best; 0: not known.
        """

    @property
    def local_mem_size(self) -> int:
        """Local memory that it uses by itself, in bytes."""

    @property
    def private_mem_size(self) -> int:
        """Private memory of a work-item, in bytes; 0: not known."""

    @property
    def num_registers(self) -> int:
        """Registers of a work-item; 0: not known."""

    def __getitem__(self, range: object) -> Launcher:
        """
        kernel[global, local]: work-items in 1 to 3 dimensions, and those of a work-group.

        Each is an int or a tuple; ``local`` may be None, then the device chooses. kernel[n] is kernel[n, None].
        The last dimension is the fastest.
        """

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        """
        Raises TypeError: a kernel is launched with its range, kernel[global, local](…).
        """

def devices() -> list[Device]:
    """
    All root devices of all backends that are there, the host last. Loads every backend at the first call.
    """

def device(selector: object | None = None) -> Device:
    """
    The device that a selector names: 'opencl:cpu:0', 'gpu', 'level_zero', '0', 'cuda:0', 'hip:1', 'host', 'default', or
    'opencl:cpu:0/1' for a sub-device. Among several matches the highest score decides, then the lowest number. A Device and dpctl's
    SyclDevice are taken too; None is the current device.

    Raises ValueError for a malformed selector, DeviceError where nothing matches: with what there is, and why the rest is not.
    """

def device_context(device: object) -> Queue:
    """
    A queue for ``with``: the default one of a device or selector, or the queue given. ``with device_context('gpu') as queue:`` makes it
    current in this thread, so that what names no device uses it. For a dpctl.SyclQueue ``as`` gives that same object.

    Raises DeviceError where there is no such device, ValueError for what is no selector, TypeError for what is neither
    device nor queue.
    """

def backends() -> list[tuple[str, bool, str]]:
    """
    Every backend that this version knows: its name, whether it is there, and what was loaded or why it is absent.
    """

class Scalar:
    """A number whose type is stated: an argument of a kernel."""

    def __init__(self, value: object, dtype: object) -> None:
        """Raises OverflowError where the value does not fit the dtype."""

    @property
    def dtype(self) -> Dtype:
        """The type of the value."""

    @property
    def value(self) -> bool | int | float | complex:
        """The number, as the dtype holds it."""

    def __repr__(self) -> str: ...

@final
class Array:
    """
    Memory of any library seen through a shape and a type; made by asarray, from_dlpack, from_address, empty, zeros and full.

    An Array computes nothing. It slices, transposes and reshapes without a copy, and hands its memory on under every protocol.
    It is immutable, though its elements are not, and keeps alive whatever its memory belongs to.

    ``==`` of two Arrays is ``is``. Raises TypeError for anything that does not compare itself with an Array, numbers and None
    included: numpy.asarray(array) == 3 compares elements.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each axis, in elements."""
    @property
    def strides(self) -> tuple[int, ...]:
        """Distance between neighbours along each axis, in elements (not bytes)."""
    @property
    def dtype(self) -> Dtype:
        """The type of an element."""
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
        """Where operations on the array run unless they name another queue."""
    @property
    def kind(self) -> str:
        """'host', 'device' or 'shared': who may touch the memory."""
    @property
    def read_only(self) -> bool:
        """Whether the elements may not be changed through this array."""
    @property
    def data_ptr(self) -> int:
        """Address of the first element."""
    @property
    def owner(self) -> object:
        """The Python object that the memory was borrowed from, or None."""
    @property
    def T(self) -> Array:
        """The array with its axes reversed, without a copy."""
    def transpose(self, *axes: int | Sequence[int]) -> Array:
        """The axes in another order, without a copy; without arguments reversed. Raises ValueError unless a permutation."""
    def reshape(self, *shape: int | Sequence[int]) -> Array:
        """
        The same elements in another shape, without a copy; one extent may be -1.

        Raises ValueError where the sizes differ, or where only a copy could do it.
        """
    def broadcast_to(self, *shape: int | Sequence[int]) -> Array:
        """A read-only view with axes of extent 1 stretched, without a copy. Raises ValueError where the shapes do not broadcast."""
    def view(self, dtype: object, /) -> Array:
        """
        The same bytes as elements of another dtype, without a copy.

        Raises ValueError where the last axis or the alignment does not allow it.
        """
    def to(self, device: object | None = None, *, kind: str | None = None, queue: object | None = None) -> Array:
        """
        A C-contiguous copy in another place; ordered, and waited for only where the memory is the host's too and somebody
        else's or given out, such as NumPy's: it may be changed when the call returns.

        Without a device, on this one. Raises USMAllocationError when there is no such memory left.
        """
    def host(self) -> Array:
        """The same memory seen as the host's, without a copy. Raises ExchangeError for device memory."""
    def numpy(self) -> Any:
        """
        A numpy.ndarray over the same memory, after waiting for work that writes it.

        bfloat16 and the narrower floats need ml_dtypes. Raises ExchangeError for memory that the host cannot reach.
        """
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """What NumPy asks for: ``numpy()``, converted or copied if it says so."""
    def item(self) -> bool | int | float | complex:
        """
        The only element as a bool, int, float or complex; of memory that the host cannot reach, a copy of it.

        Raises ValueError for an array of another size than 1, ExchangeError for a type that Python has no number for.
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
        """A copy in ordinary host memory, complete on return."""
    def copy_from_host(self, obj: object, /) -> None:
        """Copies from anything that asarray takes, complete on return. Raises ValueError as entrepot.copy does."""
    def share(self, *, fabric: bool = False) -> ArrayHandle:
        """
        An ArrayHandle, by which another process opens the array, without a copy.

        The memory must be of ``entrepot.memory.shareable()``, or another library's of cudaMalloc. Waits until what was submitted to
        write it is done; what comes later the two processes order between them. Keep the array, or the handle, until the other side
        has opened it. From then on each has the memory for itself; of cudaMalloc it must stay as long as the other side uses it.
        ``fabric=True``: for processes of other machines, where the device has fabric handles.

        Raises ExchangeError for memory that cannot be shared, naming the resource whose memory can.
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

        Raises BufferError (ExchangeError) for what cannot be given without a copy, naming the reason.
        """
    def __dlpack_device__(self) -> tuple[int, int]:
        """(device type, device id) as DLPack numbers them."""
    __dlpack_c_exchange_api__: ClassVar[CapsuleType]
    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        """SUAI version 1; AttributeError for memory that is not SYCL's."""
    @property
    def __usm_ndarray__(self) -> Any:
        """dpnp's array of the same memory, so that dpnp.asarray does not copy."""
    @property
    def sycl_queue(self) -> Any:
        """The dpctl.SyclQueue of __usm_ndarray__."""
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface, version 3; AttributeError for memory that is neither CUDA's nor HIP's."""
    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's array interface, version 3; AttributeError for memory that the host cannot reach."""
    @property
    def __array_struct__(self) -> CapsuleType:
        """The C side of the array interface; AttributeError as above."""
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
    View the memory of ``obj`` as an Array, whatever library it comes from, without a copy.

    It is asked for what it speaks in this order, or for the one that ``protocol`` names: 'entrepot.memory' and
    'entrepot.adapters', our own; 'numpy' and 'cupy', the fields of their arrays; 'c_exchange_api', DLPack's in C; 'suai',
    ``__sycl_usm_array_interface__``; 'dlpack', of any version; 'cai', ``__cuda_array_interface__``; 'buffer', the buffer
    protocol; 'array_struct' and 'array_interface', NumPy's. With ``device`` or ``kind``
    the memory must already be there, unless ``copy=True``, which copies as ``to`` does: memory of the host may be changed
    when the call returns. ``dtype`` is checked, never converted. ``queue`` becomes the array's default queue.

    Raises ExchangeError if the memory cannot be viewed: the message names the protocol and the reason; TypeError for objects
    that hold no memory; ValueError for another ``protocol`` than these.
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
    View the memory of ``x`` through its ``__dlpack__``, or a DLPack capsule itself, without a copy (array API, DLPack 1.3).

    The keywords are those of ``asarray``.

    Raises ExchangeError (a BufferError) with the reason where that cannot be done.
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
    An Array of memory that another library allocated, given by its address; nothing is copied.

    ``address`` is the first element, an int; ``shape`` an int or a sequence of ints, ``strides`` as many, in elements, none
    of which leads below the address. The drivers are asked which device and kind of memory it is; what none of them knows
    is ordinary host memory. With ``device`` or ``queue`` it must be memory of that device, in the queue's context; ``'host'``
    takes whatever the host reaches. What the queue holds now counts as work on the memory, and it becomes the array's default
    queue.

    ``owner`` is any object: it is kept until the memory is released. ``deleter`` is called then, once, with the address:
    a callable; a C function ``void (*)(void *)``, of ctypes or as its address, an int, which is called without the GIL; or a
    PyCapsule, which is kept like an owner, as its destructor is the deleter. The memory is released when its last array,
    view and export is gone and the work that was submitted on it is done, on any thread. What a deleter raises goes to
    export of it is gone and the work that was submitted on it is done, on any thread. What a deleter raises goes to
    ``sys.unraisablehook``. Without either, the memory must outlive the array.

    Raises TypeError for addresses that are no ints and deleters that are none of these; ValueError for a null or misaligned
    address of elements, strides that lead below it, a negative extent, owner and deleter together; OverflowError for sizes
    and addresses beyond 64 bits; ExchangeError where the driver knows the memory as another device's, as less than the
    elements need, or not at all. The deleter is not called then: the memory is still the caller's.
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
    An Array of new, uninitialised memory, C-contiguous.

    ``device`` is a Device, a selector or a dpctl device; without one, that of the innermost ``device_context``, then
    ``ENTREPOT_DEVICE``, then the host. ``kind`` is 'host', 'device' (the default of devices) or 'shared'.

    Raises USMAllocationError when there is no such memory left, DeviceError where the device lacks that kind.
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
    An Array of new memory, all bits zero.

    ``device`` is a Device, a selector or a dpctl device; without one, that of the innermost ``device_context``, then
    ``ENTREPOT_DEVICE``, then the host. ``kind`` is 'host', 'device' (the default of devices) or 'shared'.

    Raises USMAllocationError when there is no such memory left, DeviceError where the device lacks that kind.
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
    An Array of new memory, every element ``value``.

    ``device`` is a Device, a selector or a dpctl device; without one, that of the innermost ``device_context``, then
    ``ENTREPOT_DEVICE``, then the host. ``kind`` is 'host', 'device' (the default of devices) or 'shared'.

    Raises USMAllocationError when there is no such memory left, DeviceError where the device lacks that kind.
    """

def fill(array: object, value: object, *, queue: object | None = None) -> Event:
    """
    Sets every element of ``array`` to ``value``; returns an Event that is done when it has them all. Memory that the host
    sees and that is given as itself, such as NumPy's, has them when the call returns.

    Raises ValueError for read-only arrays, OverflowError for a value that the dtype cannot hold.
    """

def copy(dst: object, src: object, queue: object | None = None) -> Event:
    """
    Copies ``src`` into ``dst``, which may be in another place, and returns an Event that is done when ``dst`` has all elements.

    Both are Arrays or anything that asarray takes; ``src`` is broadcast. Memory stays alive until the copy is done. Where
    one is memory that the host sees, given as itself, such as NumPy's, the copy is done when the call returns.
    Raises ValueError: read-only destination, different dtypes, shapes that do not broadcast, overlap.
    """

class ArrayHandle:
    """
    What another process opens an array by: made by ``Array.share`` and ``Memory.share``, picklable, some hundred bytes.

    In the process that shared the array, the handle keeps its memory.
    """

    def __init__(self, data: bytes) -> None:
        """
        From the bytes of a handle, which bytes(handle) gives. Raises ValueError for others, and for those of another version.
        """

    def open(self) -> Array:
        """
        The shared array in this process: the same memory, seen at an address of its own, and read-only if the array was.

        May be called any number of times, in any process of the same user, while the process that shared it has the memory.

        Raises ExchangeError where that process has ended or released the memory, ValueError for a handle that is not true of it,
        DeviceError where its device is not there in this process.
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
        """Whether the array may not be written."""

    @property
    def process(self) -> int:
        """The number of the process that shared it."""

    def __bytes__(self) -> bytes:
        """The handle as bytes, to be sent by any means."""

    def __reduce__(self) -> tuple[object, ...]: ...

    def __repr__(self) -> str: ...

class LocalMemory:
    """
    An argument of a kernel: memory that the work-items of a group share, of a size given at launch.
    """

    def __init__(self, shape: object, dtype: object = 'uint8') -> None:
        """
        For ``shape`` elements of ``dtype`` in each work-group; a bare int is a number of bytes.
        """

    @property
    def nbytes(self) -> int:
        """Bytes for each work-group."""

@final
class Launcher:
    """
    A kernel with its nd-range: call it with the kernel's arguments, and it is submitted; the call returns its Event.

    Arguments are Arrays or anything that asarray takes, scalars that state their type (Scalar, NumPy's, ctypes'), and
    LocalMemory. ``queue=``; without it that of the first array on a device: compute follows data. Work on the arrays' memory
    is ordered; the call waits where an argument is memory that the host sees and that is no Array, such as NumPy's.
    ``cooperative=True``: all groups run at once and may wait for each other. ``cluster=`` groups, an int or a tuple as the
    range: those of a cluster share their local memory. Both are CUDA's.

    Raises KernelError where range or arguments contradict the kernel, TypeError for a scalar without a type, DeviceError
    where groups of the device cannot work together in that way.
    """

    def __call__(self, *args: object, queue: object | None = None, cooperative: bool = False,
                 cluster: int | tuple[int, ...] | None = None) -> Event: ...

@final
class KernelLauncher:
    """
    A kernel with its range: call it with the kernel's arguments, and it is submitted; the call returns its Event.

    Arguments are Arrays or anything that asarray takes, numbers, and LocalAccessor. ``queue=``; without it that of the arrays:
    compute follows data. ``depends_on=`` an Event, or several. ``wait=``; without it the call waits where an argument is memory
    that the host can look at and that is no Array, such as NumPy's.

    Raises KernelError where the kernel, its range or its arguments are refused, TypeError for other arguments than it takes.
    """

    def __call__(self, *args: object, queue: object = None, depends_on: object = None, wait: bool | None = None) -> Event: ...

class PythonKernel:
    """A Python function that is compiled for what it is launched with: ``kernel[global, local](arguments…)``."""

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
    def specialisations(self) -> int:
        """How often the kernel has been compiled in this process."""
    def __getitem__(self, index: object, /) -> KernelLauncher: ...
    def _translate(
        self,
        dialect: str | None = None,
        signature: object = None,
        device: object = None,
        dimensions: int | None = None,
        *,
        any_local: bool = False,
    ) -> dict[str, Any]: ...
    def _specialise(self, device: object = None, dimensions: int | None = None) -> None: ...
    def _range(self, index: object, /) -> tuple[tuple[int, ...], tuple[int, ...]]: ...
    def _arguments(self, name: str, parameters: tuple[str, ...], arguments: tuple[object, ...], /) -> list[Any]: ...
    def _type_of(self, variable: str, signature: object, device: object, /) -> Dtype: ...
    def _types(self, arguments: tuple[object, ...], /) -> list[tuple[Any, dict[str, Any], dict[Any, Any]]]: ...

kernel_function_names: tuple[str, ...]

class LocalAccessor:
    """
    An argument of a kernel: an array in local memory, of a shape that is given at launch.
    """

    def __init__(self, shape: object, dtype: object) -> None:
        """
        ``shape`` elements of ``dtype``, an int or a tuple of up to 3, in each work-group.
        """

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, in elements."""

    @property
    def dtype(self) -> Dtype:
        """The type of an element."""

def cache_directory() -> bytes:
    """
    The directory of compiled code, by the current environment; empty if caching is off.
    """

def cache_obstacle(kind: str) -> bytes:
    """
    The reason why the folder of a kind of code cannot be written, with the folder; empty if it can.
    """

c_api: CapsuleType

class Resource:
    """
    Where memory comes from and goes back to. Most resources wrap another one, their upstream.
    """

    @property
    def name(self) -> str:
        """What kind of resource it is."""

    @property
    def upstream(self) -> Resource | None:
        """The resource that it wraps; None for one that asks the driver."""

    def trim(self) -> int:
        """
        Give what is free, here and upstream, back to the driver. Returns the bytes given back.
        """

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

class direct(Resource):
    """
    Every block is an allocation of the driver, freed once the work that uses it is done.
    """

    def __init__(self) -> None: ...

class pool(Resource):
    """
    Keeps the blocks that come back, and gives them out again: most without a lock or a call of the driver.

    ``upstream`` is where it takes them from (the driver). It keeps at most ``max_cached`` bytes that are not in use, as far as the blocks in use allow.
    """

    def __init__(self, upstream: Resource | None = None, *, max_cached: int | None = None) -> None: ...

    @property
    def reserved_bytes(self) -> int:
        """Bytes taken from the upstream."""

    @property
    def used_bytes(self) -> int:
        """Bytes of blocks that are given out, rounded as they are."""

    @property
    def cached_bytes(self) -> int:
        """Bytes that are free, to be given again."""

    @property
    def waiting_bytes(self) -> int:
        """Bytes that were given back, but that a device may still be using."""

class shareable(Resource):
    """
    Memory that other processes can open, by ``Array.share``: each block an allocation of its own, in whole pages of the device.

    On the host, a file without a name; on CUDA, device memory with a file of the driver's. Nothing is left of either when
    the last process that has it releases it, or dies. Devices without such memory raise DeviceError.
    """

    def __init__(self) -> None: ...

class limit(Resource):
    """
    Lets no more than ``limit`` bytes out of its upstream (the default pool) at a time; beyond that allocations raise USMAllocationError.
    """

    def __init__(self, limit: int, upstream: Resource | None = None) -> None: ...

    @property
    def limit(self) -> int:
        """Bytes that may be out at a time."""

    @property
    def used_bytes(self) -> int:
        """Bytes that are out, as they were asked for."""

class log(Resource):
    """
    A line for every allocation and deallocation that passes through it to its upstream (the default pool).

    ``sink`` is called with each line, on the thread that allocates; without one, lines go to standard error.
    """

    def __init__(self, upstream: Resource | None = None, *, sink: Callable[[str], object] | None = None) -> None: ...

class TrackedAllocation:
    """An allocation that has not been freed."""

    @property
    def address(self) -> int:
        """Where it lies."""

    @property
    def nbytes(self) -> int:
        """Bytes, as they were asked for."""

    @property
    def kind(self) -> str:
        """'host', 'device' or 'shared'."""

    @property
    def device(self) -> Device:
        """The device that it was made for."""

    @property
    def stack(self) -> str:
        """Where it was made, the most recent call last."""

    def __repr__(self) -> str: ...

class track(Resource):
    """
    Remembers the Python stack of every allocation that passes through it to its upstream (the default pool), up to ``frames`` of it.

    What is still live when the interpreter exits is reported on standard error.
    """

    def __init__(self, upstream: Resource | None = None, *, frames: int = 16) -> None: ...

    @property
    def live(self) -> list[TrackedAllocation]:
        """The allocations that have not been freed, in the order of allocation."""

    def report(self) -> str:
        """
        The same for a person to read, with the stacks; '' where nothing is left.
        """

class statistics(Resource):
    """
    Counts what passes through it to its upstream (the default pool): bytes as they were asked for, and allocations.
    """

    def __init__(self, upstream: Resource | None = None) -> None: ...

    @property
    def current_bytes(self) -> int:
        """Bytes that are out."""

    @property
    def peak_bytes(self) -> int:
        """The most bytes that were out at a time."""

    @property
    def total_bytes(self) -> int:
        """Bytes of all allocations so far."""

    @property
    def current_count(self) -> int:
        """Allocations that are out."""

    @property
    def peak_count(self) -> int:
        """The most allocations that were out at a time."""

    @property
    def total_count(self) -> int:
        """All allocations so far."""

    @property
    def failed_count(self) -> int:
        """
        Allocations that the upstream refused, once each, however often they were tried.
        """

    def reset_peaks(self) -> None:
        """Let the peaks begin again from what is out now."""

def set_resource(device: object, resource: Resource | None) -> None:
    """
    Let allocations for ``device`` come from ``resource`` from now on, on every thread; None: from the default pool again.
    """

def get_resource(device: object) -> Resource:
    """
    What an allocation for ``device`` would come from now: the innermost ``use_resource`` of the thread, else what ``set_resource`` set, else the default pool.
    """

def trim() -> int:
    """
    Give what is free in every pool back to the driver. Returns the bytes given back.
    """

class use_resource:
    """
    ``with use_resource(resource):`` lets all allocations of this thread come from it, for every device.
    """

    def __init__(self, resource: Resource) -> None: ...

    def __enter__(self) -> Resource: ...

    def __exit__(self, exc_type: object, exc_value: object, traceback: object, /) -> None: ...

class Memory:
    """What MemoryUSMHost, MemoryUSMShared and MemoryUSMDevice have in common; not made by itself."""

    @property
    def nbytes(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def _pointer(self) -> int: ...
    @property
    def _context(self) -> Any: ...
    @property
    def _queue(self) -> Any: ...
    @property
    def reference_obj(self) -> object: ...
    @property
    def sycl_context(self) -> Any: ...
    @property
    def sycl_device(self) -> Any: ...
    @property
    def sycl_queue(self) -> Any: ...
    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]: ...
    def __new__(
        cls, other: object, /, *, alignment: int = 0, queue: object | None = None, copy: bool = False
    ) -> Self: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def get_usm_type(self, syclobj: object | None = None) -> str: ...
    def get_usm_type_enum(self, syclobj: object | None = None) -> int: ...
    def copy_to_host(self, obj: Any = None) -> Any: ...
    def copy_from_host(self, obj: Buffer) -> None: ...
    def copy_from_device(self, sycl_usm_ary: object) -> None: ...
    def memset(self, val: int = 0) -> None: ...
    def share(self) -> ArrayHandle: ...
    def tobytes(self) -> bytes: ...
    def __bytes__(self) -> bytes: ...
    def __len__(self) -> int: ...

class MemoryUSMHost(Memory):
    """Memory of the host, which the queue's device reaches."""

    def __buffer__(self, flags: int, /) -> memoryview: ...

class MemoryUSMShared(Memory):
    """Memory that moves between the host and the queue's device, and that both reach."""

    def __buffer__(self, flags: int, /) -> memoryview: ...

class MemoryUSMDevice(Memory):
    """Memory of the queue's device, which the host cannot reach."""

def as_usm_memory(obj: object, /) -> MemoryUSMHost | MemoryUSMShared | MemoryUSMDevice:
    """
    The memory of an object with ``__sycl_usm_array_interface__``, or of an Array, as MemoryUSMHost, MemoryUSMShared or
    MemoryUSMDevice, whichever kind the driver says it is; never a copy.

    Raises ValueError (InterfaceError) where the object has no such interface, or one that is malformed or untrue.
    """

class Pointer:
    """
    An address for a C function, and what keeps the memory there.

    ``pyobj`` is, and is looked at in this order: None, for NULL; an adapter, whose address is copied and whose buffer is not; an
    int; a ctypes pointer (c_void_p, c_char_p, POINTER, a function), for what it points to; an Array; an object with
    ``__cuda_array_interface__``; one with a contiguous buffer, which is held as long as the adapter lives; one with
    ``as_c_void_p()``; whatever else asarray takes. A ctypes number or structure is a buffer: its address is C's ``&x``.

    ``p[n]`` is the pointer ``n`` bytes further on. Adapters are equal where their addresses are, and to ints.

    Raises TypeError for what stands for no address, OverflowError for ints outside of 0 … 2**64 - 1, ValueError for strided memory.
    """

    def __init__(self, pyobj: object = None) -> None: ...
    @classmethod
    def fromObj(cls, pyobj: object, /) -> Self:
        """``pyobj`` itself if it is of this class already, else a new adapter made from it."""
    def createRef(self) -> Pointer:
        """A Pointer to the address that this adapter holds, as C's ``&p``; it keeps the adapter."""
    def as_c_void_p(self) -> ctypes.c_void_p:
        """The address as a ctypes.c_void_p."""
    @property
    def is_ptr_null(self) -> bool:
        """Whether the address is NULL."""
    @property
    def is_owner(self) -> bool:
        """Whether the memory is the adapter's own allocation."""
    @property
    def is_read_only(self) -> bool:
        """Whether the memory must not be written: such an adapter is refused as a destination."""
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getitem__(self, offset: Any, /) -> Any: ...

class CStr(Pointer):
    """
    A string of C: from a str, as UTF-8, from bytes, or from what Pointer takes.

    What it is made from lives as long as the adapter. Where a C function has written, ``str()`` reads what is there now.
    """

    def __init__(self, pyobj: object) -> None: ...
    def decode(self, encoding: str = 'utf-8', errors: str = 'strict') -> str:
        """The string, as bytes.decode() has it."""
    def encode(self, encoding: str = 'utf-8', errors: str = 'strict') -> bytes:
        """The string's bytes in an encoding, as str.encode() has them."""
    def malloc(self, content_len: int, /) -> None:
        """
        Allocate zeros for a string of ``content_len`` bytes, and for the NUL behind it.

        Raises RuntimeError unless this CStr stands for NULL.
        """
    def free(self) -> None:
        """
        Free what malloc() has allocated; nothing happens to NULL.

        Raises RuntimeError for any other memory.
        """
    def __bytes__(self) -> bytes: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int | slice, /) -> str: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, buffer: memoryview, /) -> None: ...

class DeviceArray(Pointer):
    """
    An address of device memory with a shape and a type, as hipMalloc returns it; made from whatever Pointer takes, with the shape
    and the type of an Array, of an object with ``__cuda_array_interface__``, or of what asarray takes.

    ``configure()`` changes what is known of it; ``array[…]`` is a part of it, as in NumPy, which keeps the whole. asarray(array) is
    an Array of the same memory, once a driver knows the address.
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
        Say what is at the address, and return the array itself.

        ``typestr`` is one of the array interface or a name of NumPy's ('<f4', 'float32'); ``shape`` an int or ints; ``strides`` are in
        bytes, None for C-contiguous; ``itemsize`` may be left out where there is a typestr; ``stream`` is the one that consumers come
        behind. What is not said stays. The number of bytes must stay, too, unless ``_force=True``; a call that raises has changed
        nothing.

        Raises ValueError for what contradicts itself or the bytes there are.
        """
    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each axis, in elements; (0,) where nothing is known."""
    @property
    def strides(self) -> tuple[int, ...]:
        """Distance between neighbours along each axis, in bytes."""
    @property
    def typestr(self) -> str:
        """The type of an element, as the array interface spells it."""
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
        """The stream that consumers come behind, or None."""
    @property
    def is_freed(self) -> bool:
        """Whether the memory has been given back: such an array is refused everywhere."""
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface, version 3, in a dict of the caller's own; AttributeError for memory of the host."""
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """
        NumPy's array of memory of the host.

        Raises ExchangeError for memory that the host cannot reach.
        """
    def __dlpack__(
        self,
        *,
        stream: object | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType:
        """A DLPack capsule of the same memory, as entrepot.Array gives it. Raises BufferError (ExchangeError) with the reason."""
    def __dlpack_device__(self) -> tuple[int, int]:
        """(device type, device id) as DLPack numbers them."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: object, /) -> DeviceArray: ...

class ListOfBytes(Pointer):
    """An array of C strings from a list or tuple of bytes, str or CStr, which it keeps; or the address of one, as Pointer takes it."""

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which goes with the adapter."""
    def to_list(self) -> list[bytes | None]:
        """
        The elements as they are now, in a list.

        Raises TypeError where the length is not known.
        """
    def to_tuple(self) -> tuple[bytes | None, ...]:
        """
        The elements as they are now, in a tuple.

        Raises TypeError where the length is not known.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[bytes | None]: ...

class ListOfPointer(Pointer):
    """An array of addresses from a list or tuple of what Pointer takes, kept as a Pointer keeps it; or the address of an array."""

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which goes with the adapter."""
    def to_list(self) -> list[Pointer]:
        """
        The elements as they are now, in a list.

        Raises TypeError where the length is not known.
        """
    def to_tuple(self) -> tuple[Pointer, ...]:
        """
        The elements as they are now, in a tuple.

        Raises TypeError where the length is not known.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Pointer]: ...

class ListOfInt(Pointer):
    """
    An array of C integers from a list or tuple of ints, or the address of one, as Pointer takes it.

    Raises TypeError and OverflowError with the index of an element that is no int, or does not fit.
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which goes with the adapter."""
    def to_list(self) -> list[int]:
        """
        The elements as they are now, in a list.

        Raises TypeError where the length is not known.
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        The elements as they are now, in a tuple.

        Raises TypeError where the length is not known.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class ListOfUnsigned(Pointer):
    """
    An array of C integers from a list or tuple of ints, or the address of one, as Pointer takes it.

    Raises TypeError and OverflowError with the index of an element that is no int, or does not fit.
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which goes with the adapter."""
    def to_list(self) -> list[int]:
        """
        The elements as they are now, in a list.

        Raises TypeError where the length is not known.
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        The elements as they are now, in a tuple.

        Raises TypeError where the length is not known.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class ListOfLong(Pointer):
    """
    An array of C integers from a list or tuple of ints, or the address of one, as Pointer takes it.

    Raises TypeError and OverflowError with the index of an element that is no int, or does not fit.
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which goes with the adapter."""
    def to_list(self) -> list[int]:
        """
        The elements as they are now, in a list.

        Raises TypeError where the length is not known.
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        The elements as they are now, in a tuple.

        Raises TypeError where the length is not known.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class ListOfUnsignedLong(Pointer):
    """
    An array of C integers from a list or tuple of ints, or the address of one, as Pointer takes it.

    Raises TypeError and OverflowError with the index of an element that is no int, or does not fit.
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which goes with the adapter."""
    def to_list(self) -> list[int]:
        """
        The elements as they are now, in a list.

        Raises TypeError where the length is not known.
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        The elements as they are now, in a tuple.

        Raises TypeError where the length is not known.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class ListOfInt64(Pointer):
    """
    An array of C integers from a list or tuple of ints, or the address of one, as Pointer takes it.

    Raises TypeError and OverflowError with the index of an element that is no int, or does not fit.
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which goes with the adapter."""
    def to_list(self) -> list[int]:
        """
        The elements as they are now, in a list.

        Raises TypeError where the length is not known.
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        The elements as they are now, in a tuple.

        Raises TypeError where the length is not known.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class ListOfUInt64(Pointer):
    """
    An array of C integers from a list or tuple of ints, or the address of one, as Pointer takes it.

    Raises TypeError and OverflowError with the index of an element that is no int, or does not fit.
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """An array of ``count`` zeros, which goes with the adapter."""
    def to_list(self) -> list[int]:
        """
        The elements as they are now, in a list.

        Raises TypeError where the length is not known.
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        The elements as they are now, in a tuple.

        Raises TypeError where the length is not known.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class PointerToInt(ListOfInt):
    """The address of one C integer: from a list of one int, from allocate(), or what Pointer takes; ``value`` reads and writes it."""

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """A zero, or as many as ``count``, which goes with the adapter."""
    value: int
    """The number that is pointed to."""

class PointerToUnsigned(ListOfUnsigned):
    """The address of one C integer: from a list of one int, from allocate(), or what Pointer takes; ``value`` reads and writes it."""

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """A zero, or as many as ``count``, which goes with the adapter."""
    value: int
    """The number that is pointed to."""

class PointerToLong(ListOfLong):
    """The address of one C integer: from a list of one int, from allocate(), or what Pointer takes; ``value`` reads and writes it."""

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """A zero, or as many as ``count``, which goes with the adapter."""
    value: int
    """The number that is pointed to."""

class PointerToUnsignedLong(ListOfUnsignedLong):
    """The address of one C integer: from a list of one int, from allocate(), or what Pointer takes; ``value`` reads and writes it."""

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """A zero, or as many as ``count``, which goes with the adapter."""
    value: int
    """The number that is pointed to."""

class PointerToInt64(ListOfInt64):
    """The address of one C integer: from a list of one int, from allocate(), or what Pointer takes; ``value`` reads and writes it."""

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """A zero, or as many as ``count``, which goes with the adapter."""
    value: int
    """The number that is pointed to."""

class PointerToUInt64(ListOfUInt64):
    """The address of one C integer: from a list of one int, from allocate(), or what Pointer takes; ``value`` reads and writes it."""

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """A zero, or as many as ``count``, which goes with the adapter."""
    value: int
    """The number that is pointed to."""

class HipModuleLaunchKernel_extra(Pointer):
    """
    The arguments of a kernel as hipModuleLaunchKernel takes them, from a list or tuple. Its items are ctypes data, which are
    passed by value, and whatever Pointer takes. Each lies where the C ABI puts it.

    Raises TypeError with the index of an argument that is neither: wrap numbers in ctypes.
    """

    def __init__(self, pyobj: object) -> None: ...

class Form:
    """A type of C, and what its values are in Python. Made by entrepot.ffi."""

    def __new__(
        cls, how: str, kind: str, type: type | None = None, element: Form | None = None, count: int = 0
    ) -> Self: ...
    @property
    def size(self) -> int:
        """The bytes that C has for it."""
    def complete(self, type: type, /) -> None:
        """The record, of a form of its address that was made before it."""

class Record(Pointer):
    """
    A struct or union of C: its fields are attributes.

    The base of the classes that bindings have; a Pointer to its own memory, which is zeros, or to what ``fromObj`` was given.
    """

    def __init__(self, *values: object, **fields: object) -> None: ...
    @classmethod
    def PROPERTIES(cls) -> list[str]:
        """The names of the fields, in the order of C."""
    @classmethod
    def c_sizeof(cls) -> int:
        """The bytes of one."""
    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """
        An array of ``count`` records, one behind the other; the attributes are the first one's.

        ``element(i)`` is the i-th.
        """
    @classmethod
    def fromObj(cls, pyobj: object, /) -> Self:
        """The record that lies where Pointer(pyobj) points; ``pyobj`` itself if it is one. None is NULL."""
    def element(self, i: int, /) -> Self:
        """The i-th record of an array of them; it keeps the array."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> Any: ...

class Field:
    """A field of a struct or union."""

    @property
    def name(self) -> str:
        """Its name in C."""
    @property
    def offset(self) -> int:
        """Bytes from the record's first to the field's."""
    @property
    def size(self) -> int:
        """Its bytes."""
    @property
    def bits(self) -> int:
        """The width of a bit-field; 0 for others."""
    @property
    def first_bit(self) -> int:
        """The position of a bit-field in its unit."""

def make_record(
    name: str,
    size: int,
    alignment: int,
    is_union: bool,
    fields: tuple[tuple[str, Form, int, int, int, Any, bool], ...],
    dict: dict[str, Any],
    /,
) -> Any:
    """The class of a struct or union. For entrepot.ffi."""

class Handle(Pointer):
    """
    A pointer to a struct that only its library knows; the base of the classes that bindings have.

    A function that asks for a handle refuses that of another class. It takes ints, None, ctypes' pointers and adapters of no class
    as they are: ``Pointer(handle)`` is one.
    """

def make_handle(name: str, dict: dict[str, Any], /) -> Any:
    """The class of a handle. For entrepot.ffi."""

class FunctionPointer(Pointer):
    """
    A pointer to a C function: of a Python callable, which C may call as long as this object lives, or of what Pointer takes.

    Call it from Python as C would. An exception of a callable is reported by sys.unraisablehook, and C gets zero.
    """

    def __new__(cls, pyobj: object, /) -> Self: ...
    def __init__(self, pyobj: object, /) -> None: ...
    def __call__(self, *values: object) -> Any: ...

def make_callback(
    name: str, result: Form, parameters: tuple[tuple[str, Form], ...], dict: dict[str, Any], /
) -> Any:
    """The class of a pointer to a function. For entrepot.ffi."""

class ForeignLibrary:
    """A shared library that is opened when something of it is first asked for, and never closed."""

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
        """The file that was opened. Raises LibraryError if there is no such library."""

class ForeignFunction:
    def __new__(cls, library: object, declaration: Any, symbol: str | None = None) -> Self: ...
    @property
    def declaration(self) -> Any:
        """The Python function that declares it."""
    @property
    def symbol(self) -> str | None:
        """The name of the function in older libraries; None: the same name."""
    def __call__(self, *args: object, **kwargs: object) -> Any: ...

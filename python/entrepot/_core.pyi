"""The C++ side of entrepot; import entrepot instead."""

from collections.abc import Callable, Sequence
from typing import Any


import ctypes
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NoReturn, SupportsIndex, final

from typing_extensions import Buffer, CapsuleType, Self

__version__: str

def _rebuild_usm_memory(cls: type[Memory], data: bytes, usm_type: str, /) -> Memory:
    """Make an object from its pickled state."""
def _allocate_on_stream(nbytes: int, device: int, stream: int, owner: object) -> int: ...
def _deallocate_on_stream(address: int) -> None: ...
def _in_device_context() -> bool: ...
def _device_array(address: int, nbytes: int, /) -> DeviceArray:
    """A DeviceArray of memory that a native allocator returned. It does not own the memory."""
def _mark_freed(obj: object, /) -> None:
    """Mark the memory as freed by a native deallocator, so that later use is refused."""
def _synchronize_for_host(array: Array, /) -> None:
    """
    Blocks until the host may access the array as its read-only flag allows. Records that
    foreign code has the pointer.
    """

class _Graph:
    """Nodes that a backend has prepared; entrepot.Graph holds one."""

    def __len__(self) -> int: ...
    @property
    def queue(self) -> Queue | None: ...
    def node(self, index: int) -> tuple[str, str | None, tuple[Array, ...]]: ...
    def replay(self, queue: object = None) -> Event: ...

class _Recording:
    """A recording of the calling thread; entrepot.record makes one."""

    def __init__(self, queue: object = None) -> None: ...
    @property
    def queue(self) -> Queue: ...
    @property
    def calls(
        self,
    ) -> list[
        tuple[int, Callable[..., Event], object, tuple[object, ...], dict[str, object]]
    ]: ...
    def end(self) -> _Graph: ...
    def replace(self, graph: _Graph, index: int) -> None: ...
    def discard(self) -> None: ...

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
    The type of an element: DLPack's code, bits and lanes.

    A Dtype is equal to every other spelling of the same type.

    Parameters
    ----------
    spelling : dtype_like
        A Dtype, a name, a typestr, a numpy.dtype, a torch.dtype or a
        scalar type.

    Raises
    ------
    TypeError
        If it is another object, or an unknown name.
    InterfaceError
        If it is a typestr of big-endian byte order, or of an unknown kind
        or size.

    Examples
    --------
    >>> ep.Dtype("<f4")
    Dtype('float32')
    >>> ep.Dtype("float32") == np.dtype("float32")
    True
    >>> ep.Dtype(np.float64).itemsize
    8
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
    A device or sub-device.

    It compares equal to dpctl's SyclDevice of the same device. ``str(device)`` is
    the selector that finds the device again. ``Device(selector)`` is equivalent to
    ``entrepot.device(selector)``.

    Parameters
    ----------
    device : Device or str
        A Device, a selector, or dpctl's SyclDevice.

    Raises
    ------
    ValueError
        If the selector is malformed.
    DeviceError
        If no device matches the selector.
    TypeError
        If the object is neither a device nor a selector.

    Examples
    --------
    >>> device = ep.Device("host")
    >>> str(device)
    'host'
    >>> device.is_cpu
    True
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
        Supported arguments of sub_devices(), any of 'equally', 'counts' and 'affinity'.
        """

    @property
    def parent_device(self) -> Device | None:
        """The device that this sub-device is part of; None for a root device."""

    def get_unpartitioned_parent_device(self) -> Device:
        """
        The root device that contains this sub-device, or the device itself.

        Returns
        -------
        Device
            The root device, which has no ``parent_device``.

        Examples
        --------
        >>> host = ep.device("host")
        >>> host.get_unpartitioned_parent_device() == host
        True
        """

    def get_filter_string(self) -> str:
        """
        The selector, as ``str(device)``.

        Returns
        -------
        str
            The selector, also in ``filter_string``.

        Examples
        --------
        >>> ep.device("host").get_filter_string()
        'host'
        """

    def can_access(self, peer: Device) -> bool:
        """
        True if kernels on this device can access memory of ``peer``.

        Copies do not require this.

        Parameters
        ----------
        peer : Device
            The device that the memory belongs to.

        Returns
        -------
        bool
            True if a kernel can access the memory. False for a device of another
            backend.

        Examples
        --------
        >>> host = ep.device("host")
        >>> host.can_access(host)
        True
        """

    def sub_devices(self, *, equally: int | None = None, counts: Sequence[int] | None = None, affinity: str | None = None) -> list[Device]:
        """
        Divide the device in one of three ways.

        Exactly one argument is given. ``partitions`` names the ways that the device
        supports. Repeating a division returns the same devices.

        Parameters
        ----------
        equally : int, optional
            Each sub-device has this number of compute units.
        counts : sequence of int, optional
            One sub-device for each entry, with that many compute units.
        affinity : str, optional
            One sub-device for each unit of that level: 'numa', 'l4', 'l3', 'l2', 'l1'
            or 'next'.

        Returns
        -------
        list of Device
            The sub-devices. Their ``parent_device`` is this device.

        Raises
        ------
        DeviceError
            If the device does not support the division.
        ValueError
            If the device does not have the compute units, or ``affinity`` is not one of
            the levels.
        TypeError
            Unless exactly one way is given.

        Examples
        --------
        >>> cpu = ep.device("opencl:cpu")  # doctest: +SKIP
        >>> first, second = cpu.sub_devices(counts=[1, 1])  # doctest: +SKIP
        >>> first.max_compute_units, first.parent_device == cpu  # doctest: +SKIP
        (1, True)
        """

    def create_sub_devices(self, partition: object) -> list[Device]:
        """
        Divide the device like ``sub_devices``, with dpctl's argument.

        Parameters
        ----------
        partition : int, sequence of int, or str
            An int divides equally, a sequence gives counts, and a string names an
            affinity domain.

        Returns
        -------
        list of Device
            The sub-devices, as ``sub_devices`` returns them.

        Raises
        ------
        DeviceError
            If the device does not support the division.
        ValueError
            If the device does not have the compute units, or there is no such affinity
            domain.
        TypeError
            If ``partition`` has another type.

        Examples
        --------
        >>> cpu = ep.device("opencl:cpu")  # doctest: +SKIP
        >>> len(cpu.create_sub_devices([1, 1]))  # doctest: +SKIP
        2
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
        The default queue, in order and in the default context. Every access returns the same queue.
        """

    def addressof_ref(self) -> int:
        """
        Address of the sycl::device, valid until the process exits.

        Returns
        -------
        int
            The address.

        Raises
        ------
        DeviceError
            If the device belongs to a backend other than SYCL.

        Examples
        --------
        >>> address = ep.device("opencl:cpu").addressof_ref()  # doctest: +SKIP
        """

class Context:
    """
    A driver context, which memory is bound to.

    Contexts of the same native context are equal, dpctl's included.

    Parameters
    ----------
    obj : object
        A list or tuple of devices makes a new context of these devices. On the
        host, CUDA and HIP, each device has one context, which is returned instead.
        Other objects are wrapped: dpctl's SyclContext, a capsule 'SyclContextRef',
        or an object with ``_get_capsule()``. A queue gives its context, a device or
        selector its default context.

    Raises
    ------
    ValueError
        If there are no devices, or devices that cannot share a context, such as
        those of two backends. Also for a consumed capsule and a malformed selector.
    DeviceError
        If no device matches the selector.
    TypeError
        If the object is neither a context nor a queue or device.

    Examples
    --------
    >>> context = ep.Context("host")
    >>> context.devices
    [Device('host')]
    >>> context == ep.device("host").context
    True
    """

    def __init__(self, obj: object) -> None: ...

    def __repr__(self) -> str: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    @property
    def devices(self) -> list[Device]:
        """The devices in the context."""

    def get_devices(self) -> list[Device]:
        """
        The devices in the context, as ``devices``.

        Returns
        -------
        list of Device
            The devices.

        Examples
        --------
        >>> ep.Context("host").get_devices()
        [Device('host')]
        """

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

        Returns
        -------
        int
            The address.

        Raises
        ------
        DeviceError
            If the context belongs to a backend other than SYCL.

        Examples
        --------
        >>> context = ep.Context("opencl:cpu")  # doctest: +SKIP
        >>> address = context.addressof_ref()  # doctest: +SKIP
        """

@final
class Event:
    """
    A position in a queue. The event is done when all work before it is done.

    Launches, copies and ``Queue.record()`` return an Event:
    ``event = kernel[1024](array)``, then ``event.wait()``.

    Examples
    --------
    >>> array = ep.zeros(3, "int32", device="host")
    >>> event = ep.copy(array, np.arange(3, dtype="int32"))
    >>> event.wait()
    >>> event.done
    True
    """

    def wait(self) -> None:
        """
        Block until the event is done.

        Raises
        ------
        DeviceError
            If the work before the event failed or is captured into a graph.

        Examples
        --------
        >>> array = ep.zeros(3, "int32", device="host")
        >>> event = ep.fill(array, 7)
        >>> event.wait()
        >>> event.done
        True
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

        Both events must be done, and come from profiling queues of one backend.

        Parameters
        ----------
        later : Event
            The event at the end of the interval.

        Returns
        -------
        float
            The time in seconds.

        Raises
        ------
        DeviceError
            If an event is not done or marks no work, or the events belong to two
            backends.
        ValueError
            If an event has no time, because its queue was made without profiling.
        TypeError
            If ``later`` is not an event.

        Examples
        --------
        >>> queue = ep.Queue("host", profiling=True)
        >>> start = queue.record()
        >>> array = ep.zeros(1000, "float32", queue=queue)
        >>> end = queue.record()
        >>> end.wait()
        >>> start.seconds_until(end) >= 0
        True
        """

class Queue:
    """
    A queue of work for a device.

    Within ``with queue:``, it is the current queue: calls that name no device use
    it.

    Parameters
    ----------
    device : object, optional
        A Device, a selector or dpctl's SyclDevice, for a new in-order queue. The
        default is the current device. Other objects are existing queues, which are
        wrapped and may be out of order: dpctl's SyclQueue, a capsule
        'SyclQueueRef', or an object with ``_get_capsule()``. Wrapping a capsule
        consumes it. A CUDA stream, an object with ``__cuda_stream__()``, can also
        be wrapped. The Queue holds a reference to it, which the garbage collector
        does not see.
    context : Context, optional
        The context of a new queue. The default is the device's
        default context.
    profiling : bool, optional
        True if the events of the new queue record times. The default is False.

    Raises
    ------
    DeviceError
        If the device cannot measure time, or no device matches the selector.
    ValueError
        If the capsule is consumed, the selector is malformed, or the device is not
        in the context.
    TypeError
        If the object is not a queue or device, or an option is given for a queue
        that is wrapped.

    Examples
    --------
    >>> queue = ep.Queue("host")
    >>> with queue:
    ...     array = ep.zeros(3, "int32")
    >>> array.queue == queue
    True
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

        Raises
        ------
        DeviceError
            If earlier work failed, or while the queue is being captured into a graph.

        Examples
        --------
        >>> queue = ep.Queue("host")
        >>> array = ep.full(3, 7, "int32", queue=queue)
        >>> queue.wait()
        >>> queue.is_idle
        True
        """

    def record(self) -> Event:
        """
        Record an Event that is done when all work that the queue holds now is done.

        Returns
        -------
        Event
            The event, to wait for on the host or in another queue.

        Raises
        ------
        DeviceError
            If the driver cannot record an event. Also in a process that was forked from
            one that used the device.

        Examples
        --------
        >>> queue = ep.Queue("host")
        >>> array = ep.full(3, 7, "int32", queue=queue)
        >>> event = queue.record()
        >>> event.wait()
        >>> event.done
        True
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
        """
        The device, as ``device``.

        Returns
        -------
        Device
            The device that runs the work.

        Examples
        --------
        >>> ep.Queue("host").get_sycl_device()
        Device('host')
        """

    def get_sycl_context(self) -> Context:
        """
        The context, as ``context``.

        Returns
        -------
        Context
            The context of the memory that the work uses.

        Examples
        --------
        >>> queue = ep.Queue("host")
        >>> queue.get_sycl_context() == queue.context
        True
        """

    @property
    def backend(self) -> str:
        """The device's backend, such as 'opencl' or 'host'."""

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

        Returns
        -------
        int
            The address.

        Raises
        ------
        DeviceError
            If the queue belongs to a backend other than SYCL.

        Examples
        --------
        >>> queue = ep.Queue("opencl:cpu")  # doctest: +SKIP
        >>> address = queue.addressof_ref()  # doctest: +SKIP
        """

    def __cuda_stream__(self) -> tuple[int, int]:
        """
        The version of the protocol, 0, and the CUstream, which is valid while this queue exists.

        Raises DeviceError for queues of other backends.
        """

    def wait_for(self, other: object, /) -> None:
        """
        Make later work of the queue wait for ``other``.

        The call blocks only if ``other`` belongs to another backend, or is outside the
        graph capture that this queue is in. Waiting for captured work adds this queue
        to the capture.

        Parameters
        ----------
        other : Event or Queue
            An Event, dpctl's SyclEvent, or a Queue, which stands for all work that it
            holds now.

        Raises
        ------
        DeviceError
            If ``other`` belongs to another capture, or is an event of a capture that
            has ended.
        TypeError
            If ``other`` is neither an event nor a queue.

        Examples
        --------
        >>> producer, consumer = ep.Queue("host"), ep.Queue("host")
        >>> array = ep.full(3, 7, "int32", queue=producer)
        >>> consumer.wait_for(producer)
        >>> consumer.wait_for(producer.record())  # the same, by an event
        """

class Program:
    """
    A program that was built for a device.

    Parameters
    ----------
    source : str or bytes
        The source text. SPIR-V and binaries are bytes.
    device : Device or str, optional
        The device to build for. The default is the current device.
    dialect : str, optional
        'opencl-c', 'sycl', 'spirv', 'cuda', 'ptx', 'cubin', 'hip', 'hsaco' or 'c++'
        (for the host). The default is the first dialect that the device can build.
    options : str, optional
        Options of the compiler. The default is ''.
    context : Context, optional
        The context of the queues that will run the kernels. The default is the
        device's default context.

    Raises
    ------
    KernelError
        If the source does not build. The message has the build log.
    DeviceError
        If the device cannot build the dialect, or no device matches the selector.
    ValueError
        If ``dialect`` is not one of the names, or the selector is malformed.
    TypeError
        If ``source`` is neither str nor bytes.

    Examples
    --------
    >>> source = '''
    ... extern "C" void twice(const long long *range, void *const *arguments) {
    ...     for (long long i = range[10]; i < range[11]; ++i)
    ...         static_cast<double *>(arguments[0])[i] *= 2;
    ... }'''
    >>> program = ep.Program(source, "host")
    >>> numbers = ep.full(3, 21, "float64", device="host")
    >>> program.kernel("twice")[3](numbers).wait()
    >>> numbers.numpy()
    array([42., 42., 42.])
    """

    def __init__(self, source: object | None, device: object | None = None, *, dialect: str | None = None, options: str = '', context: object | None = None) -> None: ...

    def __repr__(self) -> str: ...

    def kernel(self, name: str) -> Kernel:
        """
        The kernel with that name.

        Parameters
        ----------
        name : str
            The name of the function in the source. In CUDA C++ it is the C++ name, and
            may be that of a template instance.

        Returns
        -------
        Kernel
            The kernel. It keeps the program alive.

        Raises
        ------
        KernelError
            If the program has no such kernel.

        Examples
        --------
        >>> source = '''
        ... extern "C" void clear(const long long *range, void *const *arguments) {
        ...     for (long long i = range[10]; i < range[11]; ++i)
        ...         static_cast<int *>(arguments[0])[i] = 0;
        ... }'''
        >>> ep.Program(source, "host").kernel("clear")
        <entrepot.Kernel 'clear' for host>
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
    """
    A kernel of a program. It keeps the program alive.

    ``kernel[global, local](…)`` launches it on ``global`` work-items, in
    work-groups of ``local`` work-items. Each is an int or a tuple of 1 to 3 ints.
    Without ``local`` the device chooses. The call returns an Event.

    Examples
    --------
    >>> source = '''
    ... extern "C" void count(const long long *range, void *const *arguments) {
    ...     for (long long i = range[10]; i < range[11]; ++i)
    ...         static_cast<int *>(arguments[0])[i] = i;
    ... }'''
    >>> kernel = ep.Program(source, "host").kernel("count")
    >>> numbers = ep.zeros(5, "int32", device="host")
    >>> kernel[5](numbers).wait()
    >>> numbers.numpy()
    array([0, 1, 2, 3, 4], dtype=int32)
    """

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

def get_num_threads() -> int:
    """
    How many threads a launch, copy or fill on the host may use.

    Returns
    -------
    int
        The limit for the process. At first it is the number of processors that the
        process may use.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> ek.get_num_threads() >= 1
    True
    """

def set_num_threads(count: int) -> None:
    """
    Sets how many threads a launch, copy or fill on the host may use.

    The limit holds for the whole process, and for work that begins afterwards.

    Parameters
    ----------
    count : int
        1 to the number of processors that the process may use.

    Raises
    ------
    ValueError
        If ``count`` is outside of this range.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> before = ek.get_num_threads()
    >>> ek.set_num_threads(1)
    >>> ek.get_num_threads()
    1
    >>> ek.set_num_threads(before)
    """

def devices() -> list[Device]:
    """
    All root devices of all available backends, the host last.

    The first call loads every backend.

    Returns
    -------
    list of Device
        The devices. The host is always present.

    Examples
    --------
    >>> ep.devices()[-1]
    Device('host')
    """

def device(selector: object | None = None) -> Device:
    """
    The device that a selector names.

    Parameters
    ----------
    selector : str or Device, optional
        'opencl:cpu:0', 'gpu', 'level_zero', '0', 'cuda:0', 'hip:1', 'host',
        'default', or 'opencl:cpu:0/1' for a sub-device. If several devices match,
        the one with the highest score is chosen, then the one with the lowest
        number. A Device and dpctl's SyclDevice are also accepted. The default is
        the current device.

    Returns
    -------
    Device
        The device.

    Raises
    ------
    ValueError
        If the selector is malformed.
    DeviceError
        If no device matches. The message lists the available devices, and why other
        backends are absent.
    TypeError
        If the argument is neither a selector nor a device.

    Examples
    --------
    >>> ep.device("host")
    Device('host')
    >>> with ep.device_context("host"):
    ...     ep.device()
    Device('host')
    """

def device_context(device: object) -> Queue:
    """
    A queue for a ``with`` statement, which makes it current.

    ``with device_context('gpu') as queue:`` makes the queue current in this thread,
    so that calls that name no device use it.

    Parameters
    ----------
    device : object
        A device or selector, for its default queue, or a queue.

    Returns
    -------
    Queue
        The queue. For a dpctl.SyclQueue, ``as`` binds that same object.

    Raises
    ------
    DeviceError
        If there is no such device.
    ValueError
        If the selector is malformed.
    TypeError
        If the object is neither a device nor a queue.

    Examples
    --------
    >>> with ep.device_context("host") as queue:
    ...     array = ep.zeros(3, "int32")
    >>> array.queue == queue
    True
    """

def backends() -> list[tuple[str, bool, str]]:
    """
    All backends that this version knows.

    A row is the backend's name, True if it is available, and what was loaded or why it is
    absent.
    """

class Scalar:
    """
    A number with a stated type, for use as a kernel argument.

    Parameters
    ----------
    value : bool, int, float, complex or Scalar
        The number. A Scalar must be of ``dtype``.
    dtype : dtype_like
        The type that the number is stored as.

    Raises
    ------
    OverflowError
        If the value does not fit the dtype.
    TypeError
        If the dtype does not accept it, such as a float for
        integers.
    ExchangeError
        If Python has no number for the dtype, such as float8_e5m2.

    Examples
    --------
    >>> ep.Scalar(3, "float32")
    Scalar(3.0, 'float32')
    >>> ep.Scalar(1.1, "float32").value
    1.100000023841858
    """

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
    computes nothing. It slices, transposes and reshapes without a copy, and exports its
    memory through every protocol. The Array is immutable, its elements are not. It keeps
    the owner of the memory alive.

    ``==`` of two Arrays is ``is``. Comparing with numbers, None or any other object that
    does not define the comparison raises TypeError: numpy.asarray(array) == 3 compares
    elements.

    Examples
    --------
    >>> array = ep.asarray(np.arange(6, dtype="int32")).reshape(2, 3)
    >>> array[:, 1].numpy()
    array([1, 4], dtype=int32)
    >>> np.asarray(array) == 3
    array([[False, False, False],
           [ True, False, False]])
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
        """One of 'host', 'device' and 'shared'. It states where the memory can be accessed."""
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
        A view with permuted axes.

        Parameters
        ----------
        *axes : int or sequence of int, optional
            The order of the axes, as separate ints or as one sequence. Negative ones count
            from the end. Without arguments, the axes are reversed.

        Returns
        -------
        Array
            A view of the same memory.

        Raises
        ------
        ValueError
            If the arguments are not a permutation of the axes.

        Examples
        --------
        >>> array = ep.zeros((2, 3, 4), "int8", device="host")
        >>> array.transpose(0, 2, 1).shape
        (2, 4, 3)
        >>> array.transpose().shape
        (4, 3, 2)
        """
    def reshape(self, *shape: int | Sequence[int]) -> Array:
        """
        A view of the elements in another shape.

        Parameters
        ----------
        *shape : int or sequence of int
            The new extents, in elements, as separate ints or as one sequence. One extent may
            be -1, which is computed from the others.

        Returns
        -------
        Array
            A view of the same memory.

        Raises
        ------
        ValueError
            If the sizes differ, or if the shape requires a copy.

        Examples
        --------
        >>> array = ep.asarray(np.arange(6, dtype="int32"))
        >>> array.reshape(2, -1).numpy()
        array([[0, 1, 2],
               [3, 4, 5]], dtype=int32)
        """
    def broadcast_to(self, *shape: int | Sequence[int]) -> Array:
        """
        A read-only view in which axes of extent 1 are stretched to the shape.

        Parameters
        ----------
        *shape : int or sequence of int
            The new extents, in elements, as separate ints or as one sequence. Missing axes are
            added in front.

        Returns
        -------
        Array
            A read-only view of the same memory.

        Raises
        ------
        ValueError
            If the array does not broadcast to the shape.

        Examples
        --------
        >>> row = ep.asarray(np.arange(3, dtype="int32"))
        >>> row.broadcast_to(2, 3).numpy()
        array([[0, 1, 2],
               [0, 1, 2]], dtype=int32)
        """
    def view(self, dtype: object, /) -> Array:
        """
        A view of the bytes as elements of another dtype.

        Parameters
        ----------
        dtype : dtype_like
            The new type of an element. If its size differs, so does the extent of the last
            axis.

        Returns
        -------
        Array
            A view of the same memory.

        Raises
        ------
        ValueError
            If the last axis or the alignment does not allow it.
        TypeError
            If the dtype is unknown.

        Examples
        --------
        >>> array = ep.full(1, 1, "float32", device="host")
        >>> hex(array.view("uint32").item())
        '0x3f800000'
        """
    def to(self, device: object | None = None, *, kind: str | None = None, queue: object | None = None) -> Array:
        """
        A C-contiguous copy on another device or in another kind of memory.

        The copy is ordered with other work. The call waits for the copy if the host can access
        this array's memory and the memory is borrowed or exported, such as NumPy's. That
        memory may be changed when the call returns. The call also waits if the bytes pass
        through the host, between two contexts that cannot copy to each other.

        Parameters
        ----------
        device : Device or str, optional
            The device of the copy. The default is the device of ``queue``, else this array's.
        kind : str, optional
            One of 'host', 'device' and 'shared'. The default is this array's kind if neither
            ``device`` nor ``queue`` is given, else 'host' on the host and 'device' elsewhere.
        queue : Queue, optional
            The default queue of the new array, which must be of ``device`` if both are given.
            The default is the default queue of ``device``, else this array's queue.

        Returns
        -------
        Array
            The copy, in new memory that it owns.

        Raises
        ------
        USMAllocationError
            If the memory cannot be allocated.
        DeviceError
            If no device matches, or the device does not support the kind.
        ValueError
            If the kind is unknown, the selector is malformed, or the queue is of another
            device.

        Examples
        --------
        >>> x = np.arange(3, dtype="int32")
        >>> array = ep.asarray(x).to("host")
        >>> x[0] = 7
        >>> array.numpy()
        array([0, 1, 2], dtype=int32)
        """
    def host(self) -> Array:
        """
        An Array of the same memory on the host device, without a copy.

        Returns
        -------
        Array
            A view whose device is the host. Each use of it waits for pending work of devices.

        Raises
        ------
        ExchangeError
            If the host cannot access the memory.

        Examples
        --------
        >>> array = ep.zeros(3, "int32", device="host", kind="shared")
        >>> array.host().kind
        'host'
        >>> array.host().data_ptr == array.data_ptr
        True
        """
    def numpy(self) -> Any:
        """
        A numpy.ndarray of the same memory.

        Waits for work that writes the memory, and for all work on it if the array is not
        read-only. Types such as bfloat16 and the narrower floats require ml_dtypes.

        Returns
        -------
        numpy.ndarray
            A view that keeps the memory alive, read-only if the array is.

        Raises
        ------
        ExchangeError
            If the host cannot access the memory, or NumPy has no such type.
        ModuleNotFoundError
            If NumPy, or ml_dtypes for a type that requires it, is not installed.
        DeviceError
            If earlier work on the memory failed.

        Examples
        --------
        >>> array = ep.full(3, 2, "float32", device="host")
        >>> array.numpy() * 10
        array([20., 20., 20.], dtype=float32)
        """
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """
        NumPy's conversion protocol: ``numpy()``, converted to ``dtype`` or copied if requested.

        Raises ExchangeError for memory that the host cannot access.
        """
    def item(self) -> bool | int | float | complex:
        """
        The only element as a bool, int, float or complex.

        The element is copied to the host if the host cannot access the memory. The call waits
        for work that writes the memory.

        Returns
        -------
        bool, int, float or complex
            The value of the element.

        Raises
        ------
        ValueError
            If the array does not have exactly one element.
        ExchangeError
            If Python has no number for the type.

        Examples
        --------
        >>> array = ep.asarray(np.array([1.5, 2.5]))
        >>> array[1].item()
        2.5
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

        Returns
        -------
        Array
            The copy, C-contiguous, on the host.

        Raises
        ------
        DeviceError
            If earlier work on the memory failed.
        USMAllocationError
            If the copy cannot be allocated.

        Examples
        --------
        >>> array = ep.full((2, 2), 7, "uint8", device="host")
        >>> array.copy_to_host().numpy()
        array([[7, 7],
               [7, 7]], dtype=uint8)
        """
    def copy_from_host(self, obj: object, /) -> None:
        """
        Copy the elements of any object that asarray accepts, complete on return.

        Parameters
        ----------
        obj : array_like
            The source, of the same dtype. It is broadcast to the shape of this array.

        Raises
        ------
        ValueError
            If this array is read-only, dtypes differ, shapes do not broadcast, or memory
            overlaps, as for ``entrepot.copy``.
        ExchangeError
            If the memory of ``obj`` cannot be viewed.
        TypeError
            If ``obj`` holds no memory.

        Examples
        --------
        >>> array = ep.empty(3, "int32", device="host")
        >>> array.copy_from_host(np.arange(3, dtype="int32"))
        >>> array.numpy()
        array([0, 1, 2], dtype=int32)
        """
    def share(self, *, fabric: bool = False) -> ArrayHandle:
        """
        An ArrayHandle with which another process opens the array, without a copy.

        The memory must come from ``entrepot.memory.shareable()``, or from a library whose
        memory the driver can share. The driver of CUDA or HIP shares memory of cudaMalloc, and
        mapped memory and pools with handles. SYCL shares memory of devices with the aspect
        ``ext_oneapi_ipc_memory``.

        Uses of the opened array run after the work that is pending on the memory now. The call
        waits for that work only if no event can stand for it (``ArrayHandle.host_wait``). The two
        processes must order later work between them.

        Keep the array or the handle until the other process has opened it. After that, each
        process keeps the memory alive by itself. Memory of cudaMalloc, of a pool and of SYCL
        must stay allocated while the other process uses it.

        Parameters
        ----------
        fabric : bool, optional
            Pass True for processes on other machines, if the device supports fabric handles.
            The default is False.

        Returns
        -------
        ArrayHandle
            A picklable handle, which keeps the memory alive in this process.

        Raises
        ------
        ExchangeError
            If the memory cannot be shared. The message names the resource whose memory can, or
            the setting of the library's allocator that allows it.
        DeviceError
            If work on the memory is captured or recorded into a graph.

        Examples
        --------
        >>> from entrepot import memory
        >>> with memory.use_resource(memory.shareable()):
        ...     array = ep.full(3, 5, "int32", device="host")
        >>> handle = array.share()
        >>> handle.open().numpy()  # in another process as well
        array([5, 5, 5], dtype=int32)
        """
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        """
        Reduce the array for pickle, by the policy of ``entrepot.pickling``.

        Raises TypeError under the default policy, 'refuse'.
        """
    def __copy__(self) -> Array:
        """Copy the elements into new memory on the same device."""
    def __deepcopy__(self, memo: object, /) -> Array:
        """Copy the elements into new memory on the same device."""
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
    View the memory of any library's object as an Array, without a copy.

    These protocols are tried in order, or only the one that ``protocol`` names:

    - 'entrepot.memory' and 'entrepot.adapters': objects of this package
    - 'numpy' and 'cupy': the fields of their array objects
    - 'c_exchange_api': DLPack's C exchange API
    - 'suai': ``__sycl_usm_array_interface__``
    - 'dlpack': ``__dlpack__``, any version
    - 'cai': ``__cuda_array_interface__``
    - 'buffer': the buffer protocol
    - 'array_struct' and 'array_interface': NumPy's array interface

    Parameters
    ----------
    obj : array_like
        An Array, or an object of any library that supports one of the protocols.
    dtype : dtype_like, optional
        The type that the memory must have. Elements are never converted. The default
        accepts any type.
    copy : bool, optional
        If True, the elements are copied to new memory, as by ``Array.to``. Host memory
        that was copied may be changed when the call returns. The default is False.
    device : Device or str, optional
        The device that the memory must already be on, unless ``copy=True``. Without
        ``kind``, or with ``kind='host'``, the device ``'host'`` accepts any memory that
        the host can access. A device with ``has_aspect_usm_system_allocations`` accepts
        host memory, and ``pin`` makes it usable for others. The default accepts any
        device. A copy is then on the device of ``queue``, else on the same device.
    kind : str, optional
        The kind that the memory must already have, unless ``copy=True``: 'host',
        'device' or 'shared'. The default accepts any kind. With ``device`` or
        ``queue``, a copy is then 'host' memory on the host and 'device' memory
        elsewhere. Without, it has the kind of the memory.
    queue : Queue, optional
        The array's default queue, which must be able to use the memory. A copy is
        allocated on its device. The default is described at ``Array.queue``.
    protocol : str, optional
        The name of the only protocol that is tried.

    Returns
    -------
    Array
        A view that keeps the owner of the memory alive, or the copy. If ``obj`` is an
        Array and no other argument is given, it is returned itself.

    Raises
    ------
    ExchangeError
        If the memory cannot be viewed. The message names the protocol and the reason.
    TypeError
        If the object holds no memory, or the dtype is unknown.
    ValueError
        If ``protocol`` or the kind is unknown, the selector is malformed, or a copy is
        for a queue of another device.
    DeviceError
        If no device matches.
    USMAllocationError
        If the copy cannot be allocated.

    Examples
    --------
    >>> x = np.arange(6, dtype="float32")
    >>> array = ep.asarray(x)
    >>> array.data_ptr == x.ctypes.data
    True
    >>> array.owner is x
    True
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

    Parameters
    ----------
    x : object
        An object with a method ``__dlpack__``, or a DLPack capsule.
    dtype : dtype_like, optional
        The type that the memory must have, as for ``asarray``.
    copy : bool, optional
        If True, the elements are copied to new memory. The default is False.
    device : Device or str, optional
        The device that the memory must be on, or is copied to, as for ``asarray``.
    kind : str, optional
        The kind that the memory must have, or is copied to, as for ``asarray``.
    queue : Queue, optional
        The array's default queue, as for ``asarray``.

    Returns
    -------
    Array
        A view that keeps the owner of the memory alive, or the copy.

    Raises
    ------
    ExchangeError
        If the memory cannot be viewed. The error is a BufferError, and its message has
        the reason.
    ValueError
        If the kind is unknown, the selector is malformed, or a copy is for a queue of
        another device.
    TypeError
        If the dtype is unknown.
    DeviceError
        If no device matches.
    USMAllocationError
        If the copy cannot be allocated.

    Examples
    --------
    >>> x = np.arange(3, dtype="int32")
    >>> array = ep.from_dlpack(x)
    >>> x[0] = 7
    >>> array.numpy()
    array([7, 1, 2], dtype=int32)
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
    An Array of memory that another library allocated, given by its address.

    The memory is not copied. The drivers are asked for its device and kind. Memory
    that no driver knows is ordinary host memory.

    The memory is released, on any thread, when its last array, view and export is gone
    and submitted work on it is done. A ``deleter`` is called once with the address
    when the memory is released. It is one of these:

    - a Python callable. Exceptions go to ``sys.unraisablehook``.
    - a C function ``void (*)(void *)`` of ctypes, or its address, an int. It is called
      without the GIL. Functions of ``ctypes.pythonapi`` and ``ctypes.PYFUNCTYPE`` are
      called with it.
    - a PyCapsule, which is kept alive like an owner, because its destructor is the
      deleter.

    Without ``owner`` and ``deleter``, the memory must outlive the array. The deleter
    is not called if from_address raises: the caller still owns the memory.

    Parameters
    ----------
    address : int
        Address of the first element.
    shape : int or sequence of int
        Extent of each axis, in elements.
    dtype : dtype_like
        The type of an element.
    strides : int or sequence of int, optional
        Distance between neighbors along each axis, in elements, with as many entries
        as ``shape``. No element may lie below the address. The default is
        C-contiguous.
    device : Device or str, optional
        The device that the memory must be on. The device ``'host'`` accepts any memory
        that the host can access. The default is the device that the drivers name.
    queue : Queue, optional
        The array's default queue. The memory must be on its device, in its context.
        Work that it holds now counts as work on the memory.
    read_only : bool, optional
        True if the elements cannot be changed through the array. The default is False.
    owner : object, optional
        Any object. It is kept alive until the memory is released.
    deleter : object, optional
        A callable, a C function or a PyCapsule that releases the memory, as described
        above. It excludes ``owner``.

    Returns
    -------
    Array
        A view of the memory.

    Raises
    ------
    TypeError
        If the address is not an int, or the deleter is another object.
    ValueError
        If elements are at a null or misaligned address, or strides lead below the
        address. Also for a negative extent, for both ``owner`` and ``deleter``, and
        for a C function at the address 0.
    OverflowError
        If sizes or addresses are beyond 64 bits.
    ExchangeError
        If the driver knows the memory as another device's, as smaller than the
        elements need, or not at all.

    Examples
    --------
    >>> import ctypes
    >>> values = (ctypes.c_float * 3)(1, 2, 3)
    >>> address = ctypes.addressof(values)
    >>> array = ep.from_address(address, 3, "float32", owner=values)
    >>> array.numpy()
    array([1., 2., 3.], dtype=float32)
    """

def pin(x: object, *, device: object | None = None) -> Array:
    """
    An Array of the same host memory, which a device uses in place.

    The driver of CUDA, HIP or SYCL registers the memory, so that kernels reach it and
    copies move it directly. It is unpinned once the last Array over the memory is gone,
    x included, and the work on it is done. Pinning a part of pinned memory shares the
    registration. A SYCL device that reads all memory of the process, as OpenCL's CPU
    device does, needs none.

    Parameters
    ----------
    x : object
        Any object over host memory that asarray accepts, such as a NumPy array, an mmap,
        a memoryview or a CPU tensor. The result is read-only if it is.
    device : Device or str, optional
        The device that uses the memory. The default is that of the current queue.

    Returns
    -------
    Array
        A view of kind ``'host'`` on the device, with the same shape, strides and address.
        It keeps the owner of the memory alive. If x is an Array, work on both is in order.
        Memory that the device shares with the host already is returned as it is.

    Raises
    ------
    ExchangeError
        If the object is not over host memory, or the device cannot pin it. Also if a part
        of it is pinned already, by another library or by pin itself.
    TypeError
        If the object has no memory that can be viewed.
    USMAllocationError
        If the system locks no more pages.
    DeviceError
        If no device matches.

    Examples
    --------
    >>> x = np.arange(4, dtype="float32")
    >>> array = ep.pin(x, device="host")
    >>> array.data_ptr == x.ctypes.data
    True
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

    Parameters
    ----------
    shape : int or sequence of int
        Extent of each axis, in elements.
    dtype : dtype_like
        The type of an element.
    device : Device or str, optional
        A Device, a selector or a dpctl device. Without it, memory is allocated on the
        device of ``queue``, then of the innermost ``device_context``, then of
        ``ENTREPOT_DEVICE``, then on the host.
    kind : str, optional
        One of 'host' (the default on the host), 'device' (the default on other devices) and
        'shared'.
    queue : Queue, optional
        The array's default queue, which must be of ``device`` if both are given. The
        default is the default queue of ``device``, else the current queue.

    Returns
    -------
    Array
        C-contiguous, in new memory that it owns.

    Raises
    ------
    USMAllocationError
        If the memory cannot be allocated.
    DeviceError
        If no device matches, or the device does not support the kind.
    ValueError
        If an extent is negative, the kind is unknown, the selector is malformed, or the
        queue is of another device.
    TypeError
        If the dtype is unknown, or an argument has the wrong type.
    OverflowError
        If the size in bytes exceeds 64 bits.

    Examples
    --------
    >>> array = ep.empty((2, 3), "float32", device="host")
    >>> array.shape, array.nbytes
    ((2, 3), 24)
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

    Parameters
    ----------
    shape : int or sequence of int
        Extent of each axis, in elements.
    dtype : dtype_like
        The type of an element.
    device : Device or str, optional
        A Device, a selector or a dpctl device. Without it, memory is allocated on the
        device of ``queue``, then of the innermost ``device_context``, then of
        ``ENTREPOT_DEVICE``, then on the host.
    kind : str, optional
        One of 'host' (the default on the host), 'device' (the default on other devices) and
        'shared'.
    queue : Queue, optional
        The array's default queue, which must be of ``device`` if both are given. The
        default is the default queue of ``device``, else the current queue.

    Returns
    -------
    Array
        C-contiguous, in new memory that it owns.

    Raises
    ------
    USMAllocationError
        If the memory cannot be allocated.
    DeviceError
        If no device matches, or the device does not support the kind.
    ValueError
        If an extent is negative, the kind is unknown, the selector is malformed, or the
        queue is of another device.
    TypeError
        If the dtype is unknown, or an argument has the wrong type.
    OverflowError
        If the size in bytes exceeds 64 bits.

    Examples
    --------
    >>> ep.zeros(3, "int32", device="host")
    Array([0, 0, 0], dtype=int32, device=host, kind=host)
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

    Parameters
    ----------
    shape : int or sequence of int
        Extent of each axis, in elements.
    value : bool, int, float, complex or Scalar
        The value of each element. A Scalar must be of ``dtype``.
    dtype : dtype_like
        The type of an element.
    device : Device or str, optional
        A Device, a selector or a dpctl device. Without it, memory is allocated on the
        device of ``queue``, then of the innermost ``device_context``, then of
        ``ENTREPOT_DEVICE``, then on the host.
    kind : str, optional
        One of 'host' (the default on the host), 'device' (the default on other devices) and
        'shared'.
    queue : Queue, optional
        The array's default queue, which must be of ``device`` if both are given. The
        default is the default queue of ``device``, else the current queue.

    Returns
    -------
    Array
        C-contiguous, in new memory that it owns.

    Raises
    ------
    USMAllocationError
        If the memory cannot be allocated.
    DeviceError
        If no device matches, or the device does not support the kind.
    ValueError
        If an extent is negative, the kind is unknown, the selector is malformed, or the
        queue is of another device.
    TypeError
        If the dtype is unknown, or an argument has the wrong type.
    OverflowError
        If the value does not fit ``dtype``, or the size in bytes exceeds 64 bits.
    ExchangeError
        If Python has no number for ``dtype``, such as float8_e5m2.

    Examples
    --------
    >>> ep.full((2, 2), 7, "uint8", device="host").numpy()
    array([[7, 7],
           [7, 7]], dtype=uint8)
    """

def fill(array: object, value: object, *, queue: object | None = None) -> Event:
    """
    Set every element of ``array`` to ``value``.

    Parameters
    ----------
    array : array_like
        An Array or another object that asarray accepts. If it is not an Array and the
        host can access its memory, such as a NumPy array, the call waits.
    value : bool, int, float, complex or Scalar
        The value of each element. A Scalar must be of the array's dtype.
    queue : Queue, optional
        The queue that the work is submitted to. The default is the array's queue.

    Returns
    -------
    Event
        Done when all elements are set.

    Raises
    ------
    ValueError
        If the array is read-only, or the queue cannot use its memory.
    OverflowError
        If the value does not fit the dtype.
    TypeError
        If the object holds no memory, or the dtype does not accept a value of that
        type, such as a float for integers.
    ExchangeError
        If the memory cannot be viewed, or Python has no number for the dtype.

    Examples
    --------
    >>> array = ep.zeros(3, "int32", device="host")
    >>> ep.fill(array[1:], 5).wait()
    >>> array.numpy()
    array([0, 5, 5], dtype=int32)
    """

def copy(dst: object, src: object, queue: object | None = None) -> Event:
    """
    Copy ``src`` into ``dst``, which may be on another device.

    If an argument is not an Array and the host can access its memory, such as a NumPy
    array, the call waits.

    Parameters
    ----------
    dst : array_like
        The destination, an Array or another object that asarray accepts.
    src : array_like
        The source, of the same dtype. It is broadcast to the shape of ``dst``.
    queue : Queue, optional
        The queue that the copy is submitted to. The default is the queue of ``dst``,
        or that of ``src`` if ``dst`` is on the host.

    Returns
    -------
    Event
        Done when the copy is complete. The memory stays alive until then.

    Raises
    ------
    ValueError
        If the destination is read-only, dtypes differ, shapes do not broadcast, or
        memory overlaps.
    TypeError
        If an argument holds no memory.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> array = ep.zeros(3, "int32", device="host")
    >>> ep.copy(array, np.arange(3, dtype="int32")).wait()
    >>> array.numpy()
    array([0, 1, 2], dtype=int32)
    """

class ArrayHandle:
    """
    A picklable handle of some hundred bytes, with which another process opens an array.

    Handles are made by ``Array.share`` and ``Memory.share``. In the process that shared
    the array, the handle keeps the memory alive.

    Parameters
    ----------
    data : bytes
        The bytes that ``bytes(handle)`` returned, in any process.

    Raises
    ------
    ValueError
        If these are other bytes, or those of a handle of another version.
    TypeError
        If ``data`` is not bytes.

    Examples
    --------
    >>> from entrepot import memory
    >>> with memory.use_resource(memory.shareable()):
    ...     array = ep.full(3, 5, "int32", device="host")
    >>> data = bytes(array.share())
    >>> handle = ep.ArrayHandle(data)  # in another process as well
    >>> handle.shape, handle.dtype
    ((3,), Dtype('int32'))
    """

    def __init__(self, data: bytes) -> None: ...

    def open(self) -> Array:
        """
        The shared array in this process.

        It is the same memory at another address. May be called any number of times, in
        any process of the same user, while the process that shared the array holds the
        memory. Uses of the array wait for the work that was pending when it was shared.

        Returns
        -------
        Array
            A view of the memory, read-only if the array was.

        Raises
        ------
        ExchangeError
            If that process has ended or released the memory. Also if this process
            shared memory of cudaMalloc, which only other processes can open.
        ValueError
            If the handle contradicts the memory.
        DeviceError
            If the device is not available in this process. Also if the process that shared
            the array has ended before its pending work was done.

        Examples
        --------
        >>> import pickle
        >>> from entrepot import memory
        >>> with memory.use_resource(memory.shareable()):
        ...     array = ep.full(3, 5, "int32", device="host")
        >>> data = pickle.dumps(array.share())
        >>> pickle.loads(data).open().numpy()  # in another process as well
        array([5, 5, 5], dtype=int32)
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
    def has_event(self) -> bool:
        """
        True if work was pending, and uses of the opened array wait for its event.
        """

    @property
    def host_wait(self) -> str:
        """
        Why ``Array.share`` waited on the host for pending work, as no event can stand for
        it. Empty if it did not wait, and for a handle that was made from bytes.
        """

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

    Parameters
    ----------
    shape : int or tuple of int
        Each work-group gets memory for ``shape`` elements of ``dtype``. A bare int
        without ``dtype`` is a number of bytes.
    dtype : dtype_like, optional
        The type of an element. The default is 'uint8'.

    Raises
    ------
    ValueError
        If the shape is negative.
    OverflowError
        If the number of bytes is too large for an integer of 64 bits.
    TypeError
        If the shape is not made of ints, or ``dtype`` is unknown.

    Examples
    --------
    >>> ep.LocalMemory((4, 8), "float32").nbytes
    128
    >>> ep.LocalMemory(256).nbytes
    256
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
    A kernel with its nd-range. Calling it with the kernel's arguments submits the
    kernel.

    The call waits if an argument is not an Array and the host can access its
    memory, such as a NumPy array.

    Parameters
    ----------
    *args : object
        The kernel's arguments: Arrays, other objects that asarray accepts,
        LocalMemory, and scalars that state their type (Scalar, NumPy's, ctypes').
    queue : Queue, optional
        The queue to use. The default is the queue of the first array on a device
        (compute follows data). Without such an array it is the current queue, or
        else the default queue of the kernel's device.
    cooperative : bool, optional
        True if all groups run at once and may wait for each other. The default is
        False. The host runs up to 256 groups at once, and SYCL devices run 1.
    cluster : int or tuple of int, optional
        The number of groups in a cluster, an int or a tuple like the range. The
        groups of a cluster share their local memory (CUDA).

    Returns
    -------
    Event
        Done when the kernel has run.

    Raises
    ------
    KernelError
        If the range or the arguments contradict the kernel.
    TypeError
        If a scalar has no type.
    ValueError
        If ``cluster`` is not one positive number for each dimension of the range.
    DeviceError
        If the device does not support the keywords.

    Examples
    --------
    >>> source = '''
    ... extern "C" void add(const long long *range, void *const *arguments) {
    ...     for (long long i = range[10]; i < range[11]; ++i)
    ...         static_cast<int *>(arguments[0])[i] += *static_cast<int *>(arguments[1]);
    ... }'''
    >>> add = ep.Program(source, "host").kernel("add")
    >>> numbers = np.arange(4, dtype="int32")
    >>> ten = np.int32(10)
    >>> event = add[4](numbers, ten)  # already done: the call waits for NumPy arrays
    >>> numbers
    array([10, 11, 12, 13], dtype=int32)
    """

    def __call__(self, *args: object, queue: object | None = None, cooperative: bool = False,
                 cluster: int | tuple[int, ...] | None = None) -> Event: ...

@final
class KernelLauncher:
    """
    A kernel with its range. Calling it with the kernel's arguments submits the kernel.

    Parameters
    ----------
    *arguments : array_like, scalar or LocalAccessor
        The arguments of the kernel: Arrays, other objects that asarray accepts, numbers
        and LocalAccessors.
    queue : Queue, optional
        The queue to use. The default is the queue of the arrays (compute follows data).
    depends_on : Event or sequence of Event, optional
        The events that the kernel waits for.
    wait : bool, optional
        True if the call waits for the kernel. By default, it waits if an argument is not an
        Array and the host can access its memory, such as a NumPy array.

    Returns
    -------
    Event
        Done when the kernel is.

    Raises
    ------
    KernelError
        If the kernel, its range or its arguments are not supported.
    TypeError
        If an argument has another type.
    ValueError
        If an extent of the range is negative.
    IndexError
        If indices are checked and one is out of bounds.
    ExchangeError
        If the memory of an argument cannot be viewed.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> @ek.kernel
    ... def double(numbers):
    ...     numbers[ek.get_global_id(0)] *= 2
    >>> numbers = ep.full(4, 3, "int32", device="host")
    >>> double[4](numbers).wait()
    >>> numbers.numpy().tolist()
    [6, 6, 6, 6]
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
        max_registers: int = 0,
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
    def _max_resident_groups(self, signature: object, work_items: int, local_memory: int = 0) -> int:
        """The most groups of a cooperative launch on the current device."""
    def _range(self, index: object, /) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The global and the local range of an index in brackets."""
    def _arguments(self, name: str, parameters: tuple[str, ...], arguments: tuple[object, ...], /) -> list[Any]:
        """The arguments of a launch, converted like those of the kernel."""
    def _type_of(self, variable: str, signature: object, device: object, /) -> Any:
        """
        The type of a variable of the kernel, compiled for the signature and the device. A tuple has a tuple of types.
        """
    def _types(self, arguments: tuple[object, ...], /) -> list[tuple[Any, dict[str, Any], dict[Any, Any]]]:
        """The types of the numbers in the kernel and its device functions for those arguments."""

kernel_function_names: tuple[str, ...]

class LocalAccessor:
    """
    A kernel argument: an array in local memory, whose shape is set at launch.

    A launch raises ValueError for a negative extent, or more than 3 dimensions.

    Parameters
    ----------
    shape : int or tuple of int
        The extents of the array, in elements: an int or a tuple of up to 3 ints.
    dtype : dtype_like
        The type of an element.

    Raises
    ------
    TypeError
        If ``shape`` is not made of ints, or ``dtype`` is not a type.
    KernelError
        If ``dtype`` has fields that kernels do not support.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> @ek.kernel
    ... def reverse(numbers, shared):
    ...     i = ek.get_local_id(0)
    ...     shared[i] = numbers[i]
    ...     ek.barrier(ek.CLK_LOCAL_MEM_FENCE)
    ...     numbers[i] = shared[ek.get_local_size(0) - 1 - i]
    >>> numbers = ep.asarray(np.arange(4, dtype="int32"))
    >>> reverse[4, 4](numbers, ek.LocalAccessor(4, "int32")).wait()
    >>> numbers.numpy().tolist()
    [3, 2, 1, 0]
    """

    def __init__(self, shape: object, dtype: object) -> None:
        """Each work-group gets an array of this shape and dtype."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, in elements."""

    @property
    def dtype(self) -> Any:
        """
        The type of an element, which is a Dtype or a structured dtype of NumPy.
        """

class StructLayout:
    """Layout of a struct, as kernels see it. For entrepot.kernel.structs."""

    def __init__(self, itemsize: int, fields: object) -> None: ...

def vector_components(vectors: Array) -> dict[str, Array]: ...

def struct_field(bytes: Array, itemsize: int, dtype: object, offset: int, extents: object, strides: object) -> Array: ...

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

        Returns
        -------
        int
            The number of bytes.

        Examples
        --------
        >>> pool = ep.memory.pool()
        >>> with ep.memory.use_resource(pool):
        ...     array = ep.empty(1 << 20, "uint8", device="host")
        >>> del array
        >>> pool.trim() >= 1 << 20
        True
        """

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

class direct(Resource):
    """
    A resource that allocates every block from the driver.

    A block is freed once the work that uses it is done.

    Examples
    --------
    >>> with ep.memory.use_resource(ep.memory.direct()):
    ...     array = ep.zeros(3, "int32", device="host")
    >>> ep.memory.limit(1 << 30, ep.memory.direct()).upstream.name
    'direct'
    """

    def __init__(self) -> None: ...

class pool(Resource):
    """
    A resource that caches freed blocks and reuses them, mostly without a lock or a
    driver call.

    Parameters
    ----------
    upstream : Resource, optional
        The resource that blocks come from. The default is the driver.
    max_cached : int, optional
        The pool caches at most this number of unused bytes, as far as the blocks in
        use allow. The default is no limit.

    Raises
    ------
    TypeError
        If ``upstream`` is not a resource, or ``max_cached`` is not an int.
    ValueError
        If ``max_cached`` is negative or has more than 64 bits.

    Examples
    --------
    >>> pool = ep.memory.pool(max_cached=64 << 20)
    >>> with ep.memory.use_resource(pool):
    ...     array = ep.empty(1000, "float32", device="host")
    >>> del array
    >>> pool.used_bytes, pool.cached_bytes >= 4000
    (0, True)
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

    Each block is a separate allocation in whole pages of the device. On the host,
    it is a file without a name. On CUDA, it is device memory with a file descriptor
    of the driver. A block is freed when the last process that holds it releases it
    or dies.

    Allocating for a device without such memory raises DeviceError.

    Examples
    --------
    >>> with ep.memory.use_resource(ep.memory.shareable()):
    ...     array = ep.zeros(3, "int32", device="host")
    >>> handle = array.share()  # pickle it, and send it to the other process
    >>> same = handle.open()  # there
    >>> ep.fill(array, 7).wait()
    >>> same.numpy()
    array([7, 7, 7], dtype=int32)
    """

    def __init__(self) -> None: ...

class limit(Resource):
    """
    A resource that limits the bytes in use of its upstream.

    Allocations beyond ``limit`` bytes raise USMAllocationError.

    Parameters
    ----------
    limit : int
        The largest number of bytes that may be in use.
    upstream : Resource, optional
        The resource that is limited. The default is the default pool.

    Raises
    ------
    TypeError
        If ``limit`` is not an int, or ``upstream`` is not a resource.
    ValueError
        If ``limit`` is negative or has more than 64 bits.

    Examples
    --------
    >>> budget = ep.memory.limit(1000)
    >>> with ep.memory.use_resource(budget):
    ...     array = ep.empty(600, "uint8", device="host")
    >>> budget.used_bytes
    600
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
    A resource that logs each allocation and deallocation of its upstream.

    Parameters
    ----------
    upstream : Resource, optional
        The resource that allocates. The default is the default pool.
    sink : callable, optional
        The allocating thread calls it with each line, a str without its newline.
        Without a sink, lines go to standard error.

    Raises
    ------
    TypeError
        If ``upstream`` is not a resource, or ``sink`` cannot be called.

    Examples
    --------
    >>> lines = []
    >>> with ep.memory.use_resource(ep.memory.log(sink=lines.append)):
    ...     array = ep.empty(500, "uint8", device="host")
    >>> lines[0].split(" at ")[0]
    'allocate host host 500 bytes'
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
    A resource that records the Python stack of each allocation of its upstream.

    Allocations that are live at interpreter shutdown are reported on standard
    error.

    Parameters
    ----------
    upstream : Resource, optional
        The resource that allocates. The default is the default pool.
    frames : int, optional
        Stacks have at most this number of frames, the innermost ones. The default
        is 16.

    Raises
    ------
    TypeError
        If ``upstream`` is not a resource, or ``frames`` is not an int.
    ValueError
        If ``frames`` is negative or has more than 64 bits.

    Examples
    --------
    >>> track = ep.memory.track()
    >>> with ep.memory.use_resource(track):
    ...     array = ep.empty(500, "uint8", device="host")
    >>> [each.nbytes for each in track.live]
    [500]
    """

    def __init__(self, upstream: Resource | None = None, *, frames: int = 16) -> None: ...

    @property
    def live(self) -> list[TrackedAllocation]:
        """The allocations that have not been freed, in the order of allocation."""

    def report(self) -> str:
        """
        A text that lists the live allocations and their stacks.

        Returns
        -------
        str
            The text; '' if there are no live allocations.

        Examples
        --------
        >>> track = ep.memory.track()
        >>> with ep.memory.use_resource(track):
        ...     array = ep.empty(500, "uint8", device="host")
        >>> print(track.report().splitlines()[0])
        1 allocation, of 500 bytes, is still live
        """

class statistics(Resource):
    """
    A resource that counts the allocations of its upstream.

    Bytes are counted as requested.

    Parameters
    ----------
    upstream : Resource, optional
        The resource that allocates. The default is the default pool.

    Raises
    ------
    TypeError
        If ``upstream`` is not a resource.

    Examples
    --------
    >>> numbers = ep.memory.statistics()
    >>> with ep.memory.use_resource(numbers):
    ...     array = ep.zeros(1000, "float32", device="host")
    >>> numbers.current_bytes, numbers.total_count
    (4000, 1)
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
        """
        Reset the peaks to the current values.

        Examples
        --------
        >>> numbers = ep.memory.statistics()
        >>> with ep.memory.use_resource(numbers):
        ...     ep.zeros(1000, "float32", device="host").nbytes
        4000
        >>> numbers.reset_peaks()
        >>> numbers.peak_bytes
        0
        """

def set_resource(device: object, resource: Resource | None) -> None:
    """
    Set the resource of later allocations for ``device``, on every thread.

    Parameters
    ----------
    device : Device or str
        The device, or a selector.
    resource : Resource or None
        The resource. None restores the default pool.

    Raises
    ------
    TypeError
        If ``resource`` is not a resource, or ``device`` is not a device.
    ValueError
        If the selector is malformed.
    DeviceError
        If no device matches the selector.

    Examples
    --------
    >>> numbers = ep.memory.statistics()
    >>> ep.memory.set_resource("host", numbers)
    >>> array = ep.zeros(1000, "float32", device="host")
    >>> numbers.current_bytes
    4000
    >>> ep.memory.set_resource("host", None)
    """

def get_resource(device: object) -> Resource:
    """
    The resource that an allocation for ``device`` would use now.

    It is the thread's innermost ``use_resource``, else the resource of
    ``set_resource``, else the default pool.

    Parameters
    ----------
    device : Device or str
        The device, or a selector.

    Returns
    -------
    Resource
        The resource, as an object of its class, such as pool.

    Raises
    ------
    TypeError
        If ``device`` is not a device.
    ValueError
        If the selector is malformed.
    DeviceError
        If no device matches the selector.

    Examples
    --------
    >>> ep.memory.get_resource("host").name
    'pool'
    """

def trim() -> int:
    """
    Return unused memory of every pool to the driver.

    Returns
    -------
    int
        The number of bytes.

    Examples
    --------
    >>> array = ep.empty(5 << 20, "uint8", device="host")
    >>> del array
    >>> ep.memory.trim() >= 5 << 20
    True
    """

class use_resource:
    """
    A context manager that sets the resource of the thread's allocations, for every
    device.

    ``with use_resource(resource):`` may be nested. ``as`` binds the resource.

    Parameters
    ----------
    resource : Resource
        The resource of the allocations in the ``with`` statement.

    Raises
    ------
    TypeError
        If ``resource`` is not a resource.

    Examples
    --------
    >>> with ep.memory.use_resource(ep.memory.pool()) as pool:
    ...     array = ep.zeros(1000, "float32", device="host")
    >>> pool.used_bytes >= 4000
    True
    """

    def __init__(self, resource: Resource) -> None: ...

    def __enter__(self) -> Resource: ...

    def __exit__(self, exc_type: object, exc_value: object, traceback: object, /) -> None: ...

class Memory:
    """
    Bytes of USM memory, allocated or borrowed.

    Memory is the base class of MemoryUSMHost, MemoryUSMShared and MemoryUSMDevice
    and is not instantiated itself. These classes allocate a number of bytes, or
    view the memory of an object without a copy, from the lowest byte to the
    highest. With ``copy=True`` the bytes are copied to new memory.
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
        """
        The queue that the memory was allocated with. It is the caller's object if one was
        passed.
        """
    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        """
        The SYCL USM Array Interface, version 1: the bytes as a C-contiguous array of '|u1'.

        Raises AttributeError for memory that is not SYCL memory.
        """
    def __new__(
        cls, nbytes: object, *, alignment: int = 0, queue: object | None = None, copy: bool = False
    ) -> Self: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """
        A numpy.ndarray of the bytes.

        Raises ExchangeError for memory that the host cannot access.
        """
    def get_usm_type(self, syclobj: object | None = None) -> str:
        """
        The kind of the memory, in its own context or another one.

        Parameters
        ----------
        syclobj : Context or Queue, optional
            The context, or a queue in it. dpctl's are also accepted. The default is the
            memory's own context.

        Returns
        -------
        str
            'host', 'device' or 'shared'. In the context of ``syclobj``, it may also be
            'unknown'.

        Raises
        ------
        TypeError
            If ``syclobj`` is another object.

        Examples
        --------
        >>> memory = ep.memory.MemoryUSMShared(16, queue="host")
        >>> memory.get_usm_type()
        'shared'
        """
    def get_usm_type_enum(self, syclobj: object | None = None) -> int:
        """
        The kind of get_usm_type() as a number.

        Parameters
        ----------
        syclobj : Context or Queue, optional
            The context, or a queue in it. dpctl's are also accepted. The default is the
            memory's own context.

        Returns
        -------
        int
            0 unknown, 1 device, 2 shared, 3 host.

        Raises
        ------
        TypeError
            If ``syclobj`` is another object.

        Examples
        --------
        >>> memory = ep.memory.MemoryUSMShared(16, queue="host")
        >>> memory.get_usm_type_enum()
        2
        """
    def copy_to_host(self, obj: Any = None) -> Any:
        """
        Copy all bytes to the host. Complete on return.

        Parameters
        ----------
        obj : buffer, optional
            A writable C-contiguous buffer. The bytes are copied to its front. By
            default they are copied to a new NumPy array of uint8, or to a bytearray if
            NumPy is not installed.

        Returns
        -------
        object
            ``obj``, or else the new array or bytearray.

        Raises
        ------
        ValueError
            If ``obj`` is too small.
        BufferError
            If ``obj`` is read-only.
        TypeError
            If ``obj`` is not a buffer.

        Examples
        --------
        >>> memory = ep.memory.MemoryUSMDevice(3, queue="host")
        >>> memory.memset(7)
        >>> memory.copy_to_host()
        array([7, 7, 7], dtype=uint8)
        >>> memory.copy_to_host(bytearray(4))
        bytearray(b'\\x07\\x07\\x07\\x00')
        """
    def copy_from_host(self, obj: Buffer) -> None:
        """
        Copy the bytes of ``obj`` to the front of the memory. Complete on return.

        Parameters
        ----------
        obj : buffer
            A C-contiguous buffer.

        Raises
        ------
        ValueError
            If the memory is too small or read-only.
        TypeError
            If ``obj`` is not a buffer.

        Examples
        --------
        >>> memory = ep.memory.MemoryUSMDevice(8, queue="host")
        >>> memory.copy_from_host(np.arange(2, dtype="int32"))
        >>> memory.copy_to_host().view("int32")
        array([0, 1], dtype=int32)
        """
    def copy_from_device(self, sycl_usm_ary: object) -> None:
        """
        Copy the bytes that another object spans to the front of the memory.

        If the contexts differ, the copy goes through the host. Complete on return.

        Parameters
        ----------
        sycl_usm_ary : object
            An Array, or an object with ``__sycl_usm_array_interface__``.

        Raises
        ------
        ValueError
            If the memory is too small or read-only, or the object is neither of the
            two.

        Examples
        --------
        >>> memory = ep.memory.MemoryUSMDevice(8, queue="host")
        >>> memory.copy_from_device(ep.full(2, 7, "int32", device="host"))
        >>> memory.copy_to_host().view("int32")
        array([7, 7], dtype=int32)
        """
    def memset(self, val: int = 0) -> None:
        """
        Set every byte to ``val``. Complete on return.

        Parameters
        ----------
        val : int, optional
            The value of a byte, 0 to 255. The default is 0.

        Raises
        ------
        OverflowError
            Unless ``val`` is 0 to 255.
        ValueError
            If the memory is read-only.

        Examples
        --------
        >>> memory = ep.memory.MemoryUSMDevice(3, queue="host")
        >>> memory.memset(65)
        >>> memory.tobytes()
        b'AAA'
        """
    def share(self) -> ArrayHandle:
        """
        A handle with which another process opens all bytes, without a copy.

        The conditions are those of ``Array.share``.

        Returns
        -------
        ArrayHandle
            The handle. ``handle.open()`` returns an Array of uint8.

        Raises
        ------
        ExchangeError
            If the memory cannot be shared. The message names the resource whose memory
            can.

        Examples
        --------
        >>> with ep.memory.use_resource(ep.memory.shareable()):
        ...     memory = ep.memory.MemoryUSMHost(3, queue="host")
        >>> memory.memset(7)
        >>> memory.share().open().numpy()
        array([7, 7, 7], dtype=uint8)
        """
    def tobytes(self) -> bytes:
        """
        A copy as bytes.

        Returns
        -------
        bytes
            All bytes of the memory.

        Examples
        --------
        >>> memory = ep.memory.MemoryUSMHost(8, queue="host")
        >>> memory.copy_from_host(b"Entrepot")
        >>> memory.tobytes()
        b'Entrepot'
        """
    def __bytes__(self) -> bytes:
        """A copy as bytes."""
    def __len__(self) -> int: ...

class MemoryUSMHost(Memory):
    """
    Host memory that the queue's device can access.

    Parameters
    ----------
    nbytes : int or object
        A number of bytes, to allocate memory on the queue's device. An object with
        ``__sycl_usm_array_interface__``, or an Array: its memory is viewed without
        a copy, from the lowest byte to the highest. That memory must be of the same
        kind.
    alignment : int, optional
        The alignment of the first byte, a power of two in bytes. The default, 0,
        accepts any, as does a negative number.
    queue : Queue, optional
        The queue to allocate with. A device or selector stands for its default
        queue. The default is SYCL's default device, or the current queue if there
        is no such device. A copy of USM memory is made with the queue of the
        original by default. A view accepts a queue in its memory's context.
    copy : bool, optional
        True to copy the bytes of the object to new memory. The default is False.

    Raises
    ------
    ValueError
        If the number of bytes is not positive, the alignment is not a power of two,
        or the selector is malformed. Also if the object's memory cannot be viewed,
        a view is not aligned, or the queue is in another context.
    InterfaceError
        If the object's interface is malformed or untrue. It is a ValueError as
        well.
    USMAllocationError
        If the memory cannot be allocated.
    DeviceError
        If no device matches, or the device does not support the kind.

    Examples
    --------
    >>> memory = ep.memory.MemoryUSMHost(8, queue="host")
    >>> memory.copy_from_host(b"Entrepot")
    >>> bytes(memoryview(memory)[:5])
    b'Entre'
    """

    def __buffer__(self, flags: int, /) -> memoryview: ...

class MemoryUSMShared(Memory):
    """
    Memory that moves between the host and the queue's device. Both can access it.

    Parameters
    ----------
    nbytes : int or object
        A number of bytes, to allocate memory on the queue's device. An object with
        ``__sycl_usm_array_interface__``, or an Array: its memory is viewed without
        a copy, from the lowest byte to the highest. That memory must be of the same
        kind.
    alignment : int, optional
        The alignment of the first byte, a power of two in bytes. The default, 0,
        accepts any, as does a negative number.
    queue : Queue, optional
        The queue to allocate with. A device or selector stands for its default
        queue. The default is SYCL's default device, or the current queue if there
        is no such device. A copy of USM memory is made with the queue of the
        original by default. A view accepts a queue in its memory's context.
    copy : bool, optional
        True to copy the bytes of the object to new memory. The default is False.

    Raises
    ------
    ValueError
        If the number of bytes is not positive, the alignment is not a power of two,
        or the selector is malformed. Also if the object's memory cannot be viewed,
        a view is not aligned, or the queue is in another context.
    InterfaceError
        If the object's interface is malformed or untrue. It is a ValueError as
        well.
    USMAllocationError
        If the memory cannot be allocated.
    DeviceError
        If no device matches, or the device does not support the kind.

    Examples
    --------
    >>> memory = ep.memory.MemoryUSMShared(3, queue="host")
    >>> memory.memset(7)
    >>> np.asarray(memory)
    array([7, 7, 7], dtype=uint8)
    """

    def __buffer__(self, flags: int, /) -> memoryview: ...

class MemoryUSMDevice(Memory):
    """
    Memory of the queue's device that the host cannot access.

    Parameters
    ----------
    nbytes : int or object
        A number of bytes, to allocate memory on the queue's device. An object with
        ``__sycl_usm_array_interface__``, or an Array: its memory is viewed without
        a copy, from the lowest byte to the highest. That memory must be of the same
        kind.
    alignment : int, optional
        The alignment of the first byte, a power of two in bytes. The default, 0,
        accepts any, as does a negative number.
    queue : Queue, optional
        The queue to allocate with. A device or selector stands for its default
        queue. The default is SYCL's default device, or the current queue if there
        is no such device. A copy of USM memory is made with the queue of the
        original by default. A view accepts a queue in its memory's context.
    copy : bool, optional
        True to copy the bytes of the object to new memory. The default is False.

    Raises
    ------
    ValueError
        If the number of bytes is not positive, the alignment is not a power of two,
        or the selector is malformed. Also if the object's memory cannot be viewed,
        a view is not aligned, or the queue is in another context.
    InterfaceError
        If the object's interface is malformed or untrue. It is a ValueError as
        well.
    USMAllocationError
        If the memory cannot be allocated.
    DeviceError
        If no device matches, or the device does not support the kind.

    Examples
    --------
    >>> memory = ep.memory.MemoryUSMDevice(8, alignment=64, queue="host")
    >>> memory.copy_from_host(np.arange(2, dtype="int32"))
    >>> memory.copy_to_host().view("int32")
    array([0, 1], dtype=int32)
    """

def as_usm_memory(obj: object, /) -> MemoryUSMHost | MemoryUSMShared | MemoryUSMDevice:
    """
    The memory of an object, without a copy.

    Parameters
    ----------
    obj : object
        An Array, or an object with ``__sycl_usm_array_interface__``.

    Returns
    -------
    MemoryUSMHost, MemoryUSMShared or MemoryUSMDevice
        The memory. The driver's kind of the memory decides between the three.

    Raises
    ------
    ValueError
        If the object has no such interface, or its memory is ordinary host memory.
    InterfaceError
        If the interface is malformed or untrue. It is a ValueError as well.

    Examples
    --------
    >>> array = ep.zeros(4, "int32", device="host")
    >>> memory = ep.memory.as_usm_memory(array)
    >>> memory.nbytes, memory.get_usm_type()
    (16, 'host')
    """

class Pointer:
    """
    An address to pass to a C function. It keeps the memory alive.

    ``p[n]`` is the pointer ``n`` bytes further on. Adapters are equal to adapters and ints
    with the same address.

    Parameters
    ----------
    pyobj : object, optional
        The object with the address, by default None. The first match is used:

        - None, which is NULL.
        - An adapter: its address is copied, its buffer is not.
        - An int.
        - A ctypes pointer (c_void_p, c_char_p, POINTER, a function): the address that it
          points to.
        - An Array.
        - An object with ``__cuda_array_interface__``.
        - An object with a contiguous buffer, which is held as long as the adapter lives.
          A ctypes number or structure is a buffer: its address is C's ``&x``.
        - An object with ``as_c_void_p()``.
        - Any other object that asarray accepts.

    Raises
    ------
    TypeError
        If the object has no address.
    OverflowError
        If an int is outside of 0 … 2**64 - 1.
    ValueError
        If the memory is strided, or is that of a DeviceArray that has been freed.

    Examples
    --------
    >>> from entrepot.adapters import Pointer
    >>> memory = bytearray(b"text")
    >>> pointer = Pointer(memory)
    >>> pointer[2] == int(pointer) + 2
    True
    >>> Pointer(None).is_ptr_null
    True
    """

    def __init__(self, pyobj: object = None) -> None: ...
    @classmethod
    def fromObj(cls, pyobj: object, /) -> Self:
        """
        Return ``pyobj`` if it has this class, else a new adapter made from it.

        Parameters
        ----------
        pyobj : object
            An object that the constructor accepts.

        Returns
        -------
        Pointer
            An adapter of this class.

        Raises
        ------
        TypeError
            If the object has no address.
        OverflowError
            If a number does not fit.
        ValueError
            If the memory cannot be used, because it is strided or was freed.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> sizes = ListOfInt.fromObj([1, 2, 3])
        >>> ListOfInt.fromObj(sizes) is sizes
        True
        """
    def createRef(self) -> Pointer:
        """
        Make a Pointer to the address in this adapter, as C's ``&p``.

        C may store another address through it, which this adapter then has.

        Returns
        -------
        Pointer
            The address of the address. It keeps this adapter alive.

        Examples
        --------
        >>> import ctypes
        >>> from entrepot.adapters import Pointer
        >>> pointer = Pointer(0x1000)
        >>> reference = pointer.createRef()
        >>> ctypes.c_void_p.from_address(int(reference)).value == int(pointer)
        True
        """
    def as_c_void_p(self) -> ctypes.c_void_p:
        """
        Return the address for functions of ctypes.

        Returns
        -------
        ctypes.c_void_p
            The address. It does not keep the memory alive.

        Examples
        --------
        >>> from entrepot.adapters import Pointer
        >>> Pointer(0x1000).as_c_void_p()
        c_void_p(4096)
        """
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
    A C string, made from a str, from bytes, or from an object that Pointer accepts.

    The adapter keeps that object alive. After a C function has written the string,
    ``str()`` reads its new contents.

    Parameters
    ----------
    pyobj : str, bytes or object
        The text, or an object that Pointer accepts. A str is encoded as UTF-8. None is
        NULL: ``malloc()`` can then allocate a string.

    Raises
    ------
    TypeError
        If the object is neither text nor an object that Pointer accepts.
    OverflowError
        If an int is outside of 0 … 2**64 - 1.
    ValueError
        If a str has a NUL inside, if the memory is strided, or if it is that of a
        DeviceArray that has been freed.

    Examples
    --------
    >>> from entrepot.adapters import CStr
    >>> name = CStr("gfx90a")
    >>> len(name), str(name), bytes(name)
    (6, 'gfx90a', b'gfx90a')
    """

    def __init__(self, pyobj: object) -> None: ...
    def decode(self, encoding: str = 'utf-8', errors: str = 'strict') -> str:
        """
        Decode the string, as bytes.decode() does.

        Parameters
        ----------
        encoding : str, optional
            The encoding of the bytes. The default is ``"utf-8"``.
        errors : str, optional
            How to treat bytes that cannot be decoded. The default, ``"strict"``, raises.

        Returns
        -------
        str
            The text up to the first NUL. It is empty if the address is NULL.

        Raises
        ------
        UnicodeDecodeError
            If the bytes are not valid in the encoding, and ``errors`` is ``"strict"``.
        LookupError
            If the encoding is unknown.

        Examples
        --------
        >>> from entrepot.adapters import CStr
        >>> CStr(b"gfx90a").decode("ascii")
        'gfx90a'
        """
    def encode(self, encoding: str = 'utf-8', errors: str = 'strict') -> bytes:
        """
        Encode the string's text in another encoding, like str.encode().

        Parameters
        ----------
        encoding : str, optional
            The encoding of the result. The default is ``"utf-8"``.
        errors : str, optional
            How to treat characters that cannot be encoded. The default, ``"strict"``,
            raises.

        Returns
        -------
        bytes
            The text up to the first NUL, which is read as UTF-8.

        Raises
        ------
        UnicodeError
            If the string is not UTF-8, or the encoding does not have a character.
        LookupError
            If the encoding is unknown.

        Examples
        --------
        >>> from entrepot.adapters import CStr
        >>> CStr("gfx").encode("utf-16-le")
        b'g\\x00f\\x00x\\x00'
        """
    def malloc(self, content_len: int, /) -> None:
        """
        Allocate a zeroed string of ``content_len`` bytes and its terminating NUL.

        The memory is freed by ``free()``, or with this CStr.

        Parameters
        ----------
        content_len : int
            The length of the longest string in bytes, without the NUL.

        Raises
        ------
        RuntimeError
            If this CStr is not NULL.
        ValueError
            If the length is negative.

        Examples
        --------
        >>> import ctypes
        >>> from entrepot.adapters import CStr
        >>> name = CStr(None)
        >>> name.malloc(63)
        >>> _ = ctypes.memmove(int(name), b"gfx90a", 6)  # a C function writes the string
        >>> str(name)
        'gfx90a'
        """
    def free(self) -> None:
        """
        Free the memory that malloc() allocated. A no-op for NULL.

        This CStr is NULL afterwards.

        Raises
        ------
        RuntimeError
            If the memory is not that of ``malloc()``.
        ExchangeError
            If other objects use the memory, such as a memoryview.

        Examples
        --------
        >>> from entrepot.adapters import CStr
        >>> name = CStr(None)
        >>> name.malloc(63)
        >>> name.free()
        >>> name.is_ptr_null
        True
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

    Use ``configure()`` to change the description. A part, ``array[…]``, is a view as in
    NumPy, and keeps the whole array alive. If a driver knows the address, asarray(array) is
    an Array of the same memory.

    Parameters
    ----------
    pyobj : object
        An object that Pointer accepts; its memory may be strided. An Array, an object with
        ``__cuda_array_interface__`` and other objects that asarray accepts give the shape
        and the type.

    Raises
    ------
    TypeError
        If the object has no address.
    OverflowError
        If an int is outside of 0 … 2**64 - 1.
    ValueError
        If the object is a DeviceArray that has been freed.

    Examples
    --------
    >>> from entrepot.adapters import DeviceArray
    >>> array = DeviceArray(np.zeros((3, 20), "float32"))
    >>> array.shape, array.strides, array.typestr
    ((3, 20), (80, 4), '<f4')
    >>> int(array[1]) - int(array)
    80
    >>> ep.asarray(array[1]).shape
    (20,)
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
        Describe the elements at the address.

        Arguments that are left out keep their values. The number of bytes must not change,
        unless ``_force=True``. A call that raises has changed nothing.

        Parameters
        ----------
        typestr : str, optional
            The type of an element: the array interface's type string or NumPy's name of a type
            (``'<f4'``, ``'float32'``).
        shape : int or sequence of int, optional
            The extent of each axis, in elements. Without ``strides`` the elements are
            C-contiguous.
        strides : sequence of int or None, optional
            The distance between neighbors along each axis, in bytes. None is C-contiguous.
        itemsize : int, optional
            The bytes of an element. It may be left out if there is a typestr. Without a
            typestr, another size than the present one selects an unsigned integer of that size.
        read_only : bool, optional
            True if the memory must not be written.
        stream : int or None, optional
            The stream that consumers synchronize with: 1 is the legacy default stream, 2 the
            thread's. None if there is no work to wait for.
        _force : bool, optional
            True if the number of bytes may change. The default is False.

        Returns
        -------
        DeviceArray
            The array itself.

        Raises
        ------
        TypeError
            If an argument has the wrong type.
        ValueError
            If arguments contradict each other or the size of the memory, if ``stream`` is 0, or
            if the array has been freed.
        OverflowError
            If ``stream`` is negative, or has more than 64 bits.

        Examples
        --------
        >>> from entrepot.adapters import DeviceArray
        >>> array = DeviceArray(bytearray(240))
        >>> array.configure(typestr="float32", shape=(3, 20)).strides
        (80, 4)
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

    The adapter keeps the strings alive.

    Parameters
    ----------
    pyobj : list, tuple or object
        The strings: bytes, str (as UTF-8) or CStr. It can also be the address of an array
        of C strings, as Pointer accepts it.

    Raises
    ------
    TypeError
        If an element is not bytes, a str or a CStr, or if ``pyobj`` is one text in place of
        a list.
    ValueError
        If a str contains a NUL, or a CStr is not terminated by one. The message has the
        index.

    Examples
    --------
    >>> from entrepot.adapters import ListOfBytes
    >>> options = ListOfBytes(["-O3", b"--std=c++17"])
    >>> options[0], len(options)
    (b'-O3', 2)
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """
        Allocate an array of zeros.

        Parameters
        ----------
        count : int
            The number of elements.

        Returns
        -------
        Pointer
            A list of this class with ``count`` zeros, which are freed with the adapter.

        Raises
        ------
        ValueError
            If the number is negative.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> sizes = ListOfInt.allocate(3)  # for a C function that writes three ints
        >>> sizes.to_list()
        [0, 0, 0]
        """
    def to_list(self) -> list[bytes | None]:
        """
        Read the current elements into a list.

        Returns
        -------
        list
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt(np.arange(3, dtype="int32")).to_list()
        [0, 1, 2]
        """
    def to_tuple(self) -> tuple[bytes | None, ...]:
        """
        Read the current elements into a tuple.

        Returns
        -------
        tuple
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt([1, 2, 3]).to_tuple()
        (1, 2, 3)
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[bytes | None]: ...

class ListOfPointer(Pointer):
    """
    An array of addresses, made from a list or tuple of objects that Pointer accepts.

    The adapter keeps the objects alive.

    Parameters
    ----------
    pyobj : list, tuple or object
        The objects that Pointer accepts. It can also be the address of an array of
        addresses.

    Raises
    ------
    TypeError
        If an element has no address, or if ``pyobj`` is one text in place of a list.
    OverflowError
        If an int is outside of 0 … 2**64 - 1.
    ValueError
        If an element's memory is strided, or is that of a DeviceArray that has been freed.

    Examples
    --------
    >>> from entrepot.adapters import ListOfPointer, Pointer
    >>> blocks = [bytearray(8), bytearray(8)]
    >>> pointers = ListOfPointer(blocks)
    >>> pointers[1] == Pointer(blocks[1])
    True
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """
        Allocate an array of zeros.

        Parameters
        ----------
        count : int
            The number of elements.

        Returns
        -------
        Pointer
            A list of this class with ``count`` zeros, which are freed with the adapter.

        Raises
        ------
        ValueError
            If the number is negative.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> sizes = ListOfInt.allocate(3)  # for a C function that writes three ints
        >>> sizes.to_list()
        [0, 0, 0]
        """
    def to_list(self) -> list[Pointer]:
        """
        Read the current elements into a list.

        Returns
        -------
        list
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt(np.arange(3, dtype="int32")).to_list()
        [0, 1, 2]
        """
    def to_tuple(self) -> tuple[Pointer, ...]:
        """
        Read the current elements into a tuple.

        Returns
        -------
        tuple
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt([1, 2, 3]).to_tuple()
        (1, 2, 3)
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Pointer]: ...

class ListOfInt(Pointer):
    """
    An array of C integers, made from a list or tuple of ints.

    Parameters
    ----------
    pyobj : list, tuple or object
        The ints. It can also be the address of an array of such integers, as Pointer
        accepts it.

    Raises
    ------
    TypeError
        If an element is not an int. The message has the index.
    OverflowError
        If an element does not fit the C integer. The message has the index.
    ValueError
        If the elements of an object's memory have another size, or are floating-point
        numbers. Memory of bytes is accepted.

    Examples
    --------
    >>> from entrepot.adapters import ListOfInt, ListOfUInt64
    >>> ListOfInt([1, 2, -3]).to_list()
    [1, 2, -3]
    >>> ListOfUInt64([2**64 - 1])[0]
    18446744073709551615
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """
        Allocate an array of zeros.

        Parameters
        ----------
        count : int
            The number of elements.

        Returns
        -------
        Pointer
            A list of this class with ``count`` zeros, which are freed with the adapter.

        Raises
        ------
        ValueError
            If the number is negative.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> sizes = ListOfInt.allocate(3)  # for a C function that writes three ints
        >>> sizes.to_list()
        [0, 0, 0]
        """
    def to_list(self) -> list[int]:
        """
        Read the current elements into a list.

        Returns
        -------
        list
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt(np.arange(3, dtype="int32")).to_list()
        [0, 1, 2]
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        Read the current elements into a tuple.

        Returns
        -------
        tuple
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt([1, 2, 3]).to_tuple()
        (1, 2, 3)
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class ListOfUnsigned(Pointer):
    """
    An array of C integers, made from a list or tuple of ints.

    Parameters
    ----------
    pyobj : list, tuple or object
        The ints. It can also be the address of an array of such integers, as Pointer
        accepts it.

    Raises
    ------
    TypeError
        If an element is not an int. The message has the index.
    OverflowError
        If an element does not fit the C integer. The message has the index.
    ValueError
        If the elements of an object's memory have another size, or are floating-point
        numbers. Memory of bytes is accepted.

    Examples
    --------
    >>> from entrepot.adapters import ListOfInt, ListOfUInt64
    >>> ListOfInt([1, 2, -3]).to_list()
    [1, 2, -3]
    >>> ListOfUInt64([2**64 - 1])[0]
    18446744073709551615
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """
        Allocate an array of zeros.

        Parameters
        ----------
        count : int
            The number of elements.

        Returns
        -------
        Pointer
            A list of this class with ``count`` zeros, which are freed with the adapter.

        Raises
        ------
        ValueError
            If the number is negative.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> sizes = ListOfInt.allocate(3)  # for a C function that writes three ints
        >>> sizes.to_list()
        [0, 0, 0]
        """
    def to_list(self) -> list[int]:
        """
        Read the current elements into a list.

        Returns
        -------
        list
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt(np.arange(3, dtype="int32")).to_list()
        [0, 1, 2]
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        Read the current elements into a tuple.

        Returns
        -------
        tuple
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt([1, 2, 3]).to_tuple()
        (1, 2, 3)
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class ListOfLong(Pointer):
    """
    An array of C integers, made from a list or tuple of ints.

    Parameters
    ----------
    pyobj : list, tuple or object
        The ints. It can also be the address of an array of such integers, as Pointer
        accepts it.

    Raises
    ------
    TypeError
        If an element is not an int. The message has the index.
    OverflowError
        If an element does not fit the C integer. The message has the index.
    ValueError
        If the elements of an object's memory have another size, or are floating-point
        numbers. Memory of bytes is accepted.

    Examples
    --------
    >>> from entrepot.adapters import ListOfInt, ListOfUInt64
    >>> ListOfInt([1, 2, -3]).to_list()
    [1, 2, -3]
    >>> ListOfUInt64([2**64 - 1])[0]
    18446744073709551615
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """
        Allocate an array of zeros.

        Parameters
        ----------
        count : int
            The number of elements.

        Returns
        -------
        Pointer
            A list of this class with ``count`` zeros, which are freed with the adapter.

        Raises
        ------
        ValueError
            If the number is negative.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> sizes = ListOfInt.allocate(3)  # for a C function that writes three ints
        >>> sizes.to_list()
        [0, 0, 0]
        """
    def to_list(self) -> list[int]:
        """
        Read the current elements into a list.

        Returns
        -------
        list
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt(np.arange(3, dtype="int32")).to_list()
        [0, 1, 2]
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        Read the current elements into a tuple.

        Returns
        -------
        tuple
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt([1, 2, 3]).to_tuple()
        (1, 2, 3)
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class ListOfUnsignedLong(Pointer):
    """
    An array of C integers, made from a list or tuple of ints.

    Parameters
    ----------
    pyobj : list, tuple or object
        The ints. It can also be the address of an array of such integers, as Pointer
        accepts it.

    Raises
    ------
    TypeError
        If an element is not an int. The message has the index.
    OverflowError
        If an element does not fit the C integer. The message has the index.
    ValueError
        If the elements of an object's memory have another size, or are floating-point
        numbers. Memory of bytes is accepted.

    Examples
    --------
    >>> from entrepot.adapters import ListOfInt, ListOfUInt64
    >>> ListOfInt([1, 2, -3]).to_list()
    [1, 2, -3]
    >>> ListOfUInt64([2**64 - 1])[0]
    18446744073709551615
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """
        Allocate an array of zeros.

        Parameters
        ----------
        count : int
            The number of elements.

        Returns
        -------
        Pointer
            A list of this class with ``count`` zeros, which are freed with the adapter.

        Raises
        ------
        ValueError
            If the number is negative.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> sizes = ListOfInt.allocate(3)  # for a C function that writes three ints
        >>> sizes.to_list()
        [0, 0, 0]
        """
    def to_list(self) -> list[int]:
        """
        Read the current elements into a list.

        Returns
        -------
        list
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt(np.arange(3, dtype="int32")).to_list()
        [0, 1, 2]
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        Read the current elements into a tuple.

        Returns
        -------
        tuple
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt([1, 2, 3]).to_tuple()
        (1, 2, 3)
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class ListOfInt64(Pointer):
    """
    An array of C integers, made from a list or tuple of ints.

    Parameters
    ----------
    pyobj : list, tuple or object
        The ints. It can also be the address of an array of such integers, as Pointer
        accepts it.

    Raises
    ------
    TypeError
        If an element is not an int. The message has the index.
    OverflowError
        If an element does not fit the C integer. The message has the index.
    ValueError
        If the elements of an object's memory have another size, or are floating-point
        numbers. Memory of bytes is accepted.

    Examples
    --------
    >>> from entrepot.adapters import ListOfInt, ListOfUInt64
    >>> ListOfInt([1, 2, -3]).to_list()
    [1, 2, -3]
    >>> ListOfUInt64([2**64 - 1])[0]
    18446744073709551615
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """
        Allocate an array of zeros.

        Parameters
        ----------
        count : int
            The number of elements.

        Returns
        -------
        Pointer
            A list of this class with ``count`` zeros, which are freed with the adapter.

        Raises
        ------
        ValueError
            If the number is negative.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> sizes = ListOfInt.allocate(3)  # for a C function that writes three ints
        >>> sizes.to_list()
        [0, 0, 0]
        """
    def to_list(self) -> list[int]:
        """
        Read the current elements into a list.

        Returns
        -------
        list
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt(np.arange(3, dtype="int32")).to_list()
        [0, 1, 2]
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        Read the current elements into a tuple.

        Returns
        -------
        tuple
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt([1, 2, 3]).to_tuple()
        (1, 2, 3)
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class ListOfUInt64(Pointer):
    """
    An array of C integers, made from a list or tuple of ints.

    Parameters
    ----------
    pyobj : list, tuple or object
        The ints. It can also be the address of an array of such integers, as Pointer
        accepts it.

    Raises
    ------
    TypeError
        If an element is not an int. The message has the index.
    OverflowError
        If an element does not fit the C integer. The message has the index.
    ValueError
        If the elements of an object's memory have another size, or are floating-point
        numbers. Memory of bytes is accepted.

    Examples
    --------
    >>> from entrepot.adapters import ListOfInt, ListOfUInt64
    >>> ListOfInt([1, 2, -3]).to_list()
    [1, 2, -3]
    >>> ListOfUInt64([2**64 - 1])[0]
    18446744073709551615
    """

    def __init__(self, pyobj: object) -> None: ...
    @classmethod
    def allocate(cls, count: int) -> Self:
        """
        Allocate an array of zeros.

        Parameters
        ----------
        count : int
            The number of elements.

        Returns
        -------
        Pointer
            A list of this class with ``count`` zeros, which are freed with the adapter.

        Raises
        ------
        ValueError
            If the number is negative.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> sizes = ListOfInt.allocate(3)  # for a C function that writes three ints
        >>> sizes.to_list()
        [0, 0, 0]
        """
    def to_list(self) -> list[int]:
        """
        Read the current elements into a list.

        Returns
        -------
        list
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt(np.arange(3, dtype="int32")).to_list()
        [0, 1, 2]
        """
    def to_tuple(self) -> tuple[int, ...]:
        """
        Read the current elements into a tuple.

        Returns
        -------
        tuple
            The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a
            ListOfBytes, else ints.

        Raises
        ------
        TypeError
            If the length is unknown, because the adapter was made from an address.

        Examples
        --------
        >>> from entrepot.adapters import ListOfInt
        >>> ListOfInt([1, 2, 3]).to_tuple()
        (1, 2, 3)
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...

class PointerToInt(ListOfInt):
    """
    The address of one C integer. Its ``value`` reads and writes the integer.

    ``allocate()`` makes one whose integer is 0.

    Parameters
    ----------
    pyobj : list, tuple or object
        One int in a list or tuple, or an object that Pointer accepts.

    Raises
    ------
    TypeError
        If the element is not an int.
    OverflowError
        If the element does not fit the C integer.
    ValueError
        If the list does not have one element. Also if an object's memory is too small for
        the integer, has elements of another size, or has floating-point numbers.

    Examples
    --------
    >>> from entrepot.adapters import PointerToInt
    >>> count = PointerToInt([5])
    >>> count.value += 1
    >>> count.value, count[0]
    (6, 6)
    """

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """
        Allocate an array of zeros.

        Parameters
        ----------
        count : int, optional
            The number of elements. The default is 1.

        Returns
        -------
        Pointer
            An adapter of this class with ``count`` zeros, which are freed with the adapter.

        Raises
        ------
        ValueError
            If the number is negative.

        Examples
        --------
        >>> from entrepot.adapters import PointerToInt
        >>> count = PointerToInt.allocate()  # for a C function that writes one int
        >>> count.value
        0
        """
    value: int
    """The integer at the address."""

class PointerToUnsigned(ListOfUnsigned):
    """
    The address of one C integer. Its ``value`` reads and writes the integer.

    ``allocate()`` makes one whose integer is 0.

    Parameters
    ----------
    pyobj : list, tuple or object
        One int in a list or tuple, or an object that Pointer accepts.

    Raises
    ------
    TypeError
        If the element is not an int.
    OverflowError
        If the element does not fit the C integer.
    ValueError
        If the list does not have one element. Also if an object's memory is too small for
        the integer, has elements of another size, or has floating-point numbers.

    Examples
    --------
    >>> from entrepot.adapters import PointerToInt
    >>> count = PointerToInt([5])
    >>> count.value += 1
    >>> count.value, count[0]
    (6, 6)
    """

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """
        Allocate an array of zeros.

        Parameters
        ----------
        count : int, optional
            The number of elements. The default is 1.

        Returns
        -------
        Pointer
            An adapter of this class with ``count`` zeros, which are freed with the adapter.

        Raises
        ------
        ValueError
            If the number is negative.

        Examples
        --------
        >>> from entrepot.adapters import PointerToInt
        >>> count = PointerToInt.allocate()  # for a C function that writes one int
        >>> count.value
        0
        """
    value: int
    """The integer at the address."""

class PointerToLong(ListOfLong):
    """
    The address of one C integer. Its ``value`` reads and writes the integer.

    ``allocate()`` makes one whose integer is 0.

    Parameters
    ----------
    pyobj : list, tuple or object
        One int in a list or tuple, or an object that Pointer accepts.

    Raises
    ------
    TypeError
        If the element is not an int.
    OverflowError
        If the element does not fit the C integer.
    ValueError
        If the list does not have one element. Also if an object's memory is too small for
        the integer, has elements of another size, or has floating-point numbers.

    Examples
    --------
    >>> from entrepot.adapters import PointerToInt
    >>> count = PointerToInt([5])
    >>> count.value += 1
    >>> count.value, count[0]
    (6, 6)
    """

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """
        Allocate an array of zeros.

        Parameters
        ----------
        count : int, optional
            The number of elements. The default is 1.

        Returns
        -------
        Pointer
            An adapter of this class with ``count`` zeros, which are freed with the adapter.

        Raises
        ------
        ValueError
            If the number is negative.

        Examples
        --------
        >>> from entrepot.adapters import PointerToInt
        >>> count = PointerToInt.allocate()  # for a C function that writes one int
        >>> count.value
        0
        """
    value: int
    """The integer at the address."""

class PointerToUnsignedLong(ListOfUnsignedLong):
    """
    The address of one C integer. Its ``value`` reads and writes the integer.

    ``allocate()`` makes one whose integer is 0.

    Parameters
    ----------
    pyobj : list, tuple or object
        One int in a list or tuple, or an object that Pointer accepts.

    Raises
    ------
    TypeError
        If the element is not an int.
    OverflowError
        If the element does not fit the C integer.
    ValueError
        If the list does not have one element. Also if an object's memory is too small for
        the integer, has elements of another size, or has floating-point numbers.

    Examples
    --------
    >>> from entrepot.adapters import PointerToInt
    >>> count = PointerToInt([5])
    >>> count.value += 1
    >>> count.value, count[0]
    (6, 6)
    """

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """
        Allocate an array of zeros.

        Parameters
        ----------
        count : int, optional
            The number of elements. The default is 1.

        Returns
        -------
        Pointer
            An adapter of this class with ``count`` zeros, which are freed with the adapter.

        Raises
        ------
        ValueError
            If the number is negative.

        Examples
        --------
        >>> from entrepot.adapters import PointerToInt
        >>> count = PointerToInt.allocate()  # for a C function that writes one int
        >>> count.value
        0
        """
    value: int
    """The integer at the address."""

class PointerToInt64(ListOfInt64):
    """
    The address of one C integer. Its ``value`` reads and writes the integer.

    ``allocate()`` makes one whose integer is 0.

    Parameters
    ----------
    pyobj : list, tuple or object
        One int in a list or tuple, or an object that Pointer accepts.

    Raises
    ------
    TypeError
        If the element is not an int.
    OverflowError
        If the element does not fit the C integer.
    ValueError
        If the list does not have one element. Also if an object's memory is too small for
        the integer, has elements of another size, or has floating-point numbers.

    Examples
    --------
    >>> from entrepot.adapters import PointerToInt
    >>> count = PointerToInt([5])
    >>> count.value += 1
    >>> count.value, count[0]
    (6, 6)
    """

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """
        Allocate an array of zeros.

        Parameters
        ----------
        count : int, optional
            The number of elements. The default is 1.

        Returns
        -------
        Pointer
            An adapter of this class with ``count`` zeros, which are freed with the adapter.

        Raises
        ------
        ValueError
            If the number is negative.

        Examples
        --------
        >>> from entrepot.adapters import PointerToInt
        >>> count = PointerToInt.allocate()  # for a C function that writes one int
        >>> count.value
        0
        """
    value: int
    """The integer at the address."""

class PointerToUInt64(ListOfUInt64):
    """
    The address of one C integer. Its ``value`` reads and writes the integer.

    ``allocate()`` makes one whose integer is 0.

    Parameters
    ----------
    pyobj : list, tuple or object
        One int in a list or tuple, or an object that Pointer accepts.

    Raises
    ------
    TypeError
        If the element is not an int.
    OverflowError
        If the element does not fit the C integer.
    ValueError
        If the list does not have one element. Also if an object's memory is too small for
        the integer, has elements of another size, or has floating-point numbers.

    Examples
    --------
    >>> from entrepot.adapters import PointerToInt
    >>> count = PointerToInt([5])
    >>> count.value += 1
    >>> count.value, count[0]
    (6, 6)
    """

    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """
        Allocate an array of zeros.

        Parameters
        ----------
        count : int, optional
            The number of elements. The default is 1.

        Returns
        -------
        Pointer
            An adapter of this class with ``count`` zeros, which are freed with the adapter.

        Raises
        ------
        ValueError
            If the number is negative.

        Examples
        --------
        >>> from entrepot.adapters import PointerToInt
        >>> count = PointerToInt.allocate()  # for a C function that writes one int
        >>> count.value
        0
        """
    value: int
    """The integer at the address."""

class HipModuleLaunchKernel_extra(Pointer):
    """
    The arguments of a kernel in the layout of hipModuleLaunchKernel, made from a list.

    The arguments are laid out as the C ABI requires.

    Parameters
    ----------
    pyobj : list, tuple or object
        The arguments in order. NumPy's numbers, Scalar objects and ctypes data are passed
        by value. Other objects are passed as the address that Pointer makes of them; an int
        is an address. In place of a list it can be the address of such a block.

    Raises
    ------
    TypeError
        If an item is anything else, such as a float: wrap numbers in ctypes. The message
        has the index.
    OverflowError
        If an int is outside of 0 … 2**64 - 1. The message has the index.

    Examples
    --------
    >>> import ctypes
    >>> from entrepot.adapters import HipModuleLaunchKernel_extra, Pointer
    >>> extra = HipModuleLaunchKernel_extra([ctypes.c_float(2.0), Pointer(0x1000)])
    >>> extra.is_owner
    True
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

    Parameters
    ----------
    *values : object
        The values of the fields, in C's order. A union has one value at most.
    **fields : object
        The values of fields by their names. Fields that are left out have their default in
        the declaration, else zero.

    Raises
    ------
    TypeError
        If a field does not exist, has two values or a value of the wrong type, or if the
        class is Record itself.
    OverflowError
        If a number does not fit its field.
    ValueError
        If text or a list does not fit its field.

    Examples
    --------
    >>> from entrepot import hip
    >>> grid = hip.dim3(32, z=2)
    >>> grid.x, grid.y, grid.z
    (32, 1, 2)
    """

    def __init__(self, *values: object, **fields: object) -> None: ...
    @classmethod
    def PROPERTIES(cls) -> list[str]:
        """
        Return the names of the fields.

        Returns
        -------
        list of str
            The names, in C's order.

        Raises
        ------
        TypeError
            If the class is Record itself.

        Examples
        --------
        >>> from entrepot import hip
        >>> hip.dim3.PROPERTIES()
        ['x', 'y', 'z']
        """
    @classmethod
    def c_sizeof(cls) -> int:
        """
        Return the size of one record.

        Returns
        -------
        int
            The size in bytes.

        Raises
        ------
        TypeError
            If the class is Record itself.

        Examples
        --------
        >>> from entrepot import hip
        >>> hip.dim3.c_sizeof()
        12
        """
    @classmethod
    def allocate(cls, count: int = 1) -> Self:
        """
        Allocate a contiguous array of records.

        The attributes are those of the first record. ``element(i)`` is the i-th record.

        Parameters
        ----------
        count : int, optional
            The number of records, at least one. The default is 1.

        Returns
        -------
        Record
            The array, whose fields have their defaults. It owns the memory.

        Raises
        ------
        TypeError
            If the class is Record itself.
        ValueError
            If the number is below one.
        OverflowError
            If the size of the array in bytes is too large.

        Examples
        --------
        >>> from entrepot import hip
        >>> points = hip.float2.allocate(3)
        >>> points.element(2).y = 1.5
        >>> points.element(2).y
        1.5
        """
    @classmethod
    def fromObj(cls, pyobj: object, /) -> Self:
        """
        Return the record at an address, or ``pyobj`` if it has this class.

        Parameters
        ----------
        pyobj : object
            An object that Pointer accepts. None is NULL.

        Returns
        -------
        Record
            The record at the address of ``Pointer(pyobj)``.

        Raises
        ------
        ValueError
            If the memory is strided, or is known to be smaller than a record.
        TypeError
            If the object has no address, or if the class is Record itself.
        OverflowError
            If an int is outside of 0 … 2**64 - 1.

        Examples
        --------
        >>> from entrepot import hip
        >>> numbers = np.array([32, 4, 1], "uint32")
        >>> grid = hip.dim3.fromObj(numbers)
        >>> grid.y
        4
        """
    def element(self, i: int, /) -> Self:
        """
        Return one record of an array.

        Parameters
        ----------
        i : int
            The index of the record, from 0.

        Returns
        -------
        Record
            The i-th record. It keeps the array alive.

        Raises
        ------
        IndexError
            If the index is negative, or not below the known number of records.
        ValueError
            If the address is NULL.

        Examples
        --------
        >>> from entrepot import hip
        >>> grids = hip.dim3.fromObj(np.arange(6, dtype="uint32"))
        >>> [*grids.element(1)]
        [3, 4, 5]
        """
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __getitem__(self, index: int, /) -> Any: ...

class Field:
    """
    A field of a struct or union, which is an attribute of the record's class.

    Examples
    --------
    >>> from entrepot import hip
    >>> field = hip.dim3.y
    >>> field.name, field.offset, field.size
    ('y', 4, 4)
    """

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

    A function with a handle parameter refuses handles of another class. It accepts ints,
    None, ctypes pointers and adapters without a class: use ``Pointer(handle)`` to drop the
    class.

    Examples
    --------
    >>> from entrepot import hip
    >>> from entrepot.ffi import Handle
    >>> issubclass(hip.hipStream_t, Handle)
    True
    """

def make_handle(name: str, dict: dict[str, Any], /) -> Any:
    """Make the class of a handle. For entrepot.ffi."""

class FunctionPointer(Pointer):
    """
    A pointer to a C function.

    C may call a Python callable as long as this object lives. If the callable raises,
    sys.unraisablehook reports the exception and C gets zero.

    Call the object to call the C function from Python.

    Parameters
    ----------
    pyobj : callable or object
        A Python callable, or an object that Pointer accepts other than an array (CAI,
        DLPack, SUAI), which is data.

    Raises
    ------
    TypeError
        If the object is neither callable nor accepted, or if the class is FunctionPointer
        itself.

    Examples
    --------
    >>> from entrepot import hip
    >>> function = hip.hipHostFn_t(lambda data: print("done"))
    >>> function(None)  # as C would
    done
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

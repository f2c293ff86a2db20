# What nanobind's stub generator cannot see: the types and functions of entrepot._core that are plain CPython ones, and their
# classes of errors. `make stubs` writes python/entrepot/_core.pyi with it; a test compares the two.

entrepot._core.__prefix__:
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

entrepot._core.EntrepotError$:
    class EntrepotError(Exception):
        """The root of all errors that Entrepot defines."""

entrepot._core.EntrepotWarning$:
    class EntrepotWarning(UserWarning):
        """An operation succeeded in a degraded way: the message says why and what to do."""

entrepot._core.ExchangeError$:
    class ExchangeError(EntrepotError, BufferError):
        """Memory cannot be imported or exported as asked: the message names the protocol, the reason and what to do."""

entrepot._core.InterfaceError$:
    class InterfaceError(ExchangeError, ValueError):
        """A SUAI, CAI or NumPy array interface says something malformed or untrue."""

entrepot._core.DeviceError$:
    class DeviceError(EntrepotError):
        """A device, driver or queue is absent or reported an error."""

entrepot._core.KernelError$:
    class KernelError(EntrepotError):
        """A program's source, or the launch of a kernel, was refused."""

entrepot._core.USMAllocationError$:
    class USMAllocationError(EntrepotError, MemoryError):
        """Memory could not be allocated: the message gives the bytes asked for and what there was."""

entrepot._core.LibraryError$:
    class LibraryError(EntrepotError, ImportError):
        """A shared library, or a function of it, is not there: the message lists what was tried."""

entrepot._core.Array$:
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

entrepot._core.Memory$:
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

entrepot._core.MemoryUSMDevice$:
    class MemoryUSMDevice(Memory):
        """Memory of the queue's device, which the host cannot reach."""

entrepot._core.MemoryUSMHost$:
    class MemoryUSMHost(Memory):
        """Memory of the host, which the queue's device reaches."""

        def __buffer__(self, flags: int, /) -> memoryview: ...

entrepot._core.MemoryUSMShared$:
    class MemoryUSMShared(Memory):
        """Memory that moves between the host and the queue's device, and that both reach."""

        def __buffer__(self, flags: int, /) -> memoryview: ...

entrepot._core.asarray$:
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
        \doc

entrepot._core.from_dlpack$:
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
        \doc

entrepot._core.from_address$:
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
        \doc

entrepot._core.(empty|zeros)$:
    def \1(
        shape: int | Sequence[int],
        dtype: object,
        *,
        device: object | None = None,
        kind: str | None = None,
        queue: object | None = None,
    ) -> Array:
        \doc

entrepot._core.full$:
    def full(
        shape: int | Sequence[int],
        value: complex | Scalar,
        dtype: object,
        *,
        device: object | None = None,
        kind: str | None = None,
        queue: object | None = None,
    ) -> Array:
        \doc

entrepot._core.fill$:
    def fill(array: object, value: object, *, queue: object | None = None) -> Event:
        \doc

entrepot._core.copy$:
    def copy(dst: object, src: object, queue: object | None = None) -> Event:
        \doc

entrepot._core.as_usm_memory$:
    def as_usm_memory(obj: object, /) -> MemoryUSMHost | MemoryUSMShared | MemoryUSMDevice:
        \doc

entrepot._core.c_api$:
    c_api: CapsuleType

entrepot._core.dtype_names$:
    dtype_names: tuple[str, ...]

entrepot._core.kernel_function_names$:
    kernel_function_names: tuple[str, ...]

entrepot._core.Queue.wait_for$:
    def wait_for(self, other: object, /) -> None:
        \doc

entrepot._core.Event$:
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

entrepot._core.Launcher$:
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

entrepot._core.(Dtype|Device).__reduce__$:
    def __reduce__(self) -> tuple[object, ...]: ...

entrepot._core.Pointer$:
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

entrepot._core.CStr$:
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

entrepot._core.DeviceArray$:
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

entrepot._core.ListOfBytes$:
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

entrepot._core.ListOfPointer$:
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

entrepot._core.(ListOf[UIL][A-Za-z0-9]*)$:
    class \1(Pointer):
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

entrepot._core.PointerTo([A-Za-z0-9]+)$:
    class PointerTo\1(ListOf\1):
        """The address of one C integer: from a list of one int, from allocate(), or what Pointer takes; ``value`` reads and writes it."""

        @classmethod
        def allocate(cls, count: int = 1) -> Self:
            """A zero, or as many as ``count``, which goes with the adapter."""
        value: int
        """The number that is pointed to."""

entrepot._core.HipModuleLaunchKernel_extra$:
    class HipModuleLaunchKernel_extra(Pointer):
        """
        The arguments of a kernel as hipModuleLaunchKernel takes them, from a list or tuple. Its items are ctypes data, which are
        passed by value, and whatever Pointer takes. Each lies where the C ABI puts it.

        Raises TypeError with the index of an argument that is neither: wrap numbers in ctypes.
        """

        def __init__(self, pyobj: object) -> None: ...
entrepot._core.Form$:
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

entrepot._core.Field$:
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

entrepot._core.Record$:
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

entrepot._core.Handle$:
    class Handle(Pointer):
        """
        A pointer to a struct that only its library knows; the base of the classes that bindings have.

        A function that asks for a handle refuses that of another class. It takes ints, None, ctypes' pointers and adapters of no class
        as they are: ``Pointer(handle)`` is one.
        """

entrepot._core.make_handle$:
    def make_handle(name: str, dict: dict[str, Any], /) -> Any:
        \doc

entrepot._core.FunctionPointer$:
    class FunctionPointer(Pointer):
        """
        A pointer to a C function: of a Python callable, which C may call as long as this object lives, or of what Pointer takes.

        Call it from Python as C would. An exception of a callable is reported by sys.unraisablehook, and C gets zero.
        """

        def __new__(cls, pyobj: object, /) -> Self: ...
        def __init__(self, pyobj: object, /) -> None: ...
        def __call__(self, *values: object) -> Any: ...

entrepot._core.ForeignLibrary$:
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

entrepot._core.ForeignFunction$:
    class ForeignFunction:
        def __new__(cls, library: object, declaration: Any, symbol: str | None = None) -> Self: ...
        @property
        def declaration(self) -> Any:
            """The Python function that declares it."""
        @property
        def symbol(self) -> str | None:
            """The name of the function in older libraries; None: the same name."""
        def __call__(self, *args: object, **kwargs: object) -> Any: ...

entrepot._core.make_record$:
    def make_record(
        name: str,
        size: int,
        alignment: int,
        is_union: bool,
        fields: tuple[tuple[str, Form, int, int, int, Any, bool], ...],
        dict: dict[str, Any],
        /,
    ) -> Any:
        \doc

entrepot._core.make_callback$:
    def make_callback(
        name: str, result: Form, parameters: tuple[tuple[str, Form], ...], dict: dict[str, Any], /
    ) -> Any:
        \doc

entrepot._core.PythonKernel$:
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

entrepot._core.KernelLauncher$:
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

# What nanobind's stub generator cannot see: the types and functions of entrepot._core that are plain CPython ones, and their
# classes of errors. `make stubs` writes python/entrepot/_core.pyi with it; a test compares the two.

entrepot._core.__prefix__:
    from typing import Any, ClassVar, final

    from typing_extensions import Buffer, CapsuleType, Self

    __version__: str

    def _rebuild_usm_memory(cls: type[Memory], data: bytes, usm_type: str, /) -> Memory: ...
    def _lend(nbytes: int, device: int, stream: int, owner: object) -> int: ...
    def _take_back(address: int) -> None: ...

entrepot._core.EntrepotError$:
    class EntrepotError(Exception):
        """The root of all errors that Entrepot defines."""

entrepot._core.ExchangeError$:
    class ExchangeError(EntrepotError, BufferError):
        """Memory cannot be taken in or given out as asked: the message names the protocol, the reason and what to do."""

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

entrepot._core.Array$:
    @final
    class Array:
        """
        Memory of any library seen through a shape and a type; made by asarray, empty, zeros, full and from_dlpack.

        An Array computes nothing. It slices, transposes and reshapes without a copy, and hands its memory on under every protocol.
        It is immutable, though its elements are not, and keeps alive whatever its memory belongs to.
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
            A C-contiguous copy in another place; ordered, not waited for.

            Without a device, on this one. Raises USMAllocationError when there is no such memory left.
            """
        def host(self) -> Array:
            """The same memory seen as the host's, without a copy. Raises ValueError for device memory."""
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

entrepot._core.as_usm_memory$:
    def as_usm_memory(obj: object, /) -> MemoryUSMHost | MemoryUSMShared | MemoryUSMDevice:
        \doc

entrepot._core.c_api$:
    c_api: CapsuleType

entrepot._core.dtype_names$:
    dtype_names: tuple[str, ...]

entrepot._core.Launcher.__call__$:
    def __call__(self, *args: object, queue: object | None = None, cooperative: bool = False,
                 cluster: int | tuple[int, ...] | None = None) -> Event:
        \doc

entrepot._core.(Dtype|Device).__reduce__$:
    def __reduce__(self) -> tuple[object, ...]: ...

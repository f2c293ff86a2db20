"""``jit``: kernels and device functions, and their launches."""

from __future__ import annotations

import ast
import functools
import math
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from .._core import Array, KernelError, LocalAccessor, asarray
from ..kernel import source
from ..kernel.functions import DeviceFunction, KernelFunction
from ..kernel.functions import _make as make_kernel
from ..kernel.numba_loops import change_loops
from ..kernel.ranges import DEFAULT_LOCAL_SIZE
from ..kernel.signatures import kernel_signature_of, signatures_of
from ..kernel.simulator.rewrite import names_of
from ..kernel.structs import StructArray
from . import cg, devices
from .arrays import DeviceNDArray, In, MappedNDArray, is_cuda_array, plain
from .errors import LaunchError, unsupported
from .intrinsics import DYNAMIC_SHARED, shared_array
from .language import NUMBA_CUDA
from .signatures import is_signature, text_of
from .streams import Stream, queue_of

#: Number of configurations that a kernel remembers, and a stream.
_MAX_LAUNCHES = 256


def _is_dynamic(node: ast.AST, value: Callable[[ast.expr], Any]) -> bool:
    """True for a call of ``cuda.shared.array`` with the shape 0."""
    if not isinstance(node, ast.Call) or value(node.func) is not shared_array:
        return False
    shape = node.args[0] if node.args else _keyword(node, "shape")
    extent = None if shape is None else value(shape)
    return isinstance(extent, int) and not isinstance(extent, bool) and extent == 0


def _dtype_in(call: ast.Call) -> ast.expr:
    found = call.args[1] if len(call.args) > 1 else _keyword(call, "dtype")
    return ast.Constant(None) if found is None else found


# Dtypes of the dynamic shared memory of functions, None for those without any. The lock guards the
# table, and no code of the user runs under it. A function's node is changed under the lock together
# with its entry: a node without its memory is found only if the entry is there.
_dynamic_dtypes: weakref.WeakKeyDictionary[FunctionType, Any] = weakref.WeakKeyDictionary()
_dynamic_lock = threading.Lock()


def dynamic_shared_dtype(function: FunctionType) -> Any:
    """The dtype of dynamic shared memory, which becomes the kernel's first parameter; None if the
    kernel has no such memory.
    """
    with _dynamic_lock:
        if function in _dynamic_dtypes:
            return _dynamic_dtypes[function]
    dtype = _found_dtype(function)
    with _dynamic_lock:
        if function not in _dynamic_dtypes:
            if dtype is not None:
                source.change(function, functools.partial(_with_parameter, weakref.ref(function)))
            _dynamic_dtypes[function] = dtype
        return _dynamic_dtypes[function]


def _found_dtype(function: FunctionType) -> Any:
    # names_of() evaluates attributes of the user's objects, which may use kernels themselves.
    node = source.find(function)[0]
    value = names_of(function, node)
    calls = [each for each in ast.walk(node) if _is_dynamic(each, value)]
    if not calls:
        return None
    dtypes = [value(_dtype_in(each)) for each in calls if isinstance(each, ast.Call)]
    if any(str(each) != str(dtypes[0]) for each in dtypes):
        raise KernelError(
            f"{function.__name__}: dynamic shared memory has several dtypes, and its arrays share "
            "their bytes: make one array of the widest type, or give each array a size in "
            "cuda.shared.array(shape, dtype)"
        )
    return dtypes[0]


class _Change(ast.NodeTransformer):
    """Replaces calls that make dynamic shared memory by the name of the parameter."""

    def __init__(self, value: Callable[[ast.expr], Any]) -> None:
        self._value = value

    def visit_Call(self, call: ast.Call) -> ast.expr:
        self.generic_visit(call)
        if not _is_dynamic(call, self._value):
            return call
        return ast.copy_location(ast.Name(DYNAMIC_SHARED, ast.Load()), call)


def _with_parameter(
    reference: weakref.ref[FunctionType], node: source.Definition
) -> source.Definition:
    function = reference()
    assert function is not None  # its node is being read
    value = names_of(function, node)

    _Change(value).visit(node)
    first = ast.copy_location(ast.arg(DYNAMIC_SHARED, None), node)
    (node.args.posonlyargs or node.args.args).insert(0, first)
    return node


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg == name), None)


# ---------------------------------------------------------------------------------- launches


def _extents(given: Any, what: str) -> tuple[int, ...]:
    """Extents of a grid or block, x first, without those of 1 at the end."""
    parts = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not 1 <= len(parts) <= 3:
        raise LaunchError(f"launch: {what} has 1 to 3 dimensions, not {len(parts)}")
    for each in parts:
        if isinstance(each, (bool, np.bool_)) or not isinstance(each, (int, np.integer)):
            raise TypeError(
                f"launch: {what} is an int or a tuple of ints, and {each!r} is a "
                f"{type(each).__name__}: divide by //, or use math.ceil()"
            )
        if each <= 0:
            raise LaunchError(f"launch: {what} has the extent {each}, and each is at least 1")
    extents = [int(each) for each in parts]
    while len(extents) > 1 and extents[-1] == 1:
        extents.pop()
    return tuple(extents)


def _are_ints(given: Any) -> bool:
    """True if the extents are integers. ``1``, ``1.0`` and ``True`` are equal keys."""
    if type(given) is not tuple:
        return type(given) is int or isinstance(given, np.integer)
    for each in given:  # all() of a generator takes twice the time
        if type(each) is not int:
            return False
    return True


def _ranges(griddim: Any, blockdim: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Work-items in total and of a block, the slowest dimension first."""
    blocks, threads = _extents(griddim, "the grid"), _extents(blockdim, "the block")
    ndim = max(len(blocks), len(threads))
    blocks, threads = (each + (1,) * (ndim - len(each)) for each in (blocks, threads))
    total = tuple(b * t for b, t in zip(blocks, threads, strict=True))
    return total[::-1], threads[::-1]


class Launch:
    """A kernel with its grid, block, stream and dynamic shared memory. A call launches it."""

    __slots__ = ("_queue", "_submit", "_usual")

    def __init__(self, launcher: Any, queue: Any, shared: LocalAccessor | None) -> None:
        before = () if shared is None else (shared,)
        named = {} if queue is None else {"queue": queue}
        if before or named:
            launcher = functools.partial(launcher, *before, **named)
        self._submit = launcher
        self._queue = queue
        # Types of arguments that need nothing but the Arrays of their DeviceNDArrays.
        self._usual: tuple[type, ...] | None = None

    def __call__(self, *arguments: Any) -> None:
        if tuple(map(type, arguments)) != self._usual:
            self._launch(arguments)
            return
        self._submit(*[each.array if type(each) is DeviceNDArray else each for each in arguments])

    def _launch(self, arguments: tuple[Any, ...]) -> None:
        given = [
            each.given(self._queue) if isinstance(each, In) else plain(each) for each in arguments
        ]
        if self._queue is not None or any(isinstance(each, DeviceNDArray) for each in arguments):
            self._submit(*given)
            if not any(isinstance(each, (In, MappedNDArray)) for each in arguments):
                self._usual = tuple(map(type, arguments))
            return
        # Arrays of other libraries are on a device; NumPy's and numbers are not.
        given = [_imported(each) for each in given]
        on_device = any(isinstance(each, (Array, StructArray)) for each in given)
        self._submit(*given, **({} if on_device else {"queue": devices.current_queue()}))


def _imported(value: Any) -> Any:
    return asarray(value) if is_cuda_array(value) and not isinstance(value, np.ndarray) else value


# ------------------------------------------------------------------------------------ kernels

_SOURCE = "dispatcher.kernel.source() is the text that the device's compiler is given"
#: Methods of numba.cuda's dispatchers that are not served, and what to use.
INSTEAD = {
    "inspect_llvm": _SOURCE,
    "inspect_sass": _SOURCE,
    "inspect_types": _SOURCE,
    "get_regs_per_thread": "the vendor's profiler shows it",
    "get_local_mem_per_thread": "the vendor's profiler shows it",
    "get_const_mem_size": "constant memory has the size of the arrays that the kernel captures",
    "get_shared_mem_per_block": "shared memory has the size of the arrays that the kernel makes",
}


class Dispatcher(DeviceFunction):
    """A kernel or device function that ``jit`` makes.

    ``kernel[griddim, blockdim, stream, sharedmem](arguments…)`` launches a kernel. Each extent is
    an int or a tuple of up to three, x first. The stream and the bytes of dynamic shared memory
    may be left out. A launch with a NumPy array waits for the kernel, others do not.

    Other kernels can call the function. ``kernel`` is the KernelFunction of Entrepot.

    Examples
    --------
    >>> from entrepot import numba_cuda as cuda
    >>> @cuda.jit
    ... def double(numbers):
    ...     i = cuda.grid(1)
    ...     if i < numbers.size:
    ...         numbers[i] *= 2
    >>> numbers = np.arange(5)
    >>> double[2, 4](numbers)
    >>> numbers.tolist()
    [0, 2, 4, 6, 8]
    """

    def __init__(
        self,
        function: FunctionType,
        options: dict[str, Any],
        *,
        device: bool,
        signatures: list[str],
    ) -> None:
        super().__init__(function)
        source.set_language(function, NUMBA_CUDA)
        change_loops(function)
        cg.change_syncs(function)
        self.py_func = function
        self._options, self._is_device, self._signatures = options, device, signatures
        self._launches: dict[Any, Launch] = {}
        self._dynamic: Any = None
        self._kernel: KernelFunction | None = None
        if signatures and not device:
            with devices.current_queue():
                self.kernel  # noqa: B018  # compiles for the current device

    def __repr__(self) -> str:
        return f"<numba_cuda.jit {self.function.__qualname__}>"

    @property
    def kernel(self) -> KernelFunction:
        """The kernel of Entrepot. Its first parameter is dynamic shared memory, if it has any."""
        if self._is_device:
            raise LaunchError(
                f"{self.function.__name__} is a device function, which kernels call: leave "
                "device=True out to launch it"
            )
        if self._kernel is None:
            self._dynamic = dynamic_shared_dtype(self.function)
            texts = [self._with_shared(each) for each in self._signatures]
            chosen = {"signatures": signatures_of(texts, "jit")} if texts else {}
            made = make_kernel(self.function, self._options | chosen)
            if texts:
                made._specialize()
            self._kernel = made
        return self._kernel

    def _with_shared(self, signature: str) -> str:
        if self._dynamic is None:
            return signature
        name = getattr(self._dynamic, "name", None) or np.dtype(self._dynamic).name
        head, _, rest = signature.partition("(")
        separator = "" if rest.strip() == ")" else ", "
        return f"{head}(local {name}[:]{separator}{rest}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._is_device:
            return self.function(*args, **kwargs)
        name = self.function.__name__
        raise LaunchError(
            f"{name} is a kernel and was called without a launch configuration: "
            f"{name}[blocks, threads](…) launches it"
        )

    def __getitem__(self, index: Any) -> Launch:
        if not isinstance(index, tuple) or not 2 <= len(index) <= 4:
            raise LaunchError(
                "launch: a kernel is launched with its grid and block, kernel[blocks, threads]; a "
                "stream and bytes of shared memory may follow them"
            )
        griddim, blockdim = index[0], index[1]
        known, key = self._launches, index
        if len(index) > 2:
            stream = index[2]
            if type(stream) is Stream:
                # A Launch holds the queue, so the stream has it, and not the kernel.
                known, key = stream.launches, (self, griddim, blockdim, index[3:])
            elif stream is not None and (type(stream) is not int or stream != 0):
                return self.configure(*index)
        if (type(griddim) is not int and not _are_ints(griddim)) or (
            type(blockdim) is not int and not _are_ints(blockdim)
        ):
            return self.configure(*index)
        launch = known.get(key)
        if launch is None:
            launch = self.configure(*index)
            if len(known) >= _MAX_LAUNCHES:
                known.clear()
            known[key] = launch
        return launch

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> Launch:
        """The kernel with its grid, block, stream and dynamic shared memory.

        The memory has as many elements as fit into the bytes.
        """
        return self._configured(*_ranges(griddim, blockdim), stream, sharedmem)

    def _configured(self, total: Any, block: Any, stream: Any, sharedmem: int) -> Launch:
        kernel = self.kernel
        launcher = kernel._simulated[total, block] if _is_simulated() else kernel[total, block]
        return Launch(launcher, queue_of(stream), self._shared_memory(sharedmem))

    def _shared_memory(self, sharedmem: int) -> LocalAccessor | None:
        if self._dynamic is None:
            return None
        itemsize = np.dtype(getattr(self._dynamic, "name", self._dynamic)).itemsize
        return LocalAccessor(int(sharedmem) // itemsize, self._dynamic)

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Any:
        """A launch of at least ``ntasks`` threads in one dimension.

        ``tpb`` is the number of threads of a block; by default the device determines it, and there
        are ``ntasks`` threads.
        """
        if ntasks < 0:
            raise LaunchError(f"forall(): there cannot be {ntasks} tasks")
        if ntasks == 0:
            return lambda *arguments: None
        if tpb > 0:
            return self[-(-ntasks // tpb), tpb, stream, sharedmem]
        return self._configured((int(ntasks),), DEFAULT_LOCAL_SIZE, stream, sharedmem)

    @property
    def simulate(self) -> Any:
        """``kernel.simulate[blocks, threads](…)`` runs the kernel in Python, and reports races and
        indices out of bounds.
        """
        return _Simulated(self)

    def specialize(self, *args: Any) -> Dispatcher:
        """A kernel that is compiled for the types of these arguments, and takes no others."""
        texts = [_signature_of(tuple(map(plain, args)))]
        return Dispatcher(self.function, self._options, device=False, signatures=texts)

    def compile(self, sig: Any) -> Dispatcher:
        """A kernel that is compiled for the signature, and takes no others."""
        return Dispatcher(self.function, self._options, device=False, signatures=[text_of(sig)])

    @property
    def signatures(self) -> list[str]:
        """Signatures that the kernel was made with."""
        return list(self._signatures)

    @property
    def overloads(self) -> Overloads:
        """Kernels by signature, as in ``kernel.overloads[signature]``."""
        return Overloads(self)

    @property
    def specialized(self) -> bool:
        """True if the kernel was made with one signature."""
        return len(self._signatures) == 1

    def get_max_threads_per_block(self, signature: Any = None) -> int:
        """Most threads of a block on the current device."""
        return devices.current_device().max_work_group_size

    def inspect_asm(self, signature: Any = None) -> str:
        """Machine code for the host as assembly, of the signature or of the last launch.

        ``dispatcher.kernel.source()`` is the text that the compilers of other devices are given.
        """
        text = None if signature is None else self._with_shared(text_of(signature))
        return self.kernel.assembly(signature=text)

    @property
    def extensions(self) -> list[Any]:
        """An empty list, because arguments are what ``ep.asarray()`` accepts."""
        return []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        instead = INSTEAD.get(name, "dispatcher.kernel is the KernelFunction of Entrepot")
        raise unsupported(f"dispatcher.{name}", instead)


class Overload:
    """A kernel for one signature."""

    def __init__(self, dispatcher: Dispatcher, signature: str) -> None:
        self._dispatcher, self._signature = dispatcher, signature

    def __repr__(self) -> str:
        return f"<{self._dispatcher.function.__qualname__} for {self._signature}>"

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """Most blocks of a launch with ``cg.this_grid().sync()`` on the current device.

        ``blockdim`` is an int or a tuple of up to three, ``dynsmemsize`` the bytes of dynamic
        shared memory. The kernel is compiled if it is not yet.
        """
        dispatcher = self._dispatcher
        kernel = dispatcher.kernel
        types = kernel_signature_of(dispatcher._with_shared(self._signature))
        threads = math.prod(_extents(blockdim, "the block"))
        with devices.current_queue():
            most: int = kernel._max_resident_groups(types, threads, dynsmemsize)
        return most

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        instead = INSTEAD.get(name, "an overload has max_cooperative_grid_blocks()")
        raise unsupported(f"overload.{name}", instead)


class Overloads(Mapping[Any, Overload]):
    """``dispatcher.overloads``: its keys are the signatures that the kernel was made with. A kernel
    without signatures has an overload for any.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def __getitem__(self, signature: Any) -> Overload:
        given, known = text_of(signature), self._dispatcher.signatures
        if known and kernel_signature_of(given) not in map(kernel_signature_of, known):
            raise KeyError(given)
        return Overload(self._dispatcher, given)

    def __iter__(self) -> Iterator[str]:
        return iter(self._dispatcher.signatures)

    def __len__(self) -> int:
        return len(self._dispatcher.signatures)


class _Simulated:
    """``dispatcher.simulate``."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def __getitem__(self, index: Any) -> Launch:
        dispatcher = self._dispatcher
        griddim, blockdim, *rest = index
        kernel = dispatcher.kernel
        launcher = kernel._simulated[_ranges(griddim, blockdim)]
        shared = dispatcher._shared_memory(rest[1] if len(rest) > 1 else 0)
        return Launch(launcher, None, shared)


def _is_simulated() -> bool:
    """True if numba.cuda's variable of the simulator is set. Entrepot's is read by its kernels."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def _signature_of(arguments: tuple[Any, ...]) -> str:
    def text(value: Any) -> str:
        if isinstance(value, (Array, np.ndarray)):
            axes = [":"] * value.ndim
            array = DeviceNDArray(value) if isinstance(value, Array) else value
            contiguous = (
                array.is_c_contiguous
                if isinstance(array, DeviceNDArray)
                else array.flags["C_CONTIGUOUS"]
            )
            if axes and contiguous:
                axes[-1] = "::1"
            return f"{value.dtype}[{', '.join(axes)}]"
        if isinstance(value, np.generic):
            return str(value.dtype)
        names: dict[type, str] = {
            bool: "bool",
            int: "int64",
            float: "float64",
            complex: "complex128",
        }
        if type(value) not in names:
            raise TypeError(f"specialize() takes arrays and numbers, not a {type(value).__name__}")
        return names[type(value)]

    return f"void({', '.join(map(text, arguments))})"


# ---------------------------------------------------------------------------------------- jit

_NOT_AN_OPTION = {
    "link": "C++ is run by entrepot.Program, and a device function is written in Python",
    "extensions": "arguments are what entrepot.asarray() accepts",
    "argtypes": "give the signature first, as in jit('void(float32[:])')",
    "restype": "give the signature first, as in jit('void(float32[:])')",
    "bind": "leave it out",
    "launch_bounds": "the device's compiler chooses the number of registers",
}
# Options that have no effect: code is optimized and has lines, and compiled code is cached on disk.
_WITHOUT_EFFECT = ("inline", "opt", "lineinfo", "cache", "forceinline", "nopython", "lto")


def jit(
    func_or_sig: Any = None,
    device: bool = False,
    *,
    debug: bool | None = None,
    fastmath: bool = False,
    max_registers: int | None = None,
    boundscheck: bool | None = None,
    **options: Any,
) -> Any:
    """Make a function a kernel, or with ``device=True`` one that kernels call.

    It is a decorator: ``@jit``, ``@jit(device=True)``, ``@jit("void(float32[:])")``.

    Parameters
    ----------
    func_or_sig : callable, str, tuple or list, optional
        The Python function, or its signature or a list of several: texts, signatures of Numba or
        tuples of its types. A kernel with signatures is compiled immediately for the current
        device. It takes no other types of arrays, and converts numbers.
    device : bool, optional
        True for a function that kernels call. The default is False.
    debug : bool, optional
        True if indices and assertions are checked. A launch then waits, and raises IndexError or
        AssertionError. ENTREPOT_KERNEL_DEBUG=1 enables it for kernels that do not specify it.
    fastmath : bool, optional
        True to let compilers reorder and approximate floating-point operations.
    max_registers : int, optional
        Most registers of a thread on CUDA devices, up to 255. By default the compiler chooses.
    boundscheck : bool, optional
        True checks as ``debug`` does.
    **options
        ``inline``, ``opt``, ``lineinfo`` and ``cache`` have no effect: code is optimized, errors
        have lines, and compiled code is cached. ``link`` and others raise NotServedError.

    Returns
    -------
    Dispatcher or callable
        The kernel or device function. Without a function, a decorator that makes one.

    Raises
    ------
    KernelError
        If a construct is not supported, with file, line and source. It is raised at the first
        launch or, with a signature, by the decorator.
    TypeError
        If ``func_or_sig`` is neither a function nor a signature, or an option is unknown.
    ValueError
        If a signature is invalid.

    Examples
    --------
    >>> from entrepot import numba_cuda as cuda
    >>> @cuda.jit(device=True)
    ... def square(x):
    ...     return x * x
    >>> @cuda.jit("void(float32[:])")
    ... def squares(numbers):
    ...     i = cuda.grid(1)
    ...     numbers[i] = square(numbers[i])
    >>> numbers = np.arange(4, dtype="float32")
    >>> squares[1, 4](numbers)
    >>> numbers.tolist()
    [0.0, 1.0, 4.0, 9.0]
    """
    for name, given in options.items():
        if name in _NOT_AN_OPTION:
            if given:
                raise unsupported(f"jit({name}=…)", _NOT_AN_OPTION[name])
        elif name not in _WITHOUT_EFFECT:
            raise TypeError(
                f"jit() has no option {name}: device, debug, fastmath, max_registers, boundscheck, "
                f"{', '.join(_WITHOUT_EFFECT)} are its options"
            )
    chosen: dict[str, Any] = {"fast_math": bool(fastmath)}
    if debug is not None or boundscheck is not None:
        chosen["debug"] = bool(debug or boundscheck)
    if max_registers is not None:
        chosen["max_registers"] = max_registers
    signatures: list[str] = []
    if isinstance(func_or_sig, list):
        signatures = [text_of(each) for each in func_or_sig]
    elif is_signature(func_or_sig):
        signatures = [text_of(func_or_sig)]

    def decorate(function: Callable[..., Any]) -> Dispatcher:
        if isinstance(function, Dispatcher):
            function = function.function
        if not isinstance(function, FunctionType):
            raise TypeError(f"jit() takes a Python function or a signature, not {function!r}")
        return Dispatcher(function, chosen, device=device, signatures=signatures)

    return decorate if func_or_sig is None or signatures else decorate(func_or_sig)


def declare_device(*_: Any, **__: Any) -> NoReturn:
    """Raise NotServedError: kernels call Python functions only."""
    raise unsupported("declare_device()", "write the function in Python with jit(device=True)")


def compile(*_: Any, **__: Any) -> NoReturn:
    """Raise NotServedError: the text of a kernel is that of ``dispatcher.kernel.source()``."""
    raise unsupported("compile()", _SOURCE)


def compile_for_current_device(*_: Any, **__: Any) -> NoReturn:
    """Raise NotServedError: the text of a kernel is that of ``dispatcher.kernel.source()``."""
    raise unsupported("compile_for_current_device()", _SOURCE)


def compile_ptx(*_: Any, **__: Any) -> NoReturn:
    """Raise NotServedError: the text of a kernel is that of ``dispatcher.kernel.source()``."""
    raise unsupported("compile_ptx()", _SOURCE)


def compile_ptx_for_current_device(*_: Any, **__: Any) -> NoReturn:
    """Raise NotServedError: the text of a kernel is that of ``dispatcher.kernel.source()``."""
    raise unsupported("compile_ptx_for_current_device()", _SOURCE)

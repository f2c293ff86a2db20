"""``kernel`` and ``func``: Python functions that devices run, and that kernels call."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Literal, overload

from .._core import Event, KernelError, PythonKernel
from .._core import device as _device
from .signatures import kernel_signature_of, signature_of, signatures_of, texts_of
from .source import remember

if TYPE_CHECKING:
    from .elementwise import vectorize
    from .reduction import reduce

Dialect = Literal["opencl-c", "sycl", "cuda", "hip", "c++"]


class DeviceFunction:
    """A function that kernels call; for each types of arguments it is compiled with the kernel. In Python it is the function."""

    def __init__(self, function: FunctionType) -> None:
        remember(function)
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<entrepot.kernel.func {self.function.__qualname__}>"


class KernelFunction(PythonKernel):
    """A Python function that devices run: ``kernel[global, local](arguments…)`` compiles it for the types and submits it.

    ``function`` is the function as it was written, ``specialisations`` how often it has been compiled in this process.
    """

    _chosen: dict[str, Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self.function.__name__
        raise KernelError(f"{name} is a kernel and was called without a range: {name}[global, local](…) launches it")

    def __repr__(self) -> str:
        return f"<entrepot.kernel.kernel {self.function.__qualname__}>"

    @property
    def simulate(self) -> Any:
        """The same kernel run by Python: ``kernel.simulate[global, local](…)``, with races and indices out of bounds reported."""
        from .simulate import Simulated

        return Simulated(self)

    @property
    def _simulated(self) -> _SimulatedRanges:
        return _SimulatedRanges(self.simulate)

    def options(
        self, *, debug: bool | None = None, fast_math: bool | None = None, dialect: Dialect | None = None
    ) -> KernelFunction:
        """The same function as a kernel with other options; those not given stay.

        ``debug``: indices are checked, and a launch waits, and raises IndexError with the line and the work-item of one that is
        outside. ``fast_math``: as compilers have it. ``dialect``: the language that it is compiled through, where the device has
        several; ValueError for a name that is none, and where the device does not build it a launch raises KernelError.

            scale.options(debug=True)[4](array)
        """
        given = {"debug": debug, "fast_math": fast_math, "dialect": dialect}
        return _make(self.function, self._chosen | {name: value for name, value in given.items() if value is not None})

    def source(
        self,
        dialect: Dialect | None = None,
        *,
        signature: str | None = None,
        device: object = None,
        dimensions: int | None = None,
    ) -> str:
        """The text that a compiler is given, in a dialect: that of the device unless another is named.

        For the types of the last launch, and on the host for its local size; or for those of ``signature``, as in
        "void(float32[::1], int64)". ``dimensions`` are those of the launches, 1 to 3; without it those of the last launch, with a
        signature as many as the kernel asks about: get_global_id(1) asks about two. Raises KernelError where there are neither
        launch nor signature, and where the kernel is refused; ValueError for a signature that is none, and for fewer dimensions
        than the kernel asks about.
        """
        text: str = self._translation(dialect, signature, device, dimensions)["source"]
        return text

    def export(self, path: str | os.PathLike[str], *, signature: str | None = None, dimensions: int | None = None) -> None:
        """Saves the kernel for programs without Python: ``path`` becomes a C++ header whose launch_NAME() runs it on the host.

        Types and ``dimensions`` as in source(), and the same errors. Raises KernelError also for a kernel with debug=True, and
        for a scalar that C++17 has no type for. In C++ an array that is written overlaps no other array.

            @kernel
            def twice(image):
                i, j = get_global_id(0), get_global_id(1)
                image[i, j] *= 2

            twice.export("twice.hpp", signature="void(float32[:, ::1])")

        declares ``launch_twice(const std::array<std::int64_t, 2> &global, float *image, std::int64_t image_extent1, …)``.
        """
        from .export import export

        export(os.fspath(path), self._translation("c++", signature, _device("host"), dimensions, any_local=True))

    def _translation(
        self,
        dialect: Dialect | None,
        signature: str | None,
        device: object,
        dimensions: int | None,
        *,
        any_local: bool = False,
    ) -> dict[str, Any]:
        types = None if signature is None else kernel_signature_of(signature)
        return self._translate(dialect, types, device, dimensions, any_local=any_local)


class _SimulatedRanges:
    """What ``kernel[…]`` gives with ENTREPOT_SIMULATE=1: launches that are over when the call returns, and return an Event."""

    def __init__(self, simulated: Any) -> None:
        self._simulated = simulated

    def __getitem__(self, index: Any) -> Callable[..., Event]:
        launch = self._simulated[index]

        def run(*args: Any, **kwargs: Any) -> Event:
            launch(*args, **kwargs)
            return _device("host").queue.record()

        return run


def _make(function: object, options: dict[str, Any]) -> KernelFunction:
    if not isinstance(function, FunctionType):
        raise TypeError(f"a kernel is made of a Python function, not of {function!r}")
    remember(function)
    debug = options.get("debug", os.environ.get("ENTREPOT_KERNEL_DEBUG", "0") not in ("", "0"))
    made = KernelFunction(
        function,
        signatures=options.get("signatures"),
        debug=debug,
        fast_math=options.get("fast_math", False),
        dialect=options.get("dialect"),
    )
    made._chosen = options
    functools.update_wrapper(made, function)
    return made


@overload
def kernel(function: Callable[..., None], /) -> KernelFunction: ...
@overload
def kernel(
    signature: str | Sequence[str] | None = None,
    /,
    *,
    debug: bool | None = None,
    fast_math: bool = False,
    dialect: Dialect | None = None,
) -> Callable[[Callable[..., None]], KernelFunction]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """Makes a function a kernel: ``@kernel``, ``@kernel("void(float32[::1])")`` or ``@kernel(debug=True)``.

    A kernel is launched with a range, ``kernel[global, local](arguments…)``: work-items, and how many of them a group has, each
    an int or a tuple of up to three. It is compiled when it is launched with types of arguments that are new. With a signature,
    or a list of them, it is compiled at once for the current device, and takes no other arrays; numbers become what the signature
    says. ``debug``, ``fast_math`` and ``dialect`` are those of KernelFunction.options(); ENTREPOT_KERNEL_DEBUG=1 turns debug on
    for kernels that do not say.

    Raises KernelError, with file, line and source, for what kernels cannot contain: at the first launch, or at once where there
    is a signature.
    """
    unknown = set(options) - {"debug", "fast_math", "dialect"}
    if unknown:
        raise TypeError(f"kernel() has no option {', '.join(sorted(unknown))}: debug, fast_math and dialect are its options")
    chosen = {name: value for name, value in options.items() if value is not None}
    if callable(function):
        return _make(function, chosen)
    if function is not None:
        chosen["signatures"] = signatures_of(function, "kernel")

    def decorate(function: Callable[..., None]) -> KernelFunction:
        made = _make(function, chosen)
        if "signatures" in chosen:
            made._specialise()
        return made

    return decorate


@overload
def func(function: Callable[..., Any], /, *, debug: bool | None = None) -> DeviceFunction: ...
@overload
def func(
    signature: str | Sequence[str] | None = None, /, *, debug: bool | None = None
) -> Callable[[Callable[..., Any]], DeviceFunction]: ...
def func(function: Any = None, /, **options: Any) -> Any:
    """Makes a function one that kernels call: ``@func``, or, as numba-dppy has it, ``@func("float32(float32)")`` and
    ``@func(debug=True)``.

    It is compiled for the types that it is called with; a signature is read, and changes nothing. So does ``debug``: a function
    is checked if the kernel that calls it is.
    """
    unknown = set(options) - {"debug"}
    if unknown:
        raise TypeError(f"func() has no option {', '.join(sorted(unknown))}: debug is its only option")
    if isinstance(function, FunctionType):
        return DeviceFunction(function)
    if function is not None:
        for each in texts_of(function, "func"):
            signature_of(each)
    return func


class CallableModule(ModuleType):
    """The class of the module ``entrepot.kernel``, by which ``@entrepot.kernel`` is the decorator.

    A type checker takes ``entrepot.kernel`` for an instance of this class, not for a module. The
    decorators are declared here, so that ``@entrepot.kernel.func`` has a type. The other names are
    Any in that form; ``import entrepot.kernel as dppy`` has the types of all names.
    """

    if TYPE_CHECKING:

        def __init__(self, name: str, doc: str | None = None) -> None:
            self.kernel = kernel
            self.func = func
            self.reduce = reduce
            self.vectorize = vectorize

    @overload
    def __call__(self, function: Callable[..., None], /) -> KernelFunction: ...
    @overload
    def __call__(
        self,
        signature: str | Sequence[str] | None = None,
        /,
        *,
        debug: bool | None = None,
        fast_math: bool = False,
        dialect: Dialect | None = None,
    ) -> Callable[[Callable[..., None]], KernelFunction]: ...
    def __call__(self, function: Any = None, /, **options: Any) -> Any:
        """``kernel(function, **options)``."""
        return kernel(function, **options)

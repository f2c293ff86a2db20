"""``kernel`` and ``func``: Python functions that devices run, and that kernels call."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Literal, overload

from .._core import Event, KernelError, PythonKernel
from .._core import device as _device
from .signatures import kernel_signature_of, signature_of, signatures_of, texts_of
from .source import remember

Dialect = Literal["opencl-c", "sycl", "cuda", "hip", "c++"]


class DeviceFunction:
    """A function that kernels call, compiled with the kernel for its argument types. Python can
    call it, too.
    """

    def __init__(self, function: FunctionType) -> None:
        remember(function)
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<entrepot.kernel.func {self.function.__qualname__}>"


class KernelFunction(PythonKernel):
    """A Python function that devices run: ``kernel[global, local](arguments…)`` compiles and
    submits it.

    ``function`` is the original function, ``specializations`` the number of compilations in this
    process.
    """

    __name__: str
    _chosen: dict[str, Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self.function.__name__
        raise KernelError(
            f"{name} is a kernel and was called without a range: {name}[global, local](…) "
            "launches it"
        )

    def __repr__(self) -> str:
        return f"<entrepot.kernel.kernel {self.function.__qualname__}>"

    @property
    def simulate(self) -> Any:
        """Runs the kernel in Python and reports races and indices out of bounds:
        ``kernel.simulate[global, local](…)``.
        """
        from .simulate import Simulated

        return Simulated(self)

    @property
    def _simulated(self) -> _SimulatedRanges:
        return _SimulatedRanges(self.simulate)

    def options(
        self,
        *,
        debug: bool | None = None,
        fast_math: bool | None = None,
        dialect: Dialect | None = None,
    ) -> KernelFunction:
        """A kernel of the same function with other options; options that are not given keep their
        values.

        With ``debug``, indices are checked. A launch then waits, and raises IndexError with the
        line and the work-item of an index out of bounds. The option ``fast_math`` is that of
        compilers. The option ``dialect`` selects the language of the generated code, if the device
        supports several.

        Raises ValueError for an unknown dialect. A launch raises DeviceError if the device does not
        build it.

            scale.options(debug=True)[4](array)
        """
        given = {"debug": debug, "fast_math": fast_math, "dialect": dialect}
        return _make(
            self.function,
            self._chosen | {name: value for name, value in given.items() if value is not None},
        )

    def source(
        self,
        dialect: Dialect | None = None,
        *,
        signature: str | None = None,
        device: object = None,
        dimensions: int | None = None,
    ) -> str:
        """The source code for the device's compiler, by default in the device's dialect.

        The types are those of ``signature``, as in "void(float32[::1], int64)", or else of the last
        launch. For a launch on the host the code is specific to its local size. The number of
        ``dimensions`` of the launches, 1 to 3, defaults to that of the last launch. With a
        signature it defaults to the number that the kernel queries. For example, get_global_id(1)
        queries two.

        Raises KernelError without a launch or a signature, or if the kernel is refused. Raises
        ValueError for an invalid signature, or for fewer dimensions than the kernel queries.
        """
        text: str = self._translation(dialect, signature, device, dimensions)["source"]
        return text

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        signature: str | None = None,
        dimensions: int | None = None,
    ) -> None:
        """Exports the kernel to a C++ header at ``path``; its launch_NAME() runs the kernel on the
        host without Python.

        Types, ``dimensions`` and errors as in source(). Also raises KernelError for a kernel with
        debug=True, and for a scalar without a C++17 type. C++ callers must not pass a written array
        that overlaps another array.

            @kernel
            def twice(image):
                i, j = get_global_id(0), get_global_id(1)
                image[i, j] *= 2

            twice.export("twice.hpp", signature="void(float32[:, ::1])")

        declares ``launch_twice(const std::array<std::int64_t, 2> &global, float *image,
        std::int64_t image_extent1, …)``.
        """
        from .export import export

        export(
            os.fspath(path),
            self._translation("c++", signature, _device("host"), dimensions, any_local=True),
        )

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
    """Result of ``kernel[…]`` with ENTREPOT_SIMULATE=1: launches that are complete on return and
    return an Event.
    """

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
    """Makes a function a kernel: ``@kernel``, ``@kernel("void(float32[::1])")`` or
    ``@kernel(debug=True)``.

    A kernel is launched with a range, ``kernel[global, local](arguments…)``: the number of
    work-items, and the number in each group. Each is an int or a tuple of up to three. The first
    launch with new argument types compiles the kernel. A kernel with a signature, or a list of
    them, is compiled immediately for the current device. It accepts no other types of arrays, and
    converts numbers to the types of the signature. The options ``debug``, ``fast_math`` and
    ``dialect`` are those of KernelFunction.options(). ENTREPOT_KERNEL_DEBUG=1 enables debug for
    kernels that do not specify it.

    Raises KernelError, with file, line and source, for unsupported constructs. It is raised at the
    first launch or, with a signature, by the decorator.
    """
    unknown = set(options) - {"debug", "fast_math", "dialect"}
    if unknown:
        raise TypeError(
            f"kernel() has no option {', '.join(sorted(unknown))}: debug, fast_math and dialect "
            "are its options"
        )
    chosen = {name: value for name, value in options.items() if value is not None}
    if callable(function):
        return _make(function, chosen)
    if function is not None:
        chosen["signatures"] = signatures_of(function, "kernel")

    def decorate(function: Callable[..., None]) -> KernelFunction:
        made = _make(function, chosen)
        if "signatures" in chosen:
            made._specialize()
        return made

    return decorate


@overload
def func(function: Callable[..., Any], /, *, debug: bool | None = None) -> DeviceFunction: ...
@overload
def func(
    signature: str | Sequence[str] | None = None, /, *, debug: bool | None = None
) -> Callable[[Callable[..., Any]], DeviceFunction]: ...
def func(function: Any = None, /, **options: Any) -> Any:
    """Makes a function callable from kernels: ``@func``, or, as in numba-dppy,
    ``@func("float32(float32)")`` and ``@func(debug=True)``.

    It is compiled for the types of each call. A signature is parsed but has no effect, nor has
    ``debug``: the function is checked if the kernel that calls it is.
    """
    unknown = set(options) - {"debug"}
    if unknown:
        raise TypeError(
            f"func() has no option {', '.join(sorted(unknown))}: debug is its only option"
        )
    if isinstance(function, FunctionType):
        return DeviceFunction(function)
    if function is not None:
        for each in texts_of(function, "func"):
            signature_of(each)
    return func

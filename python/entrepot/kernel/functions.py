"""``kernel`` and ``func``: Python functions that devices run, and that kernels call."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, Literal, overload

from .._core import Event, KernelError, PythonKernel
from .._core import device as _device
from .signatures import kernel_signature_of, signature_of, signatures_of, texts_of
from .source import remember

Dialect = Literal["opencl-c", "sycl", "cuda", "hip", "c++"]


class DeviceFunction:
    """A function that kernels call, compiled with the kernel for its argument types.

    Python can call it, too. The decorator ``func`` makes it.

    Parameters
    ----------
    function : callable
        The Python function.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> @ek.func
    ... def square(x):
    ...     return x * x
    >>> square(3)
    9
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
    """A Python function that devices run.

    The decorator ``kernel`` makes it. ``kernel[global, local](arguments…)`` compiles and submits
    it, and returns an Event. A launch takes these keywords:

    - ``queue``: the queue to use; by default the queue of the arrays (compute follows data)
    - ``depends_on``: an Event, or several, that the kernel waits for
    - ``wait``: True if the call waits for the kernel. By default, it waits if an argument is not an
      Array and the host can access its memory, such as a NumPy array.

    A launch raises KernelError for an unsupported kernel, range or argument, and TypeError for
    arguments of other types. It raises ValueError for a negative extent, and ExchangeError for
    memory that cannot be viewed. If checked, an index out of bounds raises IndexError, and a failed
    assertion AssertionError.

    ``function`` is the original function, ``specializations`` the number of compilations in this
    process.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> @ek.kernel
    ... def add_one(numbers):
    ...     numbers[ek.get_global_id(0)] += 1
    >>> numbers = ep.zeros(4, "int32", device="host")
    >>> first = add_one[4](numbers)
    >>> add_one[4, 2](numbers, depends_on=first).wait()
    >>> numbers.numpy().tolist()
    [2, 2, 2, 2]
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
        max_registers: int | None = None,
    ) -> KernelFunction:
        """Make a kernel of the same function with other options; None keeps an option's value.

        Parameters
        ----------
        debug : bool, optional
            True if indices and assertions are checked. A launch then waits. It raises IndexError
            for an index out of bounds, or AssertionError, with the line and the work-item.
        fast_math : bool, optional
            True to let compilers reorder and approximate floating-point operations.
        dialect : str, optional
            The language of the generated code, if the device supports several: 'opencl-c', 'sycl',
            'cuda', 'hip' or 'c++'. A launch raises DeviceError if the device does not build it.
        max_registers : int, optional
            The most registers of a thread, on CUDA devices. With fewer registers more groups run
            at once. 0 leaves the choice to the compiler. Other devices ignore it.

        Returns
        -------
        KernelFunction
            The other kernel. This one is unchanged.

        Raises
        ------
        ValueError
            If the dialect is unknown.
        TypeError
            If the dialect is not a str.

        Examples
        --------
        >>> from entrepot import kernel as ek
        >>> @ek.kernel
        ... def shift(numbers):
        ...     i = ek.get_global_id(0)
        ...     numbers[i] = numbers[i + 1]
        >>> numbers = ep.zeros(4, "float32", device="host")
        >>> shift.options(debug=True)[4](numbers)
        Traceback (most recent call last):
        IndexError: ...index 4 is out of bounds...
        """
        given = {
            "debug": debug,
            "fast_math": fast_math,
            "dialect": dialect,
            "max_registers": max_registers,
        }
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
        """Return the source code for the device's compiler.

        For a launch on the host the code is specific to its local size.

        Parameters
        ----------
        dialect : str, optional
            The language: 'opencl-c', 'sycl', 'cuda', 'hip' or 'c++'. The default is the device's.
        signature : str, optional
            The types of the arguments, as in "void(float32[::1], int64)". The default is those of
            the last launch.
        device : Device or str, optional
            The device to generate code for. The default is that of the last launch, or the current
            device if there is a signature.
        dimensions : int, optional
            The number of dimensions of the launches, 1 to 3. It defaults to that of the last
            launch. With a signature it defaults to the number that the kernel queries. For example,
            get_global_id(1) queries two.

        Returns
        -------
        str
            The source code.

        Raises
        ------
        KernelError
            If there is neither a launch nor a signature, or if the kernel is refused.
        ValueError
            If the signature is invalid, the dialect unknown, or if there are fewer dimensions than
            the kernel queries.
        TypeError
            If the signature has another number of parameters than the kernel.

        Examples
        --------
        >>> from entrepot import kernel as ek
        >>> @ek.kernel
        ... def scale(numbers, factor):
        ...     numbers[ek.get_global_id(0)] *= factor
        >>> signature = "void(float32[::1], float32)"
        >>> text = scale.source("opencl-c", signature=signature, device="host")
        >>> "get_global_id(0)" in text
        True
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
        """Export the kernel to a C++ header, whose ``launch_NAME()`` runs it without Python.

        The kernel runs on the host. C++ callers must not pass a written array that overlaps another
        array. The header of the example declares ``launch_twice(const std::array<std::int64_t, 2>
        &global, float *image, std::int64_t image_extent1, …)``.

        Parameters
        ----------
        path : str or os.PathLike
            The path of the header, which is overwritten if it exists.
        signature : str, optional
            The types of the arguments, as in "void(float32[::1], int64)". The default is those of
            the last launch.
        dimensions : int, optional
            The number of dimensions of the launches, 1 to 3, with the default of ``source``.

        Raises
        ------
        KernelError
            If there is neither a launch nor a signature, the kernel is refused, debug is True, or a
            scalar has no C++17 type.
        ValueError
            If the signature is invalid, or if there are fewer dimensions than the kernel queries.
        TypeError
            If the signature has another number of parameters than the kernel.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from entrepot import kernel as ek
        >>> @ek.kernel
        ... def twice(image):
        ...     i, j = ek.get_global_id(0), ek.get_global_id(1)
        ...     image[i, j] *= 2
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     header = pathlib.Path(folder, "twice.hpp")
        ...     twice.export(header, signature="void(float32[:, ::1])")
        ...     print("launch_twice(" in header.read_text())
        True
        """
        from .export import export

        export(
            os.fspath(path),
            self._translation("c++", signature, _device("host"), dimensions, any_local=True),
        )

    def report(self, *, signature: str | None = None, dimensions: int | None = None) -> str:
        """Return which loops the host's compiler vectorizes, and why not the others.

        Each loop has two or more lines: its place in the source and what the compiler says about
        it, in its own words. The loop over the work-items has no place. A loop that was compiled
        in several versions is vectorized if one of them is.

        Parameters
        ----------
        signature : str, optional
            The types of the arguments, as in "void(float32[::1], int64)". The default is those of
            the last launch.
        dimensions : int, optional
            The number of dimensions of the launches, 1 to 3, with the default of ``source``.

        Returns
        -------
        str
            The loops, in the order of the source.

        Raises
        ------
        KernelError
            If there is neither a launch nor a signature, the kernel is refused, or the compiler is
            neither GCC nor Clang.
        ValueError
            If the signature is invalid, or if there are fewer dimensions than the kernel queries.
        TypeError
            If the signature has another number of parameters than the kernel.

        Examples
        --------
        >>> from entrepot import kernel as ek
        >>> @ek.kernel
        ... def double(numbers):
        ...     numbers[ek.get_global_id(0)] *= 2
        >>> print(double.report(signature="void(float32[::1])"))
        over work-items
            vectorized: ...
        """
        from .report import report

        return report(self._translation("c++", signature, _device("host"), dimensions))

    def assembly(self, *, signature: str | None = None, dimensions: int | None = None) -> str:
        """Return the machine code for the host as assembly, without directives.

        Parameters
        ----------
        signature : str, optional
            The types, in the form of ``source``. The default is those of the last launch.
        dimensions : int, optional
            The number of dimensions, in the form of ``source``.

        Returns
        -------
        str
            Labels and instructions. Functions of the kernel that were not inlined have labels of
            their own.

        Raises
        ------
        KernelError
            If the kernel does not compile, or the compiler cannot list its code.
        ValueError
            If the signature is invalid, or there are fewer dimensions than the kernel queries.

        Examples
        --------
        >>> from entrepot import kernel as ek
        >>> @ek.kernel
        ... def double(numbers):
        ...     numbers[ek.get_global_id(0)] *= 2
        >>> listing = double.assembly(signature="void(float32[::1])")
        >>> listing.splitlines()[0]
        'double_:'
        """
        from .report import assembly

        return assembly(self._translation("c++", signature, _device("host"), dimensions))

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
        max_registers=options.get("max_registers", 0),
    )
    made._chosen = options
    functools.update_wrapper(made, function)
    return made


def _check_access_types(access_types: Mapping[str, Sequence[str]], function: FunctionType) -> None:
    parameters = function.__code__.co_varnames[: function.__code__.co_argcount]
    for access, names in access_types.items():
        if access not in ("read_only", "write_only", "read_write"):
            raise ValueError(
                f"access_types has the key {access!r}: it has read_only, write_only and read_write"
            )
        for name in names:
            if name not in parameters:
                raise ValueError(
                    f"access_types names {name!r}, and {function.__name__} has the parameters "
                    f"{', '.join(parameters)}"
                )


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
    access_types: Mapping[str, Sequence[str]] | None = None,
    max_registers: int = 0,
) -> Callable[[Callable[..., None]], KernelFunction]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """Make a function a kernel.

    It is a decorator: ``@kernel``, ``@kernel("void(float32[::1])")`` or ``@kernel(debug=True)``.

    A kernel is launched with a range, ``kernel[global, local](arguments…)``: the number of
    work-items, and the number in each group. Each is an int or a tuple of up to three. The first
    launch with new argument types compiles the kernel.

    Parameters
    ----------
    function : callable, optional
        The Python function, which returns nothing.
    signature : str or sequence of str, optional
        The types of the arguments, or several alternatives. A kernel with a signature is compiled
        immediately for the current device. It accepts no other types of arrays, and converts
        numbers to the types of the signature.
    debug : bool, optional
        See KernelFunction.options(). ENTREPOT_KERNEL_DEBUG=1 enables debug for kernels that do
        not specify it.
    fast_math : bool, optional
        See KernelFunction.options(). The default is False.
    dialect : str, optional
        See KernelFunction.options(). The default is the device's.
    access_types : dict, optional
        An option of numba-dppy: names of parameters by 'read_only', 'write_only' and 'read_write'.
        It has no effect, because the compiler finds the accesses itself.
    max_registers : int, optional
        See KernelFunction.options(). The default is 0.

    Returns
    -------
    KernelFunction or callable
        The kernel. Without ``function``, a decorator that makes one.

    Raises
    ------
    KernelError
        If a construct is not supported, with file, line and source. It is raised at the first
        launch or, with a signature, by the decorator.
    TypeError
        If ``function`` is not a Python function, or an option is unknown.
    ValueError
        If a signature is invalid, the dialect is unknown, or ``access_types`` names no parameter.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> @ek.kernel
    ... def axpy(a, x, y):
    ...     i = ek.get_global_id(0)
    ...     y[i] += a * x[i]
    >>> x = ep.full(4, 3, "float32", device="host")
    >>> y = ep.full(4, 1, "float32", device="host")
    >>> axpy[4](2.0, x, y).wait()
    >>> y.numpy().tolist()
    [7.0, 7.0, 7.0, 7.0]
    """
    unknown = set(options) - {"debug", "fast_math", "dialect", "access_types", "max_registers"}
    if unknown:
        raise TypeError(
            f"kernel() has no option {', '.join(sorted(unknown))}: debug, fast_math, dialect, "
            "access_types and max_registers are its options"
        )
    access_types = options.pop("access_types", None) or {}
    chosen = {name: value for name, value in options.items() if value is not None}
    if callable(function):
        return _make(function, chosen)
    if function is not None:
        chosen["signatures"] = signatures_of(function, "kernel")

    def decorate(function: Callable[..., None]) -> KernelFunction:
        made = _make(function, chosen)
        _check_access_types(access_types, made.function)
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
    """Make a function callable from kernels.

    It is a decorator: ``@func``, or, as in numba-dppy, ``@func("float32(float32)")`` and
    ``@func(debug=True)``. The function is compiled for the types of each call.

    Parameters
    ----------
    function : callable, optional
        The Python function.
    signature : str or sequence of str, optional
        The types of the arguments and the result. It is parsed but has no effect.
    debug : bool, optional
        It has no effect: the function is checked if the kernel that calls it is.

    Returns
    -------
    DeviceFunction or callable
        The function. Without ``function``, a decorator that makes one.

    Raises
    ------
    TypeError
        If ``function`` is not a Python function, or an option is unknown.
    ValueError
        If a signature is invalid.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> @ek.func
    ... def square(x):
    ...     return x * x
    >>> @ek.kernel
    ... def squares(numbers):
    ...     numbers[ek.get_global_id(0)] = square(ek.get_global_id(0))
    >>> numbers = ep.zeros(4, "int32", device="host")
    >>> squares[4](numbers).wait()
    >>> numbers.numpy().tolist()
    [0, 1, 4, 9]
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

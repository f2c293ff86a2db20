"""``kernel`` and ``device_func`` with numba-dpex's options and signatures."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .._core import Event, KernelError
from ..kernel import functions
from ..kernel.functions import DeviceFunction, KernelFunction
from ..kernel.language import Item
from ..kernel.numba_loops import change_loops
from ..kernel.number_types import ArrayType
from ..kernel.ranges import NdRange, Range
from ..kernel.signatures import Signature, kernel_signature_of
from ..kernel.source import SourceLanguage, remember, set_language
from .errors import (
    IllegalRangeValueError,
    InvalidKernelLaunchArgsError,
    InvalidKernelSpecializationError,
    KernelHasReturnValueError,
    MissingSpecializationError,
    SpecializationFormError,
    UnknownGlobalRangeError,
    typed,
)
from .types import (
    DpnpNdArray,
    ItemType,
    NdItemType,
    USMNdArray,
    is_signature,
    parts_of,
    without_items,
)

#: Messages have the names of ``entrepot.kernel``, which numba-dpex 0.21 has too, but for these.
_SPELLINGS = {
    "@entrepot.kernel.func": "@device_func",
    "@func": "@device_func",
    "@func functions": "functions with @device_func",
    "private.array()": "PrivateArray()",
    "private.array(shape, dtype)": "PrivateArray(shape, dtype)",
}
NUMBA_DPEX = SourceLanguage("numba-dpex", "numba", _SPELLINGS)

#: Options of numba's compiler, which decide nothing here.
_WITHOUT_EFFECT = frozenset(
    {
        "error_model", "fastmath", "forceobj", "inline_threshold", "no_cfunc_wrapper",
        "no_compile", "no_cpython_wrapper", "nogil", "nopython", "release_gil",
    }
)  # fmt: skip


class Kernel(KernelFunction):
    """A kernel of numba-dpex, which ``call_kernel`` launches.

    It is a KernelFunction. A first parameter that is annotated or used as one is the work-item. So
    is any first parameter if a launch has one argument fewer than the function has parameters.
    """

    @property
    def overloads(self) -> dict[Any, Any]:
        """The signatures, each with the kernel."""
        return dict.fromkeys(self._chosen.get("signatures") or (), self)

    def __getitem__(self, index: Any) -> Any:
        _check_brackets(self, index)

        def launch(*arguments: Any, wait: bool = True, **options: Any) -> Event:
            chosen = self._for_arguments(len(arguments))
            return launched(chosen, index, arguments, wait=wait, **options)

        return launch

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self.function.__name__
        raise UnknownGlobalRangeError(
            f"kernel {name} was called without a range: No global range follows from the "
            f"arguments; write call_kernel({name}, Range(…), …) or {name}[Range(…)](…)"
        )

    def _for_arguments(self, count: int) -> Kernel:
        """The kernel for a launch with as many arguments."""
        if count == self.function.__code__.co_argcount - 1:
            return self._with_item
        return self

    @functools.cached_property
    def _with_item(self) -> Kernel:
        """The kernel of the function whose first parameter is annotated as the work-item."""
        return _made(_with_item(self.function), self._chosen)


def _check_brackets(kernel: Kernel, index: Any) -> None:
    """Checks ``kernel[index]``: a range, or a global and a local one."""
    name = kernel.function.__name__
    if isinstance(index, (Range, NdRange)) or not isinstance(index, (tuple, list)):
        return
    if not 1 <= len(index) <= 2 and all(isinstance(each, (tuple, list)) for each in index[:1]):
        raise InvalidKernelLaunchArgsError(
            f"kernel {name}: a Range, an NdRange, or a global and a local range were expected in "
            f"the brackets, not {index!r}"
        )
    if len(index) == 3:
        raise InvalidKernelLaunchArgsError(
            f"kernel {name}: {index!r} has three parts; write Range(…) for three dimensions"
        )
    if isinstance(index[0], (tuple, list)) and not index[0]:
        raise IllegalRangeValueError(
            f"kernel {name}: the global range is empty; give it 1 to 3 ints"
        )


def launched(kernel: KernelFunction, index: Any, arguments: Any, **options: Any) -> Event:
    """Launches the kernel, with the errors of numba-dpex."""
    try:
        return KernelFunction.__getitem__(kernel, index)(*arguments, **options)
    except IndexError:
        raise
    except KernelError as error:
        raise typed(_explained(error, kernel, arguments), kind_of(error)) from error
    except TypeError as error:
        if kernel._chosen.get("signatures"):
            raise typed(error, MissingSpecializationError) from error
        raise


def _explained(error: KernelError, kernel: KernelFunction, arguments: Any) -> str:
    """The message. It says why a first parameter that is no work-item was taken as one."""
    code = kernel.function.__code__
    if len(arguments) != code.co_argcount - 1 or "stands for a work-item" not in str(error):
        return str(error)
    return (
        f"{error}\nthe launch has {len(arguments)} arguments and {code.co_name} "
        f"{code.co_argcount} parameters, so `{code.co_varnames[0]}` is the work-item; give an "
        "argument for each parameter if it is a value"
    )


def _with_item(function: FunctionType) -> FunctionType:
    """A copy of the function, whose first parameter is annotated as the work-item."""
    copied = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copied.__qualname__ = function.__qualname__
    copied.__annotations__ = {function.__code__.co_varnames[0]: Item}
    return copied


def _made(function: FunctionType, chosen: dict[str, Any]) -> Kernel:
    remember(function)
    set_language(function, NUMBA_DPEX)
    change_loops(function)
    debug = chosen.get("debug", os.environ.get("ENTREPOT_KERNEL_DEBUG", "0") not in ("", "0"))
    made = Kernel(function, signatures=chosen.get("signatures"), debug=debug)
    made._chosen = chosen
    functools.update_wrapper(made, function)
    return made


def kernel(function_or_signature: Any = None, **options: Any) -> Any:
    """Make a function a kernel.

    It is a decorator: ``@kernel``, ``@kernel(debug=True)`` or ``@kernel((ItemType(1), array))``.

    Parameters
    ----------
    function_or_signature : callable, tuple of types or list of these, optional
        The Python function, or the types of its parameters, or several alternatives. A kernel with
        a signature is compiled immediately, and takes no other types.
    debug : bool, optional
        True if indices and assertions are checked.
    **options : object
        Options of numba's compiler. They have no effect.

    Returns
    -------
    Kernel or callable
        The kernel. Without a function, a decorator that makes one.

    Raises
    ------
    KernelError
        If the kernel with a signature is refused.
    NotImplementedError
        If a signature is a string. The error is a KernelError.
    InvalidKernelSpecializationError
        If a signature has NumPy's arrays, as float32[::1] says.
    KernelHasReturnValueError
        If a signature has a result.
    ValueError
        If neither a function nor a signature was given.
    TypeError
        If an option is unknown.

    Examples
    --------
    >>> from entrepot import numba_dpex as dpex
    >>> from entrepot.numba_dpex import kernel_api as kapi
    >>> @dpex.kernel
    ... def add(item: kapi.Item, a, b):
    ...     i = item.get_id(0)
    ...     b[i] += a[i]
    >>> a, b = ep.full(4, 2, "float32", device="host"), ep.full(4, 1, "float32", device="host")
    >>> dpex.call_kernel(add, dpex.Range(4), a, b)
    >>> b.numpy().tolist()
    [3.0, 3.0, 3.0, 3.0]
    """
    chosen = _chosen_of("kernel", options)
    if isinstance(function_or_signature, FunctionType):
        return _made(function_or_signature, chosen)
    given = _signatures_in(function_or_signature, "kernel")

    def decorate(function: Callable[..., None]) -> Kernel:
        if not isinstance(function, FunctionType):
            raise TypeError(f"kernel: a Python function was expected, not {function!r}")
        if not given:
            return _made(function, chosen)
        signatures = tuple(_kernel_signature(each, function) for each in given)
        whole = _with_item(function) if any(map(_begins_with_item, given)) else function
        made = _made(whole, chosen | {"signatures": signatures})
        try:
            made._specialize()
        except KernelError as error:
            raise typed(error, kind_of(error)) from error
        return made

    return decorate


def device_func(function_or_signature: Any = None, **options: Any) -> Any:
    """Make a function callable from kernels.

    It is a decorator: ``@device_func``, ``@device_func(debug=True)`` or
    ``@device_func(int32(int32))``. The function is compiled for the types of each call. Work-items
    and work-groups may be among its arguments.

    Parameters
    ----------
    function_or_signature : callable, signature or list of these, optional
        The Python function, or the types of its result and parameters. A signature has no effect.
    **options : object
        Options of numba's compiler. They have no effect.

    Returns
    -------
    DeviceFunction or callable
        The function. Without one, a decorator that makes it.

    Raises
    ------
    NotImplementedError
        If a signature is a string. The error is a KernelError.
    ValueError
        If neither a function nor a signature was given.
    TypeError
        If an option is unknown.

    Examples
    --------
    >>> from entrepot import numba_dpex as dpex
    >>> from entrepot.numba_dpex import kernel_api as kapi
    >>> @dpex.device_func
    ... def position(item: kapi.Item):
    ...     return 10 * item.get_id(0)
    >>> @dpex.kernel
    ... def store(item: kapi.Item, numbers):
    ...     numbers[item.get_id(0)] = position(item)
    >>> numbers = ep.zeros(3, "int64", device="host")
    >>> dpex.call_kernel(store, kapi.Range(3), numbers)
    >>> numbers.numpy().tolist()
    [0, 10, 20]
    """
    _chosen_of("device_func", options)
    if isinstance(function_or_signature, FunctionType):
        return _device_function(function_or_signature)
    _signatures_in(function_or_signature, "device_func")
    return _device_function


def _device_function(function: FunctionType) -> DeviceFunction:
    made = functions.func(function)
    set_language(function, NUMBA_DPEX)
    change_loops(function)
    return made


#: The name of 0.21.
func = device_func


def _chosen_of(decorator: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that have a meaning here."""
    if "_compilation_mode" in options:
        warnings.warn(
            f"{decorator}: _compilation_mode is an internal option of numba-dpex and is ignored",
            UserWarning,
            stacklevel=3,
        )
    unknown = set(options) - _WITHOUT_EFFECT - {"debug", "_compilation_mode"}
    if unknown:
        raise TypeError(
            f"{decorator}() has no option {', '.join(sorted(unknown))}: debug is one, and those of "
            "numba's compiler are accepted"
        )
    debug = options.get("debug")
    return {} if debug is None else {"debug": bool(debug)}


def _signatures_in(given: Any, decorator: str) -> list[Any]:
    if given is None:
        return []
    several = given if isinstance(given, list) else [given]
    for each in several:
        if isinstance(each, str):
            raise SpecializationFormError(
                f"{decorator}: the signature {each!r} is a string; give a tuple of types, or take "
                "entrepot.kernel.kernel, whose signatures are strings"
            )
        if not is_signature(each):
            raise ValueError(
                f"{decorator}: a function, a tuple of types or a list of these was expected, not "
                f"{each!r}"
            )
    return several


def _kernel_signature(signature: Any, function: FunctionType) -> Signature:
    returned, arguments = parts_of(signature)
    if returned is not None:
        raise KernelHasReturnValueError(
            f"the signature of kernel {function.__name__} has the result {returned!r}, and a "
            "kernel returns nothing: give it an array to write to"
        )
    words = []
    for place, each in enumerate(without_items(arguments)):
        if isinstance(each, USMNdArray):
            last = "::1" if each.layout == "C" and each.ndim else ":"
            axes = ", ".join([":"] * (each.ndim - 1) + [last])
            words.append(f"{each.dtype}[{axes}]")
        elif isinstance(each, ArrayType) or hasattr(each, "layout"):
            raise InvalidKernelSpecializationError(
                f"the signature of kernel {function.__name__} has {each!r} as argument {place}, "
                f"which is NumPy's: write {USMNdArray.__name__} or {DpnpNdArray.__name__}"
            )
        else:
            words.append(str(each))
    return kernel_signature_of(f"void({', '.join(words)})")


def _begins_with_item(signature: Any) -> bool:
    arguments = parts_of(signature)[1]
    return bool(arguments) and isinstance(arguments[0], (ItemType, NdItemType))


def kind_of(error: KernelError) -> type[KernelError]:
    is_of_result = "a kernel returns nothing" in str(error)
    return KernelHasReturnValueError if is_of_result else KernelError

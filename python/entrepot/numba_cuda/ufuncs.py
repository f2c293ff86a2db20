"""``vectorize`` and ``guvectorize`` with signatures, as Numba's with ``target='cuda'``."""

from __future__ import annotations

import functools
import math
import re
from types import FunctionType
from typing import Any

import numpy as np

from .._core import Array, Dtype, asarray, copy, empty
from ..kernel.elementwise import Vectorized
from ..kernel.functions import DeviceFunction, KernelFunction, kernel
from ..kernel.language import get_global_id
from ..kernel.numba_loops import change_loops
from ..kernel.reduction import reduce as make_reduction
from ..kernel.signatures import Signature, signature_of
from ..kernel.source import make, set_language
from . import devices
from .arrays import DeviceNDArray, is_cuda_array, plain
from .errors import unsupported
from .language import NUMBA_CUDA
from .signatures import is_signature, text_of
from .streams import queue_of

Loop = tuple[Dtype | None, Signature]


def _function_of(function: Any, what: str) -> FunctionType:
    inner = function.function if isinstance(function, DeviceFunction) else function
    if not isinstance(inner, FunctionType):
        raise TypeError(f"{what}() takes a Python function, not {function!r}")
    if inner is function:
        set_language(inner, NUMBA_CUDA)
        change_loops(inner)
    return inner


def _numpy_dtype(dtype: Dtype) -> np.dtype[Any]:
    return np.dtype(str(dtype))


def _loops(signatures: Any) -> list[Loop]:
    if not signatures:  # an empty tuple is also a signature
        return []
    given = [signatures] if is_signature(signatures) else list(signatures)
    return [signature_of(text_of(each)) for each in given]


def _dtypes_of(loop: Loop) -> list[np.dtype[Any]]:
    return [_numpy_dtype(dtype) for _, dtype, _, _ in loop[1]]


def _matching(name: str, loops: list[Loop], values: list[Any]) -> int:
    """The place of the first signature to which the arguments can be cast safely, as NumPy's
    ufuncs find it.
    """
    for place, loop in enumerate(loops):
        if all(map(_casts, values, _dtypes_of(loop))):
            return place
    types = ", ".join(str(np.dtype(str(each.dtype))) for each in values)
    raise TypeError(
        f"{name}() has no signature for ({types}) without a loss: add one, or convert the "
        "arguments by astype()"
    )


def _casts(value: Any, dtype: np.dtype[Any]) -> bool:
    if isinstance(value, _Number):
        return value.fits(dtype)
    return np.can_cast(np.dtype(str(value.dtype)), dtype, "safe")


class _Number:
    """A Python number among the arguments, which takes the type of the signature."""

    ndim = 0
    shape: tuple[int, ...] = ()

    def __init__(self, value: Any) -> None:
        self.value, self.dtype = value, np.asarray(value).dtype

    def fits(self, dtype: np.dtype[Any]) -> bool:
        """True if the range of the dtype has the number. The precision may be lower."""
        is_integer = isinstance(self.value, int) and not isinstance(self.value, bool)
        if is_integer and dtype.kind in "iu":
            limits = np.iinfo(dtype)
            return bool(limits.min <= self.value <= limits.max)
        own = np.min_scalar_type(self.value)
        return np.can_cast(own, dtype, "same_kind" if is_integer else "safe")


class Arguments:
    """Arguments of a call: where it runs, and what kind of array the result is."""

    def __init__(self, given: tuple[Any, ...], stream: Any) -> None:
        self.on_device = any(is_cuda_array(each) for each in given)
        self.only_on_device = all(
            is_cuda_array(each) or isinstance(each, (bool, int, float, complex)) for each in given
        )
        self.values = [
            _Number(each)
            if isinstance(each, (bool, int, float, complex))
            else asarray(plain(each) if is_cuda_array(each) else np.asarray(each))
            for each in given
        ]
        arrays = [each for each in self.values if isinstance(each, Array)]
        leading = next((each for each in arrays if each.device.backend != "host"), None)
        self.queue = queue_of(stream) or (
            leading.queue if leading is not None else devices.current_queue()
        )

    def converted(self, dtypes: list[np.dtype[Any]]) -> list[Array]:
        """The arguments as arrays of these types, on the device of the call."""
        return [
            self._converted(each, dtype) for each, dtype in zip(self.values, dtypes, strict=True)
        ]

    def _converted(self, value: Any, dtype: np.dtype[Any]) -> Array:
        if isinstance(value, _Number):
            value = asarray(np.asarray(value.value, dtype))
        elif str(value.dtype) != str(dtype):
            value = asarray(value.copy_to_host().numpy().astype(dtype))
        if value.device == self.queue.device:
            return value  # type: ignore[no-any-return]
        moved = empty(value.shape, str(dtype), queue=self.queue)
        copy(moved, value).wait()
        return moved

    def result(self, array: Array) -> Any:
        """The result as the caller has it: NumPy's if all arguments are."""
        if self.on_device:
            return DeviceNDArray(array)
        return array.copy_to_host().numpy()


class VectorizedFunction:
    """A function of numbers that applies to arrays, ``f(a, b, out=None, stream=0)``.

    Arguments are cast to the first signature that holds their values. Shapes broadcast. The result
    is a NumPy array if all arguments are NumPy's, else a DeviceNDArray.
    """

    __name__: str

    def __init__(self, function: FunctionType, loops: list[Loop]) -> None:
        self.function = function
        self._loops = loops
        self._made = [Vectorized(function, [loop]) for loop in loops]
        self._inferred = Vectorized(function, [])
        functools.update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<numba_cuda.vectorize {self.function.__qualname__}>"

    @property
    def _count(self) -> int:
        """Number of arguments."""
        return self.function.__code__.co_argcount

    @property
    def types(self) -> list[str]:
        """Signatures, as ``"ff->f"``."""
        return [
            "".join(each.char for each in _dtypes_of(loop))
            + "->"
            + ("?" if loop[0] is None else _numpy_dtype(loop[0]).char)
            for loop in self._loops
        ]

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Raises TypeError if no signature holds the arguments' values, and ValueError if shapes
        do not broadcast.
        """
        if len(args) != self._count:
            raise TypeError(
                f"{self.__name__}() takes {self._count} argument{'s' * (self._count != 1)}, and "
                f"{len(args)} were given"
            )
        arguments = Arguments(args, stream)
        if self._loops:
            place = _matching(self.__name__, self._loops, arguments.values)
            function, dtypes = self._made[place], _dtypes_of(self._loops[place])
        else:
            function = self._inferred
            common = np.result_type(*(np.dtype(str(each.dtype)) for each in arguments.values))
            dtypes = [
                common if isinstance(each, _Number) else np.dtype(str(each.dtype))
                for each in arguments.values
            ]
        values = arguments.converted(dtypes)
        target = None if out is None else _output(out)
        made = function(*values, out=target, queue=arguments.queue)
        # The caller may read or write memory of the host once the call returns.
        if not arguments.only_on_device or not (out is None or is_cuda_array(out)):
            arguments.queue.record().wait()
        return arguments.result(made) if out is None else out

    def reduce(self, arg: Any, stream: Any = 0) -> Any:
        """Combine the elements of an array of one dimension by the function of two numbers."""
        if self._count != 2:
            raise TypeError(f"{self.__name__}.reduce() is of a function of two numbers")
        arguments = Arguments((arg,), stream)
        dtype = np.dtype(str(arguments.values[0].dtype))
        if self._loops:
            value = arguments.values[0]
            dtype = _dtypes_of(self._loops[_matching(self.__name__, self._loops, [value] * 2)])[0]
        (values,) = arguments.converted([dtype])
        return dtype.type(make_reduction(self.function)(values, queue=arguments.queue))


def _output(out: Any) -> Array:
    return asarray(plain(out) if is_cuda_array(out) else out)


def vectorize(ftylist_or_function: Any = (), target: str = "cuda", **options: Any) -> Any:
    """Make a function of numbers apply to arrays, element by element, on the current device.

    It is a decorator: ``@vectorize(["float32(float32, float32)"], target="cuda")``.

    Parameters
    ----------
    ftylist_or_function : callable, str or sequence, optional
        The function, or its signatures. Without signatures the types of the arguments are used.
    target : str, optional
        'cuda'. Other targets are Numba's own.
    **options
        Numba's options have no effect.

    Returns
    -------
    VectorizedFunction or callable
        The function of arrays, or a decorator that makes one.

    Raises
    ------
    ValueError
        If a signature is invalid.

    Examples
    --------
    >>> from entrepot import numba_cuda as cuda
    >>> @cuda.vectorize(["float32(float32, float32)"], target="cuda")
    ... def add(x, y):
    ...     return x + y
    >>> add(np.ones(3, "float32"), np.float32(2)).tolist()
    [3.0, 3.0, 3.0]
    """
    _check_target(target, "vectorize")
    if isinstance(ftylist_or_function, (FunctionType, DeviceFunction)):
        return VectorizedFunction(_function_of(ftylist_or_function, "vectorize"), [])
    loops = _loops(ftylist_or_function)
    return lambda function: VectorizedFunction(_function_of(function, "vectorize"), loops)


def _check_target(target: str, what: str) -> None:
    if target != "cuda":
        raise unsupported(
            f"{what}(target={target!r})", "Numba itself has it, and this module the target 'cuda'"
        )


# -------------------------------------------------------------------------- generalized ufuncs

_Core = tuple[str, ...]


def _layout(text: str) -> tuple[list[_Core], list[_Core]]:
    """Core dimensions of the inputs and of the outputs: ``"(m,n),(n)->(m)"``."""
    sides = re.sub(r"\s", "", text).split("->")
    pattern = r"(?:\((?:\w+(?:,\w+)*)?\))"
    if len(sides) != 2 or not all(re.fullmatch(rf"{pattern}(?:,{pattern})*", s) for s in sides):
        raise ValueError(f"guvectorize: {text!r} is no layout, as in '(m,n),(n,p)->(m,p)'")
    inputs, outputs = (
        [
            tuple(name for name in each.split(",") if name)
            for each in re.findall(r"\(([^)]*)\)", side)
        ]
        for side in sides
    )
    known = {name for core in inputs for name in core}
    if unknown := {name for core in outputs for name in core} - known:
        raise ValueError(f"guvectorize: {text!r} has outputs of unknown extent {sorted(unknown)}")
    return inputs, outputs


class GeneralizedFunction:
    """A function of arrays that applies along leading dimensions, ``f(a, b, out=None, stream=0)``.

    Arguments have the core dimensions of the layout last. Their leading dimensions broadcast, and
    the function runs once for each element of those.
    """

    __name__: str

    def __init__(self, function: FunctionType, loops: list[Loop], layout: str) -> None:
        self.function = function
        self._loops = loops
        self._inputs, self._outputs = _layout(layout)
        count = len(self._inputs) + len(self._outputs)
        if function.__code__.co_argcount != count:
            raise ValueError(
                f"guvectorize: {function.__name__} has {function.__code__.co_argcount} parameters, "
                f"and the layout {layout!r} names {count}"
            )
        self._kernels: dict[int, KernelFunction] = {}
        functools.update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<numba_cuda.guvectorize {self.function.__qualname__}>"

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Raises TypeError for a wrong number of arguments or unsuitable types, and ValueError for
        extents that do not fit the layout.
        """
        given, outs = self._given(args, out)
        arguments = Arguments(given, stream)
        place = _matching(self.__name__, self._loops_of_inputs(), arguments.values)
        dtypes = _dtypes_of(self._loops[place])
        values = arguments.converted(dtypes[: len(self._inputs)])
        extents = self._extents(values)
        leading = self._leading(values)
        shapes = [leading + tuple(extents[name] for name in core) or (1,) for core in self._outputs]
        results = [
            empty(shape, str(dtype), queue=arguments.queue)
            if each is None
            else self._target(each, shape, dtype, arguments)
            for each, shape, dtype in zip(outs, shapes, dtypes[len(self._inputs) :], strict=True)
        ]
        self._run(leading, values, results, arguments)
        return self._returned(outs, results, leading, arguments)

    def _given(self, args: tuple[Any, ...], out: Any) -> tuple[tuple[Any, ...], list[Any]]:
        inputs, outputs = len(self._inputs), len(self._outputs)
        if len(args) == inputs + outputs and out is None:
            return args[:inputs], list(args[inputs:])
        if len(args) != inputs:
            raise TypeError(f"{self.__name__}() takes {inputs} arrays, and {len(args)} were given")
        if out is None:
            return args, [None] * outputs
        return args, list(out) if isinstance(out, tuple) else [out]

    def _loops_of_inputs(self) -> list[Loop]:
        return [(returns, types[: len(self._inputs)]) for returns, types in self._loops]

    def _extents(self, values: list[Array]) -> dict[str, int]:
        found: dict[str, int] = {}
        for core, value in zip(self._inputs, values, strict=True):
            if value.ndim < len(core):
                raise ValueError(
                    f"{self.__name__}(): an argument has {value.ndim} dimensions, and its layout "
                    f"({','.join(core)}) needs {len(core)}"
                )
            shape = value.shape[value.ndim - len(core) :]
            for name, extent in zip(core, shape, strict=True):
                if found.setdefault(name, extent) != extent:
                    raise ValueError(
                        f"{self.__name__}(): the dimension {name} has the extents {found[name]} "
                        f"and {extent}"
                    )
        return found

    def _leading(self, values: list[Array]) -> tuple[int, ...]:
        parts = zip(self._inputs, values, strict=True)
        return np.broadcast_shapes(
            *(value.shape[: value.ndim - len(core)] for core, value in parts)
        )

    def _target(
        self, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], arguments: Arguments
    ) -> Array:
        array = _output(out)
        if array.shape != shape or str(array.dtype) != str(dtype):
            raise ValueError(
                f"{self.__name__}(): an output is {array.dtype}{list(array.shape)}, and "
                f"{dtype}{list(shape)} is needed"
            )
        if array.device == arguments.queue.device:
            return array
        return empty(shape, str(dtype), queue=arguments.queue)

    def _run(
        self,
        leading: tuple[int, ...],
        values: list[Array],
        results: list[Array],
        arguments: Arguments,
    ) -> None:
        count = math.prod(leading)
        if count == 0:
            return
        flat = []
        for core, value in zip(self._inputs, values, strict=True):
            inner = value.shape[value.ndim - len(core) :]
            whole = value.broadcast_to(leading + inner)
            flat.append(_flattened(whole, (count, *inner)))
        for result, core in zip(results, self._outputs, strict=True):
            inner = result.shape[result.ndim - len(core) :] if core else ()
            flat.append(result.reshape((count, *inner)))
        self._kernel()[count, ()](*flat, queue=arguments.queue).wait()

    def _kernel(self) -> KernelFunction:
        if 0 not in self._kernels:
            names = [f"a{place}" for place in range(len(self._inputs) + len(self._outputs))]
            cores = [*self._inputs, *self._outputs]
            parts = [
                f"{name}[i]" if core or place < len(self._inputs) else f"{name}[i:i + 1]"
                for place, (name, core) in enumerate(zip(names, cores, strict=True))
            ]
            text = (
                f"def generalized({', '.join(names)}):\n    i = get_global_id(0)\n"
                f"    function({', '.join(parts)})\n"
            )
            namespace = {
                "get_global_id": get_global_id,
                "function": DeviceFunction(self.function),
            }
            self._kernels[0] = kernel(make("generalized", text, namespace))
        return self._kernels[0]

    def _returned(
        self,
        outs: list[Any],
        results: list[Array],
        leading: tuple[int, ...],
        arguments: Arguments,
    ) -> Any:
        made = []
        for out, result, core in zip(outs, results, self._outputs, strict=True):
            if out is None:
                shaped = result.reshape(leading) if not core and leading else result
                made.append(arguments.result(shaped))
                continue
            target = _output(out)
            if target.data_ptr != result.data_ptr:
                copy(target, result).wait()
            made.append(out)
        return made[0] if len(made) == 1 else tuple(made)


def _flattened(array: Array, shape: tuple[int, ...]) -> Array:
    """The array with one leading dimension: a view, or a copy if its strides allow no view."""
    try:
        return array.reshape(shape)
    except ValueError:
        made = empty(array.shape, array.dtype, queue=array.queue)
        copy(made, array)
        return made.reshape(shape)


def guvectorize(ftylist: Any, signature: str, target: str = "cuda", **options: Any) -> Any:
    """Make a function of arrays apply along leading dimensions, on the current device.

    Parameters
    ----------
    ftylist : sequence
        The signatures, with the outputs last, as ``["void(float32[:], float32, float32[:])"]``.
    signature : str
        The layout, as ``"(n),()->(n)"``. An output of the layout ``()`` is written as ``out[0]``.
    target : str, optional
        'cuda'. Other targets are Numba's own.
    **options
        Numba's options have no effect.

    Returns
    -------
    callable
        A decorator that makes a GeneralizedFunction.

    Raises
    ------
    ValueError
        If a signature or the layout is invalid.

    Examples
    --------
    >>> from entrepot import numba_cuda as cuda
    >>> @cuda.guvectorize(["void(int64[:], int64[:])"], "(n)->()", target="cuda")
    ... def total(values, out):
    ...     out[0] = 0
    ...     for i in range(values.shape[0]):
    ...         out[0] += values[i]
    >>> total(np.arange(6).reshape(2, 3)).tolist()
    [3, 12]
    """
    _check_target(target, "guvectorize")
    loops = _loops(ftylist)
    return lambda function: GeneralizedFunction(
        _function_of(function, "guvectorize"), loops, signature
    )

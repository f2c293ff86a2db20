"""``vectorize``: applies a function of numbers to arrays, element by element."""

from __future__ import annotations

import functools
import itertools
import math
import re
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from .._core import Array, Device, Dtype, Event, Scalar, asarray, empty
from .functions import DeviceFunction, KernelFunction, kernel
from .language import get_global_id
from .operands import About, copied, is_of_numpy, overlap
from .signatures import Signature, signature_of, texts_of
from .source import make

#: Launches that a function remembers, by the shape.
_LAUNCHES = 256
_FLOATING = ("float", "bfloat", "complex")
#: Names that generated code uses, with any number of "_" appended.
_OURS = re.compile(r"(?:out\d*|result|function|get_global_id|i\d+)_*")


class Vectorized:
    """A function of numbers that takes arrays: ``f(a, b, out=None, queue=None)``. Shapes are
    broadcast as NumPy's are.

    The result is ``out`` or a new array: a NumPy array if all arrays are NumPy's, else an Array on
    their device. A function that returns a tuple has a tuple of results. A Python number takes the
    type of the arrays, as in NumPy.
    """

    __name__: str

    def __init__(
        self, function: FunctionType, signatures: Sequence[tuple[Dtype | None, Signature]]
    ) -> None:
        self.function = function
        self._signatures = signatures
        if not isinstance(function, FunctionType):
            raise TypeError(f"vectorize() takes a Python function of numbers, not {function!r}")
        names = [
            _own(name) for name in function.__code__.co_varnames[: function.__code__.co_argcount]
        ]
        self._names = names
        called = f"function({', '.join(names)})"
        self._probe = kernel(
            self._made("probe", f"def probe({', '.join(names)}):\n    result = {called}\n")
        )
        self._count: int | None = None  # of results
        self._kernels: dict[tuple[int, int, tuple[bool, ...]], KernelFunction] = {}
        self._launch = functools.lru_cache(maxsize=_LAUNCHES)(self._launch_of)
        functools.update_wrapper(self, function)

    def __reduce__(self) -> tuple[Any, ...]:
        return Vectorized, (self.function, self._signatures)

    def __repr__(self) -> str:
        return f"<entrepot.kernel.vectorize {self.function.__qualname__}>"

    def _made(self, name: str, text: str) -> FunctionType:
        names = {"get_global_id": get_global_id, "function": DeviceFunction(self.function)}
        return make(name, text, names)

    def __call__(self, *args: Any, out: Any = None, queue: object = None) -> Any:
        """Raises TypeError without any array, or for types without a signature; ValueError if
        shapes do not broadcast.
        """
        if type(out) is Array and self._takes(args, out):
            self._write(out, args, queue)
            return out
        defaults = self.function.__defaults__ or ()
        missing = len(self._names) - len(args)
        if not 0 <= missing <= len(defaults):
            raise TypeError(
                f"{self.__name__}() takes {len(self._names)} "
                f"argument{'' if len(self._names) == 1 else 's'}, and {len(args)} were given"
            )
        args = (*args, *defaults[len(defaults) - missing :])
        operands = [self._operand(position, each) for position, each in enumerate(args)]
        arrays = [each for each in operands if isinstance(each, Array)]
        if not arrays:
            raise TypeError(
                f"{self.__name__}() takes at least one array, and numbers alone were given"
            )
        shape = _broadcast([each.shape for each in arrays])
        for position, each in enumerate(operands):
            if not isinstance(each, Array):
                with self._about(position):
                    operands[position] = _typed(each, arrays)
        returns_numpy = out is None and all(_is_number(each) or is_of_numpy(each) for each in args)
        if out is not None:
            self._check_count(out, operands, arrays[0].device)
        else:
            leading = next((each for each in arrays if each.device.backend != "host"), arrays[0])
            # NumPy reads only host memory, so the result is there, wherever it is computed.
            where = leading.queue if returns_numpy else queue or leading.queue
            types = self._result_types(operands, leading.device)
            out = (
                tuple(empty(shape, each, queue=where) for each in types)
                if isinstance(types, tuple)
                else empty(shape, types, queue=where)
            )
        outputs = out if isinstance(out, tuple) else (out,)
        results = [self._output(each, shape) for each in outputs]
        operands = [
            copied(each)
            if isinstance(each, Array) and any(overlap(result, each) for result in results)
            else each
            for each in operands
        ]
        # Borrowed memory that the host can access is up to date on return, as after a launch.
        watched = any(
            not isinstance(each, Array) and not _is_number(each) for each in (*args, *outputs)
        )
        self._run(results, operands, queue, wait=True if watched else None)
        if not returns_numpy:
            return out
        of_numpy = tuple(result.numpy() for result in results)
        return of_numpy if isinstance(out, tuple) else of_numpy[0]

    def _takes(self, args: tuple[Any, ...], out: Array) -> bool:
        """True for one result and Arrays of its shape, which need no conversions or checks."""
        if self._count != 1 or self._signatures or len(args) != len(self._names):
            return False
        shape = out.shape
        for each in args:
            if type(each) is not Array or each.shape != shape:
                return False
        return True

    def _write(self, out: Array, args: tuple[Array, ...], queue: object) -> None:
        operands = [copied(each) if overlap(out, each) else each for each in args]
        if out.ndim != 1:
            return self._run([out], operands, queue, wait=None)
        self._launch(1, (True,) * len(operands), out.shape)(out, *operands, queue=queue)

    def _check_count(self, out: Any, operands: list[Any], device: Device) -> None:
        if self._count is None or self._signatures:
            types = self._result_types(operands, device)
            self._count = len(types) if isinstance(types, tuple) else 1
        given = len(out) if isinstance(out, tuple) else 1
        if given != self._count:
            raise ValueError(
                f"{self.__name__}() has {self._count} result{'s' * (self._count != 1)}, and out "
                f"has {given}: give one array for each, in a tuple"
            )

    def _output(self, out: Any, shape: tuple[int, ...]) -> Array:
        if isinstance(out, Array):
            result = out
        else:
            with About(self.__name__, "out"):
                result = asarray(out)
        if result.shape != shape:
            raise ValueError(
                f"out has the shape {result.shape}, and the arguments together {shape}"
            )
        return result

    def _about(self, position: int) -> About:
        name = self.function.__code__.co_varnames[position]
        return About(self.__name__, f"argument {position} ({name})")

    def _operand(self, position: int, value: Any) -> Any:
        if isinstance(value, Array) or _is_number(value):
            return value
        with self._about(position):
            return asarray(value)

    def _run(
        self, results: list[Array], operands: list[Any], queue: object, *, wait: bool | None
    ) -> None:
        shape = results[0].shape
        operands = [
            each.broadcast_to(shape) if isinstance(each, Array) and each.shape != shape else each
            for each in operands
        ]
        if len(shape) != 1:
            arrays = [each for each in (*results, *operands) if isinstance(each, Array)]
            shape = _merged(shape, arrays)
            results, operands = (
                [each.reshape(shape) if isinstance(each, Array) else each for each in several]
                for several in (results, operands)
            )
        are_arrays = tuple(isinstance(each, Array) for each in operands)
        launch = self._launch(len(results), are_arrays, shape)
        launch(*results, *operands, queue=queue, wait=wait)

    def _launch_of(
        self, outputs: int, are_arrays: tuple[bool, ...], shape: tuple[int, ...]
    ) -> Callable[..., Event]:
        global_range = shape if len(shape) <= 3 else (*shape[:2], math.prod(shape[2:]))
        return self._kernel(len(shape), outputs, are_arrays)[global_range, None]

    def _kernel(
        self, dimensions: int, outputs: int, are_arrays: tuple[bool, ...]
    ) -> KernelFunction:
        found = self._kernels.get((dimensions, outputs, are_arrays))
        if found is None:
            out = [f"out{k}" for k in range(outputs)]
            text = _text(out, self._names, dimensions, are_arrays)
            found = kernel(self._made("elementwise", text))
            self._kernels[dimensions, outputs, are_arrays] = found
        return found

    def _result_types(self, operands: list[Any], device: Device) -> Dtype | tuple[Dtype, ...]:
        types = [each.dtype for each in operands]
        for returns, parameters in self._signatures:
            if returns is not None and [dtype for _, dtype, _, _ in parameters] == types:
                return returns
        if self._signatures:
            known = "; ".join(
                ", ".join(str(dtype) for _, dtype, _, _ in parameters)
                for _, parameters in self._signatures
            )
            raise TypeError(
                f"{self.__name__}() has no signature for ({', '.join(map(str, types))}), but for "
                f"{known}"
            )
        found: Dtype | tuple[Dtype, ...] = self._probe._type_of(
            "result", tuple(("scalar", dtype, 0, False) for dtype in types), device
        )
        return found


def vectorize(function: Any) -> Any:
    """Make a function of numbers apply to arrays, element by element.

    It is also a decorator, ``@vectorize``. With signatures, as in
    ``@vectorize(["float32(float32, float32)"])``, the result accepts no other types.

    If all arguments of a call are NumPy arrays and numbers, the result is a NumPy array, without a
    copy. With any other array, an Array or another library's, the result is an Array on the device
    of those.

    Shapes broadcast as in NumPy. A call raises TypeError without any array, and for types without a
    signature. It raises ValueError if shapes do not broadcast.

    Parameters
    ----------
    function : callable, str or sequence of str
        A Python function of numbers or a DeviceFunction, or the signatures.

    Returns
    -------
    Vectorized or callable
        A function ``f(a, b, *, out=None, queue=None)`` of the parameters of ``function``, with the
        array for the result and the queue as keywords. If ``function`` returns a tuple, so does
        it, and ``out`` is a tuple of arrays. With signatures, a decorator that makes one.

    Raises
    ------
    ValueError
        If a signature is invalid.
    TypeError
        If ``function`` is neither a Python function nor signatures.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> add = ek.vectorize(lambda x, y: x + y)
    >>> add(np.ones((3, 1)), np.ones(4)).shape
    (3, 4)
    """
    if isinstance(function, (FunctionType, DeviceFunction)):
        return Vectorized(_plain(function), [])
    signatures = [signature_of(each) for each in texts_of(function, "vectorize")]

    def decorate(function: Any) -> Vectorized:
        return Vectorized(_plain(function), signatures)

    return decorate


def _plain(function: Any) -> Any:
    return function.function if isinstance(function, DeviceFunction) else function


def _own(name: str) -> str:
    """The parameter's name, changed if generated code uses it."""
    return f"{name}_" if _OURS.fullmatch(name) else name


def _text(out: list[str], names: list[str], dimensions: int, are_arrays: tuple[bool, ...]) -> str:
    """Source of a kernel whose work-items compute one element each; numbers are the same for
    all. A launch has three dimensions at most: its last one covers the last dimensions of the
    arrays, if they have more.
    """
    ids = [f"i{axis}" for axis in range(dimensions)]
    index = ", ".join(ids)
    values = ", ".join(
        f"{name}[{index}]" if array else name for name, array in zip(names, are_arrays, strict=True)
    )
    lines = [f"def elementwise({', '.join([*out, *names])}):"]
    lines += [f"    {name} = get_global_id({axis})" for axis, name in enumerate(ids[:3])]
    for axis in range(dimensions - 1, 2, -1):
        lines += [
            f"    {ids[axis]} = i2 % {out[0]}.shape[{axis}]",
            f"    i2 = i2 // {out[0]}.shape[{axis}]",
        ]
    targets = ", ".join(f"{name}[{index}]" for name in out)
    lines += [f"    {targets} = function({values})", ""]
    return "\n".join(lines)


def _is_number(value: object) -> bool:
    """True for numbers of Python, Entrepot and NumPy. Arrays without dimensions are arrays."""
    numpy = sys.modules.get("numpy")
    return isinstance(value, (bool, int, float, complex, Scalar)) or (
        numpy is not None and isinstance(value, numpy.generic)
    )


def _typed(value: Any, arrays: list[Array]) -> Any:
    """A Python number in the widest suitable type of the arrays. If no array has one, as for a
    float with arrays of integers, the widest type of the number's own kind.
    """
    if not isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, bool):
        return Scalar(value, "bool")
    candidates = [
        each.dtype
        for each in arrays
        if isinstance(value, int) or each.dtype.name.startswith(_FLOATING)
    ]
    if isinstance(value, complex):
        candidates = [dtype for dtype in candidates if dtype.name.startswith("complex")]
    usual = (
        "complex128"
        if isinstance(value, complex)
        else "float64"
        if isinstance(value, float)
        else "int64"
    )
    return Scalar(value, max(candidates, key=lambda dtype: dtype.itemsize) if candidates else usual)


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    extents = []
    for axis in itertools.zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1):
        wide = {extent for extent in axis if extent != 1}
        if len(wide) > 1:
            raise ValueError(f"the shapes {' and '.join(map(str, shapes))} do not broadcast to one")
        extents.append(wide.pop() if wide else 1)
    return tuple(reversed(extents))


def _merged(shape: tuple[int, ...], arrays: list[Array]) -> tuple[int, ...]:
    """The shape without the axes that all arrays can step through together with the one before."""
    extents: list[int] = []
    last = 0
    for axis, extent in enumerate(shape):
        follows = extents and all(
            each.strides[last] == each.strides[axis] * extent for each in arrays
        )
        if follows:
            extents[-1] *= extent
        elif extent != 1:
            extents.append(extent)
        else:
            continue
        last = axis
    return tuple(extents) or (1,)

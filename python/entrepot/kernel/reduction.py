"""``reduce``: combines all elements of an array by a function of two numbers."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from .._core import asarray, empty
from .functions import DeviceFunction
from .operands import About, flat
from .reducer import reducer_of


class Reduction:
    """A function of two numbers that reduces an array to a number: ``f(array, queue=None)``.

    The order of the elements is unspecified: the function has to be associative and commutative,
    rounding aside.
    """

    __name__: str

    def __init__(self, function: FunctionType, identity: Any) -> None:
        self.function = function
        self.identity = identity
        self._reducer = reducer_of(function)
        functools.update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<entrepot.kernel.reduce {self.function.__qualname__}>"

    def __call__(self, array: Any, *, queue: object = None) -> Any:
        """Raises ValueError for an empty array if the reduction has no identity."""
        with About(self.__name__, "argument 0 (array)"):
            values = asarray(array)
        if values.size == 0:
            if self.identity is None:
                raise ValueError(
                    f"{self.__name__}() of no elements: make it with reduce(function, identity=…)"
                )
            return self.identity
        dtype = self._reducer.type_of((values.dtype,), values.device)
        total = empty((1, 1), dtype, queue=queue or values.queue)
        self._reducer.along_axis([flat(values).reshape(1, -1)], total, total.queue)
        return total.item()


def reduce(function: Any = None, identity: Any = None) -> Any:
    """Make a function of two numbers a reduction, which combines all elements of an array.

    It is also a decorator, ``@reduce``. The order of the elements is unspecified: the function has
    to be associative and commutative, rounding aside.

    Parameters
    ----------
    function : callable, optional
        A Python function of two numbers, or a DeviceFunction.
    identity : scalar, optional
        The result for an empty array. Without it, an empty array raises ValueError.

    Returns
    -------
    Reduction or callable
        A function ``total(array, *, queue=None)`` that returns a Python number, of the type of
        ``function`` for two elements. Without ``function``, a decorator that makes one.

    Raises
    ------
    TypeError
        If ``function`` is neither a Python function nor a DeviceFunction.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> total = ek.reduce(lambda a, b: a + b, identity=0)
    >>> total(ep.asarray(np.arange(5)))
    10
    """
    if function is None:
        return lambda function: reduce(function, identity)
    if isinstance(function, DeviceFunction):
        function = function.function
    if not isinstance(function, FunctionType):
        raise TypeError(f"reduce() takes a function of two numbers, not {function!r}")
    return Reduction(function, identity)

"""``reduce``: combines all elements of an array by a function of two numbers."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from .._core import Array, Device, Dtype, asarray, empty
from .elementwise import about
from .functions import DeviceFunction, KernelFunction, kernel
from .language import (
    barrier,
    get_global_id,
    get_global_size,
    get_group_id,
    get_local_id,
    local,
)
from .source import make

# Finds the type of the result: adding two bools gives an int64.
_PROBE = """
def probe(array):
    total = function(array, array)
"""

# Each work-item reduces consecutive elements, which suits the caches of CPUs.
_RUNS = """
def reduced(array, out):
    i = get_global_id(0)
    runs = get_global_size(0)
    n = array.shape[0]
    first = i * n // runs
    last = (i + 1) * n // runs
    run = array[first:last]  # its indices are not negative, so that loads are vectorized
    total = convert(run[0])
    for j in range(1, run.shape[0]):
        total = function(total, run[j])
    out[i] = total
"""

# Neighboring work-items read neighboring elements, so that a GPU coalesces them. A group then
# combines the totals of its work-items in local memory.
_GROUPS = """
def reduced(array, out):
    totals = local.array(GROUP, convert)
    own = get_local_id(0)
    i = get_global_id(0)
    stride = get_global_size(0)
    total = convert(array[i])
    for j in range(i + stride, array.shape[0], stride):
        total = function(total, array[j])
    totals[own] = total
    width = GROUP // 2
    while width > 0:
        barrier()
        if own < width:
            totals[own] = function(totals[own], totals[own + width])
        width = width // 2
    if own == 0:
        out[get_group_id(0)] = totals[0]
"""

#: Work-items in a group of a GPU.
_GROUP = 256


class Reduction:
    """A function of two numbers that reduces an array to a number: ``f(array, queue=None)``.

    The order of the elements is unspecified: the function has to be associative and commutative,
    rounding aside.
    """

    __name__: str

    def __init__(self, function: FunctionType, identity: Any) -> None:
        self.function = function
        self.identity = identity
        self._probe = self._made("probe", _PROBE)
        self._totals: dict[tuple[Device, Dtype], Dtype] = {}
        self._kernels: dict[tuple[str, Dtype], KernelFunction] = {}
        functools.update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<entrepot.kernel.reduce {self.function.__qualname__}>"

    def _made(self, name: str, text: str, **names: Any) -> KernelFunction:
        namespace = {
            "barrier": barrier,
            "get_global_id": get_global_id,
            "get_global_size": get_global_size,
            "get_group_id": get_group_id,
            "get_local_id": get_local_id,
            "local": local,
            "function": DeviceFunction(self.function),
            **names,
        }
        return kernel(make(name, text, namespace))

    def _kernel(self, text: str, total: Dtype) -> KernelFunction:
        found = self._kernels.get((text, total))
        if found is None:
            found = self._made("reduced", text, convert=total, GROUP=_GROUP)
            self._kernels[text, total] = found
        return found

    def _total_type(self, element: Dtype, device: Device) -> Dtype:
        found = self._totals.get((device, element))
        if found is None:
            found = self._probe._type_of("total", (("scalar", element, 0, False),), device)
            self._totals[device, element] = found
        return found

    def __call__(self, array: Any, *, queue: object = None) -> Any:
        """Raises ValueError for an empty array if the reduction has no identity."""
        with about(f"{self.__name__}(): argument 0 (array)"):
            values = asarray(array)
        if values.size == 0:
            if self.identity is None:
                raise ValueError(
                    f"{self.__name__}() of no elements: make it with reduce(function, identity=…)"
                )
            return self.identity
        return self._reduced(_flat(values), queue).item()

    def _reduced(self, values: Array, queue: object) -> Array:
        where = queue or values.queue
        is_cpu = values.device.device_type == "cpu"
        total = self._total_type(values.dtype, values.device)
        while not is_cpu and values.size >= _GROUP:
            # Four groups fill a multiprocessor. One combines what they return.
            most = values.device.max_compute_units * 4
            groups = 1 if values.size <= most else min(most, values.size // _GROUP)
            made = empty(groups, total, queue=where)
            code = self._kernel(_GROUPS, total)
            code[groups * _GROUP, _GROUP](values, made, queue=where)
            if groups == 1:
                return made
            values = made
        code = self._kernel(_RUNS, total)
        # Eight shares for each thread of the host, each of four interleaved work-items.
        most = values.device.max_compute_units * (8 * 4 if values.device.backend == "host" else 4)
        while True:
            items = 1 if not is_cpu or values.size <= most else min(most, max(values.size // 64, 1))
            made = empty(items, total, queue=where)
            code[items](values, made, queue=where)
            if items == 1:
                return made
            values = made


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


def _flat(values: Array) -> Array:
    try:
        return values.reshape(-1)
    except ValueError:  # only a copy could do it
        return values.to(values.device).reshape(-1)

"""``kernel.simulate[global, local](…)``: runs the kernel's Python function by Python, and reports what is wrong with it.

Arrays that the host can reach are worked on in place, others are copied in and out. A launch is over when the call returns.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import entrepot as ep

from .ranges import extent_of
from .simulator.arithmetic import dtype_of
from .simulator.groups import Run
from .simulator.memory import View
from .simulator.operations import WorkItem, operations
from .simulator.rewrite import Rewritten, rewritten

_Finish = Callable[[], None]


class Simulated:
    """A kernel that Python runs: ``Simulated(function)[global, local](…)``."""

    def __init__(self, function: types.FunctionType) -> None:
        self._function = function

    def __getitem__(self, index: Any) -> SimulatedLaunch:
        return SimulatedLaunch(self._function, *_ranges(index))


class SimulatedLaunch:
    """A simulated kernel with its ranges."""

    def __init__(self, function: types.FunctionType, global_range: tuple[int, ...], local_range: tuple[int, ...]) -> None:
        self._function, self._global, self._local = function, global_range, local_range

    def __call__(self, *arguments: Any, **_: Any) -> None:
        """Runs it to the end; queues and dependencies have no meaning here.

        Raises KernelError with the work-items' ids where an index is out of bounds, work-items race, wait for ever, or read
        local or private memory that nobody has written.
        """
        code = rewritten(self._function)
        expected = code.parameters[1:] if code.takes_item else code.parameters
        if len(arguments) != len(expected):
            raise ep.KernelError(f"{self._function.__name__} takes {len(expected)} arguments and was given {len(arguments)}")
        run = Run(self._global, self._local)
        finish: list[_Finish] = []
        makers = [_argument(run, name, value, finish) for name, value in zip(expected, arguments, strict=True)]
        with np.errstate(all="ignore"):
            _run(run, code, makers)
        for each in finish:
            each()


def _run(run: Run, code: Rewritten, makers: list[Callable[[], Any]]) -> None:
    def captured(name: str, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        frozen = value.view()
        frozen.flags.writeable = False
        return View(run, name, frozen, "constant")

    functions = operations(run)
    kernel = code.bound(functions, captured)
    if code.takes_item:
        item = WorkItem(functions)
        makers = [lambda: item, *makers]
    run.go(lambda: kernel(*[make() for make in makers]))


def _ranges(index: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The global and the local range of what stands in the brackets; without a local one, one group of all work-items."""
    if isinstance(index, tuple) and len(index) == 2 and not _is_extents(index[1]):
        index = (index[0], None)
    if hasattr(index, "global_range"):  # an NdRange
        whole, group = index.global_range, index.local_range or None
    elif isinstance(index, tuple) and len(index) == 2 and type(index) is tuple:
        whole, group = index
    else:
        whole, group = index, None
    global_range = _extents(whole)
    local_range = global_range if group is None else _extents(group)
    if not 1 <= len(global_range) <= 3 or len(local_range) != len(global_range):
        raise ep.KernelError(f"launch: a range has 1 to 3 dimensions and a group as many, not {global_range} and {local_range}")
    if any(items < 0 for items in global_range) or any(items < 1 for items in local_range if math.prod(global_range)):
        raise ep.KernelError(f"launch: the ranges {global_range} and {local_range} have an extent that is too small")
    if any(items % each for items, each in zip(global_range, local_range, strict=True) if each):
        raise ep.KernelError(
            f"launch: the local range {local_range} does not divide the global range {global_range}; "
            "make the global one a multiple and let the kernel leave out what is too much"
        )
    return global_range, tuple(max(each, 1) for each in local_range)


def _is_extents(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) or (isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0)


def _extents(value: Any) -> tuple[int, ...]:
    return tuple(map(extent_of, value)) if isinstance(value, (tuple, list)) else (extent_of(value),)


def _argument(run: Run, name: str, value: Any, finish: list[_Finish]) -> Callable[[], Any]:
    """What gives each work-item the argument; what has to be copied back afterwards is added to ``finish``."""
    if isinstance(value, np.generic):
        return lambda: value
    if isinstance(value, (bool, int, float, complex)):
        typed = dtype_of(type(value)).type(value)
        return lambda: typed
    if isinstance(value, ep.Scalar):
        scalar = ep.full(1, value, value.dtype, device="host").numpy()[0]
        return lambda: scalar
    if hasattr(value, "shape") and hasattr(value, "dtype") and type(value).__name__ in ("LocalAccessor", "LocalMemory"):
        return lambda: _local_argument(run, name, value)
    view = View(run, name, _host_array(value, finish), "global")
    return lambda: view


def _local_argument(run: Run, name: str, memory: Any) -> View:
    arrays = run.item.group.arrays
    if name not in arrays:
        shape = _extents(memory.shape)
        arrays[name] = View(run, name, np.zeros(shape, dtype_of(memory.dtype)), "local", np.zeros(shape, np.bool_))
    return arrays[name]


def _host_array(value: Any, finish: list[_Finish]) -> Any:
    """A NumPy array of the memory itself where the host reaches it, else of a copy that goes back at the end."""
    if isinstance(value, np.ndarray):
        return value
    array = ep.asarray(value)
    try:
        return array.numpy()
    except ep.ExchangeError:
        copied = array.copy_to_host().numpy()
    if array.read_only:
        copied.flags.writeable = False
    else:
        finish.append(lambda: ep.copy(array, copied).wait())
    return copied

"""``kernel.simulate[global, local](…)``: runs the kernel's Python function by Python, and reports what is wrong with it.

Arrays that the host can reach are worked on in place, others are copied in and out. A launch is over when the call returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import entrepot as ep

from .._core import LocalAccessor, PythonKernel
from .simulator.arithmetic import dtype_of
from .simulator.groups import Run
from .simulator.memory import View
from .simulator.operations import WorkItem, operations
from .simulator.rewrite import Rewritten, rewritten

_Finish = Callable[[], None]


class Simulated:
    """A kernel that Python runs: ``Simulated(kernel)[global, local](…)``."""

    def __init__(self, kernel: PythonKernel) -> None:
        self._kernel = kernel

    def __getitem__(self, index: Any) -> SimulatedLaunch:
        return SimulatedLaunch(self._kernel, *_ranges(*self._kernel._range(index)))


class SimulatedLaunch:
    """A simulated kernel with its ranges."""

    def __init__(self, kernel: PythonKernel, global_range: tuple[int, ...], local_range: tuple[int, ...]) -> None:
        self._kernel, self._global, self._local = kernel, global_range, local_range

    def __call__(self, *arguments: Any, queue: object = None, depends_on: object = None, wait: bool | None = None) -> None:
        """Runs it to the end; queues and dependencies have no meaning here.

        Raises what a launch does for arguments that do not fit. Raises KernelError with the work-items' ids where an index is out
        of bounds, work-items race, wait for ever, or read local or private memory that nobody has written.
        """
        code = rewritten(self._kernel.function)
        names = code.parameters[1:] if code.takes_item else code.parameters
        values = self._kernel._arguments(self._kernel.function.__name__, names, arguments)
        run = Run(self._global, self._local)
        finish: list[_Finish] = []
        makers = [_argument(run, name, value, finish) for name, value in zip(names, values, strict=True)]
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


def _ranges(global_range: tuple[int, ...], local_range: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ranges to run; without a local one, one group of all work-items."""
    if any(items % each for items, each in zip(global_range, local_range, strict=False)):
        raise ep.KernelError(
            f"launch: the local range {local_range} does not divide the global range {global_range}; "
            "make the global one a multiple and let the kernel leave out what is too much"
        )
    return global_range, tuple(max(each, 1) for each in local_range or global_range)


def _argument(run: Run, name: str, value: ep.Array | ep.Scalar | LocalAccessor, finish: list[_Finish]) -> Callable[[], Any]:
    """What gives each work-item the argument; what has to be copied back afterwards is added to ``finish``."""
    if isinstance(value, ep.Scalar):
        scalar = ep.full(1, value, value.dtype, device="host").numpy()[0]
        return lambda: scalar
    if isinstance(value, LocalAccessor):
        return lambda: _local_argument(run, name, value)
    view = View(run, name, _host_array(value, finish), "global")
    return lambda: view


def _local_argument(run: Run, name: str, memory: LocalAccessor) -> View:
    arrays = run.item.group.arrays
    if name not in arrays:
        arrays[name] = View(run, name, np.zeros(memory.shape, dtype_of(memory.dtype)), "local", np.zeros(memory.shape, np.bool_))
    return arrays[name]


def _host_array(array: ep.Array, finish: list[_Finish]) -> Any:
    """A NumPy array of the memory itself where the host reaches it, else of a copy that goes back at the end."""
    try:
        return array.numpy()
    except ep.ExchangeError:
        copied = array.copy_to_host().numpy()
    if array.read_only:
        copied.flags.writeable = False
    else:
        finish.append(lambda: ep.copy(array, copied).wait())
    return copied

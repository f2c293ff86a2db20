"""``kernel.simulate[global, local](…)``: runs the kernel in Python, and reports errors in it.

Arrays that the host can access are used in place, others are copied in and out. Launches are
complete on return.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import (
    Array,
    ExchangeError,
    KernelError,
    LocalAccessor,
    PythonKernel,
    Scalar,
    asarray,
    copy,
    from_address,
    full,
    vector_components,
)
from .simulator.arithmetic import dtype_of
from .simulator.groups import Run
from .simulator.held import Place, Types, types_of
from .simulator.memory import View
from .simulator.operations import WorkItem, operations
from .simulator.rewrite import Rewritten, rewritten
from .simulator.structs import is_struct_dtype, record_of, structs_of
from .structs import StructArray

_Finish = Callable[[], None]


class Simulated:
    """A kernel that Python runs: ``Simulated(kernel)[global, local](…)``."""

    def __init__(self, kernel: PythonKernel) -> None:
        self._kernel = kernel

    def __repr__(self) -> str:
        return f"{self._kernel!r}.simulate"

    def __getitem__(self, index: Any) -> SimulatedLaunch:
        return SimulatedLaunch(self._kernel, *_ranges(*self._kernel._range(index)))


class SimulatedLaunch:
    """A simulated kernel with its ranges."""

    def __init__(
        self, kernel: PythonKernel, global_range: tuple[int, ...], local_range: tuple[int, ...]
    ) -> None:
        self._kernel, self._global, self._local = kernel, global_range, local_range

    def __repr__(self) -> str:
        return f"{self._kernel!r}.simulate[{self._global}, {self._local}]"

    def __call__(
        self,
        *arguments: Any,
        queue: object = None,
        depends_on: object = None,
        wait: bool | None = None,
    ) -> None:
        """Runs the kernel to completion; queues and dependencies have no effect.

        Raises the errors of a launch for invalid arguments. Raises KernelError with the ids of the
        work-items for indices out of bounds, races, deadlocks, and reads of uninitialized local or
        private memory.
        """
        code = rewritten(self._kernel.function)
        names = code.parameters[1:] if code.takes_item else code.parameters
        missing = len(names) - len(arguments)
        if 0 < missing <= len(code.defaults):
            arguments = (*arguments, *list(code.defaults.values())[-missing:])
        values = self._kernel._arguments(self._kernel.function.__name__, names, arguments)
        run = Run(self._global, self._local, code.language)
        finish: list[_Finish] = []
        types = self._types(values)
        values = [_split(value) for value in values]
        numbers = [each for value in values for each in _arrays_in(value)]
        arrays = _host_arrays(numbers, finish)
        makers = [
            _argument(run, name, value, arrays) for name, value in zip(names, values, strict=True)
        ]
        with np.errstate(all="ignore"):
            _run(run, code, makers, types)
        for each in finish:
            each()

    def _types(self, values: list[Any]) -> dict[Place, Types]:
        """The compiler's types of variables; none if it refuses the kernel, which can run here
        nevertheless.
        """
        try:
            return types_of(self._kernel._types(tuple(values)))
        except KernelError:
            return {}


def _run(
    run: Run, code: Rewritten, makers: list[Callable[[], Any]], known: dict[Place, Types]
) -> None:
    def captured(name: str, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        frozen = value.view()
        frozen.flags.writeable = False
        return View(run, name, frozen, "constant")

    functions = operations(run)
    kernel = code.bound(functions, captured, known)
    if code.takes_item:
        item = WorkItem(functions)
        makers = [lambda: item, *makers]
    run.go(lambda: kernel(*[make() for make in makers]))


def _ranges(
    global_range: tuple[int, ...], local_range: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ranges to run. Without a local range, all work-items form one group."""
    if any(items % each for items, each in zip(global_range, local_range, strict=False)):
        raise KernelError(
            f"launch: the local range {local_range} does not divide the global range "
            f"{global_range}; "
            "make the global one a multiple and let the kernel leave out what is too much"
        )
    return global_range, tuple(max(each, 1) for each in local_range or global_range)


class _Fields:
    """An array of structs or vectors, split into the Arrays of its numbers."""

    def __init__(self, dtype: Any, ndim: int, arrays: dict[str, Array]) -> None:
        self.dtype, self.ndim, self.arrays = dtype, ndim, arrays


def _split(value: Any) -> Any:
    """The argument with its fields, if it has any; other arguments are unchanged."""
    if isinstance(value, (Scalar, LocalAccessor)):
        return value
    if isinstance(value, np.void):
        record = record_of(value, value.dtype)
        return lambda: record
    if isinstance(value, Array) and value.dtype.lanes == 1:
        return value
    whole = value if isinstance(value, (Array, StructArray)) else _imported(value)
    if isinstance(whole, Array):
        return _Fields(whole.dtype, whole.ndim, vector_components(whole))
    arrays: dict[str, Array] = {}
    _add_fields(whole, "", arrays)
    return _Fields(whole.dtype, whole.ndim, arrays)


def _imported(value: Any) -> Array | StructArray:
    try:
        return asarray(value)
    except ExchangeError:
        return StructArray.asarray(value)


def _add_fields(whole: StructArray, prefix: str, arrays: dict[str, Array]) -> None:
    for name in whole.dtype.names:
        field = whole.field(name)
        if isinstance(field, StructArray):
            _add_fields(field, f"{prefix}{name}.", arrays)
        else:
            arrays[prefix + name] = field


def _arrays_in(value: Any) -> list[Array]:
    if isinstance(value, Array):
        return [value]
    return list(value.arrays.values()) if isinstance(value, _Fields) else []


def _argument(run: Run, name: str, value: Any, arrays: dict[int, Any]) -> Callable[[], Any]:
    """A function that returns the argument for the current work-item; ``arrays`` are by the Arrays'
    ids.
    """
    if isinstance(value, _Fields):
        structs = structs_of(
            value.dtype,
            lambda field, *_: View(
                run, f"{name}.{field}", arrays[id(value.arrays[field])], "global"
            ),
            value.ndim,
        )
        return lambda: structs
    if callable(value):
        make: Callable[[], Any] = value
        return make
    if isinstance(value, Scalar):
        scalar = full(1, value, value.dtype, device="host").numpy()[0]
        return lambda: scalar
    if isinstance(value, LocalAccessor):
        return lambda: _local_argument(run, name, value)
    view = View(run, name, arrays[id(value)], "global")
    return lambda: view


def _local_argument(run: Run, name: str, memory: LocalAccessor) -> Any:
    def view(name: str, dtype: Any, shape: tuple[int, ...]) -> View:
        array, written = np.zeros(shape, dtype_of(dtype)), np.zeros(shape, np.bool_)
        return View(run, name, array, "local", written)

    arrays: dict[Any, Any] = run.item.group.arrays
    if name not in arrays and is_struct_dtype(memory.dtype):
        arrays[name] = structs_of(
            memory.dtype,
            lambda field, dtype, extents: view(f"{name}.{field}", dtype, (*memory.shape, *extents)),
            len(memory.shape),
        )
    elif name not in arrays:
        arrays[name] = view(name, memory.dtype, memory.shape)
    return arrays[name]


def _host_arrays(arrays: list[Array], finish: list[_Finish]) -> dict[int, Any]:
    """NumPy arrays by the Arrays' ids: of the memory if the host can access it, else of copies,
    written back at the end.

    Arrays that share memory share their copy.
    """
    found: dict[int, Any] = {}
    copied: list[tuple[int, int, Array]] = []
    for array in arrays:
        try:
            found[id(array)] = array.numpy()
        except ExchangeError:
            if array.size == 0:
                found[id(array)] = np.empty(array.shape, dtype_of(array.dtype))
            else:
                copied.append((*_reach(array), array))
    for together in _overlapping(copied):
        found.update(_copies(together, finish))
    return found


def _reach(array: Array) -> tuple[int, int]:
    """The address of the first byte of an array's elements, and one past the last byte."""
    spans = [
        stride * (extent - 1) * array.itemsize
        for stride, extent in zip(array.strides, array.shape, strict=True)
    ]
    below, above = sum(span for span in spans if span < 0), sum(span for span in spans if span > 0)
    return array.data_ptr + below, array.data_ptr + above + array.itemsize


def _overlapping(reaches: list[tuple[int, int, Array]]) -> list[list[tuple[int, int, Array]]]:
    """Groups of arrays whose bytes overlap, directly or through others."""
    groups: list[list[tuple[int, int, Array]]] = []
    end = 0
    for each in sorted(reaches, key=lambda reach: reach[:2]):
        if not groups or each[0] >= end:
            groups.append([])
        groups[-1].append(each)
        end = max(end, each[1])
    return groups


def _copies(together: list[tuple[int, int, Array]], finish: list[_Finish]) -> dict[int, Any]:
    """NumPy arrays in one copy of the bytes that the arrays span."""
    begin, end = min(reach[0] for reach in together), max(reach[1] for reach in together)
    arrays = [array for _, _, array in together]
    for array in arrays:
        array.queue.wait()
    whole = from_address(begin, end - begin, "uint8", queue=arrays[0].queue, owner=arrays)
    copied = whole.copy_to_host().numpy()
    if not all(array.read_only for array in arrays):
        finish.append(lambda: copy(whole, copied).wait())
    found = {}
    for array in arrays:
        strides = tuple(stride * array.itemsize for stride in array.strides)
        view = np.ndarray(
            array.shape, dtype_of(array.dtype), copied, array.data_ptr - begin, strides
        )
        view.flags.writeable = not array.read_only
        found[id(array)] = view
    return found

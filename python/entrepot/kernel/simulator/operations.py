"""The functions of ``entrepot.kernel`` as simulated code calls them, by their canonical names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import arithmetic, tiles
from .arithmetic import dtype_of
from .errors import AssertionKernelError, line_of_kernel, refuse
from .groups import GLOBAL_FENCE, GROUP_OPERATIONS, LOCAL_FENCE, SUB_GROUP_SIZE, Meeting, Run
from .memory import View
from .structs import dot, is_struct_dtype, structs_of

#: Functions that wait for other work-items: a yield returns their result.
COLLECTIVE = frozenset(
    {"barrier", "grid_barrier", "group_barrier", "sub_group_barrier"}
    | {f"{scope}.{name}" for scope in ("group", "sub_group") for name in GROUP_OPERATIONS}
)

#: Functions that make arrays; they are passed their location, a variable's name first.
MAKE_ARRAYS = frozenset({"local.array", "private.array", "constant.array", "tile.zeros"})

#: Python's functions with different semantics in a kernel.
PYTHON: dict[Any, Callable[..., Any]] = {
    abs: arithmetic.absolute,
    divmod: arithmetic.divided,
    len: arithmetic.length,
    max: arithmetic.maximum,
    min: arithmetic.minimum,
    pow: arithmetic.raised,
    range: arithmetic.counted,
    round: arithmetic.rounded,
    sum: lambda values, start=0: _summed(values, start),
}
#: Conversions: these, and every dtype.
CASTS = (int, float, bool, complex)


def _summed(values: Any, start: Any) -> Any:
    for value in values:
        start = arithmetic.add(start, value)
    return start


def operations(run: Run) -> dict[str, Callable[..., Any]]:
    """Every function by its canonical name, for the current work-item of the run."""
    return {
        **_index_space(run),
        **_meetings(),
        **_memory(run),
        **_ATOMICS,
        "AtomicRef": AtomicRef,
        "mem_fence": lambda *_, **__: None,
        "atomic_fence": lambda *_, **__: None,
        "assertion": lambda condition, message: _check(run, condition, message),
        "dot": dot,
        "math.fma": arithmetic.MATHEMATICAL["fma"],
        "numpy.bitwise_count": arithmetic.bit_count,
    }


def _check(run: Run, condition: Any, message: str) -> None:
    if not condition:
        failed = f"assertion failed: {message}" if message else "assertion failed"
        raise refuse(f"{run.item}: {failed}", AssertionKernelError)


def _at_dimension(values: tuple[int, ...], dimension: int, absent: int) -> int:
    """The value of a dimension; a negative one counts from the last."""
    if not -3 <= dimension < 3:
        raise refuse(f"a dimension is 0, 1 or 2, or counts from the last, -1, not {dimension}")
    place = len(values) + dimension if dimension < 0 else dimension
    return values[place] if 0 <= place < len(values) else absent


def _index_space(run: Run) -> dict[str, Callable[..., Any]]:
    def of_item(get: Callable[[], Any]) -> Callable[..., Any]:
        return lambda dimension=0: np.int64(_at_dimension(get(), dimension, 0))

    def of_range(values: tuple[int, ...]) -> Callable[..., Any]:
        return lambda dimension=0: np.int64(_at_dimension(values, dimension, 1))

    return {
        "get_global_id": of_item(lambda: run.item.global_id),
        "get_local_id": of_item(lambda: run.item.local_id),
        "get_group_id": of_item(lambda: run.item.group.identity),
        "get_global_size": of_range(run.global_range),
        "get_local_size": of_range(run.local_range),
        "get_num_groups": of_range(run.group_range),
        "get_work_dim": lambda: np.int64(len(run.global_range)),
        "get_sub_group_id": lambda: np.int64(run.item.sub_group.number),
        "get_sub_group_local_id": lambda: np.int64(run.item.lane),
        "get_sub_group_size": lambda: np.int64(len(run.item.sub_group.items)),
        "get_max_sub_group_size": lambda: np.int64(SUB_GROUP_SIZE),
        "get_num_sub_groups": lambda: np.int64(-(-math.prod(run.local_range) // SUB_GROUP_SIZE)),
    }


def _meetings() -> dict[str, Callable[..., Any]]:
    def barrier(scope: str) -> Callable[..., Meeting]:
        def wait(fence: Any = LOCAL_FENCE | GLOBAL_FENCE) -> Meeting:
            return Meeting("barrier", scope, line_of_kernel(), fences=int(fence))

        return wait

    def given(value: Any) -> Any:
        return value if isinstance(value, np.generic) else np.asarray(arithmetic.plus(value))[()]

    def meeting(what: str, scope: str) -> Callable[..., Meeting]:
        if what in ("reduce", "inclusive_scan", "exclusive_scan"):
            return lambda value, operation="add": Meeting(
                what, scope, line_of_kernel(), value=given(value), operation=operation
            )
        return lambda value, index=0, **named: Meeting(
            what,
            scope,
            line_of_kernel(),
            value=given(value),
            index=next(iter(named.values()), index),
        )

    scopes = {"group": "work_group", "sub_group": "sub_group"}
    return {
        "barrier": barrier("work_group"),
        "grid_barrier": barrier("device"),
        "sub_group_barrier": barrier("sub_group"),
        "group_barrier": lambda group=None, *_, **__: barrier(
            getattr(group, "scope", "work_group")
        )(),
        **{
            f"{name}.{what}": meeting(what, scope)
            for name, scope in scopes.items()
            for what in GROUP_OPERATIONS
        },
    }


#: A variable's name, its line and column, and those of the calls that lead there.
_Site = tuple[Any, ...]


def _memory(run: Run) -> dict[str, Callable[..., Any]]:
    def fresh(shape: Any, dtype: Any, space: str, site: _Site) -> Any:
        extents = tuple(shape) if isinstance(shape, tuple) else (shape,)
        if not is_struct_dtype(dtype):
            return view(site[0], dtype, extents, space)
        return structs_of(
            dtype,
            lambda name, base, inner: view(f"{site[0]}.{name}", base, (*extents, *inner), space),
            len(extents),
        )

    def view(name: str, dtype: Any, shape: tuple[Any, ...], space: str) -> View:
        return View(run, name, np.zeros(shape, dtype_of(dtype)), space, np.zeros(shape, np.bool_))

    def local_array(shape: Any, dtype: Any, *, site: _Site) -> Any:
        arrays: dict[Any, Any] = run.item.group.arrays
        place = line_of_kernel()[0], site
        if place not in arrays:
            arrays[place] = fresh(shape, dtype, "local", site)
        return arrays[place]

    def private_array(shape: Any, dtype: Any, fill_zeros: bool = False, *, site: _Site) -> Any:
        if fill_zeros and is_struct_dtype(dtype):
            raise refuse("fill_zeros is for arrays of numbers; assign to the fields of a struct")
        made = fresh(shape, dtype, "private", site)
        if fill_zeros:
            made.initialize()
        return made

    def constant_array(values: Any, dtype: Any = None, *, site: _Site) -> View:
        if isinstance(values, View):
            return values
        array = np.array(values, None if dtype is None else dtype_of(dtype))
        array.flags.writeable = False
        return View(run, site[0], array, "constant")

    def accumulator(shape: Any, dtype: Any = np.float32, *, site: _Site) -> Any:
        return tiles.zeros(run, site[0], shape, dtype)

    return {
        "local.array": local_array,
        "private.array": private_array,
        "constant.array": constant_array,
        "tile.zeros": accumulator,
    }


def _update(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def update(
        array: View, index: Any, value: Any, *, order: str = "relaxed", scope: str = "device"
    ) -> Any:
        return array.atomically(
            index, lambda old: operation(old, arithmetic.converted(old.dtype, value))
        )

    return update


def _compare_exchange(
    array: View, index: Any, expected: Any, desired: Any, *, order: str = "", scope: str = ""
) -> Any:
    # Compares bits, as devices do: -0.0 differs from 0.0, and NaN equals itself.
    def swapped(old: Any) -> Any:
        return (
            desired if arithmetic.converted(old.dtype, expected).tobytes() == old.tobytes() else old
        )

    return array.atomically(index, swapped)


def _load(array: View, index: Any, *, order: str = "", scope: str = "") -> Any:
    return array.atomically(index, None)


_ATOMICS: dict[str, Callable[..., Any]] = {
    "atomic.add": _update(arithmetic.add),
    "atomic.sub": _update(arithmetic.subtract),
    "atomic.min": _update(arithmetic.minimum),
    "atomic.max": _update(arithmetic.maximum),
    "atomic.and": _update(arithmetic.bit_and),
    "atomic.or": _update(arithmetic.bit_or),
    "atomic.xor": _update(arithmetic.bit_xor),
    "atomic.exchange": _update(lambda old, value: value),
    "atomic.store": _update(lambda old, value: value),
    "atomic.compare_exchange": _compare_exchange,
    "atomic.load": _load,
}


class AtomicRef:
    """numba-dpex's reference to an element of an array."""

    def __init__(self, ref: View, index: Any = 0, *_: Any, **__: Any) -> None:
        self._array, self._index = ref, index

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = _ATOMICS.get("atomic." + name.removeprefix("fetch_"))
        if operation is None:
            raise refuse(f"AtomicRef has no {name!r}")
        return lambda *values, **named: operation(
            self._array, self._index, *values, *named.values()
        )

    def compare_exchange(
        self,
        expected: Any = None,
        desired: Any = None,
        expected_idx: Any = 0,
        *,
        expected_ref: Any = None,
    ) -> Any:
        wanted = expected if expected_ref is None else expected_ref
        if not isinstance(wanted, View):
            return _compare_exchange(self._array, self._index, wanted, desired)
        value = wanted[expected_idx]
        old = _compare_exchange(self._array, self._index, value, desired)
        wanted[expected_idx] = old
        return arithmetic.equal(old, value)


#: Methods of numba-dpex's items and groups: the function of the language and, for linear ones, the
#: function of sizes.
_ITEM_METHODS = {
    name + suffix: (function, sizes if "linear" in suffix or "linear" in name else "")
    for prefix, function_id, sizes in (
        ("", "get_global_id", "get_global_size"),
        ("global_", "get_global_id", "get_global_size"),
        ("local_", "get_local_id", "get_local_size"),
        ("group_", "get_group_id", "get_num_groups"),
    )
    for name, suffix, function in (
        (f"get_{prefix}", "id", function_id),
        (f"get_{prefix}", "linear_id", function_id),
        (f"get_{prefix}", "range", sizes),
        (f"get_{prefix}", "linear_range", sizes),
    )
}

#: Methods by which an unannotated item is recognized. Those of groups have other names.
METHODS_OF_ITEMS = {name for name in _ITEM_METHODS if not name.startswith("get_group_")} | {
    "get_group"
}


class WorkItem:
    """numba-dpex's item and its group: the functions of the index space as methods."""

    def __init__(self, functions: dict[str, Callable[..., Any]], scope: str = "work_group") -> None:
        self._functions, self.scope = functions, scope

    @property
    def dimensions(self) -> Any:
        return self._functions["get_work_dim"]()

    @property
    def leader(self) -> Any:
        return self.get_local_linear_id() == 0

    def get_group(self) -> WorkItem:
        return WorkItem(self._functions)

    def get_sub_group(self) -> WorkItem:
        return WorkItem(self._functions, "sub_group")

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in _ITEM_METHODS:
            raise refuse(f"a work-item has no method {name!r}")
        function_name, sizes_name = _ITEM_METHODS[name]
        function = self._functions[function_name]
        if not sizes_name:
            return function
        sizes = self._functions[sizes_name]
        if function is sizes:
            return lambda: function(0) * function(1) * function(2)
        return lambda: (function(0) * sizes(1) + function(1)) * sizes(2) + function(2)

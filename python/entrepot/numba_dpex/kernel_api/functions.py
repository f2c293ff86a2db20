"""Functions and classes of the kernel API that the compiler knows and Python can call as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core import LocalAccessor as _LocalAccessor
from ...kernel.language import Builtin
from ...kernel.simulator.arithmetic import dtype_of
from ..errors import HostAccessError
from . import turns
from .enums import AddressSpace, MemoryOrder, MemoryScope


class PythonBuiltin(Builtin):
    """A function of the kernel language that plain Python can call as well."""

    def __init__(self, name: str, implementation: Callable[..., Any]) -> None:
        super().__init__(name, implementation.__doc__ or "")
        self._implementation = implementation
        self.__name__ = implementation.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._implementation(*args, **kwargs)


class _AtomicRef:
    """An element of an array whose methods are atomic.

    The methods are fetch_add, fetch_sub, fetch_min, fetch_max, fetch_and, fetch_or, fetch_xor,
    exchange, compare_exchange, load and store. A kernel calls it, and so does Python, which runs
    one work-item at a time.

    Called as
    ``AtomicRef(ref, index=0, memory_order=RELAXED, memory_scope=DEVICE, address_space=None)``.

    Parameters
    ----------
    ref : array
        The array.
    index : int or tuple of int, optional
        The index of the element, by default 0.
    memory_order : MemoryOrder, optional
        The memory order, by default MemoryOrder.RELAXED.
    memory_scope : MemoryScope, optional
        The work-items that observe the order, by default MemoryScope.DEVICE.
    address_space : AddressSpace, optional
        The array's address space. The compiler knows it, and refuses a kernel that states another.

    Raises
    ------
    TypeError
        If ``ref`` has no elements.

    Examples
    --------
    >>> from entrepot.numba_dpex import kernel_api as kapi
    >>> total = kapi.AtomicRef(np.array([40]), 0)
    >>> total.fetch_add(2).item(), total.load().item()
    (40, 42)
    """

    def __init__(
        self,
        ref: Any,
        index: Any = 0,
        memory_order: MemoryOrder = MemoryOrder.RELAXED,
        memory_scope: MemoryScope = MemoryScope.DEVICE,
        address_space: AddressSpace | None = None,
    ) -> None:
        if not (hasattr(ref, "__getitem__") and hasattr(ref, "__setitem__")):
            raise TypeError(
                f"AtomicRef: an array was expected, and a {type(ref).__name__} was given"
            )
        self._array, self._index = ref, index
        self.memory_order, self.memory_scope = memory_order, memory_scope
        self.address_space = address_space

    @property
    def ref(self) -> Any:
        return self._array[self._index]

    def _replace(self, change: Callable[[Any], Any]) -> Any:
        element = self._array[self._index]
        # The element of an array may be a view of it.
        old = element.copy() if hasattr(element, "copy") else element
        self._array[self._index] = change(old)
        return old

    def fetch_add(self, val: Any) -> Any:
        return self._replace(lambda old: old + val)

    def fetch_sub(self, val: Any) -> Any:
        return self._replace(lambda old: old - val)

    def fetch_min(self, val: Any) -> Any:
        return self._replace(lambda old: min(old, val))

    def fetch_max(self, val: Any) -> Any:
        return self._replace(lambda old: max(old, val))

    def fetch_and(self, val: Any) -> Any:
        return self._replace(lambda old: old & val)

    def fetch_or(self, val: Any) -> Any:
        return self._replace(lambda old: old | val)

    def fetch_xor(self, val: Any) -> Any:
        return self._replace(lambda old: old ^ val)

    def exchange(self, val: Any) -> Any:
        return self._replace(lambda _: val)

    def load(self) -> Any:
        return self._array[self._index]

    def store(self, val: Any) -> None:
        self._array[self._index] = val

    def compare_exchange(self, expected: Any, desired: Any, expected_idx: Any = 0) -> bool:
        if self._array[self._index] == expected[expected_idx]:
            self._array[self._index] = desired
            return True
        expected[expected_idx] = self._array[self._index]
        return False


def _private_array(shape: Any, dtype: Any, fill_zeros: bool = False) -> Any:
    """An array of one work-item.

    Called as ``PrivateArray(shape, dtype, fill_zeros=False)``. In plain Python it is a NumPy array.

    Parameters
    ----------
    shape : int or tuple of int
        The extents, in elements: literals or captured constants.
    dtype : dtype_like
        The type of an element.
    fill_zeros : bool, optional
        True to set all elements to 0. By default they are not initialized.

    Returns
    -------
    array
        The array, which other work-items cannot access.

    Examples
    --------
    >>> from entrepot import numba_dpex as dpex
    >>> from entrepot.numba_dpex import kernel_api as kapi
    >>> @dpex.kernel
    ... def count_up(item: kapi.Item, numbers):
    ...     own = kapi.PrivateArray(3, np.int64, fill_zeros=True)
    ...     for i in range(3):
    ...         own[i] += i
    ...     numbers[item.get_id(0)] = own[0] + own[1] + own[2]
    >>> numbers = ep.zeros(2, "int64", device="host")
    >>> dpex.call_kernel(count_up, kapi.Range(2), numbers)
    >>> numbers.numpy().tolist()
    [3, 3]
    """
    make = np.zeros if fill_zeros else np.empty
    return make(shape, dtype_of(dtype))


def _group_barrier(group: Any, fence_scope: MemoryScope = MemoryScope.WORK_GROUP) -> None:
    """Wait until all work-items of the work-group have arrived.

    Called as ``group_barrier(group, fence_scope=MemoryScope.WORK_GROUP)``.

    Parameters
    ----------
    group : Group
        The work-group, as ``item.get_group()`` returns it.
    fence_scope : MemoryScope, optional
        It has no effect: memory is ordered among the work-items of the group.

    Raises
    ------
    NotImplementedError
        If plain Python calls it outside of a launch over an NdRange. The error is a KernelError.

    Examples
    --------
    >>> from entrepot.numba_dpex import kernel_api as kapi
    >>> def reverse(item: kapi.NdItem, numbers, shared):
    ...     i = item.get_local_id(0)
    ...     shared[i] = numbers[i]
    ...     kapi.group_barrier(item.get_group())
    ...     numbers[i] = shared[3 - i]
    >>> numbers = np.arange(4)
    >>> kapi.call_kernel(reverse, kapi.NdRange((4,), (4,)), numbers, kapi.LocalAccessor(4, "int64"))
    >>> numbers.tolist()
    [3, 2, 1, 0]
    """
    turns.wait_for_group()


def _atomic_fence(memory_order: MemoryOrder, memory_scope: MemoryScope) -> None:
    """Order this work-item's accesses before the fence and those after it.

    Called as ``atomic_fence(memory_order, memory_scope)``.

    In plain Python it does nothing, because one work-item runs at a time.

    Parameters
    ----------
    memory_order : MemoryOrder
        The memory order. MemoryOrder.RELAXED orders nothing.
    memory_scope : MemoryScope
        The work-items that observe the order.

    Examples
    --------
    >>> from entrepot import numba_dpex as dpex
    >>> from entrepot.numba_dpex import kernel_api as kapi
    >>> @dpex.kernel
    ... def publish(item: kapi.Item, data, ready):
    ...     data[0] = 42
    ...     kapi.atomic_fence(kapi.MemoryOrder.RELEASE, kapi.MemoryScope.DEVICE)
    ...     kapi.AtomicRef(ready, 0).store(1)
    >>> data = ep.zeros(1, "int32", device="host")
    >>> ready = ep.zeros(1, "int32", device="host")
    >>> dpex.call_kernel(publish, kapi.Range(1), data, ready)
    >>> data.item(), ready.item()
    (42, 1)
    """


def _named(implementation: Any, name: str) -> Any:
    implementation.__name__ = implementation.__qualname__ = name
    return implementation


AtomicRef = PythonBuiltin("AtomicRef", _named(_AtomicRef, "AtomicRef"))
PrivateArray = PythonBuiltin("private.array", _named(_private_array, "PrivateArray"))
group_barrier = PythonBuiltin("group_barrier", _named(_group_barrier, "group_barrier"))
atomic_fence = PythonBuiltin("atomic_fence", _named(_atomic_fence, "atomic_fence"))


class LocalAccessor(_LocalAccessor):
    """An argument of a launch over an NdRange: an array in the local memory of each work-group.

    Parameters
    ----------
    shape : int or tuple of int
        The extents, in elements.
    dtype : dtype_like
        The type of an element.

    Raises
    ------
    TypeError
        If the shape or the type is not supported.

    Examples
    --------
    >>> from entrepot.numba_dpex import kernel_api as kapi
    >>> kapi.LocalAccessor((4, 2), np.float32).shape
    (4, 2)
    """

    def __getitem__(self, idx_obj: Any) -> Any:
        self._refuse()

    def __setitem__(self, idx_obj: Any, val: Any) -> None:
        self._refuse()

    def _refuse(self) -> Any:
        raise HostAccessError(
            "the elements of a LocalAccessor exist in kernels only: give it to call_kernel()"
        )

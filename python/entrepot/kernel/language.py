"""Functions of the kernel language: names known to the compiler, each a documented object that
computes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

from .._core import Dtype, KernelError, dtype_names


class Builtin:
    """A function of the kernel language. ``name`` is its name in the compiler. Calls outside
    kernels raise KernelError.
    """

    def __init__(self, name: str, doc: str) -> None:
        self.name = name
        self.__doc__ = doc
        self.instead = ""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise KernelError(
            f"{self.name}() was called in plain Python, and has a meaning only inside a kernel: "
            "call it in a function that "
            "@entrepot.kernel.kernel or @entrepot.kernel.func decorates, and launch "
            f"that{self.instead}"
        )

    def __repr__(self) -> str:
        return f"<entrepot.kernel builtin {self.name}>"


class Namespace:
    """A group of builtins: ``local``, ``private``, ``constant``, ``atomic``, ``group``,
    ``sub_group``.
    """

    def __init__(self, name: str, doc: str, builtins: dict[str, str]) -> None:
        self.__name__ = name
        self.__doc__ = doc
        for each, each_doc in builtins.items():
            setattr(self, each, Builtin(f"{name}.{each}", each_doc))

    def __getattr__(self, name: str) -> Any:
        known = ", ".join(
            f"{self.__name__}.{each}" for each in vars(self) if not each.startswith("_")
        )
        raise AttributeError(f"entrepot.kernel.{self.__name__} has no {name!r}: it has {known}")

    def __repr__(self) -> str:
        return f"<entrepot.kernel namespace {self.__name__}>"


# ------------------------------------------------------------------ index space

# Parts of docstrings, which state the signature because Python cannot inspect it.
_OUTSIDE = """\
Raises
------
KernelError
    If it is called outside of a kernel."""

_INDEX = f"""\
{{1}}

Called as ``{{0}}(dimension=0)``.

Parameters
----------
dimension : int, optional
    The dimension, from 0, the slowest, to 2: a constant when the kernel is compiled. A negative
    one counts from the last dimension of the launch, -1. The default is 0.

Returns
-------
int64
    {{2}}

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def store(out):
...     out[ek.get_global_id(0)] = ek.{{0}}(0)
>>> out = ep.zeros(4, "int64", device="host")
>>> store[4, 2](out).wait()
>>> out.numpy().tolist()
{{3}}
"""

_SIZE = f"""\
{{1}}

Called as ``{{0}}()``.

Returns
-------
int64
    {{2}}

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def store(out):
...     out[ek.get_global_id(0)] = ek.{{0}}()
>>> out = ep.zeros(4, "int64", device="host")
>>> store[4, 2](out).wait()
>>> out.numpy().tolist()
{{3}}
"""

get_global_id = Builtin(
    "get_global_id",
    _INDEX.format(
        "get_global_id",
        "Index of this work-item among all work-items.",
        "From 0 to ``get_global_size(dimension) - 1``.",
        "[0, 1, 2, 3]",
    ),
)
get_local_id = Builtin(
    "get_local_id",
    _INDEX.format(
        "get_local_id",
        "Index of this work-item in its work-group.",
        "From 0 to ``get_local_size(dimension) - 1``.",
        "[0, 1, 0, 1]",
    ),
)
get_group_id = Builtin(
    "get_group_id",
    _INDEX.format(
        "get_group_id",
        "Index of this work-group among all work-groups.",
        "From 0 to ``get_num_groups(dimension) - 1``.",
        "[0, 0, 1, 1]",
    ),
)
get_num_groups = Builtin(
    "get_num_groups",
    _INDEX.format(
        "get_num_groups",
        "Number of work-groups of the launch.",
        "At least 1; 1 in a dimension that the launch does not have.",
        "[2, 2, 2, 2]",
    ),
)
get_global_size = Builtin(
    "get_global_size",
    _INDEX.format(
        "get_global_size",
        "Number of work-items of the launch.",
        "At least 1; 1 in a dimension that the launch does not have.",
        "[4, 4, 4, 4]",
    ),
)
get_local_size = Builtin(
    "get_local_size",
    _INDEX.format(
        "get_local_size",
        "Number of work-items of a work-group.",
        "At least 1; 1 in a dimension that the launch does not have.",
        "[2, 2, 2, 2]",
    ),
)
get_work_dim = Builtin(
    "get_work_dim",
    _SIZE.format(
        "get_work_dim",
        "Number of dimensions of the launch.",
        "From 1 to 3.",
        "[1, 1, 1, 1]",
    ),
)
get_sub_group_id = Builtin(
    "get_sub_group_id",
    _SIZE.format(
        "get_sub_group_id",
        "Index of this sub-group in its work-group.",
        "From 0 to ``get_num_sub_groups() - 1``.",
        "[0, 0, 0, 0]",
    ),
)
get_sub_group_local_id = Builtin(
    "get_sub_group_local_id",
    _SIZE.format(
        "get_sub_group_local_id",
        "Index of this work-item in its sub-group.",
        "From 0 to ``get_sub_group_size() - 1``.",
        "[0, 1, 0, 1]",
    ),
)
get_sub_group_size = Builtin(
    "get_sub_group_size",
    _SIZE.format(
        "get_sub_group_size",
        "Number of work-items of this sub-group.",
        "At least 1. The last sub-group of a work-group may be smaller than the others.",
        "[2, 2, 2, 2]",
    ),
)
get_num_sub_groups = Builtin(
    "get_num_sub_groups",
    _SIZE.format(
        "get_num_sub_groups",
        "Number of sub-groups of the work-group.",
        "At least 1.",
        "[1, 1, 1, 1]",
    ),
)


class Item:
    """Work-item, the first parameter of numba-dpex's kernels.

    A parameter that is annotated ``Item`` or ``NdItem`` is not an argument of the launch. Its
    methods are the functions of the index space: ``item.get_id(0)`` is get_global_id(0),
    ``item.get_group()`` the work-group, and so on.

    Examples
    --------
    >>> from entrepot import kernel as ek
    >>> @ek.kernel
    ... def store(item: ek.Item, out):
    ...     i = item.get_id(0)
    ...     out[i] = 10 * i + item.get_range(0)
    >>> out = ep.zeros(4, "int64", device="host")
    >>> ek.call_kernel(store, ek.Range(4), out)
    >>> out.numpy().tolist()
    [4, 14, 24, 34]
    """

    if TYPE_CHECKING:  # inside a kernel

        def __getattr__(self, name: str) -> Any: ...


NdItem = Item

# --------------------------------------------------------------- synchronization

_FENCE = """\
fence : int, optional
    The memory that is ordered: ``CLK_LOCAL_MEM_FENCE`` or ``CLK_GLOBAL_MEM_FENCE``. The default is
    both, ``CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE``."""

# An example of a barrier in local memory.
_REVERSE = """\
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def reverse(numbers):
...     shared = ek.local.array(4, ek.int32)
...     i = ek.get_local_id(0)
...     shared[i] = numbers[i]
...     ek.{0}
...     numbers[i] = shared[3 - i]
>>> numbers = ep.asarray(np.arange(4, dtype="int32"))
>>> reverse[4, 4](numbers).wait()
>>> numbers.numpy().tolist()
[3, 2, 1, 0]
"""

barrier = Builtin(
    "barrier",
    f"""\
Wait until all work-items of the work-group have arrived.

Called as ``barrier(fence=CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)``.

All work-items of the group must reach the barrier, or none. Global memory is ordered among the
work-items of the group only.

Parameters
----------
{_FENCE}

{_OUTSIDE}

Examples
--------
{_REVERSE.format("barrier(ek.CLK_LOCAL_MEM_FENCE)")}""",
)
sub_group_barrier = Builtin(
    "sub_group_barrier",
    f"""\
Wait until all work-items of the sub-group have arrived.

Called as ``sub_group_barrier(fence=CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)``.

All work-items of the sub-group must reach the barrier, or none. Global memory is ordered among the
work-items of the sub-group only.

Parameters
----------
{_FENCE}

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def spread_first(numbers):
...     shared = ek.local.array(4, ek.int32)
...     i = ek.get_local_id(0)
...     shared[i] = numbers[i]
...     ek.sub_group_barrier()
...     numbers[i] = shared[i - ek.get_sub_group_local_id()]
>>> numbers = ep.asarray(np.arange(5, 9, dtype="int32"))
>>> spread_first[4, 4](numbers).wait()
>>> numbers.numpy().tolist()
[5, 5, 5, 5]
""",
)
grid_barrier = Builtin(
    "grid_barrier",
    f"""\
Wait until all work-items of all work-groups have arrived.

Called as ``grid_barrier()``.

All work-items of the launch must reach the barrier, or none. Local and global memory are ordered
among them. Such a kernel is launched cooperatively: all of its groups run at once, and a launch of
more groups than the device runs at once raises KernelError with both numbers. The host runs 256
groups at once, and SYCL devices run 1.

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def rotate_twice(numbers, others):
...     i, n = ek.get_global_id(0), ek.get_global_size(0)
...     others[i] = numbers[(i + 1) % n]
...     ek.grid_barrier()
...     numbers[i] = others[(i + 1) % n]
>>> numbers, others = ep.asarray(np.arange(4)), ep.asarray(np.zeros(4, "int64"))
>>> rotate_twice[4, 2](numbers, others).wait()
>>> numbers.numpy().tolist()
[2, 3, 0, 1]
""",
)
group_barrier = Builtin(
    "group_barrier",
    f"""\
Wait until all work-items of the work-group have arrived, as ``barrier()`` does.

Called as ``group_barrier(group=None, /, scope='work_group')``. The name is numba-dpex's.

Parameters
----------
group : object, optional
    The work-group, as ``item.get_group()`` returns it. It has no effect.
scope : str, optional
    One of MemoryScope. It has no effect.

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def reverse(item: ek.NdItem, numbers):
...     shared = ek.local.array(4, ek.int32)
...     i = item.get_local_id(0)
...     shared[i] = numbers[i]
...     ek.group_barrier(item.get_group())
...     numbers[i] = shared[3 - i]
>>> numbers = ep.asarray(np.arange(4, dtype="int32"))
>>> ek.call_kernel(reverse, ek.NdRange(4, 4), numbers)
>>> numbers.numpy().tolist()
[3, 2, 1, 0]
""",
)
mem_fence = Builtin(
    "mem_fence",
    f"""\
Order this work-item's accesses before the fence and those after it.

Called as
``mem_fence(fence=CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE, order='seq_cst', scope='device')``.

The fence does not wait for other work-items.

Parameters
----------
{_FENCE}
order : str, optional
    The memory order, one of those of ``atomic``. The default is 'seq_cst'.
scope : str, optional
    The work-items that observe the order, one of the scopes of ``atomic``. The default is 'device',
    or 'work_group' if the fence is of local memory alone.

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def publish(data, ready):
...     data[0] = 42
...     ek.mem_fence()
...     ek.atomic.store(ready, 0, 1)
>>> data = ep.zeros(1, "int32", device="host")
>>> ready = ep.zeros(1, "int32", device="host")
>>> publish[1](data, ready).wait()
>>> data.item(), ready.item()
(42, 1)
""",
)

atomic_fence = Builtin(
    "atomic_fence",
    f"""\
Order this work-item's accesses before the fence and those after it, as ``mem_fence()`` does.

Called as ``atomic_fence(memory_order, memory_scope)``. The name is numba-dpex's.

Parameters
----------
memory_order : str
    The memory order, one of MemoryOrder. 'relaxed' orders nothing.
memory_scope : str
    The work-items that observe the order, one of MemoryScope.

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def publish(data, ready):
...     data[0] = 42
...     ek.atomic_fence(ek.MemoryOrder.RELEASE, ek.MemoryScope.DEVICE)
...     ek.atomic.store(ready, 0, 1)
>>> data = ep.zeros(1, "int32", device="host")
>>> ready = ep.zeros(1, "int32", device="host")
>>> publish[1](data, ready).wait()
>>> data.item(), ready.item()
(42, 1)
""",
)

CLK_LOCAL_MEM_FENCE = 1
CLK_GLOBAL_MEM_FENCE = 2

# ------------------------------------------------------------------------ memory

# An example of private memory.
_DIGITS = """\
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def reverse_digits(numbers):
...     i = ek.get_global_id(0)
...     digits = {0}(3, ek.int32)
...     for k in range(3):
...         digits[k] = numbers[i] // 10**k % 10
...     numbers[i] = 100 * digits[0] + 10 * digits[1] + digits[2]
>>> numbers = ep.asarray(np.array([123, 408], dtype="int32"))
>>> reverse_digits[2](numbers).wait()
>>> numbers.numpy().tolist()
[321, 804]
"""

# An example of constant memory.
_WEIGHTS = """\
>>> from entrepot import kernel as ek
>>> values = np.array([2, 3, 5])
>>> @ek.kernel
... def scale(numbers):
...     weights = ek.constant.array(values)
...     i = ek.get_global_id(0)
...     numbers[i] *= weights[i % 3]
>>> numbers = ep.full(4, 10, "int64", device="host")
>>> scale[4](numbers).wait()
>>> numbers.numpy().tolist()
[20, 30, 50, 20]
"""

local = Namespace(
    "local",
    f"""\
Memory of a work-group, made by ``local.array(shape, dtype)``.

Examples
--------
{_REVERSE.format("barrier(ek.CLK_LOCAL_MEM_FENCE)")}""",
    {
        "array": f"""\
An array that the work-items of a work-group share.

Called as ``local.array(shape, dtype)``.

Its elements are not initialized. Memory of a size known at launch is an argument:
LocalAccessor(shape, dtype).

Parameters
----------
shape : int or tuple of int
    The extents, in elements: literals or captured constants.
dtype : dtype_like
    The type of an element: one of this module, NumPy's, PyTorch's or numba's, or a name.

Returns
-------
array
    The array, which is one for all work-items of the group.

{_OUTSIDE}

Examples
--------
{_REVERSE.format("barrier(ek.CLK_LOCAL_MEM_FENCE)")}"""
    },
)
local.static_alloc = local.array  # type: ignore[attr-defined]  # of numba-dppy 0.12
local.array.instead = "; local memory as an argument of a launch is LocalAccessor(shape, dtype)"
_PRIVATE = f"""\
{{1}}

Called as ``{{0}}(shape, dtype, fill_zeros=False)``.

Parameters
----------
shape : int or tuple of int
    The extents, in elements: literals or captured constants.
dtype : dtype_like
    The type of an element: one of this module, NumPy's, PyTorch's or numba's, or a name.
fill_zeros : bool, optional
    True to set all elements to 0. By default they are not initialized.

Returns
-------
array
    The array, which other work-items cannot access.

{_OUTSIDE}

Examples
--------
"""
private = Namespace(
    "private",
    f"""\
Memory of a work-item, made by ``private.array(shape, dtype)``.

Examples
--------
{_DIGITS.format("ek.private.array")}""",
    {
        "array": _PRIVATE.format("private.array", "An array of this work-item alone.")
        + _DIGITS.format("ek.private.array")
    },
)
constant = Namespace(
    "constant",
    f"""\
Read-only memory, made by ``constant.array(values)``.

Examples
--------
{_WEIGHTS}""",
    {
        "array": f"""\
A read-only array of elements that are known when the kernel is compiled.

Called as ``constant.array(values, dtype=None)``.

Parameters
----------
values : array_like
    A NumPy array that was captured, or a tuple of literals. The elements are those that the array
    had when the kernel was compiled.
dtype : dtype_like, optional
    The type to convert the elements to. The default is their own type.

Returns
-------
array
    The array, in constant memory if the device has it.

{_OUTSIDE}

Examples
--------
{_WEIGHTS}"""
    },
)
PrivateArray = Builtin(
    "private.array",
    _PRIVATE.format(
        "PrivateArray",
        "The name of numba-dpex for ``private.array()``, an array of this work-item alone.",
    )
    + _DIGITS.format("ek.PrivateArray"),
)

# ----------------------------------------------------------------------- atomics

_ORDER = """\
order : str, optional
    The memory order: 'relaxed' (the default), 'acquire', 'release', 'acq_rel' or 'seq_cst'.
scope : str, optional
    The work-items that observe the order: 'work_item', 'sub_group', 'work_group', 'device' or
    'system'. The default is 'device', or 'work_group' for an array in local memory."""

_ELEMENT = """\
array : array
    An array in global or local memory, of {0} of 32 or 64 bits.
index : int or tuple of int
    The index of the element, an int for each dimension."""

_UPDATE = f"""\
Atomically replace ``array[index]`` with {{1}}.

Called as ``atomic.{{0}}(array, index, value, *, order='relaxed', scope='device')``.

Parameters
----------
{_ELEMENT.format("{2}")}
value : scalar
    The operand, in the type of the elements.
{_ORDER}

Returns
-------
scalar
    The old value of the element.

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def combine(numbers, result):
...     ek.atomic.{{0}}(result, 0, numbers[ek.get_global_id(0)])
>>> numbers = ep.asarray(np.array([6, 12, 5]))
>>> result = ep.full(1, 7, "int64", device="host")
>>> combine[3](numbers, result).wait()
>>> result.item()
{{3}}
"""
_NUMBERS, _BITS = "integers or floats", "integers"
atomic = Namespace(
    "atomic",
    """\
Atomic operations on an element of an array in global or local memory.

The functions ``add``, ``sub``, ``min``, ``max``, ``and_``, ``or_``, ``xor`` and ``exchange`` take
an array, the index of an element and a value. They return the old value of the element. There are
also ``compare_exchange``, ``load`` and ``store``.

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def histogram(digits, counts):
...     ek.atomic.add(counts, digits[ek.get_global_id(0)], 1)
>>> digits = ep.asarray(np.array([3, 0, 3, 1, 3]))
>>> counts = ep.zeros(4, "int32", device="host")
>>> histogram[5](digits, counts).wait()
>>> counts.numpy().tolist()
[1, 1, 0, 3]
""",
    {
        "add": _UPDATE.format("add", "``array[index] + value``", _NUMBERS, 30),
        "sub": _UPDATE.format("sub", "``array[index] - value``", _NUMBERS, -16),
        "min": _UPDATE.format("min", "the minimum of ``array[index]`` and ``value``", _NUMBERS, 5),
        "max": _UPDATE.format("max", "the maximum of ``array[index]`` and ``value``", _NUMBERS, 12),
        "and_": _UPDATE.format("and_", "``array[index] & value``", _BITS, 4),
        "or_": _UPDATE.format("or_", "``array[index] | value``", _BITS, 15),
        "xor": _UPDATE.format("xor", "``array[index] ^ value``", _BITS, 8),
        "exchange": f"""\
Atomically replace ``array[index]`` with ``value``.

Called as ``atomic.exchange(array, index, value, *, order='relaxed', scope='device')``.

Parameters
----------
{_ELEMENT.format(_NUMBERS)}
value : scalar
    The new value, in the type of the elements.
{_ORDER}

Returns
-------
scalar
    The old value of the element.

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def take(ticket, taken):
...     taken[0] = ek.atomic.exchange(ticket, 0, 0)
>>> ticket = ep.full(1, 7, "int32", device="host")
>>> taken = ep.zeros(1, "int32", device="host")
>>> take[1](ticket, taken).wait()
>>> ticket.item(), taken.item()
(0, 7)
""",
        "compare_exchange": f"""\
Atomically replace ``array[index]`` with ``desired`` if it equals ``expected``.

Called as
``atomic.compare_exchange(array, index, expected, desired, *, order='relaxed', scope='device')``.

Parameters
----------
{_ELEMENT.format(_NUMBERS)}
expected : scalar
    The value to compare with.
desired : scalar
    The new value, in the type of the elements.
{_ORDER}

Returns
-------
scalar
    The old value of the element, which is ``expected`` if the element was replaced.

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def claim(owner, claimed):
...     i = ek.get_global_id(0)
...     claimed[i] = ek.atomic.compare_exchange(owner, 0, -1, i) == -1
>>> owner = ep.full(1, -1, "int32", device="host")
>>> claimed = ep.zeros(8, "int32", device="host")
>>> claim[8](owner, claimed).wait()
>>> claimed.numpy().tolist().count(1)
1
""",
        "load": f"""\
Atomically read ``array[index]``.

Called as ``atomic.load(array, index, *, order='relaxed', scope='device')``.

Parameters
----------
{_ELEMENT.format(_NUMBERS)}
{_ORDER}

Returns
-------
scalar
    The value of the element.

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def poll(ready, seen):
...     seen[0] = ek.atomic.load(ready, 0, order="acquire")
>>> ready = ep.full(1, 1, "int32", device="host")
>>> seen = ep.zeros(1, "int32", device="host")
>>> poll[1](ready, seen).wait()
>>> seen.item()
1
""",
        "store": f"""\
Atomically write ``value`` to ``array[index]``.

Called as ``atomic.store(array, index, value, *, order='relaxed', scope='device')``.

Parameters
----------
{_ELEMENT.format(_NUMBERS)}
value : scalar
    The new value, in the type of the elements.
{_ORDER}

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def finish(ready):
...     ek.atomic.store(ready, 0, 1, order="release")
>>> ready = ep.zeros(1, "int32", device="host")
>>> finish[1](ready).wait()
>>> ready.item()
1
""",
    },
)
# Python keywords cannot be attributes; the compiler's names have no underscore.
atomic.and_.name, atomic.or_.name = "atomic.and", "atomic.or"


class MemoryOrder:
    """Memory orders of atomics, with numba-dpex's names."""

    RELAXED, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST = (
        "relaxed",
        "acquire",
        "release",
        "acq_rel",
        "seq_cst",
    )


class MemoryScope:
    """Scopes of atomics and fences, with numba-dpex's names."""

    WORK_ITEM, SUB_GROUP, WORK_GROUP, DEVICE, SYSTEM = (
        "work_item",
        "sub_group",
        "work_group",
        "device",
        "system",
    )


class AddressSpace:
    """Address spaces of AtomicRef, with numba-dpex's names. The compiler knows that of an array,
    and refuses another.
    """

    GLOBAL, LOCAL, GENERIC = "global", "local", "generic"


AtomicRef = Builtin(
    "AtomicRef",
    f"""\
An element of an array whose methods are atomic, numba-dpex's form of ``atomic``.

Called as
``AtomicRef(ref, index=0, memory_order='relaxed', memory_scope='device', address_space=None)``.

The methods are fetch_add, fetch_sub, fetch_min, fetch_max, fetch_and, fetch_or, fetch_xor,
exchange, compare_exchange, load and store. ``compare_exchange(expected, desired)`` is that of
``atomic``. If ``expected`` is an array, its element ``expected_idx`` receives the old value, and
the result is a bool.

Parameters
----------
ref : array
    The array, in global or local memory.
index : int or tuple of int, optional
    The index of the element, by default 0.
memory_order : str, optional
    The memory order, one of MemoryOrder. The default is that of ``atomic``.
memory_scope : str, optional
    The work-items that observe the order, one of MemoryScope. The default is that of ``atomic``.
address_space : str, optional
    One of AddressSpace. The compiler knows the array's space, and refuses another.

Returns
-------
AtomicRef
    The reference, which exists only in the kernel.

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def add_up(item: ek.Item, numbers, result):
...     total = ek.AtomicRef(result, 0, memory_order=ek.MemoryOrder.RELAXED)
...     total.fetch_add(numbers[item.get_id(0)])
>>> numbers = ep.asarray(np.array([6, 12, 5]))
>>> result = ep.zeros(1, "int64", device="host")
>>> ek.call_kernel(add_up, ek.Range(3), numbers, result)
>>> result.item()
23
""",
)

# --------------------------------------------------------------- group operations

_COMBINED = f"""\
{{3}}

Called as ``{{0}}.{{2}}(value, operation='add')``.

Parameters
----------
value : scalar
    The value of this work-item, an integer or a float. A bool is converted to int64.
operation : str, optional
    The operation: 'add' (the default), 'mul', 'min', 'max', or of integers 'and', 'or', 'xor'.

Returns
-------
scalar
    {{4}}

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def combine(numbers, out):
...     i = ek.get_global_id(0)
...     out[i] = ek.{{0}}.{{2}}(numbers[i], "add")
>>> numbers = ep.asarray(np.array([3, 1, 4, 2]))
>>> out = ep.zeros(4, "int64", device="host")
>>> combine[4, 4](numbers, out).wait()
>>> out.numpy().tolist()
{{5}}
"""
_VOTE = f"""\
{{3}}

Called as ``{{0}}.{{2}}(condition)``.

Parameters
----------
condition : bool
    The condition of this work-item.

Returns
-------
bool
    One result for all work-items of the {{1}}.

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def vote(numbers, out):
...     i = ek.get_global_id(0)
...     out[i] = ek.{{0}}.{{2}}(numbers[i] > 3)
>>> numbers = ep.asarray(np.array([3, 1, 4, 2]))
>>> out = ep.zeros(4, "bool", device="host")
>>> vote[4, 4](numbers, out).wait()
>>> out.numpy().tolist()
{{4}}
"""
_MOVED = f"""\
{{3}}

Called as ``{{0}}.{{2}}``.

Parameters
----------
value : scalar
    The value of this work-item, an integer or a float. A bool is converted to int64.
{{4}}

Returns
-------
scalar
    {{5}}

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def move(numbers, out):
...     i = ek.get_global_id(0)
...     out[i] = ek.{{0}}.{{6}}
>>> numbers = ep.asarray(np.array([3, 1, 4, 2]))
>>> out = ep.zeros(4, "int64", device="host")
>>> move[4, 4](numbers, out).wait()
>>> out.numpy(){{7}}
"""
_GROUP = {
    "reduce": _COMBINED.format(
        "{0}",
        "{1}",
        "reduce",
        "Combine the values of all work-items of the {1}.",
        "The result for all work-items. With 'min' and 'max' it is nan if a value is nan.",
        "[10, 10, 10, 10]",
    ),
    "inclusive_scan": _COMBINED.format(
        "{0}",
        "{1}",
        "inclusive_scan",
        "Combine the values of the {1} up to this work-item's own, which is included.",
        "The result for this work-item. With 'min' and 'max' it is nan if a value is nan.",
        "[3, 4, 8, 10]",
    ),
    "exclusive_scan": _COMBINED.format(
        "{0}",
        "{1}",
        "exclusive_scan",
        "Combine the values of the {1} before this work-item's own, which is excluded.",
        "The result for this work-item, for the first one the identity of the operation.",
        "[0, 3, 4, 8]",
    ),
    "broadcast": _MOVED.format(
        "{0}",
        "{1}",
        "broadcast(value, index=0)",
        "The value of one work-item of the {1}.",
        "index : int, optional\n    The index of that work-item in the {1}, by default 0.",
        "Its value, for all work-items; that of the first one if the index is outside of the {1}.",
        "broadcast(numbers[i], 2)",
        ".tolist()\n[4, 4, 4, 4]",
    ),
    "any": _VOTE.format(
        "{0}",
        "{1}",
        "any",
        "True if the condition holds for any work-item of the {1}.",
        "[True, True, True, True]",
    ),
    "all": _VOTE.format(
        "{0}",
        "{1}",
        "all",
        "True if the condition holds for all work-items of the {1}.",
        "[False, False, False, False]",
    ),
}
_BALLOT = f"""\
The work-items of the sub-group for which the condition holds.

Called as ``sub_group.ballot(condition)``.

Parameters
----------
condition : bool
    The condition of this work-item.

Returns
-------
uint64
    A bit for each work-item, the lowest one for the first. One result for all of them.

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def vote(numbers, out):
...     i = ek.get_global_id(0)
...     out[i] = ek.sub_group.ballot(numbers[i] > 2)
>>> numbers = ep.asarray(np.array([3, 1, 4, 2]))
>>> out = ep.zeros(4, "uint64", device="host")
>>> vote[4, 4](numbers, out).wait()
>>> out.numpy().tolist()
[5, 5, 5, 5]
"""
_OF_SUB_GROUPS = {
    "ballot": _BALLOT,
    "shuffle": _MOVED.format(
        "sub_group",
        "sub-group",
        "shuffle(value, index)",
        "The value of the work-item with the given index in the sub-group.",
        "index : int\n    The index of the other work-item, which may differ between work-items.",
        "Its value; undefined if there is no such work-item.",
        "shuffle(numbers[i], 3 - i)",
        ".tolist()\n[2, 4, 1, 3]",
    ),
    "shuffle_xor": _MOVED.format(
        "sub_group",
        "sub-group",
        "shuffle_xor(value, mask)",
        "The value of the work-item whose index is this one's ``^ mask``.",
        "mask : int\n    The bits of the index that differ.",
        "Its value; undefined if there is no such work-item.",
        "shuffle_xor(numbers[i], 1)",
        ".tolist()\n[1, 3, 2, 4]",
    ),
    "shuffle_up": _MOVED.format(
        "sub_group",
        "sub-group",
        "shuffle_up(value, delta)",
        "The value of the work-item ``delta`` before this one.",
        "delta : int\n    The distance between the two work-items.",
        "Its value; undefined if there is no such work-item.",
        "shuffle_up(numbers[i], 1)",
        "[1:].tolist()\n[3, 1, 4]",
    ),
    "shuffle_down": _MOVED.format(
        "sub_group",
        "sub-group",
        "shuffle_down(value, delta)",
        "The value of the work-item ``delta`` after this one.",
        "delta : int\n    The distance between the two work-items.",
        "Its value; undefined if there is no such work-item.",
        "shuffle_down(numbers[i], 1)",
        "[:-1].tolist()\n[1, 4, 2]",
    ),
}
_TOGETHER = """\
Operations of all work-items of a {1} together.

All of them have to reach the call, or none. The functions are ``reduce``, ``inclusive_scan``,
``exclusive_scan``, ``broadcast``, {2}.

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def center(numbers):
...     i = ek.get_global_id(0)
...     numbers[i] -= ek.{0}.reduce(numbers[i], "add") / 4
>>> numbers = ep.asarray(np.array([3.0, 1.0, 4.0, 2.0]))
>>> center[4, 4](numbers).wait()
>>> numbers.numpy().tolist()
[0.5, -1.5, 1.5, -0.5]
"""
group = Namespace(
    "group",
    _TOGETHER.format("group", "work-group", "``any`` and ``all``"),
    {name: doc.format("group", "work-group") for name, doc in _GROUP.items()},
)
sub_group = Namespace(
    "sub_group",
    _TOGETHER.format(
        "sub_group",
        "sub-group",
        "``any``, ``all``, ``ballot``,\n``shuffle``, ``shuffle_xor``, ``shuffle_up`` and "
        "``shuffle_down``",
    ),
    {name: doc.format("sub_group", "sub-group") for name, doc in _GROUP.items()} | _OF_SUB_GROUPS,
)

dot = Builtin(
    "dot",
    f"""\
The sum of the products of the components of two vectors.

Called as ``dot(a, b)``.

Parameters
----------
a, b : vector
    The vectors, of one type.

Returns
-------
number
    The sum, of the type of a component.

{_OUTSIDE}

Examples
--------
>>> from entrepot import kernel as ek
>>> @ek.kernel
... def square_length(numbers):
...     v = ek.float3(numbers[0], numbers[1], numbers[2])
...     numbers[0] = ek.dot(v, v)
>>> numbers = ep.asarray(np.array([1, 2, 2], "float32"))
>>> square_length[1](numbers).wait()
>>> numbers[0].item()
9.0
""",
)

# -------------------------------------------------------------------------- types

if TYPE_CHECKING:

    class _KernelDtype(Dtype):
        """A Dtype, which converts a value inside a kernel."""

        def __call__(self, value: Any) -> Any: ...


# Names of NumPy and ml_dtypes. `bool_`, because `from … import *` must not hide Python's bool.
DTYPES = {name: cast("_KernelDtype", Dtype(name)) for name in dtype_names}
bool_ = DTYPES["bool"]
int8, int16, int32, int64 = (DTYPES[f"int{bits}"] for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (DTYPES[f"uint{bits}"] for bits in (8, 16, 32, 64))
float16, float32, float64, bfloat16 = (
    DTYPES[name] for name in ("float16", "float32", "float64", "bfloat16")
)
complex64, complex128 = DTYPES["complex64"], DTYPES["complex128"]

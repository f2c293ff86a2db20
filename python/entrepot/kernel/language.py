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

get_global_id = Builtin(
    "get_global_id",
    "get_global_id(dimension=0): which work-item this is, of all. int64; 0 is the slowest "
    "dimension.",
)
get_local_id = Builtin(
    "get_local_id", "get_local_id(dimension=0): which work-item this is, of its work-group. int64."
)
get_group_id = Builtin(
    "get_group_id", "get_group_id(dimension=0): which work-group this is. int64."
)
get_num_groups = Builtin(
    "get_num_groups", "get_num_groups(dimension=0): how many work-groups there are. int64."
)
get_global_size = Builtin(
    "get_global_size", "get_global_size(dimension=0): how many work-items there are. int64."
)
get_local_size = Builtin(
    "get_local_size", "get_local_size(dimension=0): how many work-items a work-group has. int64."
)
get_work_dim = Builtin("get_work_dim", "get_work_dim(): dimensions of the launch, 1 to 3.")
get_sub_group_id = Builtin(
    "get_sub_group_id", "get_sub_group_id(): which sub-group of the work-group this is."
)
get_sub_group_local_id = Builtin(
    "get_sub_group_local_id", "get_sub_group_local_id(): which work-item of the sub-group this is."
)
get_sub_group_size = Builtin(
    "get_sub_group_size", "get_sub_group_size(): work-items of this sub-group."
)
get_num_sub_groups = Builtin(
    "get_num_sub_groups", "get_num_sub_groups(): sub-groups of the work-group."
)


class Item:
    """Work-item, the first parameter of numba-dpex's kernels. If annotated ``Item`` or ``NdItem``,
    it is not an argument of the launch. ``item.get_id(0)`` is get_global_id(0),
    ``item.get_group()`` the work-group, and so on.
    """

    if TYPE_CHECKING:  # inside a kernel

        def __getattr__(self, name: str) -> Any: ...


NdItem = Item

# --------------------------------------------------------------- synchronization

barrier = Builtin(
    "barrier",
    "barrier(fence=both): no work-item of the group goes on before all are here. Memory is "
    "ordered as ``fence`` says: "
    "CLK_LOCAL_MEM_FENCE, CLK_GLOBAL_MEM_FENCE, or both together, which is the default.",
)
sub_group_barrier = Builtin(
    "sub_group_barrier",
    "sub_group_barrier(fence=both): the same for the work-items of a sub-group.",
)
group_barrier = Builtin(
    "group_barrier",
    "group_barrier(group=None): numba-dpex's name for barrier(); of a sub-group where that is "
    "given.",
)
mem_fence = Builtin(
    "mem_fence",
    "mem_fence(fence=both): orders this work-item's accesses before and after it. Does not wait.",
)

CLK_LOCAL_MEM_FENCE = 1
CLK_GLOBAL_MEM_FENCE = 2

# ------------------------------------------------------------------------ memory

local = Namespace(
    "local",
    "Memory of a work-group.",
    {
        "array": "local.array(shape, dtype): an array that the work-items of a group share; its "
        "shape is literal, its elements "
        "are not initialized. Memory of a size known at launch is an argument: "
        "LocalAccessor(shape, dtype)."
    },
)
local.array.instead = "; local memory as an argument of a launch is LocalAccessor(shape, dtype)"
private = Namespace(
    "private",
    "Memory of a work-item.",
    {
        "array": "private.array(shape, dtype): an array of this work-item alone; its shape is "
        "literal, its elements are not "
        "initialized."
    },
)
constant = Namespace(
    "constant",
    "Read-only memory.",
    {
        "array": "constant.array(values): the elements of a NumPy array that was captured, as "
        "they were when the kernel was "
        "compiled."
    },
)
PrivateArray = Builtin(
    "private.array", "PrivateArray(shape, dtype): numba-dpex's name for private.array()."
)

# ----------------------------------------------------------------------- atomics

_UPDATE = (
    "atomic.{0}(array, index, value, *, order='relaxed', scope='device'): "
    "array[index] becomes {1}; the old value is returned."
)
atomic = Namespace(
    "atomic",
    "Updates of an element that no other work-item comes between, in global or local memory.",
    {
        "add": _UPDATE.format("add", "array[index] + value"),
        "sub": _UPDATE.format("sub", "array[index] - value"),
        "min": _UPDATE.format("min", "the smaller of the two"),
        "max": _UPDATE.format("max", "the larger of the two"),
        "and_": _UPDATE.format("and_", "array[index] & value"),
        "or_": _UPDATE.format("or_", "array[index] | value"),
        "xor": _UPDATE.format("xor", "array[index] ^ value"),
        "exchange": _UPDATE.format("exchange", "value"),
        "compare_exchange": "atomic.compare_exchange(array, index, expected, desired, *, "
        "order='relaxed', scope='device'): "
        "array[index] becomes desired if it was expected; the old value is returned.",
        "load": "atomic.load(array, index, *, order='relaxed', scope='device'): array[index].",
        "store": "atomic.store(array, index, value, *, order='relaxed', scope='device'): "
        "array[index] becomes value.",
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
    """Address spaces of AtomicRef, with numba-dpex's names. They are ignored: the compiler knows an
    array's space.
    """

    GLOBAL, LOCAL, GENERIC = "global", "local", "generic"


AtomicRef = Builtin(
    "AtomicRef",
    "AtomicRef(ref, index=0, memory_order=, memory_scope=): an element of the array ``ref``, "
    "whose fetch_add, fetch_sub, "
    "fetch_min, fetch_max, fetch_and, fetch_or, fetch_xor, exchange, compare_exchange, load and "
    "store are atomic: numba-dpex's "
    "form of ``atomic``.",
)

# --------------------------------------------------------------- group operations

_GROUP = {
    "reduce": "{0}.reduce(value, operation='add'): of all work-items' values: 'add', 'mul', "
    "'min', 'max', 'and', 'or', 'xor'.",
    "inclusive_scan": "{0}.inclusive_scan(value, operation='add'): of the values up to this "
    "work-item's own.",
    "exclusive_scan": "{0}.exclusive_scan(value, operation='add'): of the values before this "
    "work-item's own.",
    "broadcast": "{0}.broadcast(value, index=0): that of the work-item with this number.",
    "any": "{0}.any(condition): whether it holds for any work-item.",
    "all": "{0}.all(condition): whether it holds for all work-items.",
}
_SHUFFLES = {
    "shuffle": "sub_group.shuffle(value, index): that of the work-item with this number.",
    "shuffle_xor": "sub_group.shuffle_xor(value, mask): that of the work-item whose number is "
    "this one's ^ mask.",
    "shuffle_up": "sub_group.shuffle_up(value, delta): that of the work-item ``delta`` before "
    "this one.",
    "shuffle_down": "sub_group.shuffle_down(value, delta): that of the work-item ``delta`` behind "
    "this one.",
}
group = Namespace(
    "group",
    "Operations of all work-items of a work-group together: all of them have to come to it, or "
    "none.",
    {name: doc.format("group") for name, doc in _GROUP.items()},
)
sub_group = Namespace(
    "sub_group",
    "Operations of all work-items of a sub-group together: all of them have to come to it, or "
    "none.",
    {name: doc.format("sub_group") for name, doc in _GROUP.items()} | _SHUFFLES,
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

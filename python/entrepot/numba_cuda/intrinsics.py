"""Names of kernels: the index space, memory, synchronization, warps, atomics and bits.

Each is a macro, which the compiler's front end replaces by functions of ``entrepot.kernel``. CUDA's
``x`` is the fastest dimension: ``threadIdx.x`` is ``get_local_id(-1)``.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ..kernel import language
from ..kernel.language import Builtin
from ..kernel.macros import Macro, Values
from . import bits
from .expressions import (
    Given,
    Names,
    binary,
    call,
    chosen,
    compared,
    constant,
    function,
    literal,
    refused,
    value,
)

# ------------------------------------------------------------------------------- index space

_AXES = {"x": -1, "y": -2, "z": -3}


def _axes(name: str, builtin: Builtin, doc: str) -> Names:
    def of_axis(axis: str, dimension: int) -> Macro:
        return value(f"{name}.{axis}", lambda: call(builtin, dimension), doc)

    made = Names(name, {axis: of_axis(axis, place) for axis, place in _AXES.items()})
    made.__doc__ = doc
    return made


threadIdx = _axes("threadIdx", language.get_local_id, "Index of the thread in its block.")
blockIdx = _axes("blockIdx", language.get_group_id, "Index of the block in the grid.")
blockDim = _axes("blockDim", language.get_local_size, "Number of threads of a block.")
gridDim = _axes("gridDim", language.get_num_groups, "Number of blocks of the grid.")

laneid: Any = value(
    "laneid", lambda: call(language.get_sub_group_local_id), "Index of the thread in its warp."
)
WARP_SIZE = Builtin("get_max_sub_group_size", "Number of threads of a full warp.")
warpsize: Any = value("warpsize", lambda: call(WARP_SIZE), "Number of threads of a full warp.")


def _of_dimensions(name: str, builtin: Builtin, doc: str) -> Macro:
    def expansion(node: ast.expr, values: Values) -> ast.expr | str:
        if not isinstance(node, ast.Call) or len(node.args) + len(node.keywords) != 1:
            return f"`{name}(ndim)` is called with the number of dimensions, 1, 2 or 3"
        given = node.args[0] if node.args else node.keywords[0].value
        ndim = literal(given, values, 0 if node.args else node.keywords[0].arg)
        if ndim not in (1, 2, 3):
            return f"`{name}(ndim)` takes 1, 2 or 3, known when compiled"
        parts = [call(builtin, -1 - axis) for axis in range(ndim)]
        return parts[0] if ndim == 1 else ast.Tuple(parts, ast.Load())

    return Macro(name, expansion, doc)


grid = _of_dimensions(
    "grid", language.get_global_id, "Index of the thread in the grid: x, or x, y and z as a tuple."
)
gridsize = _of_dimensions(
    "gridsize", language.get_global_size, "Number of threads of the grid, in x, or in x, y and z."
)

# ------------------------------------------------------------------------------------ memory

#: Name of the hidden first parameter that is dynamic shared memory.
DYNAMIC_SHARED = "dynamic_shared_memory"


def _array(name: str, builtin: Builtin, doc: str) -> Macro:
    def build(given: Given) -> ast.expr | str:
        shape = given["shape"]
        if name == "shared.array" and isinstance(shape, ast.Constant) and shape.value == 0:
            return (
                "dynamic shared memory is made in the kernel, as in `s = cuda.shared.array(0, "
                "float32)`: a device function takes it as an argument"
            )
        if "dtype" not in given:
            return f"`{name}(shape, dtype)` needs the type of its elements"
        return call(builtin, shape, given["dtype"])

    return function(name, "shape, dtype, alignment=", build, doc)


shared_array = _array(
    "shared.array",
    language.local.array,
    "Array of a block. With the shape 0 its size is given at the launch.",
)
shared = Names("shared", {"array": shared_array})
local = Names(
    "local", {"array": _array("local.array", language.private.array, "Array of a thread.")}
)
const = Names(
    "const",
    {
        "array_like": function(
            "const.array_like",
            "ndarray",
            lambda given: call(language.constant.array, given["ndarray"]),
            "Read-only array with the elements of a NumPy array, or of a tuple.",
        )
    },
)

# --------------------------------------------------------------------------- synchronization


def _truth(node: ast.expr) -> ast.expr:
    return compared(node, ast.NotEq(), constant(0))


def _number(condition: ast.expr) -> ast.expr:
    return chosen(condition, constant(1), constant(0))


syncthreads = function(
    "syncthreads",
    "",
    lambda given: call(language.barrier),
    "Wait until all threads of the block have arrived.",
)
syncthreads_count = function(
    "syncthreads_count",
    "predicate",
    lambda given: call(language.group.reduce, _number(_truth(given["predicate"]))),
    "Number of threads of the block whose predicate is not 0.",
)
syncthreads_and = function(
    "syncthreads_and",
    "predicate",
    lambda given: _number(call(language.group.all, _truth(given["predicate"]))),
    "1 if the predicate of all threads of the block is not 0, else 0.",
)
syncthreads_or = function(
    "syncthreads_or",
    "predicate",
    lambda given: _number(call(language.group.any, _truth(given["predicate"]))),
    "1 if the predicate of any thread of the block is not 0, else 0.",
)
syncwarp = function(
    "syncwarp",
    "mask=",
    lambda given: call(language.sub_group_barrier),
    "Wait until all threads of the warp have arrived.",
)


def _fence(name: str, scope: str, doc: str) -> Macro:
    def build(given: Given) -> ast.expr:
        made = call(language.mem_fence)
        assert isinstance(made, ast.Call)
        made.keywords = [ast.keyword("scope", constant(scope))]
        return made

    return function(name, "", build, doc)


threadfence = _fence("threadfence", "device", "Order memory for the threads of the device.")
threadfence_block = _fence(
    "threadfence_block", "work_group", "Order memory for the threads of the block."
)
threadfence_system = _fence(
    "threadfence_system", "system", "Order memory for the device and the host."
)

# ------------------------------------------------------------------------------------- warps


def _shuffle(name: str, builtin: Builtin, parameters: str, doc: str) -> Macro:
    # Each lane that executes the shuffle takes part. So the mask does not change the result of the
    # lanes that it names.
    _, source, distance = parameters.split(", ")
    return function(
        name, parameters, lambda given: call(builtin, given[source], given[distance]), doc
    )


shfl_sync = _shuffle(
    "shfl_sync", language.sub_group.shuffle, "mask, value, src_lane", "Value of another lane."
)
shfl_up_sync = _shuffle(
    "shfl_up_sync", language.sub_group.shuffle_up, "mask, value, delta", "Value of a lower lane."
)
shfl_down_sync = _shuffle(
    "shfl_down_sync",
    language.sub_group.shuffle_down,
    "mask, value, delta",
    "Value of a higher lane.",
)
shfl_xor_sync = _shuffle(
    "shfl_xor_sync",
    language.sub_group.shuffle_xor,
    "mask, value, lane_mask",
    "Value of the lane whose number is this one's ``^ lane_mask``.",
)


def _lane() -> ast.expr:
    return call(language.get_sub_group_local_id)


def _names_lane(mask: ast.expr) -> ast.expr | None:
    """True if the mask has this lane's bit; None if it has all bits."""
    full = literal(mask, {}, None)
    if isinstance(full, int) and full & 0xFFFFFFFF == 0xFFFFFFFF:
        return None
    shifted = binary(call(language.uint64, mask), ast.RShift(), call(language.uint64, _lane()))
    return _truth(binary(shifted, ast.BitAnd(), call(language.uint64, 1)))


def _any_named(given: Given) -> ast.expr:
    named, condition = _names_lane(given["mask"]), _truth(given["predicate"])
    return condition if named is None else ast.BoolOp(ast.And(), [named, condition])


def _all_named(given: Given, condition: ast.expr) -> ast.expr:
    named = _names_lane(given["mask"])
    if named is None:
        return condition
    return ast.BoolOp(ast.Or(), [ast.UnaryOp(ast.Not(), named), condition])


def _own_bit() -> ast.expr:
    """The bit of this lane, a uint32 by the rules of any language."""
    shifted = binary(call(language.uint32, 1), ast.LShift(), call(language.uint32, _lane()))
    return call(language.uint32, shifted)


def _ballot(condition: ast.expr) -> ast.expr:
    return call(language.uint32, call(language.sub_group.ballot, condition))


def _all_equal(given: Given) -> ast.expr:
    named = _names_lane(given["mask"])
    return call(
        bits.all_equal, constant(True) if named is None else named, _truth(given["predicate"])
    )


_VOTE = "mask, predicate"
all_sync = function(
    "all_sync",
    _VOTE,
    lambda given: _number(
        call(language.sub_group.all, _all_named(given, _truth(given["predicate"])))
    ),
    "1 if the predicate of all lanes is not 0, else 0.",
)
any_sync = function(
    "any_sync",
    _VOTE,
    lambda given: _number(call(language.sub_group.any, _any_named(given))),
    "1 if the predicate of any lane is not 0, else 0.",
)
eq_sync = function(
    "eq_sync", _VOTE, _all_equal, "1 if the predicates of all lanes are equally true, else 0."
)
ballot_sync = function(
    "ballot_sync",
    _VOTE,
    lambda given: _ballot(_any_named(given)),
    "Bits of the lanes whose predicate is not 0.",
)
match_any_sync = function(
    "match_any_sync",
    "mask, value",
    lambda given: call(bits.match_any, given["mask"], given["value"]),
    "Bits of the lanes that have this lane's value.",
)
match_all_sync = function(
    "match_all_sync",
    "mask, value",
    lambda given: call(bits.match_all, given["mask"], given["value"]),
    "The mask and True if all lanes have one value; else 0 and False.",
)
activemask = function(
    "activemask",
    "",
    lambda given: _ballot(constant(True)),
    "Bits of the lanes of the warp, all of which are active.",
)
lanemask_lt = function(
    "lanemask_lt",
    "",
    lambda given: call(language.uint32, binary(_own_bit(), ast.Sub(), call(language.uint32, 1))),
    "Bits of the lanes below this one.",
)
_INTRINSIC = "write shfl_sync(), shfl_up_sync(), shfl_down_sync() or shfl_xor_sync()"
shfl_sync_intrinsic = refused("shfl_sync_intrinsic", _INTRINSIC)
vote_sync_intrinsic = refused(
    "vote_sync_intrinsic", "write all_sync(), any_sync(), eq_sync() or ballot_sync()"
)

# ----------------------------------------------------------------------------------- atomics


def _compare_and_swap(given: Given) -> ast.expr:
    return call(language.atomic.compare_exchange, given["ary"], 0, given["old"], given["val"])


_UPDATE = "ary, idx, val"


def _atomic(name: str, target: Any, parameters: str, doc: str) -> Macro:
    names = parameters.split(", ")
    return function(
        f"atomic.{name}",
        parameters,
        lambda given: call(target, *(given[each] for each in names)),
        doc,
    )


atomic = Names(
    "atomic",
    {
        "add": _atomic("add", language.atomic.add, _UPDATE, "``ary[idx] += val``."),
        "sub": _atomic("sub", language.atomic.sub, _UPDATE, "``ary[idx] -= val``."),
        "and_": _atomic("and_", language.atomic.and_, _UPDATE, "``ary[idx] &= val``."),
        "or_": _atomic("or_", language.atomic.or_, _UPDATE, "``ary[idx] |= val``."),
        "xor": _atomic("xor", language.atomic.xor, _UPDATE, "``ary[idx] ^= val``."),
        "inc": _atomic("inc", bits.atomic_inc, _UPDATE, "Add 1, or store 0 from ``val`` on."),
        "dec": _atomic(
            "dec", bits.atomic_dec, _UPDATE, "Subtract 1, or store ``val`` at 0 and above ``val``."
        ),
        "exch": _atomic("exch", language.atomic.exchange, _UPDATE, "``ary[idx] = val``."),
        "max": _atomic("max", language.atomic.max, _UPDATE, "Store the larger one."),
        "min": _atomic("min", language.atomic.min, _UPDATE, "Store the smaller one."),
        "nanmax": _atomic(
            "nanmax", bits.atomic_nanmax, _UPDATE, "Store the larger one, nan being missing."
        ),
        "nanmin": _atomic(
            "nanmin", bits.atomic_nanmin, _UPDATE, "Store the smaller one, nan being missing."
        ),
        "cas": _atomic(
            "cas",
            language.atomic.compare_exchange,
            "ary, idx, old, val",
            "Store ``val`` if the element is ``old``.",
        ),
        "compare_and_swap": function(
            "atomic.compare_and_swap",
            "ary, old, val",
            _compare_and_swap,
            "Store ``val`` in ``ary[0]`` if it is ``old``.",
        ),
    },
)

# -------------------------------------------------------------------------------------- bits

selp = function(
    "selp",
    "cond, a, b",
    lambda given: call(np.where, given["cond"], given["a"], given["b"]),
    "``a if cond else b``, without a branch.",
)
fma = function(
    "fma",
    "a, b, c",
    lambda given: call(bits.FMA, given["a"], given["b"], given["c"]),
    "``a * b + c`` with one rounding.",
)
cbrt = function("cbrt", "a", lambda given: call(np.cbrt, given["a"]), "Cube root.")


def _of_bits(name: str, target: Any, doc: str) -> Macro:
    return function(name, "x", lambda given: call(target, given["x"]), doc)


popc = _of_bits("popc", bits.popc, "Number of set bits.")
brev = _of_bits("brev", bits.brev, "Bits in reverse order.")
clz = _of_bits("clz", bits.clz, "Number of zero bits above the highest set one.")
ffs = _of_bits("ffs", bits.ffs, "Place of the lowest set bit, from 1; 0 for 0.")
nanosleep = function(
    "nanosleep",
    "ns",
    lambda given: constant(0),
    "No-op: the result of a kernel does not depend on it.",
)

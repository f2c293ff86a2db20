"""The kernel language of numba.cuda: Numba's rules for types, and its names in messages."""

from __future__ import annotations

from ..kernel.source import SourceLanguage

_ATOMICS = {"and": "and_", "or": "or_"} | {
    name: name for name in ("add", "max", "min", "sub", "xor")
}

#: Names that messages have for functions of entrepot.kernel, with numba.cuda's.
_SPELLINGS = {
    **{f"atomic.{name}": f"cuda.atomic.{own}" for name, own in _ATOMICS.items()},
    "@entrepot.kernel.func": "@cuda.jit(device=True)",
    "@func": "@cuda.jit(device=True)",
    "@func functions": "functions with @cuda.jit(device=True)",
    "LocalAccessor(shape, dtype)": "the bytes of cuda.shared.array(0, dtype)",
    "an argument LocalAccessor(shape, dtype)": "cuda.shared.array(0, dtype), and give its bytes in "
    "kernel[blocks, threads, stream, bytes]",
    "barrier()": "cuda.syncthreads()",
    "barrier(CLK_GLOBAL_MEM_FENCE)": "cuda.syncthreads()",
    "barrier(CLK_LOCAL_MEM_FENCE)": "cuda.syncthreads()",
    "constant.array": "cuda.const.array_like",
    "entrepot.kernel.atomic": "cuda.atomic",
    "entrepot.kernel.atomic.add": "cuda.atomic.add",
    "entrepot.kernel.random": "cuda.random",
    "entrepot.kernel.reduce": "cuda.reduce",
    "get_global_id(0)": "cuda.grid(1)",
    "get_local_id": "cuda.threadIdx",
    "get_local_id(0)": "cuda.threadIdx.x",
    "grid_barrier()": "cuda.cg.this_grid().sync()",
    "group.reduce": "cuda.shfl_down_sync",
    'group.reduce(x, "add")': "cuda.syncthreads_count(x)",
    "kernel[global, local](...)": "kernel[blocks, threads](...)",
    "local.array(shape, dtype)": "cuda.shared.array(shape, dtype)",
    "private.array()": "cuda.local.array()",
    "private.array(shape, dtype)": "cuda.local.array(shape, dtype)",
    "random.uniform(seed, i, draw)": "xoroshiro128p_uniform_float32(states, i)",
}
#: Terms of messages. Those of several words stand first, and so do those that begin with others.
_TERMS = {
    "work-items of a group": "threads of a block",
    "work-item of the group": "thread of the block",
    "work-items of different groups": "threads of different blocks",
    "a group of": "a block of",
    "barrier of all groups": "barrier of all blocks",
    "groups wait at": "blocks wait at",
    "all groups have to": "all blocks have to",
    "all of a group have to": "all of a block or warp have to",
    "same for the group": "same for the block",
    "in groups of": "in blocks of",
    "group function": "function of warps or blocks",
    "of group (": "of block (",
    "of the range": "of a launch of",
    "local range": "block",
    "local memory": "shared memory",
    "private memory": "local memory",
    "private arrays": "local arrays",
    "work-item": "thread",
    "work-group": "block",
    "sub-group": "warp",
}
NUMBA_CUDA = SourceLanguage("numba.cuda", "numba", _SPELLINGS, _TERMS, x_first=True)

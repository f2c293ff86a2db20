"""Whether Intel's OpenCL compiler for the CPU still ends the process over a function with many barriers.

It copies what is calculated before a barrier to the blocks behind it that use it, and has a table of these blocks; at the 48th
of a function the table moves, and what was found in the old one is still read. What then lies there decides: builds of one text
go well, crash, or never come to an end. src/kernel/compiler/emit_group.cpp keeps our kernels below that; once no build of a new
version ends here, it need not.

    python tools/intel_opencl_compiler.py [BUILDS]
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter

_LOOP = """
    for (long k = 1; k < n; k *= 2) {
        s[i] += s[i + k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }"""
_BUILD = """
import sys
import entrepot as ep

ep.Program(sys.argv[1], ep.device("opencl:cpu"), dialect="opencl-c").kernel("sums")
"""


def source(loops: int) -> str:
    """A kernel whose every loop uses an id that was asked for before the first; each adds two blocks to the table."""
    return (
        "kernel void sums(long n, local int *s) {\n"
        "    const size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);" + _LOOP * loops + "\n}\n"
    )


def end(loops: int) -> str:
    """How a process ended that built the kernel, the cache aside."""
    environment = os.environ | {"ENTREPOT_CACHE_DIR": ""}
    try:
        done = subprocess.run([sys.executable, "-c", _BUILD, source(loops)], env=environment, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "nothing in a minute"
    return signal.Signals(-done.returncode).name if done.returncode < 0 else f"exit status {done.returncode}"


if __name__ == "__main__":
    builds = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    for loops in (20, 23, 24, 36):
        found = Counter(end(loops) for _ in range(builds))
        print(f"{loops} loops:", ", ".join(f"{times} times {how}" for how, times in found.items()), flush=True)

"""Checks if Intel's OpenCL compiler for the CPU still crashes on functions with many barriers.

The compiler copies values computed before a barrier to the later blocks that use them, and has a
table of these blocks. At the 48th block of a function the table is reallocated, and references
into the old one are still read: a use after free. Builds of one text succeed, crash, or hang.
src/kernel/codegen/group.cpp keeps kernels below that number. That limit can be dropped once
no build of a new version fails here.

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
    """A kernel whose loops all use an id requested before the first; each loop adds two blocks
    to the table."""
    return (
        "kernel void sums(long n, local int *s) {\n"
        "    const size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);"
        + _LOOP * loops
        + "\n}\n"
    )


def end(loops: int) -> str:
    """How a process that built the kernel ended, without the cache."""
    environment = os.environ | {"ENTREPOT_CACHE_DIR": ""}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _BUILD, source(loops)],
            env=environment,
            capture_output=True,
            timeout=60,
        )
    except subprocess.TimeoutExpired:
        return "nothing in a minute"
    return (
        signal.Signals(-done.returncode).name
        if done.returncode < 0
        else f"exit status {done.returncode}"
    )


if __name__ == "__main__":
    builds = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    for loops in (20, 23, 24, 36):
        found = Counter(end(loops) for _ in range(builds))
        print(
            f"{loops} loops:",
            ", ".join(f"{times} times {how}" for how, times in found.items()),
            flush=True,
        )

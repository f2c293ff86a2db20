"""The examples as modules, the text of their kernels in a dialect, and further kernels for
compilers."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from entrepot.kernel.functions import Dialect
from kernel import test_atomics_of_groups as atomics_of_groups
from kernel import test_functions_of_groups as functions_of_groups
from kernel import test_grid_barriers as grid_barriers
from kernel import test_group_operations as group_operations
from kernel import test_mathematics as mathematics
from kernel import test_spaces as spaces

FOLDER = Path(__file__).parents[3] / "examples" / "kernels"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py") if path.name != "example.py")


# Kernels of the contract suite that GPU compilers would otherwise not compile.
OF_THE_SUITE = [
    *[
        (mathematics.of_integers, f"void(int64[:, :], int64[:, :], {dtype}[::1], {dtype}[::1])")
        for dtype in ("int8", "uint32", "int64")
    ],
    *[
        (
            mathematics.of_parts,
            f"void({dtype}[:, :], int64[::1], {dtype}[::1], {dtype}[::1], int64[::1])",
        )
        for dtype in ("float16", "bfloat16", "float32", "float64")
    ],
    (grid_barriers.count_rows, "void(int32[:, ::1])"),
    (grid_barriers.sum_of_groups, "void(int64[::1], int64[::1], int64[::1])"),
    (mathematics.of_tuples, "void(float64[:, :], float64[:, :])"),
    (mathematics.of_complex, "void(complex64[:, :], complex64[::1])"),
    (mathematics.of_complex, "void(complex128[:, :], complex128[::1])"),
    (mathematics.told_of_complex, "void(bool[:, :], complex128[::1], complex128[::1])"),
    (functions_of_groups.statistics, "void(float64[:, :], float64[::1])"),
    (functions_of_groups.normalized, "void(float32[::1])"),
    *[
        (kernel, f"void({dtype}[:, :], {ids}{dtype}[::1])")
        for dtype in (*group_operations.INTEGERS, *group_operations.FLOATS)
        for kernel, ids, of_bits in (
            (group_operations.numbers_of_the_group, "", False),
            (group_operations.numbers_of_the_sub_group, "int64[:, :], ", False),
            (group_operations.bits_of_the_group, "", True),
            (group_operations.bits_of_the_sub_group, "int64[:, :], ", True),
        )
        if dtype in group_operations.INTEGERS or not of_bits
    ],
    *[
        (group_operations.shuffles, f"void({dtype}[:, :], int64[:, :], {dtype}[::1], int64)")
        for dtype in (*group_operations.INTEGERS, *group_operations.FLOATS)
    ],
    (group_operations.votes, "void(int32[:, :], int64[:, :], int32[::1])"),
    *[
        (
            atomics_of_groups.in_local_memory(dtype),
            f"void({dtype}[:, :], {dtype}[:, :], {dtype}[::1])",
        )
        for dtype in atomics_of_groups.DTYPES
    ],
    (atomics_of_groups.by_reference, "void(int64[::1], int64[:, :])"),
    *[
        (spaces.constants_of(spaces.floats_at_the_ends(dtype)), f"void({dtype}[::1])")
        for dtype in ("float16", "float32", "float64", "complex64", "complex128")
    ],
]


def texts_of_the_suite(dialect: Dialect) -> list[str]:
    """Programs that together have all of these kernels. A program has several, since GPU compilers
    read the same headers for each program. Kernels of one program differ in name, and each is in
    a namespace."""
    programs: list[dict[str, str]] = []
    for kernel, signature in OF_THE_SUITE:
        name = kernel.__name__
        program = next((each for each in programs if name not in each), None)
        if program is None:
            programs.append(program := {})
        program[name] = kernel.source(dialect, signature=signature)
    texts = [
        "\n".join(
            f"namespace suite{number} {{\n{text}\n}}" for number, text in enumerate(each.values())
        )
        for each in programs
    ]
    assert sum(text.count('extern "C"') for text in texts) == len(OF_THE_SUITE)
    return texts


def filling(size: int, with_group_function: bool):
    """A kernel with that many bytes of local memory."""

    @dppy.kernel("void(uint8[::1])")
    def fills(out):
        i = dppy.get_local_id(0)
        memory = dppy.local.array(size, dppy.uint8)
        memory[i] = i
        dppy.barrier()
        out[i] = (
            dppy.group.reduce(memory[size - 1 - i]) if with_group_function else memory[size - 1 - i]
        )

    return fills


def looking_up(sizes: tuple[int, ...]):
    """A kernel with constants of so many bytes each; its functions and its print may need some
    of their own."""
    a, b, c, d = (np.zeros(sizes[i] if i < len(sizes) else 1, "u1") for i in range(4))

    @dppy.kernel("void(float64[::1], float64[::1])")
    def looks_up(out, x):
        i = dppy.get_global_id(0)
        first, second = dppy.constant.array(a), dppy.constant.array(b)
        third, fourth = dppy.constant.array(c), dppy.constant.array(d)
        out[i] = (
            first[i]
            + second[i]
            + third[i]
            + fourth[i]
            + math.sin(x[i])
            + math.lgamma(x[i])
            + x[i] ** 0.3
        )
        print("read", i, x[i])

    return looks_up


def texts_of(name: str, dialect: Dialect) -> list[str]:
    """Texts of the kernels that the example launches, for the host's arguments."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(FOLDER))
        shadowed = sys.modules.pop(name, None)
        try:
            module = importlib.import_module(name)
        finally:
            sys.modules.pop(name, None)
            if shadowed is not None:
                sys.modules[name] = shadowed
    module.check(ep.device("host"))
    kernels = [each for each in vars(module).values() if isinstance(each, dppy.KernelFunction)]
    return [each.source(dialect) for each in kernels if each.specializations]

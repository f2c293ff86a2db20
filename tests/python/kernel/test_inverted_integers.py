"""Inverted bits in kernels with groups: Intel's compiler for the CPU makes wrong or invalid
AVX-512 instructions of `~x`."""

from __future__ import annotations

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_dialect
from support.processes import run_script

pytestmark = pytest.mark.numpy


@dppy.kernel
def lesser_byte(out, x):
    i = dppy.get_global_id(0)
    byte = dppy.int8(min(x[i], ~x[i]))
    dppy.barrier()
    out[i] += dppy.uint8(byte)


@dppy.kernel
def lesser_byte_by_a_mask(out, x):
    i = dppy.get_global_id(0)
    byte = dppy.int8(min(x[i], x[i] ^ -1))
    dppy.barrier()
    out[i] += dppy.uint8(byte)


@every_dialect
@pytest.mark.parametrize(
    ("kernel", "dtype"),
    [
        *((lesser_byte, dtype) for dtype in ("uint8", "uint32", "int64", "uint64")),
        (lesser_byte_by_a_mask, "int64"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_inverted_integer_is_right_after_a_barrier(backend, kernel, dtype):
    x = np.array([770840201, 2207253085, 745721654, 4294967295, 698327454, 0, 0, 1], "i8").astype(
        dtype
    )
    (out, _) = backend.run(kernel, 8, 8, np.zeros(8, "i8"), x)
    assert out.tolist() == (np.minimum(x, ~x) & np.array(255, dtype)).astype("i8").tolist()


#: The invalid instruction crashes the process.
ATOMIC = """
import numpy as np

import entrepot as ep
import entrepot.kernel as dppy


@dppy.kernel
def greatest(out, x):
    i = dppy.get_global_id(0)
    counts = dppy.local.array(8, dppy.uint32)
    dppy.atomic.max(counts, 3, dppy.uint32(VALUE))
    out[i] = i


out = ep.zeros(8, "float64", device="opencl:cpu")
numbers = np.array([2, 0, -911104601, 2147483647, 1, -8, -2147483648, 602373596], "int32")
x = ep.asarray(numbers, copy=True, device="opencl:cpu")
greatest.options(dialect=DIALECT)[8, 4](out, x).wait()
assert out.copy_to_host().numpy().tolist() == list(range(8))
"""


@pytest.mark.sycl
@pytest.mark.parametrize("dialect", ["opencl-c", "sycl"])
@pytest.mark.parametrize(
    "value",
    [
        "~x[i]",
        "x[i] ^ -1",
        "dppy.uint32(0xFFFFFFFF) ^ dppy.uint32(x[i])",
        "-1 - x[i]",
        "-x[i] - 1",
        "-(x[i] + 1)",
    ],
)
def test_inverted_operand_of_an_atomic_ends_no_process(tmp_path, value, dialect):
    script = tmp_path / "atomic.py"
    script.write_text(f"DIALECT = {dialect!r}\n" + ATOMIC.replace("VALUE", value))
    run_script(script, timeout=120)


@pytest.mark.sycl
def test_inversion_is_an_operator_without_groups():
    @dppy.kernel
    def alone(out, x):
        out[dppy.get_global_id(0)] = ~x[dppy.get_global_id(0)]

    signature = "void(int32[::1], int32[::1])"
    assert "= ~x[" in alone.source("opencl-c", signature=signature, device=ep.device("opencl:cpu"))
    assert "~" in lesser_byte.source("opencl-c", signature=signature)
    assert "~" not in lesser_byte.source(
        "opencl-c", signature=signature, device=ep.device("opencl:cpu")
    )

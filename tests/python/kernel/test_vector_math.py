"""Functions of libmvec in kernels of the host with `fast_math`."""

from __future__ import annotations

import math
import os
import platform
import shutil
import subprocess
import sys

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy

pytestmark = [pytest.mark.numpy, pytest.mark.host]

#: Largest error that glibc's manual states for these functions, in units in the last place.
LARGEST_ERROR = 4

FUNCTIONS = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp",
    "exp2", "expm1", "log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh",
]  # fmt: skip
OF_TWO = ["atan2", "hypot", "pow"]
IN_NUMPY = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
            "atan": "arctan", "atanh": "arctanh", "atan2": "arctan2", "pow": "power"}  # fmt: skip

PROGRAM = """
import math
import numpy as np
import entrepot as ep
from entrepot import kernel

@kernel.kernel(fast_math=True)
def exp(out, x):
    i = kernel.get_global_id(0)
    out[i] = math.exp(x[i])

x = ep.full(100, 1, "float32", device="host")
out = ep.zeros(100, "float32", device="host")
exp[100](out, x).wait()
assert abs(out.numpy() - np.e).max() < 1e-6
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """A kernel for each function, which applies it to each element."""
    path = tmp_path_factory.mktemp("kernels") / "vector_math.py"
    lines = ["import math", "from entrepot import kernel"]
    for name in FUNCTIONS + OF_TWO:
        arguments = "x[i], y[i]" if name in OF_TWO else "x[i]"
        lines += [
            "@kernel.kernel(fast_math=True)",
            f"def {name}_of(out, x, y):",
            "    i = kernel.get_global_id(0)",
            f"    out[i] = math.{name}({arguments})",
        ]
    path.write_text("\n".join(lines))
    module = {"__name__": "vector_math"}
    exec(compile(path.read_text(), str(path), "exec"), module)
    return {name: module[f"{name}_of"] for name in FUNCTIONS + OF_TWO}


@dppy.func
def expf(value):
    return value + 1


@dppy.kernel(fast_math=True)
def calls_its_own_expf(out, x):
    i = dppy.get_global_id(0)
    out[i] = expf(math.exp(x[i]))


def reference(name, x, y):
    """The results in the next wider type."""
    wider = np.float64 if x.dtype == np.float32 else np.longdouble
    x, y = x.astype(wider), y.astype(wider)
    if name in ("erf", "erfc"):
        return np.array([getattr(math, name)(value) for value in x], wider)
    function = getattr(np, IN_NUMPY.get(name, name))
    return function(x, y) if name in OF_TWO else function(x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS + OF_TWO)
def test_function_of_vectors_is_as_exact_as_documented(kernels, name, dtype):
    random = np.random.default_rng(5)
    x = random.uniform(0.01, 0.99, 1003).astype(dtype)
    if name == "acosh":
        x += 1
    y = random.uniform(-3, 3, x.size).astype(dtype)
    out = ep.zeros(x.size, dtype, device="host")
    kernels[name][x.size](out, ep.asarray(x), ep.asarray(y)).wait()
    expected = reference(name, x, y)
    error = abs(out.numpy() - expected) / np.spacing(abs(expected).astype(dtype))
    assert error.max() <= LARGEST_ERROR


def test_special_values_follow_the_c_standard(kernels):
    x = np.resize(np.array([np.inf, -np.inf, np.nan, 0.0, -1.0, 1e30], "f4"), 120)
    out = ep.zeros(x.size, "float32", device="host")
    for name in ("exp", "log", "sin", "tanh"):
        kernels[name][x.size](out, ep.asarray(x), ep.asarray(x)).wait()
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(x.astype("f8")).astype("f4")
        assert np.allclose(out.numpy(), expected, rtol=1e-5, equal_nan=True), name


def test_device_function_may_have_the_name_of_one_in_c():
    x = ep.zeros(100, "float32", device="host")
    calls_its_own_expf[100](x, x).wait()
    assert (x.numpy() == 2).all()


@pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc",
    reason="libmvec is used on x86-64 with glibc",
)
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_compiled_kernel_calls_libmvec(compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    program, cache = tmp_path / "program.py", tmp_path / "cache"
    program.write_text(PROGRAM)
    subprocess.run(
        [sys.executable, program],
        env=os.environ | {"CXX": compiler, "ENTREPOT_CACHE_DIR": str(cache)},
        check=True,
    )
    programs = [path.read_bytes() for path in cache.rglob("*") if path.is_file()]
    assert any(b"_ZGV" in each and b"_expf" in each for each in programs)

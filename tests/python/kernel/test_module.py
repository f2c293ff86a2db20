"""``entrepot.kernel`` is a module and, called, the decorator."""

from __future__ import annotations

import importlib
import subprocess
import sys
from types import ModuleType

import pytest

import entrepot as ep
import entrepot.kernel as dppy
from support.processes import completed


def add_one(a):
    a[ep.kernel.get_global_id(0)] += 1


DECORATIONS = {
    "module": lambda: ep.kernel(add_one),
    "module_with_options": lambda: ep.kernel(debug=True)(add_one),
    "module_with_signature": lambda: ep.kernel("void(int32[::1])")(add_one),
    "function": lambda: ep.kernel.kernel(add_one),
    "function_by_import": lambda: dppy.kernel(add_one),
}


@pytest.mark.parametrize("decorate", DECORATIONS.values(), ids=DECORATIONS)
def test_decorated_function_runs(decorate):
    a = ep.zeros(4, "int32", device="host")
    with ep.device_context("host"):
        decorate()[4](a).wait()
    assert memoryview(a).tolist() == [1] * 4


def test_module_call_refuses_like_kernel():
    with pytest.raises(TypeError, match="has no option nopython"):
        ep.kernel(nopython=True)  # type: ignore[call-overload]


def test_limit_of_registers_is_checked_and_kept_by_options():
    @ep.kernel(max_registers=32)
    def one(a):
        a[dppy.get_global_id(0)] = 1

    a = ep.zeros(4, "int32", device="host")
    one.options(fast_math=True)[4](a).wait()
    assert memoryview(a).tolist() == [1] * 4
    with pytest.raises(ValueError, match="up to 255 registers"):
        one.options(max_registers=256)[4](a)


def test_callable_module_is_the_imported_module():
    assert (
        ep.kernel
        is dppy
        is sys.modules["entrepot.kernel"]
        is importlib.import_module("entrepot.kernel")
    )
    assert isinstance(dppy, ModuleType)
    assert ep.kernel.func is dppy.func


def test_dir_lists_the_public_names_alone():
    listed = {name for name in dir(dppy) if not name.startswith("__")}
    assert listed == {*dppy.__all__, "algorithms", "random", "tile"}
    assert {"vectorize", "reduce"} <= listed


def test_repr_of_a_launch_shows_its_range():
    kernel = dppy.kernel(add_one)
    assert repr(kernel[4]) == "<entrepot.kernel.kernel add_one>[4]"
    assert repr(kernel[(4, 6), None]) == "<entrepot.kernel.kernel add_one>[(4, 6)]"
    assert repr(kernel[(4, 6), (2, 3)]) == "<entrepot.kernel.kernel add_one>[(4, 6), (2, 3)]"


def test_import_of_entrepot_does_not_load_kernel():
    code = (
        "import sys, entrepot as ep; assert 'entrepot.kernel' not in sys.modules; "
        "assert callable(ep.kernel) and 'entrepot.kernel' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


TYPED = """
import entrepot as ep
@ep.kernel
def double(a):
    a[ep.kernel.get_global_id(0)] *= 2

a = ep.full(3, 2, "int32", device="host")
double[3](a).wait()
print(memoryview(a).tolist())
"""


@pytest.mark.parametrize("options", [("-c", TYPED), ("-",), ("-i", "-q")])
def test_kernel_without_a_file_runs_if_python_has_its_source(options):
    done = completed([sys.executable, *options], input=TYPED)
    if "-" not in options and sys.version_info >= (3, 13):
        assert "[4, 4, 4]" in done.stdout, done.stderr
    else:
        assert "the source of double was not found" in done.stderr

"""The list of numba.cuda's names: each is served, or refused with what to use."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entrepot import numba_cuda as cuda
from entrepot.kernel.macros import Macro
from entrepot.numba_cuda.names import GROUPS, page, share, summary
from support.processes import output_of

pytestmark = pytest.mark.numpy

PAGE = Path(__file__).parents[3] / "docs" / "kernels" / "numba_cuda_names.md"
BEGIN, END = "<!-- names: python -m entrepot.numba_cuda --page writes them -->\n", "<!-- end -->\n"


@cuda.jit
def kernel(a):
    a[cuda.grid(1)] += 1


OWNERS = {
    "cuda.": lambda: cuda,
    "kernel.": lambda: kernel,
    "cuda.atomic.": lambda: cuda.atomic,
    "cuda.fp16.": lambda: cuda.fp16,
    "array.": lambda: cuda.to_device(np.zeros(2)),
    "stream.": cuda.stream,
    "event.": cuda.event,
    "device.": cuda.get_current_device,
    "context.": cuda.current_context,
    "cuda.random.": lambda: cuda.random,
    "cuda.cudadrv.": lambda: cuda.cudadrv,
    "cuda.libdevice.": lambda: cuda.libdevice,
}
ROWS = [(group.prefix, name) for group in GROUPS for name in group.served]
REFUSED = [(group.prefix, name) for group in GROUPS for name in group.refused]


def _found(prefix: str, name: str) -> object:
    owner: object = OWNERS[prefix]()
    for part in name.split("."):
        owner = getattr(owner, part)
    return owner


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.title)
def test_served_names_of_group_exist(group):
    for name in group.served:
        if group.prefix == "cuda.jit ":
            cuda.jit(**{name: True})
        else:
            if name == "__cuda_array_interface__":  # of CUDA and HIP memory only
                assert name in dir(cuda.DeviceNDArray)
                continue
            _found(group.prefix, name)


@pytest.mark.parametrize(("prefix", "name"), REFUSED, ids=lambda each: each)
def test_refused_name_says_what_to_use(prefix, name):
    if prefix == "cuda.jit ":
        with pytest.raises(cuda.NotServedError, match="is not served by entrepot"):
            getattr(cuda, "jit")(**{name: ["x"]})  # noqa: B009
        return
    found: Any
    try:
        found = _found(prefix, name)
    except cuda.NotServedError as refusal:
        message = str(refusal)
    else:
        if isinstance(found, Macro):
            message = _refusal_in_a_kernel(found)
        else:
            with pytest.raises(cuda.NotServedError) as raised:
                found()
            message = str(raised.value)
    assert "is not served" in message
    assert len(message.split(": ", 1)[1]) > 10


def _refusal_in_a_kernel(macro: Macro) -> str:
    import ast

    message = macro.expand(ast.parse("f()", mode="eval").body, {})
    assert isinstance(message, str)
    return message


def test_unknown_name_is_refused_by_an_attribute_error():
    with pytest.raises(AttributeError, match="does not know it"):
        cuda.no_such_name  # noqa: B018
    with pytest.raises(cuda.NotServedError, match="threadIdx has x, y, z"):
        cuda.threadIdx.w  # noqa: B018


def test_share_of_served_names_is_at_least_90_percent():
    assert share() >= 0.9


def test_groups_name_each_once():
    names = [group.prefix + name for group in GROUPS for name in (*group.served, *group.refused)]
    assert len(names) == len(set(names))


def test_page_has_the_names():
    text = PAGE.read_text(encoding="utf-8")
    written = text.split(BEGIN)[1].split(END)[0]
    if os.environ.get("ENTREPOT_UPDATE_GOLDEN"):
        PAGE.write_text(text.replace(written, page()), encoding="utf-8")
    assert written == page()


def test_module_prints_the_share():
    said = output_of([sys.executable, "-m", "entrepot.numba_cuda"])
    assert said.strip() == summary().strip()


def _listed() -> set[str]:
    """First parts of the names of the module that the groups have."""
    return {
        name.split(".")[0]
        for group in GROUPS
        if group.prefix.startswith("cuda.")
        for name in (
            *([group.prefix.split(".")[1]] if group.prefix != "cuda." else ()),
            *(group.served if group.prefix == "cuda." else ()),
            *(group.refused if group.prefix == "cuda." else ()),
        )
    }


def test_exported_names_are_listed():
    own = {
        "CudaAPIError",
        "DeviceNDArray",
        "Dispatcher",
        "Event",
        "LaunchError",
        "MappedNDArray",
        "NotServedError",
        "NotServedImportError",
        "Stream",
    }
    assert set(cuda.__all__) - own <= _listed()


@pytest.mark.numba
def test_public_names_of_numba_are_all_listed():
    pytest.importorskip("numba.cuda")
    program = (
        "import types, numpy as np\n"
        "np.row_stack = getattr(np, 'row_stack', np.vstack)\n"
        "from numba import cuda\n"
        "print(*[n for n in dir(cuda) if n[0] != '_' and"
        " not isinstance(getattr(cuda, n), types.ModuleType)])"
    )
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "0"}
    names = output_of([sys.executable, "-c", program], env=environment)
    assert set(names.split()) - _listed() <= {"alias"}  # a variable of a loop


@pytest.mark.parametrize("module", ["driver", "error", "enums", "devicearray"])
def test_modules_of_the_driver_are_imported_by_name(module):
    assert importlib.import_module(f"entrepot.numba_cuda.cudadrv.{module}")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("runtime", "entrepot.backends()"),
        ("open_ipc_array_of_nobody", "numba_cuda_names.md"),
        ("compile_all", "kernel.source()"),
    ],
)
def test_import_of_a_name_says_why_it_fails(name, instead):
    program = f"from entrepot.numba_cuda import jit, {name}"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    said = ran.stderr.splitlines()[-1]
    assert said.startswith("entrepot.numba_cuda.errors.NotServedImportError: ")
    assert name in said
    assert instead in said


def test_absent_name_is_an_attribute_that_hasattr_denies():
    assert not hasattr(cuda, "runtime")
    assert getattr(cuda, "runtime", 3) == 3
    with pytest.raises(ImportError):
        from entrepot.numba_cuda import runtime  # noqa: F401


@pytest.mark.parametrize(
    ("module", "name", "instead"),
    [
        ("libdevice", "j0", "SciPy"),
        ("libdevice", "sine", "numba_cuda_names.md"),
        ("random", "xorshift", "numba_cuda_names.md"),
        ("cg", "this_cluster", "this_grid()"),
        ("fp16", "hsinh", "hsin"),
        ("types", "unicode_type", "float32[:, ::1]"),
        ("cudadrv", "nvvm", "kernel.source()"),
        ("cudadrv.driver", "Linker", "entrepot.Program"),
        ("cudadrv.error", "NvrtcError", "entrepot.DeviceError"),
        ("cudadrv.enums", "CU_EVENT_DEFAULT", "entrepot.Device"),
        ("cudadrv.devicearray", "is_cuda_ndarray", "is_cuda_array(obj)"),
    ],
)
def test_import_from_a_module_says_what_to_use(module, name, instead):
    with pytest.raises(cuda.NotServedImportError, match=rf"{module}\.{name} is not") as raised:
        exec(f"from entrepot.numba_cuda.{module} import {name}")
    assert instead in str(raised.value)
    with pytest.raises(cuda.NotServedError, match=re.escape(instead)):
        getattr(importlib.import_module(f"entrepot.numba_cuda.{module}"), name)


@pytest.mark.parametrize(
    ("module", "instead"),
    [
        ("testing", "pytest"),
        ("simulator.kernelapi", "NUMBA_ENABLE_CUDASIM"),
        ("cudadrv.nvvm", "kernel.source()"),
        ("api", "entrepot.numba_cuda itself"),
        ("cudadrv.nope", "numba_cuda_names.md"),
    ],
)
def test_import_of_an_absent_module_says_what_to_use(module, instead):
    with pytest.raises(cuda.NotServedImportError, match=re.escape(instead)):
        importlib.import_module(f"entrepot.numba_cuda.{module}")


def test_imports_of_other_packages_are_not_refused():
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        importlib.import_module("entrepot.no_such_module")


def test_functions_of_float16_are_in_a_module_as_well():
    module = importlib.import_module("entrepot.numba_cuda.fp16")
    assert module.hadd is cuda.fp16.hadd

"""Checks that every #include follows the component order of docs/design.md."""

from __future__ import annotations

import posixpath
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

COMPILER = ("kernel/frontend", "kernel/ir", "kernel/passes", "kernel/codegen")
# Component → the components whose headers it may include besides its own. A component that is not
# a key may not exist.
COMPONENTS = {
    "core": (),
    "device": ("core",),
    "memory": ("core", "device"),
    "array": ("core", "device", "memory"),
    "exchange": ("core", "device", "memory", "array"),
    "adapters": ("core", "device", "memory", "array", "exchange", "ffi"),
    "ffi": ("core",),
    "kernel/ir": ("core",),
    "kernel/frontend": ("core", "kernel/ir"),
    "kernel/passes": ("core", "kernel/ir"),
    "kernel/codegen": ("core", "kernel/ir", "kernel/passes"),
    "kernel": ("core", *COMPILER),
    "kernel/runtime": (
        "core",
        "device",
        "memory",
        "array",
        "exchange",
        "adapters",
        "kernel",
        *COMPILER,
    ),
    "python": ("core",),
}
CONTRACT = (
    "include/entrepot/device/backend.h",
    "src/backends/boundary.hpp",
    "src/backends/nodes.hpp",
    "src/backends/cache.hpp",
    "src/backends/handle_table.hpp",
    "src/backends/hash.hpp",
    "src/backends/life_file.hpp",
    "src/backends/processor.hpp",
    "src/backends/loop_nest.hpp",
)
# The host backend is no plugin: its entry function is in a header.
BUILT_IN = [("src/device/loader.cpp", "src/backends/host/table.hpp")]
# Code that backends of one kind share, and the drivers that it is compiled for; no other part
# includes it.
SHARED = {
    "cuda": ("src/backends/gpu/",),
    "hip": ("src/backends/gpu/",),
    "gpu": tuple(
        f"src/backends/{name}/{header}.hpp"
        for name in ("cuda", "hip")
        for header in ("driver", "rtc")
    ),
}

# Folder of python/bind → the folders whose headers it may include besides its own. A row names
# folders of earlier rows only. Every folder may include init.hpp, and the files at the top may
# include everything.
BINDINGS = {
    "support": (),
    "core": ("support",),
    "device": ("support",),
    "memory": ("support", "device"),
    "array_object": ("support",),
    "exchange": ("support", "device", "memory", "array_object"),
    "array": ("support", "core", "device", "memory", "array_object", "exchange"),
    "usm_memory": ("support", "device", "memory", "array_object", "exchange", "array"),
    "adapters": ("support", "memory", "array_object", "exchange", "array"),
    "launch": ("support", "core", "device", "array_object", "exchange", "array"),
    "kernel": (
        "support",
        "core",
        "device",
        "memory",
        "array_object",
        "exchange",
        "array",
        "launch",
    ),
    "ffi": ("support", "memory", "adapters"),
}

# Foreign headers → the only places that may include them.
FOREIGN = {
    r"Python\.h|structmember\.h|nanobind/|pybind11/": (
        "python/bind/",
        "include/entrepot/python/",
        "tools/stable_abi/",
    ),
    r"sycl/|CL/|ze_|level_zero/": ("src/backends/sycl/",),
    r"cuda\.h|cuda_|nvrtc": ("src/backends/cuda/",),
    r"hip/": ("src/backends/hip/", "tools/bindgen/"),
    r"ffi\.h": ("src/ffi/",),
    r"clang-c/|clang/": ("tools/bindgen/",),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def component_of(path: str) -> str | None:
    """The component of a path from the root; None for the bindings, a backend or a tool."""
    inside = re.match(r"(?:include/entrepot|src)/((?:kernel/)?[^/]+)/", path)
    return inside[1] if inside and inside[1] != "backends" else None


def path_of(path: str, include: str) -> str:
    """Path from the root of the header that the file at ``path`` includes, if it is a project's."""
    if include.startswith("entrepot/"):
        return f"include/{include}"
    if include.startswith("."):
        return posixpath.normpath(posixpath.join(posixpath.dirname(path), include))
    if include.startswith(("bind/", "python/bind/")):
        return f"python/bind/{include.rpartition('bind/')[2]}"
    return (
        f"src/{include}"
        if include.startswith((*(f"{component}/" for component in COMPONENTS), "backends/"))
        else include
    )


def folder_of(path: str) -> str | None:
    """The folder of python/bind that ``path`` is in; None at its top and elsewhere."""
    inside = re.match(r"python/bind/([^/]+)/", path)
    return inside[1] if inside else None


def refusal_in_bindings(path: str, target: str) -> str | None:
    """Reason why a file of python/bind may not include the file ``target``; None if it may."""
    folder, there = folder_of(path), folder_of(target)
    if folder is None:
        return None
    if folder not in BINDINGS:
        return f"{path}: BINDINGS has no row for a folder {folder!r}"
    if there not in (None, folder, *BINDINGS[folder]):
        others = ", ".join(BINDINGS[folder]) or "no other folder"
        return f"{path}: {folder} may include {others}, not {target}"
    if folder == "support" and component_of(target) not in (None, "core"):
        return f"{path}: support knows core and CPython, not {target}"
    return None


def refusal(path: str, include: str) -> str | None:
    """Reason why the file at ``path`` (relative to the root) may not include ``include``; None
    if it may."""
    for header, places in FOREIGN.items():
        if re.match(header, include):
            return (
                None
                if path.startswith(places)
                else f"{path}: only {' and '.join(places)} may include <{include}>"
            )

    target = path_of(path, include)
    if path.startswith("python/bind/"):
        return refusal_in_bindings(path, target)
    if path.startswith("src/backends/"):
        name = path.split("/")[2]
        own = (f"src/backends/{name}/", *SHARED.get(name, ()))
        ours = target.startswith(("include/entrepot/", "src/", "python/"))
        if ours and not (
            target in CONTRACT or component_of(target) == "core" or target.startswith(own)
        ):
            return f"{path}: a backend sees {', '.join(CONTRACT)} and core, not <{include}>"
        return None

    component = component_of(path)
    if component is None:
        return None
    if component not in COMPONENTS:
        return f"{path}: no component is called {component!r}; add a row to COMPONENTS"
    if target.startswith("src/backends/") and (path, target) not in BUILT_IN:
        return f"{path}: <{include}> is a backend's own; components know backends by their table"
    if path.startswith("include/") and target.startswith("src/"):
        return f"{path}: <{include}> is private, and this header is installed without it"
    if target.startswith("python/"):
        return f"{path}: <{include}> belongs to the bindings, which stand above everything else"
    there = component_of(target)
    if there not in (None, component, *COMPONENTS[component]):
        others = ", ".join(COMPONENTS[component]) or "no other component"
        return f"{path}: {component} may include {others}, not <{include}>"
    return None


def sources(root: Path) -> list[Path]:
    folders = (root / name for name in ("include", "src", "python", "tools"))
    return [
        file
        for folder in folders
        for file in sorted(folder.rglob("*"))
        if file.suffix in {".h", ".hpp", ".c", ".cpp"}
    ]


def refusals(root: Path) -> list[str]:
    found = []
    for file in sources(root):
        path = file.relative_to(root).as_posix()
        includes = INCLUDE.findall(file.read_text(encoding="utf-8"))
        found += [why for include in includes if (why := refusal(path, include))]
    return found


#: Compiled by extensions without the library: hidden, but for single declarations.
HIDDEN = ("core/assert.hpp", "core/dtype.hpp")
#: A variable that would exist in the library and once more in each program.
DOUBLE = re.compile(
    r"^\s*(?:static )?inline (?!constexpr)(?:constinit )?(?:thread_local )?"
    r"[\w:<>*, ]+ \*?\w+(?:\{|;| =)"
    r"|^ +static (?:constinit |thread_local )+[^;(]*\{",
    re.MULTILINE,
)


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(path, id=str(path.relative_to(ROOT / "include/entrepot")))
        for path in sorted((ROOT / "include/entrepot").glob("*/*.hpp"))
        if path.parent.name != "python"
    ],
)
def test_public_header_is_exported(header: Path) -> None:
    text = header.read_text(encoding="utf-8")
    assert DOUBLE.findall(text) == []
    without_label = re.findall(r"// (?!Ownership).*\b[Tt]hrows [A-Z].*", text)
    assert without_label == [], "the label is `Throws:`"
    if re.search(r"^namespace", text, re.MULTILINE) and not str(header).endswith(HIDDEN):
        assert "\n#pragma GCC visibility push(default)\nnamespace entrepot" in text


@pytest.mark.parametrize(
    "line",
    [
        "inline std::atomic<bool> in_child{false};",
        "    static inline constinit thread_local Slot *own = nullptr;",
        "    static constinit FirstUse<HostPlace> made{};",
    ],
)
def test_variable_that_would_be_double_is_found(line: str) -> None:
    assert DOUBLE.search(line)


def test_components_are_acyclic():
    TopologicalSorter(COMPONENTS).prepare()  # raises CycleError


def test_binding_folders_are_acyclic():
    folders = list(BINDINGS)
    for folder, others in BINDINGS.items():
        assert set(others) <= set(folders[: folders.index(folder)]), folder


def test_include_points_to_lower_folder():
    assert sources(ROOT), "the test must see the sources, or it can see nothing wrong in them"
    assert refusals(ROOT) == []


@pytest.mark.parametrize(
    ("path", "include"),
    [
        ("include/entrepot/core/dtype.hpp", "entrepot/device/device.hpp"),
        ("include/entrepot/device/queue.hpp", "entrepot/memory/memory.hpp"),
        ("src/memory/pool.cpp", "entrepot/array/array.hpp"),
        ("src/array/copy.cpp", "entrepot/exchange/suai.hpp"),
        ("src/exchange/suai.cpp", "entrepot/adapters/pointer.hpp"),
        ("include/entrepot/memory/memory.hpp", "memory/release.hpp"),
        ("src/memory/pool.cpp", "array/strided.hpp"),
        ("src/memory/pool.cpp", "../array/strided.hpp"),
        ("src/exchange/suai.cpp", "Python.h"),
        ("src/array/array.cpp", "nanobind/nanobind.h"),
        ("src/kernel/ir/walk.hpp", "kernel/frontend/syntax.hpp"),
        ("src/kernel/ir/ranges.cpp", "kernel/passes/uniform.hpp"),
        ("src/kernel/frontend/lowering.cpp", "kernel/passes/check.hpp"),
        ("src/kernel/frontend/lowering.cpp", "entrepot/device/device.hpp"),
        ("src/kernel/passes/optimize.cpp", "kernel/codegen/dialects.hpp"),
        ("src/kernel/passes/reach.cpp", "kernel/frontend/syntax.hpp"),
        ("src/kernel/codegen/emitter.cpp", "kernel/frontend/typing.hpp"),
        ("src/kernel/codegen/emitter.cpp", "kernel/compiler.hpp"),
        ("src/kernel/compiler.cpp", "kernel/runtime/launch.hpp"),
        ("src/ffi/call.cpp", "entrepot/memory/memory.hpp"),
        ("src/memory/memory.cpp", "sycl/sycl.hpp"),
        ("src/device/registry.cpp", "cuda.h"),
        ("src/device/loader.cpp", "backends/host/executor.hpp"),
        ("src/memory/memory.cpp", "backends/host/table.hpp"),
        ("src/backends/sycl/memory.cpp", "entrepot/memory/memory.hpp"),
        ("src/backends/sycl/memory.cpp", "entrepot/device/device.hpp"),
        ("src/backends/cuda/memory.cpp", "backends/hip/driver.hpp"),
        ("src/backends/gpu/memory.cpp", "backends/hip/table.hpp"),
        ("src/backends/cuda/memory.cpp", "hip/hip_runtime_api.h"),
        ("src/backends/host/memory.cpp", "Python.h"),
        ("include/entrepot/python/array.hpp", "entrepot/array/array.hpp"),
        ("src/core/layout.cpp", "bind/module.hpp"),
        ("src/utils/strings.cpp", "string"),
        ("include/entrepot/memory/memory.hpp", "ffi.h"),
        ("python/bind/ffi/function.cpp", "ffi.h"),
        ("src/ffi/type.cpp", "clang-c/Index.h"),
        ("python/bind/support/reference.hpp", "../memory/owner.hpp"),
        ("python/bind/support/reference.hpp", "bind/memory/owner.hpp"),
        ("python/bind/support/errors.cpp", "entrepot/device/device.hpp"),
        ("python/bind/memory/owner.cpp", "../exchange/interface_dict.hpp"),
        ("python/bind/exchange/suai.cpp", "../array/create.hpp"),
        ("python/bind/utils/strings.cpp", "string"),
    ],
)
def test_include_of_higher_folder_is_refused(path, include):
    assert refusal(path, include)


@pytest.mark.parametrize(
    ("path", "include"),
    [
        ("include/entrepot/core/dtype.hpp", "cstdint"),
        ("src/array/copy.cpp", "entrepot/memory/memory.hpp"),
        ("src/device/loader.cpp", "backends/host/table.hpp"),
        ("src/backends/sycl/memory.cpp", "sycl/sycl.hpp"),
        ("src/backends/sycl/memory.cpp", "entrepot/core/error.hpp"),
        ("src/backends/sycl/memory.cpp", "backends/sycl/native.hpp"),
        ("src/backends/sycl/memory.cpp", "backends/boundary.hpp"),
        ("src/backends/sycl/memory.cpp", "../boundary.hpp"),
        ("src/backends/sycl/memory.cpp", "native.hpp"),
        ("src/array/copy.cpp", "array/strided.hpp"),
        ("src/array/copy.cpp", "sys/mman.h"),
        ("src/kernel/codegen/emitter.hpp", "kernel/passes/check.hpp"),
        ("src/kernel/compiler.cpp", "kernel/codegen/dialects.hpp"),
        ("python/bind/exchange/suai.cpp", "entrepot/exchange/suai.hpp"),
        ("python/bind/exchange/suai.cpp", "Python.h"),
        ("include/entrepot/python/caster.hpp", "nanobind/nanobind.h"),
        ("python/bind/module.cpp", "exchange/routes.hpp"),
        ("python/bind/support/errors.cpp", "../init.hpp"),
        ("python/bind/exchange/suai.cpp", "../memory/owner.hpp"),
        ("python/bind/exchange/suai.cpp", "syclobj.hpp"),
        ("src/ffi/form.hpp", "ffi.h"),
        ("tools/bindgen/describe.cpp", "clang-c/Index.h"),
    ],
)
def test_allowed_include_passes(path, include):
    assert refusal(path, include) is None


def test_include_of_higher_folder_is_found_in_tree(tmp_path):
    bad = tmp_path / "src" / "memory" / "pool.cpp"
    bad.parent.mkdir(parents=True)
    bad.write_text("// The pool.\n#include <vector>\n  #  include <Python.h>\n")
    assert [why.split(":")[0] for why in refusals(tmp_path)] == ["src/memory/pool.cpp"]

"""The installed package: files for authors of extensions, and its dependencies."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path
from typing import Any

import pytest

from support.processes import output_of

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import version  # noqa: E402


def run(*command: object, **options: Any) -> str:
    return output_of(command, **options)


@pytest.fixture(scope="module")
def cmake_dir() -> Path:
    return Path(run(sys.executable, "-m", "entrepot", "--cmake-dir").strip())


def test_version_matches_pyproject():
    import entrepot

    assert entrepot.__version__ == importlib.metadata.version("entrepot")
    assert entrepot.__version__.partition("+")[0] == version.written()


def first_include(header: Path) -> str:
    found = re.search(r"^#include [<\"](.*)[>\"]", header.read_text(), re.MULTILINE)
    return found[1] if found else ""


def test_find_package_from_the_wheel(cmake_dir, tmp_path):
    """Every installed header compiles, alone, with what find_package(entrepot) gives.

    A header that another one includes first is then compiled alone, too, and needs no file.
    """
    headers = sorted(
        path.relative_to(cmake_dir.parent / "include")
        for path in cmake_dir.parent.glob("include/entrepot/**/*.h*")
    )
    sources = (ROOT / "include").glob("entrepot/**/*.h*")
    assert set(headers) == {path.relative_to(ROOT / "include") for path in sources}
    for declarations in ("adapters.pxd", "c_api.pxd"):
        assert (cmake_dir.parent / declarations).is_file(), "for Cython, beside the module"
    include = cmake_dir.parent / "include"
    included = {first_include(include / header) for header in headers}
    for number, header in enumerate(each for each in headers if str(each) not in included):
        (tmp_path / f"header{number}.cpp").write_text(f"#include <{header}>\n#include <{header}>\n")
    (tmp_path / "CMakeLists.txt").write_text(
        textwrap.dedent("""
            cmake_minimum_required(VERSION 3.25)
            project(consumer LANGUAGES CXX)
            find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
            execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --include_dir
                            OUTPUT_VARIABLE nanobind OUTPUT_STRIP_TRAILING_WHITESPACE)
            find_package(entrepot 0.1 CONFIG REQUIRED)
            file(GLOB sources *.cpp)
            add_library(consumer OBJECT ${sources})
            target_include_directories(consumer SYSTEM PRIVATE ${nanobind})
            target_link_libraries(consumer PRIVATE entrepot::headers Python::Module)
            target_compile_options(consumer PRIVATE -Wall -Wextra -Werror)
        """)
    )
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja",
        f"-Dentrepot_DIR={cmake_dir}",
        f"-DPython_EXECUTABLE={sys.executable}")  # fmt: skip
    run("cmake", "--build", tmp_path / "build")


@pytest.mark.parametrize("order", [("array", "python"), ("python", "array")])
def test_headers_of_both_arrays_in_one_file_are_refused(tmp_path: Path, order) -> None:
    source = tmp_path / "both.cpp"
    source.write_text("".join(f"#include <entrepot/{each}/array.hpp>\n" for each in order))
    done = subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", source,
         f"-I{ROOT / 'include'}", f"-I{sysconfig.get_path('include')}"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode != 0
    assert "entrepot::Array is defined already" in done.stderr


def test_pkg_config_gives_the_headers(tmp_path: Path) -> None:
    """A C extension without CMake: one compiler command."""
    if not shutil.which("pkg-config"):
        pytest.skip("pkg-config is not installed")
    found = run(sys.executable, "-m", "entrepot", "--pkg-config").strip()
    flags = run("pkg-config", "--cflags", "entrepot", env={**os.environ, "PKG_CONFIG_PATH": found})
    source = ROOT / "examples" / "extensions" / "scale_c.c"
    run(os.environ.get("CC", "cc"), "-shared", "-fPIC", source, *flags.split(),
        f"-I{sysconfig.get_path('include')}",
        "-o", tmp_path / f"scale_c{sysconfig.get_config_var('EXT_SUFFIX')}")  # fmt: skip
    program = "import scale_c; a = bytearray(8); scale_c.scale(memoryview(a).cast('d'), 2.0)"
    run(sys.executable, "-c", program, env={**os.environ, "PYTHONPATH": str(tmp_path)})


@pytest.mark.parametrize(
    ("environment", "needed"),
    [
        ({}, {"intel-sycl-rt", "nvidia-cuda-runtime", "nvidia-cuda-nvrtc"}),
        ({"ENTREPOT_SYCL": "OFF"}, {"nvidia-cuda-runtime", "nvidia-cuda-nvrtc"}),
        ({"ENTREPOT_CUDA": "off"}, {"intel-sycl-rt"}),
        ({"ENTREPOT_SYCL": "0", "ENTREPOT_CUDA": "false"}, set()),
    ],
    ids=["default", "no SYCL", "no CUDA", "neither"],
)
def test_isolated_build_requires_headers(environment, needed):
    """Packages that pip installs for an isolated build. CI's builds are not isolated."""
    if platform.machine() != "x86_64":
        needed = needed - {"intel-sycl-rt"}
    program = (
        "from scikit_build_core.build import get_requires_for_build_wheel as needs; "
        "print(*needs(), sep='\\n')"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ENTREPOT_")}
    rows = run(sys.executable, "-c", program, cwd=ROOT, env=clean | environment).splitlines()
    assert {re.findall("^[a-z-]+", row)[0] for row in rows} - {"cmake", "ninja"} == needed


def test_wheel_has_no_run_time_requirements():
    required = [
        row for row in importlib.metadata.requires("entrepot") or [] if "extra ==" not in row
    ]
    assert required == []


def test_import_alone_brings_no_array_library():
    loaded = run(sys.executable, "-c", "import sys, entrepot; print(*sys.modules)").split()
    assert not {"numpy", "dpctl", "dpnp", "torch", "jax", "cupy", "rich"} & set(loaded)


def exported_names(library: str | Path) -> set[str]:
    rows = run("nm", "--dynamic", "--defined-only", "--format=posix", library).splitlines()
    return {row.split()[0] for row in rows}


def test_extension_exports_its_own_symbols_only():
    """Symbols of the C++ library shared with another module's copy once made numbers unprintable
    beside NumPy."""
    import entrepot._core

    names = exported_names(entrepot._core.__file__)
    assert "PyInit__core" in names
    assert [name for name in names if not name.startswith(("PyInit_", "entrepot_"))] == []


def test_library_exports_names_of_entrepot_only(cmake_dir):
    """Neither private functions nor templates of the C++ library, which every program has."""
    (library,) = cmake_dir.parent.glob("libentrepot.so*")
    names = exported_names(library)
    assert any("5Array5empty" in name for name in names)
    assert [name for name in names if not re.match("_Z(T[IVSHW])?NK?[RO]?8entrepot", name)] == []
    private = "_ZN8entrepot8Segments"
    assert "class Segments" in (ROOT / "src/memory/segments.hpp").read_text()
    assert [name for name in names if name.startswith(private)] == []
    kinds = run("nm", "--dynamic", "--defined-only", "--format=posix", library)
    assert not re.search(r"^\S+ u ", kinds, re.MULTILINE), "one copy for all versions in a process"


@pytest.mark.parametrize("device", ["host", pytest.param("opencl:cpu:0", marks=pytest.mark.sycl)])
def test_program_without_cmake_links_the_library(tmp_path, device):
    if not shutil.which("pkg-config"):
        pytest.skip("pkg-config is not installed")
    found = run(sys.executable, "-m", "entrepot", "--pkg-config").strip()
    env = {**os.environ, "PKG_CONFIG_PATH": found}
    flags = run("pkg-config", "--cflags", "--libs", "entrepot", env=env).split()
    folder = run("pkg-config", "--variable=libdir", "entrepot", env=env).strip()
    source = ROOT / "examples" / "cpp" / "two_queues.cpp"
    run(os.environ.get("CXX", "c++"), "-std=c++20", source, *flags, f"-Wl,-rpath,{folder}",
        "-o", tmp_path / "two_queues")  # fmt: skip
    # Without the variables by which the tests find the runtimes.
    kept = ("OCL_ICD_FILENAMES", "PATH")
    bare = {name: value for name, value in os.environ.items() if name in kept}
    assert run(tmp_path / "two_queues", device, env=bare) == f"{device}: 338350\n"


def test_library_is_installed_without_python(tmp_path):
    """Compiled by Clang, if it is there, and used by programs of the default compiler."""
    build, prefix = tmp_path / "build", tmp_path / "prefix"
    clang = shutil.which("clang++")
    run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", f"-DCMAKE_INSTALL_PREFIX={prefix}",
        "-DENTREPOT_PYTHON=OFF", "-DENTREPOT_SYCL=OFF", "-DENTREPOT_CUDA=OFF",
        "-DENTREPOT_UNITY_BUILD=ON", "-DCMAKE_BUILD_TYPE=Debug",
        *([f"-DCMAKE_CXX_COMPILER={clang}"] if clang else []))  # fmt: skip
    run("cmake", "--build", build, "--target", "install")
    found = {path.name for path in prefix.rglob("*") if path.is_file()}
    assert {"libentrepot.so", "libentrepot_hip.so", "entrepot.pc"} <= found
    if shutil.which("pkg-config"):
        (described,) = prefix.rglob("entrepot.pc")
        env = {**os.environ, "PKG_CONFIG_PATH": str(described.parent)}
        folder = run("pkg-config", "--variable=includedir", "entrepot", env=env).strip()
        assert Path(folder).resolve() == prefix / "include"
    run("cmake", "-S", ROOT / "examples" / "cpp", "-B", tmp_path / "examples", "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_DISABLE_FIND_PACKAGE_Python=ON")  # fmt: skip
    run("cmake", "--build", tmp_path / "examples")
    assert run(tmp_path / "examples" / "two_queues", "host") == "host: 338350\n"


def test_plugins_export_their_entry_points_only():
    """The plugins of CUDA and HIP define different things under equal names."""
    import entrepot

    plugins = list(Path(entrepot.__file__).parent.glob("libentrepot_*.so"))
    assert plugins
    for plugin in plugins:
        names = exported_names(plugin)
        assert "entrepot_backend" in names, plugin
        assert names <= {"entrepot_backend", "entrepot_driver_path"}, plugin


def test_libraries_need_only_the_cpp_runtime_and_the_plugin_sycl():
    """The host's executor is Entrepot's own: no TBB, no OpenMP. Drivers are looked for at run
    time."""
    import entrepot

    folder = Path(entrepot.__file__).parent
    libraries = {path for path in folder.rglob("*.so*") if path.is_file()}
    assert any(path.name.startswith("_core.") for path in libraries)
    usual = (
        r"libstdc\+\+\.so\.6|libgcc_s\.so\.1|lib(c|m|dl|pthread|rt|atomic)\.so\.\d"
        r"|ld-linux[\w-]*\.so\.\d"
    )
    for library in libraries:
        needed = re.findall(
            r"\(NEEDED\).*\[(.+)\]",
            run("readelf", "--dynamic", "--wide", library, env=os.environ | {"LC_ALL": "C"}),
        )
        allowed = usual
        if library.name.startswith("libentrepot_sycl"):
            allowed += r"|libsycl\.so\.\d+"
        if library.name.startswith("_core."):
            allowed += r"|libentrepot\.so\.\d+\.\d+"
        assert needed
        assert [name for name in needed if not re.fullmatch(allowed, name)] == [], library


@pytest.mark.sycl
def test_sycl_plugin_is_beside_extension():
    import entrepot._core

    assert (Path(entrepot._core.__file__).parent / "libentrepot_sycl9.so").is_file()

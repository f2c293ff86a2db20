"""Host kernels with each of the supported compilers: the examples, checked against NumPy."""

from __future__ import annotations

import platform
import shutil

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.examples import EXAMPLES, texts_of

pytestmark = [pytest.mark.numpy, pytest.mark.host]


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_examples_compile_with_each_host_compiler(compiler, name, monkeypatch, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    calls, listens = tmp_path / "calls", tmp_path / "listens"
    listens.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexec {compiler} "$@"\n')
    listens.chmod(0o755)
    monkeypatch.setenv("CXX", str(listens))
    monkeypatch.setenv("ENTREPOT_CACHE_DIR", str(tmp_path / "cache"))
    assert texts_of(name, "c++"), "what the kernels of the example were compiled from when they ran"
    assert calls.read_text().count(".cpp") > 0, "another compiler was asked"


@dppy.kernel
def of_a_range(out, x, y):
    i = dppy.get_global_id(0)
    if x[i] > 0:
        out[i] = x[i] * 2 + y[i]
    else:
        out[i] = y[i]


@dppy.kernel
def of_groups(out, x, y):
    i, own = dppy.get_global_id(0), dppy.get_local_id(0)
    shared = dppy.local.array(64, dppy.float32)
    shared[own] = x[i] * y[i]
    dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
    out[i] = shared[own] + shared[0]


@dppy.kernel
def of_items_that_add_to_one_place(out, x, y):
    """A control: no compiler may vectorize atomics."""
    i = dppy.get_global_id(0)
    dppy.atomic.add(out, 0, x[i] * y[i])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="seen on x86-64 only")
@pytest.mark.parametrize(
    "kernel,local,is_vectorized",
    [
        (of_a_range, None, True),
        (of_groups, 64, True),
        (of_items_that_add_to_one_place, None, False),
    ],
)
def test_loops_over_work_items_are_vectorized(kernel, local, is_vectorized, monkeypatch, tmp_path):
    """GCC says so."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    told, tells = tmp_path / "told", tmp_path / "tells"
    tells.write_text(f'#!/bin/sh\nexec g++ -fopt-info-vec-optimized={told} "$@"\n')
    tells.chmod(0o755)
    monkeypatch.setenv("CXX", str(tells))
    monkeypatch.setenv("ENTREPOT_CACHE_DIR", str(tmp_path / "cache"))
    out, x, y = np.zeros(1024, "f4"), np.ones(1024, "f4"), np.ones(1024, "f4")
    with ep.device_context("host"):
        dppy.kernel(kernel.function)[1024, local](out, x, y)
    assert ("loop vectorized" in told.read_text()) == is_vectorized


def test_absent_compiler_raises_device_error(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ENTREPOT_CACHE_DIR", "")
    with ep.device_context("host"), pytest.raises(ep.DeviceError, match="compiler"):
        dppy.kernel(of_a_range.function)[4, None](*(np.ones(4, "f2") for _ in range(3)))


def test_dialect_that_the_device_lacks_raises_device_error():
    with (
        ep.device_context("host"),
        pytest.raises(ep.DeviceError, match=r"does not build CUDA C\+\+.*builds: 'c\+\+'"),
    ):
        of_a_range.options(dialect="cuda")[4, None](*(np.ones(4, "f4") for _ in range(3)))


@pytest.fixture
def use_compiler(tmp_path, monkeypatch):
    """Makes a shell script the compiler of the host, without a cache."""

    def use(script: str) -> None:
        compiler = tmp_path / "compiler"
        compiler.write_text(script)
        compiler.chmod(0o755)
        monkeypatch.setenv("CXX", str(compiler))
        monkeypatch.setenv("ENTREPOT_CACHE_DIR", "")

    return use


@pytest.mark.parametrize(
    ("source", "options", "library"),
    [
        ("", "", "archive"),
        ("#include <vector>\n", "", "shared"),
        ("", "-stdlib=libstdc++", "shared"),
    ],
)
def test_source_without_headers_is_linked_with_the_archive(
    tmp_path, use_compiler, source, options, library
):
    listed = tmp_path / "listed"
    use_compiler(
        f'#!/bin/sh\necho "$@" >>{listed}\n'
        'for word; do [ "$word" = -stdlib=libstdc++ ] || set -- "$@" "$word"; shift; done\n'
        'exec c++ "$@"\n'
    )
    ep.Program(
        source + 'extern "C" void none(const long long *, void *const *) {}',
        "host",
        options=options,
    )
    build = listed.read_text().splitlines()[-1]
    assert ("-static-libstdc++" in build) == (library == "archive")


def test_unusable_archive_is_replaced_by_the_shared_library(use_compiler):
    use_compiler(
        "#!/bin/sh\n"
        "for word; do case $word in -static*)\n"
        '    echo "ld: libstdc++.a(new.o): relocation R_X86_64_32; recompile with -fPIC"; exit 1\n'
        "esac; done\n"
        'exec c++ "$@"\n'
    )
    program = ep.Program('extern "C" void none(const long long *, void *const *) {}', "host")
    assert program.log == ""


def test_absent_archive_is_not_linked(tmp_path, use_compiler):
    listed = tmp_path / "listed"
    use_compiler(
        f'#!/bin/sh\necho "$@" >>{listed}\n'
        "case $1 in -print-file-name=*) echo libstdc++.a; exit ;; esac\n"
        'exec c++ "$@"\n'
    )
    ep.Program('extern "C" void none(const long long *, void *const *) {}', "host")
    assert "-static-libstdc++" not in listed.read_text()


def test_program_without_headers_may_use_the_cxx_library():
    text = """
        void *operator new(decltype(sizeof 0));
        static int &counter() {
            static int &made = *new int(40);
            return made;
        }
        extern "C" void count(const long long *, void *const *arguments) {
            *(int *)arguments[0] = counter() += 2;
        }"""
    out = ep.zeros(1, "int32", device="host")
    ep.Program(text, "host").kernel("count")[1](out).wait()
    assert out[0].item() == 42

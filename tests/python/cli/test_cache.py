"""``entrepot cache`` finds what the backends keep, in the place where they keep it, and takes it away."""

from __future__ import annotations

import array
import subprocess
import sys
from pathlib import Path

import pytest

import entrepot as ep
from entrepot import _core, code_cache

SOURCE = """
extern "C" void one_more(const long long *range, void *const *arguments) {
    for (long long i = range[10]; i < range[11]; ++i)
        ((int *)arguments[0])[i] += 1;
}
"""


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "entrepot", "cache", *arguments], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("ENTREPOT_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.host
def test_what_the_host_compiled_is_listed_and_cleared(place):
    assert code_cache.kept("host") == []
    ep.Program(SOURCE, "host")
    assert len(code_cache.kept("host")) == 1
    assert any(line.startswith("host ") and " 1 " in line for line in run("list").splitlines())
    assert "Removed 1 entry" in run("clear")
    assert code_cache.kept("host") == []


@pytest.mark.host
def test_what_is_kept_is_used_and_right(place):
    ep.Program(SOURCE, "host")
    (kept,) = code_cache.kept("host")
    written = kept.stat().st_mtime_ns
    numbers = array.array("i", [1, 2, 3])
    ep.Program(SOURCE, "host").kernel("one_more")[3](numbers).wait()
    assert numbers.tolist() == [2, 3, 4]
    assert kept.stat().st_mtime_ns == written
    assert len(code_cache.kept("host")) == 1


@pytest.mark.host
def test_other_source_options_and_compilers_have_entries_of_their_own(place, monkeypatch):
    ep.Program(SOURCE, "host")
    ep.Program(SOURCE + "// changed\n", "host")
    ep.Program(SOURCE, "host", options="-DSOMETHING=1")
    monkeypatch.setenv("CXX", "g++ -fno-strict-aliasing")
    ep.Program(SOURCE, "host")
    assert len(code_cache.kept("host")) == 4


@pytest.mark.host
def test_source_that_depends_on_files_is_not_kept(place, tmp_path):
    (tmp_path / "one.h").write_text("")
    ep.Program(SOURCE, "host", options=f"-I{tmp_path}")
    assert code_cache.kept("host") == []


@pytest.mark.host
@pytest.mark.parametrize("form", ['#include"{}"', '# include "{}"', "#include <{}>"])
def test_a_header_that_was_edited_is_read_again_by_the_host(place, tmp_path, form):
    header = tmp_path / "by.h"
    source = form.format(header) + SOURCE.replace("+= 1", "+= BY")
    numbers = array.array("i", [0])
    for by in (1, 20):
        header.write_text(f"#define BY {by}\n")
        ep.Program(source, "host").kernel("one_more")[1](numbers).wait()
    assert numbers.tolist() == [21]


@pytest.mark.host
def test_the_compilers_own_headers_are_no_files_unless_the_environment_adds_folders(place, tmp_path, monkeypatch):
    (tmp_path / "by.h").write_text("#define BY 1\n")
    monkeypatch.setenv("CPATH", str(tmp_path))
    ep.Program("#include <by.h>\n" + SOURCE, "host")
    assert code_cache.kept("host") == []
    monkeypatch.delenv("CPATH")
    ep.Program("#include <cmath>\n" + SOURCE, "host")
    assert len(code_cache.kept("host")) == 1


@pytest.mark.host
def test_a_damaged_entry_is_compiled_again(place):
    ep.Program(SOURCE, "host")
    (kept,) = code_cache.kept("host")
    kept.write_bytes(kept.read_bytes()[:-100])
    numbers = array.array("i", [1, 2, 3])
    ep.Program(SOURCE, "host").kernel("one_more")[3](numbers).wait()
    assert numbers.tolist() == [2, 3, 4]


@pytest.mark.host
def test_an_entry_that_cannot_be_read_is_compiled_again(place):
    ep.Program(SOURCE, "host")
    (kept,) = code_cache.kept("host")
    kept.unlink()
    kept.mkdir()  # opens, and gives an error when it is read
    numbers = array.array("i", [1, 2, 3])
    ep.Program(SOURCE, "host").kernel("one_more")[3](numbers).wait()
    assert numbers.tolist() == [2, 3, 4]


@pytest.mark.sycl
def test_binaries_of_opencl_are_kept_and_right(place):
    source = "kernel void one_more(global int *data) { data[get_global_id(0)] += 1; }"
    for expected in (1, 2):
        numbers = ep.zeros(3, "int32", device="opencl:cpu", kind="shared")
        for _ in range(expected):
            ep.Program(source, "opencl:cpu").kernel("one_more")[3](numbers).wait()
        assert memoryview(numbers).tolist() == [expected] * 3
        assert len(code_cache.kept("opencl")) == 1


@pytest.mark.sycl
@pytest.mark.parametrize("form", ['#include "{}"', '# include "{}"', '%:include "{}"', "#include <{}>"])
def test_a_header_that_was_edited_is_read_again_by_opencl(place, tmp_path, form):
    header = tmp_path / "by.h"
    source = form.format(header) + "\nkernel void more(global int *data) { data[0] += BY; }"
    numbers = ep.zeros(1, "int32", device="opencl:cpu", kind="shared")
    for by in (1, 20):
        header.write_text(f"#define BY {by}\n")
        ep.Program(source, "opencl:cpu").kernel("more")[1](numbers).wait()
    assert memoryview(numbers).tolist() == [21]


def test_every_backend_has_its_kind():
    kind_of = {"sycl": "opencl"}
    assert {kind_of.get(name, name) for name, _, _ in _core.backends()} <= set(code_cache.KINDS)


def test_nothing_is_kept_where_the_place_is_empty(monkeypatch):
    monkeypatch.setenv("ENTREPOT_CACHE_DIR", "")
    assert code_cache.directory() is None
    assert "Nothing is kept" in run()


@pytest.mark.host
def test_a_folder_that_others_may_write_is_no_cache(place):
    (place / "host").mkdir()
    (place / "host").chmod(0o777)
    ep.Program(SOURCE, "host")
    assert code_cache.kept("host") == []
    (place / "host").chmod(0o700)
    ep.Program(SOURCE, "host")
    assert len(code_cache.kept("host")) == 1


@pytest.mark.host
def test_other_processes_write_and_remove_files_meanwhile(place, monkeypatch):
    ep.Program(SOURCE, "host")
    (kept,) = code_cache.kept("host")
    written = kept.with_name(kept.name + ".a1b2c3")
    written.write_bytes(b"begun")
    gone = kept.with_name("gone")
    monkeypatch.setattr(Path, "iterdir", lambda folder: iter([written, gone, kept] if folder.name == "host" else []))
    assert code_cache.kept("host") == [kept]
    assert code_cache._sums("host")[0] == "1"
    assert code_cache._cleared().startswith("1 entry ")
    assert not kept.exists() and not written.exists()

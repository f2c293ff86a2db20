"""``entrepot cache`` lists what the backends cache, with its folder, and removes it."""

from __future__ import annotations

import array
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import entrepot as ep
from entrepot import _core, code_cache
from support.processes import completed, entrepot

SOURCE = """
extern "C" void one_more(const long long *range, void *const *arguments) {
    for (long long i = range[10]; i < range[11]; ++i)
        ((int *)arguments[0])[i] += 1;
}
"""


def run(*arguments: str) -> str:
    return entrepot("cache", *arguments, timeout=60, check=True).stdout


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("ENTREPOT_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.host
def test_compiled_program_is_listed_and_cleared(place):
    assert code_cache.kept("host") == []
    ep.Program(SOURCE, "host")
    assert len(code_cache.kept("host")) == 1
    assert any(line.startswith("host ") and " 1 " in line for line in run("list").splitlines())
    assert "Removed 1 entry" in run("clear")
    assert code_cache.kept("host") == []


@pytest.mark.host
def test_cached_program_is_used_and_correct(place):
    ep.Program(SOURCE, "host")
    (kept,) = code_cache.kept("host")
    written = kept.stat().st_mtime_ns
    numbers = array.array("i", [1, 2, 3])
    ep.Program(SOURCE, "host").kernel("one_more")[3](numbers).wait()
    assert numbers.tolist() == [2, 3, 4]
    assert kept.stat().st_mtime_ns == written
    assert len(code_cache.kept("host")) == 1


@pytest.mark.host
def test_source_options_and_compiler_are_part_of_the_key(place, monkeypatch):
    ep.Program(SOURCE, "host")
    ep.Program(SOURCE + "// changed\n", "host")
    ep.Program(SOURCE, "host", options="-DSOMETHING=1")
    monkeypatch.setenv("CXX", "g++ -fno-strict-aliasing")
    ep.Program(SOURCE, "host")
    assert len(code_cache.kept("host")) == 4


@pytest.mark.host
def test_source_with_includes_is_not_cached(place, tmp_path):
    (tmp_path / "one.h").write_text("")
    ep.Program(SOURCE, "host", options=f"-I{tmp_path}")
    assert code_cache.kept("host") == []


@pytest.mark.host
@pytest.mark.parametrize("form", ['#include"{}"', '# include "{}"', "#include <{}>"])
def test_edited_header_is_read_again_by_host(place, tmp_path, form):
    header = tmp_path / "by.h"
    source = form.format(header) + SOURCE.replace("+= 1", "+= BY")
    numbers = array.array("i", [0])
    for by in (1, 20):
        header.write_text(f"#define BY {by}\n")
        ep.Program(source, "host").kernel("one_more")[1](numbers).wait()
    assert numbers.tolist() == [21]


VALUE = 'extern "C" void k(const long long *, void *const *a) { *(int *)a[0] = VALUE; }'
CALL = (
    'extern "C" int value(); '
    'extern "C" void k(const long long *, void *const *a) { *(int *)a[0] = value(); }'
)
HEADER, HELPER = "#define VALUE {}\n", 'extern "C" int value() {{ return {}; }}'


@pytest.mark.host
@pytest.mark.parametrize(
    ("options", "source", "text"),
    [
        ("{}.cpp", CALL, HELPER),
        ("--include={}.cpp", VALUE, HEADER),
        ("-include {}.cpp", VALUE, HEADER),
        ("-imacros {}.cpp", VALUE, HEADER),
        ("-Wp,-include,{}.cpp", VALUE, HEADER),
        ("-Xpreprocessor -include -Xpreprocessor {}.cpp", VALUE, HEADER),
        ("@{}.cpp", VALUE, "-DVALUE={}"),
    ],
    ids=lambda each: each if "{}.cpp" in each else "",
)
def test_file_named_by_options_is_read_again(place, tmp_path, options, source, text):
    file = tmp_path / "file.cpp"
    found = []
    for value in (1, 2):
        file.write_text(text.format(value))
        out = array.array("i", [0])
        ep.Program(source, "host", options=options.format(tmp_path / "file")).kernel("k")[1](
            out
        ).wait()
        found.append(out[0])
    assert found == [1, 2]
    assert code_cache.kept("host") == []


@pytest.mark.host
@pytest.mark.parametrize(
    "options",
    ["-DBY=1 -U BY -O2", "-std=c++20 -Wno-unused", "-mno-avx2 -ffast-math -funroll-loops"],
)
def test_options_that_name_no_file_are_kept(place, options):
    ep.Program(SOURCE, "host", options=options)
    assert len(code_cache.kept("host")) == 1


@pytest.mark.host
def test_cxx_options_with_a_file_are_not_cached(place, tmp_path, monkeypatch):
    (tmp_path / "by.h").write_text("")
    monkeypatch.setenv("CXX", f"g++ -include {tmp_path / 'by.h'}")
    ep.Program(SOURCE, "host")
    assert code_cache.kept("host") == []


@pytest.mark.host
@pytest.mark.parametrize("name", ["COMPILER_PATH", "GCC_EXEC_PREFIX"])
def test_programs_named_by_the_environment_are_not_kept(place, tmp_path, monkeypatch, name):
    compiler = "clang++" if name == "GCC_EXEC_PREFIX" else "g++"  # which ignores it
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    monkeypatch.setenv("CXX", compiler)
    monkeypatch.setenv(name, str(tmp_path))
    ep.Program(SOURCE, "host")
    assert code_cache.kept("host") == []


@pytest.mark.sycl
@pytest.mark.parametrize(
    ("options", "count"),
    [("-DX=1 -D Y=2 -cl-fast-relaxed-math -Werror", 1), ("-I{}", 0), ("-include {}/h", 0)],
)
def test_opencl_options_with_files_are_not_cached(place, tmp_path, options, count):
    (tmp_path / "h").write_text("")
    with contextlib.suppress(ep.KernelError, ValueError):  # a driver need not know the option
        ep.Program(
            "kernel void f(global int *data) { data[0] = 1; }",
            "opencl:cpu",
            options=options.format(tmp_path),
        )
    assert len(code_cache.kept("opencl")) == count


@pytest.mark.host
def test_compiler_headers_are_cached_unless_cpath_is_set(place, tmp_path, monkeypatch):
    (tmp_path / "by.h").write_text("#define BY 1\n")
    monkeypatch.setenv("CPATH", str(tmp_path))
    ep.Program("#include <by.h>\n" + SOURCE, "host")
    assert code_cache.kept("host") == []
    monkeypatch.delenv("CPATH")
    ep.Program("#include <cmath>\n" + SOURCE, "host")
    assert len(code_cache.kept("host")) == 1


@pytest.mark.host
def test_damaged_entry_is_compiled_again(place):
    ep.Program(SOURCE, "host")
    (kept,) = code_cache.kept("host")
    kept.write_bytes(kept.read_bytes()[:-100])
    numbers = array.array("i", [1, 2, 3])
    ep.Program(SOURCE, "host").kernel("one_more")[3](numbers).wait()
    assert numbers.tolist() == [2, 3, 4]


@pytest.mark.host
@pytest.mark.filterwarnings("ignore::entrepot.EntrepotWarning")
def test_unreadable_entry_is_compiled_again(place):
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
@pytest.mark.parametrize(
    "form", ['#include "{}"', '# include "{}"', '%:include "{}"', "#include <{}>"]
)
def test_edited_header_is_read_again_by_opencl(place, tmp_path, form):
    header = tmp_path / "by.h"
    source = form.format(header) + "\nkernel void more(global int *data) { data[0] += BY; }"
    numbers = ep.zeros(1, "int32", device="opencl:cpu", kind="shared")
    for by in (1, 20):
        header.write_text(f"#define BY {by}\n")
        ep.Program(source, "opencl:cpu").kernel("more")[1](numbers).wait()
    assert memoryview(numbers).tolist() == [21]


def test_backends_all_have_a_kind():
    kind_of = {"sycl": "opencl"}
    assert {kind_of.get(name, name) for name, _, _ in _core.backends()} <= set(code_cache.KINDS)


def test_empty_folder_setting_disables_the_cache(monkeypatch):
    monkeypatch.setenv("ENTREPOT_CACHE_DIR", "")
    assert code_cache.directory() is None
    assert "Nothing is kept" in run()


@pytest.mark.host
@pytest.mark.filterwarnings("ignore::entrepot.EntrepotWarning")
def test_world_writable_folder_is_no_cache(place):
    (place / "host").mkdir()
    (place / "host").chmod(0o777)
    ep.Program(SOURCE, "host")
    assert code_cache.kept("host") == []
    assert f"{place / 'host'}: it belongs to another user, or others may write there" in run()
    (place / "host").chmod(0o700)
    ep.Program(SOURCE, "host")
    assert len(code_cache.kept("host")) == 1


@pytest.mark.host
def test_files_of_other_processes_are_tolerated(place, monkeypatch):
    ep.Program(SOURCE, "host")
    (kept,) = code_cache.kept("host")
    written = kept.with_name(kept.name + ".a1b2c3")
    written.write_bytes(b"entrepot code 1\n")
    gone = kept.with_name("gone")
    monkeypatch.setattr(
        Path, "iterdir", lambda folder: iter([written, gone, kept] if folder.name == "host" else [])
    )
    assert code_cache.kept("host") == [kept]
    assert code_cache._sums("host")[0] == "1"
    assert code_cache._cleared().startswith("1 entry ")
    assert not kept.exists() and not written.exists()


def test_clear_leaves_other_files(place):
    folder = place / "cuda"
    folder.mkdir()
    name = "0123456789abcdef"
    others = [
        "my_kernels.cu",
        name,
        "0123456789abcdef.cu",
        "0123456789abcde",
        "0123456789ABCDEF",
        "0123456789abcdef.txt",
    ]
    for other in others:
        (folder / other).write_text("// the work of a week")
    (folder / "fedcba9876543210").symlink_to(folder / name)
    (folder / "0123456789abcdef.0a1b2c").mkdir()
    ours = ["00112233445566aa", "00112233445566aa.00ff00", "00112233445566bb.00ff00"]
    for our in ours:
        (folder / our).write_bytes(b"" if "bb" in our else b"entrepot code 1\n0 0 0\n")
    assert [path.name for path in code_cache.kept("cuda")] == [ours[0]]
    assert "Removed 1 entry" in run("clear")
    left = sorted(path.name for path in folder.iterdir())
    assert left == sorted([*others, "fedcba9876543210", "0123456789abcdef.0a1b2c"])


UNWRITABLE = """
import sys, warnings
import entrepot as ep

warnings.simplefilter("always")
source = 'extern "C" void k(const long long *, void *const *a) {{ *(int *)a[0] = {}; }}'
for number in range(3):
    ep.Program(source.format(number), "host")
print("three programs")
"""


FOLDERS = ("ENTREPOT_CACHE_DIR", "XDG_CACHE_HOME", "HOME")


def run_unwritable(
    folder: Path, *options: str, program: str = UNWRITABLE
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ENTREPOT_CACHE_DIR": str(folder)}
    return completed([sys.executable, *options, "-c", program], env=environment, timeout=60)


@pytest.fixture(params=["a file in its place", "a file above it", "/proc"])
def unwritable(request, tmp_path):
    if request.param == "/proc":
        return Path("/proc/no/such/place"), "No such file"
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / ("below" if "above" in request.param else ""), "Not a directory"


@pytest.mark.host
class TestUnwritable:
    def test_unwritable_cache_warns_once_with_path_and_reason(self, unwritable):
        folder, reason = unwritable
        done = run_unwritable(folder)
        assert (done.returncode, done.stdout) == (0, "three programs\n"), done.stderr
        assert done.stderr.count("EntrepotWarning") == 1
        assert f"compiled code cannot be kept in {folder / 'host'}: {reason}" in done.stderr
        assert "ENTREPOT_CACHE_DIR" in done.stderr

    def test_cache_without_folder_warns_once_with_remedy(self):
        without = {name: value for name, value in os.environ.items() if name not in FOLDERS}
        done = completed([sys.executable, "-c", UNWRITABLE], env=without, timeout=60)
        assert (done.returncode, done.stdout) == (0, "three programs\n"), done.stderr
        assert done.stderr.count("EntrepotWarning") == 1
        assert (
            "compiled code cannot be kept: ENTREPOT_CACHE_DIR, XDG_CACHE_HOME and HOME are not set"
            in done.stderr
        )
        assert "set ENTREPOT_CACHE_DIR to a folder" in done.stderr

    def test_command_without_folder_names_the_variables(self, monkeypatch):
        for name in FOLDERS:
            monkeypatch.delenv(name, raising=False)
        assert "ENTREPOT_CACHE_DIR, XDG_CACHE_HOME and HOME are not set" in run()

    def test_warning_filter_raises_error(self, tmp_path):
        (tmp_path / "file").write_text("")
        program = UNWRITABLE.replace('"always"', '"error", ep.EntrepotWarning')
        done = run_unwritable(tmp_path / "file", program=program)
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].startswith(
            "entrepot.EntrepotWarning: compiled code cannot be kept in "
        )

    def test_warning_filter_silences_warning(self, tmp_path):
        (tmp_path / "file").write_text("")
        program = UNWRITABLE.replace('"always"', '"ignore", ep.EntrepotWarning')
        done = run_unwritable(tmp_path / "file", program=program)
        assert (done.returncode, done.stderr) == (0, "")

    def test_command_reports_unwritable_folder(self, unwritable, monkeypatch):
        folder, reason = unwritable
        monkeypatch.setenv("ENTREPOT_CACHE_DIR", str(folder))
        (said,) = [
            line for line in run().splitlines() if line.startswith("Nothing can be kept in ")
        ]
        assert reason in said or "Not a directory" in said

    def test_writable_cache_does_not_warn(self, tmp_path):
        done = run_unwritable(tmp_path / "new")
        assert (done.returncode, done.stderr) == (0, "")
        assert len(list((tmp_path / "new" / "host").iterdir())) == 3

    def test_command_creates_no_folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("ENTREPOT_CACHE_DIR", str(tmp_path / "new" / "cache"))
        assert "Nothing can be kept" not in run()
        assert list(tmp_path.iterdir()) == []


EXCHANGED = """
import sys
import entrepot as ep

source = 'extern "C" void k(const long long *, void *const *a) { *(int *)a[0] = 41; }'
out = ep.zeros(1, "int32", device="host")
for _ in range(int(sys.argv[1])):
    ep.Program(source, "host").kernel("k")[1](out).wait()
    assert out.item() == 41
"""


@pytest.mark.host
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")
def test_folder_replaced_by_another_user_is_not_used(tmp_path):
    """A user with write access to the parent folder replaces the cache folder repeatedly."""
    import ctypes
    import tempfile

    other = 65534
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        shared = Path(top, "shared")
        shared.mkdir()
        os.chown(shared, other, other)
        shared.chmod(0o777)
        environment = {**os.environ, "ENTREPOT_CACHE_DIR": str(shared)}
        subprocess.run(
            [sys.executable, "-c", EXCHANGED, "1"], env=environment, timeout=60, check=True
        )
        (kept,) = (shared / "host").iterdir()
        mark, head, rest = kept.read_bytes().split(b"\n", 2)
        key = int(head.split()[0])
        planted = rest[key:].replace(
            b"\xc7\x00\x29\x00\x00\x00", b"\xc7\x00\x42\x00\x00\x00"
        )  # 41 becomes 66
        assert planted != rest[key:]
        state = 0xCBF29CE484222325
        for byte in planted:
            state = ((state ^ byte) * 0x100000001B3) % 2**64
        child = os.fork()
        if child == 0:
            try:
                os.setgid(other)
                os.setuid(other)
                theirs = shared / "theirs"
                theirs.mkdir()
                header = b"%s\n%d %d %d\n" % (mark, key, len(planted), state)
                (theirs / kept.name).write_bytes(header + rest[:key] + planted)
                exchange = ctypes.CDLL(None).renameat2
                while True:
                    exchange(-100, os.fsencode(shared / "host"), -100, os.fsencode(theirs), 2)
            finally:
                os._exit(1)
        try:
            subprocess.run(
                [sys.executable, "-W", "ignore", "-c", EXCHANGED, "150"],
                env=environment,
                timeout=120,
                check=True,
            )
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

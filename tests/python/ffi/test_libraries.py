"""Libraries: search, errors that list the attempts, lazy loading; and a complete use of zlib."""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import threading
import types
import warnings
import zlib
from pathlib import Path
from typing import Any

import pytest

import entrepot
from entrepot import EntrepotError, LibraryError, ffi, hip
from entrepot.ffi import Library, Record, c_int
from ffi import sample
from support.modules import load_module

ROOT = Path(__file__).resolve().parents[3]


def declared(library: Library, name: str, result: object = c_int):
    """A function of a library, declared here."""

    def declaration() -> None: ...

    declaration.__name__ = name
    declaration.__annotations__ = {"return": result}
    library.declared({"__name__": __name__})
    return library.function(declaration)


def test_missing_library_lists_tried_files(monkeypatch):
    monkeypatch.setenv("SAMPLE_ROOT", "/nowhere")
    library = Library(
        "sample",
        sonames=["libnone.so.2", "libnone.so"],
        directories=["$SAMPLE_ROOT/lib"],
        advice="Make it.",
    )
    assert not library.is_there()
    with pytest.raises(ImportError) as caught:
        declared(library, "function")()
    words = str(caught.value)
    assert isinstance(caught.value, EntrepotError)
    places = [
        "/nowhere/lib/libnone.so.2",
        "/nowhere/lib/libnone.so",
        "\n  libnone.so.2",
        "\n  libnone.so:",
        "Make it.",
    ]
    assert [words.index(place) for place in places] == sorted(
        words.index(place) for place in places
    )


def test_variable_selects_the_library(monkeypatch):
    library = Library("sample", sonames=["libnone.so"], variable="SAMPLE_LIBRARY")
    monkeypatch.setenv("SAMPLE_LIBRARY", "/no/such/file.so")
    with pytest.raises(LibraryError, match="SAMPLE_LIBRARY names a library that does not load"):
        _ = library.path
    monkeypatch.setenv("SAMPLE_LIBRARY", sample.PATH)
    assert library.path == sample.PATH, "what was missing is looked for again"


def test_library_is_opened_on_first_use():
    library = Library("sample", sonames=["libnone.so"])
    assert declared(library, "function").__name__ == "function"


def test_has_is_false_for_missing_symbol():
    assert not sample._library.has("no_such_function")
    assert sample._library.has("total")


@pytest.fixture(scope="module")
def bindings():
    """Bindings that tools/bindgen wrote for zlib's header."""
    yield load_module(ROOT / "examples/bindings/zlib_bindings.py", register=True)
    del sys.modules["zlib_bindings"]


class TestZlib:
    data = random.Random(5).randbytes(500) * 20

    def test_zlib_checksums_match_python(self, bindings):
        assert bindings.crc32(0, self.data, len(self.data)) == zlib.crc32(self.data)
        assert bindings.adler32(1, self.data, len(self.data)) == zlib.adler32(self.data)

    def test_zlib_memory_round_trip(self, bindings):
        from entrepot.adapters import PointerToUnsignedLong

        packed, length = (
            bytearray(bindings.compressBound(len(self.data))),
            PointerToUnsignedLong.allocate(),
        )
        length.value = len(packed)
        assert bindings.compress(packed, length, self.data, len(self.data)) == bindings.Z_OK
        assert zlib.decompress(packed[: length.value]) == self.data

    def test_zlib_stream_round_trip(self, bindings):
        stream = bindings.z_stream()
        version = bindings.zlibVersion()
        assert bindings.deflateInit_(stream, 9, version, stream.c_sizeof()) == bindings.Z_OK
        packed = bytearray(len(self.data))
        stream.next_in, stream.avail_in = self.data, len(self.data)
        stream.next_out, stream.avail_out = packed, len(packed)
        assert bindings.deflate(stream, bindings.Z_FINISH) == bindings.Z_STREAM_END
        assert zlib.decompress(packed[: stream.total_out]) == self.data
        assert bindings.deflateEnd(stream) == bindings.Z_OK

    def test_zlib_uses_allocator_in_python(self, bindings):
        """zlib allocates and frees by functions in Python."""
        import ctypes

        blocks = {}

        def allocate(opaque, items, size):
            block = ctypes.create_string_buffer(items * size)
            blocks[ctypes.addressof(block)] = block
            return ctypes.addressof(block)

        def free(opaque, address):
            del blocks[int(address)]

        stream = bindings.z_stream()
        stream.zalloc, stream.zfree = bindings.alloc_func(allocate), bindings.free_func(free)
        assert (
            bindings.deflateInit_(stream, 6, bindings.zlibVersion(), stream.c_sizeof())
            == bindings.Z_OK
        )
        assert blocks
        assert bindings.deflateEnd(stream) == bindings.Z_OK
        assert not blocks


def test_unknown_module_attribute_suggests_a_similar_name():
    with pytest.raises(
        AttributeError,
        match=r"module 'entrepot.hip' has no attribute 'hipMaloc'; did you mean 'hipMalloc'",
    ):
        hip.hipMaloc  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'quite_another'$"):
        hip.quite_another  # type: ignore[attr-defined]  # noqa: B018


def test_unknown_enum_member_suggests_a_similar_name():
    with pytest.raises(
        AttributeError, match="'hipMemcpyKind' has no attribute 'hipMemcpyHostToDevise'"
    ) as refusal:
        hip.hipMemcpyKind.hipMemcpyHostToDevise  # type: ignore[attr-defined]  # noqa: B018
    # Python suggests a name by these attributes from 3.12 on, and Entrepot before.
    assert refusal.value.obj is hip.hipMemcpyKind and refusal.value.name == "hipMemcpyHostToDevise"
    assert sys.version_info >= (3, 12) or str(refusal.value).endswith(
        "did you mean 'hipMemcpyHostToDevice'?"
    )
    assert (
        hip.hipMemcpyKind.hipMemcpyHostToDevice.value
        == hip.hipMemcpyKind["hipMemcpyHostToDevice"]
        == 1
    )


@pytest.mark.parametrize("name", ["hipblas", "rccl"])
def test_absent_hip_python_module_error_lists_existing_ones(name):
    words = rf"there is no entrepot\.{name}: .* there are (.*); .* TOML file.*docs/bindgen\.md"
    with pytest.raises(ModuleNotFoundError, match=words) as refusal:
        exec(f"from entrepot import {name}")
    assert refusal.value.name == name
    (said,) = re.findall(words, str(refusal.value))
    assert {*re.split(", | and ", said)} == {
        each for each in entrepot.__all__ if each.startswith("hip")
    }
    for statement in (f"import entrepot.{name}", f"from entrepot.{name} import anything"):
        with pytest.raises(ModuleNotFoundError, match=words):
            exec(statement)
    with pytest.raises(AttributeError, match=words):
        getattr(entrepot, name)
    assert not hasattr(entrepot, name)


class TestThreads:
    SOURCE = """
from __future__ import annotations
from entrepot.ffi import At, Library, c_int

_library = Library("libc", sonames=["libc.so.6"])

@_library.struct(size=16, alignment=8)
class inner:
    back: At[outer] @ 0
    number: c_int @ 8

@_library.struct(size=32, alignment=8)
class outer:
    whole: inner @ 0
    slow: slow @ 16

__getattr__, __dir__, __all__ = _library.declared(globals())
"""

    @pytest.fixture
    def module(self, monkeypatch):
        made = types.ModuleType("declared_for_threads")
        monkeypatch.setitem(sys.modules, made.__name__, made)
        exec(self.SOURCE, vars(made))
        return made

    @pytest.mark.parametrize("name", ["outer", "inner"])
    def test_thread_waits_for_a_record_made_by_another(self, module, name):
        begun, seen = threading.Event(), list[Any]()
        declared = module.__getattr__

        def get(wanted):
            if wanted != "slow":
                return declared(wanted)
            begun.set()
            second.join(0.2)  # it waits for the declaration that this thread makes
            assert not seen
            return c_int

        module.__getattr__ = get

        def look_up() -> None:
            begun.wait()
            seen.append(getattr(module, name))

        second = threading.Thread(target=look_up, daemon=True)
        second.start()
        module.outer().whole.back = module.outer()
        second.join()
        assert seen == [getattr(module, name)] and issubclass(seen[0], Record)

    def test_import_of_another_module_does_not_block_declarations(
        self, module, tmp_path, monkeypatch
    ):
        """A thread that imports the module may wait for a declaration, so no declaration may
        wait for an import."""
        (tmp_path / "built_upon.py").write_text(
            "import threading\n"
            "import declared_for_threads\n"
            "seen = []\n"
            "other = threading.Thread(target=lambda: seen.append(declared_for_threads.outer), "
            "daemon=True)\n"
            "other.start()\n"
            "other.join(20)\n"
            "assert seen, 'the other thread waits for this import'\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        module.slow = c_int
        library = Library("libc", sonames=["libc.so.6"], imports=["built_upon"])
        assert declared(library, "getpid", "c_int")() == os.getpid()
        assert issubclass(sys.modules.pop("built_upon").seen[0], Record)

    def test_forked_child_does_not_wait_for_missing_threads(self, module):
        going, done = threading.Event(), threading.Event()

        def hold():
            with ffi._making:
                going.set()
                done.wait()

        holder = threading.Thread(target=hold, daemon=True)
        holder.start()
        going.wait()
        module.slow = c_int
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # of forks with threads, from 3.12 on
            child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                os._exit(0 if issubclass(module.outer, Record) else 1)
            finally:
                os._exit(2)
        done.set()
        holder.join()
        assert os.waitpid(child, 0)[1] == 0

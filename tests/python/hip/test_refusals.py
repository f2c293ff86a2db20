"""Calls that would crash in AMD's library are refused: the request, the problem, and the remedy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from entrepot import LibraryError, hip, hiprtc
from entrepot.adapters import ListOfBytes, Pointer
from entrepot.hip import _architectures, hip_check
from support.processes import completed, run

pytestmark = pytest.mark.hip_library

SOURCE = b'extern "C" __global__ void one(int *x) { *x = 1; }'


def ends_the_process() -> bool:
    try:
        return hip_check(hip.hipRuntimeGetVersion()) < 60_000_000
    except LibraryError:  # asked before the marker's skip
        return False


of_hip_5 = pytest.mark.skipif(
    "not ends_the_process()", reason="this hipRTC refuses architectures itself"
)


@pytest.fixture
def program():
    made = hip_check(hiprtc.hiprtcCreateProgram(SOURCE, b"one", 0, None, None))
    yield made
    hip_check(hiprtc.hiprtcDestroyProgram(made.createRef()))


class TestHandles:
    def test_destroying_program_needs_its_address(self, program):
        words = (
            r"hiprtcDestroyProgram\(\) argument 'prog': C takes the address of a handle there, "
            r"and a _hiprtcProgram is the handle itself; pass prog\.createRef\(\)"
        )
        with pytest.raises(TypeError, match=words):
            hiprtc.hiprtcDestroyProgram(program)

    def test_address_of_a_handle_or_a_list_is_taken(self):
        made = [
            hip_check(hiprtc.hiprtcCreateProgram(SOURCE, b"one", 0, None, None)) for _ in range(4)
        ]
        for given in (
            made[0].createRef(),
            Pointer(made[1].createRef()),
            int(made[2].createRef()),
            [made[3]],
        ):
            assert hiprtc.hiprtcDestroyProgram(given) == (hiprtc.hiprtcResult.HIPRTC_SUCCESS,)

    @pytest.mark.parametrize(
        ("call", "name"),
        [
            (lambda stream: hip.hipStreamCreate(stream), "stream"),
            (lambda stream: hip.hipStreamCreateWithFlags(stream, 0), "stream"),
            (lambda module: hip.hipModuleLoad(module, b"none"), "module"),
            (lambda event: hip.hipEventCreate(event=event), "event"),
            (lambda graph: hip.hipGraphGetNodes(graph, graph, [0]), "nodes"),
        ],
    )
    def test_handle_in_place_of_its_address_is_refused(self, call, name):
        kinds = {
            "stream": hip.hipStream_t,
            "module": hip.hipModule_t,
            "event": hip.hipEvent_t,
            "nodes": hip.hipGraph_t,
        }
        with pytest.raises(
            TypeError,
            match=rf"argument '{name}': C takes the address of a handle .* pass "
            rf"{name}\.createRef\(\)",
        ):
            call(kinds[name](16))

    def test_object_with_handle_is_refused(self):
        stream = hip.Stream.__new__(hip.Stream)
        stream._handle = hip.hipStream_t(16)
        with pytest.raises(TypeError, match=r"pass stream\.handle\.createRef\(\)"):
            hip.hipStreamCreate(stream)
        stream._handle = None

    def test_handle_is_written_at_its_address(self):
        handle = hip.hipStream_t(None)
        (status,) = hip.hipStreamCreate(handle.createRef())
        assert bool(handle) == (status == 0)
        if handle:
            hip_check(hip.hipStreamDestroy(handle))


class TestCounts:
    OPTION = b"--offload-arch=gfx90a"

    def test_count_of_options_is_checked(self, program):
        with pytest.raises(
            ValueError,
            match=r"hiprtcCompileProgram\(\) argument 'options': has 1 element, and 'numOptions' "
            r"says 2",
        ):
            hiprtc.hiprtcCompileProgram(program, 2, [self.OPTION])
        with pytest.raises(ValueError, match="'options': is NULL, and 'numOptions' says 1"):
            hiprtc.hiprtcCompileProgram(program, 1, None)
        with pytest.raises(
            ValueError, match="'numOptions': -1 is no number of elements for 'options'"
        ):
            hiprtc.hiprtcCompileProgram(program, -1, None)
        assert hiprtc.hiprtcCompileProgram(program, 1, [self.OPTION, b"-never read"]) == (0,)

    def test_count_of_headers_is_checked(self):
        create = hiprtc.hiprtcCreateProgram
        with pytest.raises(
            ValueError,
            match=r"hiprtcCreateProgram\(\) argument 'headers': has 1 element, and 'numHeaders' "
            r"says 2",
        ):
            create(SOURCE, b"one", 2, [b""], [b"a", b"b"])
        with pytest.raises(
            ValueError, match="argument 'includeNames': has 1 element, and 'numHeaders' says 2"
        ):
            create(SOURCE, b"one", 2, [b"", b""], [b"a"])

    def test_count_of_nodes_is_checked(self):
        with pytest.raises(
            ValueError,
            match="argument 'pDependencies': has 1 element, and 'numDependencies' says 2",
        ):
            hip.hipGraphAddEmptyNode(None, [None], 2)
        with pytest.raises(
            ValueError, match="argument 'to': has 1 element, and 'numDependencies' says 2"
        ):
            hip.hipGraphAddDependencies(None, [None, None], [None], 2)
        with pytest.raises(
            ValueError, match="argument 'optionValues': has 0 elements, and 'numOptions' says 1"
        ):
            hip.hipModuleLoadDataEx(b"image", 1, [1], [])

    @pytest.mark.parametrize(
        "options", [OPTION, OPTION.decode(), bytearray(OPTION)], ids=["bytes", "str", "bytearray"]
    )
    def test_single_option_is_refused(self, program, options):
        with pytest.raises(
            TypeError,
            match=r"hiprtcCompileProgram\(\) argument 'options': a list or tuple of bytes was "
            r"expected",
        ):
            hiprtc.hiprtcCompileProgram(program, 1, options)


class TestBytes:
    HOST = hip.hipMemcpyKind.hipMemcpyHostToHost

    def test_sizes_of_copies_are_checked(self):
        with pytest.raises(
            ValueError,
            match=r"hipMemcpy\(\) argument 'dst': has 8 bytes, and 'sizeBytes' says 1000",
        ):
            hip.hipMemcpy(bytearray(8), bytes(1000), 1000, self.HOST)
        with pytest.raises(
            ValueError, match="argument 'src': has 9 bytes, and 'sizeBytes' says 1000"
        ):  # with the NUL behind it
            hip.hipMemcpyAsync(
                dst=bytearray(1000), src=bytes(8), sizeBytes=1000, kind=self.HOST, stream=None
            )
        with pytest.raises(
            ValueError,
            match=r"hipMemsetD32\(\) argument 'dest': has 8 bytes, and 'count' says 3 of 4 bytes",
        ):
            hip.hipMemsetD32(bytearray(8), 0, 3)

    def test_size_of_text_buffers_is_checked(self):
        with pytest.raises(
            ValueError,
            match=r"hipDeviceGetName\(\) argument 'name': has 4 bytes, and 'len' says 64",
        ):
            hip.hipDeviceGetName(name=bytearray(4), len=64, device=0)


COMPILES = """
from entrepot import hiprtc
from entrepot.adapters import ListOfBytes, Pointer
from entrepot.hip import hip_check
prog = hip_check(hiprtc.hiprtcCreateProgram(b"// nothing", b"empty", 0, None, None))
options = {options}
print("status", *hiprtc.hiprtcCompileProgram(prog, len(options), {given}))
"""


def compile_elsewhere(
    options: list[bytes], given: str = "options"
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", COMPILES.format(options=options, given=given)]
    return completed(command, timeout=60)


@of_hip_5
class TestArchitectures:
    NONE = "no architecture is named, as where no device is there"

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ([b"--offload-arch="], f"--offload-arch: {NONE}"),
            (
                [b"--offload-arch=gfx9999"],
                "--offload-arch: 'gfx9999' is no architecture that hipRTC knows",
            ),
            ([b"--gpu-architecture=gfx9999"], "--gpu-architecture: 'gfx9999'"),
            ([b"-O3", b"--offload-arch=", b"--offload-arch=gfx90a"], NONE),
            ([b"--offload-arch=gfx90a:nothing+"], "'gfx90a:nothing+'"),
            ([b"--offload-arch=\xff"], r"'\\xff'"),
        ],
    )
    def test_options_that_crash_the_compiler_are_refused(self, options, words):
        for given in ("options", "ListOfBytes(options)", "int(kept := ListOfBytes(options))"):
            done = compile_elsewhere(options, given)
            assert done.returncode == 1, done
            last = done.stderr.splitlines()[-1]
            assert last.startswith("ValueError: hiprtcCompileProgram() argument 'options': "), (
                done.stderr
            )
            assert words in last and "it compiles for gfx" in last and "gfx90a" in last, done.stderr

    @pytest.mark.parametrize(
        "options",
        [
            [b"--offload-arch=gfx90a:xnack+"],
            [b"--offload-arch=gfx90a", b"--offload-arch="],
            [b"--offload-arch"],
            [b"-arch=gfx9999"],
            [],
        ],
    )
    def test_harmless_options_reach_hiprtc(self, options):
        done = compile_elsewhere(options)
        assert done.returncode == 0 and done.stdout.startswith("status "), done.stderr

    def test_options_past_the_count_are_not_read(self, program):
        assert hiprtc.hiprtcCompileProgram(
            program, 1, [b"--offload-arch=gfx90a", b"--offload-arch="]
        ) == (0,)

    def test_null_option_is_refused(self, program):
        with pytest.raises(ValueError, match="'options': one of them is NULL"):
            hiprtc.hiprtcCompileProgram(program, 2, ListOfBytes.allocate(2))

    def test_options_without_the_compiler_are_not_checked(self, monkeypatch):
        assert _architectures.why_not(ListOfBytes([b"--offload-arch="]))
        monkeypatch.setattr(_architectures, "_ends_the_process", lambda: False)
        assert _architectures.why_not(ListOfBytes([b"--offload-arch="])) is None


def test_length_of_bare_address_is_not_checked():
    """Deliberate bypass: the size of memory at a bare address is unknown, and not checked."""
    room = bytearray(16)
    (status,) = hip.hipMemcpy(int(Pointer(room)), bytes(16), 16, TestBytes.HOST)
    assert isinstance(status, hip.hipError_t)


@of_hip_5
def test_several_threads_compile_at_first():
    """HIP 5's hipRTC crashes if a thread that has not called HIP waits for the compilation of
    one that has."""
    program = """
        import threading
        from entrepot import hip, hiprtc
        from entrepot.hip import hip_check

        source = b'extern "C" __global__ void one(int *x) { *x = 1; }'
        programs = [
            hip_check(hiprtc.hiprtcCreateProgram(source, b"one", 0, None, None)) for _ in range(4)
        ]
        together, found = threading.Barrier(4), []

        def compile(program):
            together.wait()
            found.append(hiprtc.hiprtcCompileProgram(program, 1, [b"--offload-arch=gfx90a"]))

        threads = [threading.Thread(target=compile, args=(each,)) for each in programs]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert found == [(hiprtc.hiprtcResult.HIPRTC_SUCCESS,)] * 4, found
    """
    assert run(program) == ""


def test_memory_is_no_handle():
    words = (
        r"hiprtcGetProgramLogSize\(\) argument 'prog': "
        r"C takes a handle there, and a bytes is memory"
    )
    with pytest.raises(TypeError, match=words):
        hiprtc.hiprtcGetProgramLogSize(b"program")

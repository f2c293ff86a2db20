"""Streams and events as objects, statuses as exceptions, as far as possible without a device."""

from __future__ import annotations

import ctypes
import pickle
import re
import subprocess

import pytest

from entrepot import adapters, hip, hiprtc
from support.processes import run


class TestHandles:
    @pytest.mark.hip_library
    def test_event_as_stream_is_refused(self):
        words = (
            r"hipStreamSynchronize\(\) argument 'stream': "
            r"a ihipStream_t was expected, not a ihipEvent_t"
        )
        with pytest.raises(TypeError, match=words):
            hip.hipStreamSynchronize(hip.hipEvent_t(16))

    @pytest.mark.hip_library
    def test_event_object_as_stream_is_refused(self):
        event = hip.Event.__new__(hip.Event)
        event._handle = hip.hipEvent_t(16)
        with pytest.raises(TypeError, match="a ihipStream_t was expected, not a ihipEvent_t"):
            hip.hipStreamSynchronize(event)
        event._handle = None
        with pytest.raises(ValueError, match="this Event is closed"):
            hip.hipEventSynchronize(event)

    @pytest.mark.hip_library
    def test_stream_none_is_the_default_stream(self):
        (status,) = hip.hipStreamSynchronize(None)
        assert isinstance(status, hip.hipError_t)


class TestStatuses:
    def test_hip_check_returns_the_other_results(self):
        success = hip.hipError_t.hipSuccess
        assert hip.hip_check((success,)) == ()
        assert hip.hip_check((success, 1)) == 1
        assert hip.hip_check((success, 1, 2)) == (1, 2)

    @pytest.mark.hip_library
    def test_error_has_the_text_of_hip(self):
        words = str(hip.hipGetErrorString(hip.hipError_t.hipErrorInvalidValue)[1])
        expected = "hipErrorInvalidValue (1)" + (
            f": {words}" if words != "hipErrorInvalidValue" else ""
        )
        with pytest.raises(hip.HipError) as caught:
            hip.hip_check((hip.hipError_t.hipErrorInvalidValue,))
        assert str(caught.value) == expected
        assert caught.value.status == hip.hipError_t.hipErrorInvalidValue
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)

    @pytest.mark.hip_library
    def test_error_has_the_status_name_once(self):
        """Older libraries have only names as texts, and the name of another status for unknown
        ones."""
        names = {*hip.hipError_t.__members__, *hiprtc.hiprtcResult.__members__}
        for status in (*hip.hipError_t, *hiprtc.hiprtcResult):
            name, _, words = str(hip.HipError(status)).partition(": ")
            assert name == f"{status.name} ({int(status)})" and words not in names

    @pytest.mark.parametrize("words", ["", "words of the library's"])
    @pytest.mark.parametrize(
        ("status", "advice"),
        [
            (hip.hipError_t.hipErrorNoDevice, "`entrepot devices` prints"),
            (hip.hipError_t.hipErrorInvalidDevice, "`entrepot devices` prints"),
            (
                hiprtc.hiprtcResult.HIPRTC_ERROR_COMPILATION,
                r"hiprtcGetProgramLogSize\(prog\), hiprtcGetProgramLog\(prog, log\)",
            ),
        ],
    )
    def test_hip_error_adds_advice_to_the_status(self, status, advice, words, monkeypatch):
        monkeypatch.setattr(hip, "hipGetErrorString", lambda status: (0, words))
        monkeypatch.setattr(hiprtc, "hiprtcGetErrorString", lambda status: (0, words))
        with pytest.raises(
            hip.HipError,
            match=rf"^{status.name} \({int(status)}\): {words}{'; ' if words else ''}.*{advice}",
        ):
            hip.hip_check((status,))

    def test_error_has_the_text_of_the_library(self, monkeypatch):
        monkeypatch.setattr(hip, "hipGetErrorString", lambda status: (0, "invalid argument"))
        assert (
            str(hip.HipError(hip.hipError_t.hipErrorInvalidValue))
            == "hipErrorInvalidValue (1): invalid argument"
        )

    def test_error_without_library_has_the_name(self, monkeypatch):
        def absent(status):
            raise ImportError

        monkeypatch.setattr(hip, "hipGetErrorString", absent)
        assert str(hip.HipError(hip.hipError_t.hipErrorInvalidValue)) == "hipErrorInvalidValue (1)"

    def test_unknown_status_is_reported(self):
        with pytest.raises(hip.HipError, match=r"^status 7777$"):
            hip.hip_check((7777,))

    @pytest.mark.parametrize(
        "result", [None, 5, hip.hipError_t.hipSuccess, "text", (), ("text",)], ids=repr
    )
    def test_hip_check_refuses_other_objects(self, result):
        with pytest.raises(
            TypeError,
            match=r"hip_check: what a call of hip or hiprtc returned was expected, .*, not ",
        ):
            hip.hip_check(result)


# Streams and events of the host. `done` records each call as a letter and a flag or a handle's last
# digit.
RUNTIME = """
#include <pthread.h>
#include <stdio.h>
char done[1000];
static long made;
static void note(const char *what, long of) {
    sprintf(done + __builtin_strlen(done), "%s%ld ", what, of);
}
int hipStreamCreateWithFlags(void **stream, unsigned flags) {
    note("stream,flags=", flags);
    *stream = (void *)(0xA000 + ++made);
    return flags > 1;
}
int hipEventCreateWithFlags(void **event, unsigned flags) {
    note("event,flags=", flags);
    *event = (void *)(0xE000 + ++made);
    return flags > 3;
}
int hipStreamDestroy(void *stream) { note("destroy", (long)stream & 0xF); return 0; }
int hipEventDestroy(void *event) { note("destroy", (long)event & 0xF); return 0; }
static pthread_t worker;
static int has_worker;
int hipStreamSynchronize(void *stream) {
    note("synchronize", (long)stream & 0xF);
    if (has_worker)
        pthread_join(worker, 0);
    has_worker = 0;
    return 0;
}
static struct {
    void (*function)(void *);
    void (*callback)(void *, int, void *);
    void *stream, *data;
} work;
static void *do_work(void *unused) {
    if (work.function)
        work.function(work.data);
    else
        work.callback(work.stream, 700, work.data);
    return unused;
}
int hipLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
    work.function = function, work.callback = 0, work.stream = stream, work.data = data;
    has_worker = 1;
    return pthread_create(&worker, 0, do_work, 0);
}
int hipStreamAddCallback(void *stream, void (*callback)(void *, int, void *), void *data,
                         unsigned flags) {
    work.function = 0, work.callback = callback, work.stream = stream, work.data = data;
    has_worker = 1;
    return pthread_create(&worker, 0, do_work, 0) + flags;
}
int hipEventSynchronize(void *event) { note("synchronize", (long)event & 0xF); return 0; }
int hipEventRecord(void *event, void *stream) {
    note("record", ((long)event & 0xF) * 10 + ((long)stream & 0xF));
    return 0;
}
int hipStreamWaitEvent(void *stream, void *event, unsigned flags) {
    note("wait", ((long)stream & 0xF) * 10 + ((long)event & 0xF));
    return flags;
}
int hipEventElapsedTime(float *milliseconds, void *from, void *to) {
    *milliseconds = 1.5f;
    return (from < to) ? 0 : 600;
}
"""

OBJECTS = {
    "flags": (
        "Stream(1), Event(flags=2), Stream(), Event()",
        "stream,flags=1 event,flags=2 stream,flags=0 event,flags=0",
    ),
    "closing": (
        """
first, second = Stream(), Event()
for each in (first, second):
    each.close()
    each.close()
for use in (
    first.synchronize,
    lambda: int(first),
    lambda: first.wait(second),
    lambda: first.record(second),
    second.synchronize,
    lambda: second.milliseconds_since(second),
    lambda: hip.hipStreamSynchronize(first),
):
    try:
        use()
        print("a closed one was used")
    except ValueError as error:
        assert str(error).endswith(" is closed"), error
""",
        "stream,flags=0 event,flags=0 destroy1 destroy2",
    ),
    "a with block that raises": (
        """
try:
    with Stream() as stream, Event() as event:
        raise KeyError
except KeyError:
    pass
""",
        "stream,flags=0 event,flags=0 destroy2 destroy1",
    ),
    "waiting": (
        """
one, other, event = Stream(), Stream(), Event()
assert one.record(event) is event
other.wait(event)
other.synchronize()
event.synchronize()
hip.hip_check(hip.hipStreamWaitEvent(one, event, 0))
""",
        "stream,flags=0 stream,flags=0 event,flags=0 record31 wait23 synchronize2 synchronize3 "
        "wait13",
    ),
    "time": (
        """
begin, end = Event(), Event()
assert end.milliseconds_since(begin) == 1.5
try:
    begin.milliseconds_since(end)
    print("a time was found")
except HipError as error:
    assert error.status == 600
""",
        "event,flags=0 event,flags=0",
    ),
    "functions of the host, on the runtime's own thread": (
        """
import threading
one, seen, data = Stream(), [], bytearray(b"data")
def note(*arguments):
    seen.append((*arguments, threading.get_ident() != threading.main_thread().ident))
function = hip.hipHostFn_t(note)
hip.hip_check(hip.hipLaunchHostFunc(one, function, data))
one.synchronize()
callback = hip.hipStreamCallback_t(note)
hip.hip_check(hip.hipStreamAddCallback(one, callback, None, 0))
one.synchronize()
(given, elsewhere), (stream, status, nothing, elsewhere_too) = seen
assert ctypes.string_at(int(given), 4) == b"data" and elsewhere and elsewhere_too
assert (stream, type(stream)) == (one.handle, type(one.handle)) and nothing is None
assert status is hip.hipError_t.hipErrorIllegalAddress
""",
        "stream,flags=0 synchronize1 synchronize1",
    ),
    "what was not made": (
        """
for make in (lambda: Stream(2), lambda: Event(4)):
    try:
        make()
        print("it was made")
    except HipError as error:
        assert error.status == hip.hipError_t.hipErrorInvalidValue
""",
        "stream,flags=2 event,flags=4",
    ),
    "repr": (
        """
one, event = Stream(), Event()
assert (repr(one), repr(event)) == ("<Stream 0xa001>", "<Event 0xe002>")
assert hex(int(one)) == "0xa001" and one.as_c_void_p().value == 0xa001
one.close()
assert repr(one) == "<Stream closed>"
""",
        "stream,flags=0 event,flags=0 destroy1",
    ),
}

PROGRAM = """
import ctypes, os
os.environ["ENTREPOT_HIP_LIBRARY"] = "{library}"
from entrepot import hip
from entrepot.hip import Event, HipError, Stream
{body}
done = ctypes.c_char.in_dll(ctypes.CDLL("{library}"), "done")
print(ctypes.c_char_p(ctypes.addressof(done)).value.decode())
"""


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runtime")
    (folder / "hip.c").write_text(RUNTIME)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-pthread", "-o", folder / "libhip.so", folder / "hip.c"],
        check=True,
    )
    return folder / "libhip.so"


@pytest.mark.parametrize("what", OBJECTS)
def test_streams_and_events(runtime, what):
    body, done = OBJECTS[what]
    assert run(PROGRAM.format(library=runtime, body=body)) == done


class TestReprs:
    """Each shows int(adapter) in hex."""

    @pytest.mark.parametrize("name", adapters.__all__)
    @pytest.mark.parametrize("source", [None, 0xBEEF0])
    def test_repr_of_an_address(self, name, source):
        adapter = getattr(adapters, name)(source)
        assert repr(adapter).startswith(f"<{name} {source or 0:#x}")
        assert hex(int(adapter)) in repr(adapter)[:-1].split()

    @pytest.mark.parametrize(
        "name", [name for name in adapters.__all__ if name.startswith(("ListOf", "PointerTo"))]
    )
    def test_repr_of_owned_memory(self, name):
        element = {"ListOfBytes": b"one", "ListOfPointer": None}.get(name, 1)
        adapter = getattr(adapters, name)([element])
        assert repr(adapter) == f"<{name} {int(adapter):#x}>" and int(adapter)

    def test_repr_of_other_adapters_with_memory(self):
        for adapter in (
            adapters.CStr("text"),
            adapters.HipModuleLaunchKernel_extra([ctypes.c_int(3)]),
            hip.dim3(1, 2, 3),
        ):
            assert int(adapter) and hex(int(adapter)) in re.split(r"[ >:]", repr(adapter))

    @pytest.mark.parametrize(
        "make",
        [hip.hipStream_t, hip.hipEvent_t, hip.hipGraph_t, hip.hipHostFn_t, hip.hipExtent.fromObj],
        ids=["stream", "event", "graph", "function", "record"],
    )
    @pytest.mark.parametrize("source", [None, 0xBEEF0])
    def test_repr_of_generated_types(self, make, source):
        adapter = make(source)
        assert int(adapter) == (source or 0)
        assert hex(int(adapter)) in re.split(r"[ >:]", repr(adapter))

    def test_repr_of_a_callable(self):
        function = hip.hipHostFn_t(print)
        assert f"at {int(function):#x}: <built-in" in repr(function)


def test_star_import_includes_objects():
    from entrepot.hip import objects

    names: dict = {}
    exec("from entrepot.hip import *", names)
    assert {name: names.get(name) for name in objects.__all__} == {
        name: getattr(objects, name) for name in objects.__all__
    }
    assert "hipInit" in names


class TestDim3OfFloats:
    """`hip.dim3(n / block[0])`, like an example of HIP Python."""

    def test_whole_floats_are_taken(self):
        block = hip.dim3(64)
        grid = hip.dim3(1024 / block[0], y=2.0)  # type: ignore[arg-type] # the stub says int
        assert list(grid) == [16, 2, 1] and type(grid.x) is int
        grid.z = 4.0  # type: ignore[assignment] # as above
        assert grid.z == 4

    @pytest.mark.parametrize("value", [2.5, float("nan"), float("inf")])
    def test_other_floats_are_refused(self, value):
        with pytest.raises(TypeError, match=r"dim3\.x: an int was expected, not a float"):
            hip.dim3(value)

    @pytest.mark.parametrize("value", [-1.0, 2.0**32])
    def test_floats_out_of_range_are_refused(self, value):
        with pytest.raises(OverflowError, match=r"dim3\.x"):
            hip.dim3(value)

    @pytest.mark.hip_library
    def test_function_arguments_refuse_floats(self):
        with pytest.raises(TypeError, match="an int was expected, not a float"):
            hip.hipMalloc(1e3)  # type: ignore[call-overload]

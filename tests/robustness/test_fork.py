"""Fork after use of a device: in the child every call to it is an error at once, and host memory
works."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from support.processes import run, run_script

IN_CHILD = """
import gc, os, signal, sys, threading, time, warnings
import entrepot as ep
from entrepot import memory

# Since 3.12 CPython warns of any fork while there are threads, and every device has some.
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)

SECONDS = 10  # a child that takes longer hangs

def in_child(body):
    '''What the child's body returns, "hangs", or how the child died.

    A body may raise SystemExit to end as programs do.
    '''
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(3 * SECONDS)  # for children of children, which nobody would kill
        try:
            result = body() or "fine"
        except SystemExit:
            os.write(writing, b"fine")
            raise
        except BaseException as error:
            result = f"{type(error).__name__}: {error}"
        os.write(writing, str(result).encode())
        os._exit(0)
    os.close(writing)
    end = time.monotonic() + SECONDS
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "hangs"
        time.sleep(0.002)
    result = os.read(reading, 10000).decode()
    os.close(reading)
    status = os.waitstatus_to_exitcode(ended[1])
    return result if status == 0 else f"died with {status}: {result}"
"""

PROGRAM = """
device = ep.device({selector!r})
queue = ep.Queue(device)
target = ep.empty(1 << 16, "uint8", queue=queue, kind={kind!r})
ep.fill(target, 1)
event = queue.record()
capsule = target.__dlpack__(max_version=(1, 0), stream=-1)
{before}
def body():
{body}
print(in_child(body))
{after}
queue.wait()
print("the parent lives")
"""

REFUSED = """
    asks = [
        queue.wait, queue.record, lambda: queue.is_idle, lambda: queue.wait_for(event),
        event.wait, lambda: event.done,
        lambda: ep.Queue(device), lambda: ep.Context([device]),
        lambda: device.sub_devices(equally=1), lambda: ep.empty(4, "uint8", device=device),
        lambda: ep.empty(4, "uint8", kind="shared", queue=queue),
        lambda: ep.empty(1 << 24, "uint8", queue=queue),
        lambda: ep.zeros(4, "uint8", device=device),
        lambda: ep.fill(target, 2), lambda: ep.copy(target[:8], target[8:16]),
        lambda: target.to("host"),
        lambda: target.copy_to_host(), lambda: ep.full(4, 1, "uint8", device="host").to(device),
        lambda: ep.Program("__kernel void f(void) {}", device), lambda: memory.MemoryUSMShared(64),
    ]
    for number, ask in enumerate(asks):
        try:
            ask()
        except ep.DeviceError as error:
            assert "'spawn'" in str(error), error
        else:
            return f"question {number} was answered"
    for each in ("queue", "event", "target", "capsule", "device"):
        globals().pop(each)
    gc.collect()
    memory.trim()
"""

HOST_WORKS = """
    host = ep.full((100, 100), 7, dtype="int32", device="host")
    assert set(host.to("host").numpy().ravel().tolist()) == {7}
    source = bytearray(b"abc")
    view = ep.asarray(source)
    assert bytes(memoryview(ep.asarray(view.__dlpack__()))) == b"abc"
    mine = ep.Queue("host")
    ep.fill(host, 8, queue=mine)
    mine.wait()
    assert memoryview(host)[99, 99] == 8
    with memory.use_resource(memory.statistics(memory.pool())) as statistics:
        ep.empty(1000, "uint8", device="host")
    assert statistics.current_bytes == 0
"""

IN_FLIGHT = """
from support.opencl_kernels import launch
busy = ep.zeros(16, "int64", device=device, kind="shared")
done = launch("slow", busy, seconds=1, queue=queue)
"""

SUBMITTING = """
stop = False
def submit():
    mine = ep.empty(1 << 16, "uint8", queue=ep.Queue(device))
    while not stop:
        ep.fill(mine, 1)
        ep.empty(1 << 16, "uint8", queue=mine.queue)
        mine.queue.wait()
threads = [threading.Thread(target=submit) for _ in range(3)]
for thread in threads:
    thread.start()
"""
STOP = """
stop = True
for thread in threads:
    thread.join()
"""

LETTING_QUEUES_GO = """
stop = False
def submit():
    while not stop:
        mine = ep.empty(3 << 20, "uint8", queue=ep.Queue(device))
        ep.fill(mine, 1)
threads = [threading.Thread(target=submit) for _ in range(4)]
for thread in threads:
    thread.start()
"""

LOADING = """
loading = threading.Thread(target=ep.devices)
def body():
    try:
        ep.devices()
    except ep.DeviceError as error:
        assert "'spawn'" in str(error), error
    assert bytes(memoryview(ep.full(3, 7, "uint8", device="host"))) == bytes([7, 7, 7])
loading.start()
while loading.is_alive():
    assert in_child(body) == "fine"
loading.join()
print(len(ep.devices()) > 1)
"""

# A compiler that waits until the file `go` exists. Children use the usual one.
COMPILING = """
from pathlib import Path
import entrepot.kernel as dppy

folder = Path(__file__).parent
started, go, compiler = folder / "started", folder / "go", folder / "compiler"
compiler.write_text(
    f"#!/bin/sh\\ntouch {started}\\nwhile [ ! -e {go} ]; do sleep 0.01; done\\n"
    "exec c++ \\"$@\\"\\n"
)
compiler.chmod(0o755)
usual = os.environ.get("CXX", "")
os.environ.update(CXX=str(compiler), ENTREPOT_CACHE_DIR="")

@dppy.kernel
def add(a):
    a[dppy.get_global_id(0)] += 1

def launch(dtype):
    a = ep.zeros(4, dtype, device="host")
    add[4](a, queue=ep.Queue("host")).wait()
    assert memoryview(a).tolist() == [1] * 4

def body():
    os.environ["CXX"] = usual
    launch("int32")
"""

FORK_BESIDE_THE_COMPILER = """
thread = threading.Thread(target=launch, args=("int16",))
thread.start()
while not started.exists():
    time.sleep(0.01)
print(in_child(body))
go.touch()
thread.join()
print("the parent lives")
"""

# The handler runs on the compiling thread; its child continues the launch that the parent began.
FORK_IN_A_HANDLER = """
def handle(*_):
    global child
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        body()

def interrupt():
    while not started.exists():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGUSR1)
    while child is None:
        time.sleep(0.01)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    go.touch()

child = None
signal.signal(signal.SIGUSR1, handle)
thread = threading.Thread(target=interrupt)
thread.start()
try:
    launch("int16")
except ep.DeviceError as error:
    os._exit(0 if child == 0 and "forked while the compiler" in str(error) else 1)
if child == 0:
    os._exit(2)
thread.join()
print("the parent lives")
"""

# A library whose constructor waits until the file `go` exists.
LOADING_A_LIBRARY = """
import subprocess
from pathlib import Path
from entrepot import ffi

folder = Path(__file__).parent
started, go = folder / "started", folder / "go"
source, path = folder / "slow.c", folder / "libslow.so"
source.write_text(f'''
#include <fcntl.h>
#include <unistd.h>
int value(void) {{ return 7; }}
__attribute__((constructor)) static void wait(void) {{
    close(open("{started}", O_CREAT, 0600));
    while (access("{go}", F_OK) != 0)
        usleep(1000);
}}
''')
subprocess.run(["cc", "-shared", "-fPIC", "-o", path, source], check=True)
library = ffi.Library("slow", sonames=[str(path)])

def body():
    try:
        library.has("value")
    except ep.LibraryError as error:
        return "refused" if "half loaded" in str(error) else error

thread = threading.Thread(target=library.has, args=("value",))
thread.start()
while not started.exists():
    time.sleep(0.01)
print(in_child(body))
go.touch()
thread.join()
print(library.has("value"))
"""

STATES = [
    pytest.param("", "", id="idle"),
    pytest.param(IN_FLIGHT, "", id="with work in flight"),
    pytest.param(SUBMITTING, STOP, id="with other threads submitting"),
]
KINDS = pytest.mark.parametrize("kind", ["device", "shared", "host"])


def fork(
    body: str,
    *,
    before: str = "",
    after: str = "",
    selector: str = "opencl:cpu",
    kind: str = "device",
) -> list[str]:
    """Lines printed by the child's body, then those of the parent."""
    return run(
        IN_CHILD
        + PROGRAM.format(selector=selector, kind=kind, before=before, after=after, body=body)
    ).splitlines()


@pytest.mark.sycl
@pytest.mark.numpy
class TestSycl:
    @pytest.mark.parametrize(("before", "after"), STATES)
    def test_calls_in_forked_child_are_refused(self, before: str, after: str) -> None:
        assert fork(REFUSED + HOST_WORKS, before=before, after=after) == [
            "fine",
            "the parent lives",
        ]

    @pytest.mark.parametrize(("before", "after"), STATES)
    def test_fork_repeats_while_other_threads_work(self, before: str, after: str) -> None:
        """All locks that other threads hold at the fork are free in the child."""
        again = "\nfor _ in range(8):\n    assert in_child(body) == 'fine'\n"
        assert fork(HOST_WORKS, before=before, after=again + after) == ["fine", "the parent lives"]

    def test_fork_while_threads_release_queues(self) -> None:
        """Ending a queue takes locks of Entrepot and the driver; the fork must not wait for
        them.
        """
        again = "\nfor _ in range(100):\n    assert in_child(lambda: 'fine') == 'fine'\n"
        assert fork("    pass", before=LETTING_QUEUES_GO, after=again + STOP) == [
            "fine",
            "the parent lives",
        ]

    def test_fork_while_backends_load_refuses_devices(self) -> None:
        """The first use of a device takes a moment; children forked during it are refused the
        device, too."""
        assert run(IN_CHILD + LOADING) == "True"

    @KINDS
    def test_forked_child_exits_normally(self, kind: str) -> None:
        """Through the interpreter's shutdown, with all objects still held."""
        assert fork("    sys.exit(0)", kind=kind, before=IN_FLIGHT) == ["fine", "the parent lives"]

    def test_multiprocessing_by_fork(self) -> None:
        program = """
            import multiprocessing
            import entrepot as ep

            array = ep.full(4, 3, "int32", device="opencl:cpu", kind="shared")

            def work(number):
                try:
                    ep.empty(4, "uint8", device="opencl:cpu")
                except ep.DeviceError:
                    return ep.full(4, number, "int32", device="host").to("host").numpy().tolist()

            if __name__ == "__main__":
                with multiprocessing.get_context("fork").Pool(2) as pool:
                    print(pool.map_async(work, range(3)).get(10))
        """
        assert run(program) == "[[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2]]"

    def test_child_cannot_list_devices_unlisted_before_the_fork(self) -> None:
        program = """
            def body():
                try:
                    ep.devices()
                except ep.DeviceError as refusal:
                    return refusal

            try:
                ep.device("opencl:cpu")
            except ep.DeviceError:
                pass
            print(in_child(body))
        """
        said = run(IN_CHILD + textwrap.dedent(program))
        assert "whether there are devices of cuda is not known here: use the 'spawn'" in said
        assert "survive" not in said

    def test_child_of_forked_child_is_refused(self) -> None:
        body = "    def inner():\n" + "\n".join(
            "    " + line for line in (REFUSED + HOST_WORKS).splitlines()
        )
        assert fork(body + "\n    return in_child(inner)") == ["fine", "the parent lives"]


@pytest.mark.host
@pytest.mark.numpy
class TestHost:
    def test_host_works_in_forked_child(self) -> None:
        body = (
            "    queue.wait()\n    event.wait()\n    ep.fill(target, 5)\n    assert "
            "memoryview(target)[9] == 5\n" + HOST_WORKS
        )
        assert fork(body, selector="host", kind="host") == ["fine", "the parent lives"]

    def test_host_works_after_fork_from_busy_threads(self) -> None:
        again = "\nfor _ in range(8):\n    assert in_child(body) == 'fine'\n"
        assert fork(
            HOST_WORKS, selector="host", kind="host", before=SUBMITTING, after=again + STOP
        ) == [
            "fine",
            "the parent lives",
        ]

    def run_in_file(self, folder: Path, program: str) -> list[str]:
        script = folder / "program.py"
        script.write_text(IN_CHILD + program)
        return run_script(script).splitlines()

    def test_kernel_compiling_at_fork_launches_in_child(self, tmp_path: Path) -> None:
        assert self.run_in_file(tmp_path, COMPILING + FORK_BESIDE_THE_COMPILER) == [
            "fine",
            "the parent lives",
        ]

    def test_fork_by_a_handler_leaves_compiler_to_parent(self, tmp_path: Path) -> None:
        assert self.run_in_file(tmp_path, COMPILING + FORK_IN_A_HANDLER) == [
            "0",
            "the parent lives",
        ]

    def test_library_loading_at_fork_is_refused_in_child(self, tmp_path: Path) -> None:
        assert self.run_in_file(tmp_path, LOADING_A_LIBRARY) == ["refused", "True"]

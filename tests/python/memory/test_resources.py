"""Resources in Python: their statistics, the current resource, and memory that kernels still
use."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable

import pytest

import entrepot as ep
from entrepot import memory
from support.places import HOST, Place, every_place
from support.processes import completed

pytestmark = pytest.mark.host


def run_python(source: str) -> subprocess.CompletedProcess[str]:
    return completed([sys.executable, "-c", textwrap.dedent(source)], timeout=120)


class TestResources:
    def test_default_resource_is_a_pool(self) -> None:
        resource = memory.get_resource("host")
        assert isinstance(resource, memory.pool)
        assert isinstance(resource.upstream, memory.direct)
        assert resource.upstream.upstream is None

    def test_resource_identity_is_preserved(self) -> None:
        pool = memory.pool()
        limit = memory.limit(1000, pool)
        assert limit.upstream == pool
        assert hash(limit.upstream) == hash(pool)
        assert pool != memory.pool()
        assert pool != "pool"
        assert memory.direct() == memory.direct()

    @every_place
    def test_pool_reuses_released_block(self, place: Place) -> None:
        pool = memory.pool()
        with memory.use_resource(pool):
            first = place.empty(1000, "float32")
            assert pool.used_bytes >= 4000
            del first
            assert pool.used_bytes == 0
            assert pool.cached_bytes > 0
            reserved = pool.reserved_bytes
            for _ in range(1000):
                place.empty(1000, "float32")
            assert pool.reserved_bytes == reserved, (
                "a thousand blocks one after the other are one block"
            )
        assert pool.trim() >= 4000
        assert (pool.reserved_bytes, pool.cached_bytes, pool.waiting_bytes) == (0, 0, 0)

    def test_pool_caches_at_most_the_maximum(self) -> None:
        pool = memory.pool(max_cached=1 << 20)
        with memory.use_resource(pool):
            arrays = [ep.empty(1 << 20, "uint8", device="host") for _ in range(20)]
            arrays += [ep.empty(3 << 20, "uint8", device="host") for _ in range(5)]
            del arrays
        assert pool.cached_bytes <= 1 << 21

    @every_place
    def test_limit_refuses_allocation_beyond_it(self, place: Place) -> None:
        limit = memory.limit(10_000, memory.direct())
        with memory.use_resource(limit):
            kept = place.empty(6000, "uint8")
            with pytest.raises(
                ep.USMAllocationError,
                match=r"^5000 bytes would exceed the limit of 10000 bytes, of which 6000 are in "
                r"use \(5000 bytes of ",
            ) as refused:
                place.empty(5000, "uint8")
            assert isinstance(refused.value, MemoryError)
            assert limit.used_bytes == 6000
            del kept
            place.empty(5000, "uint8")
        assert (limit.limit, limit.used_bytes) == (10_000, 0)

    def test_cached_memory_is_reclaimed_before_an_allocation_fails(self) -> None:
        pool = memory.pool(memory.limit(8 << 20, memory.direct()))
        with memory.use_resource(pool):
            ep.empty(6 << 20, "uint8", device="host")
            assert pool.cached_bytes == 6 << 20
            ep.empty(3 << 20, "uint8", device="host")

    def test_log_has_a_line_for_each_event(self) -> None:
        lines: list[str] = []
        with memory.use_resource(memory.log(sink=lines.append)):
            array = ep.empty(500, "uint8", device="host")
            address = array.data_ptr
            del array
        assert lines == [
            f"allocate host host 500 bytes at {address:#x}",
            f"deallocate host host 500 bytes at {address:#x}",
        ]

    def test_log_without_sink_writes_to_stderr(self) -> None:
        done = run_python("""
            import entrepot as ep
            ep.memory.set_resource("host", ep.memory.log())
            ep.empty(500, "uint8", device="host")
        """)
        assert done.returncode == 0, done.stderr
        assert [line.split(" at ")[0] for line in done.stderr.splitlines()] == [
            "allocate host host 500 bytes",
            "deallocate host host 500 bytes",
        ]

    def test_log_sink_is_not_reentered(self) -> None:
        lines: list[str] = []
        others: list[str] = []

        def sink(line: str) -> None:
            lines.append(line)
            with memory.use_resource(memory.log(log, sink=others.append)):
                ep.empty(7, "uint8", device="host")

        log = memory.log(sink=sink)
        with memory.use_resource(log):
            ep.empty(500, "uint8", device="host")
            ep.empty(600, "uint8", device="host")
        assert [line.split(" bytes")[0] for line in lines] == [
            f"{done} host host {size}" for size in (500, 600) for done in ("allocate", "deallocate")
        ]
        assert len(others) == 2 * len(lines), "another log is told"

    @pytest.mark.parametrize(
        ("make", "error", "words"),
        [
            (lambda: memory.limit(-1), ValueError, "^limit: -1 is negative"),
            (lambda: memory.limit(-(2**80)), ValueError, "is negative"),
            (lambda: memory.limit(2**64), ValueError, "is too large"),
            (lambda: memory.limit("1MB"), TypeError, "^limit: an int was expected, not '1MB'"),  # type: ignore[arg-type]
            (
                lambda: memory.limit(1e6),  # type: ignore[arg-type]
                TypeError,
                r"^limit: an int was expected, not 1000000.0; int\(…\) makes one",
            ),
            (lambda: memory.limit(None), TypeError, "^limit: an int was expected, not None"),  # type: ignore[arg-type]
            (
                lambda: memory.limit(10, 5),  # type: ignore[arg-type]
                TypeError,
                "^upstream: one of entrepot.memory's resources was expected.*not 5",
            ),
            (lambda: memory.track(frames=-1), ValueError, "^frames: -1 is negative"),
            (lambda: memory.pool(max_cached=-1), ValueError, "^max_cached: -1 is negative"),
            (lambda: memory.pool("direct"), TypeError, "^upstream: .*not 'direct'"),  # type: ignore[arg-type]
            (lambda: memory.set_resource("host", 5), TypeError, "^resource: .*not 5"),  # type: ignore[arg-type]
            (lambda: memory.use_resource(None), TypeError, "^resource: .*not None"),  # type: ignore[arg-type]
            (lambda: ep.ArrayHandle("x"), TypeError, "bytes of a handle were expected.*not 'x'"),  # type: ignore[arg-type]
            (lambda: ep.Dtype(None), TypeError, "a dtype was expected.*NoneType"),
        ],
    )
    def test_invalid_arguments_are_refused_with_the_reason(
        self, make: Callable[[], object], error: type[Exception], words: str
    ) -> None:
        with pytest.raises(error, match=words) as refused:
            make()
        assert "incompatible function arguments" not in str(refused.value)

    def test_sizes_of_64_bits_and_of_other_integers_are_taken(self) -> None:
        class Index:
            def __index__(self) -> int:
                return 2**64 - 1

        assert memory.limit(Index()).limit == 2**64 - 1  # type: ignore[arg-type]

    def test_sink_must_be_callable(self) -> None:
        with pytest.raises(TypeError, match="sink"):
            memory.log(sink="stderr")  # type: ignore[arg-type]

    def test_raising_sink_does_not_fail_the_allocation(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        raised: list[object] = []
        monkeypatch.setattr(
            sys, "unraisablehook", lambda unraisable: raised.append(unraisable.exc_type)
        )
        with memory.use_resource(memory.log(sink=lambda line: 1 / 0)):
            ep.empty(500, "uint8", device="host")
        assert raised == [ZeroDivisionError, ZeroDivisionError]

    def test_sink_is_released_with_its_log(self) -> None:
        class Sink:
            def __call__(self, line: str) -> None: ...

        sink = Sink()
        gone = weakref.ref(sink)
        array = None
        with memory.use_resource(memory.log(sink=sink)):
            array = ep.empty(5, "uint8", device="host")
        del sink
        assert gone() is not None, "the array's memory keeps the log"
        del array
        gc.collect()
        assert gone() is None

    def test_statistics_count_allocations(self) -> None:
        statistics = memory.statistics(memory.limit(5000))
        with memory.use_resource(statistics):
            kept = ep.empty(300, "uint8", device="host")
            ep.empty(500, "uint8", device="host")
            with pytest.raises(MemoryError):
                ep.empty(9000, "uint8", device="host")
        assert (statistics.current_bytes, statistics.peak_bytes, statistics.total_bytes) == (
            300,
            800,
            800,
        )
        assert (statistics.current_count, statistics.peak_count, statistics.total_count) == (
            1,
            2,
            2,
        )
        assert statistics.failed_count == 1, "however often it was tried"
        statistics.reset_peaks()
        assert statistics.peak_bytes == 300
        del kept
        assert (statistics.current_bytes, statistics.current_count) == (0, 0)

    def test_memory_keeps_its_resource(self) -> None:
        statistics = memory.statistics()
        with memory.use_resource(memory.log(statistics, sink=lambda line: None)):
            array = ep.empty(300, "uint8", device="host")
        gc.collect()
        assert statistics.current_bytes == 300
        del array
        assert statistics.current_bytes == 0

    def test_repr_has_the_name_of_resource(self) -> None:
        for resource in (
            memory.direct(),
            memory.pool(),
            memory.limit(1),
            memory.log(),
            memory.track(),
            memory.statistics(),
        ):
            assert resource.name in repr(resource)
            assert type(resource).__name__ == resource.name


class TestTrack:
    def test_track_keeps_stacks_of_live_allocations(self) -> None:
        track = memory.track()

        def make_an_array() -> ep.Array:
            return ep.empty(100, "uint8", device="host")

        with memory.use_resource(track):
            first, second = make_an_array(), make_an_array()
        del first
        (live,) = track.live
        assert (live.address, live.nbytes, live.kind, live.device) == (
            second.data_ptr,
            100,
            "host",
            ep.device("host"),
        )
        assert "in make_an_array" in live.stack
        assert __file__ in live.stack
        assert live.stack.index("in test_track_keeps") < live.stack.index("in make_an_array"), (
            "the most recent call comes last"
        )
        assert "1 allocation, of 100 bytes" in track.report()
        del second
        assert track.live == []
        assert track.report() == ""

    def test_frames_are_counted(self) -> None:
        track = memory.track(frames=1)
        with memory.use_resource(track):
            array = ep.empty(100, "uint8", device="host")
        assert track.live[0].stack.count("File") == 1
        del array

    def test_leaks_at_exit_are_reported(self) -> None:
        done = run_python("""
            import entrepot as ep
            ep.memory.set_resource("host", ep.memory.track())
            def forgetful():
                global left
                left = ep.empty(123, "uint8", device="host")
                gone = ep.empty(456, "uint8", device="host")
            forgetful()
        """)
        assert done.returncode == 0
        assert done.stderr.startswith(
            "entrepot: at exit, 1 allocation, of 123 bytes, is still live\n"
        )
        assert "in forgetful" in done.stderr

    def test_track_without_leaks_prints_nothing(self) -> None:
        done = run_python("""
            import entrepot as ep
            ep.memory.set_resource("host", ep.memory.track())
            ep.empty(123, "uint8", device="host")
        """)
        assert (done.returncode, done.stderr) == (0, "")


class TestCurrent:
    def test_resource_of_device_is_set_and_reset(self) -> None:
        statistics = memory.statistics()
        default = memory.get_resource("host")
        memory.set_resource("host", statistics)
        try:
            assert memory.get_resource(ep.device("host")) == statistics
            array = ep.empty(10, "uint8", device="host")
            assert statistics.current_bytes == 10
        finally:
            memory.set_resource("host", None)
        assert memory.get_resource("host") == default
        del array

    def test_scopes_nest_and_belong_to_their_thread(self) -> None:
        outer, inner = memory.statistics(), memory.statistics()
        default = memory.get_resource("host")
        elsewhere: list[memory.Resource] = []
        with memory.use_resource(outer) as entered:
            assert entered == outer
            with memory.use_resource(inner):
                assert memory.get_resource("host") == inner
                thread = threading.Thread(
                    target=lambda: elsewhere.append(memory.get_resource("host"))
                )
                thread.start()
                thread.join()
            assert memory.get_resource("host") == outer
        assert memory.get_resource("host") == default
        assert elsewhere == [default]

    def test_scope_ends_innermost_first(self) -> None:
        outer, inner = (
            memory.use_resource(memory.statistics()),
            memory.use_resource(memory.statistics()),
        )
        outer.__enter__()
        inner.__enter__()
        with pytest.raises(ValueError, match="innermost first"):
            outer.__exit__(None, None, None)
        inner.__exit__(None, None, None)
        outer.__exit__(None, None, None)
        with pytest.raises(ValueError, match="innermost first"):
            outer.__exit__(None, None, None)

    def test_resource_arguments_of_wrong_type_are_refused(self) -> None:
        with pytest.raises(TypeError):
            memory.use_resource("pool")  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            memory.limit("1 GB")  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            memory.limit(1000, "pool")  # type: ignore[arg-type]

    def test_trim_reaches_every_pool(self) -> None:
        pool = memory.pool()
        with memory.use_resource(pool):
            ep.empty(5 << 20, "uint8", device="host")
        assert memory.trim() >= 5 << 20
        assert pool.reserved_bytes == 0


def test_eight_threads_on_every_resource() -> None:
    statistics = memory.statistics(
        memory.pool(memory.limit(1 << 30, memory.track(memory.direct())))
    )
    problems: list[BaseException] = []

    def work() -> None:
        try:
            with memory.use_resource(statistics):
                for i in range(300):
                    HOST.empty(1 + i * 37 % 5000, "float32")
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert statistics.current_bytes == 0
    assert statistics.total_count == 8 * 300

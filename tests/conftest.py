"""Markers state a test's requirements: hardware (host, sycl, cuda, hip), peers (numpy, dpctl, …).

A test whose requirement is absent is skipped, with the reason. ``ENTREPOT_REQUIRE=sycl,dpctl``
turns such skips into failures, including those of ``pytest.importorskip``. CI lists everything
that its machine has.

``make test`` distributes the tests over processes. A test marked ``alone`` measures times, or
needs a kernel to be still running: no other process runs a test meanwhile.
"""

from __future__ import annotations

import fcntl
import functools
import gc
import importlib
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, TextIO

import pluggy
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

# No deadline: a first example may compile a kernel, and the machine may be busy. CI repeats the
# same examples, as Hypothesis' own profile for CI does. Other runs draw new ones, and so do runs
# that set ENTREPOT_EXAMPLES.
_SAME_EACH_TIME = bool(os.environ.get("CI")) and not os.environ.get("ENTREPOT_EXAMPLES")
settings.register_profile("entrepot", deadline=None, derandomize=_SAME_EACH_TIME)
settings.load_profile("entrepot")


def _backend(*names: str) -> str | None:
    """Reason why there is no device of these backends; None if there is one."""
    import entrepot as ep

    found = [str(device) for device in ep.devices()]
    if any(device.split(":")[0] in names for device in found):
        return None
    return f"there is no {' or '.join(names)} device here, only {', '.join(found) or 'none at all'}"


def _two(backend: str) -> str | None:
    import entrepot as ep

    count = sum(device.backend == backend for device in ep.devices())
    return None if count >= 2 else f"there are not two {backend} devices here, but {count}"


def _module(name: str) -> str | None:
    """Reason why the module cannot be imported; None if it can."""
    try:
        importlib.import_module(name)
    except (
        Exception
    ) as error:  # a peer that breaks while being imported is as absent as one that is not installed
        return f"import {name}: {type(error).__name__}: {error}"
    return None


def _cupy() -> str | None:
    absent = _module("cupy")
    if absent:
        return absent
    import cupy

    return None if cupy.cuda.is_available() else "cupy is installed, but sees no CUDA device"


def _numba_cuda() -> str | None:
    absent = _module("numba.cuda")
    if absent:
        return absent
    from numba import cuda

    return None if cuda.is_available() else "numba-cuda is installed, but finds no CUDA device"


def _hip_library() -> str | None:
    from entrepot import LibraryError, hip

    try:
        hip.hipInit(0)
    except LibraryError as error:
        return str(error).splitlines()[0]
    return None


def _hiprand_library() -> str | None:
    from entrepot import LibraryError, hiprand

    try:
        hiprand.hiprandGetVersion()
    except LibraryError as error:
        return str(error).splitlines()[0]
    return None


def _hipsparse_library() -> str | None:
    from entrepot import LibraryError, hipsparse

    try:
        hipsparse.hipsparseGetVersion(None)
    except LibraryError as error:
        return str(error).splitlines()[0]
    return None


def _bindgen() -> str | None:
    return (
        None if (ROOT / "build/bindgen/bindgen").exists() else "bindgen is not built: make bindgen"
    )


# Needs that are met by importing a module.
MODULES = {
    "numpy": "numpy",
    "ml_dtypes": "ml_dtypes",
    "dpctl": "dpctl",
    "dpnp": "dpnp",
    "torch": "torch",
    "jax": "jax",
    "tvm_ffi": "tvm_ffi",
    "nanobind": "nanobind",
    "mpi4py": "mpi4py.MPI",
    "distributed": "distributed",
    "joblib": "joblib",
    "ray": "ray",
    "ucxx": "ucxx",
    "nixl": "nixl_cu12",
    "numba": "numba",
    "triton": "triton",
    "cuda_core": "cuda.core",
    "hip_python": "rocm.bindings.hip",
}

# One row per marker: the reason why its need is absent, or None.
NEEDS: dict[str, Callable[[], str | None]] = {
    "host": lambda: _backend("host"),
    "sycl": lambda: _backend("opencl", "level_zero"),
    "cuda": lambda: _backend("cuda"),
    "two_cuda": lambda: _two("cuda"),
    "hip": lambda: _backend("hip"),
    "two_hip": lambda: _two("hip"),
    "cupy": _cupy,
    "numba_cuda": _numba_cuda,
    "hip_library": _hip_library,
    "hiprand_library": _hiprand_library,
    "hipsparse_library": _hipsparse_library,
    "bindgen": _bindgen,
    **{name: functools.partial(_module, module) for name, module in MODULES.items()},
}


@functools.cache
def absence(need: str) -> str | None:
    return NEEDS[need]()


def required() -> set[str]:
    return {
        name.strip() for name in os.environ.get("ENTREPOT_REQUIRE", "").split(",") if name.strip()
    }


def pytest_configure(config: pytest.Config) -> None:
    for need in NEEDS:
        config.addinivalue_line(
            "markers", f"{need}: needs {need}; skipped with the reason where it is absent"
        )
    config.addinivalue_line(
        "markers", "goes_on: a later test works with what this one leaves, memory too"
    )
    config.addinivalue_line(
        "markers", "alone: no other process of the same run tests anything meanwhile"
    )
    unknown = required() - set(NEEDS)
    if unknown:
        raise pytest.UsageError(
            f"ENTREPOT_REQUIRE names {', '.join(sorted(unknown))}; it may name "
            f"{', '.join(sorted(NEEDS))}"
        )


def pytest_report_header() -> str:
    return f"required: {', '.join(sorted(required())) or 'nothing (ENTREPOT_REQUIRE is empty)'}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    for need in NEEDS:
        if item.get_closest_marker(need) is None:
            continue
        reason = absence(need)
        if reason is None:
            continue
        if need in required():
            pytest.fail(f"ENTREPOT_REQUIRE names {need}, but {reason}", pytrace=False)
        pytest.skip(f"{need}: {reason}")


def _need_of(module: str) -> str | None:
    """The need that the module belongs to. ``numba.cuda`` is separate from ``numba``: a run may
    require the former without the latter."""
    roots = {**MODULES, "cupy": "cupy", "numba_cuda": "numba.cuda"}
    within = [need for need, root in roots.items() if f"{module}.".startswith(f"{root}.")]
    return max(within, key=lambda need: len(roots[need]), default=None)


def _fail_if_required(report: pytest.CollectReport | pytest.TestReport) -> None:
    """Turns a skip by ``pytest.importorskip``, in a module or a test, into a failure if it is
    required. It recognizes pytest's own message, so no test passes a ``reason`` instead."""
    if not report.skipped or not isinstance(report.longrepr, tuple):
        return
    reason = report.longrepr[2].removeprefix("Skipped: ")
    missing = re.match(
        r"(?:could not import|module) '([\w.]+)'", reason
    )  # the latter: "has __version__ …"
    need = _need_of(missing[1]) if missing else None
    if need in required():
        report.outcome = "failed"
        report.longrepr = f"ENTREPOT_REQUIRE names {need}, but {reason}"


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report() -> Generator[None, pluggy.Result[pytest.CollectReport]]:
    outcome = yield
    _fail_if_required(outcome.get_result())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Generator[None, pluggy.Result[pytest.TestReport]]:
    outcome = yield
    _fail_if_required(outcome.get_result())


def _is_alone(item: pytest.Item | None) -> bool:
    """True if no other process may run a test meanwhile. A skipped test disturbs no other."""
    if item is None or item.get_closest_marker("alone") is None:
        return False
    return not any(item.get_closest_marker(need) and absence(need) for need in NEEDS)


def _enter(alone: bool) -> TextIO:
    """Waits for the lock and returns its file; closing the file releases the lock."""
    # POSIX record locks: a child that a test leaves behind does not inherit them.
    path = ROOT / "build/tests.lock"
    path.parent.mkdir(exist_ok=True)
    file = path.open("a+")
    gate, room = ((1, at) for at in range(2))
    # Held while waiting for the lock, so that later shared locks cannot overtake an exclusive one.
    fcntl.lockf(file, fcntl.LOCK_EX, *gate)
    fcntl.lockf(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH, *room)
    fcntl.lockf(file, fcntl.LOCK_UN, *gate)
    return file


_kept: list[TextIO] = []  # by a process that is alone, for its next test


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Under pytest-xdist, holds the shared lock, or the exclusive one for a test marked ``alone``.
    The process keeps the exclusive lock for its next such tests. Otherwise each of them would wait
    for tests that other processes begin in between."""
    if not hasattr(item.config, "workerinput"):
        yield
        return
    alone = _is_alone(item)
    file = _kept.pop() if _kept else _enter(alone)
    yield
    if alone and _is_alone(nextitem):
        _kept.append(file)
    else:
        file.close()


_processes: list[Any] = []


@pytest.hookimpl(optionalhook=True)
def pytest_testnodeready(node: Any) -> None:
    _processes.append(node.gateway)
    node.nodemanager.EXIT_TIMEOUT = (
        60  # seconds; a runtime's shutdown under a sanitizer may take more than ten
    )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Reports an error for a process that crashes at exit, or is killed a minute later.
    pytest-xdist ignores it."""
    for gateway in _processes:
        status = gateway._io.wait()
        if status:
            how = f"signal {-status}" if status < 0 else f"status {status}"
            where = (f"process {gateway.id}", None, f"the end of process {gateway.id}")
            report = pytest.TestReport(
                where[0], where, {}, "failed", f"it ended by {how}", "teardown"
            )
            session.config.hook.pytest_runtest_logreport(report=report)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device-memory",
        action="store_true",
        help="fail tests of CUDA, HIP and SYCL that leave memory of any kind behind",
    )


@pytest.fixture(autouse=True)
def no_device_memory_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """With ``--device-memory``, checks that a device test returns all memory that it allocates
    from the default pool (device, pinned and shared memory of every device)."""
    has = request.node.get_closest_marker
    of_a_device = any(has(need) for need in ("cuda", "hip", "sycl")) and not has("goes_on")
    if not request.config.getoption("--device-memory") or not of_a_device:
        yield
        return
    from entrepot import memory
    from support.polling import eventually_equal

    pool = memory.get_resource("host")
    assert isinstance(pool, memory.pool)

    def used() -> int:
        return pool.used_bytes + pool.waiting_bytes

    before = used()
    yield
    request.node.funcargs.clear()  # which hold what other fixtures made
    sys.last_value = sys.last_traceback = (
        None  # pytest's, of a test that was expected to raise; its frames hold arrays
    )
    if sys.version_info >= (3, 12):
        sys.last_exc = None
    assert eventually_equal(lambda: used() <= before, True, seconds=2), (
        f"{used() - before} bytes of the pool are left"
    )


@pytest.fixture
def other() -> Iterator[Any]:
    """A second process (support.other_process.Other)."""
    from support.other_process import Other

    process = Other()
    yield process
    process.end()


@pytest.fixture(scope="module", autouse=True)
def collection_is_cheap() -> Iterator[None]:
    """Freezes existing objects for the garbage collector, since tests of lifetimes call it after
    every drop."""
    gc.freeze()
    yield
    gc.unfreeze()

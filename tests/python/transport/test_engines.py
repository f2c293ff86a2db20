"""``entrepot.transport``: names, options, enabling and disabling, and imports."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
from typing import Any

import pytest

import entrepot as ep
from entrepot import transport
from entrepot.transport.engine import Enabled, Engine
from support.processes import run

pytestmark = pytest.mark.host


class Installed:
    """An engine's functions, which count their calls."""

    def __init__(self) -> None:
        self.calls: list[object] = []
        self.engine = Engine("sample", self.install, self.remove)

    def install(self, **options: object) -> None:
        self.calls.append(options)

    def remove(self) -> None:
        self.calls.append("removed")


class TestEngine:
    def test_enabling_twice_installs_once(self) -> None:
        sample = Installed()
        assert sample.engine.enable(a=1).engines == ("sample",)
        assert sample.engine.enable(a=1).engines == ("sample",)
        assert sample.calls == [{"a": 1}]

    def test_other_options_replace_the_earlier_ones(self) -> None:
        sample = Installed()
        sample.engine.enable(a=1)
        sample.engine.enable(a=2)
        assert sample.calls == [{"a": 1}, {"a": 2}]
        assert sample.engine.options == {"a": 2}

    def test_disabling_twice_removes_once(self) -> None:
        sample = Installed()
        sample.engine.disable()
        sample.engine.enable()
        sample.engine.disable()
        sample.engine.disable()
        assert sample.calls == [{}, "removed"]

    def test_inner_block_leaves_the_outer_one_enabled(self) -> None:
        sample = Installed()
        with sample.engine.enable():
            with sample.engine.enable():
                pass
            assert sample.engine.options == {}
        assert sample.engine.options is None

    def test_inner_options_end_with_their_block(self) -> None:
        sample = Installed()
        with sample.engine.enable(a=1):
            with sample.engine.enable(a=2):
                assert sample.engine.options == {"a": 2}
            assert sample.engine.options == {"a": 1}
        assert sample.calls == [{"a": 1}, {"a": 2}, {"a": 1}, "removed"]

    def test_call_that_has_ended_disables_no_later_one(self) -> None:
        sample = Installed()
        first = sample.engine.enable(a=1)
        first.disable()
        second = sample.engine.enable(a=1)
        first.disable()
        assert sample.engine.options == {"a": 1}
        second.disable()
        assert sample.engine.options is None

    def test_outer_call_that_ends_first_leaves_the_inner_one(self) -> None:
        sample = Installed()
        first, second = sample.engine.enable(a=1), sample.engine.enable(a=2)
        first.disable()
        assert sample.engine.options == {"a": 2}
        second.disable()
        assert sample.calls == [{"a": 1}, {"a": 2}, "removed"]

    def test_disabling_the_engine_ends_all_calls(self) -> None:
        sample = Installed()
        first, second = sample.engine.enable(a=1), sample.engine.enable(a=2)
        sample.engine.disable()
        first.disable()
        second.disable()
        assert sample.calls == [{"a": 1}, {"a": 2}, "removed"]

    def test_child_of_a_fork_during_enable_can_enable(self) -> None:
        sample = Installed()
        with sample.engine._lock:  # as if another thread were there
            child = os.fork()
            if child == 0:
                threading.Timer(5, os._exit, (3,)).start()
                sample.engine.enable()
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

    def test_failed_installation_enables_nothing(self) -> None:
        def fail() -> None:
            raise ZeroDivisionError

        engine = Engine("broken", fail, fail)
        with pytest.raises(ZeroDivisionError):
            engine.enable()
        assert engine.options is None
        engine.disable()

    def test_threads_install_once(self) -> None:
        sample = Installed()
        threads = [threading.Thread(target=sample.engine.enable) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sample.calls == [{}]

    def test_copy_of_enabled_disables_nothing(self) -> None:
        sample = Installed()
        copy: Enabled = pickle.loads(pickle.dumps(sample.engine.enable()))
        copy.disable()
        assert sample.calls == [{}]
        assert repr(copy) == "<entrepot.transport.Enabled nothing>"


class TestEnable:
    @pytest.mark.parametrize("call", [transport.enable, transport.disable])
    def test_unknown_engine_is_named(self, call: Any) -> None:
        with pytest.raises(ValueError, match=r"'spark' is not known: there are dask, joblib, mpi"):
            call("multiprocessing", "spark")
        assert transport.multiprocessing._engine.options is None

    def test_block_disables_at_its_end(self) -> None:
        array = ep.zeros(3, "int8", device="host")
        with transport.enable("multiprocessing") as enabled:
            assert enabled.engines == ("multiprocessing",)
            with transport.multiprocessing.enable(policy="copy"):
                send(array)
            with pytest.raises(ep.ExchangeError, match=r"shareable\(\)"):
                send(array)
        with pytest.raises(TypeError, match="cannot pickle"):
            send(array)

    def test_disable_without_names_disables_the_enabled_ones(self) -> None:
        transport.multiprocessing.enable("copy")
        transport.disable()
        with pytest.raises(TypeError):
            send(ep.zeros(3, "int8", device="host"))

    def test_missing_library_leaves_nothing_enabled(self, monkeypatch: Any) -> None:
        def missing(name: str) -> Any:
            raise ModuleNotFoundError(name)

        monkeypatch.setattr(transport.joblib, "import_module", missing)
        with pytest.raises(ModuleNotFoundError):
            transport.enable("multiprocessing", "joblib")
        assert transport.multiprocessing._engine.options is None

    def test_refusal_by_a_transport_names_it(self) -> None:
        with (
            transport.multiprocessing.enable("refuse"),
            pytest.raises(TypeError, match=r"transport\.multiprocessing is enabled.*'refuse'"),
        ):
            send(ep.zeros(3, "int8", device="host"))

    def test_unknown_policy_is_refused(self) -> None:
        with pytest.raises(ValueError, match="'share', 'copy' or 'refuse'"):
            transport.multiprocessing.enable("SHARE")  # type: ignore[arg-type]
        assert transport.multiprocessing._engine.options is None


def send(array: ep.Array) -> Any:
    receiving, sending = multiprocessing.Pipe()
    sending.send(array)
    return receiving.recv()


def test_import_loads_no_engine() -> None:
    run(
        """
        import sys
        import entrepot as ep
        assert not {"entrepot.transport", "entrepot.pickles", "multiprocessing", "pickle"} & {
            *sys.modules
        }
        ep.transport.enable
        engines = {"dask", "distributed", "joblib", "mpi4py", "multiprocessing", "ray", "ucxx"}
        assert not engines & {*sys.modules}, engines & {*sys.modules}
        from entrepot.transport import dask, joblib, mpi, nixl, ray, ucxx

        ep.transport.multiprocessing.enable()
        engines.remove("multiprocessing")
        assert not engines & {*sys.modules}, engines & {*sys.modules}
        """
    )

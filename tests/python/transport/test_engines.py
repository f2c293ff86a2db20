"""``entrepot.transport``: names, options, enabling and disabling, and imports."""

from __future__ import annotations

import multiprocessing
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
        assert sample.engine.enable(a=1).engines == ()
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
        assert repr(copy) == "<entrepot.transport.Enabled nothing new>"


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
            transport.multiprocessing.enable(policy="copy")
            send(array)
        with pytest.raises(TypeError, match="cannot pickle"):
            send(array)

    def test_disable_without_names_disables_the_enabled_ones(self) -> None:
        transport.multiprocessing.enable("copy")
        transport.disable("multiprocessing")
        with pytest.raises(TypeError):
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

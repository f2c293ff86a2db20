"""Memory that is exposed to ucxx and NIXL: refusals, order, and transfers between two ends."""

from __future__ import annotations

import contextlib
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

import entrepot as ep
from entrepot import transport
from interop import slow
from support.places import values_of
from support.processes import output_of, run

np = pytest.importorskip("numpy")
pytestmark = [pytest.mark.host, pytest.mark.numpy]


class Agent:
    """Records the calls of an agent of NIXL."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def register_memory(self, descriptors: Any, kind: str) -> str:
        self.calls.append((descriptors, kind))
        return "registration"

    def deregister_memory(self, registration: str) -> None:
        self.calls.append(registration)

    def get_xfer_descs(self, descriptors: Any, kind: str) -> Any:
        return descriptors


def in_ucxx(array: ep.Array, **options: Any) -> contextlib.AbstractContextManager[Any]:
    return transport.ucxx.lent(array, **options)


def in_nixl(array: ep.Array, **options: Any) -> contextlib.AbstractContextManager[Any]:
    return transport.nixl.registered(Agent(), array, **options)


Lend = Callable[..., contextlib.AbstractContextManager[Any]]


@pytest.mark.parametrize("lend", [in_ucxx, in_nixl])
class TestRefusals:
    @pytest.mark.parametrize("index", [np.s_[::2], np.s_[::-1], np.s_[:, 1:]])
    def test_memory_with_gaps_is_refused(self, lend: Lend, index: Any) -> None:
        with (
            pytest.raises(ValueError, match=r"contiguous.*strides.*array\.to\(\)"),
            lend(ep.asarray(np.zeros((4, 6)))[index]),
        ):
            raise AssertionError

    def test_read_only_memory_does_not_receive(self, lend: Lend) -> None:
        array = ep.asarray(b"abcd")
        with lend(array):
            pass
        with (
            pytest.raises(ValueError, match=r"read-only, and cannot receive.*array\.to\(\)"),
            lend(array, receive=True),
        ):
            raise AssertionError

    @pytest.mark.sycl
    def test_device_memory_of_sycl_is_refused(self, lend: Lend) -> None:
        with (
            pytest.raises(ep.ExchangeError, match=r"not device memory of opencl.*copy_to_host"),
            lend(ep.zeros(4, "int32", device="opencl:cpu", kind="device")),
        ):
            raise AssertionError

    @pytest.mark.sycl
    def test_pending_kernel_is_waited_for(self, lend: Lend) -> None:
        array = ep.zeros((4, 6), "int32", device="opencl:cpu", kind="shared")
        done = slow.launch(array)
        with lend(array):
            assert done.done

    @pytest.mark.cuda
    def test_pending_kernel_of_cuda_is_waited_for(self, lend: Lend) -> None:
        array = ep.zeros((4, 6), "int32", device="cuda:0", queue=ep.Queue("cuda:0"))
        done = slow.launch(array)
        with lend(array):
            assert done.done


class TestNixl:
    def test_descriptors_are_of_the_memory(self) -> None:
        agent = Agent()
        first, second = ep.asarray(np.zeros((4, 6))).T, ep.asarray(np.zeros(3, "i2"))[1:]
        with transport.nixl.registered(agent, first, second) as descriptors:
            assert descriptors == [(first.data_ptr, 192, 0), (second.data_ptr, 4, 0)]
        assert agent.calls == [([(*each, "") for each in descriptors], "DRAM"), "registration"]

    def test_failed_transfer_ends_the_registration(self) -> None:
        agent = Agent()
        with pytest.raises(ZeroDivisionError), transport.nixl.registered(agent, ep.asarray(b"ab")):
            raise ZeroDivisionError
        assert agent.calls[-1] == "registration"

    def test_call_without_arrays_is_refused(self) -> None:
        with pytest.raises(ValueError, match="of one type"), transport.nixl.registered(Agent()):
            raise AssertionError

    @pytest.mark.cuda
    def test_device_memory_is_of_its_own_type(self) -> None:
        agent, array = Agent(), ep.zeros(4, "int32", device="cuda:0")
        with transport.nixl.registered(agent, array) as descriptors:
            assert descriptors == [(array.data_ptr, 16, 0)]
        assert agent.calls[0][1] == "VRAM"
        with (
            pytest.raises(ValueError, match=r"not of 2.*DRAM.*VRAM"),
            transport.nixl.registered(agent, array, ep.zeros(4, "int32", device="host")),
        ):
            raise AssertionError

    @pytest.mark.nixl
    def test_agents_write_from_array_to_array(self) -> None:
        program = """
            import os, sys
            sys.stdout, said = sys.stderr, sys.stdout
            os.environ["NIXL_LOG_LEVEL"] = "ERROR"
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            from nixl_cu12._api import nixl_agent, nixl_agent_config
            import entrepot as ep
            from entrepot import transport

            first, second = (nixl_agent(name, nixl_agent_config(backends=["UCX"])) for name in "ab")
            source = ep.full(1 << 20, 7, "float32", device="host")
            target = ep.zeros(1 << 20, "float32", device="host")
            with (
                transport.nixl.registered(first, source) as mine,
                transport.nixl.registered(second, target, receive=True) as theirs,
            ):
                name = first.add_remote_agent(second.get_agent_metadata())
                handle = first.initialize_xfer("WRITE", mine, theirs, name)
                first.transfer(handle)
                while (state := first.check_xfer_state(handle)) == "PROC":
                    pass
                first.release_xfer_handle(handle)
            print(state, set(target.numpy().tolist()), file=said, flush=True)
            os._exit(0)  # two agents of NIXL in one process crash at its end
        """
        assert run(program) == "DONE {7.0}"


@pytest.mark.ucxx
def test_endpoints_of_ucxx_send_from_array_to_array() -> None:
    program = """
        import asyncio, os
        os.environ["UCX_TLS"] = "tcp,sm,self"
        import ucxx
        import entrepot as ep
        from entrepot import transport

        source = ep.full((100, 1000), 7, "float32", device="host")
        target = ep.zeros((1000, 100), "float32", device="host").T
        received = asyncio.Event()

        async def serve(endpoint):
            with transport.ucxx.lent(target, receive=True) as buffer:
                await endpoint.recv(buffer)
            received.set()

        async def main():
            listener = ucxx.create_listener(serve)
            endpoint = await ucxx.create_endpoint(ucxx.get_address(), listener.port)
            with transport.ucxx.lent(source) as buffer:
                await endpoint.send(buffer)
            await received.wait()

        asyncio.run(main())
        print(set(target.numpy().ravel().tolist()), flush=True)
        os._exit(0)
    """
    # ucxx warns of a handler that has not returned yet.
    assert output_of([sys.executable, "-c", textwrap.dedent(program)]).strip() == "{7.0}"


def test_lent_bytes_are_those_of_the_array() -> None:
    array = ep.asarray(np.arange(6, dtype="int16").reshape(2, 3)).T
    with transport.ucxx.lent(array) as buffer:
        assert (buffer.data_ptr, buffer.shape, str(buffer.dtype)) == (
            array.data_ptr,
            (12,),
            "uint8",
        )
        assert values_of(buffer.view("int16")).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("receive", [False, True])
def test_lent_bytes_are_writable_to_receive_alone(receive: bool) -> None:
    with transport.ucxx.lent(ep.asarray(np.zeros(4)), receive=receive) as buffer:
        assert buffer.read_only is not receive
        assert memoryview(buffer).readonly is not receive

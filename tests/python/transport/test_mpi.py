"""Arrays in mpi4py: memory that is lent for messages, and messages of objects."""

from __future__ import annotations

import os
import pickle
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import entrepot as ep
from entrepot import leases, transport
from interop import slow
from support.other_process import shareable
from support.places import values_of
from support.processes import output_of

np = pytest.importorskip("numpy")
MPI = pytest.importorskip("mpi4py.MPI")
pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.mpi4py]

SELF = MPI.COMM_SELF


class TestLent:
    @pytest.mark.parametrize(
        "dtype",
        (
            "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
            "float32 float64 complex64 complex128"
        ).split(),
    )
    def test_message_keeps_values(self, dtype: str) -> None:
        values = np.arange(24).reshape(4, 6).astype(dtype)
        sent, received = ep.asarray(values), ep.zeros((4, 6), dtype, device="host")
        with transport.mpi.lent(SELF, sent) as a, transport.mpi.lent(SELF, received) as b:
            SELF.Sendrecv(a, 0, recvbuf=b)
        assert values_of(received).tolist() == values.tolist()

    def test_lent_memory_is_that_of_the_array(self) -> None:
        array = ep.asarray(np.arange(6.0))
        with transport.mpi.lent(SELF, array[2:]) as (memory, datatype):
            assert (memory.address, memory.nbytes) == (array.data_ptr + 16, 32)
            assert datatype == MPI.DOUBLE

    def test_reduction_knows_the_datatype(self) -> None:
        array, total = ep.full(3, 5, "int32", device="host"), ep.zeros(3, "int32", device="host")
        with transport.mpi.lent(SELF, array) as a, transport.mpi.lent(SELF, total) as b:
            SELF.Allreduce(a, b, MPI.SUM)
        assert values_of(total).tolist() == [5, 5, 5]

    @pytest.mark.sycl
    @pytest.mark.parametrize("kind", ["host", "shared"])
    def test_pending_kernel_is_waited_for_once(self, kind: str) -> None:
        array = ep.zeros((4, 6), "int32", device="opencl:cpu", kind=kind)
        done = slow.launch(array)
        received = bytearray(96)
        with transport.mpi.lent(SELF, array) as buffer:
            assert done.done, "the call has waited"
            SELF.Sendrecv(buffer, 0, recvbuf=received)
            later = slow.launch(ep.zeros((4, 6), "int32", device="opencl:cpu", kind=kind))
            SELF.Sendrecv(buffer, 0, recvbuf=received)
            assert not later.done, "messages in the block do not wait"
        later.wait()
        assert received[0] == slow.RESULT

    def test_columns_are_contiguous(self) -> None:
        array = ep.asarray(np.arange(6, dtype="int32").reshape(2, 3)).T
        received = ep.zeros(6, "int32", device="host")
        with transport.mpi.lent(SELF, array) as a, transport.mpi.lent(SELF, received) as b:
            SELF.Sendrecv(a, 0, recvbuf=b)
        assert values_of(received).tolist() == [0, 1, 2, 3, 4, 5]

    @pytest.mark.parametrize("index", [np.s_[::2], np.s_[::-1], np.s_[:, 1:]])
    def test_memory_with_gaps_is_refused(self, index: Any) -> None:
        array = ep.asarray(np.zeros((4, 6)))[index]
        with (
            pytest.raises(ValueError, match=r"contiguous.*strides.*array\.to\(\)"),
            transport.mpi.lent(SELF, array),
        ):
            raise AssertionError

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn"])
    def test_dtype_unknown_to_mpi_is_refused(self, dtype: str) -> None:
        with (
            pytest.raises(TypeError, match=rf"no datatype for {dtype}.*view\('uint8'\)"),
            transport.mpi.lent(SELF, ep.zeros(4, dtype, device="host")),
        ):
            raise AssertionError

    def test_message_into_read_only_memory_is_refused(self) -> None:
        with (
            transport.mpi.lent(SELF, ep.asarray(b"abcd")) as buffer,
            pytest.raises(BufferError, match="not writable"),
        ):
            SELF.Sendrecv(bytearray(4), 0, recvbuf=buffer)

    @pytest.mark.sycl
    def test_device_memory_is_refused_unless_mpi_takes_it(self) -> None:
        array = ep.zeros(4, "int32", device="opencl:cpu", kind="device")
        with (
            pytest.raises(ep.ExchangeError, match=r"device memory of opencl.*copy_to_host\(\)"),
            transport.mpi.lent(SELF, array),
        ):
            raise AssertionError
        done = slow.launch(array[:])
        with transport.mpi.lent(SELF, array, device_aware=True) as (memory, _):
            assert memory.address == array.data_ptr
            assert done.done

    @pytest.mark.cuda
    def test_device_memory_of_cuda_is_idle_in_the_block(self) -> None:
        array = ep.zeros((4, 6), "int32", device="cuda:0", queue=ep.Queue("cuda:0"))
        done = slow.launch(array)
        with transport.mpi.lent(SELF, array, device_aware=True) as (memory, _):
            assert memory.address == array.data_ptr
            assert done.done


class TestObjects:
    def test_objects_are_refused_without_the_transport(self) -> None:
        with pytest.raises(TypeError, match="cannot pickle"):
            SELF.sendrecv(ep.zeros(3, "int8", device="host"), 0)

    def test_objects_with_arrays_are_copied(self) -> None:
        array = ep.asarray(np.arange(3))
        with transport.enable("mpi"):
            made = SELF.sendrecv({"a": [array]}, 0)["a"][0]
        ep.fill(array, 9).wait()
        assert values_of(made).tolist() == [0, 1, 2]
        with pytest.raises(TypeError):
            SELF.sendrecv(array, 0)
        assert SELF.sendrecv([1, 2], 0) == [1, 2]

    def test_buffers_are_out_of_band_in_pkl5(self) -> None:
        from mpi4py.util import pkl5

        array = ep.asarray(np.arange(1 << 17))  # smaller ones are in the stream
        with transport.enable("mpi"):
            data, buffers = pkl5.pickle.dumps_oob(array)
            made = pkl5.Intracomm(SELF).sendrecv(array, 0)
        assert len(data) < 1000
        assert [MPI.buffer.frombuffer(each).address for each in buffers] == [array.data_ptr]
        assert values_of(made).tolist() == list(range(1 << 17))

    def test_other_pickles_are_not_affected(self) -> None:
        with transport.enable("mpi"), pytest.raises(TypeError):
            pickle.dumps(ep.zeros(3, "int8", device="host"))

    def test_message_with_an_error_ends_its_leases(self) -> None:
        array = shareable(np.arange(3), "host")
        with transport.mpi.enable("share"), pytest.raises(Exception, match="pickle"):
            SELF.sendrecv([array, lambda: 0], 0)
        assert not leases._table.held

    @pytest.mark.parametrize("place", ["mpi4py.MPI", "mpi4py.util.pkl5"])
    def test_functions_of_the_program_stay(self, place: str) -> None:
        pickler = import_module(place).pickle
        calls: list[str] = []

        def dumps(*args: Any, **kwargs: Any) -> bytes:
            calls.append("dumps")
            return pickle.dumps(*args, **kwargs)

        def loads(*args: Any, **kwargs: Any) -> Any:
            calls.append("loads")
            return pickle.loads(*args, **kwargs)

        pickler.__init__(dumps, loads, 4)
        try:
            with transport.mpi.enable(), transport.mpi.enable("share"):
                pass
            with transport.mpi.enable():
                made = pickler.loads(pickler.dumps(ep.asarray(np.arange(3))))
            assert calls == ["dumps", "loads"]
            assert values_of(made).tolist() == [0, 1, 2]
            assert pickler.PROTOCOL == 4
            assert pickler.loads(pickler.dumps("text")) == "text"
            assert calls == ["dumps", "loads"] * 2
            with pytest.raises(TypeError, match="cannot pickle"):
                pickler.dumps(ep.asarray(np.arange(3)))
        finally:
            pickler.__init__()


def test_two_ranks_exchange_memory_and_objects(tmp_path: Path) -> None:
    program = tmp_path / "ranks.py"
    program.write_text("""if True:
        import entrepot as ep
        from entrepot import memory, transport
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
        other = 1 - comm.rank
        sent, received = (ep.full(1000, n, "int32", device="host") for n in (comm.rank, 7))
        with transport.mpi.lent(comm, sent) as a, transport.mpi.lent(comm, received) as b:
            comm.Sendrecv(a, other, recvbuf=b, source=other)
        assert set(received.numpy().tolist()) == {other}
        with transport.mpi.enable():
            copied = comm.sendrecv(sent, other, source=other)
        assert set(copied.numpy().tolist()) == {other}
        with memory.use_resource(memory.shareable()):
            shared = ep.full(1000, comm.rank, "int32", device="host")
        with transport.mpi.enable("share"):
            theirs = comm.sendrecv(shared, other, source=other)
        comm.Barrier()
        ep.fill(theirs, comm.rank + 10).wait()
        comm.Barrier()
        assert set(shared.numpy().tolist()) == {other + 10}
        print("passed")
    """)
    assert output_of_ranks(2, program).count("passed") == 2


def test_collective_messages_share_memory_with_all_ranks(tmp_path: Path) -> None:
    """Each rank opens the memory of one pickle, which alone holds it."""
    program = tmp_path / "ranks.py"
    program.write_text("""if True:
        import gc
        import time
        import entrepot as ep
        from entrepot import memory, transport
        from mpi4py import MPI

        comm = MPI.COMM_WORLD

        def made():
            with memory.use_resource(memory.shareable()):
                return ep.full(10, 5, "int32", device="host")

        transport.mpi.enable("share")
        for _ in range(3):
            comm.Barrier()
            if comm.rank == 0:
                comm.bcast(made())
                gc.collect()
            else:
                time.sleep(0.1 * comm.rank)
                array = comm.bcast(None)
                assert set(array.numpy().tolist()) == {5}
        comm.Barrier()
        everything = comm.allgather(made())
        comm.Barrier()
        ep.fill(everything[(comm.rank + 1) % 3], comm.rank).wait()
        comm.Barrier()
        assert [int(each[0]) for each in everything] == [2, 0, 1]
        print("passed")
    """)
    assert output_of_ranks(3, program).count("passed") == 3


def output_of_ranks(count: int, program: Path) -> str:
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return output_of(
        ["mpiexec", "--oversubscribe", "-n", str(count), sys.executable, program],
        env={**os.environ, **environment},
        timeout=120,
    )

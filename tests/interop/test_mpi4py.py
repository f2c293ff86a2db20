"""mpi4py: messages from and into an Array's memory, and memory that MPI allocates."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop import slow
from interop.pairs import (
    HOST_ACCESSIBLE,
    SHAPED,
    Cannot,
    In,
    Out,
    Peer,
    View,
    host_values,
    matrix,
    numbers,
)
from support.places import CUDA, HOST, SYCL, Place, every_host_accessible_place
from support.processes import completed, output_of

pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.mpi4py]

MPI = pytest.importorskip("mpi4py.MPI")


class Mpi(Peer):
    """Buffers of bytes, which know if they are writable."""

    name = "mpi4py"

    def make(self, place: Place, dtype: str = "uint8", layout: str = "whole") -> Any:
        obj = MPI.Alloc_mem(numbers().nbytes)
        np.asarray(obj)[:] = self.expected(numbers())
        return obj

    def make_read_only(self, place: Place) -> Any:
        return self.make(place).toreadonly()

    def view(self, obj: Any) -> View:
        return View(obj.address, (obj.nbytes,), read_only=obj.readonly)

    def values(self, obj: Any) -> np.ndarray:
        return np.frombuffer(obj.tobytes(), "u1")

    def write(self, obj: Any, value: int) -> None:
        obj[0] = value

    def expected(self, values: np.ndarray) -> np.ndarray:
        return np.frombuffer(values.tobytes(order="A"), "u1")


PEER = Mpi()


def from_buffer(array: ep.Array) -> Any:
    return MPI.memory.frombuffer(array, readonly=array.read_only)


BYTES_OF_HOST = Cannot(
    "what is not in C order comes by DLPack, and USM by DLPack has no bytes for mpi4py's own use",
    BufferError,
)
CONTIGUOUS = {
    name: Cannot("MPI's memory is contiguous", BufferError)
    for name in ("negative strides", "broadcast strides", "offset")
}

USM = [place for place in HOST_ACCESSIBLE if place in SYCL]
PINNED = [place for place in HOST_ACCESSIBLE if place in CUDA]

WAYS = [
    In(
        "asarray(MPI.Alloc_mem(n))",
        PEER,
        ep.asarray,
        cannot=Cannot.lacks("memory of MPI has no shape", *SHAPED),
        dtypes=["uint8"],
    ),
    Out("MPI.memory.frombuffer(a)", PEER, from_buffer, (HOST, *PINNED), (), CONTIGUOUS),
    Out(
        "MPI.memory.frombuffer(a)",
        PEER,
        from_buffer,
        USM,
        (),
        CONTIGUOUS | {"transposed": BYTES_OF_HOST},
    ),
    Out(
        "MPI.memory.frombuffer(a.host())",
        PEER,
        lambda a: from_buffer(a.host()),
        USM,
        (),
        CONTIGUOUS,
    ),
]

test_pair = matrix(WAYS)


@every_host_accessible_place
@pytest.mark.parametrize(
    "dtype",
    (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
        "float32 float64 complex64 complex128"
    ).split(),
)
def test_message_between_arrays_keeps_values(place: Place, dtype: str) -> None:
    sent, received = place.empty((4, 6), dtype), place.empty((4, 6), dtype)
    ep.copy(sent, numbers().astype(dtype)).wait()
    MPI.COMM_SELF.Sendrecv(sent, 0, recvbuf=received)
    assert host_values(received).tolist() == numbers().astype(dtype).tolist()


def test_dtypes_unknown_to_mpi_are_refused() -> None:
    with pytest.raises((KeyError, ValueError, MPI.Exception)):
        MPI.COMM_SELF.Sendrecv(ep.zeros(4, "float16"), 0, recvbuf=ep.zeros(4, "float16"))


def test_message_into_read_only_memory_is_refused() -> None:
    with pytest.raises(BufferError, match="not writable"):
        MPI.COMM_SELF.Sendrecv(bytearray(4), 0, recvbuf=ep.asarray(b"abcd"))


@pytest.mark.sycl
@pytest.mark.parametrize("kind", ["host", "shared"])
def test_message_waits_for_kernel_that_writes_it(kind: str) -> None:
    array, received = ep.zeros((4, 6), "int32", device="opencl:cpu", kind=kind), bytearray(96)
    slow.launch(array)
    MPI.COMM_SELF.Sendrecv(array, 0, recvbuf=received)
    assert received[0] == slow.RESULT


@pytest.mark.sycl
def test_device_memory_is_left_to_mpi_and_to_the_caller() -> None:
    """mpi4py passes device pointers on to an MPI that may know them, and asks for no order
    (stream=-1): the caller waits."""
    array = ep.zeros((4, 6), "int32", device="opencl:cpu", kind="device")
    done = slow.launch(array)
    assert MPI.memory.frombuffer(array).address == array.data_ptr
    assert not done.done
    done.wait()


@pytest.mark.cuda
def test_device_memory_of_cuda_is_left_to_mpi_and_to_the_caller() -> None:
    """Likewise by DLPack or CAI: a CUDA-aware MPI takes the pointer; others are not covered."""
    array = ep.zeros((4, 6), "int32", device="cuda:0", queue=ep.Queue("cuda:0"))
    done = slow.launch(array)
    assert MPI.memory.frombuffer(array).address == array.data_ptr
    assert not done.done
    done.wait()


@pytest.mark.cuda
def test_message_of_device_memory_arrives_or_fails() -> None:
    """A CUDA-aware MPI delivers it. Another one crashes or refuses; it must not report success."""
    program = """if True:
        import entrepot as ep
        from mpi4py import MPI

        sent, received = (ep.full(1000, value, "int32", device="cuda:0") for value in (7, 0))
        sent.queue.wait()
        received.queue.wait()
        MPI.COMM_SELF.Sendrecv(sent, 0, recvbuf=received)
        print("delivered", set(received.copy_to_host().numpy().tolist()))
    """
    done = completed([sys.executable, "-c", program], timeout=100)
    if done.returncode == 0:
        assert done.stdout.strip() == "delivered {7}"
    else:
        assert "delivered" not in done.stdout
        assert done.returncode < 0 or "MPI" in done.stderr or "Signal" in done.stderr, done.stderr


@pytest.mark.cuda
def test_host_view_of_cuda_memory_is_refused() -> None:
    with pytest.raises(ep.ExchangeError, match="cannot be reached by the host; copy it"):
        MPI.memory.frombuffer(ep.zeros(4, "int32", device="cuda:0").host())


def devices_after(imports: str) -> str:
    """Devices listed, and the error for further ones, in a process after these imports."""
    code = (
        f"{imports}\nprint(ep.devices())\n"
        "try: ep.device('opencl')\nexcept ep.DeviceError as error: print(error)"
    )
    unset = {key: value for key, value in os.environ.items() if not key.startswith("OCL_ICD_")}
    return output_of([sys.executable, "-c", code], env=unset, timeout=100)


@pytest.mark.sycl
def test_opencl_loader_of_mpi_finds_the_cpu_device() -> None:
    if list(Path("/etc/OpenCL/vendors").glob("*.icd")):
        pytest.skip("drivers are registered here, which are not to be hidden")
    assert "opencl:cpu" in devices_after("import entrepot as ep; from mpi4py import MPI")


@pytest.mark.sycl
def test_mpi_first_is_found_or_explained() -> None:
    told = devices_after("from mpi4py import MPI; import entrepot as ep")
    assert "opencl:cpu" in told or "OCL_ICD_VENDORS=" in told

"""HIP devices: memory, copies, programs and the protocols, from a first use to the results that
come out.

On a machine with an NVIDIA GPU, ENTREPOT_HIP_LIBRARY names the library of ``tests/hip_over_cuda``.
There, CUDA's driver claims the same memory, and the protocol decides between the two.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import entrepot as ep
from support.places import values_of

pytestmark = [pytest.mark.hip, pytest.mark.numpy]

ROCM, ROCM_HOST = 10, 11
KINDS = ("device", "shared", "host")


@pytest.fixture(scope="module")
def device():
    return ep.device("hip:0")


def test_device_has_hip_properties(device):
    assert str(device) == "hip:0"
    assert ep.device(str(device)) == device
    assert device.backend == "hip"
    assert device in ep.devices()


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip_keeps_values(device, kind):
    import numpy as np

    values = np.arange(10_000, dtype="float32")
    array = ep.asarray(values, copy=True, device=device, kind=kind)
    assert array.device == device
    assert array.kind == kind
    assert (values_of(array) == values).all()


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
def test_strided_copies_and_fills_match_numpy(device, dtype):
    import numpy as np

    values = (np.arange(64 * 48 * 5) % 251).astype(dtype).reshape(64, 48, 5)
    array = ep.asarray(values, copy=True, device=device)
    indices: list[Any] = [np.s_[:], np.s_[::2, 1:40:3], np.s_[::-1, :, ::-2]]
    for index, axes in itertools.product(indices, [(0, 1, 2), (2, 1, 0), (1, 0, 2)]):
        ours, theirs = array[index].transpose(axes), values[index].transpose(axes)
        packed = ep.empty(theirs.shape, dtype, device=device)
        ep.copy(packed, ours)
        assert (values_of(packed) == theirs).all()
    part = array[1::3, ::4]
    ep.fill(part, 7)
    values[1::3, ::4] = 7
    assert (values_of(array) == values).all()


def test_strided_rows_are_copied(device):
    import numpy as np

    wide = np.arange(300 * 2048, dtype="float32").reshape(300, 2048)
    pinned = ep.asarray(wide, copy=True, device=device, kind="host")
    there = ep.empty((300, 1024), "float32", device=device)
    ep.copy(there, pinned[:, 512:1536])
    assert (values_of(there) == wide[:, 512:1536]).all()


SCALE = """
extern "C" __global__ void scale(float *x, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= by;
}
template <class T> __global__ void add(T *x, T what) {
    x[blockIdx.x * blockDim.x + threadIdx.x] += what;
}
"""


def test_hip_program_runs(device):
    import numpy as np

    program = ep.Program(SCALE, device, dialect="hip")
    array = ep.asarray(np.arange(1000, dtype="float32"), copy=True, device=device)
    program.kernel("scale")[1024, 128](array, np.float32(3), np.int32(1000))
    program.kernel("add<float>")[1000](array, np.float32(1))
    assert (values_of(array) == np.arange(1000, dtype="float32") * 3 + 1).all()


def test_failed_build_has_the_log(device):
    with pytest.raises(ep.KernelError, match="nonsense"):
        ep.Program('extern "C" __global__ void bad() { nonsense }', device, dialect="hip")


def test_dlpack_names_the_kind(device):
    assert ep.empty(4, "float32", device=device).__dlpack_device__() == (ROCM, 0)
    assert ep.empty(4, "float32", device=device, kind="shared").__dlpack_device__() == (ROCM, 0)
    assert ep.empty(4, "float32", device=device, kind="host").__dlpack_device__() == (ROCM_HOST, 0)


class Exported:
    """An array of another library: it speaks DLPack only."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("kind", KINDS)
def test_dlpack_round_trip_makes_no_copy(device, kind):
    array = ep.zeros((3, 4), "int32", device=device, kind=kind)
    back = ep.from_dlpack(Exported(array))
    assert back.data_ptr == array.data_ptr
    assert back.device == device
    assert back.kind == kind
    ep.fill(back, 5)
    assert (values_of(array) == 5).all()


def test_dlpack_takes_the_streams_of_the_array_api(device):
    array = ep.zeros(4, "float32", device=device)
    array.__dlpack__(stream=0, max_version=(1, 0))
    array.__dlpack__(stream=None, max_version=(1, 0))
    array.__dlpack__(stream=-1, max_version=(1, 0))
    for wrong in (1, 2, 3, -2):
        with pytest.raises(ep.ExchangeError, match="hipStream_t"):
            array.__dlpack__(stream=wrong, max_version=(1, 0))


def test_cai_describes_the_memory(device):
    array = ep.zeros((3, 4), "float32", device=device)
    array.queue.wait()
    interface = array.__cuda_array_interface__
    assert interface["data"] == (array.data_ptr, False)
    assert interface["stream"] is None


def test_cai_pointer_selects_the_driver(device):
    class Described:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__cuda_array_interface__
            self.array = array

    array = ep.full((3, 4), 2, "float32", device=device)
    taken = ep.asarray(Described(array), protocol="cai")
    assert taken.data_ptr == array.data_ptr
    assert taken.device.backend == (
        "cuda" if any(each.backend == "cuda" for each in ep.devices()) else "hip"
    )
    assert (values_of(taken) == 2).all()


def test_memory_of_the_host_is_read_in_place(device):
    import numpy as np

    array = ep.zeros(8, "float32", device=device, kind="host")
    array.queue.wait()
    view = np.asarray(array)
    view[:] = 3
    assert (values_of(array) == 3).all()


def test_queue_waits_for_other_queue(device):
    import numpy as np

    first, second = ep.Queue(device), ep.Queue(device)
    array = ep.zeros(1 << 20, "float32", queue=first)
    ep.fill(array, 4, queue=first)
    ep.copy(target := ep.empty(1 << 20, "float32", queue=second), array, queue=second)
    assert (values_of(target) == np.float32(4)).all()

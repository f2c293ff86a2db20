"""Memory of a CUDA device that is not the current one: from PyTorch, from CuPy and by CAI, and to
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from support import cuda_kernels
from support.malformed import Speaker
from support.places import values_of

pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.two_cuda]

NUMBERS = np.arange(12, dtype="int32").reshape(3, 4)


def ours() -> ep.Array:
    array = ep.empty((3, 4), "int32", device="cuda:1")
    ep.copy(array, NUMBERS).wait()
    return array


def slowly() -> tuple[ep.Array, ep.Event]:
    """Zeros on the second device; a kernel there is about to write the first element."""
    array = ep.zeros((3, 4), "int32", queue=ep.Queue("cuda:1"))
    array.queue.wait()
    return array, cuda_kernels.launch(array)


@pytest.mark.torch
class TestTorch:
    @pytest.fixture(autouse=True)
    def torch(self) -> Iterator[Any]:
        import torch

        with torch.cuda.device(0):
            yield torch
            assert torch.cuda.current_device() == 0

    def test_tensor_on_second_device_is_imported(self, torch: Any) -> None:
        tensor = torch.arange(12, dtype=torch.int32, device="cuda:1").reshape(3, 4)
        array = ep.asarray(tensor[1:, ::2])
        assert (str(array.device), array.kind, array.data_ptr) == (
            "cuda:1",
            "device",
            tensor[1:, ::2].data_ptr(),
        )
        assert values_of(array).tolist() == NUMBERS[1:, ::2].tolist()
        ep.fill(array, 70).wait()
        assert tensor[1].tolist() == [70, 5, 70, 7]

    @pytest.mark.alone
    @pytest.mark.parametrize("own_stream", [False, True])
    def test_import_waits_for_the_stream_of_the_second_device(
        self, torch: Any, own_stream: bool
    ) -> None:
        with torch.cuda.device(1):
            stream = torch.cuda.Stream() if own_stream else torch.cuda.default_stream()
        tensor = torch.zeros(12, dtype=torch.int32, device="cuda:1")
        tensor[0].fill_(0)
        ep.asarray(tensor)
        torch.cuda.synchronize(1)  # everything that must be loaded is loaded
        with torch.cuda.stream(stream):  # which makes its device the current one
            torch.cuda._sleep(500_000_000)
            tensor[0].fill_(42)
            torch.cuda.set_device(0)
            array = ep.asarray(tensor)
            assert not stream.query(), "the import waited"
            assert values_of(array)[0] == 42

    def test_torch_refuses_dlpack_of_another_device(self, torch: Any) -> None:
        """By Python's DLPack, where PyTorch would make the wrong device's stream wait, and by
        its C table, which does not."""
        tensor = torch.zeros(12, device="cuda:1")
        with pytest.raises(ep.ExchangeError, match="different CUDA device"):
            ep.asarray(tensor, protocol="dlpack")
        with torch.cuda.device(1):
            assert str(ep.asarray(tensor, protocol="dlpack").device) == "cuda:1"

    def test_cai_of_second_device_is_imported(self, torch: Any) -> None:
        tensor = torch.arange(12, dtype=torch.int32, device="cuda:1")
        torch.cuda.synchronize(1)
        array = ep.asarray(tensor, protocol="cai")
        assert (str(array.device), array.data_ptr) == ("cuda:1", tensor.data_ptr())
        assert values_of(array).tolist() == list(range(12))

    def test_array_on_the_second_device_is_exported(self, torch: Any) -> None:
        array = ours()
        tensor = torch.from_dlpack(array)
        assert (tensor.device.index, tensor.data_ptr()) == (1, array.data_ptr)
        assert tensor.tolist() == NUMBERS.tolist()

    @pytest.mark.alone
    def test_stream_of_the_second_device_waits_for_pending_work(self, torch: Any) -> None:
        torch.from_dlpack(ours())
        array, done = slowly()
        tensor = torch.from_dlpack(array)
        assert not done.done, "the export waited"
        assert tensor[0, 0].item() == cuda_kernels.RESULT


@pytest.mark.cupy
class TestCupy:
    @pytest.fixture(autouse=True)
    def cupy(self) -> Iterator[Any]:
        import cupy

        with cupy.cuda.Device(0):
            yield cupy
            assert cupy.cuda.Device().id == 0

    @pytest.fixture
    def theirs(self, cupy: Any) -> Any:
        with cupy.cuda.Device(1):
            array = cupy.arange(12, dtype="int32").reshape(3, 4)
            cupy.cuda.Device(1).synchronize()
        return array

    @pytest.mark.parametrize("protocol", [None, "dlpack", "cai"])
    def test_array_on_second_device_is_imported(self, theirs: Any, protocol: str | None) -> None:
        array = ep.asarray(theirs[1:, ::2], protocol=protocol)
        assert (str(array.device), array.kind, array.data_ptr) == (
            "cuda:1",
            "device",
            theirs[1:, ::2].data.ptr,
        )
        assert values_of(array).tolist() == NUMBERS[1:, ::2].tolist()

    @pytest.mark.alone
    @pytest.mark.parametrize("protocol", [None, "dlpack", "cai"])
    @pytest.mark.parametrize("own_stream", [False, True])
    def test_import_waits_for_the_stream_of_the_current_device(
        self, cupy: Any, theirs: Any, protocol: str | None, own_stream: bool
    ) -> None:
        slow = cupy.RawKernel(cuda_kernels.SOURCE, "slow")
        with cupy.cuda.Device(1):
            stream = cupy.cuda.Stream(non_blocking=True) if own_stream else cupy.cuda.Stream.null
            with stream:
                slow((1,), (1,), (theirs, np.int64(1)))
                theirs.fill(0)
                stream.synchronize()
                ep.asarray(theirs, protocol=protocol)
                slow((1,), (1,), (theirs, np.int64(cuda_kernels.TURNS)))
                array = ep.asarray(theirs, protocol=protocol)
                assert not stream.done, "the import waited"
        assert values_of(array)[0, 0] == cuda_kernels.RESULT

    @pytest.mark.parametrize("take", ["from_dlpack", "asarray"])
    def test_array_on_the_second_device_is_exported(self, cupy: Any, take: str) -> None:
        array = ours()
        with cupy.cuda.Device(
            0 if take == "from_dlpack" else 1
        ):  # cupy.asarray copies to the current device
            theirs = getattr(cupy, take)(array)
        assert (theirs.device.id, theirs.data.ptr) == (1, array.data_ptr)
        with cupy.cuda.Device(1):
            assert cupy.asnumpy(theirs).tolist() == NUMBERS.tolist()

    @pytest.mark.parametrize("take", ["from_dlpack", "asarray"])
    def test_consumer_stream_waits_for_pending_work(self, cupy: Any, take: str) -> None:
        array, _ = slowly()
        with cupy.cuda.Device(1):
            theirs = getattr(cupy, take)(array)
            assert int(theirs[0, 0]) == cuda_kernels.RESULT


class TestCai:
    """By the address alone: the protocol does not name the device."""

    def test_pointer_determines_device(self) -> None:
        array = ours()
        again = ep.asarray(
            Speaker("__cuda_array_interface__", array.__cuda_array_interface__, keep=array)
        )
        assert (str(again.device), again.kind, again.context) == ("cuda:1", "device", array.context)
        assert values_of(again).tolist() == NUMBERS.tolist()

    @pytest.mark.alone
    def test_stream_of_interface_belongs_to_device(self) -> None:
        array, done = slowly()
        interface = array.__cuda_array_interface__
        assert interface["stream"] is not None
        again = ep.asarray(Speaker("__cuda_array_interface__", interface, keep=array))
        assert not done.done, "the import waited"
        assert values_of(again)[0, 0] == cuda_kernels.RESULT

    @pytest.mark.alone
    def test_copy_between_devices_waits_for_the_producer(self) -> None:
        ours().to("cuda:0")
        array, done = slowly()
        here = ep.asarray(
            Speaker("__cuda_array_interface__", array.__cuda_array_interface__, keep=array)
        ).to("cuda:0")
        assert not done.done, "the copy waited"
        assert (str(here.device), values_of(here)[0, 0]) == ("cuda:0", cuda_kernels.RESULT)

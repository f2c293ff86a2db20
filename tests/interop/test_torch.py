"""PyTorch: the C exchange API, DLPack and CAI in, DLPack, CAI, buffers and NumPy's interface out,
on the CPU and on CUDA.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop.pairs import (
    HOST_ACCESSIBLE,
    LAYOUTS,
    NUMPY_DTYPES,
    Cannot,
    In,
    Out,
    Peer,
    SynchronizingPeer,
    View,
    Way,
    matrix,
)
from support.places import CUDA, Place

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.torch]

MORE_DTYPES = (
    *NUMPY_DTYPES,
    *"bfloat16 complex32 float8_e4m3fn float8_e4m3fnuz".split(),
    *"float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split(),
)

PAIRS = {"float4_e2m1fnx2": "float4_e2m1fn_x2"}  # two to a byte: our name, and PyTorch's
HOST_DTYPES = (*MORE_DTYPES, *(dtype for dtype, name in PAIRS.items() if hasattr(torch, name)))


class Torch(Peer):
    name = "torch"

    def make(self, place: Place, dtype: str = "int32", layout: str = "whole") -> Any:
        if dtype in PAIRS:  # PyTorch converts no numbers to them
            return torch.empty((4, 6), dtype=getattr(torch, PAIRS[dtype]))
        whole = torch.arange(24, dtype=torch.int32).reshape(4, 6).to(getattr(torch, dtype))
        return LAYOUTS[layout](whole, torch.broadcast_to)

    def view(self, obj: Any) -> View:
        return View(obj.data_ptr(), tuple(obj.shape), obj.stride(), False)

    def values(self, obj: Any) -> np.ndarray:
        return np.array(obj.tolist())

    def dtype_of(self, obj: Any) -> str:
        name = str(obj.dtype).removeprefix("torch.")
        return next((ours for ours, theirs in PAIRS.items() if theirs == name), name)

    def write(self, obj: Any, value: int) -> None:
        obj[0, 0] = value


class TorchPinned(Torch):
    """Host tensors in pinned memory, which export as CPU memory."""

    def make(self, place: Place, dtype: str = "int32", layout: str = "whole") -> Any:
        whole = (
            torch.arange(24, dtype=torch.int32).reshape(4, 6).to(getattr(torch, dtype)).pin_memory()
        )
        return LAYOUTS[layout](whole, torch.broadcast_to)


class TorchCuda(SynchronizingPeer, Torch):
    """The current device."""

    @functools.cached_property
    def stream(self) -> Any:
        return torch.cuda.Stream() if self.own_stream else torch.cuda.default_stream()

    def on(self) -> contextlib.AbstractContextManager[Any]:
        return torch.cuda.stream(self.stream)

    def make(self, place: Place, dtype: str = "int32", layout: str = "whole") -> Any:
        with self.on():
            whole = (
                torch.arange(24, dtype=torch.int32, device="cuda")
                .reshape(4, 6)
                .to(getattr(torch, dtype))
            )
            made = LAYOUTS[layout](whole, torch.broadcast_to)
        self.stream.synchronize()  # its CAI names no stream to wait for
        return made

    def values(self, obj: Any) -> np.ndarray:
        with self.on():
            return np.array(obj.tolist())

    def start_slow_kernel(self, obj: Any) -> None:
        with self.on():
            obj.zero_()
            torch.cuda._sleep(500_000_000)
            obj[0, 0].fill_(42)  # an assignment would wait

    def is_idle(self, obj: Any) -> bool:
        return self.stream.query()


PEER = Torch()
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
NO_FLAG = "PyTorch has no read-only tensors: what it makes of one may be written"
CANNOT_MAKE = {
    "negative strides": Cannot("PyTorch has no negative strides", ValueError),
    "read-only": Cannot(NO_FLAG, how=None),
}
ENDS_THE_PROCESS = Cannot(
    "PyTorch before 2.15 ends the process where strides are negative", how=None
)
NO_NEGATIVE_STRIDES = Cannot("PyTorch has no negative strides", RuntimeError)
CANNOT_TAKE = {
    "negative strides": NO_NEGATIVE_STRIDES if VERSION >= (2, 15) else ENDS_THE_PROCESS,
    "read-only": Cannot(NO_FLAG, AssertionError),
}

WAYS = [
    In("asarray(t)", PEER, ep.asarray, dtypes=HOST_DTYPES, cannot=CANNOT_MAKE),
    In(
        "asarray(t, protocol='dlpack')",
        PEER,
        lambda t: ep.asarray(t, protocol="dlpack"),
        dtypes=HOST_DTYPES,
        cannot=CANNOT_MAKE,
    ),
    Out(
        "torch.from_dlpack(a.host())",
        PEER,
        lambda a: torch.from_dlpack(a.host()),
        HOST_ACCESSIBLE,
        HOST_DTYPES,
        CANNOT_TAKE,
    ),
    Out(
        "torch.as_tensor(a.host())",
        PEER,
        lambda a: torch.as_tensor(a.host()),
        HOST_ACCESSIBLE,
        HOST_DTYPES,
        CANNOT_TAKE,
    ),
]


def on_device(peer: TorchCuda) -> list[Way]:
    """The ways to and from device memory, each on the peer's stream."""

    name = peer.stream_name
    device = [place for place in CUDA if place.kind == "device"]
    read_only = Cannot("PyTorch takes nothing by CAI that is read-only", TypeError)
    never_read_only = {"read-only": read_only, "broadcast strides": read_only}
    as_tensor = functools.partial(torch.as_tensor, device="cuda")
    by_typestr = tuple(dtype for dtype in NUMPY_DTYPES)
    return [
        In(
            f"asarray(t), {name}",
            peer,
            peer.on_stream(ep.asarray),
            device,
            MORE_DTYPES,
            CANNOT_MAKE,
            at_once=True,
        ),
        In(
            f"asarray(t, protocol='dlpack'), {name}",
            peer,
            peer.on_stream(lambda t: ep.asarray(t, protocol="dlpack")),
            device,
            MORE_DTYPES,
            CANNOT_MAKE,
            at_once=True,
        ),
        In(
            f"asarray(t, protocol='cai'), {name}",
            peer,
            peer.on_stream(lambda t: ep.asarray(t, protocol="cai")),
            device,
            by_typestr,
            CANNOT_MAKE,
            at_once=True,
        ),
        Out(
            f"torch.from_dlpack(a), {name}",
            peer,
            peer.on_stream(torch.from_dlpack),
            device,
            MORE_DTYPES,
            CANNOT_TAKE,
            at_once=True,
        ),
        Out(
            f"torch.as_tensor(a, device='cuda'), {name}",
            peer,
            peer.on_stream(as_tensor),
            [place for place in CUDA if place.kind != "host"],
            by_typestr,
            CANNOT_TAKE | never_read_only,
            at_once=True,
        ),
    ]


PINNED = [place for place in CUDA if place.kind == "host"]
CANNOT_MAKE_PINNED = CANNOT_MAKE | Cannot.lacks("PyTorch's host waits for its own copies", "order")
WAYS += [
    In(
        "asarray(t.pin_memory())",
        TorchPinned(),
        ep.asarray,
        PINNED,
        NUMPY_DTYPES,
        CANNOT_MAKE_PINNED,
    ),
    In(
        "asarray(t.pin_memory(), protocol='dlpack')",
        TorchPinned(),
        lambda t: ep.asarray(t, protocol="dlpack"),
        PINNED,
        NUMPY_DTYPES,
        CANNOT_MAKE_PINNED,
    ),
]
WAYS += [way for own_stream in (False, True) for way in on_device(TorchCuda(own_stream=own_stream))]

test_pair = matrix(WAYS)


@pytest.mark.cuda
class TestOnDevice:
    """Properties of a tensor beside its bytes are checked on CUDA as well."""

    def test_lazy_bits_and_gradients_are_refused_with_advice(self) -> None:
        numbers = torch.ones(3, dtype=torch.complex64, device="cuda")
        weights = torch.ones(3, device="cuda", requires_grad=True)
        for tensor, call in (
            (numbers.conj(), "resolve_conj"),
            (numbers.conj().imag, "resolve_neg"),
            (weights, "detach"),
        ):
            with pytest.raises(ep.ExchangeError, match=call):
                ep.asarray(tensor)
            plain = getattr(tensor, call)()
            assert ep.asarray(plain).data_ptr == plain.data_ptr()

    def test_torch_stream_is_a_queue(self) -> None:
        for stream in (
            torch.cuda.Stream(),
            torch.cuda.default_stream(),
            torch.cuda.current_stream(),
        ):
            array = ep.full(4, 3, "int32", queue=stream)
            stream.synchronize()
            assert torch.from_dlpack(array).tolist() == [3] * 4
            assert ep.Queue(stream).__cuda_stream__()[1] in (stream.cuda_stream, 1)

    def test_current_device_and_stream_are_unchanged(self) -> None:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.from_dlpack(ep.asarray(torch.ones(3, device="cuda")))
            assert torch.cuda.current_stream() == stream
            assert torch.cuda.current_device() == 0

    @pytest.mark.parametrize("own_stream", [False, True])
    def test_memory_is_not_reused_while_torch_works_on_it(self, own_stream: bool) -> None:
        """A kernel of PyTorch's runs on a tensor whose array is gone. The pool must not reuse
        the block before it ends."""
        with ep.memory.use_resource(ep.memory.pool()), TorchCuda(own_stream=own_stream).on():
            array = ep.zeros(1 << 20, "int32", device="cuda:0")
            address = array.data_ptr
            tensor = torch.from_dlpack(array)
            torch.cuda._sleep(500_000_000)
            tensor.fill_(7)
            del array, tensor
            others = [ep.zeros(1 << 20, "int32", device="cuda:0") for _ in range(4)]
            assert address not in {other.data_ptr for other in others}
            torch.cuda.synchronize()
            assert all(not other.copy_to_host().numpy().any() for other in others)

    def test_access_waits_for_later_work_of_torch(self) -> None:
        """Both tensors are made before PyTorch works on either. Entrepot's first use of one
        array comes before PyTorch's use of the other."""
        arrays = [ep.zeros((4, 6), "int32", queue=ep.Queue("cuda:0")) for _ in range(2)]
        peer, ours = TorchCuda(own_stream=False), ep.Queue("cuda:0")
        for array, tensor in reversed([(array, torch.from_dlpack(array)) for array in arrays]):
            peer.start_slow_kernel(tensor)
            assert not torch.cuda.current_stream().query(), (
                "the kernel must be slow enough for a test to mean anything"
            )
            seen = ep.empty((4, 6), "int32", queue=ours)
            ep.copy(seen, array, queue=ours)
            assert seen.copy_to_host().numpy()[0, 0] == 42, "read before PyTorch's kernel was done"

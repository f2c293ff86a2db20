"""Device memory and a slow kernel by CUDA's driver alone, for peers without kernels of their
own."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from interop.pairs import LAYOUTS, StreamPeer, numbers
from interop.slow import RESULT
from support.cuda_streams import LEGACY, Stream, check, driver, inside, primary_context
from support.tensors import CUDA, READ_ONLY, Held, Versioned

SLOW = f"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry slow(.param .u64 data, .param .u64 turns)
{{
    .reg .pred %again;
    .reg .b64 %data, %turns;
    .reg .b32 %x;
    ld.param.u64 %data, [data];
    ld.param.u64 %turns, [turns];
    mov.u32 %x, 1;
AGAIN:
    mad.lo.u32 %x, %x, 1664525, 1013904223;
    sub.u64 %turns, %turns, 1;
    setp.ne.u64 %again, %turns, 0;
    @%again bra AGAIN;
    st.global.u32 [%data + 4], %x;
    mov.u32 %x, {RESULT};
    st.global.u32 [%data], %x;
    ret;
}}
"""
TURNS = 50_000_000  # about 0.25 s
NOT_READY = 600
BYTES = 96  # of 4 by 6 elements of 32 bits

_CODES = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}
_FLOAT8 = "e3m4 e4m3 e4m3b11fnuz e4m3fn e4m3fnuz e5m2 e5m2fnuz e8m0fnu".split()
_CODES_BY_NAME = {"bfloat16": 4} | {
    f"float8_{name}": code for code, name in enumerate(_FLOAT8, start=7)
}


class Block:
    """Memory with these bytes, freed with the object."""

    def __init__(self, content: np.ndarray) -> None:
        address = ctypes.c_uint64()
        with inside(primary_context()):
            check(driver().cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(content.nbytes)))
        self.address = address.value
        put(self.address, content)

    def __del__(self) -> None:
        with inside(primary_context()):
            driver().cuMemFree_v2(ctypes.c_uint64(self.address))


def put(address: int, content: np.ndarray) -> None:
    source = ctypes.c_void_p(content.ctypes.data)
    with inside(primary_context()):
        check(
            driver().cuMemcpyHtoD_v2(
                ctypes.c_uint64(address), source, ctypes.c_size_t(content.nbytes)
            )
        )
        check(driver().cuCtxSynchronize())  # the copy returns before the device has the bytes


def got(address: int, dtype: str, count: int) -> np.ndarray:
    content = np.empty(count, dtype)
    with inside(primary_context()):
        check(
            driver().cuMemcpyDtoH_v2(
                ctypes.c_void_p(content.ctypes.data),
                ctypes.c_uint64(address),
                ctypes.c_size_t(content.nbytes),
            )
        )
    return content


def type_of(dtype: str) -> tuple[int, int, int]:
    """DLPack's code, bits and lanes of the dtype."""
    if dtype in _CODES_BY_NAME:
        return (_CODES_BY_NAME[dtype], 16 if dtype == "bfloat16" else 8, 1)
    known = np.dtype(dtype)
    return (_CODES[known.kind], 8 * known.itemsize, 1)


def producer(
    dtype: str = "int32", layout: str = "whole", *, read_only: bool = False, form: type = Versioned
) -> Held:
    """DLPack producer of 0 to 23, or of a part by LAYOUTS. Zeros if NumPy lacks the dtype."""
    code, bits, lanes = type_of(dtype)
    whole = (
        np.zeros((4, 6), f"u{bits // 8}") if dtype in _CODES_BY_NAME else numbers().astype(dtype)
    )
    part = LAYOUTS[layout](
        whole, lambda x, shape: np.lib.stride_tricks.as_strided(x, shape, (0, *x.strides))
    )
    memory = Block(whole)
    return Held(
        memory.address + part.ctypes.data - whole.ctypes.data,
        memory,
        form,
        shape=part.shape,
        strides=tuple(stride // part.itemsize for stride in part.strides),
        dtype=(code, bits, lanes),
        device=(CUDA, 0),
        flags=READ_ONLY if read_only else 0,
    )


@functools.cache
def _kernel() -> ctypes.c_void_p:
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    with inside(primary_context()):
        check(driver().cuModuleLoadData(ctypes.byref(module), SLOW.encode()))
        check(driver().cuModuleGetFunction(ctypes.byref(kernel), module, b"slow"))
    scratch = Block(np.zeros(2, "int32"))
    _launch(
        kernel, scratch.address, 1, LEGACY
    )  # the first launch may wait for all of the device's work
    with inside(primary_context()):
        check(driver().cuCtxSynchronize())
    return kernel


def _launch(kernel: ctypes.c_void_p, address: int, turns: int, stream: int) -> None:
    values = ctypes.c_uint64(address), ctypes.c_uint64(turns)
    pointers = (ctypes.c_void_p * 2)(*map(ctypes.addressof, values))
    with inside(primary_context()):
        check(
            driver().cuLaunchKernel(
                kernel, 1, 1, 1, 1, 1, 1, 0, ctypes.c_void_p(stream), pointers, None
            )
        )


def start_slow_kernel(address: int, stream: int) -> None:
    """Zeros, followed by the kernel of slow.py on the stream."""
    kernel = _kernel()
    put(address, np.zeros(BYTES, "uint8"))
    _launch(kernel, address, TURNS, stream)
    assert not is_idle(stream), "the kernel must be slow enough for a test to mean anything"


def is_idle(stream: int) -> bool:
    with inside(primary_context()):
        status = driver().cuStreamQuery(ctypes.c_void_p(stream))
    assert status in (0, NOT_READY), f"error {status} of the driver"
    return status == 0


class OnStream(StreamPeer):
    """A peer whose work is done by the driver, on the legacy default stream or one of its own."""

    @functools.cached_property
    def stream(self) -> Stream:
        return Stream()

    @property
    def number(self) -> int:
        return self.stream.handle if self.own_stream else LEGACY

    def start_slow_kernel(self, obj: Any) -> None:
        start_slow_kernel(self.view(obj).address, self.number)

    def wait(self) -> None:
        with inside(primary_context()):
            check(driver().cuStreamSynchronize(ctypes.c_void_p(self.number)))

    def is_idle(self, obj: Any) -> bool:
        return is_idle(self.number)

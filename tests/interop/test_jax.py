"""JAX: DLPack both ways, immutable arrays and their alignment; on the CPU and on CUDA devices."""

from __future__ import annotations

import functools
import os
import sys
import time
from typing import Any

import numpy as np
import pytest

import entrepot as ep
from interop import slow
from interop.pairs import HOST_ACCESSIBLE, LAYOUTS, Cannot, In, Out, Peer, View, matrix
from support import cuda_kernels
from support.places import CUDA, Place, values_of
from support.processes import completed

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
pytestmark = [pytest.mark.host, pytest.mark.numpy, pytest.mark.jax]

DTYPES = tuple(
    "bool int8 int16 int32 uint8 uint16 uint32 float16 float32 complex64 bfloat16 float8_e3m4 "
    "float8_e4m3 float8_e4m3b11fnuz "
    "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split()
)


BUFFER_DTYPES = tuple(
    dtype for dtype in DTYPES if not dtype.startswith(("bfloat", "float8"))
)  # PEP 3118 knows no more


class Jax(Peer):
    name = "jax"
    platform = "cpu"

    def make(self, place: Place, dtype: str = "int32", layout: str = "whole") -> Any:
        with jax.default_device(jax.devices(self.platform)[0]):
            made = LAYOUTS[layout](
                jnp.arange(24, dtype="int32").reshape(4, 6).astype(dtype), jnp.broadcast_to
            )
            return jax.block_until_ready(made)  # its CAI names no stream

    def make_read_only(self, place: Place) -> Any:
        return self.make(place)

    def view(self, obj: Any) -> View:
        return View(obj.unsafe_buffer_pointer(), obj.shape, read_only=True)

    def values(self, obj: Any) -> np.ndarray:
        return np.array(obj)


@functools.cache
def slow_function(count: int, rounds: int) -> Any:
    """Takes a seed; returns 4 by 6 zeros with slow.RESULT in the first element, after one kernel
    that draws and discards 8 times ``count`` numbers.

    It is one kernel rather than a loop of several: JAX hands a buffer over once the host has
    submitted all of its work.
    """

    def function(seed: Any) -> Any:
        shape = (8, count)
        drawn = (
            jax.lax.broadcasted_iota("uint32", shape, 1)
            + jax.lax.broadcasted_iota("uint32", shape, 0) * seed
            + seed
        )
        for _ in range(rounds):
            drawn ^= drawn << 13
            drawn ^= drawn >> 17
            drawn ^= drawn << 5
        result = jnp.where(jnp.sum(drawn, dtype="uint32") == UNLIKELY, 0, slow.RESULT)
        return jnp.zeros((4, 6), "int32").at[0, 0].set(result)

    return jax.jit(function)


UNLIKELY = 0x5EED5EED


class JaxCuda(Jax):
    platform = "cuda"

    def make_slowly(self, place: Place) -> Any:
        seed = jax.device_put(jnp.uint32(1), jax.devices("cuda")[0])
        made = slow_function(1 << 29, 64)(seed)  # compiled before it is started
        assert not self.is_idle(made), "the kernel must be slow enough for a test to mean anything"
        return made

    def is_idle(self, obj: Any) -> bool:
        # A thread of JAX notices completion later than one that waits for the stream.
        time.sleep(0.005)
        return bool(obj.is_ready())


PEER = Jax()

IMMUTABLE = "JAX's arrays are immutable"
NO_WRITES = {"writable": Cannot(IMMUTABLE, how=None), "their write": Cannot(IMMUTABLE, how=None)}
CANNOT_MAKE = NO_WRITES | {"our write": Cannot(IMMUTABLE, ValueError)}
ALIGNMENT = Cannot(
    "JAX takes addresses that are multiples of 64 only", (ValueError, jax.errors.JaxRuntimeError)
)
COMPACT = Cannot("JAX has no strides but those of transpositions", jax.errors.JaxRuntimeError)
LEGACY = Cannot("JAX asks for legacy capsules, which cannot say read-only", ep.ExchangeError)


def asks_for_versions() -> bool:
    """True if this JAX passes ``max_version``: capsules may then be versioned and read-only."""
    asked: set[str] = set()

    class Producer:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **keywords: object) -> object:
            asked.update(keywords)
            raise BufferError

    with pytest.raises(BufferError):
        jax.dlpack.from_dlpack(Producer())
    return "max_version" in asked


VERSIONED = asks_for_versions()
CANNOT_TAKE = NO_WRITES | {
    "0-d": ALIGNMENT,
    "offset": ALIGNMENT,
    "negative strides": COMPACT,
    "broadcast strides": COMPACT if VERSIONED else LEGACY,
    **({} if VERSIONED else {"read-only": LEGACY}),
}

WAYS = [
    In("asarray(x)", PEER, ep.asarray, dtypes=DTYPES, cannot=CANNOT_MAKE),
    In(
        "asarray(x, protocol='dlpack')",
        PEER,
        lambda x: ep.asarray(x, protocol="dlpack"),
        dtypes=DTYPES,
        cannot=CANNOT_MAKE,
    ),
    In(
        "asarray(x, protocol='buffer')",
        PEER,
        lambda x: ep.asarray(x, protocol="buffer"),
        dtypes=BUFFER_DTYPES,
        cannot=CANNOT_MAKE,
    ),
    Out(
        "jax.dlpack.from_dlpack(a.host(), copy=False)",
        PEER,
        lambda a: jax.dlpack.from_dlpack(a.host(), copy=False),
        HOST_ACCESSIBLE,
        DTYPES,
        CANNOT_TAKE,
        alignment=64,
    ),
]

ON_DEVICE = [place for place in CUDA if place.kind == "device"]
NAMES_NO_STREAM = Cannot.lacks("JAX's CAI names no stream", "order")
CANNOT_TAKE_THERE = {
    name: cannot for name, cannot in CANNOT_TAKE.items() if cannot is not ALIGNMENT
} | {"offset": COMPACT}

WAYS += [
    In("asarray(x) on CUDA", JaxCuda(), ep.asarray, ON_DEVICE, DTYPES, CANNOT_MAKE, at_once=True),
    In(
        "asarray(x, protocol='cai')",
        JaxCuda(),
        lambda x: ep.asarray(x, protocol="cai"),
        ON_DEVICE,
        BUFFER_DTYPES,
        CANNOT_MAKE | NAMES_NO_STREAM,
        at_once=True,
    ),
    Out(
        "jax.dlpack.from_dlpack(a, copy=False)",
        JaxCuda(),
        lambda a: jax.dlpack.from_dlpack(a, copy=False),
        ON_DEVICE,
        DTYPES,
        CANNOT_TAKE_THERE,
        at_once=True,
    ),
]

test_pair = matrix(WAYS)


@pytest.mark.cuda
def test_import_waits_for_jax_kernels() -> None:
    spin = jax.jit(lambda x: jax.lax.fori_loop(0, 200_000, lambda i, y: jnp.sin(y) + 1, x))
    source = jax.device_put(jnp.ones(4, "float32"), jax.devices("cuda")[0])
    expected = np.array(spin(source))
    result = spin(source)
    assert not result.is_ready(), "the work must be slow enough for a test to mean anything"
    array = ep.asarray(
        result
    )  # JAX hands a buffer over when the host has submitted all of its work
    assert values_of(array).tolist() == expected.tolist()


@pytest.mark.cuda
def test_jax_work_waits_for_pending_work() -> None:
    array = ep.zeros(64, "int32", device="cuda:0", queue=ep.Queue("cuda:0"))
    array.queue.wait()
    assert (jax.dlpack.from_dlpack(array, copy=False) * 2)[0] == 0  # compiled now
    done = cuda_kernels.launch(array)
    twice = jax.dlpack.from_dlpack(array, copy=False) * 2
    assert not done.done, "the call waited"
    assert twice[0] == 2 * cuda_kernels.RESULT


def test_dtypes_with_64_bits_enabled() -> None:
    """JAX reads the setting once a process."""
    program = """if True:
        import jax
        import jax.numpy as jnp
        import entrepot as ep

        for dtype in "int64 uint64 float64 complex128".split():
            x = jnp.arange(24).reshape(4, 6).astype(dtype)
            array = ep.asarray(x)
            wanted = dtype, x.unsafe_buffer_pointer(), (4, 6)
            assert (str(array.dtype), array.data_ptr, array.shape) == wanted, array
            array = ep.full((4, 6), 7, dtype, device="host")
            x = jax.dlpack.from_dlpack(array, copy=False)
            found = x.dtype.name, x.unsafe_buffer_pointer(), x.sum()
            assert found == (dtype, array.data_ptr, 168), x
            print(dtype)
    """
    environment = {**os.environ, "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
    done = completed([sys.executable, "-c", program], env=environment, timeout=120)
    assert done.stdout.split() == ["int64", "uint64", "float64", "complex128"], done.stderr


def test_copy_of_an_immutable_array_is_writable() -> None:
    source = jnp.zeros(4, "int32")
    copied = ep.asarray(source, copy=True)
    assert not copied.read_only
    ep.fill(copied, 1).wait()
    assert source.tolist() == [0] * 4


def test_jax_copies_unaligned_memory_unless_copy_is_false() -> None:
    array = ep.zeros(64, "int32", device="host")[1:]
    assert jax.dlpack.from_dlpack(array).unsafe_buffer_pointer() != array.data_ptr
    with pytest.raises(ValueError, match="aligned to 64 bytes"):
        jax.dlpack.from_dlpack(array, copy=False)


@pytest.mark.sycl
def test_usm_is_taken_as_the_hosts_only() -> None:
    array = ep.zeros(64, "int32", device="opencl:cpu", kind="shared")
    with pytest.raises((TypeError, RuntimeError), match=r"unsupported device type|backend oneapi"):
        jax.dlpack.from_dlpack(array)
    assert (
        jax.dlpack.from_dlpack(array.host(), copy=False).unsafe_buffer_pointer() == array.data_ptr
    )

"""``entrepot demo``: memory of one device handed between the libraries that are installed, with the proof that nothing was copied.

Every row is one hand-over: the addresses on both sides, whether a write through one name was read through the other, and
what it took, beside what the two libraries need without Entrepot.
"""

from __future__ import annotations

import array
import importlib
import timeit
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import entrepot as ep

from . import _table

ELEMENTS = 1 << 18  # of float32: 1 MiB, so that a hidden copy shows in the time as well as in the address


@dataclass
class HandOver:
    """One way from a producer to a consumer, tried on a fresh producer."""

    producer: str
    consumer: str
    call: str
    hand_over: Callable[[Any], Any]
    make: Callable[[], Any]
    address_of_producer: Callable[[Any], int]
    address_of_consumer: Callable[[Any], int]
    write: Callable[[Any], None] | None = None  # through the producer's name; None: the producer is read-only
    read: Callable[[Any], float] | None = None  # the first element, through the consumer's name
    without: str = ""  # what the peers do without Entrepot
    without_call: Callable[[Any], Any] | None = None
    remark: str = ""


@dataclass
class Outcome:
    """What a hand-over did."""

    row: HandOver
    copied: bool
    write_seen: bool | None
    nanoseconds: float
    without: str


def median_ns(call: Callable[[], Any]) -> float:
    """Median time of a call over seven runs, in nanoseconds, each run long enough to be timed."""
    timer = timeit.Timer(call)
    number, seconds = timer.autorange()
    number = max(1, int(number * min(1.0, 0.02 / max(seconds, 1e-9))))
    runs = sorted(timer.repeat(7, number))
    return runs[3] / number * 1e9


def time_text(nanoseconds: float) -> str:
    if nanoseconds < 1e3:
        return f"{nanoseconds:.0f} ns"
    if nanoseconds < 1e6:
        return f"{nanoseconds / 1e3:.1f} µs"
    return f"{nanoseconds / 1e6:.1f} ms"


def installed(name: str) -> ModuleType | None:
    """The module, or None where it cannot be imported."""
    try:
        return importlib.import_module(name)
    except Exception:  # a peer that breaks while being imported is as absent as one that is not there
        return None


def without_entrepot(row: HandOver) -> str:
    """What the two libraries need by themselves: a time, or the error they answer with."""
    if row.without_call is None:
        return row.without
    producer = row.make()
    try:
        row.without_call(producer)
    except Exception as error:
        return f"{row.without}: {type(error).__name__}"
    call = row.without_call
    return f"{row.without}: {time_text(median_ns(lambda: call(producer)))}"


def attempt(row: HandOver) -> Outcome:
    producer = row.make()
    consumer = row.hand_over(producer)
    copied = row.address_of_producer(producer) != row.address_of_consumer(consumer)
    write_seen = None
    if row.write is not None and row.read is not None:
        row.write(producer)
        write_seen = row.read(consumer) == 42
    return Outcome(row, copied, write_seen, median_ns(lambda: row.hand_over(producer)), without_entrepot(row))


def pointer(view: ep.Array) -> int:
    return view.data_ptr


def first(view: ep.Array) -> float:
    host = view if view.kind != "device" else view.copy_to_host()
    return float(memoryview(host)[0])


def ours(device: str) -> Callable[[], ep.Array]:
    return lambda: ep.zeros(ELEMENTS, "float32", device=device, kind="shared" if device != "host" else "host")


def fill_ours(view: ep.Array) -> None:
    ep.fill(view, 42).wait()


def built_in_rows(device: str) -> Iterator[HandOver]:
    """bytes, bytearray, array.array, memoryview: in by the buffer protocol, out as a memoryview."""
    sources: dict[str, Callable[[], Any]] = {
        "bytes": lambda: bytes(ELEMENTS * 4),
        "bytearray": lambda: bytearray(ELEMENTS * 4),
        "array.array": lambda: array.array("f", bytes(ELEMENTS * 4)),
        "memoryview": lambda: memoryview(bytearray(ELEMENTS * 4)).cast("f"),
    }

    def address(source: Any) -> int:
        import ctypes

        if isinstance(source, bytes):
            return ctypes.cast(ctypes.c_char_p(source), ctypes.c_void_p).value or 0
        return ctypes.addressof(ctypes.c_char.from_buffer(source))

    def write(source: Any) -> None:
        source[0] = 42

    for name, make in sources.items():
        yield HandOver(
            name, "Entrepot", "ep.asarray(x)", ep.asarray, make, address, pointer, None if name == "bytes" else write, first,
            "memoryview(x)", memoryview,
        )  # fmt: skip
    yield HandOver(
        "Entrepot", "memoryview", "memoryview(a)", memoryview, ours(device), pointer,
        lambda view: ep.asarray(view).data_ptr, fill_ours, lambda view: view[0],
    )  # fmt: skip


def numpy_rows(device: str) -> Iterator[HandOver]:
    np = installed("numpy")
    if np is None:
        return

    def write(source: Any) -> None:
        source[0] = 42

    def make() -> Any:
        return np.zeros(ELEMENTS, "float32")

    def address(source: Any) -> int:
        return int(source.ctypes.data)

    yield HandOver(
        "NumPy", "Entrepot", "ep.asarray(x)", ep.asarray, make, address, pointer, write, first, "np.from_dlpack(x)", np.from_dlpack
    )
    for call, hand_over in {
        "np.asarray(a)": np.asarray,
        'np.from_dlpack(a, device="cpu")': lambda a: np.from_dlpack(a, device="cpu"),
    }.items():
        yield HandOver(
            "Entrepot", "NumPy", call, hand_over, ours(device), pointer, address, fill_ours, lambda x: float(x[0])
        )  # fmt: skip


def dpctl_rows(device: str) -> Iterator[HandOver]:
    dpctl = installed("dpctl")
    memory = installed("dpctl.memory")
    if dpctl is None or memory is None or device == "host":
        return
    queue = dpctl.SyclQueue(device)

    def make() -> Any:
        return memory.MemoryUSMShared(ELEMENTS * 4, queue=queue)

    def address(source: Any) -> int:
        return int(source._pointer)

    def write(source: Any) -> None:
        source.copy_from_host(b"\x2a" * (ELEMENTS * 4))

    yield HandOver(
        "dpctl", "Entrepot", "ep.asarray(x)", ep.asarray, make, address, pointer, write, first,
        "dpctl.memory.as_usm_memory(x)", memory.as_usm_memory,
    )  # fmt: skip
    yield HandOver(
        "Entrepot", "dpctl", "dpctl.memory.as_usm_memory(a)", memory.as_usm_memory, ours(device), pointer, address,
        fill_ours, lambda x: float(memoryview(x).cast("B").cast("f")[0]),
    )  # fmt: skip


def dpnp_rows(device: str) -> Iterator[HandOver]:
    dpnp = installed("dpnp")
    if dpnp is None or device == "host":
        return

    def make() -> Any:
        return dpnp.zeros(ELEMENTS, dtype="float32", device=device, usm_type="shared")

    def address(source: Any) -> int:
        return int(source.__sycl_usm_array_interface__["data"][0])

    def write(source: Any) -> None:
        source[0] = 42
        source.sycl_queue.wait()

    yield HandOver(
        "dpnp", "Entrepot", "ep.asarray(x)", ep.asarray, make, address, pointer, write, first,
        "dpnp.from_dlpack(x)", dpnp.from_dlpack,
    )  # fmt: skip
    for call, hand_over in {"dpnp.from_dlpack(a)": dpnp.from_dlpack, "dpnp.asarray(a)": dpnp.asarray}.items():
        yield HandOver(
            "Entrepot", "dpnp", call, hand_over, ours(device), pointer, address, fill_ours, lambda x: float(x[0])
        )  # fmt: skip
    np = installed("numpy")
    if np is not None:
        yield HandOver(
            "dpnp", "NumPy", "np.asarray(ep.asarray(x))", lambda x: np.asarray(ep.asarray(x)), make, address,
            lambda x: int(x.ctypes.data), write, lambda x: float(x[0]), "np.asarray(x)", np.asarray,
        )  # fmt: skip
        yield HandOver(
            "dpnp", "NumPy", "np.asarray(ep.asarray(x))", lambda x: np.asarray(ep.asarray(x)), make, address,
            lambda x: int(x.ctypes.data), write, lambda x: float(x[0]), "dpnp.asnumpy(x), which copies", dpnp.asnumpy,
        )  # fmt: skip


def torch_rows(device: str) -> Iterator[HandOver]:
    torch = installed("torch")
    if torch is None:
        return

    def address(source: Any) -> int:
        return int(source.data_ptr())

    def write(source: Any) -> None:
        source[0] = 42

    yield HandOver(
        "PyTorch", "Entrepot", "ep.asarray(x)", ep.asarray, lambda: torch.zeros(ELEMENTS), address, pointer, write, first,
        "np.from_dlpack(x)", getattr(installed("numpy"), "from_dlpack", None),
    )  # fmt: skip
    yield HandOver(
        "Entrepot", "PyTorch", "torch.from_dlpack(a.host())", lambda a: torch.from_dlpack(a.host()), ours(device), pointer,
        address, fill_ours, lambda x: float(x[0]),
    )  # fmt: skip


def jax_rows(device: str) -> Iterator[HandOver]:
    jax = installed("jax")
    if jax is None:
        return

    def address(source: Any) -> int:
        return int(source.unsafe_buffer_pointer())

    yield HandOver(
        "JAX", "Entrepot", "ep.asarray(x)", ep.asarray, lambda: jax.numpy.zeros(ELEMENTS), address, pointer, None, None,
        "np.from_dlpack(x)", getattr(installed("numpy"), "from_dlpack", None), "JAX's arrays never change: read-only",
    )  # fmt: skip
    yield HandOver(
        "Entrepot", "JAX", "jax.dlpack.from_dlpack(a.host())", lambda a: jax.dlpack.from_dlpack(a.host()), ours(device),
        pointer, address, fill_ours, lambda x: float(x[0]),
    )  # fmt: skip


def rows(device: str) -> Iterator[HandOver]:
    for group in (built_in_rows, numpy_rows, dpctl_rows, dpnp_rows, torch_rows, jax_rows):
        yield from group(device)


def demo_device() -> str:
    """The SYCL device that the demo uses; the host where there is none."""
    for device in ep.devices():
        if str(device) != "host":
            return str(device)
    return "host"


def cells(outcome: Outcome) -> list[str]:
    row = outcome.row
    seen = {True: "yes", False: "NO", None: "read-only"}[outcome.write_seen]
    return [
        row.producer,
        row.consumer,
        row.call,
        "copied" if outcome.copied else "same",
        seen,
        time_text(outcome.nanoseconds),
        outcome.without,
    ]


def main() -> int:
    """Prints the table; 1 where something was copied or a write was not seen."""
    device = demo_device()
    print(f"1 MiB of float32; Entrepot's is shared USM memory of {device}\n" if device != "host" else "1 MiB of float32 on the host\n")
    outcomes = [attempt(row) for row in rows(device)]
    _table.show(
        ["from", "to", "by", "address", "write seen", "takes", "without Entrepot"], [cells(outcome) for outcome in outcomes]
    )
    failed = [o for o in outcomes if o.copied or o.write_seen is False]
    print(f"\n{len(outcomes) - len(failed)} of {len(outcomes)} hand-overs without a copy")
    return 1 if failed else 0

"""``entrepot demo``: passes memory of one device between the installed libraries and proves that
nothing is copied.

Each line is one transfer with the address on both sides. The producer writes, and the consumer must
see the write. The line also shows the time, and what the two libraries do without Entrepot. The
status is 1 if a copy was made or a write was not seen.
"""

from __future__ import annotations

import array
import ctypes
import importlib
import struct
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import entrepot as ep

from . import _table

ELEMENTS = 1 << 18  # of float32: 1 MiB, so that a copy is visible in the time, too
NBYTES = 4 * ELEMENTS
WRITTEN = 42.0

Call = Callable[[Any], Any]


@dataclass(frozen=True)
class Party:
    """A library, or a type of Python, that exports or imports 1 MiB of float32."""

    name: str
    make: Callable[[], Any]
    address: Callable[[Any], int]
    write: Callable[[Any], None] | None  # writes WRITTEN to the first element; None: read-only
    first: Callable[[Any], float]


@dataclass(frozen=True)
class Way:
    """A conversion from one party's object to another's: its source text, and the call."""

    text: str
    call: Call


@dataclass(frozen=True)
class HandOver:
    """A conversion to try, and the one without Entrepot, from the same producer or one that the
    consumer supports.
    """

    producer: Party
    consumer: Party
    way: Way
    today: Way | None = None  # None: no comparison
    today_from: Party | None = None  # None: the same producer


@dataclass(frozen=True)
class Outcome:
    """The result of a hand-over."""

    hand_over: HandOver
    addresses: tuple[int, int]
    write_seen: bool | None  # None: the producer's objects are read-only
    nanoseconds: float
    today: str

    @property
    def copied(self) -> bool:
        return self.addresses[0] != self.addresses[1]

    @property
    def failed(self) -> bool:
        return self.copied or self.write_seen is False


# ------------------------------------------------------------------ measuring


def elapsed(call: Call, argument: Any, repetitions: int) -> int:
    start = time.perf_counter_ns()
    for _ in range(repetitions):
        call(argument)
    return time.perf_counter_ns() - start


def median_ns(call: Call, argument: Any) -> float:
    """Median time of a call in nanoseconds, over seven runs of at least a millisecond."""
    repetitions = 1
    while elapsed(call, argument, repetitions) < 1_000_000:
        repetitions *= 2
    return sorted(elapsed(call, argument, repetitions) for _ in range(7))[3] / repetitions


def time_text(nanoseconds: float) -> str:
    for unit in ("ns", "µs", "ms"):
        if nanoseconds < 999.5:  # which would be rounded to 1e+03
            return f"{nanoseconds:.3g} {unit}"
        nanoseconds /= 1000
    return f"{nanoseconds:.3g} s"


# ------------------------------------------------------------------ trying


def today(row: HandOver) -> str:
    """The result without Entrepot: the time and whether it copies, or the error."""
    if row.today is None:
        return ""
    producer = row.today_from or row.producer
    given = producer.make()
    try:
        taken = row.today.call(given)
    except Exception as error:
        return f"{row.today.text}: {type(error).__name__}"
    copies = row.consumer.name != "Entrepot" and row.consumer.address(taken) != producer.address(
        given
    )
    taking = time_text(median_ns(row.today.call, given))
    return f"{row.today.text}: {'copy, ' if copies else ''}{taking}"


def attempt(row: HandOver) -> Outcome:
    producer = row.producer.make()
    consumer = row.way.call(producer)
    addresses = row.producer.address(producer), row.consumer.address(consumer)
    write_seen = None
    if row.producer.write is not None:
        row.producer.write(producer)
        write_seen = row.consumer.first(consumer) == WRITTEN
    return Outcome(row, addresses, write_seen, median_ns(row.way.call, producer), today(row))


def refusal(call: Callable[[], Any]) -> str:
    """The error of a call that would have to copy."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "was not refused"


# ------------------------------------------------------------------ the parties


def first_float(view: Any) -> float:
    """The first float32 of any object with a buffer."""
    return float(struct.unpack_from("f", memoryview(view).cast("B"))[0])


def write_first(view: Any) -> None:
    struct.pack_into("f", memoryview(view).cast("B"), 0, WRITTEN)


def set_first(container: Any) -> None:
    container[0] = WRITTEN


def get_first(container: Any) -> float:
    return float(container[0])


def entrepot_party(device: str, kind: str) -> Party:
    return Party(
        "Entrepot",
        lambda: ep.zeros(ELEMENTS, "float32", device=device, kind=kind),
        lambda view: int(view.data_ptr),
        lambda view: ep.fill(view, WRITTEN).wait(),
        lambda view: first_float(view if view.kind in ("host", "shared") else view.copy_to_host()),
    )


def address_of_buffer(view: Any) -> int:
    if isinstance(view, bytes):
        return ctypes.cast(ctypes.c_char_p(view), ctypes.c_void_p).value or 0
    return ctypes.addressof(ctypes.c_char.from_buffer(view))


BUILT_IN = [
    Party("bytes", lambda: bytes(NBYTES), address_of_buffer, None, first_float),
    Party("bytearray", lambda: bytearray(NBYTES), address_of_buffer, write_first, first_float),
    Party(
        "array.array",
        lambda: array.array("f", bytes(NBYTES)),
        address_of_buffer,
        set_first,
        get_first,
    ),
    Party(
        "memoryview",
        lambda: memoryview(bytearray(NBYTES)).cast("f"),
        address_of_buffer,
        set_first,
        get_first,
    ),
]


def numpy_party(numpy: ModuleType) -> Party:
    return Party(
        "NumPy",
        lambda: numpy.zeros(ELEMENTS, "float32"),
        lambda x: int(x.ctypes.data),
        set_first,
        get_first,
    )


def torch_party(torch: ModuleType) -> Party:
    return Party(
        "PyTorch", lambda: torch.zeros(ELEMENTS), lambda x: int(x.data_ptr()), set_first, get_first
    )


def jax_party(jnp: ModuleType) -> Party:
    return Party(
        "JAX",
        lambda: jnp.zeros(ELEMENTS),
        lambda x: int(x.unsafe_buffer_pointer()),
        None,
        get_first,
    )


def dpctl_party(dpctl: ModuleType, device: str) -> Party:
    queue = dpctl.SyclQueue(device)
    return Party(
        "dpctl",
        lambda: dpctl.memory.MemoryUSMShared(NBYTES, queue=queue),
        lambda memory: int(memory._pointer),
        write_first,
        first_float,
    )


def dpnp_party(dpnp: ModuleType, device: str, kind: str) -> Party:
    def write(x: Any) -> None:
        set_first(x)
        x.sycl_queue.wait()

    return Party(
        "dpnp" if kind == "shared" else f"dpnp ({kind})",
        lambda: dpnp.zeros(ELEMENTS, dtype="float32", device=device, usm_type=kind),
        lambda x: int(x.__sycl_usm_array_interface__["data"][0]),
        write,
        get_first,
    )


# ------------------------------------------------------------------ the hand-overs

IN = Way("ep.asarray(x)", ep.asarray)


LIBRARY_NAMES = {
    "numpy": "NumPy",
    "torch": "PyTorch",
    "jnp": "JAX",
    "dpctl": "dpctl",
    "dpnp": "dpnp",
}


@dataclass(frozen=True)
class Libraries:
    """The modules that can be imported here; None for those that cannot."""

    numpy: ModuleType | None
    torch: ModuleType | None
    jnp: ModuleType | None
    dpctl: ModuleType | None
    dpnp: ModuleType | None

    @property
    def absent(self) -> list[str]:
        return [name for field, name in LIBRARY_NAMES.items() if getattr(self, field) is None]


def installed(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except Exception:  # a library that cannot be imported counts as absent
        return None


def keep_client_of_jax() -> None:
    """Keeps JAX's client until the process ends.

    Its destructor joins JAX's threads. One of them can miss its wake-up, due to a defect of glibc's
    condition variables (sourceware bug 25847), and the join then never returns.
    """
    client = importlib.import_module("jax").devices()[0].client
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))  # a reference that nothing drops


def find_libraries() -> Libraries:
    installed("dpctl.memory")  # as an attribute of dpctl
    found = Libraries(*map(installed, ("numpy", "torch", "jax.numpy", "dpctl", "dpnp")))
    if found.jnp is not None:
        keep_client_of_jax()
    return found


def built_in_rows(ours: Party) -> Iterator[HandOver]:
    for party in BUILT_IN:
        yield HandOver(party, ours, IN, Way("memoryview(x)", memoryview))
    # ctypes gives the address of writable buffers only; Entrepot gives any.
    out = Party(
        "memoryview",
        BUILT_IN[-1].make,
        lambda view: int(ep.asarray(view).data_ptr),
        set_first,
        get_first,
    )
    yield HandOver(
        ours,
        out,
        Way("memoryview(a)", memoryview),
        Way("memoryview(array)", memoryview),
        BUILT_IN[2],
    )


def numpy_rows(libraries: Libraries, ours: Party) -> Iterator[HandOver]:
    np = libraries.numpy
    if np is None:
        return
    party = numpy_party(np)
    by_dlpack = Way('np.from_dlpack(a, device="cpu")', lambda a: np.from_dlpack(a, device="cpu"))
    yield HandOver(party, ours, IN, Way("np.from_dlpack(x)", np.from_dlpack))
    yield HandOver(
        ours,
        party,
        Way("np.asarray(a)", np.asarray),
        Way("np.asarray(array)", np.asarray),
        BUILT_IN[2],
    )
    yield HandOver(ours, party, by_dlpack, Way("np.from_dlpack(numpy)", by_dlpack.call), party)


def torch_rows(libraries: Libraries, ours: Party) -> Iterator[HandOver]:
    torch, np = libraries.torch, libraries.numpy
    if torch is None or np is None:
        return
    party = torch_party(torch)
    out = Way("torch.from_dlpack(a.host())", lambda a: torch.from_dlpack(a.host()))
    yield HandOver(party, ours, IN, Way("np.from_dlpack(x)", np.from_dlpack))
    yield HandOver(
        ours, party, out, Way("torch.from_dlpack(numpy)", torch.from_dlpack), numpy_party(np)
    )


def jax_rows(libraries: Libraries, ours: Party) -> Iterator[HandOver]:
    jnp, np = libraries.jnp, libraries.numpy
    if jnp is None or np is None:
        return
    party = jax_party(jnp)
    out = Way("jnp.from_dlpack(a.host())", lambda a: jnp.from_dlpack(a.host()))
    yield HandOver(party, ours, IN, Way("np.from_dlpack(x)", np.from_dlpack))
    yield HandOver(
        ours, party, out, Way("jnp.from_dlpack(numpy)", jnp.from_dlpack), numpy_party(np)
    )


def dpctl_rows(libraries: Libraries, ours: Party, device: str) -> Iterator[HandOver]:
    if libraries.dpctl is None:
        return
    party = dpctl_party(libraries.dpctl, device)
    as_usm_memory = libraries.dpctl.memory.as_usm_memory
    yield HandOver(party, ours, IN, Way("as_usm_memory(x)", as_usm_memory))
    yield HandOver(
        ours,
        party,
        Way("dpctl.memory.as_usm_memory(a)", as_usm_memory),
        Way("as_usm_memory(dpctl)", as_usm_memory),
        party,
    )


def dpnp_rows(libraries: Libraries, device: str) -> Iterator[HandOver]:
    dpnp = libraries.dpnp
    if dpnp is None:
        return
    for kind in ("shared", "device"):
        ours, party = entrepot_party(device, kind), dpnp_party(dpnp, device, kind)
        by_dlpack = Way("dpnp.from_dlpack(dpnp)", dpnp.from_dlpack)
        yield HandOver(party, ours, IN, Way("dpnp.from_dlpack(x)", dpnp.from_dlpack))
        yield HandOver(ours, party, Way("dpnp.asarray(a)", dpnp.asarray), by_dlpack, party)
        yield HandOver(ours, party, Way("dpnp.from_dlpack(a)", dpnp.from_dlpack), by_dlpack, party)


def bridged_rows(libraries: Libraries, device: str) -> Iterator[HandOver]:
    """Libraries that refuse or copy each other's memory, but import it from Entrepot."""
    np, torch, jnp, dpnp = libraries.numpy, libraries.torch, libraries.jnp, libraries.dpnp
    if dpnp is None:
        return
    shared = dpnp_party(dpnp, device, "shared")
    if np is not None:
        to_numpy = Way("np.asarray(a)", lambda x: np.asarray(ep.asarray(x)))
        yield HandOver(shared, numpy_party(np), to_numpy, Way("np.asarray(x)", np.asarray))
        yield HandOver(shared, numpy_party(np), to_numpy, Way("dpnp.asnumpy(x)", dpnp.asnumpy))
    if torch is not None:
        to_torch = Way(
            "torch.from_dlpack(a.host())", lambda x: torch.from_dlpack(ep.asarray(x).host())
        )
        yield HandOver(
            shared, torch_party(torch), to_torch, Way("torch.from_dlpack(x)", torch.from_dlpack)
        )
    if jnp is not None:
        to_jax = Way("jnp.from_dlpack(a.host())", lambda x: jnp.from_dlpack(ep.asarray(x).host()))
        yield HandOver(shared, jax_party(jnp), to_jax, Way("jnp.from_dlpack(x)", jnp.from_dlpack))


# ------------------------------------------------------------------ the report


def demo_device() -> str:
    """A SYCL device whose memory the host can read, else the host."""
    for device in ep.devices():
        if device.backend in ("opencl", "level_zero") and device.has_aspect_usm_shared_allocations:
            return str(device)
    return "host"


def cells(outcome: Outcome) -> list[str]:
    row = outcome.hand_over
    from_address, to_address = (f"{address:x}" for address in outcome.addresses)
    return [
        f"{row.producer.name} → {row.consumer.name}",
        row.way.text,
        f"{from_address} ≠ {to_address}" if outcome.copied else from_address,
        {True: "yes", False: "NO", None: "-"}[outcome.write_seen],
        time_text(outcome.nanoseconds),
        outcome.today,
    ]


def show(title: str, rows: Iterable[HandOver]) -> list[Outcome]:
    outcomes = [attempt(row) for row in rows]
    if outcomes:
        print(f"\n{title}")
        _table.show(
            ["", "by", "address", "seen", "takes", "today"],
            [cells(outcome) for outcome in outcomes],
        )
    return outcomes


def show_refusals(device: str, libraries: Libraries) -> None:
    """Shows the errors of calls that would have to copy."""
    if device == "host":
        return
    private = ep.zeros(ELEMENTS, "float32", device=device, kind="device")
    refused = [("memoryview(a), where a is device memory", refusal(lambda: memoryview(private)))]
    reads_host_memory = ep.device(device).has_aspect_usm_system_allocations
    if libraries.numpy is not None and not reads_host_memory:
        plain = libraries.numpy.zeros(4, "float32")
        refused.append(
            (
                f'ep.asarray(x, device="{device}"), where x is NumPy\'s',
                refusal(lambda: ep.asarray(plain, device=device)),
            )
        )
    print("\nWhat only a copy could do is an error that names the call that copies")
    for call, words in refused:
        indent = "    "
        wrapped = textwrap.fill(
            words, 116, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )
        print(f"{call}:\n{wrapped}")


def summary(outcomes: Sequence[Outcome]) -> str:
    failed = [outcome for outcome in outcomes if outcome.failed]
    if failed:
        return f"{len(failed)} of {len(outcomes)} hand-overs copied, or missed a write"
    return f"{len(outcomes)} hand-overs, none of them a copy"


def main() -> int:
    """Prints the tables. Returns 1 if anything was copied or a write was not seen."""
    device = demo_device()
    kind = "host" if device == "host" else "shared"
    libraries = find_libraries()
    ours = entrepot_party(device, kind)

    print(
        f"1 MiB of float32; a: an Array in {kind} memory of {device}, {ep.device(device).name}; "
        "x: the other library's"
    )
    print(
        "seen: a write through the first name is read through the second; '-': the first cannot "
        "be written"
    )
    print(
        "takes: one hand-over by Entrepot; today: what is done without it, often between two of "
        "the same library"
    )
    if libraries.absent:
        print(f"Not installed here, and shown once they are: {', '.join(libraries.absent)}")
    outcomes = show("Python itself", built_in_rows(ours))
    outcomes += show(
        "Libraries of the host",
        (row for rows in (numpy_rows, torch_rows, jax_rows) for row in rows(libraries, ours)),
    )
    if device != "host":
        outcomes += show(
            "Libraries of the device",
            (*dpctl_rows(libraries, ours, device), *dpnp_rows(libraries, device)),
        )
        outcomes += show(
            "Libraries that refuse each other, or copy: here by way of a = ep.asarray(x)",
            bridged_rows(libraries, device),
        )
    show_refusals(device, libraries)
    print(f"\n{summary(outcomes)}")
    return 1 if any(outcome.failed for outcome in outcomes) else 0

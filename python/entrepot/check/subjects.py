"""Subjects of checks: exporters, whose object the protocols describe, and importers of known
memory.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import entrepot as ep

from .clauses import Failed, NotApplicable, require, skip, words_of
from .structs import CUDA, CUDA_MANAGED

Numbers = tuple[int, ...]


def packed(shape: Numbers) -> Numbers:
    """Strides, in elements, of C-contiguous memory."""
    return tuple(
        itertools.accumulate(reversed(shape[1:]), lambda step, extent: step * extent, initial=1)
    )[::-1][: len(shape)]


@dataclass(frozen=True)
class Seen:
    """Memory as a protocol describes it; strides in elements. None: not specified."""

    address: int
    shape: Numbers
    strides: Numbers
    dtype: str | None
    read_only: bool | None

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def differs(self, other: Seen) -> str | None:
        """The difference, if any. Strides of axes of one element and addresses of empty arrays are
        ignored.
        """
        if self.shape != other.shape:
            return f"shape {self.shape} and {other.shape}"
        if self.dtype and other.dtype and self.dtype != other.dtype:
            return f"{self.dtype} and {other.dtype}"
        if not self.size:
            return None
        if self.address != other.address:
            return f"address {self.address:#x} and {other.address:#x}"
        if any(
            a != b
            for a, b, extent in zip(self.strides, other.strides, self.shape, strict=True)
            if extent > 1
        ):
            return f"strides of {self.strides} and {other.strides} elements"
        return None


Reader = Callable[[Any], Seen]


class Exporter:
    """An object that exports its memory; ``make`` returns further ones if ``repeatable``."""

    def __init__(
        self, make: Callable[[], Any], readers: Mapping[str, Reader], *, repeatable: bool
    ) -> None:
        self._make, self._readers, self._repeatable = make, readers, repeatable
        self.object = make()

    def fresh(self) -> Any:
        """A new object without other references."""
        if not self._repeatable:
            skip("only one object was named: a factory, or an expression, can be asked for more")
        return self._make()

    def account(self, protocol: str) -> Seen:
        return self._readers[protocol](self.object)

    def others(self, protocol: str) -> dict[str, Seen]:
        """The object's memory as described by all other protocols that can be read."""
        found = {}
        for name, read in self._readers.items():
            if name == protocol:
                continue
            try:
                found[name] = read(self.object)
            except Exception:  # the clauses of that protocol report it
                continue
        return found

    def read_only(self, protocol: str) -> tuple[bool, str] | None:
        """The read-only flag of another protocol, with its name; None if no protocol has one."""
        for name, seen in self.others(protocol).items():
            if seen.read_only is not None:
                return seen.read_only, name
        return None

    def references(self) -> int:
        return sys.getrefcount(self.object)


# ---------------------------------------------------------------- common clauses


def agrees(protocol: str) -> Callable[[Exporter], None]:
    """The protocols of one object describe the same elements."""

    def check(exporter: Exporter) -> None:
        mine, others = exporter.account(protocol), exporter.others(protocol)
        if not others:
            skip("the object speaks no other protocol that could contradict")
        for name, seen in others.items():
            difference = mine.differs(seen)
            require(not difference, f"what {name} says", f"{difference}: here and by {name}")

    return check


def read_only_agrees(protocol: str) -> Callable[[Exporter], None]:
    """The flag agrees with another protocol of the object; it cannot be checked on its own."""

    def check(exporter: Exporter) -> None:
        mine, known = exporter.account(protocol).read_only, exporter.read_only(protocol)
        if mine is None or known is None:
            skip("no other protocol of the object says whether it may be written")
        truth, witness = known
        words = {True: "read-only", False: "writable"}
        require(mine == truth, f"{words[truth]}, as {witness} says", words[mine])

    return check


def releases_references(
    action: Callable[[Any], object], times: int = 20
) -> Callable[[Exporter], None]:
    """Clause: the action drops every reference to the object that it takes."""

    def check(exporter: Exporter) -> None:
        action(exporter.object)  # caches one-off data, which is no leak
        gc.collect()
        before = exporter.references()
        for _ in range(times):
            action(exporter.object)
        gc.collect()
        left = exporter.references() - before
        require(
            left <= 0,
            "as many references to the object as before",
            f"{left} more after {times} times",
        )

    return check


class _Mallinfo(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
        ).split()
    )


def allocated_bytes() -> int:
    """Bytes that malloc has allocated and not freed, in the whole process."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        skip("this C library does not count the bytes that malloc has allocated")
    mallinfo.restype = _Mallinfo
    info: Any = mallinfo()
    return int(info.uordblks)


def leaks_nothing(action: Callable[[], object], times: int = 300) -> None:
    """Fails if the process grows by a block on each call. Caches grow only at first, so one calm
    round of twelve suffices. A round in which the process shrank does not count, because memory
    freed elsewhere may hide a leak.
    """
    for _ in range(20):
        action()
    growth = 0
    for _ in range(12):
        gc.collect()
        before = allocated_bytes()
        for _ in range(times):
            action()
        gc.collect()
        growth = allocated_bytes() - before
        if abs(growth) < 16 * times:
            return
    if growth > 0:
        raise Failed(
            "no memory kept", f"{growth / times:.0f} bytes kept each time, over {times} times"
        )


SECONDS_TO_SETTLE = 1.0


def settles(condition: Callable[[], bool], nudge: Callable[[], object] = lambda: None) -> None:
    """Waits up to ``SECONDS_TO_SETTLE`` for the condition. Device memory is released after the
    pending work is complete. Some libraries release it only at their next call, which ``nudge``
    makes.
    """
    for prepare in (lambda: None, nudge):
        prepare()
        end = time.monotonic() + SECONDS_TO_SETTLE
        gc.collect()
        while not condition() and time.monotonic() < end:
            time.sleep(0.005)
            gc.collect()
        if condition():
            return


# ---------------------------------------------------------------- memory for importers


@dataclass(frozen=True)
class Layout:
    """A view of the ground's elements: strides and the first element, in elements."""

    shape: Numbers
    strides: Numbers
    first: int = 0

    @property
    def span(self) -> tuple[int, int]:
        """The lowest element touched, and one past the highest."""
        reach = [
            (extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True)
        ]
        return self.first + sum(min(0, r) for r in reach), self.first + sum(
            max(0, r) for r in reach
        ) + 1

    def elements(self) -> list[int]:
        return [
            self.first + sum(i * s for i, s in zip(index, self.strides, strict=True))
            for index in itertools.product(*map(range, self.shape))
        ]


PLAIN = Layout((3, 4), (4, 1))
TRANSPOSED = Layout((4, 3), (1, 4))
STEPPED = Layout((2, 3), (8, 2))
REVERSED = Layout((3, 4), (-4, -1), 11)
BROADCAST = Layout((3, 4), (0, 1))
SHIFTED = Layout((3, 4), (4, 1), 16)
SCALAR = Layout((), (), 5)
EMPTY = Layout((0, 4), (4, 1))


class Ground:
    """64 float32 values, 0 to 63, well aligned, in host memory or memory shared by a device and the
    host.
    """

    ELEMENTS, ITEM = 64, 4
    NBYTES = ELEMENTS * ITEM

    def __init__(self, device: str) -> None:
        self.device = device
        self.array: ep.Array | None = None
        if device == "host":
            self._block = ctypes.create_string_buffer(self.NBYTES + 64)
            self.address = -(-ctypes.addressof(self._block) // 64) * 64
            self.dlpack_device = (1, 0)
        else:
            self.array = ep.empty(self.ELEMENTS, "float32", device=device, kind="shared")
            self.address = self.array.data_ptr
            self.dlpack_device = self.array.__dlpack_device__()
            # Few consumers support it; it is memory of the device as well.
            if self.dlpack_device[0] == CUDA_MANAGED:
                self.dlpack_device = (CUDA, int(str(self.array.device).rpartition(":")[2]))
        self.reset()

    def reset(self) -> None:
        self.floats()[:] = [float(i) for i in range(self.ELEMENTS)]

    def floats(self) -> Any:
        return (ctypes.c_float * self.ELEMENTS).from_address(self.address)

    def usm(self) -> ep.Array:
        """The memory as USM, whose queue SUAI's dicts contain."""
        if self.array is None or self.array.device.backend not in ("opencl", "level_zero"):
            skip("SUAI is about memory of SYCL devices, and --device names none")
        return self.array


class Importer:
    """A function that imports memory. Entrepot inspects its result, which must support some
    protocol itself.
    """

    def __init__(
        self,
        take: Callable[[Any], Any],
        device: str = "host",
        readers: Mapping[str, Reader] | None = None,
        *,
        copies: bool = False,
    ) -> None:
        self.take, self.copies = take, copies
        self.ground = Ground(device)
        self._readers = readers or {}

    def look(self, result: Any) -> ep.Array:
        try:
            return ep.asarray(result)
        except Exception as error:
            raise NotApplicable(
                f"what was returned cannot be looked at: {words_of(error)}"
            ) from None

    def taken(self, result: Any) -> Seen | None:
        """The imported memory; None if nothing was imported. Includes memory that Entrepot would
        refuse to import.
        """
        try:
            view = self.look(result)
            return Seen(view.data_ptr, view.shape, view.strides, str(view.dtype), view.read_only)
        except NotApplicable:
            pass
        for read in self._readers.values():
            try:
                seen = read(result)
            except Exception:
                continue
            if 0 <= seen.address - self.ground.address < self.ground.NBYTES:
                return seen
        return None

    def shares(self, result: Any, *, on_host: bool = False) -> None:
        """Fails if the result is a copy. For an importer that promises a copy, fails if it is not a
        copy.

        ``on_host``: the memory was said to be the host's.
        """
        view = self.look(result)
        if on_host and str(view.device) != "host":
            skip(
                f"what was returned is on {view.device}, where memory of the host can only come "
                "by a copy"
            )
        own = f"{self.ground.address:#x}"
        if self.copies:
            require(
                view.data_ptr != self.ground.address,
                "a copy, as is promised",
                f"the memory itself, at {own}",
            )
        else:
            require(
                view.data_ptr == self.ground.address,
                f"the memory itself, at {own}",
                f"a copy, at {view.data_ptr:#x}",
            )

    def is_raw(self, view: ep.Array) -> bool:
        """True for memory without a type, as of dpctl.memory and mpi4py, whose bytes are
        compared.
        """
        return view.ndim == 1 and view.itemsize == 1

    def shows(self, result: Any, layout: Layout) -> str | None:
        """The difference between the result and the layout's view of the ground; None if they
        agree.
        """
        view = self.look(result)
        if self.is_raw(view):
            low, high = layout.span if math.prod(layout.shape) else (0, 0)
            wanted = bytes(memoryview(self.floats_of(low, high)).cast("B"))
            found = bytes(memoryview(view.copy_to_host()))[: len(wanted)]
            return (
                None
                if found == wanted
                else f"bytes {found[:16].hex()}…, and not {wanted[:16].hex()}…"
            )
        if view.shape != layout.shape:
            return f"shape {view.shape}, and not {layout.shape}"
        if str(view.dtype) != "float32":
            return f"{view.dtype}, and not float32"
        return self._values(view, layout)

    def floats_of(self, low: int, high: int) -> Any:
        return (ctypes.c_float * (high - low))(*range(low, high))

    def _values(self, view: ep.Array, layout: Layout) -> str | None:
        if not view.size:
            return None
        # Copies everything, because a view of few elements may span a large allocation.
        host = memoryview(view.copy_to_host())
        found = [
            host[index] if index else host[()]
            for index in itertools.product(*map(range, view.shape))
        ]
        wanted = [float(value) for value in layout.elements()]
        return None if found == wanted else f"elements {found[:6]}…, and not {wanted[:6]}…"


def attempt(importer: Importer, given: Any) -> Any:
    """The importer's result for a well-formed object; not applicable if it raises an error."""
    try:
        return importer.take(given)
    except Exception as error:
        raise NotApplicable(f"refused: {words_of(error)}") from None


def refuses(importer: Importer, given: Any, what: str, *, typed: bool = False) -> None:
    """Fails if a malformed object is imported, that is, if the result can be inspected.

    ``typed``: only the type is wrong, so that a result of raw bytes is acceptable.
    """
    try:
        result = importer.take(given)
    except Exception:
        return
    taken = importer.taken(result)
    if taken is None:
        return
    if typed and taken.dtype is None:
        return  # its real type: the other byte order, or a type of its library
    if typed and taken.dtype == "uint8":
        skip("the importer gives raw bytes, whatever their type")
    raise Failed(
        f"a refusal of {what}",
        f"taken, as {taken.dtype or 'something'} of shape {taken.shape} at {taken.address:#x}",
    )

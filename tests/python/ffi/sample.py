"""sample.c, compiled, and declared by hand like bindings."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from entrepot.ffi import (
    At,
    CStr,
    DeviceArray,
    Freed,
    In,
    InOut,
    Library,
    ListOfBytes,
    ListOfInt,
    ListOfPointer,
    ListOfUInt64,
    Out,
    Pointer,
    Returned,
    Sync,
    anonymous,
    bits,
    c_bool,
    c_char,
    c_double,
    c_float,
    c_int,
    c_int8,
    c_int16,
    c_int32,
    c_int64,
    c_uint,
    c_uint64,
)


def _compiled() -> str:
    """Path of the library, built once a checkout. Processes that need it at one time each build
    it, and one result stays."""
    folder = Path(__file__).parents[3] / "build/tests/ffi"
    folder.mkdir(parents=True, exist_ok=True)
    source, library = Path(__file__).with_name("sample.c"), folder / "libentrepot_sample.so"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        with tempfile.TemporaryDirectory(dir=folder) as own:
            made = Path(own) / library.name
            subprocess.run(
                ["cc", "-std=gnu11", "-shared", "-fPIC", "-pthread", "-o", made, source], check=True
            )
            made.replace(library)
    return str(library)


PATH = _compiled()
_library = Library("sample", sonames=[PATH])
_with_status = Library("sample", sonames=[PATH], status=("status", "SAMPLE_OK"))


@_library.enum(c_int)
class status:
    """How it went."""

    SAMPLE_OK = 0
    SAMPLE_BAD = 3


@_library.enum(c_int)
class other:
    OTHER = 0


@_library.struct(size=8, alignment=4)
class point:
    """Two numbers."""

    x: c_int32 @ 0
    y: c_int32 @ 4 = 5


@_library.struct(size=32, alignment=8)
class large:
    values: c_double * 4 @ 0


@_library.union(size=4, alignment=4)
class record_union_0:
    whole: c_int32 @ 0
    real: c_float @ 0


@_library.struct(size=56, alignment=8)
class record:
    tag: c_int8 @ 0
    union_0: anonymous(record_union_0) @ 4
    low: bits(c_uint, 0, 3) @ 8
    high: bits(c_uint, 3, 5) @ 8
    signed_bits: bits(c_int, 8, 4) @ 8
    name: c_char * 8 @ 10
    corners: point * 2 @ 20
    text: CStr @ 40
    numbers: Pointer @ 48


@_library.struct(size=16, alignment=8)
class span:
    bytes: Pointer @ 0
    count: c_int32 @ 8


@_library.opaque
class door:
    """Opaque: only C knows its fields."""


@_library.opaque
class key:
    """Another opaque record."""


@_library.struct(size=16, alignment=8)
class house:
    front: door @ 0
    back: door @ 8


@_library.callback
def binary(a: c_int, b: c_int) -> c_int:
    """Makes one number of two."""


@_library.callback
def visitor(context: Pointer, at: At[point], count: c_int64) -> None: ...


@_library.function
def add_int8(a: c_int8, b: c_int8) -> c_int8:
    """The sum of two small numbers."""


@_library.function
def same_uint64(a: c_uint64) -> c_uint64: ...


@_library.function
def halved(a: c_float) -> c_double: ...


@_library.function
def negated(a: c_bool) -> c_bool: ...


@_library.function
def sum_of_points(a: point, b: point) -> c_int32: ...


@_library.function
def swapped(a: point) -> point: ...


@_library.function
def scaled(a: large, by: c_double) -> large: ...


@_library.function
def total(values: In[ListOfInt], count: c_uint64) -> c_int64: ...


@_library.function
def fill(to: Out[Pointer], byte: c_int, count: c_uint64) -> None: ...


@_library.function
def length(text: In[CStr]) -> c_int: ...


@_library.function
def greeting(there: c_bool) -> CStr: ...


@_with_status.function
def divide(a: c_int, b: c_int, quotient: Returned[c_int], remainder: Returned[c_int]) -> status: ...


@_with_status.function
def unknown_status() -> status: ...


@_with_status.function
def make_point(out: Returned[point], x: c_int) -> status: ...


@_with_status.function
def allocate(out: Returned[DeviceArray](bytes="bytes"), bytes: c_uint64) -> status: ...


@_with_status.function
def release(memory: Freed[Pointer]) -> status: ...


@_with_status.function
def release_not(memory: Freed[Pointer]) -> status: ...


@_library.function
def let_go(memory: Freed[Pointer]) -> None: ...


@_library.function
def free_and_count(memory: Freed[Pointer], count: Returned[c_int]) -> None: ...


@_with_status.function
def name_of(out: Returned[CStr](bytes="length"), length: c_int) -> status: ...


@_library.function
def apply(function: Sync[binary], a: c_int, b: c_int) -> c_int: ...


@_library.function
def keep(function: binary) -> None: ...


@_library.function
def call_kept(a: c_int, b: c_int) -> c_int: ...


@_library.function
def call_at_exit() -> None: ...


@_library.function
def look_at(it: span, function: Sync[binary]) -> c_int: ...


@_library.function
def open_door(number: c_int) -> door: ...


@_library.function
def cut_key(number: c_int) -> key: ...


@_library.function
def number_of(it: door) -> c_int: ...


@_library.function
def shut(it: In[ListOfPointer]) -> c_int: ...


@_with_status.function
def find_door(out: Returned[door], number: c_int) -> status: ...


@_library.function
def all_doors(out: Out[ListOfPointer](count="count"), count: InOut[ListOfUInt64]) -> c_int: ...


def too_loud(words: ListOfBytes | None) -> str | None:
    """Reports words that total_length does not accept."""
    loud = [word for word in words or [] if word.isupper()]
    return f"{loud[0].decode()} is too loud; say it in small letters" if loud else None


@_library.function
def total_length(
    words: In[ListOfBytes](count="count", refusal="ffi.sample.too_loud"), count: c_int
) -> c_int: ...


@_library.function
def sum_of_all(points: In[point](count="count"), count: c_int) -> c_int: ...


@_library.function
def copy(
    to: Out[Pointer](bytes="bytes"), from_: In[Pointer](bytes="bytes"), bytes: c_uint64
) -> None: ...


@_library.function
def fill_shorts(to: Out[Pointer](bytes="2 * count"), value: c_int16, count: c_uint64) -> None: ...


@_library.function
def multiplier() -> binary: ...


@_library.function
def visit(
    function: Sync[visitor], context: In[Pointer], points: In[point], count: c_int64
) -> None: ...


@_library.function
def many(
    a: c_int,
    b: c_int,
    c: c_int,
    d: c_int,
    e: c_int,
    f: c_int,
    g: c_int,
    h: c_int,
    i: c_double,
    j: c_float,
) -> c_int: ...


@_library.function
def sleep_until_told(milliseconds: c_int) -> c_bool: ...


@_library.function
def tell_sleeper() -> c_bool: ...


@_library.function
def call_on_threads(function: Sync[binary], threads: c_int, times: c_int) -> c_int: ...


@_library.function
def call_until_the_end(function: binary, threads: c_int) -> None: ...


@_library.function
def no_such_function() -> c_int: ...


__getattr__, __dir__, __all__ = _library.declared(globals())
_with_status.declared(globals())  # what it declares means the same

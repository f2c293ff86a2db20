"""Random cases of the exchange: an object of one protocol, true or false in some of its fields, and
what is done with it.

A case is a dict that JSON can carry; values and views in it are Python expressions. ``cases()``
draws one and ``check`` runs it. NumPy gives the expected result: the same views, of a copy of the
bytes. ``tests/contract/test_cases.py`` and ``tools/fuzz_exchange.py`` run the cases.
"""

from __future__ import annotations

import ctypes
import gc
import math
import random
import sys
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import entrepot as ep
from contract.protocols import CODES, EVERY_PROTOCOL, SUBBYTE_CODES, TYPESTRS, Cai, Keeper, Protocol
from entrepot import memory
from support.array_structs import ArrayStruct
from support.buffers import Exporter
from support.capsules import name_of
from support.malformed import (
    BUFFER_FIELDS,
    JUNK,
    MISSING,
    STRUCT_FIELDS,
    TENSOR_FIELDS,
    Hostile,
    Speaker,
    malformed,
    references_stay,
)
from support.malformed import TYPESTRS as ODD_TYPESTRS
from support.places import HOST, SYCL, strides_of_long_axes
from support.tensors import Held, Legacy

DTYPES = [*TYPESTRS, *(set(CODES) - set(TYPESTRS)), *SUBBYTE_CODES]
PROTOCOLS = {str(each): each for each in EVERY_PROTOCOL}
PLACES = {str(place): place for place in (HOST, *SYCL)}
#: Exceptions that an import or an export may raise for any input.
DOCUMENTED = (ep.EntrepotError, TypeError, ValueError, OverflowError, BufferError, AttributeError)


class _Truth:
    """Leaves an entry of a dict as it is."""

    def __repr__(self) -> str:
        return "TRUTH"


TRUTH = _Truth()
_NAMES = {
    "Hostile": Hostile,
    "MISSING": MISSING,
    "TRUTH": TRUTH,
    "nan": math.nan,
    "inf": math.inf,
    "ep": ep,
}

# ---------------------------------------------------------------- drawing

_DICTS = {
    "Suai": (
        "__sycl_usm_array_interface__",
        ("shape", "typestr", "data", "strides", "offset", "version", "syclobj"),
    ),
    "Cai": (
        "__cuda_array_interface__",
        ("shape", "typestr", "data", "strides", "version", "stream"),
    ),
    "ArrayInterface": ("__array_interface__", ("shape", "typestr", "data", "strides", "version")),
}


def text_of(value: Any) -> str:
    """Expression of one of the values of ``malformed``."""
    if isinstance(value, Hostile):
        return "Hostile()"
    if value is MISSING:
        return "MISSING"
    if isinstance(value, (list, tuple)):
        items = ", ".join(map(text_of, value))
        return f"[{items}]" if isinstance(value, list) else f"({items}{',' * (len(value) == 1)})"
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{text_of(key)}: {text_of(item)}" for key, item in value.items()) + "}"
        )
    return repr(value)


def _texts(values: dict[str, Any]) -> dict[str, str]:
    return {key: text_of(value) for key, value in values.items()}


@st.composite
def _index(draw: st.DrawFn, shape: tuple[int, ...]) -> str:
    parts = []
    for extent in shape:
        if draw(st.integers(0, 5)) == 0:
            parts.append("None")
        form = draw(st.sampled_from(["slice", "slice", "slice", "all", "number"]))
        if form == "number" and extent:
            parts.append(str(draw(st.integers(-extent, extent - 1))))
        elif form == "slice":
            ends = [draw(st.none() | st.integers(-extent - 2, extent + 2)) for _ in range(2)]
            step = draw(st.sampled_from([None, 1, 2, 3, -1, -2]))
            parts.append(":".join("" if each is None else str(each) for each in (*ends, step)))
        else:
            parts.append(":")
    return f"a[{', '.join([*parts, '...'])}]"


@st.composite
def _views(draw: st.DrawFn, shape: tuple[int, ...], most: int) -> tuple[list[str], tuple[int, ...]]:
    """Expressions of successive views, the first of ``a``, and the shape of the last."""
    twin, texts = np.empty(shape, "V1"), []
    for _ in range(draw(st.integers(0, most))):
        form = draw(st.sampled_from(["index", "index", "index", "transpose", "broadcast"]))
        if form == "transpose" and twin.ndim:
            text = f"a.transpose({', '.join(map(str, draw(st.permutations(range(twin.ndim)))))})"
        elif form == "broadcast" and twin.ndim < 5:
            to = [draw(st.integers(0, 3)) if extent == 1 else extent for extent in twin.shape]
            text = f"broadcast_to(a, {(draw(st.integers(1, 3)), *to)})"
        else:
            text = draw(_index(twin.shape))
        twin = view_of(twin, text)
        texts.append(text)
    return texts, twin.shape


_ANY = JUNK.filter(lambda value: type(value) is not int)
#: Keywords of ``asarray``, valid and invalid ones.
_ASKS = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(DTYPES).map(repr) | (ODD_TYPESTRS | JUNK).map(text_of),
        "copy": st.sampled_from(["None", "False", "True", "True"]) | JUNK.map(text_of),
        "device": st.sampled_from(["None", "'host'", "'opencl:cpu'", "'cuda:0'", "'nowhere'"])
        | JUNK.map(text_of),
        "kind": st.sampled_from(["None", "'host'", "'device'", "'shared'"]) | JUNK.map(text_of),
        "queue": st.just("None") | JUNK.map(text_of),
        "protocol": st.sampled_from(
            ["'dlpack'", "'buffer'", "'suai'", "'cai'", "'array_struct'", "'numpy'"]
        )
        | JUNK.map(text_of),
    },
)
#: Keywords of ``__dlpack__``. An int as a SYCL stream is the address of a queue, so it must be a
#: valid one.
_DLPACK_ASKS = st.fixed_dictionaries(
    {},
    optional={
        "stream": st.sampled_from(["None", "-1"]) | _ANY.map(text_of),
        "max_version": st.sampled_from(["None", "(0, 8)", "(1, 0)", "(1, 3)", "(1, 99)", "(2, 0)"])
        | JUNK.map(text_of),
        "dl_device": st.sampled_from(["None", "(1, 0)", "(14, 0)", "(2, 0)", "(99, -1)"])
        | JUNK.map(text_of),
        "copy": st.sampled_from(["None", "False", "True"]) | JUNK.map(text_of),
    },
)
_OTHERS = [
    "numpy.from_dlpack",
    "numpy.asarray",
    "memoryview",
    "asarray",
    "from_dlpack",
    "numpy()",
    "host()",
    "dlpack",
    "dlpack",
]


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    protocol = draw(st.sampled_from(list(PROTOCOLS.values())))
    place = draw(
        st.sampled_from(
            [str(each) for each in protocol.places if str(each) in PLACES] or [str(HOST)]
        )
    )
    case: dict[str, Any] = {
        "protocol": str(protocol),
        "place": place,
        "dtype": draw(st.sampled_from(protocol.dtypes)),
    }
    bad = draw(st.integers(0, 2)) == 0
    # Falsified fields for objects of two dimensions.
    plain = bad and not isinstance(protocol, Cai) and str(protocol) not in _DICTS
    extents = (
        st.tuples(*[st.integers(1, 4)] * 2)
        if plain
        else st.lists(st.integers(0, 5) | st.integers(1, 5), max_size=4)
    )
    case["shape"] = list(draw(extents))
    case["layout"], shape = ([], ()) if plain else draw(_views(tuple(case["shape"]), 2))
    case["read_only"] = draw(st.booleans())
    case["malformed"], case["asks"], case["after"], case["exports"] = {}, {}, [], []
    case["imports"], case["order"] = draw(st.integers(1, 3)), draw(st.integers(0, 99))
    if bad:
        if str(protocol) in _DICTS:
            _, keys = _DICTS[str(protocol)]
            said = draw(malformed(dict.fromkeys(keys, TRUTH)))
            case["malformed"] = {
                key: text_of(said.get(key, MISSING))
                for key in {*keys, *said}
                if said.get(key) is not TRUTH
            }
        else:
            fields = {"ArrayStructProtocol": STRUCT_FIELDS, "Buffer": BUFFER_FIELDS}.get(
                str(protocol), TENSOR_FIELDS
            )
            case["malformed"] = _texts(draw(fields))
    elif draw(st.integers(0, 3)) == 0:
        case["asks"] = draw(_ASKS)
    else:
        case["after"], _ = draw(_views(shape, 3))
        for _ in range(draw(st.integers(0, 4))):
            how = draw(st.sampled_from([*PROTOCOLS, *_OTHERS]))
            case["exports"].append([how, draw(_DLPACK_ASKS) if how == "dlpack" else {}])
    return case


# ---------------------------------------------------------------- expected results


def value_of(text: str) -> Any:
    return eval(text, dict(_NAMES))


def view_of(array: Any, text: str) -> Any:
    def broadcast_to(a: Any, shape: tuple[int, ...]) -> Any:
        return np.broadcast_to(a, shape) if isinstance(a, np.ndarray) else a.broadcast_to(*shape)

    return eval(text, {"a": array, "broadcast_to": broadcast_to})


def views_of(array: Any, texts: list[str]) -> Any:
    for text in texts:
        array = view_of(array, text)
    return array


class Ground:
    """Memory in a place, and a NumPy copy of its bytes: the array, its twin, and views of both."""

    def __init__(self, case: dict[str, Any]) -> None:
        place, shape = PLACES[case["place"]], tuple(case["shape"])
        itemsize = place.empty(1, case["dtype"]).itemsize
        count = math.prod(shape)
        self.bytes = (np.arange(count * itemsize) * 37 % 251).astype("u1")
        flat = place.empty(count * itemsize, "uint8")
        ep.copy(flat, self.bytes).wait()
        self.whole = (
            flat.view(case["dtype"]).reshape(*shape) if shape else flat.view(case["dtype"])[0, ...]
        )
        self.twin = np.frombuffer(self.bytes, f"V{itemsize}").reshape(shape)
        self.address = self.whole.data_ptr
        self.array, self.described = (
            views_of(self.whole, case["layout"]),
            views_of(self.twin, case["layout"]),
        )

    def compare(self, view: ep.Array, twin: np.ndarray, *, copied: bool = False) -> None:
        """Raises AssertionError unless the view equals the twin."""
        assert view.shape == twin.shape, f"a shape of {view.shape} instead of {twin.shape}"
        assert view.itemsize == twin.itemsize, f"elements of {view.itemsize} bytes"
        if not copied and twin.size:
            expected = strides_of_long_axes(
                twin.shape, tuple(step // twin.itemsize for step in twin.strides)
            )
            assert strides_of_long_axes(view.shape, view.strides) == expected, (
                f"strides of {view.strides} instead of {expected}"
            )
            offset = twin.__array_interface__["data"][0] - self.twin.__array_interface__["data"][0]
            assert view.data_ptr == self.address + offset, (
                f"byte {view.data_ptr - self.address} instead of {offset}"
            )
        if copied and twin.size:
            inside = self.address <= view.data_ptr < self.address + max(self.bytes.size, 1)
            assert not inside, "a copy that is no copy"
        assert bytes_of(view) == twin.tobytes(), "other bytes"


def bytes_of(view: ep.Array) -> bytes:
    copied = view.copy_to_host()
    return ctypes.string_at(copied.data_ptr, copied.nbytes) if copied.nbytes else b""


# ---------------------------------------------------------------- producers


def produced(case: dict[str, Any], ground: Ground, keeper: Keeper, fields: dict[str, str]) -> Any:
    """The object of the case, with these fields instead of the true ones."""
    protocol, array = PROTOCOLS[case["protocol"]], ground.array
    values = {key: value_of(text) for key, text in fields.items()}
    if isinstance(protocol, Cai):  # there is no CUDA device among the places
        truth = {
            "shape": array.shape,
            "typestr": TYPESTRS[str(array.dtype)],
            "data": (array.data_ptr, case["read_only"]),
        }
        made: Any = Speaker(
            "__cuda_array_interface__",
            truth | {"strides": None, "version": 3, "stream": None},
            keep=keeper,
        )
    elif str(protocol) == "Buffer" and values:
        values = ({"ndim": 2} if values.get("shape", ()) is None else {}) | values
        truth = {"shape": array.shape, "itemsize": array.itemsize, "length": array.nbytes}
        truth["strides"] = tuple(array.itemsize * stride for stride in array.strides)
        return Exporter(keeper, array.data_ptr, **(truth | values))
    else:
        made = protocol.produce(array, keeper, read_only=case["read_only"])
    if str(protocol) in _DICTS:
        interface = getattr(made, _DICTS[str(protocol)][0])
        for key, value in values.items():
            interface.pop(key, None) if value is MISSING else interface.update({key: value})
    elif str(protocol) == "ArrayStructProtocol":
        struct = made.keep[1]
        for key, value in values.items():
            if key in ("shape", "strides"):
                numbers: Any = None if value is None else (ctypes.c_ssize_t * len(value))(*value)
                made.keep = (*made.keep, numbers)
                value = ctypes.cast(numbers, ctypes.POINTER(ctypes.c_ssize_t))
            setattr(struct, key, value)
        assert isinstance(struct, ArrayStruct)
    else:
        tensor = tensor_of(made)
        for key, value in values.items():
            setattr(tensor, key, value)
        if tensor is not None and tensor.shape is None and tensor.ndim is None:
            tensor.ndim = 2
    return made


def tensor_of(made: Any) -> Held | None:
    """The producer of DLPack's tensors behind an object; None where another protocol is spoken."""
    found = getattr(made, "producer", made)
    return found if isinstance(found, Held) else None


def take(protocol: Protocol, made: Any, asks: dict[str, Any] | None = None) -> ep.Array:
    return ep.asarray(made, **({"protocol": protocol.name} | (asks or {})))


# ---------------------------------------------------------------- running


def check(case: dict[str, Any]) -> None:
    """Raises AssertionError, or an undocumented exception, if the case does not end as it must."""
    statistics, unraisable = memory.statistics(memory.direct()), []
    hook, sys.unraisablehook = (
        sys.unraisablehook,
        lambda what: unraisable.append(repr(what.exc_value)),
    )
    Held.held.clear()
    try:
        with memory.use_resource(statistics):
            if case["malformed"] or case["protocol"] == "Cai":
                _check_lies(case)
            elif case["asks"]:
                _check_asks(case)
            else:
                _check_truth(case)
    finally:
        sys.unraisablehook = hook
    assert not unraisable, f"a deleter, or a finaliser, raises {unraisable[0]}"
    assert _settles(lambda: (statistics.current_count, statistics.current_bytes) == (0, 0)), (
        "memory that is not released"
    )
    memory.trim()


def _settles(condition: Any) -> bool:
    """Waits: work that is done on another thread may hold a reference for a moment longer, or
    until Entrepot is next called."""
    until = time.monotonic() + 5
    while not condition():
        if time.monotonic() > until:
            return False
        gc.collect()
        ep.asarray(b"")
        time.sleep(0.001)
    return True


def _check_lies(case: dict[str, Any]) -> None:
    protocol, ground = PROTOCOLS[case["protocol"]], Ground(case)
    keeper = Keeper(ground.array)
    made = produced(case, ground, keeper, case["malformed"])
    refusals = ep.InterfaceError if str(protocol) in _DICTS else ep.ExchangeError

    def attempt() -> None:
        try:
            take(protocol, made)  # is never read
        except refusals:
            pass

    tensor = tensor_of(made)
    references_stay(attempt, keeper, *([made] if tensor is None else []))
    if tensor is not None:
        expected = 0 if tensor.null_deleter else len(tensor.made)
        assert _settles(lambda: tensor.deleted == expected), (
            f"{tensor.deleted} calls of the deleter, {expected} expected"
        )
        _check_own_capsule(tensor)
        Held.held.clear()
    if isinstance(made, Exporter):
        assert made.given == made.released == 1, (
            f"{made.given} buffers, {made.released} of them released"
        )
    if not isinstance(protocol, Cai):
        ground.compare(take(protocol, produced(case, ground, keeper, {})), ground.described)


def _check_own_capsule(tensor: Held) -> None:
    """A capsule that is refused must be unchanged."""
    before = tensor.deleted
    capsule = tensor.capsule()
    try:
        taken = ep.asarray(capsule)
    except ep.ExchangeError:
        assert name_of(capsule) == tensor.form.names[0], "a refused capsule that is renamed"
        assert tensor.deleted == before, "the deleter of a refused capsule is called"
    else:
        assert name_of(capsule) == tensor.form.names[1], "a capsule that is taken and not renamed"
        del taken
    del capsule
    expected = before + (not tensor.null_deleter)
    assert _settles(lambda: tensor.deleted == expected), (
        f"{tensor.deleted - before} calls of a capsule's deleter"
    )


def _check_asks(case: dict[str, Any]) -> None:
    protocol, ground = PROTOCOLS[case["protocol"]], Ground(case)
    keeper = Keeper(ground.array)
    made = produced(case, ground, keeper, {})
    asks = {key: value_of(text) for key, text in case["asks"].items()}
    asks = {key: value for key, value in asks.items() if value is not MISSING}

    def attempt() -> None:
        try:
            view = take(protocol, made, asks)
        except DOCUMENTED:
            return
        view.queue.wait()
        if view.size:
            copied = bool(asks.get("copy"))
            if not copied:
                assert view.data_ptr == ground.array.data_ptr, "a copy that was not asked for"
            ground.compare(view, ground.described, copied=copied)

    tensor = tensor_of(made)
    references_stay(attempt, keeper, *([made] if tensor is None else []))
    if tensor is not None:
        assert _settles(lambda: tensor.deleted == len(tensor.made)), (
            f"{tensor.deleted} calls of {len(tensor.made)} deleters"
        )


def _check_truth(case: dict[str, Any]) -> None:
    protocol, ground = PROTOCOLS[case["protocol"]], Ground(case)
    keeper = Keeper(ground.array)
    alive = weakref.ref(keeper)
    made = produced(case, ground, keeper, {})
    says_read_only = case["read_only"] and protocol.says_read_only
    things: list[Any] = []
    for _ in range(case["imports"]):
        view = take(protocol, made)
        assert view.dtype == case["dtype"], f"a dtype of {view.dtype}"
        assert view.read_only == says_read_only, f"read_only is {view.read_only}"
        ground.compare(view, ground.described)
        things.append(view)
    twin = views_of(ground.described, case["after"])
    view = views_of(things[-1], case["after"])
    read_only = says_read_only or any(text.startswith("broadcast") for text in case["after"])
    assert view.read_only == read_only, f"read_only of a view is {view.read_only}"
    ground.compare(view, twin)
    things.append(view)
    for how, asks in case["exports"]:
        things += exported(
            ground, view, twin, how, {key: value_of(text) for key, text in asks.items()}
        )
    things.append(made)
    del keeper, view, made
    random.Random(case["order"]).shuffle(things)
    while things:
        things.pop()
        if any(isinstance(each, ep.Array) for each in things):
            assert alive() is not None, (
                "the producer's memory is released while a view of it is there"
            )
    assert _settles(lambda: alive() is None), "the producer's memory is held after the last view"
    assert not Held.held, "a tensor whose deleter was not called"


def exported(
    ground: Ground, view: ep.Array, twin: np.ndarray, how: str, asks: dict[str, Any]
) -> list[Any]:
    """Exports the view, and returns the object that keeps its memory alive then."""
    on_host = view.kind != "device"
    plain = str(view.dtype) in TYPESTRS
    if how in PROTOCOLS:
        return _through(view, twin, PROTOCOLS[how])
    if how == "dlpack":
        return _through_capsule(ground, view, twin, asks)
    if how in ("asarray", "from_dlpack"):
        other = getattr(ep, how)(view)
        ground.compare(other, twin)
        assert other.read_only == view.read_only, f"{how}: read_only is {other.read_only}"
        return [other]
    if how == "host()":
        if not on_host:
            return _refused(how, view.host)
        other = view.host()
        ground.compare(other, twin)
        return [other]
    calls: dict[str, Callable[[], Any]] = {
        "numpy.from_dlpack": lambda: np.from_dlpack(view, device="cpu"),
        "numpy.asarray": lambda: np.asarray(view),
        "numpy()": view.numpy,
        "memoryview": lambda: memoryview(view),
    }
    call = calls[how]
    if not on_host or not plain:
        return _refused(how, call, must=not on_host)
    found = call()
    assert found.shape == twin.shape, f"{how}: a shape of {found.shape}"
    assert found.tobytes() == twin.tobytes(), f"{how}: other bytes"
    writable = not found.readonly if isinstance(found, memoryview) else found.flags.writeable
    assert not (writable and view.read_only), f"{how}: writable memory of a read-only array"
    if isinstance(found, np.ndarray) and twin.size:
        assert found.ctypes.data == view.data_ptr, f"{how}: a copy"
    return [found]


def _refused(how: str, call: Any, *, must: bool = True) -> list[Any]:
    try:
        call()
    except (*DOCUMENTED, RuntimeError):
        return []
    assert not must, f"{how} is not refused"
    return []


def _through(view: ep.Array, twin: np.ndarray, protocol: Protocol) -> list[Any]:
    here = next(
        (
            place
            for place in PLACES.values()
            if place.kind == view.kind and place.device == view.device
        ),
        None,
    )
    possible = here is not None and here in protocol.places and str(view.dtype) in protocol.dtypes
    try:
        seen = protocol.consume(view)
    except DOCUMENTED as error:
        says = protocol.says_read_only or not view.read_only
        assert not (possible and says), f"{protocol} refuses: {error}"
        return []
    assert protocol.says_read_only or not view.read_only, (
        f"{protocol} exports a read-only array as writable"
    )
    assert seen.shape == twin.shape, f"{protocol}: a shape of {seen.shape}"
    assert seen.dtype == str(view.dtype), f"{protocol}: a dtype of {seen.dtype}"
    assert not protocol.says_read_only or seen.read_only == view.read_only, (
        f"{protocol}: read_only is {seen.read_only}"
    )
    if twin.size:
        assert seen.address == view.data_ptr, f"{protocol}: another address"
        assert strides_of_long_axes(seen.shape, seen.strides) == strides_of_long_axes(
            view.shape, view.strides
        ), f"{protocol}: strides of {seen.strides}"
    return [seen.keep]


def _through_capsule(
    ground: Ground, view: ep.Array, twin: np.ndarray, asks: dict[str, Any]
) -> list[Any]:
    asks = {key: value for key, value in asks.items() if value is not MISSING}
    copied = not isinstance(asks.get("copy"), Hostile) and bool(asks.get("copy"))
    version = asks.get("max_version")
    legacy = version is None or (isinstance(version, tuple) and version[:1] == (0,))
    sensible = (
        asks.get("stream") in (None, -1)
        and (version is None or version in ((0, 8), (1, 0), (1, 3), (1, 99), (2, 0)))
        and asks.get("dl_device") is None
        and (asks.get("copy") is None or isinstance(asks["copy"], bool))
        and str(view.dtype) in CODES
        and not (legacy and view.read_only and not copied)
    )
    try:
        capsule = view.__dlpack__(**asks)
    except DOCUMENTED as error:
        assert not sensible, f"__dlpack__ refuses {asks}: {error}"
        return []
    forms = Legacy.names[0] if legacy else b"dltensor_versioned"
    if sensible:
        assert name_of(capsule) == forms, f"a capsule named {name_of(capsule)!r}"
    other = ep.from_dlpack(capsule, copy=copied)
    ground.compare(other, twin, copied=copied)
    return [] if copied else [other]

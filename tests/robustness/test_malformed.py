"""Nothing is lost on bad input: producers with a malformed value in every field, by every protocol.

Each must end in the protocol's documented exception or in a view that is never read. After it is
corrected, the object must work. Everything taken from it is released, and no allocation is left.
``make sanitize-python`` runs this file under AddressSanitizer and UndefinedBehaviorSanitizer.

Malformed values that no consumer can detect are left out. These are an unowned address of host
memory, a shape array shorter than ``ndim``, and a capsule of the right name with other contents.
"""

from __future__ import annotations

import ctypes
import functools
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import entrepot as ep
from entrepot import memory
from support.array_structs import ArrayStruct
from support.buffers import Exporter
from support.capsules import name_of, new_capsule
from support.malformed import (
    BUFFER_FIELDS,
    JUNK,
    STRUCT_FIELDS,
    TENSOR_FIELDS,
    TYPESTRS,
    Speaker,
    malformed,
    references_stay,
    signed,
    unsigned,
)
from support.places import CUDA as CUDA_PLACES
from support.places import SYCL
from support.tables import publish
from support.tensors import (
    CPU,
    CUDA,
    ONE_API,
    Legacy,
    Managed,
    Producer,
    Versioned,
)

pytestmark = pytest.mark.host

HOST_MEMORY = (ctypes.c_float * 16)(*range(16))
ADDRESS = ctypes.addressof(HOST_MEMORY)

many_examples = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(autouse=True)
def nothing_stays_allocated() -> Iterator[memory.statistics]:
    """Live allocations return to none, even if imports of the test failed."""
    statistics = memory.statistics(memory.direct())
    with memory.use_resource(statistics):
        yield statistics
    gc.collect()
    memory.trim()
    assert (statistics.current_count, statistics.current_bytes) == (0, 0)


def is_right(view: ep.Array) -> bool:
    return view.shape == (4, 3) and view.to("host").numpy().tolist() == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8],
        [9, 10, 11],
    ]


def usm(kind: str = "shared") -> ep.Array:
    """Sixteen floats of USM, 0 to 15."""
    array = ep.empty(16, "float32", device="opencl:cpu", kind=kind)
    array.copy_from_host(HOST_MEMORY)
    return array


# ---------------------------------------------------------------- dicts


class Dict:
    """A protocol of dicts: its attribute, its importers, and a true dict."""

    attribute: str
    takers: tuple[Callable[[object], object], ...]

    def __init__(self) -> None:
        self.truth = self.make()

    def make(self) -> dict[str, Any]:
        raise NotImplementedError


class ArrayInterface(Dict):
    attribute = "__array_interface__"
    takers = (ep.asarray, lambda obj: ep.asarray(obj, dtype="float32", protocol="array_interface"))

    def make(self) -> dict[str, Any]:
        return {
            "shape": (4, 3),
            "typestr": "<f4",
            "data": (ADDRESS, False),
            "strides": None,
            "version": 3,
        }


def copied(obj: object) -> None:
    ep.asarray(obj, copy=True).queue.wait()  # until then what is copied from is kept


class Suai(Dict):
    attribute = "__sycl_usm_array_interface__"
    takers = (
        ep.asarray,
        copied,
        memory.as_usm_memory,
        lambda obj: memory.MemoryUSMShared(obj, copy=True),
    )

    def __init__(self, kind: str) -> None:
        self.memory = usm(kind)
        super().__init__()

    def make(self) -> dict[str, Any]:
        where = self.memory
        truth = {
            "shape": (4, 3),
            "typestr": "<f4",
            "data": (where.data_ptr, False),
            "strides": None,
        }
        return truth | {"offset": 0, "version": 1, "syclobj": where.queue}


class Cai(Dict):
    """Without a stream: an invalid handle can only be recognized where it is a small number."""

    attribute = "__cuda_array_interface__"
    takers = (ep.asarray, copied, lambda obj: ep.asarray(obj, dtype="float32", protocol="cai"))

    def __init__(self, kind: str) -> None:
        self.memory = ep.empty(16, "float32", device="cuda:0", kind=kind)
        self.memory.copy_from_host(HOST_MEMORY)
        super().__init__()

    def make(self) -> dict[str, Any]:
        return {
            "shape": (4, 3),
            "typestr": "<f4",
            "data": (self.memory.data_ptr, False),
            "strides": None,
            "version": 3,
        }


DICTS = [
    pytest.param(ArrayInterface, id="array interface"),
    *(
        pytest.param(lambda kind=p.kind: Cai(kind), id=f"CAI {p.kind}", marks=pytest.mark.cuda)
        for p in CUDA_PLACES
    ),
    *(
        pytest.param(lambda kind=p.kind: Suai(kind), id=f"SUAI {p.kind}", marks=pytest.mark.sycl)
        for p in SYCL
    ),
]


@pytest.mark.numpy
class TestDicts:
    @pytest.mark.parametrize("make", DICTS)
    def test_random_dict_leaks_nothing(self, make: Callable[[], Dict]) -> None:
        protocol = make()

        @many_examples
        @given(interface=malformed(protocol.truth), taker=st.sampled_from(protocol.takers))
        def check(interface: dict[str, Any], taker: Callable[[object], object]) -> None:
            producer = Speaker(protocol.attribute, interface)

            def attempt() -> None:
                try:
                    taker(producer)
                except ep.InterfaceError:
                    pass

            references_stay(
                attempt,
                producer,
                interface,
                *(value for value in interface.values() if type(value) is ep.Queue),
            )
            setattr(producer, protocol.attribute, protocol.truth)
            assert is_right(ep.asarray(producer))

        check()

    @many_examples
    @given(whole=JUNK)
    @pytest.mark.parametrize(
        "attribute",
        [
            "__array_interface__",
            Cai.attribute,
            pytest.param(Suai.attribute, marks=pytest.mark.sycl),
        ],
    )
    def test_non_dict_is_refused(self, attribute: str, whole: object) -> None:
        producer = Speaker(attribute, whole)

        def attempt() -> None:
            with pytest.raises(ep.InterfaceError):
                ep.asarray(producer)

        references_stay(attempt, producer, whole)

    @many_examples
    @given(
        interface=malformed(
            {
                "shape": (4, 3),
                "typestr": "<f4",
                "data": (ADDRESS, False),
                "strides": None,
                "version": 3,
            }
            | dict.fromkeys(("mask", "descr", "offset", "stream"))
        )
    )
    def test_random_cai_of_unknown_memory_leaks_nothing(self, interface: dict[str, Any]) -> None:
        producer = Speaker(Cai.attribute, interface)

        def attempt() -> None:
            try:
                assert ep.asarray(producer).size == 0
            except ep.InterfaceError:
                pass

        references_stay(attempt, producer, interface)

    @pytest.mark.cuda
    @given(
        stream=st.integers(-10, 4095)
        | st.sampled_from([2**64, -(2**63)])
        | JUNK.filter(lambda junk: type(junk) is not int)
    )
    def test_invalid_streams_are_refused(self, stream: object) -> None:
        cai = Cai("device")
        producer = Speaker(Cai.attribute, cai.truth | {"stream": stream})
        if stream is None or (type(stream) is int and stream in (1, 2)):
            assert is_right(ep.asarray(producer))
            return
        with pytest.raises(ep.InterfaceError, match="'stream'"):
            ep.asarray(producer)

    @pytest.mark.sycl
    def test_pointer_outside_allocation_is_refused(self) -> None:
        suai = Suai("shared")
        ends = suai.memory.data_ptr + suai.memory.nbytes
        for data, shape, strides in [
            (ends - 4, (2**16,), None),
            (ends - 4, (4096, 2), (-(2**16), 1)),
            (suai.memory.data_ptr, (2,), (2**30,)),
            (suai.memory.data_ptr, (2,), (-(2**30),)),
            (ADDRESS, (4, 3), None),
        ]:
            interface = suai.truth | {"data": (data, False), "shape": shape, "strides": strides}
            for taker in suai.takers:
                with pytest.raises(ep.InterfaceError):
                    taker(Speaker(suai.attribute, interface))


# ---------------------------------------------------------------- structs


def struct(
    *,
    shape: tuple[int, ...] | None = (4, 3),
    strides: tuple[int, ...] | None = (12, 4),
    **fields: Any,
) -> Speaker:
    numbers: list[Any] = [
        None if values is None else (ctypes.c_ssize_t * len(values))(*values)
        for values in (shape, strides)
    ]
    fields = {
        "two": 2,
        "nd": 2,
        "typekind": b"f",
        "itemsize": 4,
        "flags": 0x700,
        "data": ADDRESS,
    } | fields
    made = ArrayStruct(**fields)
    made.shape, made.strides = (
        ctypes.cast(values, ctypes.POINTER(ctypes.c_ssize_t)) for values in numbers
    )
    return Speaker(
        "__array_struct__", new_capsule(ctypes.addressof(made), None), keep=(made, numbers)
    )


@pytest.mark.numpy
class TestStructs:
    @many_examples
    @given(fields=STRUCT_FIELDS)
    def test_random_struct_leaks_nothing(self, fields: dict[str, Any]) -> None:
        producer = struct(**fields)

        def attempt() -> None:
            try:
                ep.asarray(producer)
            except ep.InterfaceError:
                pass

        references_stay(attempt, producer, getattr(producer, "__array_struct__"))  # noqa: B009
        assert is_right(ep.asarray(struct()))


# ---------------------------------------------------------------- tensors

#: Fields of a tensor that are falsified one at a time, each of which must be refused.
REFUSED: dict[str, dict[str, Any]] = {
    "ndim -1": {"ndim": -1},
    "ndim 10**6": {"ndim": 10**6},
    "no shape": {"shape": None, "ndim": 2},
    "negative extent": {"shape": (-4, 3)},
    "overflowing shape": {"shape": (2**62, 2**62)},
    "overflowing strides": {"strides": (2**62, 2**62)},
    "overflowing bytes": {"strides": (2**60, 1)},
    "out of the address space": {"strides": (-(2**58), 1)},
    "misaligned": {"byte_offset": 2},
    "offset overflow": {"byte_offset": 2**64 - 1},
    "unknown dtype": {"dtype": (2, 24, 1)},
    "no lanes": {"dtype": (2, 32, 0)},
    "major version": {"version": (2, 0)},
    "unknown device": {"device": (99, 0)},
    "CUDA": {"device": (CUDA, 0)},
    "NULL": {"address": None},
}
#: Further malformed values about memory that the runtime can be asked about.
REFUSED_USM: dict[str, dict[str, Any]] = REFUSED | {
    "device number -1": {"device": (ONE_API, -1)},
    "device number 1000": {"device": (ONE_API, 1000)},
    "not USM": {"address": ADDRESS},
    "behind the allocation": {"byte_offset": 2**20},
    "before the allocation": {"strides": (-(2**20), 1)},
    "longer than the allocation": {"shape": (2**20, 3)},
}


class Place_:
    """Place of tensors: their address and device, and the malformed values detectable there."""

    def __init__(self, array: ep.Array | None) -> None:
        self.array = array
        self.address = array.data_ptr if array is not None else ADDRESS
        self.device = array.__dlpack_device__() if array is not None else (CPU, 0)
        self.refused = REFUSED if array is None else REFUSED_USM

    def producer(self, form: type[Managed], **fields: Any) -> Producer:
        producer = Producer(
            **(
                {"address": self.address, "data": self.array, "form": form, "device": self.device}
                | fields
            )
        )
        if producer.shape is None and producer.ndim is None:
            producer.ndim = 2
        return producer

    def correct(self, producer: Producer) -> None:
        truth = self.producer(producer.form)
        for field in (
            "address",
            "shape",
            "strides",
            "ndim",
            "dtype",
            "device",
            "byte_offset",
            "flags",
            "version",
            "null_deleter",
        ):
            setattr(producer, field, getattr(truth, field))


PLACES = [
    pytest.param(lambda: Place_(None), id="CPU"),
    *(
        pytest.param(lambda p=p: Place_(usm(p.kind)), id=f"oneAPI {p.kind}", marks=pytest.mark.sycl)
        for p in SYCL
    ),
]
every_place = pytest.mark.parametrize("make_place", PLACES)
both_forms = pytest.mark.parametrize("form", [Legacy, Versioned])


def through_protocol(producer: Producer) -> ep.Array:
    return ep.asarray(producer, protocol="dlpack")


def through_capsule(producer: Producer) -> ep.Array:
    capsule = producer.capsule()
    try:
        return ep.from_dlpack(capsule)
    finally:
        del (
            capsule
        )  # its destructor is Python code, which must not run while an exception is on its way


# Once: a type with a table is remembered forever, as the protocol lets consumers do.
Tensor, _ = publish(lambda: Producer(None))


def through_table(producer: Producer) -> ep.Array:
    tensor = Tensor()
    tensor.producer = producer
    return ep.asarray(tensor, protocol="c_exchange_api")


def routes(form: type[Managed]) -> list[Callable[[Producer], ep.Array]]:
    return [through_protocol, through_capsule, *[through_table] * (form is Versioned)]


@pytest.mark.numpy
class TestTensors:
    @every_place
    @both_forms
    def test_malformed_tensor_is_freed_once(
        self, make_place: Callable[[], Place_], form: type[Managed]
    ) -> None:
        place = make_place()
        for name, fields in place.refused.items():
            if form is Legacy and not fields.keys().isdisjoint({"version", "flags"}):
                continue
            for route in routes(form):
                producer = place.producer(form, **fields)
                with pytest.raises(ep.ExchangeError, match="DLPack"):
                    pytest.fail(f"{name} was taken as {route(producer)!r}")
                assert producer.deleted == 1, name
                place.correct(producer)
                assert is_right(route(producer)), name
                assert producer.deleted == 2, name

    @every_place
    @both_forms
    def test_random_tensor_leaks_nothing(
        self, make_place: Callable[[], Place_], form: type[Managed]
    ) -> None:
        place = make_place()

        @many_examples
        @given(fields=TENSOR_FIELDS, route=st.sampled_from(routes(form)))
        def check(fields: dict[str, Any], route: Callable[[Producer], ep.Array]) -> None:
            producer = place.producer(form, **fields)
            try:
                route(producer)
            except ep.ExchangeError:
                pass
            assert producer.deleted == (0 if producer.null_deleter else 1)
            place.correct(producer)
            before = producer.deleted
            assert is_right(route(producer))
            assert producer.deleted == before + 1

        check()

    @every_place
    @both_forms
    def test_refused_capsule_keeps_its_tensor(
        self, make_place: Callable[[], Place_], form: type[Managed]
    ) -> None:
        place = make_place()
        for fields in place.refused.values():
            if form is Legacy and not fields.keys().isdisjoint({"version", "flags"}):
                continue
            producer = place.producer(form, **fields)
            capsule = producer.capsule()

            def attempt(capsule: object = capsule) -> None:
                with pytest.raises(ep.ExchangeError):
                    ep.asarray(capsule)

            references_stay(attempt, capsule, producer)
            assert name_of(capsule) == form.names[0]
            assert producer.deleted == 0
            del capsule, attempt
            gc.collect()
            assert producer.deleted == 1

    @both_forms
    def test_consumed_capsule_is_refused(self, form: type[Managed]) -> None:
        producer = Place_(None).producer(form)
        capsule = producer.capsule()
        view = ep.asarray(capsule)
        for take in (ep.asarray, ep.from_dlpack, through_protocol):
            with pytest.raises(ep.ExchangeError, match="taken already"):
                take(capsule)  # type: ignore[arg-type]
        assert is_right(view)
        del view, capsule
        assert producer.deleted == 1

    @pytest.mark.parametrize(
        "name",
        [None, b"", b"dltensor2", b"used_dltensor", b"DLTENSOR", b"SyclQueueRef", b"\xff\xfe"],
    )
    def test_capsule_of_other_name_is_refused(self, name: bytes | None) -> None:
        producer = Place_(None).producer(Versioned)
        tensor = producer.tensor()

        class Odd:
            def __dlpack__(self, **_: object) -> object:
                return new_capsule(ctypes.addressof(tensor), name)

        odd = Odd()

        def attempt() -> None:
            for take in (ep.asarray, ep.from_dlpack):
                with pytest.raises((ep.ExchangeError, TypeError)):
                    take(new_capsule(ctypes.addressof(tensor), name))
                with pytest.raises(ep.ExchangeError):
                    take(odd)

        attempt()
        references_stay(attempt, odd, Odd)
        assert producer.deleted == 0

    @many_examples
    @given(answer=JUNK, device=JUNK)
    @example(answer=None, device=(1,))
    def test_invalid_dlpack_results_are_refused(self, answer: object, device: object) -> None:
        class Odd:
            def __dlpack__(self, **_: object) -> object:
                return answer

            def __dlpack_device__(self) -> object:
                return device

        odd = Odd()

        def attempt() -> None:
            with pytest.raises(ep.ExchangeError):
                ep.asarray(odd)
            with pytest.raises(ep.ExchangeError):
                ep.from_dlpack(odd)

        references_stay(attempt, odd, answer)


# ---------------------------------------------------------------- buffers


@pytest.mark.numpy
class TestBuffers:
    @many_examples
    @given(fields=BUFFER_FIELDS, address=st.just(ADDRESS) | unsigned(64))
    @example(fields={"ndim": 10**6, "suboffsets": (-1, -1)}, address=ADDRESS)
    @example(fields={"format": b"\xff"}, address=ADDRESS)
    @example(fields={"itemsize": 0, "length": 0}, address=ADDRESS)
    def test_random_buffer_leaks_nothing(self, fields: dict[str, Any], address: int) -> None:
        if fields.get("shape", ()) is None:
            fields.setdefault("ndim", 2)
        exporter = Exporter(HOST_MEMORY, address, **fields)

        def attempt() -> None:
            try:
                ep.asarray(exporter)
            except ep.ExchangeError:
                pass

        references_stay(attempt, exporter, HOST_MEMORY)
        assert exporter.given == exporter.released == 1
        assert is_right(ep.asarray(Exporter(HOST_MEMORY, ADDRESS)))


# ---------------------------------------------------------------- consumers with invalid requests


class TestShapes:
    """Lists that an item empties while they are read: the items at the start of the call count."""

    @pytest.fixture
    def shape(self) -> list[object]:
        class Emptying:
            def __index__(self) -> int:
                shape.clear()
                return 3

        shape = [Emptying(), *range(2, 9)]
        return shape

    def test_new_array_with_a_shape_that_empties_itself(self, shape: Any) -> None:
        assert ep.empty(shape, "uint8", device="host").shape == (3, 2, 3, 4, 5, 6, 7, 8)

    def test_interface_with_a_shape_that_empties_itself(self, shape: Any) -> None:
        data = bytearray(3 * 40320)
        interface = {"version": 3, "typestr": "|u1", "shape": shape, "data": data}
        assert ep.asarray(Speaker("__array_interface__", interface)).shape == (
            3,
            2,
            3,
            4,
            5,
            6,
            7,
            8,
        )


class TestQuestions:
    @many_examples
    @given(
        keywords=st.fixed_dictionaries(
            {},
            optional={
                "stream": JUNK.filter(lambda value: type(value) is not int),
                "max_version": JUNK | st.tuples(signed(64), signed(64)),
                "dl_device": JUNK | st.tuples(st.integers(-3, 25), signed(64)),
                "copy": JUNK | st.booleans(),
                "nonsense": JUNK,
            },
        )
    )
    @pytest.mark.parametrize(
        "selector", ["host", pytest.param("opencl:cpu", marks=pytest.mark.sycl)]
    )
    def test_random_dlpack_keywords_leak_nothing(
        self, selector: str, keywords: dict[str, Any]
    ) -> None:
        array = ep.zeros((4, 3), "float32", device=selector)
        keywords = {
            name: value
            for name, value in keywords.items()
            if isinstance(value, (int, str, tuple, list, dict, type(None)))
        }

        def attempt() -> None:
            try:
                array.__dlpack__(**keywords)
            except (ep.ExchangeError, TypeError, ValueError, OverflowError):
                pass

        references_stay(attempt, array, *keywords.values())
        assert ep.from_dlpack(array.__dlpack__()).data_ptr == array.data_ptr

    @many_examples
    # Python 3.15 refuses PyBUF_READ and PyBUF_WRITE, which are flags of other functions.
    @given(flags=st.integers(-(2**31), 2**31 - 1).filter(lambda flags: flags not in (0x100, 0x200)))
    def test_random_buffer_flags_leak_nothing(self, flags: int) -> None:
        array = ep.zeros((4, 3), "float32", device="host")
        view = (ctypes.c_char * 80)()

        def attempt() -> None:
            try:
                ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(array), view, flags)
            except ep.ExchangeError:
                return
            ctypes.pythonapi.PyBuffer_Release(view)

        references_stay(attempt, array)
        assert memoryview(array).shape == (4, 3)

    @many_examples
    @given(
        keywords=st.dictionaries(
            st.sampled_from("dtype copy device kind queue protocol nonsense".split()),
            TYPESTRS | JUNK,
        )
    )
    def test_random_asarray_keywords_leak_nothing(self, keywords: dict[str, Any]) -> None:
        def attempt() -> None:
            try:
                ep.asarray(HOST_MEMORY, **keywords)
            except (ep.EntrepotError, TypeError, ValueError, OverflowError):
                pass

        references_stay(attempt, HOST_MEMORY)


# ---------------------------------------------------------------- leaks of refused imports


class Mallinfo(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
        ).split()
    )


def allocated_bytes() -> int:
    """Bytes that malloc has handed out in this process; 0 if another malloc counts them."""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = Mallinfo
    return mallinfo().uordblks


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2"),
    reason="this C library does not count what malloc has given out",
)
class TestLeaks:
    """Thousands of refusals of each kind leak nothing in C++ either."""

    TIMES = 2000
    SLACK = 8 * TIMES  # bytes: less than any block that leaked once each time would take

    def check(self, attempt: Callable[[], object]) -> None:
        def many(times: int) -> None:
            for _ in range(times):
                try:
                    attempt()
                except ep.ExchangeError:
                    pass

        many(200)
        gc.collect()
        before = allocated_bytes()
        many(self.TIMES)
        gc.collect()
        assert allocated_bytes() - before < self.SLACK

    def test_array_interface_dicts_leak_nothing(self) -> None:
        producers = [
            Speaker("__array_interface__", ArrayInterface().truth | fields)
            for fields in ({"typestr": "|O8"}, {"data": (0, False)}, {})
        ]
        for producer in producers:
            self.check(functools.partial(ep.asarray, producer))

    @pytest.mark.sycl
    def test_suai_dicts_leak_nothing(self) -> None:
        suai = Suai("shared")
        for fields in (
            {"typestr": "|O8"},
            {"data": (64, False)},
            {"shape": (2**28,)},
            {"version": 2},
            {},
        ):
            producer = Speaker(suai.attribute, suai.truth | fields)
            self.check(functools.partial(ep.asarray, producer))

    def test_buffers_leak_nothing(self) -> None:
        for fields in ({"ndim": 10**6}, {"format": b"O"}, {"length": 5}, {}):
            exporter = Exporter(HOST_MEMORY, ADDRESS, **fields)
            self.check(functools.partial(ep.asarray, exporter))

    @both_forms
    def test_tensors_leak_nothing(self, form: type[Managed]) -> None:
        place = Place_(None)
        for fields in ({"ndim": 10**6}, {"dtype": (2, 24, 1)}, {"device": (CUDA, 0)}, {}):
            producer = place.producer(form, **fields)

            def attempt(producer: Producer = producer) -> None:
                try:
                    through_capsule(producer)
                finally:
                    producer.made.clear()

            self.check(attempt)

"""Memory known by its address: the drivers' answers, refusals, and a deleter that is called
once."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import sysconfig
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import entrepot as ep
from support.capsules import Destructor, new_capsule, rename
from support.modules import load_module
from support.opencl_kernels import launch
from support.places import HOST, SYCL, Place, every_host_accessible_place, every_place
from support.polling import eventually_equal
from support.processes import run
from support.tensors import Versioned, content

CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class OwnedMemory:
    """Memory in a place, and a deleter of it that records each call's address and thread."""

    def __init__(self, place: Place = HOST, count: int = 16) -> None:
        self.block = place.empty(count, "float32")
        ep.fill(self.block, 0).wait()
        self.address = self.block.data_ptr
        self.calls: list[tuple[int, int]] = []

    def __call__(self, address: int) -> None:
        self.calls.append((address, threading.get_ident()))

    @property
    def addresses(self) -> list[int]:
        return [address for address, _ in self.calls]

    def imported(self, **options: Any) -> ep.Array:
        return ep.from_address(
            self.address, self.block.size, "float32", **{"deleter": self, **options}
        )


def elements(array: ep.Array) -> list[Any]:
    return memoryview(array.copy_to_host()).tolist()


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The reported exceptions, as (type, text, object)."""
    reported: list[Any] = []
    monkeypatch.setattr(
        sys,
        "unraisablehook",
        lambda it: reported.append((it.exc_type, str(it.exc_value), it.object)),
    )
    return reported


# ---------------------------------------------------------------- place


class TestPlace:
    @every_place
    def test_driver_determines_place(self, place: Place) -> None:
        owned = OwnedMemory(place)
        array = owned.imported()
        assert (array.data_ptr, array.shape, array.strides, str(array.dtype)) == (
            owned.address,
            (16,),
            (1,),
            "float32",
        )
        if (
            place.device.backend == "hip" and array.device.backend == "cuda"
        ):  # HIP over CUDA: both drivers know it
            array = owned.imported(device=place.device)
        assert (array.device, array.kind, array.context) == (
            place.device,
            owned.block.kind,
            owned.block.context,
        )
        assert not array.read_only
        ep.fill(array, 7).wait()
        assert elements(owned.block) == [7] * 16

    @every_place
    def test_named_device_is_accepted(self, place: Place) -> None:
        owned = OwnedMemory(place)
        for named in (
            {"device": place.selector},
            {"device": place.device},
            {"queue": ep.Queue(place.device)},
        ):
            array = owned.imported(**named)
            assert (array.device, array.kind) == (place.device, owned.block.kind)
            assert "queue" not in named or array.queue == named["queue"]

    @every_host_accessible_place
    def test_host_device_is_accepted_for_host_memory(self, place: Place) -> None:
        owned = OwnedMemory(place)
        array = owned.imported(device="host")
        assert (str(array.device), array.kind) == ("host", "host")
        memoryview(array)[3] = 5
        assert elements(owned.block)[3] == 5

    def test_strides_shape_and_flags(self) -> None:
        data = (ctypes.c_int16 * 12)(*range(12))
        address = ctypes.addressof(data)
        columns = ep.from_address(address, (4, 3), "int16", strides=(1, 4), owner=data)
        assert memoryview(columns).tolist() == [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
        assert ep.from_address(address, [2, 2], "int16", strides=[6, 0], owner=data).strides == (
            6,
            0,
        )
        assert ep.from_address(address, (), "int16", owner=data).item() == 0
        assert ep.from_address(address, 12, "int16", read_only=True, owner=data).read_only

    def test_index_protocol_address_is_accepted(self) -> None:
        class Address:
            def __index__(self) -> int:
                return ctypes.addressof(data)

        data = (ctypes.c_uint8 * 3)(1, 2, 3)
        assert memoryview(ep.from_address(Address(), 3, "uint8", owner=data)).tolist() == [1, 2, 3]  # type: ignore[arg-type]

    @pytest.mark.parametrize("address", [0, 4097])
    def test_empty_array_asks_no_driver(self, address: int) -> None:
        calls: list[int] = []
        array = ep.from_address(address, (3, 0), "float64", deleter=calls.append)
        assert (array.shape, str(array.device)) == ((3, 0), "host")
        del array
        assert calls == [address]

    @pytest.mark.sycl
    def test_empty_array_is_on_the_named_device(self) -> None:
        assert str(ep.from_address(0, 0, "int8", device="opencl:cpu").device).startswith(
            "opencl:cpu"
        )

    @pytest.mark.sycl
    def test_queue_determines_context(self) -> None:
        (part, *_) = ep.device("opencl:cpu").sub_devices(equally=1)
        queue = ep.Queue(part)
        block = ep.empty(16, "float32", kind="shared", queue=queue)
        array = ep.from_address(block.data_ptr, 16, "float32", queue=queue, owner=block)
        assert (array.device, array.context) == (part, queue.context)
        ep.fill(array, 2).wait()
        assert elements(block) == [2] * 16

    @pytest.mark.dpctl
    @pytest.mark.sycl
    @pytest.mark.parametrize("kind", ["Host", "Shared", "Device"])
    def test_memory_allocated_by_dpctl_is_imported(self, kind: str) -> None:
        import dpctl
        import dpctl.memory

        queue = dpctl.SyclQueue("opencl:cpu")
        blocks = [getattr(dpctl.memory, f"MemoryUSM{kind}")(64, queue=queue)]
        array = ep.from_address(
            blocks[0]._pointer, 16, "int32", queue=queue, deleter=lambda address: blocks.clear()
        )
        assert (array.kind, array.data_ptr) == (kind.lower(), blocks[0]._pointer)
        ep.fill(array, 9).wait()
        answer = bytearray(64)
        blocks[0].copy_to_host(answer)
        assert memoryview(answer).cast("i").tolist() == [9] * 16
        assert blocks
        del array
        assert eventually_equal(lambda: blocks, [])


# ---------------------------------------------------------------- refusals

GOOD = (ctypes.c_float * 64)()
ADDRESS = ctypes.addressof(GOOD)


class TestRefused:
    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            ((True, 4, "uint8"), TypeError, "address must be an int, not a bool"),
            ((4096.0, 4, "uint8"), TypeError, "address must be an int, not a float"),
            ((None, 4, "uint8"), TypeError, "address must be an int, not a NoneType"),
            (("4096", 4, "uint8"), TypeError, "address must be an int, not a str"),
            (
                (ctypes.c_void_p(4096), 4, "uint8"),
                TypeError,
                "address must be an int, not a c_void_p",
            ),
            ((-1, 4, "uint8"), OverflowError, r"0 to 2\*\*64 - 1"),
            ((1 << 64, 4, "uint8"), OverflowError, r"0 to 2\*\*64 - 1"),
            ((0, 4, "uint8"), ValueError, "the address is 0"),
            ((0, (), "uint8"), ValueError, "the address is 0"),
            ((ADDRESS + 1, 4, "float32"), ValueError, "not aligned to the 4 bytes of float32"),
            (((1 << 64) - 8, 16, "uint8"), ValueError, "leaves the address space"),
            ((ADDRESS, -1, "uint8"), ValueError, "negative"),
            ((ADDRESS, 1.5, "uint8"), TypeError, "shape"),
            ((ADDRESS, 1 << 62, "float64"), OverflowError, "64 bits"),
            ((ADDRESS, (1 << 40, 1 << 40), "uint8"), OverflowError, "64 bits"),
            ((ADDRESS, (1,) * 65, "uint8"), ValueError, "dimensions"),
            ((ADDRESS, 4, "no dtype"), TypeError, "no dtype"),
        ],
        ids=lambda part: part if isinstance(part, str) else "",
    )
    def test_invalid_arguments_are_refused(
        self, arguments: tuple[Any, Any, Any], error: type[Exception], words: str
    ) -> None:
        self.refused(error, words, *arguments)

    @pytest.mark.parametrize(
        ("options", "error", "words"),
        [
            ({"strides": (-1,)}, ValueError, "begin 12 bytes below the address.*positive strides"),
            ({"strides": (1, 1)}, ValueError, "differ in length"),
            ({"strides": (1 << 61,)}, OverflowError, "64 bits"),
            ({"strides": 1.0}, TypeError, "shape"),
            ({"device": "nowhere"}, ValueError, "nowhere"),
            ({"read_onyl": True}, TypeError, "read_only"),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
    )
    def test_invalid_options_leave_the_deleter_uncalled(
        self, options: dict[str, Any], error: type[Exception], words: str
    ) -> None:
        self.refused(error, words, ADDRESS, 4, "float32", **options)

    def refused(self, error: type[Exception], words: str, *arguments: Any, **options: Any) -> None:
        """Neither deleter nor owner is called or kept."""
        calls: list[int] = []
        references = sys.getrefcount(calls), sys.getrefcount(GOOD)
        for last in (
            {"deleter": calls.append},
            {"owner": GOOD},
            {"deleter": CALLBACK(calls.append)},
        ):
            with pytest.raises(error, match=words):
                ep.from_address(*arguments, **options, **last)  # type: ignore[misc]
            last.clear()
        gc.collect()
        assert calls == []
        assert (sys.getrefcount(calls), sys.getrefcount(GOOD)) == references

    @pytest.mark.parametrize(
        "deleter",
        ["free", 1.5, True, object(), ctypes.c_void_p(8)],
        ids=lambda given: type(given).__name__,
    )
    def test_invalid_deleter_is_refused(self, deleter: Any) -> None:
        with pytest.raises(
            TypeError, match="a callable, a PyCapsule, a C function of ctypes or the address of one"
        ):
            ep.from_address(ADDRESS, 4, "float32", deleter=deleter)

    @pytest.mark.parametrize("deleter", [0, CALLBACK()], ids=["0", "a null function"])
    def test_deleter_at_null_is_refused(self, deleter: Any) -> None:
        with pytest.raises(ValueError, match="at the address 0"):
            ep.from_address(ADDRESS, 4, "float32", deleter=deleter)

    @pytest.mark.parametrize("deleter", [-1, 1 << 64])
    def test_deleter_out_of_range_is_refused(self, deleter: int) -> None:
        with pytest.raises(OverflowError, match="the deleter is no address"):
            ep.from_address(ADDRESS, 4, "float32", deleter=deleter)

    def test_owner_and_deleter_together_are_refused(self) -> None:
        with pytest.raises(ValueError, match="owner and deleter"):
            ep.from_address(ADDRESS, 4, "float32", owner=GOOD, deleter=print)


@pytest.mark.sycl
class TestWrongPlace:
    def refused(self, words: str, owned: OwnedMemory, **options: Any) -> None:
        with pytest.raises(ep.ExchangeError, match=words):
            owned.imported(**options)
        gc.collect()
        assert owned.calls == []

    def test_device_memory_is_refused_on_host(self) -> None:
        self.refused(
            "is device memory of opencl:cpu.*memory of host was asked for",
            OwnedMemory(SYCL[1]),
            device="host",
        )

    def test_host_memory_is_refused_on_device(self) -> None:
        owned = OwnedMemory()
        address = (ctypes.c_float * 64)()
        owned.address = ctypes.addressof(address)
        self.refused(
            "unknown in the default context of opencl:cpu.*ordinary host memory",
            owned,
            device="opencl:cpu",
        )

    def test_memory_of_another_device_is_refused(self) -> None:
        (part, *_) = ep.device("opencl:cpu").sub_devices(equally=1)
        words = "is shared memory of opencl:cpu:0, in the default context.*memory of opencl:cpu:0/"
        self.refused(words, OwnedMemory(SYCL[2]), device=part)
        self.refused(words, OwnedMemory(SYCL[2]), queue=ep.Queue(part))

    def test_allocation_that_is_too_small_is_refused(self) -> None:
        owned = OwnedMemory()
        with ep.memory.use_resource(ep.memory.direct()):
            block = ep.memory.MemoryUSMShared(64)
        with pytest.raises(
            ep.ExchangeError, match=r"need the 1048576 bytes.*the allocation there has"
        ):
            ep.from_address(block._pointer, 1 << 18, "float32", deleter=owned)
        assert owned.calls == []


# ---------------------------------------------------------------- release


def drop_without_the_gil(array: ep.Array) -> None:
    """Drops the array's last export, by DLPack's deleter."""
    capsule = array.__dlpack__(max_version=(1, 0))
    managed = content(capsule, Versioned)
    deleter, tensor = managed.deleter, ctypes.addressof(managed)
    rename(capsule, Versioned.names[1])
    del array, capsule
    CALLBACK(deleter or 0)(tensor)


class TestDeleter:
    @every_place
    def test_deleter_is_called_once_after_the_last_view_and_export(self, place: Place) -> None:
        owned = OwnedMemory(place)
        array = owned.imported()
        view = array[3:][::2]
        copied = ep.asarray(array)
        capsule = (
            array.__dlpack__(max_version=(1, 0), stream=-1)
            if place.selector != "host"
            else array.__dlpack__()
        )
        del array
        assert owned.calls == []
        del view
        assert owned.calls == []
        del copied
        assert owned.calls == []
        del capsule
        assert owned.addresses == [owned.address]
        gc.collect()
        assert len(owned.calls) == 1

    def test_deleter_is_not_the_owner(self) -> None:
        array = OwnedMemory().imported()
        assert array.owner is None

    def test_owner_is_kept_alive(self) -> None:
        class Block(bytearray):
            pass

        block = Block(64)
        gone = weakref.ref(block)
        array = ep.from_address(ADDRESS, 4, "float32", owner=block)
        del block
        assert array.owner is gone()
        view = array[1:]
        del array
        assert gone() is not None
        del view
        assert gone() is None

    def test_capsule_is_released_with_array(self) -> None:
        calls: list[int] = []
        destructor = Destructor(calls.append)
        for keyword in ("deleter", "owner"):
            capsule = new_capsule(ADDRESS, b"memory", destructor)
            array = ep.from_address(ADDRESS, 4, "float32", **{keyword: capsule})
            expected = [*calls, id(capsule)]
            del capsule
            assert len(calls) == len(expected) - 1
            del array
            assert calls == expected

    @pytest.mark.parametrize("form", ["CFUNCTYPE", "PYFUNCTYPE", "address"])
    def test_c_function_is_called_with_the_address(self, form: str) -> None:
        calls: list[int] = []
        kind = ctypes.PYFUNCTYPE if form == "PYFUNCTYPE" else ctypes.CFUNCTYPE
        function = kind(None, ctypes.c_void_p)(calls.append)
        kept = weakref.ref(function)
        deleter = ctypes.cast(function, ctypes.c_void_p).value if form == "address" else function
        array = ep.from_address(ADDRESS, 4, "float32", deleter=deleter)
        if form != "address":
            del function, deleter
            assert kept() is not None, "only the array keeps the compiled function"
        del array
        assert calls == [ADDRESS]

    def test_deleter_receives_all_bits_of_address(self) -> None:
        """ctypes passes an int as a C int by default; free() of half an address crashes."""
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        for _ in range(3):
            array = ep.from_address(
                libc.malloc(ctypes.c_size_t(1 << 20)), 1 << 20, "uint8", deleter=libc.free
            )
            memoryview(array)[-1] = 1
            del array
        assert libc.free.argtypes is None

    def test_deleter_exception_is_reported(self, unraisable: list[Any]) -> None:
        def fails(address: int) -> None:
            raise KeyError("no such block")

        array = ep.from_address(ADDRESS, 4, "float32", deleter=fails)
        del array
        assert unraisable == [(KeyError, "'no such block'", fails)]
        with pytest.raises(ZeroDivisionError, match="division by zero") as raised:
            _ = ep.from_address(ADDRESS, 4, "float32", deleter=fails), 1 / 0
        assert raised.value.__context__ is None
        assert len(unraisable) == 2

    @pytest.mark.parametrize(
        "wrap", [lambda function: function, CALLBACK], ids=["callable", "CFUNCTYPE"]
    )
    def test_deleter_runs_while_an_exception_unwinds(self, wrap: Callable[[Any], Any]) -> None:
        sums: list[int] = []
        with pytest.raises(ZeroDivisionError):
            _ = (
                ep.from_address(
                    ADDRESS, 4, "float32", deleter=wrap(lambda address: sums.append(sum(range(10))))
                ),
                1 / 0,
            )
        assert sums == [45]

    def test_deleter_may_make_and_drop_arrays(self) -> None:
        calls: list[int] = []

        def another(address: int) -> None:
            calls.append(address)
            if len(calls) < 1000:
                ep.from_address(ADDRESS, 4, "float32", deleter=another)

        ep.from_address(ADDRESS, 4, "float32", deleter=another)
        assert calls == [ADDRESS] * 1000

    @pytest.mark.parametrize("wrap", [lambda owned: owned, CALLBACK], ids=["callable", "CFUNCTYPE"])
    def test_deleter_runs_in_a_thread_with_the_gil(self, wrap: Callable[[Any], Any]) -> None:
        owned = OwnedMemory()
        drop_without_the_gil(owned.imported(deleter=wrap(owned)))
        assert eventually_equal(lambda: owned.calls, [(owned.address, threading.get_ident())])

    def test_deleters_from_many_threads_run_once(self) -> None:
        blocks = [OwnedMemory() for _ in range(400)]
        arrays = [owned.imported() for owned in blocks]

        def work(part: list[ep.Array]) -> None:
            while part:
                drop_without_the_gil(part.pop())

        parts = [arrays[number::8] for number in range(8)]
        arrays.clear()
        threads = [threading.Thread(target=work, args=(part,)) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert eventually_equal(
            lambda: [owned.addresses for owned in blocks],
            [[owned.address] for owned in blocks],
        )

    def test_owner_in_cycle_is_collected(self) -> None:
        class Block(bytearray):
            whole: ep.Array

        block = Block(64)
        block.whole = ep.from_address(ADDRESS, 4, "float32", owner=block)
        gone = weakref.ref(block)
        del block
        assert gone() is not None
        gc.collect()
        assert gone() is None

    def test_array_in_a_cycle_is_released(self) -> None:
        owned = OwnedMemory()
        ring: list[Any] = [owned.imported()]
        ring.append(ring)
        del ring
        assert owned.calls == []
        gc.collect()
        assert owned.addresses == [owned.address]

    def test_deleter_that_refers_to_the_array_leaks_it(self) -> None:
        """Like weakref.finalize. The collector would clear the function before it is called."""

        class Ring:
            array: ep.Array | None

        owned, ring = OwnedMemory(), Ring()
        ring.array = owned.imported(deleter=lambda address, ring=ring: owned(address))
        there = weakref.ref(ring)
        del ring
        gc.collect()
        assert owned.calls == []
        found = there()
        assert found is not None
        found.array = None
        del found
        assert owned.addresses == [owned.address]
        gc.collect()
        assert there() is None

    def test_deleters_at_interpreter_shutdown_are_safe(self) -> None:
        body = """
        import ctypes, entrepot as ep
        data = (ctypes.c_float * 16)()
        def deleter(address, where=[]):
            where.append(sum(range(10)))
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)
        arrays = [
            ep.from_address(ctypes.addressof(data), 16, "float32", deleter=each)
            for each in (deleter, function, ctypes.cast(function, ctypes.c_void_p).value)
        ]
        arrays.append(arrays)
        print("well")
        """
        assert run(body) == "well"

    @pytest.mark.sycl
    def test_host_deleter_runs_after_fork(self) -> None:
        body = """
        import ctypes, os, warnings, entrepot as ep
        warnings.simplefilter("ignore")
        ep.zeros(1, "int8", device="opencl:cpu")
        data, calls = (ctypes.c_float * 16)(), []
        if child := os.fork():
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        else:
            array = ep.from_address(ctypes.addressof(data), 16, "float32", deleter=calls.append)
            del array
            os._exit(calls != [ctypes.addressof(data)])
        """
        assert run(body) == "0"


@pytest.mark.sycl
@pytest.mark.alone
class TestWork:
    @pytest.mark.parametrize("place", SYCL, ids=str)
    @pytest.mark.parametrize("wrap", [lambda owned: owned, CALLBACK], ids=["callable", "CFUNCTYPE"])
    def test_deleter_is_called_after_the_kernel(
        self, place: Place, wrap: Callable[[Any], Any]
    ) -> None:
        owned = OwnedMemory(place)
        array = owned.imported(deleter=wrap(owned))
        done = launch("slow", array, seconds=1, queue=ep.Queue(place.device))
        del array
        assert not done.done, "the release has waited"
        assert owned.calls == []
        done.wait()
        assert eventually_equal(lambda: owned.addresses, [owned.address])

    def test_deleter_waits_for_device_work_on_host_memory(self) -> None:
        owned = OwnedMemory()
        array = owned.imported()
        done = launch("slow", array, seconds=1, queue=ep.Queue("opencl:cpu"))
        del array
        assert not done.done
        assert owned.calls == []
        done.wait()
        assert eventually_equal(lambda: owned.addresses, [owned.address])

    def test_pending_work_of_the_queue_delays_the_deleter(self) -> None:
        queue = ep.Queue("opencl:cpu")
        owned, other = OwnedMemory(SYCL[2]), SYCL[2].empty(16, "int32")
        done = launch("slow", other, seconds=1, queue=queue)
        array = owned.imported(queue=queue)
        del array
        assert not done.done
        assert owned.calls == [], "for all we know the kernel writes there"
        done.wait()
        assert eventually_equal(lambda: owned.addresses, [owned.address])


# ---------------------------------------------------------------- for extensions


@pytest.fixture(scope="module")
def c_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    library = tmp_path_factory.mktemp("c_memory") / "c_memory.so"
    here = Path(__file__)
    include = [f"-I{sysconfig.get_path('include')}", f"-I{here.parents[3] / 'include'}"]
    flags = ["-std=c++20", "-shared", "-fPIC", "-Wall", "-Werror"]
    subprocess.run(
        ["c++", *flags, *include, "-o", library, here.with_name("c_memory.cpp")], check=True
    )
    yield load_module(library, "c_memory")


class TestExtensions:
    def test_array_of_c_memory_is_returned_to_its_deleter(self, c_memory: ModuleType) -> None:
        before, with_gil = c_memory.counts()
        array = c_memory.rows(3)
        assert memoryview(array).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
        assert (str(array.device), array.read_only) == ("host", False)
        view = array[1:]
        del array
        assert c_memory.counts() == (before, with_gil)
        del view
        assert c_memory.counts() == (before + 1, with_gil), "and without the GIL"

    def test_strided_read_only_array_of_extension(self, c_memory: ModuleType) -> None:
        before, with_gil = c_memory.counts()
        array = c_memory.columns(2)
        assert (array.read_only, array.strides) == (True, (1, 4))
        assert memoryview(array).tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]
        drop_without_the_gil(array)
        del array
        assert eventually_equal(c_memory.counts, (before + 1, with_gil))

    def test_refused_memory_is_not_deleted(self, c_memory: ModuleType) -> None:
        counts = c_memory.counts()
        for arguments, error, words in [
            ((ADDRESS + 1, 4, 2, 32, 1, None), ValueError, "not aligned"),
            ((0, 4, 2, 32, 1, None), ValueError, "the address is 0"),
            ((ADDRESS, 4, 2, 31, 1, None), ValueError, "there is no dtype"),
            ((ADDRESS, 4, 77, 32, 1, None), ValueError, "there is no dtype"),
            ((ADDRESS, 4, 2, 32, 0, None), ValueError, "there is no dtype"),
            ((ADDRESS, -1, 2, 32, 1, None), ValueError, "1 dimensions and no shape"),
            ((ADDRESS, -2, 2, 32, 1, None), ValueError, "-1 dimensions"),
            ((ADDRESS, 4, 2, 32, 1, "nowhere"), ValueError, "nowhere"),
        ]:
            with pytest.raises(error, match=words):
                c_memory.at(*arguments)
        assert c_memory.counts() == counts
        pair = c_memory.at(ADDRESS, 4, 2, 32, 2, "host")
        assert (str(pair.dtype), pair.itemsize) == ("float32x2", 8)

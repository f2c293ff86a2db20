"""The table of functions for extensions: its versions, and functions that examples/extensions
does not use."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import entrepot as ep
from support.c_interface import CInterface, c_interface
from support.capsules import new_capsule
from support.compiled import compiled_module
from support.cuda_streams import NamesStream
from support.places import SYCL, Place, every_place
from support.processes import output_of

pytestmark = pytest.mark.host

KINDS = {"host": 1, "device": 2, "shared": 3}
FLOAT = (2, 32)  # DLPack's code and bits


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return compiled_module(
        Path(__file__).with_name("extension.cpp"), tmp_path_factory.mktemp("extension")
    )


class TestVersions:
    """Imports of an extension whose header has another version than the package."""

    def offer(self, version: int, monkeypatch: pytest.MonkeyPatch) -> CInterface:
        table = CInterface.from_buffer_copy(c_interface())
        table.version = version
        monkeypatch.setattr(ep._core, "c_api", new_capsule(ctypes.addressof(table), self.NAME))
        return table

    NAME = b"entrepot._core.c_api"  # capsules do not copy their names

    def test_table_of_same_version_is_imported(self, extension: ModuleType) -> None:
        assert extension.import_table() == c_interface().version >= 2

    def test_newer_package_is_accepted(
        self, extension: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = self.offer(c_interface().version + 1, monkeypatch)
        assert extension.import_table() == table.version

    def test_older_package_is_refused(
        self, extension: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        needed = c_interface().version
        table = self.offer(needed - 1, monkeypatch)
        with pytest.raises(
            ImportError, match=f"needs version {needed} .* has {table.version}: upgrade it"
        ):
            extension.import_table()

    def test_missing_package_is_an_import_error(
        self, extension: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "entrepot._core", None)
        with pytest.raises(ImportError, match=r"entrepot\._core"):
            extension.import_table()


class TestEmpty:
    @every_place
    def test_empty_allocates_on_the_device(self, place: Place, extension: ModuleType) -> None:
        array = extension.empty((3, 4), place.selector, KINDS[place.kind])
        assert type(array) is ep.Array
        assert (array.shape, array.strides, str(array.dtype)) == ((3, 4), (4, 1), "float32")
        assert (array.device, array.kind, array.read_only) == (place.device, place.kind, False)
        ep.fill(array, 1.5).wait()
        assert bytes(memoryview(array.copy_to_host()).cast("B")) == b"\0\0\xc0\x3f" * 12
        assert extension.empty((3, 4), place.selector, KINDS[place.kind]).data_ptr != array.data_ptr

    @pytest.mark.sycl
    def test_empty_uses_the_current_device(self, extension: ModuleType) -> None:
        with ep.device_context("opencl:cpu"):
            assert extension.empty((), None, KINDS["shared"]).device == ep.device("opencl:cpu")

    def test_empty_uses_the_current_resource(self, extension: ModuleType) -> None:
        statistics = ep.memory.statistics(ep.memory.direct())
        with ep.memory.use_resource(statistics):
            array = extension.empty((1024,), "host", KINDS["host"])
            assert statistics.current_bytes == array.nbytes == 4096

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            (((2,), "harbour", 1), ValueError, "no device selector"),
            (((2,), "cuda:99", 1), ep.DeviceError, "no device matches"),
            (((2,), "host", 0), ValueError, "0 is no USM kind"),
            (((2,), "host", 4), ValueError, "4 is no USM kind"),
            (((-2,), "host", 1), ValueError, "-2"),
            (((2**62, 2**62), "host", 1), OverflowError, "too many elements"),
        ],
        ids=["selector", "device", "no kind", "unknown kind", "negative", "too large"],
    )
    def test_impossible_empty_is_refused(
        self, arguments: tuple[Any, ...], error: type[Exception], words: str, extension: ModuleType
    ) -> None:
        with pytest.raises(error, match=words):
            extension.empty(*arguments)

    @pytest.mark.parametrize(
        ("ndim", "dtype", "words"),
        [(-1, FLOAT, "-1 dimensions"), (1, (77, 8), "no dtype"), (1, (2, 7), "no dtype")],
    )
    def test_arguments_only_c_can_pass_are_refused(
        self, ndim: int, dtype: tuple[int, int], words: str
    ) -> None:
        with pytest.raises(ValueError, match=words):
            c_interface().empty(ndim, (ctypes.c_int64 * 1)(2), *dtype, b"host", KINDS["host"])


class TestHandles:
    def test_handles_hold_references(self, extension: ModuleType) -> None:
        class Owner(bytearray):
            pass

        owner = Owner(16)
        gone = weakref.ref(owner)
        assert extension.keep(owner), (
            "the copies share the memory, and the moved-from Array is empty"
        )
        del owner
        gc.collect()
        assert gone() is not None, "the kept one is the only one"
        assert extension.give().owner is gone()
        extension.drop()
        gc.collect()
        assert gone() is None

    def test_references_are_balanced(self) -> None:
        class Owner(bytearray):
            pass

        table, owner = c_interface(), Owner(4)
        gone = weakref.ref(owner)
        handle = table.from_object(owner, 0)
        del owner
        for _ in range(3):
            table.retain(handle)
        for _ in range(3):
            table.release(handle)
            gc.collect()
            assert table.to_object(handle).owner is gone()
        table.release(handle)
        gc.collect()
        assert gone() is None


class MemoryWithoutQueue:
    """Memory in a context of its own and without a queue. Entrepot makes a queue for its work."""

    def __init__(self, device: ep.Device) -> None:
        self.context = ep.Context([device])
        self.memory = ep.empty(
            4, "float32", kind="shared", queue=ep.Queue(device, context=self.context)
        )
        self.__sycl_usm_array_interface__ = dict(
            self.memory.__sycl_usm_array_interface__, syclobj=self.context
        )


class TestNativeQueue:
    def test_host_has_no_native_queue(self, extension: ModuleType) -> None:
        assert extension.native_queue(ep.zeros(4, "int8", device="host")) == 0

    @pytest.mark.sycl
    @pytest.mark.parametrize("place", SYCL, ids=str)
    def test_native_queue_is_that_of_the_array(self, place: Place, extension: ModuleType) -> None:
        array = place.empty(4, "int32")
        assert extension.native_queue(array) == array.queue.addressof_ref()
        queue = ep.Queue(place.device)
        assert extension.native_queue(ep.asarray(array, queue=queue)) == queue.addressof_ref()

    @pytest.mark.sycl
    def test_native_queues_stay_valid(self) -> None:
        table = c_interface()
        objects = [MemoryWithoutQueue(ep.device("opencl:cpu")) for _ in range(20)]
        handles = [table.from_object(each, 0) for each in objects]
        queues = [table.native_queue(handle) for handle in handles]
        assert len(set(queues)) == len(queues)
        assert [table.native_queue(handle) for handle in handles] == queues
        for handle in handles:
            table.release(handle)

    @pytest.mark.cuda
    def test_handle_keeps_the_named_stream_alive(self) -> None:
        table = c_interface()
        producer = NamesStream()
        owner = weakref.ref(producer)
        handle = table.from_object(producer, 0)
        stream = ctypes.c_void_p.from_address(table.native_queue(handle))
        assert stream.value == producer.stream.handle
        del producer
        gc.collect()
        assert owner() is not None
        assert table.before_use(handle, 1) == table.after_use(handle, 1) == 0
        table.release(handle)
        gc.collect()
        assert owner() is None


def test_cython_declarations_call_the_c_interface(tmp_path: Path) -> None:
    source = tmp_path / "interface.cpp"
    pyx = Path(__file__).with_name("interface.pyx")
    output_of([sys.executable, "-m", "cython", "--cplus", "-3", pyx, "-o", source])
    interface = compiled_module(source, tmp_path, "-Wno-unused-function")
    buffer = bytearray(8)
    assert interface.address_of(buffer) == ep.asarray(buffer).data_ptr
    with pytest.raises(TypeError, match=r"address_of\(\) argument 'object': a list"):
        interface.address_of([1])
    array = interface.owned(5)
    assert (array.shape, array.dtype, str(array.device)) == ((5,), ep.Dtype("float32"), "host")
    with pytest.raises(ValueError):
        interface.owned(-1)

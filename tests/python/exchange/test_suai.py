"""SUAI both ways: every key, every form of ``syclobj``, the flag that producers invert, and
other values."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from typing import Any

import pytest

import entrepot as ep
from support.capsules import name_of, new_capsule
from support.malformed import Speaker

pytestmark = pytest.mark.sycl

ATTRIBUTE = "__sycl_usm_array_interface__"
SELECTOR = "opencl:cpu"


@pytest.fixture(scope="module")
def memory() -> ep.Array:
    """Twelve floats of shared memory, 0 to 11."""
    array = ep.empty(12, "float32", device=SELECTOR, kind="shared")
    memoryview(array).cast("B").cast("f")[:] = (
        memoryview(ep.asarray((ctypes.c_float * 12)(*range(12)))).cast("B").cast("f")
    )
    return array


@pytest.fixture
def valid(memory: ep.Array) -> dict[str, Any]:
    return {
        "shape": (4, 3),
        "typestr": "<f4",
        "data": (memory.data_ptr, False),
        "strides": None,
        "offset": 0,
        "version": 1,
        "syclobj": memory.queue,
    }


class Provider:
    """An object that hands out capsules, and counts them."""

    def __init__(self, source: Any) -> None:
        self.source, self.calls = source, 0

    def _get_capsule(self) -> object:
        self.calls += 1
        return self.source._get_capsule()


class TestImport:
    def test_interface_is_imported_without_copy(
        self, memory: ep.Array, valid: dict[str, Any]
    ) -> None:
        view = ep.asarray(Speaker(ATTRIBUTE, valid))
        assert view.data_ptr == memory.data_ptr
        assert (view.shape, str(view.dtype), view.read_only, view.kind) == (
            (4, 3),
            "float32",
            False,
            "shared",
        )
        assert view.device == memory.device
        assert view.context == memory.context
        elements: Any = memoryview(view)
        elements[0, 1] = 50.0
        assert memoryview(memory)[1] == 50.0
        elements[0, 1] = 1.0

    @pytest.mark.parametrize("kind", ["host", "device", "shared"])
    def test_driver_determines_kind(self, kind: str) -> None:
        array = ep.empty(4, "int8", device=SELECTOR, kind=kind)
        assert ep.asarray(Speaker(ATTRIBUTE, array.__sycl_usm_array_interface__)).kind == kind

    def test_strides_and_offset_are_in_elements(
        self, memory: ep.Array, valid: dict[str, Any]
    ) -> None:
        base = valid | {"shape": (2, 2), "strides": (-3, 2), "offset": 9}
        first = base | {"data": (memory.data_ptr + 36, False), "offset": 0}
        for interface in (base, first):
            view = ep.asarray(Speaker(ATTRIBUTE, interface))
            assert view.data_ptr == memory.data_ptr + 36
            assert memoryview(view).tolist() == [[9.0, 11.0], [6.0, 8.0]]

    def test_optional_keys_may_be_missing(self, valid: dict[str, Any]) -> None:
        for key in ("strides", "offset"):
            valid.pop(key)
        assert ep.asarray(Speaker(ATTRIBUTE, valid)).shape == (4, 3)

    def test_lists_for_data_and_shape_are_accepted(
        self, memory: ep.Array, valid: dict[str, Any]
    ) -> None:
        view = ep.asarray(
            Speaker(ATTRIBUTE, valid | {"data": [memory.data_ptr, True], "shape": [4, 3]})
        )
        assert view.read_only

    def test_scalar_and_empty_memory_are_imported(
        self, memory: ep.Array, valid: dict[str, Any]
    ) -> None:
        scalar = ep.asarray(Speaker(ATTRIBUTE, valid | {"shape": (), "offset": 5}))
        assert memoryview(scalar).tolist() == 5.0
        empty = ep.asarray(Speaker(ATTRIBUTE, valid | {"shape": (0, 3), "data": (7, False)}))
        assert (empty.shape, empty.size, empty.device) == ((0, 3), 0, memory.device)

    def test_producer_is_kept_and_released(self, valid: dict[str, Any]) -> None:
        producer = Speaker(ATTRIBUTE, valid)
        gone = weakref.ref(producer)
        view = ep.asarray(producer)
        assert view.owner is producer
        part = view[1:]
        del producer, view
        assert gone() is not None
        del part
        assert gone() is None

    def test_cycle_through_view_is_collected(self, valid: dict[str, Any]) -> None:
        producer = Speaker(ATTRIBUTE, valid)
        producer.keep = ep.asarray(producer)
        gone = weakref.ref(producer)
        del producer
        gc.collect()
        assert gone() is None

    def test_getter_with_attribute_error_falls_through(self) -> None:
        class Shy(bytearray):
            @property
            def __sycl_usm_array_interface__(self) -> dict[str, Any]:
                raise AttributeError("not for this one")

        assert ep.asarray(Shy(4)).kind == "host"

    def test_error_of_getter_propagates(self) -> None:
        class Broken:
            @property
            def __sycl_usm_array_interface__(self) -> dict[str, Any]:
                raise RuntimeError("SUA interface: only homogen tables are supported")

        with pytest.raises(RuntimeError, match="homogen"):
            ep.asarray(Broken())


class TestBuffer:
    """Without ``data`` the object's buffer is used."""

    class Source(bytearray):
        interface: dict[str, Any]

        @property
        def __sycl_usm_array_interface__(self) -> dict[str, Any]:
            return self.interface

    def source(self, **interface: Any) -> TestBuffer.Source:
        source = self.Source(range(16))
        source.interface = {"shape": (4,), "typestr": "|u1", "version": 1} | interface
        return source

    @pytest.mark.parametrize("changes", [{}, {"data": None}])
    def test_buffer_of_the_host_gives_missing_data(
        self, changes: dict[str, Any], valid: dict[str, Any]
    ) -> None:
        source = self.source(offset=2, syclobj=valid["syclobj"], **changes)
        view = ep.asarray(source, protocol="suai")
        assert (view.kind, memoryview(view).tolist()) == ("host", [2, 3, 4, 5])
        with pytest.raises(BufferError):
            source.append(0)
        del view
        source.append(0)

    def test_buffer_of_usm_gives_missing_data(
        self, memory: ep.Array, valid: dict[str, Any]
    ) -> None:
        import_of: Any = (ctypes.c_char * 48).from_address(memory.data_ptr)

        class Source(type(import_of)):  # type: ignore[misc]
            pass

        valid.pop("data")
        Source.__sycl_usm_array_interface__ = valid
        view = ep.asarray(Source.from_address(memory.data_ptr), protocol="suai")
        assert (view.kind, view.data_ptr) == ("shared", memory.data_ptr)

    def test_elements_outside_the_buffer_are_refused(self) -> None:
        for changes in (
            {"offset": 13},
            {"offset": -1},
            {"shape": (17,)},
            {"strides": (5,), "offset": 1},
        ):
            with pytest.raises(ep.InterfaceError, match="leave it"):
                ep.asarray(self.source(**changes), protocol="suai")

    def test_missing_data_without_a_buffer_is_refused(self, valid: dict[str, Any]) -> None:
        valid.pop("data")
        with pytest.raises(ep.InterfaceError, match="'data' is missing"):
            ep.asarray(Speaker(ATTRIBUTE, valid))


class TestSyclObject:
    def check(self, valid: dict[str, Any], syclobj: object) -> ep.Array:
        view = ep.asarray(Speaker(ATTRIBUTE, valid | {"syclobj": syclobj}))
        assert view.context == valid["syclobj"].sycl_context
        return view

    def test_filter_selector_means_default_context(self, valid: dict[str, Any]) -> None:
        self.check(valid, "opencl:cpu:0")

    def test_queue_and_context(self, valid: dict[str, Any]) -> None:
        queue = valid["syclobj"]
        assert self.check(valid, queue).queue == queue
        self.check(valid, queue.sycl_context)

    @pytest.mark.parametrize("form", ["queue", "context"])
    def test_capsule_is_consumed_once(self, form: str, valid: dict[str, Any]) -> None:
        queue = valid["syclobj"]
        name = b"SyclQueueRef" if form == "queue" else b"SyclContextRef"
        capsule = (queue if form == "queue" else queue.sycl_context)._get_capsule()
        self.check(valid, capsule)
        assert name_of(capsule) == b"used_" + name
        with pytest.raises(ep.InterfaceError, match="used_Sycl"):
            self.check(valid, capsule)

    def test_capsule_is_usable_after_refusal(self, memory: ep.Array, valid: dict[str, Any]) -> None:
        capsule = valid["syclobj"]._get_capsule()
        for broken in ({"shape": (2**28,)}, {"data": (64, False)}, {"typestr": "|O8"}):
            with pytest.raises(ep.InterfaceError):
                self.check(valid | broken, capsule)
        self.check(valid, capsule)

    @pytest.mark.parametrize("form", ["queue", "context"])
    def test_capsule_provider_is_reusable(self, form: str, valid: dict[str, Any]) -> None:
        queue = valid["syclobj"]
        provider = Provider(queue if form == "queue" else queue.sycl_context)
        for _ in range(3):
            view = self.check(valid, provider)
        assert provider.calls == 3
        if form == "queue":
            assert view.queue.sycl_context == queue.sycl_context

    def test_invalid_syclobj_is_refused(self, valid: dict[str, Any]) -> None:
        for syclobj in (
            5,
            "nonsense:here",
            "opencl:cpu:99",
            object(),
            new_capsule(1, None),
            [],
            Provider(object()),
        ):
            with pytest.raises(ep.InterfaceError, match="'syclobj'"):
                self.check(valid, syclobj)
        with pytest.raises(ep.InterfaceError, match="'syclobj' is missing"):
            self.check(valid, None)


class TestRefusal:
    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"typestr": ">f4"}, "swapped"),
            ({"typestr": "|O8"}, "Python objects"),
            ({"typestr": None}, "'typestr' is missing"),
            ({"typestr": b"<f4"}, "string"),
            ({"shape": None}, "'shape' is missing"),
            ({"shape": 12}, "tuple of ints"),
            ({"shape": (4.0, 3)}, "must be an int"),
            ({"shape": (-4, 3)}, "negative"),
            ({"shape": (2**28,)}, "elements, not bytes"),
            ({"shape": (2**40, 2**40)}, "64 bits"),
            ({"shape": (1,) * 65}, "at most 64"),
            ({"strides": (3,)}, "2 dimensions and 'strides' has 1"),
            ({"strides": (3, 1, 1)}, "2 dimensions and 'strides' has 3"),
            ({"strides": 3}, "tuple of ints"),
            ({"strides": (2**28, 1)}, "elements, not bytes"),
            ({"strides": (-(2**28), 1)}, "not USM memory"),
            ({"offset": 2**30}, "not USM memory"),
            ({"offset": "1"}, "must be an int"),
            ({"data": (0, False)}, "not USM memory"),
            ({"data": (-1, False)}, "address"),
            ({"data": (1,)}, "pair"),
            ({"data": 5}, "pair"),
            ({"version": 2}, "'version' is 2"),
            ({"version": "1"}, "must be an int"),
            ({"version": None}, "'version' is missing"),
        ],
    )
    def test_malformed_dict_is_refused_with_the_reason(
        self, valid: dict[str, Any], changes: dict[str, Any], words: str
    ) -> None:
        producer = Speaker(ATTRIBUTE, valid | changes)
        with pytest.raises(ep.InterfaceError, match=words) as raised:
            ep.asarray(producer)
        assert isinstance(raised.value, ValueError)
        assert isinstance(raised.value, BufferError)

    def test_misaligned_pointer_is_refused(self, memory: ep.Array, valid: dict[str, Any]) -> None:
        with pytest.raises(ep.InterfaceError, match="not aligned"):
            ep.asarray(
                Speaker(ATTRIBUTE, valid | {"shape": (2,), "data": (memory.data_ptr + 2, False)})
            )

    def test_memory_of_the_host(self, valid: dict[str, Any]) -> None:
        host = (ctypes.c_float * 12)()
        with pytest.raises(ep.InterfaceError, match="not USM memory of"):
            ep.asarray(Speaker(ATTRIBUTE, valid | {"data": (ctypes.addressof(host), False)}))

    def test_memory_of_another_context_is_refused(self, valid: dict[str, Any]) -> None:
        sub_device = ep.device(SELECTOR).create_sub_devices(partition=1)[0]
        other = ep.Queue(sub_device)
        assert other.sycl_context != valid["syclobj"].sycl_context
        with pytest.raises(ep.InterfaceError, match="bound to another context"):
            ep.asarray(Speaker(ATTRIBUTE, valid | {"syclobj": other}))


class TestReadOnly:
    """The specification says that ``data[1]`` is *read-only*; two producers in use mean
    *writable*.
    """

    @pytest.mark.parametrize("flag", [False, True])
    def test_read_only_flag_follows_the_specification(
        self, flag: bool, memory: ep.Array, valid: dict[str, Any]
    ) -> None:
        assert (
            ep.asarray(Speaker(ATTRIBUTE, valid | {"data": (memory.data_ptr, flag)})).read_only
            is flag
        )

    @pytest.mark.dpctl
    @pytest.mark.parametrize("name", ["MemoryUSMShared", "MemoryUSMHost", "MemoryUSMDevice"])
    def test_inverted_read_only_flag_of_dpctl_is_corrected(self, name: str) -> None:
        import dpctl.memory

        producer = getattr(dpctl.memory, name)(64)
        assert producer.__sycl_usm_array_interface__["data"][1] is True, (
            "dpctl has changed: look at quirks.hpp again"
        )
        assert not ep.asarray(producer).read_only

        class Sub(getattr(dpctl.memory, name)):  # type: ignore[misc]
            pass

        assert not ep.asarray(Sub(64)).read_only

    @pytest.mark.dpctl
    def test_overridden_interface_is_used(self) -> None:
        import dpctl.memory

        class Honest(dpctl.memory.MemoryUSMShared):
            flag = True

            @property
            def __sycl_usm_array_interface__(self) -> dict[str, Any]:
                interface = super().__sycl_usm_array_interface__
                return interface | {"data": (interface["data"][0], self.flag)}

        producer = Honest(64)
        assert ep.asarray(producer).read_only
        producer.flag = False
        assert not ep.asarray(producer).read_only

    @pytest.mark.dpnp
    @pytest.mark.parametrize("writable", [False, True])
    def test_dpnp_follows_the_specification(self, writable: bool) -> None:
        import dpnp

        producer = dpnp.arange(4)
        producer.flags.writable = writable
        assert ep.asarray(producer, protocol="suai").read_only is not writable

    @pytest.mark.parametrize(
        ("module", "name"),
        [
            ("onedal._onedal_py_dpc", "table"),
            ("onedal._onedal_py_spmd_dpc.data_management", "table"),
            ("dpctl.memory._memory", "_Memory"),
        ],
    )
    @pytest.mark.parametrize("is_mutable", [False, True])
    def test_rows_of_the_table_are_inverted(
        self, module: str, name: str, is_mutable: bool, memory: ep.Array, valid: dict[str, Any]
    ) -> None:
        interface = valid | {"data": [memory.data_ptr, is_mutable]}
        body = {ATTRIBUTE: property(lambda self: interface)}
        producer = type(name, (), body | {"__module__": module})
        assert ep.asarray(producer()).read_only is not is_mutable
        assert ep.asarray(type("Sub", (producer,), {})()).read_only is not is_mutable
        stranger = type(name, (), body | {"__module__": module.partition(".")[0] + "like"})
        assert ep.asarray(stranger()).read_only is is_mutable


class TestExport:
    def test_exported_dict_has_all_fields(self, memory: ep.Array) -> None:
        array = memory.reshape(4, 3)[::2, ::-2]
        interface = array.__sycl_usm_array_interface__
        assert interface.pop("syclobj") == array.queue
        assert interface == {
            "shape": (2, 2),
            "typestr": "<f4",
            "data": (array.data_ptr, False),
            "strides": (6, -2),
            "offset": 0,
            "version": 1,
        }
        assert memory.__sycl_usm_array_interface__["strides"] is None

    def test_broadcast_view_is_exported_as_read_only(self, memory: ep.Array) -> None:
        assert memory.broadcast_to(2, 12).__sycl_usm_array_interface__["data"][1] is True

    def test_round_trip_keeps_array(self, memory: ep.Array) -> None:
        array = memory.reshape(4, 3)[::-2, 1:]
        view = ep.asarray(Speaker(ATTRIBUTE, array.__sycl_usm_array_interface__))
        assert (view.data_ptr, view.shape, view.strides) == (
            array.data_ptr,
            array.shape,
            array.strides,
        )
        assert view.context == array.context

    def test_host_memory_has_no_suai(self, memory: ep.Array) -> None:
        for array in (ep.empty(3, "float32", device="host"), ep.asarray(b"abc"), memory.host()):
            assert not hasattr(array, ATTRIBUTE)
            with pytest.raises(AttributeError, match="SYCL USM only"):
                array.__sycl_usm_array_interface__  # noqa: B018

    def test_dtype_without_a_typestr_has_no_suai(self) -> None:
        array = ep.empty(3, "bfloat16", device=SELECTOR)
        with pytest.raises(AttributeError, match="bfloat16 has no typestr"):
            array.__sycl_usm_array_interface__  # noqa: B018

    def test_memory_of_sub_device_exports_its_context(self) -> None:
        sub_device = ep.device(SELECTOR).create_sub_devices(partition=1)[0]
        array = ep.empty(4, "float32", queue=ep.Queue(sub_device))
        interface = array.__sycl_usm_array_interface__
        assert interface["syclobj"].sycl_context == array.context
        assert ep.asarray(Speaker(ATTRIBUTE, interface)).device == array.device

    @pytest.mark.dpctl
    @pytest.mark.parametrize("kind", ["host", "device", "shared"])
    def test_dpctl_takes_it_without_a_copy(self, kind: str) -> None:
        import dpctl.memory

        array = ep.empty((4, 3), "float32", device=SELECTOR, kind=kind)
        taken = dpctl.memory.as_usm_memory(array)
        assert (taken._pointer, taken.nbytes, taken.get_usm_type()) == (array.data_ptr, 48, kind)
        assert taken.sycl_queue.is_in_order
        gone = weakref.ref(array)
        del array
        assert gone() is not None, "dpctl keeps the object"
        del taken
        assert gone() is None

    @pytest.mark.dpctl
    @pytest.mark.parametrize(
        "index", [slice(None), slice(2, 9), slice(None, None, -1), slice(10, 2, -3)]
    )
    def test_dpctl_finds_the_same_bytes(self, index: slice) -> None:
        import dpctl.memory

        array = ep.empty(12, "int32", device=SELECTOR, kind="shared")[index]
        taken = dpctl.memory.as_usm_memory(array)
        lowest = min(array.data_ptr, array.data_ptr + 4 * array.strides[0] * (array.size - 1))
        assert taken._pointer == lowest

    @pytest.mark.dpnp
    def test_dpnp_copies_the_same_values(self) -> None:
        import dpnp

        source = (ctypes.c_int * 12)(*range(12))
        array = ep.empty(12, "int32", device=SELECTOR)
        ep.copy(array, source)
        view = array.reshape(4, 3)[
            1::2, 1:
        ]  # dpnp takes no negative strides here, not even its own
        taken = dpnp.asarray(Speaker(ATTRIBUTE, view.__sycl_usm_array_interface__, keep=view))
        assert taken.asnumpy().tolist() == [[4, 5], [10, 11]]


@pytest.mark.dpctl
class TestDpctl:
    def test_dpctl_memory_is_imported_with_its_queue(self) -> None:
        import dpctl
        import dpctl.memory

        queue = dpctl.SyclQueue("opencl:cpu")
        producer = dpctl.memory.MemoryUSMShared(64, queue=queue)
        view = ep.asarray(producer)
        assert (view.data_ptr, view.nbytes, str(view.dtype), view.kind) == (
            producer._pointer,
            64,
            "uint8",
            "shared",
        )
        assert view.queue == queue
        memoryview(view)[3] = 9
        assert bytes(producer.tobytes())[3] == 9
        assert memoryview(view)[3] == memoryview(producer)[3]

    def test_forms_of_syclobj_are_accepted(self) -> None:
        import dpctl
        import dpctl.memory

        queue = dpctl.SyclQueue("opencl:cpu")
        producer = dpctl.memory.MemoryUSMShared(64, queue=queue)
        interface = producer.__sycl_usm_array_interface__
        for syclobj in (
            queue,
            queue.sycl_context,
            queue._get_capsule(),
            queue.sycl_context._get_capsule(),
            Provider(queue),
            Provider(queue.sycl_context),
            queue.sycl_device.filter_string,
        ):
            view = ep.asarray(Speaker(ATTRIBUTE, interface | {"syclobj": syclobj}, keep=producer))
            assert view.data_ptr == producer._pointer
            assert view.context == queue.sycl_context

    def test_memory_of_a_sub_device(self) -> None:
        import dpctl
        import dpctl.memory

        first, second = dpctl.SyclDevice("opencl:cpu").create_sub_devices(partition=[1, 1])
        queue, other = dpctl.SyclQueue(first), dpctl.SyclQueue(second)
        producer = dpctl.memory.MemoryUSMDevice(64, queue=queue)
        view = ep.asarray(producer)
        assert view.context == queue.sycl_context
        assert view.device == first
        wrong = producer.__sycl_usm_array_interface__ | {"syclobj": other}
        with pytest.raises(ep.InterfaceError, match="bound to another context"):
            ep.asarray(Speaker(ATTRIBUTE, wrong, keep=producer))

    def test_view_owns_one_reference_to_the_producer(self) -> None:
        import dpctl.memory

        producer = dpctl.memory.MemoryUSMDevice(64)
        before = sys.getrefcount(producer)
        view = ep.asarray(producer)
        assert sys.getrefcount(producer) == before + 1
        del view
        assert sys.getrefcount(producer) == before

    def test_access_waits_for_the_producers_queue(self) -> None:
        import dpctl
        import dpctl.memory

        queue = dpctl.SyclQueue("opencl:cpu")  # out of order, as dpctl's are
        producer = dpctl.memory.MemoryUSMShared(64 << 20, queue=queue)
        source = dpctl.memory.MemoryUSMShared(64 << 20, queue=queue)
        for value in range(1, 5):
            source.memset(value)
            event = queue.memcpy_async(producer, source, producer.nbytes)
            seen = memoryview(ep.asarray(producer))  # read on the host: waits for dpctl's copy
            assert (seen[0], seen[-1]) == (value, value)
            seen.release()
            event.wait()

    def test_later_work_waits_for_the_producer(self) -> None:
        import dpctl
        import dpctl.memory

        queue = dpctl.SyclQueue("opencl:cpu")
        producer = dpctl.memory.MemoryUSMDevice(64 << 20, queue=queue)
        source = dpctl.memory.MemoryUSMDevice(64 << 20, queue=queue)
        result = ep.empty(64 << 20, "uint8", device=SELECTOR, kind="shared")
        ours = ep.Queue(ep.device(SELECTOR))
        for value in range(1, 5):
            source.memset(value)
            event = queue.memcpy_async(producer, source, producer.nbytes)
            ep.copy(result, ep.asarray(producer), queue=ours).wait()
            seen = memoryview(result)
            assert (seen[0], seen[-1]) == (value, value)
            seen.release()
            event.wait()

"""DeviceArray: sources, configure and its transactions, parts, exports, and freed memory."""

from __future__ import annotations

import ctypes
import gc
import weakref
from array import array as array_of_python
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import entrepot as ep
from adapters.objects import Cai, named
from entrepot import hip
from entrepot._core import _device_array, _mark_freed
from entrepot.adapters import CStr, DeviceArray, ListOfInt, ListOfPointer, Pointer
from interop import slow
from support import cuda_kernels, tensors
from support.c_interface import c_interface

pytestmark = pytest.mark.host

CAI = "__cuda_array_interface__"


def state(array: DeviceArray) -> tuple[Any, ...]:
    return (
        int(array),
        array.shape,
        array.strides,
        array.typestr,
        array.itemsize,
        array.is_read_only,
        array.stream_as_int,
    )


def allocated(nbytes: int) -> DeviceArray:
    """A DeviceArray as hipMalloc returns it, at an address without memory."""
    return _device_array(0x1000, nbytes)


class TestConstruction:
    @pytest.mark.parametrize(
        "source", [None, 5, ctypes.c_void_p(5), Pointer(5), ListOfInt([1])], ids=named
    )
    def test_address_has_unknown_length(self, source):
        array = DeviceArray(source)
        assert (array.shape, array.size, array.typestr, array.rank) == ((0,), 0, "|u1", 1)
        assert int(array) == int(Pointer(source))

    def test_cai_gives_all_properties(self):
        array = DeviceArray(
            Cai(shape=(2, 3), typestr="<f8", data=(0x2000, True), strides=(8, 16), stream=2)
        )
        assert state(array) == (0x2000, (2, 3), (8, 16), "<f8", 8, True, 2)
        assert (array.size, array.rank, len(array)) == (6, 2, 2)

    @pytest.mark.parametrize("typestr", ["|u1", "|b1", "<i8", "<c16", "<f2"])
    def test_cai_typestrs_are_kept(self, typestr):
        assert DeviceArray(Cai(typestr=typestr)).typestr == typestr

    @pytest.mark.parametrize(
        ("words", "typestr"),
        [("float32", "<f4"), ("B", "|u1"), ("b", "|i1"), ("f", "<f4"), ("l", "<i8")],
    )
    def test_cai_typestrs_of_hip_python_are_converted(self, words, typestr):
        assert DeviceArray(Cai(typestr=words)).typestr == typestr

    def test_cai_scalar_has_no_axes(self):
        array = DeviceArray(Cai(shape=()))
        assert (array.shape, array.rank, array.size) == ((), 0, 1)
        with pytest.raises(TypeError, match="without axes"):
            len(array)

    def test_cai_producer_is_kept_alive(self):
        producer = Cai()
        gone = weakref.ref(producer)
        array = DeviceArray(producer)
        part = array[0]
        del producer, array
        gc.collect()
        assert gone() is not None
        del part
        gc.collect()
        assert gone() is None

    def test_device_array_gives_all_properties(self):
        array = DeviceArray(Cai(stream=2))
        assert state(DeviceArray(array)) == state(array)

    def test_array_gives_all_properties(self):
        numbers = ep.zeros((2, 3), "float64")[:, ::2]
        array = DeviceArray(numbers)
        assert state(array) == (numbers.data_ptr, (2, 2), (24, 16), "<f8", 8, False, None)

    @pytest.mark.parametrize(
        "index", [(slice(None), 1), slice(None, None, 2), slice(None, None, -1)], ids=str
    )
    def test_strided_device_array_gives_all_properties(self, index):
        part = allocated(240).configure(typestr="float32", shape=(3, 20))[index]
        assert state(DeviceArray(part)) == state(part)

    @pytest.mark.parametrize(
        ("kind", "typestr"),
        [(ctypes.c_float, "<f4"), (ctypes.c_int64, "<i8"), (ctypes.c_bool, "|b1")],
    )
    def test_buffer_gives_shape_and_elements(self, kind, typestr):
        numbers = (kind * 4 * 3)()
        array = DeviceArray(numbers)
        assert (array.shape, array.typestr, int(array)) == (
            (3, 4),
            typestr,
            ctypes.addressof(numbers),
        )

    @pytest.mark.numpy
    def test_numpy_array_gives_all_properties(self):
        import numpy as np

        numbers = np.zeros((3, 4), "f4")
        assert state(DeviceArray(numbers)) == (
            numbers.ctypes.data,
            (3, 4),
            (16, 4),
            "<f4",
            4,
            False,
            None,
        )
        part = numbers[::2, 1]
        assert state(DeviceArray(part)) == (part.ctypes.data, (2,), (32,), "<f4", 4, False, None)
        numbers.flags.writeable = False
        assert DeviceArray(numbers).is_read_only
        with pytest.raises(TypeError, match="is a number, and no address"):
            DeviceArray(np.float32(5))

    @pytest.mark.numpy
    def test_structured_dtype_becomes_bytes(self):
        import numpy as np

        records = np.zeros(3, [("x", "i4"), ("y", "f8")])
        array = DeviceArray(records)
        assert (array.shape, array.typestr, int(array)) == ((36,), "|u1", records.ctypes.data)
        with pytest.raises(
            ValueError, match="not C-contiguous; copy it to contiguous memory first"
        ):
            DeviceArray(records[::2])

    @pytest.mark.numpy
    def test_dtype_without_a_buffer_format_becomes_bytes(self):
        import numpy as np

        for buffer in (np.zeros(3, "M8[s]"), np.zeros(3, "U2"), np.zeros(3, "S8")):
            array = DeviceArray(buffer)
            assert (array.shape, array.typestr, int(array)) == (
                (buffer.nbytes,),
                "|u1",
                buffer.ctypes.data,
            )

    def test_ctypes_structure_becomes_bytes(self):
        class Pair(ctypes.Structure):
            _fields_ = (("x", ctypes.c_int), ("y", ctypes.c_double))

        pairs = (Pair * 3)()
        array = DeviceArray(pairs)
        assert (array.shape, array.typestr, int(array)) == ((48,), "|u1", ctypes.addressof(pairs))

    def test_python_array_gives_shape_and_elements(self):
        numbers = array_of_python("f", [1, 2, 3])
        array = DeviceArray(numbers)
        assert (array.shape, array.typestr, int(array)) == ((3,), "<f4", numbers.buffer_info()[0])

    def test_buffer_is_preferred_over_other_protocols(self):
        other = ep.zeros(3, "float32")

        class Spoken(bytearray):
            def __dlpack__(self, **options):
                return other.__dlpack__(**options)

            def __dlpack_device__(self):
                return other.__dlpack_device__()

        buffer = Spoken(b"bytes")
        array = DeviceArray(buffer)
        assert int(array) == int(Pointer(buffer)) != other.data_ptr
        assert (array.shape, array.typestr) == ((5,), "|u1")

    def test_buffer_of_swapped_byte_order_is_refused(self):
        with pytest.raises(
            BufferError,
            match=r"buffer format '>i' cannot be taken: its bytes are swapped; copy it to the "
            r"native",
        ):
            DeviceArray((ctypes.c_int.__ctype_be__ * 3)())

    @pytest.mark.numpy
    def test_numpy_array_of_swapped_byte_order_is_refused(self):
        import numpy as np

        with pytest.raises(
            BufferError,
            match=r"'>f' cannot be taken: its bytes are swapped; copy it to the native order first",
        ):
            DeviceArray(np.zeros(3, ">f4"))

    def test_bytes_like_object_becomes_bytes(self):
        buffer = bytearray(b"bytes")
        array = DeviceArray(buffer)
        assert (array.shape, array.typestr, int(array)) == ((5,), "|u1", int(Pointer(buffer)))
        with pytest.raises(BufferError):
            buffer += b"resized"
        del array
        buffer += b"resized"

    def test_native_allocation_has_its_bytes(self):
        array = allocated(240)
        assert state(array) == (0x1000, (240,), (1,), "|u1", 1, False, None) and not array.is_owner

    @pytest.mark.parametrize("bad", [1.5, "text", True, -1, [1]], ids=named)
    def test_non_address_is_refused(self, bad):
        with pytest.raises((TypeError, OverflowError), match="DeviceArray: "):
            DeviceArray(bad)

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"typestr": ">f4"}, "swapped"),
            ({"typestr": "<x4"}, "typestr"),
            ({"strides": (3, 1)}, "item size"),
            ({"mask": 1}, "mask"),
            ({"shape": (-1,)}, "negative"),
        ],
    )
    def test_contradictory_interfaces_are_refused(self, changes, words):
        with pytest.raises(ValueError, match=words):
            DeviceArray(Cai(**changes))


class TestConfigure:
    def test_configure_returns_the_array(self):
        array = allocated(240)
        assert array.configure(typestr="float32", shape=(3, 20)) is array
        assert state(array) == (0x1000, (3, 20), (80, 4), "<f4", 4, False, None)

    @pytest.mark.parametrize(
        ("keywords", "changed"),
        [
            ({"shape": (3, 2)}, {"shape": (3, 2), "strides": (8, 4)}),
            ({"shape": [6]}, {"shape": (6,), "strides": (4,)}),
            ({"shape": 6}, {"shape": (6,), "strides": (4,)}),
            ({"typestr": "<i4"}, {"typestr": "<i4"}),
            ({"typestr": "int32"}, {"typestr": "<i4"}),
            ({"typestr": "i4"}, {"typestr": "<i4"}),
            ({"typestr": "i"}, {"typestr": "<i4"}),
            (
                {"typestr": "F", "shape": 3},
                {"typestr": "<c8", "shape": (3,), "strides": (8,), "itemsize": 8},
            ),
            (
                {"typestr": "<f8", "shape": 3},
                {"typestr": "<f8", "shape": (3,), "strides": (8,), "itemsize": 8},
            ),
            (
                {"typestr": "|b1", "itemsize": 1, "shape": 24},
                {"typestr": "|b1", "shape": (24,), "strides": (1,), "itemsize": 1},
            ),
            ({"itemsize": 4}, {}),
            (
                {"itemsize": 2, "shape": 12},
                {"typestr": "<u2", "shape": (12,), "strides": (2,), "itemsize": 2},
            ),
            ({"strides": (4, 8)}, {"strides": (4, 8)}),
            ({"strides": None}, {}),
            ({"shape": (), "_force": True}, {"shape": (), "strides": ()}),
            ({"shape": 1000, "_force": True}, {"shape": (1000,), "strides": (4,)}),
            ({"read_only": True}, {"read_only": True}),
            ({"stream": 1}, {"stream": 1}),
            ({"stream": 2**63}, {"stream": 2**63}),
            ({"stream": None}, {}),
            ({}, {}),
        ],
        ids=str,
    )
    def test_configure_changes_the_given_fields_only(self, keywords, changed):
        array = DeviceArray(Cai())
        array.configure(**keywords)
        before = {
            "address": 0x1000,
            "shape": (2, 3),
            "strides": (12, 4),
            "typestr": "<f4",
            "itemsize": 4,
            "read_only": False,
            "stream": None,
        }
        assert state(array) == tuple((before | changed).values())

    @pytest.mark.parametrize(
        ("keywords", "error", "words"),
        [
            ({"shape": (7,)}, ValueError, "are 28 bytes, and the array has 24; pass _force=True"),
            ({"shape": (-6,)}, ValueError, "negative"),
            ({"shape": (1.5,)}, TypeError, "float"),
            ({"shape": "6"}, TypeError, "str"),
            ({"shape": (2**62, 2**62), "_force": True}, ValueError, "too many elements"),
            ({"shape": (2**62,), "_force": True}, OverflowError, "bytes"),
            ({"typestr": "<f8"}, ValueError, "are 48 bytes"),
            (
                {"typestr": "float31"},
                ValueError,
                "'float31' names no type; '<f4', 'float32' and 'f' do",
            ),
            ({"typestr": ">f4"}, ValueError, "swapped"),
            ({"typestr": ""}, ValueError, "names no type"),
            ({"typestr": 4}, TypeError, "typestr is a str"),
            ({"typestr": "<f4", "itemsize": 8}, ValueError, "itemsize=8 contradicts float32"),
            ({"itemsize": 3}, ValueError, "no integer of 3 bytes"),
            ({"itemsize": True}, TypeError, "itemsize is an int"),
            ({"strides": (4,)}, ValueError, "1 strides for the 2 axes"),
            ({"strides": (6, 4)}, ValueError, "item size"),
            ({"strides": (120, 4)}, ValueError, "the strides lead to bytes 0 to 132"),
            ({"strides": (-12, 4)}, ValueError, "the strides lead to bytes -12"),
            ({"stream": 0}, ValueError, "stream=0 may mean two streams"),
            ({"stream": -1}, OverflowError, "is no stream"),
            ({"stream": 1.5}, TypeError, "stream is an int or None"),
            ({"stream": True}, TypeError, "stream is an int or None"),
            ({"dtype": "f4"}, TypeError, "unexpected keyword argument 'dtype'"),
        ],
        ids=str,
    )
    def test_refused_configure_changes_nothing(self, keywords, error, words):
        array = DeviceArray(Cai())
        before = state(array)
        with pytest.raises(error, match=words):
            array.configure(**{"read_only": True, **keywords})
        assert state(array) == before

    def test_raising_bool_in_configure_changes_nothing(self):
        class Undecided:
            def __bool__(self):
                raise ZeroDivisionError

        array = DeviceArray(Cai())
        before = state(array)
        for keyword in ("read_only", "_force"):
            arguments: dict[str, Any] = {"typestr": "<i4", keyword: Undecided()}
            with pytest.raises(ZeroDivisionError):
                array.configure(**arguments)
        assert state(array) == before

    def test_configure_with_positional_argument_is_refused(self):
        with pytest.raises(TypeError, match="takes 0 positional arguments"):
            allocated(8).configure("<f4")  # type: ignore[call-arg]

    @given(
        st.fixed_dictionaries(
            {},
            optional={
                "typestr": st.sampled_from(["<f4", "float64", "|u1", ">f4", "nothing", None, 5]),
                "shape": st.none()
                | st.lists(st.integers(-2, 30), max_size=4).map(tuple)
                | st.integers(-1, 300),
                "strides": st.none() | st.lists(st.integers(-200, 200), max_size=3).map(tuple),
                "itemsize": st.integers(-1, 17),
                "read_only": st.booleans(),
                "stream": st.none() | st.integers(-1, 3),
                "_force": st.booleans(),
            },
        )
    )
    def test_configure_is_atomic(self, keywords):
        array = allocated(240).configure(typestr="<f4", shape=(3, 20))
        before = state(array)
        try:
            array.configure(**keywords)
        except (TypeError, ValueError, OverflowError):
            assert state(array) == before
        else:
            if not keywords.get("_force"):
                assert array.size * array.itemsize == 240
            assert all(extent >= 0 for extent in array.shape)


class TestParts:
    def test_rows_of_documentation_example(self):
        array = allocated(240).configure(typestr="float32", shape=(3, 20))
        for row in range(array.shape[0]):
            part = array[row, :]
            assert (
                state(part) == (0x1000 + row * 80, (20,), (4,), "<f4", 4, False, None)
                and type(part) is DeviceArray
            )

    @pytest.mark.numpy
    @given(data=st.data())
    def test_part_has_shape_and_strides_of_numpy(self, data):
        import numpy as np

        shape = data.draw(st.lists(st.integers(0, 5), max_size=4).map(tuple))
        whole = np.zeros(shape, "f4")
        array = _device_array(whole.ctypes.data, whole.nbytes).configure(
            typestr="f4", shape=shape, _force=True
        )
        entry = st.integers(-6, 6) | st.slices(6) | st.just(...) | st.none()
        index = data.draw(st.lists(entry, max_size=5).map(tuple) | entry)
        entries = index if isinstance(index, tuple) else (index,)
        try:
            expected = whole[
                entries if ... in entries else (*entries, ...)
            ]  # with an ellipsis NumPy gives views alone
        except IndexError:
            with pytest.raises(IndexError):
                array[index]
            return
        found = array[index]
        assert found.shape == expected.shape
        if expected.size:
            assert int(found) == expected.__array_interface__["data"][0]
            assert [
                each for each, extent in zip(found.strides, found.shape, strict=True) if extent > 1
            ] == [
                each
                for each, extent in zip(expected.strides, expected.shape, strict=True)
                if extent > 1
            ]

    def test_part_keeps_parent_alive(self):
        array = allocated(240)
        gone = weakref.ref(array)
        part = array[8:][4:]
        del array
        gc.collect()
        assert gone() is not None and int(part) == 0x100C
        del part
        assert gone() is None

    def test_part_keeps_read_only_flag_and_stream(self):
        part = DeviceArray(Cai(data=(0x1000, True), stream=2))[0]
        assert part.is_read_only and part.stream_as_int == 2

    def test_configure_of_part_leaves_whole_unchanged(self):
        array = allocated(16)
        part = array[8:].configure(typestr="<f8", shape=1)
        assert state(part)[:4] == (0x1008, (1,), (8,), "<f8") and array.shape == (16,)

    @pytest.mark.parametrize(
        ("index", "error", "words"),
        [
            (2, IndexError, "index 2 is out of bounds for axis 0 of extent 2"),
            (-3, IndexError, "index -3"),
            ((0, 0, 0), IndexError, "too many indices"),
            ((..., ...), IndexError, "llips"),
            (1.5, TypeError, "float"),
            (True, TypeError, "bool"),
            ([0], TypeError, "list"),
            (slice(None, None, 0), ValueError, "zero"),
        ],
        ids=str,
    )
    def test_invalid_indices_are_refused(self, index, error, words):
        with pytest.raises(error, match=words):
            DeviceArray(Cai())[index]

    def test_iteration_gives_rows(self):
        array = DeviceArray(Cai())
        assert [int(array[row]) for row in range(len(array))] == [0x1000, 0x100C]


class TestExports:
    def test_cai_dict_is_a_new_object(self):
        array = DeviceArray(Cai(stream=2))
        first = getattr(array, CAI)
        assert first == {
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (0x1000, False),
            "strides": None,
            "version": 3,
            "stream": 2,
        }
        first["shape"] = (100,)
        first.clear()
        assert array.shape == (2, 3) and getattr(array, CAI)["shape"] == (2, 3)

    def test_cai_has_the_strides_in_bytes(self):
        assert getattr(DeviceArray(Cai())[:, ::2], CAI)["strides"] == (12, 8)

    def test_cai_export_writes_canonical_typestr(self):
        for words, typestr in {"float32": "<f4", "f": "<f4", "=i4": "<i4"}.items():
            assert getattr(DeviceArray(Cai()).configure(typestr=words), CAI)["typestr"] == typestr

    def test_device_memory_exports_no_buffer(self):
        with pytest.raises(TypeError):
            memoryview(DeviceArray(Cai()))  # type: ignore[arg-type]

    def test_asarray_of_host_memory_shares_it(self):
        buffer = bytearray(24)
        array = DeviceArray(buffer).configure(typestr="float32", shape=(2, 3))
        view = ep.asarray(array)
        assert (view.data_ptr, view.shape, str(view.dtype), view.device) == (
            int(array),
            (2, 3),
            "float32",
            ep.device("host"),
        )
        ep.fill(view[1, 2:], 1.0)
        assert buffer[20:] == b"\0\0\x80\x3f"
        del array
        gc.collect()
        assert memoryview(view).nbytes == 24
        with pytest.raises(BufferError):
            buffer += b"resized"

    def test_arrays_of_one_device_array_share_memory(self):
        array = DeviceArray(bytearray(24)).configure(typestr="float32", shape=(2, 3))
        whole, part = ep.asarray(array), ep.asarray(array[1])
        assert part.data_ptr == whole[1].data_ptr
        ep.fill(whole, 2.0)
        assert part.numpy().tolist() == [2.0] * 3

    def test_host_memory_exports_dlpack_and_no_cai(self):
        array = DeviceArray(bytearray(4))
        assert array.__dlpack_device__() == (1, 0)
        assert ep.from_dlpack(array.__dlpack__()).data_ptr == int(array)
        assert not hasattr(array, CAI)

    def test_export_keeps_read_only_flag(self):
        assert ep.asarray(DeviceArray(b"bytes")).read_only

    def test_asarray_of_unknown_address_is_refused(self):
        with pytest.raises(
            ep.ExchangeError, match=r"no driver knows the address 0x1000: hip: .*; cuda: "
        ):
            ep.asarray(allocated(8))

    def test_dlpack_without_driver_is_refused(self):
        array = allocated(8)
        for export in (array.__dlpack__, array.__dlpack_device__):
            with pytest.raises(
                BufferError,
                match=r"hip: .*; cuda: .*CUDA array interface, which names no device, takes",
            ):
                export()
        assert getattr(array, CAI)["data"] == (0x1000, False)

    def test_asarray_of_bare_address_is_refused(self):
        with pytest.raises(
            ep.ExchangeError,
            match=r"nothing is known of the elements at 0x1000; say it first: configure",
        ):
            ep.asarray(DeviceArray(0x1000))

    def test_asarray_beyond_the_buffer_is_refused(self):
        array = DeviceArray(bytearray(8)).configure(shape=100, _force=True)
        with pytest.raises(
            ep.ExchangeError, match=r"need the 100 bytes .* but the allocation there has 8"
        ):
            ep.asarray(array)

    def test_asarray_of_misaligned_items_is_refused(self):
        array = DeviceArray(bytearray(9))[1:].configure(typestr="f8", shape=1)
        with pytest.raises(ep.ExchangeError, match="align"):
            ep.asarray(array)

    def test_asarray_of_empty_allocation_is_empty(self):
        assert ep.asarray(allocated(0)).size == 0

    def test_protocol_argument_selects_adapters(self):
        array = DeviceArray(bytearray(8))
        assert ep.asarray(array, protocol="entrepot.adapters").data_ptr == int(array)

    @pytest.mark.numpy
    def test_numpy_sees_host_memory(self):
        import numpy as np

        assert np.from_dlpack(DeviceArray(bytearray(b"bytes"))).tobytes() == b"bytes"


@pytest.mark.sycl
class TestOrder:
    """Entrepot's work on the memory is done before its address is handed out."""

    @pytest.mark.parametrize(
        "use",
        [Pointer, ListOfInt, lambda array: ListOfPointer([array]), lambda array: Pointer(array[:])],
    )
    def test_work_is_done_when_another_adapter_has_the_address(self, use):
        array = DeviceArray(ep.zeros(2, "int32", device="opencl:cpu", kind="shared"))
        done = slow.launch(ep.asarray(array))
        assert (
            use(array) and done.done and ctypes.c_int.from_address(int(array)).value == slow.RESULT
        )

    def test_call_waits_for_pending_work(self):
        array = DeviceArray(ep.zeros(2, "int32", device="opencl:cpu", kind="shared"))
        done = slow.launch(ep.asarray(array))
        address, held = ctypes.c_void_p(), ctypes.c_void_p()
        c_interface().argument(
            array, b"Pointer", 0, b"f", b"x", ctypes.byref(address), ctypes.byref(held)
        )
        assert done.done
        ctypes.pythonapi.Py_DecRef(ctypes.cast(held, ctypes.py_object))


class TestFreed:
    def freed(self) -> DeviceArray:
        array = allocated(24)
        _mark_freed(array)
        return array

    def test_freed_array_is_refused_by_all_functions(self):
        array = self.freed()
        assert array.is_freed
        for use in (
            Pointer,
            ListOfInt,
            CStr,
            DeviceArray,
            ep.asarray,
            DeviceArray.__dlpack__,
            DeviceArray.__dlpack_device__,
            lambda freed: freed[0],
            lambda freed: freed.configure(shape=24),
            lambda freed: getattr(freed, CAI),
        ):
            with pytest.raises(ValueError, match="this DeviceArray, at 0x1000, has been freed"):
                use(array)

    def test_freed_array_has_address_and_repr(self):
        array = self.freed()
        assert (
            int(array) == 0x1000
            and repr(array) == "<DeviceArray 0x1000 shape=(24,) typestr='|u1' freed>"
        )

    def test_parts_are_freed_with_the_whole(self):
        array = allocated(24)
        part, of_part = array[8:], array[8:][4:]
        _mark_freed(array)
        assert part.is_freed and of_part.is_freed
        with pytest.raises(ValueError, match="has been freed"):
            Pointer(of_part)

    def test_list_element_marks_it_freed(self):
        array, other = allocated(24), allocated(24)
        pointers = ListOfPointer([other, array])
        cells = (ctypes.c_size_t * 2).from_address(int(pointers))
        cells[0], cells[1] = int(array) + 8, int(array)
        _mark_freed(pointers[1])
        assert array.is_freed and not other.is_freed

    def test_moved_list_element_marks_it_freed(self):
        array = allocated(24)
        pointers = ListOfPointer([5, array])
        cells = (ctypes.c_size_t * 2).from_address(int(pointers))
        cells[0], cells[1] = cells[1], cells[0]
        _mark_freed(pointers[0])
        assert array.is_freed

    def test_adapters_of_freed_memory_are_refused(self):
        array = allocated(24)
        pointers = ListOfPointer([array])
        others = [Pointer(array), Pointer(array)[8], pointers[0]]
        _mark_freed(pointers[0])
        for other in others:
            with pytest.raises(
                ValueError,
                match=r"this Pointer, at 0x100[08], is of a DeviceArray that has been freed",
            ):
                Pointer(other)

    def test_freeing_part_at_start_frees_the_whole(self):
        array = allocated(24)
        _mark_freed(array[:])
        assert array.is_freed

    @pytest.mark.parametrize(
        "way",
        [
            Pointer,
            lambda array: Pointer(Pointer(array)),
            lambda array: Pointer(array)[0],
            ListOfInt,
            lambda array: Pointer(array[:]),
            lambda array: DeviceArray(Pointer(array)),
            lambda array: type("Handle", (Pointer,), {})(array),
        ],
    )
    def test_other_adapter_marks_memory_freed(self, way):
        array = allocated(24)
        other = way(array)
        _mark_freed(other)
        assert array.is_freed

    def test_reference_to_its_address_does_not_mark_it_freed(self):
        array = allocated(24)
        _mark_freed(array.createRef())
        assert not array.is_freed

    def test_new_allocation_at_the_address_is_not_freed(self):
        self.freed()
        assert not allocated(24).is_freed

    def test_unrelated_addresses_do_not_mark_it_freed(self):
        array = allocated(24)
        for other in (None, 5, Pointer(5), b"bytes", int(array), Pointer(int(array))):
            _mark_freed(other)
        assert not array.is_freed


class TestObject:
    def test_repr_shows_address_shape_and_flags(self):
        assert (
            repr(DeviceArray(Cai(data=(0xBEEF, True))))
            == "<DeviceArray 0xbeef shape=(2, 3) typestr='<f4' read-only>"
        )

    def test_subclass_parts_are_plain_device_arrays(self):
        class Named(DeviceArray):
            def __init__(self, name, source):
                super().__init__(source)
                self.name = name

        named = Named("a", Cai())
        assert (
            named.shape == (2, 3)
            and type(named[0]) is DeviceArray
            and named.configure(shape=6) is named
        )

    def test_cycle_is_collected(self):
        class Producer(Cai):
            array: DeviceArray
            part: DeviceArray

        producer = Producer()
        producer.array = DeviceArray(producer)
        producer.part = producer.array[0]
        gone = weakref.ref(producer)
        del producer
        gc.collect()
        assert gone() is None

    def test_second_init_releases_first_buffer(self):
        buffer = bytearray(8)
        array = DeviceArray(buffer)
        array.__init__(Cai())  # type: ignore[misc]
        assert array.shape == (2, 3)
        buffer += b"resized"


@pytest.mark.parametrize(
    "device",
    [pytest.param("cuda:0", marks=pytest.mark.cuda), pytest.param("hip:0", marks=pytest.mark.hip)],
)
class TestOnDevice:
    """Any address that the driver knows is an Array, however it was allocated."""

    def test_asarray_asks_once_and_is_the_memory_itself(self, device):
        numbers = ep.full((4, 3), 1.5, "float32", device=device)
        array = _device_array(numbers.data_ptr, 48).configure(typestr="float32", shape=(4, 3))
        view = ep.asarray(array)
        assert (view.data_ptr, view.device, view.kind) == (
            numbers.data_ptr,
            ep.device(device),
            "device",
        )
        ep.fill(ep.asarray(array[1]), 2.0).wait()
        assert numbers.copy_to_host().numpy()[1].tolist() == [2.0] * 3

    def test_cai_and_dlpack_device_are_exported(self, device):
        numbers = ep.full((4, 3), 1.5, "float32", device=device)
        array = DeviceArray(numbers)
        assert (
            array.__dlpack_device__()
            == numbers.__dlpack_device__()
            == (tensors.CUDA if "cuda" in device else tensors.ROCM, 0)
        )
        assert ep.asarray(array, protocol="cai").data_ptr == numbers.data_ptr
        assert getattr(array, CAI)["data"] == (numbers.data_ptr, False)

    @pytest.mark.parametrize("form", [tensors.Legacy, tensors.Versioned])
    @pytest.mark.parametrize("known", ["by its address", "as an array"])
    def test_dlpack_export_shares_memory(self, device, form, known):
        numbers = ep.full((4, 3), 1.5, "float32", device=device)
        bare = _device_array(numbers.data_ptr, 48).configure(typestr="float32", shape=(4, 3))
        part = (bare if known == "by its address" else DeviceArray(numbers))[1:, ::2]
        capsule = part.__dlpack__(max_version=(1, 0) if form is tensors.Versioned else None)
        tensor = tensors.content(capsule, form).dl_tensor
        assert (
            (tensor.device.device_type, tensor.device.device_id)
            == part.__dlpack_device__()
            == numbers.__dlpack_device__()
        )
        assert (tensor.data + tensor.byte_offset, tensor.shape[:2], tensor.strides[:2]) == (
            numbers.data_ptr + 12,
            [3, 2],
            [3, 2],
        )
        taken = ep.from_dlpack(capsule)
        assert (taken.data_ptr, taken.device, taken.kind) == (
            numbers.data_ptr + 12,
            ep.device(device),
            "device",
        )
        ep.fill(taken, 2.0).wait()
        assert numbers.copy_to_host().numpy().tolist() == [[1.5] * 3] + [[2.0, 1.5, 2.0]] * 3

    @pytest.mark.parametrize(
        "way",
        [ep.asarray, lambda array: ep.from_dlpack(array.__dlpack__())],
        ids=["asarray", "capsule"],
    )
    def test_derived_adapters_keep_the_producer_alive(self, device, way):
        class Producer:
            def __init__(self, numbers):
                self.numbers = numbers
                self.__cuda_array_interface__ = numbers.__cuda_array_interface__

        producer = Producer(ep.full((4, 3), 1.5, "float32", device=device))
        gone = weakref.ref(producer)
        taken = way(DeviceArray(producer))
        del producer
        gc.collect()
        assert gone() is not None and taken.copy_to_host().numpy().tolist() == [[1.5] * 3] * 4
        del taken
        gc.collect()
        assert gone() is None

    def test_pointer_waits_for_work_on_the_array(self, device):
        numbers = ep.zeros(2, "int32", device=device)
        done = cuda_kernels.launch(numbers)
        assert int(Pointer(numbers)) == numbers.data_ptr and done.done

    def test_shape_beyond_the_allocation_is_refused(self, device):
        numbers = ep.zeros(16, "uint8", device=device)
        array = _device_array(numbers.data_ptr, 16).configure(shape=1 << 40, _force=True)
        for way in (ep.asarray, DeviceArray.__dlpack__):
            with pytest.raises((ep.ExchangeError, BufferError), match="leave the allocation of"):
                way(array)


@pytest.mark.hip
class TestHipMalloc:
    def test_asarray_is_the_memory_itself(self):
        array = hip.hip_check(hip.hipMalloc(48)).configure(typestr="float32", shape=(4, 3))
        view = ep.asarray(array)
        assert (view.data_ptr, view.shape, view.device, view.kind) == (
            int(array),
            (4, 3),
            ep.device("hip:0"),
            "device",
        )
        ep.fill(view, 1.5).wait()
        ep.fill(ep.asarray(array[2]), 2.0).wait()
        back = (ctypes.c_float * 12)()
        hip.hip_check(hip.hipMemcpy(back, array, 48, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
        assert back[:] == [1.5] * 6 + [2.0] * 3 + [1.5] * 3
        hip.hip_check(hip.hipFree(array))
        for way in (ep.asarray, DeviceArray.__dlpack__):
            with pytest.raises(ValueError, match="has been freed"):
                way(array)

    def test_dlpack_device_is_that_of_the_driver(self):
        array = hip.hip_check(hip.hipMalloc(48)).configure(typestr="float32", shape=12)
        assert array.__dlpack_device__() == (tensors.ROCM, 0)
        assert ep.from_dlpack(array).data_ptr == int(array)
        hip.hip_check(hip.hipFree(array))


@pytest.mark.numpy
class TestNumpy:
    """NumPy makes an array of objects of anything without an array protocol."""

    def test_memory_of_the_host_is_the_array(self):
        import numpy as np

        array = DeviceArray(ep.asarray(bytearray(b"bytes")))
        view = np.asarray(array)
        assert view.dtype == "uint8" and view.ctypes.data == int(array) and bytes(view) == b"bytes"
        assert np.asarray(array, dtype="float64").tolist() == list(b"bytes")

    def test_memory_unknown_to_drivers_is_refused(self):
        import numpy as np

        with pytest.raises(ep.ExchangeError):
            np.asarray(allocated(24))

    @pytest.mark.sycl
    def test_device_memory_is_refused_with_the_call_that_copies_it(self):
        import numpy as np

        array = DeviceArray(ep.zeros(2, "int32", device="opencl:cpu", kind="device"))
        with pytest.raises(
            ep.ExchangeError,
            match=r"device memory of opencl.*entrepot.asarray\(array\).copy_to_host\(\)",
        ):
            np.asarray(array)

"""Pointer: the documented conversions and their order, lifetimes, and Pointer as an object."""

from __future__ import annotations

import array
import copy
import ctypes
import gc
import pickle
import weakref

import pytest

import entrepot as ep
from adapters.objects import Cai, bytes_at, named
from entrepot.adapters import (
    CStr,
    DeviceArray,
    HipModuleLaunchKernel_extra,
    ListOfInt,
    ListOfPointer,
    Pointer,
    PointerToInt,
)
from ffi import sample
from interop import slow
from support.tables import publish
from support.tensors import READ_ONLY, Legacy, Versioned
from support.tensors import Producer as TensorProducer

pytestmark = pytest.mark.host

HIGHEST = 2**64 - 1


class TestConversions:
    def test_none_is_null(self):
        assert int(Pointer(None)) == int(Pointer()) == 0
        assert Pointer(None).is_ptr_null and not Pointer(None)

    def test_pointer_of_pointer_does_not_hold_buffer(self):
        buffer = bytearray(b"bytes")
        first = Pointer(buffer)
        second = Pointer(first)
        assert int(second) == int(first)
        del first
        buffer += b"resized"  # BufferError if the buffer is still held

    def test_adapter_with_owned_memory_is_kept_alive(self):
        numbers = ListOfInt([1, 2, 3])
        gone = weakref.ref(numbers)
        pointer = Pointer(numbers)
        del numbers
        assert gone() is not None and bytes_at(pointer, 12) == array.array("i", [1, 2, 3]).tobytes()
        del pointer
        assert gone() is None

    @pytest.mark.parametrize("address", [0, 1, 0x7F00_0000_1000, 2**63, HIGHEST])
    def test_int_is_an_address(self, address):
        assert int(Pointer(address)) == address

    def test_subclass_of_int_is_an_address(self):
        class Address(int):
            pass

        assert int(Pointer(Address(77))) == 77

    @pytest.mark.parametrize("value", [None, 5, HIGHEST])
    def test_void_pointer_is_its_value(self, value):
        assert int(Pointer(ctypes.c_void_p(value))) == (value or 0)

    def test_ctypes_pointer_gives_its_target(self):
        number = ctypes.c_int(3)
        function = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0)
        assert int(Pointer(ctypes.pointer(number))) == ctypes.addressof(number)
        assert int(Pointer(function)) == ctypes.cast(function, ctypes.c_void_p).value
        assert bytes_at(Pointer(ctypes.c_char_p(b"text")), 5) == b"text\0"

    def test_target_of_a_ctypes_pointer_is_kept_alive(self):
        number = ctypes.c_int(3)
        gone = weakref.ref(number)
        pointer = Pointer(ctypes.pointer(number))
        del number
        gc.collect()
        assert gone() is not None and ctypes.c_int.from_address(int(pointer)).value == 3

    def test_subclass_of_c_void_p_is_an_address(self):
        class Handle(ctypes.c_void_p):
            pass

        assert int(Pointer(Handle(9))) == 9

    def test_ctypes_object_gives_its_address(self):
        class Pair(ctypes.Structure):
            _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_int))

        for cell in (ctypes.c_int(3), Pair(1, 2), (ctypes.c_double * 4)()):
            assert int(Pointer(cell)) == ctypes.addressof(cell)

    def test_cai_is_its_data_and_keeps_the_object(self):
        producer = Cai(data=(0x1230, True))
        gone = weakref.ref(producer)
        pointer = Pointer(producer)
        assert int(pointer) == 0x1230 and pointer.is_read_only
        del producer
        assert gone() is not None
        del pointer
        assert gone() is None

    def test_cai_takes_precedence_over_buffer(self):
        class Both(bytearray):
            __cuda_array_interface__ = Cai().__cuda_array_interface__

        assert int(Pointer(Both(8))) == 0x1000

    def test_buffer_is_held_and_released(self):
        buffer = bytearray(b"bytes")
        pointer = Pointer(buffer)
        assert bytes_at(pointer, 5) == b"bytes" and not pointer.is_read_only
        with pytest.raises(BufferError):
            buffer += b"resized"
        del pointer
        buffer += b"resized"

    def test_second_init_releases_buffer(self):
        buffer = bytearray(b"bytes")
        pointer = Pointer(buffer)
        pointer.__init__(7)  # type: ignore[misc]
        assert int(pointer) == 7
        buffer += b"resized"

    def test_initialization_with_itself_is_a_no_op(self):
        for adapter in (
            Pointer(bytearray(b"bytes")),
            ListOfInt([1, 2]),
            CStr("text"),
            DeviceArray(bytearray(8)),
        ):
            before = bytes_at(adapter, 5)
            adapter.__init__(adapter)  # type: ignore[misc]
            assert bytes_at(adapter, 5) == before

    def test_memory_used_by_other_adapters_is_not_released(self):
        from entrepot.adapters import HipModuleLaunchKernel_extra, ListOfPointer

        def others(adapter):
            yield adapter[0] if type(adapter) is Pointer else Pointer(adapter)
            yield ListOfPointer([adapter])
            yield HipModuleLaunchKernel_extra([adapter])
            if isinstance(adapter, DeviceArray):
                yield adapter[1:]
                yield DeviceArray(adapter)

        for adapter in (
            Pointer(bytearray(b"bytes")),
            ListOfInt([1, 2]),
            CStr("text"),
            DeviceArray(bytearray(8)),
        ):
            for other in others(adapter):
                with pytest.raises(BufferError, match="1 others use the memory"):
                    adapter.__init__(None)  # type: ignore[misc]
                del other
            adapter.__init__(None)  # type: ignore[misc]
            assert adapter.is_ptr_null

    def test_failed_init_changes_nothing(self):
        buffer = bytearray(b"bytes")
        pointer = Pointer(buffer)
        with pytest.raises(TypeError):
            pointer.__init__(1.5)  # type: ignore[misc]
        assert bytes_at(pointer, 5) == b"bytes"
        with pytest.raises(BufferError):
            buffer += b"resized"

    def test_read_only_memory_is_marked(self):
        assert Pointer(b"bytes").is_read_only
        assert Pointer(Pointer(b"bytes")).is_read_only and Pointer(b"bytes")[1].is_read_only

    def test_array_gives_its_data_pointer(self):
        numbers = ep.full((2, 3), 1.5, "float32")
        assert int(Pointer(numbers)) == numbers.data_ptr
        assert int(Pointer(numbers[1])) == numbers[1].data_ptr

    def test_dlpack_only_object_gives_its_data_pointer(self):
        class Producer:
            def __init__(self, of):
                self.of = of

            def __dlpack__(self, **keywords):
                return self.of.__dlpack__(**keywords)

            def __dlpack_device__(self):
                return self.of.__dlpack_device__()

        numbers = ep.full(4, 7, "int32")
        pointer = Pointer(Producer(numbers))
        address = numbers.data_ptr
        del numbers
        gc.collect()
        assert int(pointer) == address and bytes_at(pointer, 4) == b"\7\0\0\0", "the memory is kept"

    @pytest.mark.parametrize("form", [Legacy, Versioned], ids=["legacy", "versioned"])
    def test_dlpack_capsules_of_both_versions_are_taken(self, form):
        """A producer of 2020 accepts no keywords. The tensor is released once, with the pointer."""

        class Old(TensorProducer):
            def __dlpack__(self):  # type: ignore[override]
                return self.capsule()

        memory = (ctypes.c_float * 12)(1.5)
        producer = (Old if form is Legacy else TensorProducer)(
            ctypes.addressof(memory), form=form, byte_offset=4, shape=(11,), strides=None
        )
        pointer = Pointer(producer)
        assert int(pointer) == ctypes.addressof(memory) + 4 and not pointer.is_read_only
        assert producer.deleted == 0
        del pointer
        gc.collect()
        assert producer.deleted == 1

    def test_dlpack_read_only_flag_is_kept(self):
        memory = (ctypes.c_float * 12)()
        assert Pointer(TensorProducer(ctypes.addressof(memory), flags=READ_ONLY)).is_read_only

    def test_dlpack_strided_memory_is_refused(self):
        memory = (ctypes.c_float * 12)()
        producer = TensorProducer(ctypes.addressof(memory), form=Legacy, shape=(3,), strides=(2,))
        with pytest.raises(ValueError, match="strided"):
            Pointer(producer)
        assert producer.deleted == 1

    def test_exchange_api_without_dlpack_gives_pointer(self):
        """A type that has its table and no ``__dlpack__``, so the table must be used."""
        memory = (ctypes.c_float * 12)()
        kind, _ = publish(lambda: TensorProducer(ctypes.addressof(memory)))
        tensor = kind()
        producer, gone = tensor.producer, weakref.ref(tensor)
        assert not hasattr(tensor, "__dlpack__")
        pointer = Pointer(tensor)
        del tensor
        assert int(pointer) == ctypes.addressof(memory)
        del pointer
        gc.collect()
        assert producer.deleted == 1 and gone() is None

    def test_as_c_void_p_method_gives_the_address(self):
        class Foreign:
            def as_c_void_p(self):
                return ctypes.c_void_p(0x77)

        assert int(Pointer(Foreign())) == 0x77

    @pytest.mark.numpy
    def test_pointer_to_numpy_array_shares_its_memory(self):
        import numpy as np

        numbers = np.arange(6, dtype="i4")
        pointer = Pointer(numbers)
        assert int(pointer) == numbers.ctypes.data
        numbers[0] = 9
        assert bytes_at(pointer, 4) == b"\x09\0\0\0"

    @pytest.mark.dpctl
    @pytest.mark.sycl
    def test_pointer_to_suai_memory_has_its_address(self):
        import dpctl.memory

        memory = dpctl.memory.MemoryUSMDevice(64, queue=dpctl.SyclQueue("opencl:cpu"))
        assert int(Pointer(memory)) == memory._pointer

    @pytest.mark.sycl
    @pytest.mark.parametrize("make", [Pointer, ListOfInt, DeviceArray])
    def test_pending_work_is_done_before_address_is_read(self, make):
        numbers = ep.zeros(2, "int32", device="opencl:cpu", kind="shared")
        done = slow.launch(numbers)
        adapter = make(numbers)
        assert done.done and ctypes.c_int.from_address(int(adapter)).value == slow.RESULT

    @pytest.mark.torch
    def test_pointer_to_torch_tensor_has_its_address(self):
        import torch

        numbers = torch.arange(4)
        assert int(Pointer(numbers)) == numbers.data_ptr()

    @pytest.mark.torch
    def test_torch_tensor_uses_the_exchange_api(self, monkeypatch):
        import torch

        asked = []
        monkeypatch.setattr(
            torch.Tensor, "__dlpack__", lambda self, **keywords: asked.append(keywords)
        )
        numbers = torch.arange(4)
        assert int(Pointer(numbers)) == numbers.data_ptr() and asked == []


class TestRefusals:
    @pytest.mark.parametrize("address", [-1, -(2**63), 2**64, 2**80])
    def test_int_out_of_range_is_refused(self, address):
        with pytest.raises(
            OverflowError, match=rf"Pointer: {address} is no address: those are 0 to 2\*\*64 - 1"
        ):
            Pointer(address)

    @pytest.mark.parametrize("value", [True, False])
    def test_pointer_from_bool_is_refused(self, value):
        with pytest.raises(TypeError, match=f"Pointer: {value} is a bool, and no address"):
            Pointer(value)

    @pytest.mark.parametrize(
        "value", [1.5, "text", [], (), {}, object(), 1j, range(3), Ellipsis, NotImplemented, int]
    )
    def test_non_address_is_refused(self, value):
        with pytest.raises(TypeError, match="stands for no address"):
            Pointer(value)

    def test_strided_buffer_is_refused(self):
        with pytest.raises(
            ValueError, match=r"copy it to contiguous memory first.* or bytes\(x\) does"
        ):
            Pointer(memoryview(b"bytes")[::2])

    def test_released_buffer_error_does_not_suggest_a_copy(self):
        buffer = memoryview(b"bytes")
        buffer.release()
        with pytest.raises(ValueError, match="released") as refusal:
            Pointer(buffer)
        assert "contiguous" not in str(refusal.value)

    @pytest.mark.numpy
    def test_strided_and_fortran_arrays(self):
        import numpy as np

        for numbers in (
            np.arange(6)[::2],
            np.asfortranarray(np.ones((2, 3))),
            np.arange(6).reshape(2, 3).T,
        ):
            with pytest.raises(
                ValueError,
                match=r"not C-contiguous; copy it .* first, as numpy\.ascontiguousarray\(x\) or",
            ):
                Pointer(numbers)
            assert int(Pointer(np.ascontiguousarray(numbers)))

    @pytest.mark.numpy
    def test_numbers_of_numpy(self):
        import numpy as np

        with pytest.raises(TypeError, match=r"numpy.int64 may be an address, or memory.*int\(x\)"):
            Pointer(np.int64(5))
        for number in (np.float32(5), np.float64(5), np.complex128(5), np.bool_(True)):
            with pytest.raises(
                TypeError,
                match=rf"a numpy.{type(number).__name__} is a number, and no address: numpy.array",
            ):
                Pointer(number)

    @pytest.mark.numpy
    def test_numpy_text_and_records_give_their_address(self):
        import numpy as np

        assert str(CStr(np.bytes_(b"text"))) == "text"
        records = np.zeros(2, [("x", "i4"), ("y", "i4")])
        assert int(Pointer(records[1])) - records.ctypes.data == 8

    def test_strided_array_is_refused(self):
        with pytest.raises(ValueError, match=r"the memory is strided.*array\.to\("):
            Pointer(ep.zeros((4, 4), "float32")[:, 1])

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"strides": (4, 8)}, "strided"),
            ({"mask": object()}, "mask"),
            ({"offset": 8}, "offset"),
            ({"data": None}, "'data' is missing"),
            ({"data": (1.5, False)}, "address"),
            ({"data": (-1, False)}, "address"),
            ({"data": 5}, "pair"),
        ],
    )
    def test_unsupported_interfaces_are_refused(self, changes, words):
        with pytest.raises(ValueError, match=words):
            Pointer(Cai(**changes))

    def test_invalid_as_c_void_p_result_is_refused(self):
        class Foreign:
            def as_c_void_p(self):
                return 5

        with pytest.raises(TypeError, match=r"gave 5 in place of a ctypes.c_void_p"):
            Pointer(Foreign())

    def test_exception_of_the_object_propagates(self):
        class Broken:
            @property
            def __cuda_array_interface__(self):
                raise ZeroDivisionError("of the producer")

        with pytest.raises(ZeroDivisionError):
            Pointer(Broken())

    @pytest.mark.parametrize("arguments", [(1, 2), (1, 2, 3)])
    def test_second_argument_is_refused(self, arguments):
        with pytest.raises(TypeError, match="takes 1 positional argument"):
            Pointer(*arguments)

    def test_unknown_keyword_is_refused(self):
        with pytest.raises(TypeError, match="unexpected keyword argument 'address'"):
            Pointer(address=5)  # type: ignore[call-arg]
        assert int(Pointer(pyobj=5)) == 5


class TestObject:
    def test_repr_is_the_class_and_the_address_in_hex(self):
        class Handle(Pointer):
            pass

        assert (
            repr(Pointer(0xBEEF)) == "<Pointer 0xbeef>" and repr(Pointer(None)) == "<Pointer 0x0>"
        )
        assert repr(Handle(5)) == "<Handle 0x5>"
        assert repr(Pointer(HIGHEST)) == f"<Pointer {HIGHEST:#x}>"

    def test_pointers_are_equal_by_address(self):
        assert Pointer(5) == Pointer(5) == 5 == PointerToInt(5) and hash(Pointer(5)) == hash(5)
        assert Pointer(5) != Pointer(6) and Pointer(5) != 6
        assert Pointer(1) != True  # noqa: E712  a bool is no address
        assert Pointer(5) != "5" and Pointer(5) != None  # noqa: E711
        assert len({Pointer(5), DeviceArray(5), 5}) == 1
        with pytest.raises(TypeError):
            Pointer(5) < Pointer(6)  # type: ignore[operator]  # noqa: B015

    def test_index_of_pointer_is_its_address(self):
        assert hex(Pointer(255)) == "0xff" and [*range(9)][Pointer(3)] == 3

    def test_bytes_are_not_as_many_zeros_as_the_address(self):
        with pytest.raises(TypeError, match="how many bytes"):
            bytes(Pointer(1 << 40))

    def test_offset_is_in_bytes_and_keeps_memory(self):
        buffer = bytearray(b"bytes")
        further = Pointer(buffer)[2]
        assert bytes_at(further, 3) == b"tes"
        with pytest.raises(BufferError):
            buffer += b"resized"
        assert type(ListOfInt([1, 2])[0]) is int, "lists are indexed by element"

    @pytest.mark.parametrize(
        ("offset", "error", "words"),
        [
            (-1, ValueError, "an offset of -1 bytes lies before"),
            (True, TypeError, "an offset is an int"),
            (1.5, TypeError, "not a float"),
            ("1", TypeError, "not a str"),
            (2**63, OverflowError, "too large"),
        ],
    )
    def test_invalid_offsets_are_refused(self, offset, error, words):
        with pytest.raises(error, match=words):
            Pointer(16)[offset]

    def test_offset_beyond_address_space_is_refused(self):
        with pytest.raises(OverflowError, match="the address space has ended"):
            Pointer(HIGHEST)[1]

    def test_pointer_is_not_iterable(self):
        with pytest.raises(TypeError):
            iter(Pointer(5))

    def test_from_obj_returns_adapter_of_same_class(self):
        numbers = ListOfInt([1])
        assert Pointer.fromObj(numbers) is numbers and ListOfInt.fromObj(numbers) is numbers
        made = ListOfInt.fromObj([5])
        assert type(made) is ListOfInt and made[0] == 5
        assert type(PointerToInt.fromObj(numbers)) is PointerToInt

    def test_create_ref_is_the_address_of_the_address(self):
        pointer = Pointer(0x1234)
        reference = pointer.createRef()
        cell = ctypes.c_void_p.from_address(int(reference))
        assert cell.value == 0x1234
        cell.value = 0x5678  # as a C function does that returns through a void **
        assert int(pointer) == 0x5678
        del pointer
        gc.collect()
        assert cell.value == 0x5678, "the reference keeps what it refers to"

    def test_as_c_void_p_has_the_address(self):
        assert Pointer(5).as_c_void_p().value == 5 and isinstance(
            Pointer(5).as_c_void_p(), ctypes.c_void_p
        )
        assert Pointer(None).as_c_void_p().value is None

    @pytest.mark.parametrize(
        "way", [pickle.dumps, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"]
    )
    @pytest.mark.parametrize(
        "adapter", [Pointer(5), CStr("text"), ListOfInt([1]), DeviceArray(None)], ids=named
    )
    def test_pickling_is_refused_with_the_reason(self, way, adapter):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            way(adapter)

    def test_weak_reference_to_pointer_dies_with_it(self):
        pointer = Pointer(5)
        gone = weakref.ref(pointer)
        del pointer
        assert gone() is None

    def test_cycle_through_adapter_is_collected(self):
        class Node(bytearray):
            pointer: Pointer

        node = Node(8)
        node.pointer = Pointer(node)
        gone = weakref.ref(node)
        del node
        gc.collect()
        assert gone() is None

    def test_cycle_through_list_of_pointers_is_collected(self):
        class Node(bytearray):
            list: ListOfPointer

        node = Node(8)
        node.list = ListOfPointer([node, None])
        gone = weakref.ref(node)
        del node
        gc.collect()
        assert gone() is None

    def test_long_chain_is_released_without_stack_overflow(self):
        buffer = bytearray(8)
        pointer = Pointer(buffer)
        for _ in range(200_000):
            pointer = pointer[0]
        del pointer
        buffer += b"resized"


class TestSubclasses:
    def test_subclass_init_has_own_arguments(self):
        class Handle(Pointer):
            def __init__(self, name, address):
                super().__init__(address)
                self.name = name

        handle = Handle("stream", 0x77)
        assert (handle.name, int(handle)) == ("stream", 0x77)
        assert int(Pointer(handle)) == 0x77 and isinstance(handle, Pointer)

    def test_uninitialized_subclass_is_null(self):
        class Lazy(Pointer):
            def __init__(self):
                pass

        assert Lazy().is_ptr_null

    def test_subclasses_accept_conversions_of_pointer(self):
        for kind in (CStr, ListOfInt, PointerToInt, DeviceArray):
            assert (
                int(kind(5)) == 5
                and int(kind(ctypes.c_void_p(6))) == 6
                and int(kind(Pointer(7))) == 7
            )
            assert kind(None).is_ptr_null
            assert issubclass(kind, Pointer)

    def test_subclass_with_slots_has_no_dict(self):
        class Slotted(ListOfInt):
            __slots__ = ("extra",)

        slotted = Slotted([1, 2])
        slotted.extra = object()  # type: ignore[attr-defined]
        assert slotted.to_list() == [1, 2] and not hasattr(slotted, "__dict__")
        for _ in range(1000):
            Slotted([1])
        gc.collect()

    def test_class_of_two_adapters_uses_the_first(self):
        class Both(CStr, PointerToInt):
            pass

        both = Both("text")
        assert str(both) == "text"
        with pytest.raises(TypeError, match="a Both has no elements that are integers"):
            both.value  # noqa: B018
        with pytest.raises(TypeError, match="no elements"):
            both.value = 5


USES = {
    "Pointer": Pointer,
    "offset": lambda adapter: Pointer.__getitem__(adapter, 4),
    "ListOfInt": ListOfInt,
    "element": lambda adapter: ListOfPointer([adapter])[0],
    "launch": lambda adapter: HipModuleLaunchKernel_extra([adapter]),
}


class TestMemoryOfSubclasses:
    """Only a derived type knows its memory: its objects live as long as their address is used."""

    @pytest.mark.parametrize("use", USES)
    def test_python_subclass_keeps_its_memory(self, use):
        class Storing(Pointer):
            def __init__(self):
                self.cells = (ctypes.c_int * 2)(1, 2)
                super().__init__(ctypes.addressof(self.cells))

        self.check(Storing, use)

    @pytest.mark.parametrize("use", USES)
    def test_callback_is_kept_alive(self, use):
        self.check(lambda: sample.binary(lambda a, b: a + b), use)

    def test_callback_in_list_is_callable(self):
        callables = ListOfPointer([sample.binary(lambda a, b: a + b)])
        gc.collect()
        assert sample.binary(callables[0])(1, 2) == 3

    @pytest.mark.parametrize("use", USES)
    def test_part_of_record_keeps_record_alive(self, use):
        record = sample.record(tag=7)
        gone = weakref.ref(record)
        used = USES[use](record.corners[0])
        del record
        gc.collect()
        assert gone() is not None
        del used
        gc.collect()
        assert gone() is None

    def check(self, make, use):
        adapter = make()  # not an argument: Python 3.10 holds those for as long as the call
        gone = weakref.ref(adapter)
        used = USES[use](adapter)
        del adapter
        gc.collect()
        assert gone() is not None
        del used
        gc.collect()
        assert gone() is None

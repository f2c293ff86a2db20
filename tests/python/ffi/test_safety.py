"""Memory safety: targets of records stay alive, and memory of unknown size is not read."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import weakref

import pytest

from entrepot import _core, ffi, hip
from entrepot._core import _device_array, _mark_freed
from entrepot.ffi import At, CStr, Library, Pointer, c_float, c_int, c_int32
from ffi import sample

_library = Library("sample", sonames=[sample.PATH])


@_library.struct(size=16, alignment=8)
class chain:
    next: At[chain] @ 0
    value: c_int32 @ 8


@_library.struct(size=16, alignment=8)
class text_and_memory:
    text: CStr @ 0
    memory: Pointer @ 8


@_library.struct(size=40, alignment=8)
class outer:
    one: text_and_memory @ 0
    two: text_and_memory @ 16
    number: c_float @ 32


@_library.struct(size=16, alignment=8)
class memory_and_count:
    memory: Pointer @ 0
    count: c_int32 @ 8


@_library.struct(size=32, alignment=8)
class both:
    parts: memory_and_count * 2 @ 0


@_library.struct(size=8, alignment=4)
class padded:
    first: c_int32 @ 0
    __pad: c_int32 @ 4 = 7


@_library.struct(size=4, alignment=4)
class unplaced:
    first: c_int32


@_library.struct(size=4, alignment=4)
class pythonic:
    first: int @ 0


@_library.callback
def taking(at: ffi.In[Pointer]) -> None: ...


@_library.function
def same_uint64(a: ffi.In[outer]) -> ffi.c_uint64: ...


@_library.enum(c_int)
class bits:
    """A name that entrepot.ffi also has."""

    SOME = 3


__getattr__, _, _ = _library.declared(globals())  # type: ignore[assignment]


def named(name):
    return getattr(sys.modules[__name__], name)


class Held(bytearray):
    __slots__ = ("__weakref__",)


def is_gone(reference) -> bool:
    gc.collect()
    return reference() is None


class TestRecordsByValue:
    def test_assigned_record_keeps_its_targets_alive(self):
        memory = Held(b"memory")
        gone = weakref.ref(memory)
        whole = named("outer")()
        whole.two = named("text_and_memory")(memory=memory)
        del memory
        assert not is_gone(gone)
        whole.two = named("text_and_memory")()
        assert is_gone(gone)

    def test_constructor_holds_memory_of_nested_records(self):
        first, second = Held(b"first"), Held(b"second")
        gone = [weakref.ref(first), weakref.ref(second)]
        whole = named("outer")((None, first), two=named("text_and_memory")(memory=second))
        del first, second
        gc.collect()
        assert [each() is None for each in gone] == [False, False]
        assert ctypes.string_at(int(whole.two.memory), 6) == b"second"
        del whole
        assert is_gone(gone[0])
        assert is_gone(gone[1])

    @pytest.mark.parametrize(
        "make",
        [lambda *fields: fields, lambda *fields: sample.span(*fields)],
        ids=["tuple", "record"],
    )
    def test_target_of_an_argument_is_held_during_the_call(self, make):
        buffer = bytearray(b"bytes")
        refused = []

        def look(first, count):
            try:
                buffer.extend(bytes(1 << 20))
            except BufferError as error:
                refused.append(error)
            return first + count

        assert sample.look_at(make(buffer, 5), look) == ord("b") + 5
        assert len(refused) == 1, "the memory stays where it is while C has its address"
        buffer.append(1)

    def test_argument_changed_during_the_call_holds_old_target(self):
        buffer = bytearray(b"bytes")
        argument = sample.span(buffer, 5)

        def look(first, count):
            argument.bytes = None
            with pytest.raises(BufferError):
                buffer.extend(bytes(1 << 20))
            return first + count

        assert sample.look_at(argument, look) == ord("b") + 5
        buffer.append(1)

    def test_element_changed_by_later_element_holds_old_target(self):
        class Changing:
            def __index__(self):
                first.memory = None
                return 1

        memory = Held(b"memory")
        gone = weakref.ref(memory)
        first = named("memory_and_count")(memory, 6)
        whole = named("both")()
        whole.parts = [first, (None, Changing())]
        del memory
        assert not is_gone(gone)
        assert ctypes.string_at(int(whole.parts[0].memory), 6) == b"memory"
        whole.parts = [(), ()]
        assert is_gone(gone)

    def test_self_assignment_keeps_memory_alive(self):
        memory = Held(b"memory")
        gone = weakref.ref(memory)
        whole = named("outer")((None, memory))
        del memory
        whole.one = whole.one
        whole.two = whole.one
        whole.one = named("text_and_memory")()
        assert not is_gone(gone)


class TestFreedMemory:
    """A record that points to memory that has since been freed."""

    MEMORY = (ctypes.c_char * 8)()

    @pytest.fixture
    def allocation(self):
        return _device_array(ctypes.addressof(self.MEMORY), 8)

    @pytest.mark.parametrize(
        ("pointing", "words"),
        [
            (lambda a: named("outer")(two=(None, a)), r"outer\.two: this DeviceArray, at "),
            (
                lambda a: named("outer")((None, ffi.ListOfPointer([a]))),
                r"outer\.one: element 0: this Pointer, at ",
            ),
        ],
    )
    def test_freed_memory_in_record_is_refused(self, pointing, words, allocation):
        record = pointing(allocation)
        assert same_uint64(record) == int(record)
        _mark_freed(allocation)
        with pytest.raises(
            ValueError, match=rf"same_uint64\(\) argument 'a': {words}.*has been freed"
        ):
            same_uint64(record)
        record.one = record.two = named("text_and_memory")()
        assert same_uint64(record) == int(record)

    def test_pointer_overwritten_by_c_is_not_freed_memory(self, allocation):
        record = named("outer")((None, allocation))
        _mark_freed(allocation)
        ctypes.c_size_t.from_address(int(record) + 8).value = 0x2000
        assert same_uint64(record) == int(record)

    def test_freed_memory_in_record_by_value_is_refused(self, allocation):
        whole = sample.span(allocation, 5)
        _mark_freed(allocation)
        with pytest.raises(
            ValueError,
            match=r"look_at\(\) argument 'it': span\.bytes: this DeviceArray, at .* has been freed",
        ):
            sample.look_at(whole, lambda first, count: 0)

    @pytest.mark.hip_library
    def test_freed_kernel_argument_in_graph_is_refused(self, allocation):
        node = hip.hipKernelNodeParams(kernelParams=ffi.ListOfPointer([allocation]), extra=None)
        _mark_freed(allocation)
        with pytest.raises(
            ValueError,
            match=r"argument 'pNodeParams': hipKernelNodeParams\.kernelParams: element 0: ",
        ):
            hip.hipGraphAddKernelNode(None, None, 0, node)


class TestReprs:
    def test_fields_are_shown_as_addresses(self):
        whole = named("outer")((0x10, 0x20))
        assert "text=0x10 memory=0x20" in repr(whole)

    def test_bare_address_is_not_read(self):
        assert repr(sample.point.fromObj(16)) == "<point at 0x10>"

    def test_repr_of_union_has_one_member(self):
        assert "real" not in repr(sample.record_union_0(whole=1))


class TestLengths:
    def test_record_is_not_cast_to_a_longer_one(self):
        with pytest.raises(ValueError, match="8 bytes are fewer than the 56"):
            sample.record.fromObj(sample.point())

    def test_record_array_ends_with_its_buffer(self):
        points = sample.point.fromObj(bytearray(17))
        assert points.element(1).x == 0
        with pytest.raises(IndexError):
            points.element(2)

    def test_ctypes_pointer_gives_memory_at_target(self):
        memory = (ctypes.c_char * 56)()
        assert sample.record.fromObj(ctypes.cast(memory, ctypes.c_void_p)).tag == 0

    @pytest.mark.parametrize("memory", [bytearray(3), ffi.ListOfInt([])])
    def test_memory_for_results_is_long_enough(self, memory):
        with pytest.raises(ValueError, match=r"quotient'.*bytes are fewer than the 4"):
            sample.divide(7, 2, quotient=memory)
        with pytest.raises(ValueError, match=r"'out'.*bytes are fewer than the 8"):
            sample.make_point(out=memory, x=1)


class TestDeclarations:
    def test_fields_are_not_made(self):
        with pytest.raises(TypeError, match="cannot create"):
            ffi.Field()

    def test_addresses_are_of_adapters(self):
        with pytest.raises(TypeError, match="int is no subclass of Pointer"):
            _core.Form("address", "pointer", int)

    @pytest.mark.parametrize("annotation", [c_int * 8, ffi.In[c_int * 8]])
    def test_c_passes_no_arrays(self, annotation):
        def length(text) -> None: ...

        length.__annotations__ = {"text": annotation, "return": c_int}
        with pytest.raises(TypeError, match="C passes no arrays"):
            _library.function(length)(list(range(8)))

    @pytest.mark.parametrize(
        "declare", [_library.function, _library.function_or("later"), _library.callback]
    )
    def test_parameter_without_c_type_is_refused(self, declare):
        def length(text: ffi.In[CStr], most) -> c_int: ...

        def any_number(first: c_int, *rest: c_int) -> c_int: ...

        def by_name(first: c_int, *, second: c_int) -> c_int: ...

        with pytest.raises(
            TypeError, match="length, most: no type is said; annotate it, as most: c_int"
        ):
            declare(length)
        for declaration in (any_number, by_name):
            with pytest.raises(
                TypeError, match=rf"{declaration.__name__}: C has neither \*args nor keyword-only"
            ):
                declare(declaration)

    def test_field_with_two_underscores_is_supported(self):
        assert named("padded").PROPERTIES() == ["first", "__pad"]
        assert list(named("padded")(1)) == [1, 7]

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("unplaced", r"unplaced\.first: a field is a type @ the byte"),
            ("pythonic", "'int @ 0': int is no type of C"),
            ("taking", r"taking, at: C calls it"),
        ],
    )
    def test_impossible_declaration_is_refused(self, name, words):
        with pytest.raises(TypeError, match=words):
            named(name)

    def test_python_class_as_c_type_is_refused(self):
        def length(text) -> None: ...

        length.__annotations__ = {"text": int, "return": c_int}
        with pytest.raises(TypeError, match="int is no type of C"):
            _library.function(length)(1)

    def test_module_declarations_shadow_entrepots(self):
        assert _library._scope["bits"].form.size == 4


class TestViews:
    def test_view_through_pointer_keeps_target_alive(self):
        first, second = named("chain")(value=1), named("chain")(value=2)
        gone = weakref.ref(second)
        first.next = second
        view = first.next
        del first, second
        assert not is_gone(gone)
        assert view.value == 2
        del view
        assert is_gone(gone)

    def test_view_of_read_only_memory_is_read_only(self):
        first = named("chain")(next=bytes(16))
        with pytest.raises(ValueError, match="read-only"):
            first.next.value = 3
        nested = sample.record.fromObj(bytes(56)).corners[0]
        with pytest.raises(ValueError, match="read-only"):
            sample.fill(nested, 1, 8)

    def test_memory_with_views_is_not_replaced(self):
        record = sample.record()
        corner = record.corners[0]
        with pytest.raises(BufferError):
            Pointer.__init__(record, None)
        del corner
        Pointer.__init__(record, None)
        assert not record

    def test_pointer_to_a_view_keeps_its_record_alive(self):
        record = sample.record()
        gone = weakref.ref(record)
        pointer = Pointer(record.corners[0])
        del record
        assert not is_gone(gone)
        del pointer
        assert is_gone(gone)


class TestNumbers:
    def test_interrupt_in_a_conversion_is_raised(self):
        class Number:
            def __float__(self):
                raise KeyboardInterrupt

            def __index__(self):
                raise MemoryError

        with pytest.raises(KeyboardInterrupt):
            sample.halved(Number())
        with pytest.raises(MemoryError):
            sample.add_int8(Number(), 1)

    def test_float_out_of_range_is_refused(self):
        with pytest.raises(OverflowError, match=r"1e\+300 does not fit float32"):
            sample.halved(1e300)
        assert sample.halved(float("inf")) == float("inf")


def test_fixed_crashes_do_not_recur():
    code = """
from entrepot import hip
r = hip.hipResourceDesc()
r.res.linear.devPtr = 0x7f0000001000
repr(r), repr(hip.dim3.fromObj(16)), repr(hip.hipMemcpy3DParms())
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
    with pytest.raises(ValueError, match="12 bytes are fewer than"):
        hip.hipDeviceProp_t.fromObj(hip.dim3())

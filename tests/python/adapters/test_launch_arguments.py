"""HipModuleLaunchKernel_extra: the block, offsets as in C, zero padding, and lifetimes."""

from __future__ import annotations

import ctypes
import gc
import itertools
import subprocess
import weakref
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import entrepot as ep
from adapters.objects import named
from entrepot.adapters import DeviceArray, HipModuleLaunchKernel_extra, ListOfInt, Pointer
from support.processes import output_of

pytestmark = pytest.mark.host

POINTER, SIZE, END = 1, 2, 3  # HIP_LAUNCH_PARAM_BUFFER_POINTER, …_BUFFER_SIZE, …_END


def structure(*fields: type, pack: int | None = None) -> type[ctypes.Structure]:
    members = {"_fields_": [(f"f{i}", field) for i, field in enumerate(fields)]}
    return type(
        "Structure",
        (ctypes.Structure,),
        ({"_pack_": pack, "_layout_": "ms"} if pack else {}) | members,
    )


def arguments_in(extra: HipModuleLaunchKernel_extra) -> bytes:
    """The arguments' bytes, after checks of the surrounding block."""
    cells = (ctypes.c_size_t * 5).from_address(int(extra))
    assert (cells[0], cells[2], cells[4]) == (POINTER, SIZE, END)
    size = ctypes.c_size_t.from_address(cells[3]).value
    return ctypes.string_at(cells[1], size)


def filled(kind: Any) -> Any:
    """An instance whose bytes are all 0xFF."""
    return kind.from_buffer_copy(b"\xff" * ctypes.sizeof(kind))


def offsets_in(bytes_: bytes, kinds: list[type]) -> list[int]:
    """Offsets of the entries made by ``filled``: runs of 0xFF, of each entry's length."""
    found, at = [], 0
    for kind in kinds:
        at = bytes_.index(b"\xff", at)
        found.append(at)
        at += ctypes.sizeof(kind)
    return found


class Documented:
    INT3 = structure(ctypes.c_int * 3)
    CHAR3 = structure(ctypes.c_char * 3)
    CASES = (
        ([ctypes.c_int32, INT3, ctypes.c_int32], [0, 4, 16], 20),
        ([ctypes.c_int8, CHAR3, ctypes.c_int32], [0, 1, 4], 8),
        ([ctypes.c_int32, ctypes.c_longdouble], [0, 16], 32),
        (
            [
                ctypes.c_float,
                ctypes.c_int32,
                ctypes.c_int16,
                ctypes.c_int32,
                ctypes.c_float,
                ctypes.c_void_p,
            ],
            [0, 4, 8, 12, 16, 24],
            32,
        ),
        ([ctypes.c_double, ctypes.c_byte], [0, 8], 16),
        ([ctypes.c_bool], [0], 1),
    )


@pytest.mark.parametrize(("kinds", "offsets", "size"), Documented.CASES, ids=lambda case: str(case))
def test_offsets_match_the_documentation(kinds, offsets, size):
    found = arguments_in(HipModuleLaunchKernel_extra([filled(kind) for kind in kinds]))
    assert offsets_in(found, kinds) == offsets and len(found) == size


simple = st.sampled_from(
    [
        ctypes.c_bool,
        ctypes.c_int8,
        ctypes.c_uint16,
        ctypes.c_int32,
        ctypes.c_int64,
        ctypes.c_float,
        ctypes.c_double,
        ctypes.c_longdouble,
        ctypes.c_void_p,
        ctypes.c_wchar,
    ]
)


def union(*fields: type) -> type[ctypes.Union]:
    return type(
        "Union", (ctypes.Union,), {"_fields_": [(f"f{i}", field) for i, field in enumerate(fields)]}
    )


def composed(inner: st.SearchStrategy[type]) -> st.SearchStrategy[type]:
    """Structures, packed ones and unions of some members, and structures with an array."""
    fields = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        st.builds(lambda each: structure(*each), fields),
        st.builds(lambda each: union(*each), fields),
        st.builds(
            lambda each, pack: structure(*each, pack=pack), fields, st.sampled_from([1, 2, 4])
        ),
        st.builds(lambda each, count: structure(each * count), inner, st.integers(1, 5)),
    )


entries = simple | composed(st.recursive(simple, composed, max_leaves=6))


@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        (1.5, TypeError, "a float stands for no address"),
        ("text", TypeError, "a str stands for no address"),
        (1j, TypeError, "a complex stands for no address"),
        (ctypes.c_int, TypeError, ".* stands for no address"),
        (True, TypeError, "True is a bool, and no address"),
        (-1, OverflowError, "-1 is no address"),
    ],
    ids=named,
)
def test_non_address_error_names_index_and_ctypes(bad, error, words):
    with pytest.raises(
        error,
        match=rf"argument 1: {words}.*; a number goes by value as ctypes has it: "
        r"ctypes\.c_int\(3\)",
    ):
        HipModuleLaunchKernel_extra([Pointer(5), bad])


@pytest.mark.parametrize(
    "bad", [1.5, {1}, (each for each in [1])], ids=["float", "set", "generator"]
)
def test_non_list_error_asks_for_a_list(bad):
    with pytest.raises(
        TypeError, match=r"stands for no address.*; arguments are given in a list or a tuple"
    ):
        HipModuleLaunchKernel_extra(bad)


@given(st.lists(entries, min_size=1, max_size=12))
@settings(max_examples=300)
def test_entries_have_the_offsets_of_ctypes_structure_members(kinds):
    values = [filled(kind) for kind in kinds]
    whole = structure(*kinds)
    expected = bytearray(ctypes.sizeof(whole))
    for i, kind in enumerate(kinds):
        at = getattr(whole, f"f{i}").offset
        expected[at : at + ctypes.sizeof(kind)] = b"\xff" * ctypes.sizeof(kind)
    assert arguments_in(HipModuleLaunchKernel_extra(values)) == expected, (
        "padding is zero, everything else is 0xff"
    )


C_NAMES = {
    ctypes.c_bool: "_Bool",
    ctypes.c_int8: "signed char",
    ctypes.c_uint16: "unsigned short",
    ctypes.c_int32: "int",
    ctypes.c_int64: "long long",
    ctypes.c_float: "float",
    ctypes.c_double: "double",
    ctypes.c_longdouble: "long double",
    ctypes.c_void_p: "void *",
    ctypes.c_wchar: "int",
}


class InC:
    """Types as C declares them; each structure and union gets a name of its own."""

    def __init__(self) -> None:
        self.definitions: list[str] = []

    def member(self, kind: Any, name: str) -> str:
        if issubclass(kind, ctypes.Array):
            return self.member(kind._type_, f"{name}[{kind._length_}]")
        if issubclass(kind, ctypes.Structure | ctypes.Union):
            return f"{self.defined(kind)} {name}"
        return f"{C_NAMES[kind]} {name}"

    def defined(self, kind: Any) -> str:
        fields = " ".join(self.member(field, each) + ";" for each, field in kind._fields_)
        pack = getattr(kind, "_pack_", None)
        word = "union" if issubclass(kind, ctypes.Union) else "struct"
        text = f"{word} t{len(self.definitions)}"
        packed = [f"#pragma pack(push, {pack})", "#pragma pack(pop)"] if pack else ["", ""]
        self.definitions.append("\n".join([packed[0], f"{text} {{ {fields} }};", packed[1]]))
        return text


def c_offsets(lists: list[list[type]], folder: Path) -> list[list[int]]:
    """Member offsets and size of a struct for each list, as one compiled program prints them."""
    types = InC()
    prints = []
    for kinds in lists:
        name = types.defined(structure(*kinds))
        offsets = "".join(
            f'printf("%zu ", __builtin_offsetof({name}, f{i}));' for i in range(len(kinds))
        )
        prints.append(f'{offsets} printf("%zu\\n", sizeof({name}));')
    source = folder / "offsets.c"
    source.write_text(
        "\n".join(
            [
                "#include <stdio.h>",
                *types.definitions,
                "int main(void) {",
                *prints,
                "return 0;",
                "}",
                "",
            ]
        )
    )
    subprocess.run(["cc", "-o", folder / "offsets", source], check=True, timeout=120)
    said = output_of([folder / "offsets"], timeout=60)
    return [[int(each) for each in line.split()] for line in said.splitlines()]


@given(st.lists(st.lists(entries, min_size=1, max_size=8), min_size=1, max_size=16))
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
def test_entries_have_the_offsets_of_a_c_compiler(tmp_path_factory, lists):
    """Includes unions, packed structures and their combinations; Hypothesis reports the failing
    list."""
    for kinds, (*offsets, size) in zip(
        lists, c_offsets(lists, tmp_path_factory.mktemp("c")), strict=True
    ):
        found = arguments_in(HipModuleLaunchKernel_extra([filled(each) for each in kinds]))
        assert offsets_in(found, kinds) == offsets and len(found) == size, kinds


class TestEntries:
    def test_values_are_copied_at_construction(self):
        number = ctypes.c_int(5)
        extra = HipModuleLaunchKernel_extra([number])
        number.value = 6
        assert arguments_in(extra) == b"\5\0\0\0"

    def test_pointer_arguments_take_eight_bytes(self):
        numbers = ep.zeros(4, "float32")
        cell = bytearray(4)
        array = (ctypes.c_int * 3)()
        entries = [
            None,
            7,
            Pointer(8),
            DeviceArray(9),
            cell,
            numbers,
            ctypes.c_void_p(10),
            array,
        ]
        addresses = [
            0,
            7,
            8,
            9,
            int(Pointer(cell)),
            numbers.data_ptr,
            10,
            ctypes.addressof(array),
        ]
        assert arguments_in(HipModuleLaunchKernel_extra(entries)) == b"".join(
            each.to_bytes(8, "little") for each in addresses
        )

    def test_ctypes_pointer_is_its_value(self):
        number = ctypes.c_int(3)
        for pointer in (
            ctypes.pointer(number),
            ctypes.cast(ctypes.pointer(number), ctypes.c_void_p),
        ):
            assert arguments_in(HipModuleLaunchKernel_extra([pointer])) == ctypes.addressof(
                number
            ).to_bytes(8, "little")

    def test_plain_int_is_a_pointer(self):
        assert arguments_in(HipModuleLaunchKernel_extra([ctypes.c_byte(1), 5])) == bytes(
            [1, *[0] * 7, 5, *[0] * 7]
        )

    def test_empty_arguments_have_no_bytes(self):
        assert (
            arguments_in(HipModuleLaunchKernel_extra([]))
            == b""
            == arguments_in(HipModuleLaunchKernel_extra(()))
        )

    def test_large_arguments_are_packed_like_a_struct(self):
        large = structure(ctypes.c_byte * 1000)
        kinds: list[type] = [ctypes.c_int, large, ctypes.c_double] * 50
        found = arguments_in(HipModuleLaunchKernel_extra([filled(kind) for kind in kinds]))
        assert found.count(b"\xff") == 50 * 1012 and len(found) == ctypes.sizeof(structure(*kinds))

    @pytest.mark.parametrize("bad", [1.5, "text", [1], {}, object(), 1j, True], ids=named)
    def test_invalid_argument_error_names_its_index(self, bad):
        with pytest.raises(TypeError, match="HipModuleLaunchKernel_extra: argument 1: "):
            HipModuleLaunchKernel_extra([ctypes.c_int(1), bad])

    def test_out_of_range_address_error_names_its_index(self):
        with pytest.raises(OverflowError, match="argument 0: -1 is no address"):
            HipModuleLaunchKernel_extra([-1])

    @pytest.mark.numpy
    def test_numbers_of_numpy_are_values(self):
        import numpy as np

        numbers = [
            np.int8(-1),
            np.float32(1.5),
            np.float16(2),
            np.float64(3),
            np.bool_(True),
            np.uint64(4),
            np.complex64(1 + 2j),
        ]
        whole = np.zeros(
            (), np.dtype([(f"f{i}", number.dtype) for i, number in enumerate(numbers)], align=True)
        )
        for i, number in enumerate(numbers):
            whole[f"f{i}"] = number
        assert arguments_in(HipModuleLaunchKernel_extra(numbers)) == whole.tobytes()

    @pytest.mark.ml_dtypes
    def test_numbers_of_ml_dtypes_are_values(self):
        import ml_dtypes

        assert arguments_in(HipModuleLaunchKernel_extra([ml_dtypes.bfloat16(1)])) == b"\x80\x3f"

    def test_typed_scalar_is_a_value(self):
        assert (
            arguments_in(
                HipModuleLaunchKernel_extra([ep.Scalar(5, "int16"), ep.Scalar(6, "int32")])
            )
            == b"\5\0\0\0\6\0\0\0"
        )

    @pytest.mark.numpy
    def test_date_is_refused(self):
        import numpy as np

        with pytest.raises(ep.ExchangeError, match="argument 0: "):
            HipModuleLaunchKernel_extra([np.datetime64("2020-01-01")])

    def test_arguments_are_kept_alive(self):
        buffer = bytearray(8)
        numbers = ListOfInt([1])
        gone = weakref.ref(numbers)
        extra = HipModuleLaunchKernel_extra([numbers, buffer])
        del numbers
        gc.collect()
        assert gone() is not None
        with pytest.raises(BufferError):
            buffer += b"resized"
        del extra
        assert gone() is None
        buffer += b"resized"

    def test_block_is_accepted_as_a_pointer(self):
        extra = HipModuleLaunchKernel_extra([ctypes.c_int(1)])
        assert extra.is_owner and int(Pointer(extra)) == int(extra)
        assert (
            HipModuleLaunchKernel_extra(None).is_ptr_null
            and int(HipModuleLaunchKernel_extra(5)) == 5
        )
        assert not HipModuleLaunchKernel_extra(5).is_owner

    def test_list_that_shrinks_while_read_is_packed(self):
        entries: list[object] = []

        class Shrinking:
            def as_c_void_p(self):
                entries.clear()
                return ctypes.c_void_p(1)

        entries += [Shrinking(), 2, 3]
        assert len(arguments_in(HipModuleLaunchKernel_extra(entries))) == 24


def test_ctypes_classes_used_in_turn_stay_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two classes with one hash do not evict each other from the cache of classes."""
    import _ctypes

    asked: list[type] = []

    def sizeof(of: Any) -> int:
        asked.append(of)
        return ctypes.sizeof(of)

    monkeypatch.setattr(_ctypes, "sizeof", sizeof)
    classes = [type(f"Number{i}", (ctypes.c_int,), {}) for i in range(100)]
    for first, second in itertools.pairwise(classes):
        HipModuleLaunchKernel_extra([first(), second()])
    assert set(asked) == set(classes)
    for first, second in itertools.combinations(classes, 2):
        for _ in range(2):  # the first round may evict one of the two for the other
            HipModuleLaunchKernel_extra([first(), second()])
        asked.clear()
        HipModuleLaunchKernel_extra([first(), second()])
        assert asked == []

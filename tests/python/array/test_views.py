"""Views of an Array against NumPy's of the same memory: shapes, strides, addresses, and never a
copy.
"""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

import hypothesis.extra.numpy as hnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

import entrepot as ep

if TYPE_CHECKING:
    import numpy as np
else:
    np = pytest.importorskip("numpy")
pytestmark = pytest.mark.numpy


def same(array: ep.Array, expected: np.ndarray) -> None:
    """Asserts equal shape, dtype and size, and unless empty equal address and strides."""
    assert array.shape == expected.shape
    assert array.dtype == expected.dtype
    assert array.size == expected.size
    assert array.nbytes == expected.nbytes
    if expected.size:
        assert array.data_ptr == expected.ctypes.data
        for mine, theirs, extent in zip(
            array.strides, expected.strides, expected.shape, strict=True
        ):
            assert extent == 1 or mine * array.itemsize == theirs


class TestIndexing:
    @given(data=st.data(), shape=hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=5))
    def test_basic_indices_are_numpys(self, data: st.DataObject, shape: tuple[int, ...]) -> None:
        index = data.draw(
            hnp.basic_indices(shape, max_dims=8, allow_newaxis=True, allow_ellipsis=True)
        )
        base = np.arange(np.prod(shape, dtype=int), dtype="int32").reshape(shape)
        expected = base[index]
        if not isinstance(expected, np.ndarray):  # NumPy makes scalars of single elements
            whole = (*index, ...) if isinstance(index, tuple) else (index, ...)
            expected = base[whole]
        same(ep.asarray(base)[index], expected)

    @given(data=st.data())
    def test_view_of_view_matches_numpy(self, data: st.DataObject) -> None:
        base = np.arange(3 * 4 * 5, dtype="uint16").reshape(3, 4, 5)
        mine, theirs = ep.asarray(base), base
        for _ in range(3):
            index = data.draw(hnp.basic_indices(theirs.shape, min_dims=1))
            mine, theirs = mine[index], theirs[index]
            same(mine, theirs)

    def test_integers_of_other_kinds(self) -> None:
        base = np.arange(6.0)
        same(ep.asarray(base)[np.int64(2) :], base[2:])
        assert ep.asarray(base)[np.int8(-1)].data_ptr == base[5:].ctypes.data

    @pytest.mark.parametrize(
        ("index", "words"),
        [(3, "3"), (-4, "-4"), ((0, 0, 0), "2"), ((..., ...), "llipsis")],
    )
    def test_out_of_range_is_an_index_error(self, index: object, words: str) -> None:
        with pytest.raises(IndexError, match=words):
            ep.zeros((3, 4), "float32")[index]

    @pytest.mark.parametrize("index", [[0, 1], True, 1.0, "a", np.array([True, False, True])])
    def test_indices_that_would_copy_are_refused(self, index: object) -> None:
        with pytest.raises(TypeError, match="ints, slices"):
            ep.zeros(3, "float32")[index]

    def test_str_index_is_refused_for_lack_of_fields(self) -> None:
        with pytest.raises(TypeError, match="no fields that a str could name"):
            ep.zeros(3, "int8", device="host")["x"]

    def test_step_of_zero(self) -> None:
        with pytest.raises(ValueError, match="zero"):
            ep.zeros(3, "float32")[::0]

    def test_len_is_the_first_extent(self) -> None:
        assert len(ep.zeros((3, 4), "int8")) == 3
        with pytest.raises(TypeError, match="without axes"):
            len(ep.zeros((), "int8"))


class TestReshape:
    @given(data=st.data())
    def test_reshape_views_where_numpy_does(self, data: st.DataObject) -> None:
        shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
        base = np.arange(np.prod(shape), dtype="int64").reshape(shape)
        base = base.transpose(data.draw(st.permutations(range(base.ndim))))
        target = data.draw(
            st.sampled_from([(-1,), base.shape[::-1], (*base.shape, 1), (base.shape[0], -1)])
        )
        expected = base.reshape(target)
        if np.shares_memory(expected, base):
            same(ep.asarray(base).reshape(target), expected)
        else:
            with pytest.raises(ValueError, match="copy"):
                ep.asarray(base).reshape(target)

    def test_reshape_accepts_separate_extents(self) -> None:
        assert ep.zeros(12, "int8").reshape(3, -1).shape == (3, 4)

    @pytest.mark.parametrize("target", [(5,), (-1, -1), (-1, 5), (3, 0)])
    def test_reshape_to_other_size_is_refused(self, target: tuple[int, ...]) -> None:
        with pytest.raises(ValueError):
            ep.zeros(12, "int8").reshape(target)


class TestTranspose:
    @given(data=st.data())
    def test_transpose_accepts_each_permutation(self, data: st.DataObject) -> None:
        base = np.arange(24, dtype="float32").reshape(2, 3, 4)
        axes = data.draw(st.permutations(range(3)))
        same(ep.asarray(base).transpose(*axes), base.transpose(axes))

    def test_property_t_matches_numpy(self) -> None:
        base = np.arange(6, dtype="float32").reshape(2, 3)
        same(ep.asarray(base).T, base.T)

    @pytest.mark.parametrize("axes", [(0,), (0, 0), (0, 2), (0, 1, 2)])
    def test_transpose_of_other_axes_is_refused(self, axes: tuple[int, ...]) -> None:
        with pytest.raises(ValueError):
            ep.zeros((2, 3), "int8").transpose(axes)


class TestViewAs:
    @given(
        old=st.sampled_from(["uint8", "int16", "float32", "complex128"]),
        new=st.sampled_from(["int8", "uint16", "float64", "complex64"]),
    )
    def test_dtype_view_matches_numpy(self, old: str, new: str) -> None:
        base = np.zeros((3, 16), dtype=old)
        same(ep.asarray(base).view(new), base.view(new))

    def test_dtype_view_needs_a_matching_last_axis(self) -> None:
        with pytest.raises(ValueError, match="no multiple"):
            ep.zeros((3, 5), "uint8").view("int16")
        with pytest.raises(ValueError, match="copy the array first"):
            ep.zeros((4, 4), "uint8").T.view("int16")

    def test_misaligned_dtype_view_is_refused(self) -> None:
        base = np.zeros(17, dtype="uint8")
        shifted = ep.asarray(base)[1:] if base.ctypes.data % 8 == 0 else ep.asarray(base)[:16]
        with pytest.raises(ValueError, match="aligned"):
            shifted.view("float64")


class TestBroadcast:
    def test_broadcast_repeats_the_element(self) -> None:
        base = np.arange(3, dtype="int32")
        stretched = ep.asarray(base).broadcast_to(2, 3)
        assert stretched.strides == (0, 1)
        assert stretched.read_only
        np.testing.assert_array_equal(stretched.numpy(), np.broadcast_to(base, (2, 3)))


class TestRepr:
    def test_repr_of_empty_rows_is_short(self) -> None:
        assert repr(ep.empty((10**12, 0), "float32")).startswith(
            "Array([], shape=(1000000000000, 0), "
        )

    @pytest.mark.parametrize(
        ("values", "shown"),
        [
            (np.array(7, "int16"), "7, dtype=int16"),
            (np.array([0.1, 2, -1e300]), "[0.1, 2, -1e+300], dtype=float64"),
            (np.array([0.1, np.inf], "float32"), "[0.1, inf], dtype=float32"),
            (np.array([1.5], "float16"), "[1.5], dtype=float16"),
            (np.array([True, False]), "[True, False], dtype=bool"),
            (np.array([-128, 127], "int8"), "[-128, 127], dtype=int8"),
            (np.array([2**64 - 1], "uint64"), "[18446744073709551615], dtype=uint64"),
            (np.array([1 - 2.5j], "complex64"), "[1-2.5j], dtype=complex64"),
            (np.arange(6).reshape(2, 3).T, "[[0, 3],\n       [1, 4],\n       [2, 5]], dtype=int64"),
            (np.zeros((1, 2, 1), "uint8"), "[[[0],\n        [0]]], dtype=uint8"),
        ],
        ids=[
            "0-d",
            "float64",
            "float32",
            "float16",
            "bool",
            "int8",
            "uint64",
            "complex",
            "transposed",
            "3-d",
        ],
    )
    def test_repr_of_host_array_shows_values(self, values: np.ndarray, shown: str) -> None:
        assert repr(ep.asarray(values)) == f"Array({shown}, device=host, kind=host)"

    def test_repr_of_read_only_array_says_so(self) -> None:
        assert (
            repr(ep.asarray(b"ab"))
            == "Array([97, 98], dtype=uint8, device=host, kind=host, read_only=True)"
        )

    def test_repr_of_other_dtypes_shows_bits(self) -> None:
        assert repr(ep.asarray(b"\x01\xfe").view("float8_e5m2")).startswith(
            "Array([0x01, 0xfe], dtype=float8_e5m2, "
        )

    def test_repr_of_long_array_shows_both_ends(self) -> None:
        place = "dtype=int64, device=host, kind=host)"
        assert repr(ep.asarray(np.arange(1000))).count(",") == 1002, "a thousand are shown whole"
        assert (
            repr(ep.asarray(np.arange(1001)))
            == f"Array([0, 1, 2, ..., 998, 999, 1000], shape=(1001,), {place}"
        )
        rows = [f"[{first}, {first + 1}, {first + 2}]" for first in (0, 3, 6, 1494, 1497, 1500)]
        text = ",\n       ".join([*rows[:3], "...", *rows[3:]])
        assert (
            repr(ep.asarray(np.arange(1503).reshape(501, 3)))
            == f"Array([{text}], shape=(501, 3), {place}"
        )

    @pytest.mark.sycl
    @pytest.mark.parametrize("kind", ["host", "shared"])
    def test_repr_of_accessible_memory_shows_values(self, kind: str) -> None:
        array = ep.zeros((2, 2), "float32", device="opencl:cpu", kind=kind)
        ep.fill(array, 2.5)
        assert (
            repr(array)
            == "Array([[2.5, 2.5],\n       [2.5, 2.5]], dtype=float32, device=opencl:cpu:0, "
            f"kind={kind})"
        )

    @pytest.mark.sycl
    def test_repr_of_device_memory_shows_shape(self) -> None:
        array = ep.zeros((2, 3), "int8", device="opencl:cpu", kind="device")
        assert repr(array) == "Array(shape=(2, 3), dtype=int8, device=opencl:cpu:0, kind=device)"


class TestLifetime:
    def test_view_keeps_producer_alive(self) -> None:
        class Producer(bytearray):
            view: ep.Array

        producer = Producer(24)
        gone = weakref.ref(producer)
        view = ep.asarray(producer)[4:12].view("float32")
        del producer
        gc.collect()
        assert gone() is not None, "the view must keep its producer alive"
        del view
        gc.collect()
        assert gone() is None, "and release it"

    def test_arrays_have_weak_references(self) -> None:
        array = ep.zeros(3, "int8")
        gone = weakref.ref(array)
        del array
        assert gone() is None

    def test_cycle_through_owner_is_collected(self) -> None:
        class Producer(bytearray):
            view: ep.Array

        producer = Producer(8)
        producer.view = ep.asarray(producer)
        gone = weakref.ref(producer)
        del producer
        gc.collect()
        assert gone() is None

    def test_array_is_not_instantiable(self) -> None:
        with pytest.raises(TypeError):
            ep.Array()

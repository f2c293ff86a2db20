"""NumPy's own arrays, read field by field: all values of the fields, and refusals."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from typing import TYPE_CHECKING, Any

import hypothesis.extra.numpy as hnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

import entrepot as ep

if TYPE_CHECKING:
    import numpy as np
else:
    np = pytest.importorskip("numpy")
pytestmark = [pytest.mark.host, pytest.mark.numpy]

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def assert_same(view: ep.Array, source: np.ndarray) -> None:
    assert view.data_ptr == source.ctypes.data
    assert view.shape == source.shape
    assert str(view.dtype) == source.dtype.name
    assert view.read_only is not source.flags.writeable
    if source.size > 1:
        steps = tuple(stride // source.itemsize for stride in source.strides)
        assert [s for s, n in zip(view.strides, source.shape, strict=True) if n > 1] == [
            s for s, n in zip(steps, source.shape, strict=True) if n > 1
        ]


class TestImport:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_numpy_dtype_is_imported(self, dtype: str) -> None:
        source = np.zeros((3, 4), dtype)
        view = ep.asarray(source)
        assert_same(view, source)
        assert view.owner is source

    @given(data=st.data())
    def test_random_view_is_imported(self, data: st.DataObject) -> None:
        base = np.arange(4 * 5 * 6, dtype=data.draw(st.sampled_from(["i2", "f8"]))).reshape(4, 5, 6)
        source = base[data.draw(hnp.basic_indices(base.shape, allow_newaxis=True))]
        if not isinstance(source, np.ndarray):
            return
        source = source.transpose(data.draw(st.permutations(range(source.ndim))))
        view = ep.asarray(source)
        assert_same(view, source)
        assert np.asarray(view).tolist() == source.tolist()

    def test_broadcast_and_read_only(self) -> None:
        source = np.broadcast_to(np.arange(3), (4, 3))
        view = ep.asarray(source)
        assert_same(view, source)
        assert view.strides == (0, 1)

    def test_write_is_visible_on_both_sides(self) -> None:
        source = np.zeros(4)
        view = ep.asarray(source)
        source[1] = 2
        np.asarray(view)[2] = 3
        assert source.tolist() == memoryview(view).tolist() == [0, 2, 3, 0]

    def test_view_keeps_numpy_array_alive(self) -> None:
        source = np.zeros(4)
        gone = weakref.ref(source)
        view = ep.asarray(source)[1:]
        del source
        assert gone() is not None
        del view
        assert gone() is None

    @pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,) * 64])
    def test_extreme_shape_is_imported(self, shape: tuple[int, ...]) -> None:
        source = np.ones(shape, "f4")
        assert_same(ep.asarray(source), source)

    @pytest.mark.ml_dtypes
    @pytest.mark.parametrize(
        "name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float6_e2m3fn", "float4_e2m1fn"]
    )
    def test_types_of_ml_dtypes(self, name: str) -> None:
        import ml_dtypes

        source = np.arange(4).astype(getattr(ml_dtypes, name))
        view = ep.asarray(source)
        assert_same(view, source)
        assert view.numpy().dtype == source.dtype

    def test_subclass_is_imported_by_a_protocol(self) -> None:
        class Sub(np.ndarray):
            pass

        source = np.arange(4).view(Sub)
        assert_same(ep.asarray(source), source)

    def test_stride_of_an_extent_of_one_is_ignored(self) -> None:
        record = np.zeros(3, dtype=[("a", "f8"), ("b", "f4")])
        source = record["a"][:1]
        assert source.strides == (12,)
        assert ep.asarray(source).shape == (1,)


class TestRefusal:
    @pytest.mark.parametrize(
        ("source", "words"),
        [
            (np.zeros(3, ">f4"), "swapped"),
            (np.zeros(3, "O"), "Python objects"),
            (np.zeros(3, "U4"), "strings"),
            (np.zeros(3, "S4"), "byte strings"),
            (np.zeros(3, "M8[s]"), "dates"),
            (np.zeros(3, "m8[s]"), "time differences"),
            (np.zeros(3, [("a", "f4"), ("b", "i4")]), "structured"),
            (np.zeros(3, "g"), "bytes here"),
            (np.zeros(3, [("a", "f8"), ("b", "f4")])["a"], "multiple of the item size"),
            (np.frombuffer(bytearray(17), "f8", offset=1), "not aligned"),
        ],
        ids=lambda value: str(value.dtype) if isinstance(value, np.ndarray) else None,
    )
    def test_refusal_has_reason_and_releases_references(
        self, source: np.ndarray, words: str
    ) -> None:
        gc.collect()  # not between: other tests' arrays are in cycles
        before = (
            sys.getrefcount(source),
            sys.getrefcount(ep.Array),
        )  # each object of a class keeps it
        for _ in range(10):
            with pytest.raises(ep.ExchangeError, match=words):
                ep.asarray(source)
        assert (sys.getrefcount(source), sys.getrefcount(ep.Array)) == before


class TestMasks:
    """No protocol of a MaskedArray can export its mask."""

    @pytest.fixture(params=["array", "subclass", "constant", "record's field"])
    def masked(self, request: pytest.FixtureRequest) -> np.ma.MaskedArray:
        class Sub(np.ma.MaskedArray):
            pass

        array = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
        records: Any = np.ma.array(
            [(1, 2.0)], mask=[(False, True)], dtype=[("x", "i4"), ("y", "f8")]
        )
        return {
            "array": array,
            "subclass": array.view(Sub),
            "constant": np.ma.masked,
            "record's field": records["y"],
        }[request.param]

    @pytest.mark.parametrize(
        "protocol", [None, "dlpack", "buffer", "array_struct", "array_interface"]
    )
    def test_masked_array_is_refused(self, masked: np.ma.MaskedArray, protocol: str | None) -> None:
        with pytest.raises(ep.ExchangeError, match=r"has a mask, .* use x.filled\(\)"):
            ep.asarray(masked, protocol=protocol)

    def test_masked_array_is_refused_in_each_call(self) -> None:
        masked: Any = np.ma.array([1, 2], mask=[False, True], dtype="int32")
        ours = ep.zeros(2, "int32", device="host")
        for call in (
            lambda: ep.from_dlpack(masked),
            lambda: ep.copy(ours, masked),
            lambda: ep.copy(masked, ours),
            lambda: ours.copy_from_host(masked),
            lambda: ep.asarray(masked, copy=True),
        ):
            with pytest.raises(ep.ExchangeError, match="has a mask"):
                call()
        assert memoryview(ours).tolist() == [0, 0]

    @pytest.mark.parametrize(
        "protocol", [None, "dlpack", "buffer", "array_struct", "array_interface"]
    )
    @pytest.mark.parametrize(
        "mask", [np.ma.nomask, [False, False]], ids=["no mask", "mask of nothing"]
    )
    def test_masked_array_without_masked_items_is_taken(
        self, mask: Any, protocol: str | None
    ) -> None:
        array = np.ma.array([1, 2], mask=mask)
        assert ep.asarray(array, protocol=protocol).data_ptr == array.ctypes.data

    def test_alternatives_of_the_message_work(self) -> None:
        array = np.ma.array([1, 2, 3], mask=[False, True, False], fill_value=9)
        assert memoryview(ep.asarray(array.filled())).tolist() == [1, 9, 3]
        assert memoryview(ep.asarray(array.compressed())).tolist() == [1, 3]
        assert ep.asarray(array.data).data_ptr == array.ctypes.data

    def test_namesake_of_numpys_class_is_imported(self) -> None:
        class MaskedArray(np.ndarray):
            mask = True

        assert ep.asarray(np.zeros(3).view(MaskedArray)).shape == (3,)


def test_import_of_array_does_not_import_numpy() -> None:
    code = "import entrepot as ep, sys; ep.asarray(b'abc'); assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

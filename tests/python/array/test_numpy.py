"""NumPy's views and arrays of an Array.

If a buffer or an interface is refused, NumPy makes an array of objects with one Array in it.
``__array__`` prevents that.
"""

from __future__ import annotations

import pytest

import entrepot as ep

np = pytest.importorskip("numpy")
pytestmark = [pytest.mark.host, pytest.mark.numpy]


@pytest.mark.sycl
@pytest.mark.parametrize(
    "call", [np.asarray, np.array, lambda a: np.asarray(a, "float64"), lambda a: a.numpy()]
)
def test_device_memory_is_refused(call):
    with pytest.raises(
        ep.ExchangeError, match="device memory of opencl:cpu:0, which the host cannot reach"
    ):
        call(ep.zeros(4, "int32", device="opencl:cpu", kind="device"))


@pytest.mark.ml_dtypes
def test_ml_dtypes_types_are_used():
    array = ep.full(3, 1.5, "bfloat16")
    view = np.asarray(array)
    assert view.dtype.name == "bfloat16"
    assert view.ctypes.data == array.data_ptr
    assert np.asarray(array, "float32").tolist() == [1.5] * 3
    assert np.array(array, copy=True).ctypes.data != array.data_ptr
    with pytest.raises(ValueError, match="copy"):
        np.asarray(array, "float32", copy=False)


@pytest.mark.parametrize("copy", [1, np.True_])
def test_truthy_copy_argument_copies(copy):
    array = ep.zeros(3, "int32")
    assert array.__array__(copy=copy).ctypes.data != array.data_ptr
    assert array.__array__(copy=0).ctypes.data == array.__array__().ctypes.data == array.data_ptr  # type: ignore[arg-type]


@pytest.mark.ml_dtypes
@pytest.mark.parametrize("call", [np.asarray, lambda a: a.numpy()])
def test_dtype_unknown_to_numpy_is_refused(call):
    array = ep.zeros(3, "float32x4")
    with pytest.raises(ep.ExchangeError, match=r"float32x4.*view\('float32'\)"):
        call(array)
    assert array.view("float32").numpy().tolist() == [0] * 12


def test_numpy_converts_a_view_without_a_copy():
    array = ep.full(3, 2, "int32")
    assert np.asarray(array).ctypes.data == array.numpy().ctypes.data == array.data_ptr
    assert np.asarray(array, "float64").tolist() == [2.0] * 3

"""CuPy's arrays are read in place, after a first comparison with CuPy's own answers."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

import entrepot as ep
from support.processes import run

pytestmark = pytest.mark.host

MEMORY = (ctypes.c_float * 12)(*range(12))


def namesake(**attributes: Any) -> type:
    """A class with the name of CuPy's."""
    return type("ndarray", (), {"__module__": "cupy", **attributes})


def test_namesake_of_cupys_class_is_imported_by_protocol() -> None:
    interface = {
        "shape": (4, 3),
        "typestr": "<f4",
        "data": (ctypes.addressof(MEMORY), False),
        "version": 3,
    }
    kind = namesake(__array_interface__=interface)
    assert ep.asarray(kind()).data_ptr == ctypes.addressof(MEMORY)
    with pytest.raises(ep.ExchangeError, match="does not speak cupy"):
        ep.asarray(kind(), protocol="cupy")
    with pytest.raises(TypeError, match="speaks none of"):
        ep.asarray(namesake()())


def test_stream_attribute_of_another_signature_is_not_called() -> None:
    """In a separate process, without an earlier comparison."""
    run("""
        import ctypes, sys, types
        import entrepot as ep
        from support.capsules import new_capsule

        module = types.ModuleType("cupy_backends.cuda.stream")
        module.__pyx_capi__ = {"get_current_stream_ptr": new_capsule(1, b"double (double)")}
        sys.modules["cupy_backends.cuda.stream"] = module
        kind = type("ndarray", (), {"__module__": "cupy", "__array_interface__": {}})
        try:
            ep.asarray(kind())
        except ep.InterfaceError as refusal:
            assert str(refusal).startswith("array interface")
    """)


@pytest.mark.cuda
@pytest.mark.cupy
@pytest.mark.numpy
class TestArrays:
    def test_first_array_verifies_the_fast_path(self) -> None:
        run("""
            import cupy
            import entrepot as ep

            def takes(array):
                try:
                    return ep.asarray(array, protocol="cupy").data_ptr == array.data.ptr
                except ep.ExchangeError:
                    return False

            assert not takes(cupy.zeros((0, 3), "float32")), "it proves nothing"
            assert takes(cupy.zeros((4, 3), "float32"))
            assert takes(cupy.zeros((0, 3), "float32"))
            assert takes(cupy.zeros((4, 3), "float32").T[::-1])
        """)

    def test_other_ndarray_class_keeps_the_fast_path(self) -> None:
        """In a separate process, where it is the first import."""
        run("""
            import cupy
            import entrepot as ep

            interface = cupy.zeros(3).get().__array_interface__
            members = {"__module__": "cupy", "__array_interface__": interface}
            namesake = type("ndarray", (), members)
            assert ep.asarray(namesake()).shape == (3,)
            assert ep.asarray(cupy.zeros((4, 3)), protocol="cupy").shape == (4, 3)
        """)

    def test_changed_class_attribute_is_used(self) -> None:
        """In a process of its own, because the class is shared by all tests."""
        run("""
            import cupy
            import entrepot as ep

            array = cupy.zeros((4, 3), "float32")
            assert ep.asarray(array, protocol="cupy").shape == (4, 3)
            cupy.ndarray._shape = property(lambda self: [3, 4])
            assert ep.asarray(array, protocol="cupy").shape == (3, 4)
            del cupy.ndarray._shape
            assert ep.asarray(array, protocol="cupy").shape == (4, 3)
        """)

    def test_cupy_import_agrees_with_cai(self) -> None:
        import cupy

        whole = cupy.arange(24, dtype="int32").reshape(4, 6)
        for array in (
            whole,
            whole[1:, ::2],
            whole.T,
            whole[::-1],
            whole[2, 3],
            whole[4:],
            whole.astype("complex64"),
        ):
            first, second = ep.asarray(array, protocol="cupy"), ep.asarray(array, protocol="cai")
            assert (first.shape, first.dtype, first.device, first.kind) == (
                second.shape,
                second.dtype,
                second.device,
                second.kind,
            )
            assert first.strides == second.strides
            if array.size:
                assert first.data_ptr == second.data_ptr

    def test_dtype_without_typestr_is_imported(self) -> None:
        import cupy

        array = cupy.from_dlpack(ep.zeros(3, "bfloat16", device="cuda:0"))
        assert str(ep.asarray(array).dtype) == "bfloat16"

    def test_subclass_uses_its_own_dlpack(self) -> None:
        import cupy

        class Odd(cupy.ndarray):
            def __dlpack__(self, **_: object) -> object:
                raise BufferError("not today")

        odd = cupy.zeros(3).view(Odd)
        with pytest.raises(ep.ExchangeError, match="not today"):
            ep.asarray(odd)

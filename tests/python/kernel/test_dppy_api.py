"""Names that programs of numba-dppy import: numba's types as dtypes, func(debug=True), asarray."""

from __future__ import annotations

import types

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_backend, every_compiler

pytestmark = pytest.mark.numpy


def _class_of_numba(name: str, module: str) -> type:
    """A class with the name and module of numba's, whose instances have the same attributes and
    are callable."""

    def __init__(self: object, name: str) -> None:
        self.name = name  # type: ignore[attr-defined]

    body = {
        "__module__": module,
        "__init__": __init__,
        "__call__": lambda self, value: np.dtype(self.name).type(value),
        "__str__": lambda self: self.name,
        "__repr__": lambda self: self.name,
    }
    return type(name, (), body)


CLASSES = {
    "Integer": ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"],
    "Float": ["float32", "float64"],
    "Complex": ["complex64", "complex128"],
    "Boolean": ["bool"],
}


def _types(module: str) -> types.ModuleType:
    found = types.ModuleType("numba")
    for kind, names in CLASSES.items():
        made = _class_of_numba(kind, module)
        for name in names:
            setattr(found, name, made(name))
    return found


numba = _types("numba.core.types.scalars")
# Older versions have these names elsewhere.
numba_of_old = _types("numba.types.scalars")
DTYPES = [name for names in CLASSES.values() for name in names]


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("module", [numba, numba_of_old], ids=["core", "old"])
def test_numba_type_is_a_dtype(name, module):
    theirs = getattr(module, name)
    assert ep.Dtype(theirs) == ep.Dtype(name)
    assert ep.Dtype(name) == theirs
    assert str(ep.zeros(2, theirs).dtype) == name


@every_backend
@pytest.mark.parametrize("name", DTYPES)
def test_numba_type_of_local_and_private_arrays(backend, name):
    theirs = getattr(numba, name)

    @dppy.kernel
    def through_both(out, x):
        i = dppy.get_global_id(0)
        shared = dppy.local.array(shape=4, dtype=theirs)
        own = dppy.private.array(1, theirs)
        shared[i] = x[i]
        dppy.barrier(dppy.CLK_LOCAL_MEM_FENCE)
        own[0] = shared[3 - i]
        out[i] = own[0]

    x = np.array([0, 1, 1, 0]).astype(name)
    (out, _) = backend.run(through_both, 4, 4, np.zeros(4, name), x)
    assert out.tolist() == x[::-1].tolist()


@every_backend
def test_numba_type_as_attribute_and_as_conversion(backend):
    @dppy.kernel
    def converted(out, x):
        i = dppy.get_global_id(0)
        out[i] = numba.int32(x[i]) + numba.float32(0.5)

    (out, _) = backend.run(converted, 3, None, np.zeros(3), np.array([1.75, -1.75, 2.0]))
    assert out.tolist() == [1.5, -0.5, 2.5]


@every_compiler
def test_numba_type_of_local_accessor(backend):
    @dppy.kernel
    def shared(out, scratch):
        i = dppy.get_global_id(0)
        scratch[i] = i
        dppy.barrier()
        out[i] = scratch[3 - i]

    (out, *_) = backend.run(shared, 4, 4, np.zeros(4, "f4"), dppy.LocalAccessor(4, numba.float32))
    assert out.tolist() == [3, 2, 1, 0]


@every_compiler
def test_other_object_of_numba_is_refused_as_dtype(backend):
    void = _class_of_numba("NoneType", "numba.core.types.misc")("none")

    @dppy.kernel
    def wrong(out):
        own = dppy.private.array(1, void)
        out[0] = own[0]

    with pytest.raises(ep.KernelError, match="void"):
        backend.launch(wrong, 1, None, backend.array(np.zeros(1)))


@dppy.func(debug=True)
def summed(a, b):
    return a + b


@dppy.func("float64(float64)", debug=False)
def negated(a):
    return -a


@dppy.kernel(debug=True)
def kernel_sum(a, b, c):
    i = dppy.get_global_id(0)
    c[i] = negated(negated(summed(a[i], b[i])))


@every_backend
def test_func_with_debug_is_called(backend):
    a = np.arange(4.0)
    *_, c = backend.run(kernel_sum, 4, None, a, a, np.zeros(4))
    assert c.tolist() == [0, 2, 4, 6]


def test_func_with_debug_is_the_function():
    assert isinstance(summed, dppy.DeviceFunction)
    assert summed(1, 2) == 3
    assert isinstance(dppy.func(), type(lambda: None))
    assert isinstance(dppy.func(lambda a: a, debug=True), dppy.DeviceFunction)


def test_unknown_option_of_func_error_lists_options():
    with pytest.raises(
        TypeError, match=r"func\(\) has no option fastmath: debug is its only option"
    ):
        dppy.func(fastmath=True)  # type: ignore[call-overload]


@dppy.func(debug=True)
def read_at(a, i):
    return a[i]


@every_compiler
def test_kernel_with_debug_checks_what_func_reads(backend):
    @dppy.kernel(debug=True)
    def outside(out, a):
        out[0] = read_at(a, 7)

    with pytest.raises(IndexError, match="index 7"):
        backend.launch(outside, 1, None, backend.array(np.zeros(1)), backend.array(np.zeros(3)))


def test_asarray_is_entrepots():
    assert dppy.asarray is ep.asarray
    assert "asarray" in dppy.__all__
    x = np.arange(3.0)
    assert dppy.asarray(x).data_ptr == x.ctypes.data


@pytest.mark.sycl
@pytest.mark.dpnp
def test_asarray_of_dpnps_array_is_a_view():
    import dpnp

    x = dpnp.arange(4, dtype="f8", device="opencl:cpu")
    a = dppy.asarray(x)
    kernel_sum[4](a, a, a)
    assert dpnp.asnumpy(x).tolist() == [0, 2, 4, 6]


def test_offload_to_sycl_device_selects_the_device_of_kernels():
    with dppy.offload_to_sycl_device("host") as queue:
        assert queue.device == ep.device("host")
        assert ep.device() == ep.device("host")


def test_availability_is_that_of_devices_beside_the_host():
    assert dppy.is_available() == any(each.backend != "host" for each in ep.devices())


@pytest.mark.parametrize("name", ["LOCAL_MEM_FENCE", "GLOBAL_MEM_FENCE"])
def test_fence_name_of_numba_dpex_is_the_same_fence(name):
    assert getattr(dppy, name) == getattr(dppy, f"CLK_{name}")


def test_access_types_are_accepted_by_the_decorator():
    @dppy.kernel(access_types={"read_only": ["a"], "write_only": ["out"], "read_write": []})
    def doubles(out, a):
        i = dppy.get_global_id(0)
        out[i] = 2 * a[i]

    out = np.zeros(3)
    doubles[3](out, np.arange(3.0))
    assert out.tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("access_types", "message"),
    [
        ({"read": ["a"]}, "access_types has the key 'read': it has read_only"),
        ({"read_only": ["b"]}, "access_types names 'b', and k has the parameters out, a"),
    ],
)
def test_access_types_with_an_unknown_name_raise(access_types, message):
    with pytest.raises(ValueError, match=message):

        @dppy.kernel(access_types=access_types)
        def k(out, a):
            pass


@dppy.kernel
def shifted(out, a):
    memory = dppy.local.static_alloc(4, dppy.int32)
    i, k = dppy.get_global_id(0), dppy.get_local_id(0)
    memory[k] = a[i]
    dppy.barrier(dppy.LOCAL_MEM_FENCE)
    out[i] = out.dtype.type(memory[(k + 1) % 4]) / out.dtype.type(2)


@every_backend
def test_static_alloc_and_dtype_type_run(backend):
    out, _ = backend.run(shifted, 4, 4, np.zeros(4, "f4"), np.arange(4, dtype="i4"))
    assert out.tolist() == [0.5, 1, 1.5, 0]

# cython: language_level=3
# distutils: language = c++
"""Calls functions of the C interface through its Cython declarations."""

from cpython.ref cimport PyObject, Py_XDECREF
from libc.stdint cimport int64_t, uintptr_t
from libc.stdlib cimport free, malloc

from entrepot.c_api cimport (
    ENTREPOT_DTYPE_FLOAT,
    entrepot_array,
    entrepot_c_api,
    entrepot_import,
    entrepot_view,
)


cdef const entrepot_c_api *entrepot = entrepot_import()


def address_of(object):
    """The address that a parameter of type Pointer receives."""
    cdef void *address
    cdef PyObject *held
    entrepot.argument(object, b"Pointer", 0, b"address_of", b"object", &address, &held)
    Py_XDECREF(held)
    return <uintptr_t> address


cdef void release(void *user) noexcept nogil:
    free(user)


def owned(int64_t extent):
    """An Array in memory of malloc, which it frees."""
    cdef entrepot_view memory
    cdef void *data = malloc(4 * extent)
    memory.data = data
    memory.shape = &extent
    memory.strides = NULL
    memory.ndim = 1
    memory.dtype_code = ENTREPOT_DTYPE_FLOAT
    memory.dtype_bits = 32
    memory.dtype_lanes = 1
    memory.read_only = 0
    memory.device = b"host"
    cdef entrepot_array *array
    try:
        array = entrepot.from_address(&memory, release, data)
    except:
        free(data)
        raise
    try:
        return entrepot.to_object(array)
    finally:
        entrepot.release(array)

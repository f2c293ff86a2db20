"""Scales any array in place, with Cython over the C interface."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t


cdef extern from "entrepot/python/c_api.h":
    ctypedef struct entrepot_array:
        pass
    ctypedef struct entrepot_view:
        void *data
        const int64_t *shape
        const int64_t *strides
        int32_t ndim
        uint8_t dtype_code
        uint8_t dtype_bits
        int32_t itemsize
    ctypedef struct entrepot_c_api:
        entrepot_array *(*from_object)(object, uint32_t) except NULL
        void (*release)(entrepot_array *) noexcept
        const entrepot_view *(*view)(entrepot_array *) noexcept
    uint32_t ENTREPOT_WRITABLE
    uint32_t ENTREPOT_HOST
    const entrepot_c_api *entrepot_import() except NULL


cdef const entrepot_c_api *entrepot = entrepot_import()


cdef void scale_axis(const entrepot_view *view, char *item, int axis, double factor) noexcept nogil:
    cdef int64_t i
    if axis == view.ndim:
        if view.dtype_bits == 32:
            (<float *> item)[0] *= <float> factor
        else:
            (<double *> item)[0] *= factor
        return
    for i in range(view.shape[axis]):
        scale_axis(view, item + i * view.strides[axis] * view.itemsize, axis + 1, factor)


def scale(array, double factor):
    """Multiplies every element of any library's array, in place."""
    cdef entrepot_array *handle = entrepot.from_object(array, ENTREPOT_WRITABLE | ENTREPOT_HOST)
    cdef const entrepot_view *view = entrepot.view(handle)
    try:
        if view.dtype_code != 2 or view.dtype_bits not in (32, 64):
            raise ValueError("scale takes arrays of float32 or float64")
        with nogil:
            scale_axis(view, <char *> view.data, 0, factor)
    finally:
        entrepot.release(handle)

"""Scales any array in place, with Cython over the C interface."""

from libc.stdint cimport int64_t

from entrepot.c_api cimport (
    ENTREPOT_DTYPE_FLOAT, ENTREPOT_HOST, ENTREPOT_WRITABLE, entrepot_array, entrepot_c_api,
    entrepot_import, entrepot_view
)


cdef const entrepot_c_api *entrepot = entrepot_import()


cdef void scale_axis(const entrepot_view *view, char *item, int axis, double factor) noexcept nogil:
    cdef int64_t i
    if axis == view.ndim:
        if view.dtype_bits == 32:
            (<float *> item)[0] = <float> ((<float *> item)[0] * factor)
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
        if (
            view.dtype_code != ENTREPOT_DTYPE_FLOAT
            or view.dtype_lanes != 1
            or view.dtype_bits not in (32, 64)
        ):
            raise ValueError("scale takes arrays of float32 or float64")
        with nogil:
            scale_axis(view, <char *> view.data, 0, factor)
    finally:
        entrepot.release(handle)

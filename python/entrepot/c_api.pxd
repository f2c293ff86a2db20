# The C interface for Cython: `from entrepot.c_api cimport entrepot_import, …`. Compile with the
# headers of entrepot (entrepot::headers). Functions that set an exception raise it.
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t


cdef extern from "entrepot/python/c_api.h":
    enum: ENTREPOT_C_API_VERSION

    ctypedef struct entrepot_array:
        pass

    enum entrepot_kind:
        ENTREPOT_KIND_UNKNOWN
        ENTREPOT_KIND_HOST
        ENTREPOT_KIND_DEVICE
        ENTREPOT_KIND_SHARED

    enum entrepot_dtype_code:
        ENTREPOT_DTYPE_INT
        ENTREPOT_DTYPE_UINT
        ENTREPOT_DTYPE_FLOAT
        ENTREPOT_DTYPE_OPAQUE
        ENTREPOT_DTYPE_BFLOAT
        ENTREPOT_DTYPE_COMPLEX
        ENTREPOT_DTYPE_BOOL
        ENTREPOT_DTYPE_FLOAT8_E3M4
        ENTREPOT_DTYPE_FLOAT8_E4M3
        ENTREPOT_DTYPE_FLOAT8_E4M3B11FNUZ
        ENTREPOT_DTYPE_FLOAT8_E4M3FN
        ENTREPOT_DTYPE_FLOAT8_E4M3FNUZ
        ENTREPOT_DTYPE_FLOAT8_E5M2
        ENTREPOT_DTYPE_FLOAT8_E5M2FNUZ
        ENTREPOT_DTYPE_FLOAT8_E8M0FNU
        ENTREPOT_DTYPE_FLOAT6_E2M3FN
        ENTREPOT_DTYPE_FLOAT6_E3M2FN
        ENTREPOT_DTYPE_FLOAT4_E2M1FN

    ctypedef struct entrepot_view:
        void *data
        const int64_t *shape
        const int64_t *strides
        int64_t size
        int32_t ndim
        uint8_t dtype_code
        uint8_t dtype_bits
        uint16_t dtype_lanes
        int32_t itemsize
        int32_t kind
        int32_t read_only
        const char *device

    enum entrepot_requirement:
        ENTREPOT_WRITABLE
        ENTREPOT_HOST
        ENTREPOT_C_CONTIGUOUS

    ctypedef struct entrepot_c_api:
        uint32_t version
        entrepot_array *(*from_object)(object, uint32_t requirements) except NULL
        object (*to_object)(entrepot_array *array)
        void (*retain)(entrepot_array *array) noexcept nogil
        void (*release)(entrepot_array *array) noexcept nogil
        const entrepot_view *(*view)(entrepot_array *array) noexcept nogil
        entrepot_array *(*empty)(int32_t ndim, const int64_t *shape, uint8_t dtype_code,
                                 uint8_t dtype_bits, const char *device, int32_t kind) except NULL
        void *(*native_queue)(entrepot_array *array) except? NULL
        int (*before_use)(entrepot_array *array, int writes) except -1
        int (*after_use)(entrepot_array *array, int writes) except -1
        int (*wait_for_host)(entrepot_array *array, int writes) except -1
        int (*argument)(object, const char *type, int writes, const char *function,
                        const char *name, void **address, PyObject **held) except -1
        entrepot_array *(*from_address)(const entrepot_view *memory,
                                        void (*deleter)(void *user) noexcept nogil,
                                        void *user) except NULL

    const entrepot_c_api *entrepot_import() except NULL

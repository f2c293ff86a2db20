/* The C interface of the Python package for extensions: a table of functions in a capsule.
 * Nothing is linked.
 *
 *     static const entrepot_c_api *entrepot;
 *     entrepot = entrepot_import();  // in the module's init function; NULL with an exception set
 *     entrepot_array *a = entrepot->from_object(object, ENTREPOT_WRITABLE | ENTREPOT_HOST);
 *
 * The table grows only at its end. Code compiled against an older header works with a newer
 * package; `entrepot_import` refuses a package older than the header.
 *
 * GIL: required by functions that set an exception. Handles may be retained and released on any
 *      thread, with or without the GIL.
 */
#ifndef ENTREPOT_PYTHON_C_API_H
#define ENTREPOT_PYTHON_C_API_H

#include <Python.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ENTREPOT_C_API_CAPSULE "entrepot._core.c_api"
#define ENTREPOT_C_API_VERSION 3 /* grows by one with every function that is added */

/* A counted handle of an Array. */
typedef struct entrepot_array entrepot_array;

enum entrepot_kind {
    ENTREPOT_KIND_UNKNOWN = 0,
    ENTREPOT_KIND_HOST = 1,
    ENTREPOT_KIND_DEVICE = 2,
    ENTREPOT_KIND_SHARED = 3
};

/* DLPack's type codes. */
enum entrepot_dtype_code {
    ENTREPOT_DTYPE_INT = 0,
    ENTREPOT_DTYPE_UINT = 1,
    ENTREPOT_DTYPE_FLOAT = 2,
    ENTREPOT_DTYPE_OPAQUE = 3,
    ENTREPOT_DTYPE_BFLOAT = 4,
    ENTREPOT_DTYPE_COMPLEX = 5,
    ENTREPOT_DTYPE_BOOL = 6,
    ENTREPOT_DTYPE_FLOAT8_E3M4 = 7,
    ENTREPOT_DTYPE_FLOAT8_E4M3 = 8,
    ENTREPOT_DTYPE_FLOAT8_E4M3B11FNUZ = 9,
    ENTREPOT_DTYPE_FLOAT8_E4M3FN = 10,
    ENTREPOT_DTYPE_FLOAT8_E4M3FNUZ = 11,
    ENTREPOT_DTYPE_FLOAT8_E5M2 = 12,
    ENTREPOT_DTYPE_FLOAT8_E5M2FNUZ = 13,
    ENTREPOT_DTYPE_FLOAT8_E8M0FNU = 14,
    ENTREPOT_DTYPE_FLOAT6_E2M3FN = 15,
    ENTREPOT_DTYPE_FLOAT6_E3M2FN = 16,
    ENTREPOT_DTYPE_FLOAT4_E2M1FN = 17
};

/* Description of an array. Lifetime: that of the handle. */
typedef struct entrepot_view {
    void *data;             /* the first element */
    const int64_t *shape;   /* elements */
    const int64_t *strides; /* elements, not bytes */
    int64_t size;           /* elements */
    int32_t ndim;           /* 0 … 64 */

    uint8_t dtype_code;   /* an entrepot_dtype_code */
    uint8_t dtype_bits;   /* of a lane */
    uint16_t dtype_lanes; /* above 1: an element is a short vector */
    int32_t itemsize;     /* bytes */
    int32_t kind;         /* an entrepot_kind */
    int32_t read_only;
    const char *device; /* the selector: "host", "opencl:cpu:0", "cuda:0" … */
} entrepot_view;

/* Requirements of the caller; an array that does not meet them is refused, never copied. */
enum entrepot_requirement {
    ENTREPOT_WRITABLE = 1, /* not read-only */
    ENTREPOT_HOST = 2,     /* host-accessible; waits for pending work on the array */
    ENTREPOT_C_CONTIGUOUS = 4
};

typedef struct entrepot_c_api {
    uint32_t version; /* ENTREPOT_C_API_VERSION of the package */

    /* The object's memory, from any library. NULL and an exception: TypeError, ExchangeError,
     * ValueError. */
    entrepot_array *(*from_object)(PyObject *object, uint32_t requirements);
    /* A new reference to an entrepot.Array of the same memory. NULL and an exception: MemoryError.
     */
    PyObject *(*to_object)(entrepot_array *array);
    void (*retain)(entrepot_array *array);
    void (*release)(entrepot_array *array);
    const entrepot_view *(*view)(entrepot_array *array);

    /* New memory, C-contiguous and uninitialized, on the device of the selector (NULL: the
     * current device). Sets an exception. */
    entrepot_array *(*empty)(int32_t ndim, const int64_t *shape, uint8_t dtype_code,
                             uint8_t dtype_bits, const char *device, int32_t kind);

    /* Device work: submit it to the native queue between `before_use` and `after_use`, so that
     * it is ordered with all other work on the memory.
     *
     * Returns: the native queue (`sycl::queue *`, `const CUstream *`; NULL on the host), or NULL
     *          with an exception set.
     * Lifetime: that of the handle. The handle keeps the streams alive that a Queue of Array.queue
     *           keeps alive; others must outlive it. */
    void *(*native_queue)(entrepot_array *array);
    int (*before_use)(entrepot_array *array, int writes); /* 0; -1 and an exception */
    int (*after_use)(entrepot_array *array, int writes);
    /* Blocks, with the GIL released, until the host may read or, with `writes`, write. 0; -1 and an
     * exception. */
    int (*wait_for_host)(entrepot_array *array, int writes);

    /* Version 2. Converts an object to an argument of a C function. The parameter has the
     * adapter type `type` ("Pointer", "ListOfInt" …, see entrepot/python/adapters.h). With
     * `writes`, read-only memory is refused.
     *
     * Returns: 0, with the address and a reference (or NULL) to hold until the function has
     *          returned. Otherwise -1 with an exception set that names function and argument. */
    int (*argument)(PyObject *object, const char *type, int writes, const char *function,
                    const char *name, void **address, PyObject **held);

    /* Version 3. An array in existing memory. It is described by `data` (the lowest element),
     * `shape`, `ndim`, dtype, `strides` (NULL: C-contiguous), `device` (NULL: the drivers are
     * asked), `read_only`. Other members are ignored.
     *
     * Returns: NULL with an exception set as by entrepot.from_address; then the deleter is not
     *          called.
     * Ownership: `deleter(user)` is called once, after the last reference is released and work
     *            on the memory is done. With a NULL deleter the memory must outlive the array.
     * GIL: the deleter is called on any thread without the GIL. It may acquire the GIL while the
     *      interpreter lives. */
    entrepot_array *(*from_address)(const entrepot_view *memory, void (*deleter)(void *user),
                                    void *user);
} entrepot_c_api;

/* The table of the installed package, which is imported if necessary. NULL and an ImportError if
 * it is missing or too old. */
static inline const entrepot_c_api *entrepot_import(void) {
    PyObject *module = PyImport_ImportModule("entrepot._core");
    const entrepot_c_api *api;
    if (!module)
        return NULL;
    Py_DECREF(module);
    api = (const entrepot_c_api *)PyCapsule_Import(ENTREPOT_C_API_CAPSULE, 0);
    if (api && api->version < ENTREPOT_C_API_VERSION) {
        PyErr_Format(PyExc_ImportError,
                     "this extension needs version %d of entrepot's C interface, and the installed "
                     "package has %d: upgrade it",
                     ENTREPOT_C_API_VERSION, (int)api->version);
        return NULL;
    }
    return api;
}

#ifdef __cplusplus
}
#endif
#endif

/* The C interface of the Python package, for other people's extensions: a table of functions in a capsule. Nothing is linked.
 *
 *     static const entrepot_c_api *entrepot;
 *     entrepot = entrepot_import();                       // in the module's init function; NULL with an exception set
 *     entrepot_array *a = entrepot->from_object(object, ENTREPOT_WRITABLE | ENTREPOT_HOST);
 *
 * The table only ever grows at its end: code compiled against an older header works with a newer package, and
 * `entrepot_import` refuses a package older than the header.
 *
 * Where a function says "sets an exception", the caller holds the GIL. Handles may be retained and released on any thread,
 * with or without it.
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

enum entrepot_kind { ENTREPOT_KIND_UNKNOWN = 0, ENTREPOT_KIND_HOST = 1, ENTREPOT_KIND_DEVICE = 2, ENTREPOT_KIND_SHARED = 3 };

/* What an array is. Lives as long as the handle. */
typedef struct entrepot_view {
    void *data;             /* the first element */
    const int64_t *shape;   /* elements */
    const int64_t *strides; /* elements, not bytes */
    int64_t size;           /* elements */
    int32_t ndim;           /* 0 … 64 */
    uint8_t dtype_code;     /* DLPack's: 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool … */
    uint8_t dtype_bits;     /* of a lane */
    uint16_t dtype_lanes;
    int32_t itemsize; /* bytes */
    int32_t kind;     /* entrepot_kind: whether the host may touch it */
    int32_t read_only;
    const char *device; /* the selector: "host", "opencl:cpu:0", "cuda:0" … */
} entrepot_view;

/* What the caller needs; an array that is not so is refused with a sentence, never copied. */
enum entrepot_requirement {
    ENTREPOT_WRITABLE = 1, /* not read-only */
    ENTREPOT_HOST = 2,     /* the host may read and, with WRITABLE, write now: pending work on it is waited for */
    ENTREPOT_C_CONTIGUOUS = 4
};

typedef struct entrepot_c_api {
    uint32_t version; /* ENTREPOT_C_API_VERSION of the package */

    /* The object's memory, whatever library it belongs to. NULL and an exception: TypeError, ExchangeError, ValueError. */
    entrepot_array *(*from_object)(PyObject *object, uint32_t requirements);
    /* A new reference to an entrepot.Array of the same memory. NULL and an exception: MemoryError. */
    PyObject *(*to_object)(entrepot_array *array);
    void (*retain)(entrepot_array *array);
    void (*release)(entrepot_array *array);
    const entrepot_view *(*view)(entrepot_array *array);

    /* New memory, C-contiguous, not initialised, on the device of the selector (NULL: the current one). Sets an exception. */
    entrepot_array *(*empty)(int32_t ndim, const int64_t *shape, uint8_t dtype_code, uint8_t dtype_bits, const char *device,
                             int32_t kind);

    /* Work on devices. The native queue of the array (`sycl::queue *`, `const CUstream *`; NULL on the host), valid while the
     * handle is: submit there between `before_use` and `after_use`, and the work is ordered with everybody else's. Sets an
     * exception. */
    void *(*native_queue)(entrepot_array *array);
    int (*before_use)(entrepot_array *array, int writes); /* 0; -1 and an exception */
    int (*after_use)(entrepot_array *array, int writes);
    /* Blocks, with the GIL released, until the host may read or, with `writes`, write. 0; -1 and an exception. */
    int (*wait_for_host)(entrepot_array *array, int writes);

    /* Version 2. What an object is as an argument of a C function whose parameter is of that adapter type ("Pointer", "ListOfInt"
     * …, entrepot/python/adapters.h): the address, and a reference to be kept until the function has returned, which may be NULL.
     * With `writes`, read-only memory is refused. 0; -1 and an exception, which names function and argument. */
    int (*argument)(PyObject *object, const char *type, int writes, const char *function, const char *name, void **address,
                    PyObject **held);

    /* Version 3. An array of memory that somebody else allocated, described as `view` describes arrays: `data`, the lowest
     * element; `shape`, `ndim`, dtype; `strides` (NULL: C-contiguous); `device` (NULL: the drivers are asked); `read_only`. What
     * follows from these, `size`, `itemsize` and `kind`, is not read. `deleter(user)` is called once, when the last reference is
     * gone and the work on the memory is done: on any thread, without the GIL, which it may acquire while the interpreter lives;
     * NULL: the memory outlives the array. NULL and an exception, as of entrepot.from_address: then the deleter is not called. */
    entrepot_array *(*from_address)(const entrepot_view *memory, void (*deleter)(void *user), void *user);
} entrepot_c_api;

/* The table of the installed package; imports it if need be. NULL and an ImportError where it is absent or too old. */
static inline const entrepot_c_api *entrepot_import(void) {
    PyObject *module = PyImport_ImportModule("entrepot._core");
    const entrepot_c_api *api;
    if (!module)
        return NULL;
    Py_DECREF(module);
    api = (const entrepot_c_api *)PyCapsule_Import(ENTREPOT_C_API_CAPSULE, 0);
    if (api && api->version < ENTREPOT_C_API_VERSION) {
        PyErr_Format(PyExc_ImportError,
                     "this extension needs version %d of entrepot's C interface, and the installed package has %d: upgrade it",
                     ENTREPOT_C_API_VERSION, (int)api->version);
        return NULL;
    }
    return api;
}

#ifdef __cplusplus
}
#endif
#endif

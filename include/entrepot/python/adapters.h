/* The struct of the adapter types (entrepot.adapters): Python objects that stand for an address in a call of a C function.
 *
 * Types in C, C++ and Cython may have these as their base: `entrepot._core.Pointer` and its subclasses are static types whose
 * objects begin as below; entrepot/adapters.pxd has the declarations for Cython. What an object keeps goes with it: a subclass
 * that sets `address` itself leaves `handle` and `release` alone, or lets go of the old handle before it sets both.
 */
#ifndef ENTREPOT_PYTHON_ADAPTERS_H
#define ENTREPOT_PYTHON_ADAPTERS_H

#include <Python.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum entrepot_adapter_flag {
    ENTREPOT_ADAPTER_READ_ONLY = 1,    /* the memory must not be written: no destination */
    ENTREPOT_ADAPTER_FREED = 2,        /* of a DeviceArray: what it stood for has been given back */
    ENTREPOT_ADAPTER_UNTERMINATED = 4, /* of a CStr: a buffer without a NUL, which C would read beyond */
};

typedef struct entrepot_pointer {
    PyObject_HEAD void *address;
    void *handle;                  /* keeps the memory: an object, a held Py_buffer, a block of the adapter's own … */
    void (*release)(void *handle); /* lets go of it, with the GIL held; NULL: nothing is kept */
    Py_ssize_t length;             /* elements, of a string and of a Pointer itself bytes; -1: not known */
    PyObject *weak_references;
    unsigned flags;   /* of entrepot_adapter_flag */
    unsigned exports; /* others that use its memory: meanwhile it stands for nothing else */
} entrepot_pointer;

/* Of a DeviceArray; what it knows of its elements is its own business. */
typedef struct entrepot_device_array {
    entrepot_pointer pointer;
    uint64_t description[16];
} entrepot_device_array;

#ifdef __cplusplus
}
#endif

#endif

/* Structs of the adapter types (entrepot.adapters): Python objects that represent an address in a
 * call of a C function.
 *
 * Types in C, C++ and Cython may derive from them: `entrepot._core.Pointer` and its subclasses are
 * static types whose objects begin as below. For Cython, entrepot/adapters.pxd has the
 * declarations.
 *
 * Ownership: an object releases its handle when it is destroyed. A subclass that sets `address`
 * must either leave `handle` and `release` alone, or release the old handle and set both.
 */
#ifndef ENTREPOT_PYTHON_ADAPTERS_H
#define ENTREPOT_PYTHON_ADAPTERS_H

#include <Python.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum entrepot_adapter_flag {
    ENTREPOT_ADAPTER_READ_ONLY = 1,    /* read-only memory */
    ENTREPOT_ADAPTER_FREED = 2,        /* of a DeviceArray: its memory has been freed */
    ENTREPOT_ADAPTER_UNTERMINATED = 4, /* of a CStr: a buffer without a NUL; C would overrun */
};

typedef struct entrepot_pointer {
    PyObject_HEAD void *address;
    void *handle;                  /* owns the memory: an object, a Py_buffer, a block … */
    void (*release)(void *handle); /* releases `handle`, with the GIL held; or NULL */

    Py_ssize_t length; /* elements; bytes of strings and plain Pointers; -1: unknown */
    PyObject *weak_references;
    unsigned flags;   /* of entrepot_adapter_flag */
    unsigned exports; /* users of its memory; the address is fixed meanwhile */
} entrepot_pointer;

/* A DeviceArray; its description of elements is private. */
typedef struct entrepot_device_array {
    entrepot_pointer pointer;
    uint64_t description[16];
} entrepot_device_array;

#ifdef __cplusplus
}
#endif

#endif

// entrepot.memory.Memory and its three kinds, a drop-in for dpctl.memory. C types, so that they can
// be subclassed and creation takes no longer than the pool's allocation.
#pragma once
#include <Python.h>

#include "../support/reference.hpp"

#include <entrepot/array/array.hpp>

#include <cstddef>
#include <optional>
#include <span>

namespace entrepot::python {

// The bytes of such an object: a whole Memory, or the part of one that a view spans.
struct UsmMemory {
    Memory memory;
    void *data = nullptr;
    std::size_t bytes = 0;
    UsmKind kind = UsmKind::unknown;  // the kind of the class
    bool read_only = false;
    Queue queue;  // in the memory's context
    // the caller's object for `queue`; if empty, a Queue is made on first use
    LazyReference queue_object;
};

// True for objects of these classes. False for a subclass with its own interface attribute, which
// is then used instead.
bool is_usm_memory(PyObject *object) noexcept;

// An array of uint8 over the same Memory.
Array bytes_of(const UsmMemory &memory);

// An array of uint8 over a buffer. The caller must hold the buffer while the array lives.
Array bytes_of(const Py_buffer &buffer);

// The object's UsmMemory. Throws ValueError if the garbage collector has cleared the object.
UsmMemory &usm_memory_of(PyObject *self);

// The classes, one for each kind that can be allocated.
struct UsmClass {
    const char *name;  // with its module
    UsmKind kind;
    int number;  // the value of get_usm_type_enum
    // parts of the docstring
    const char *signature;
    const char *summary;
    const char *example;
    PyTypeObject *type = nullptr;
};
std::span<const UsmClass> usm_classes() noexcept;
extern PyTypeObject *usm_memory_base;

// The class of that kind; nullptr if the kind is unknown.
const UsmClass *usm_class_of(UsmKind kind) noexcept;

// type.cpp: a new object of the class or of a subclass. Throws PythonError.
PyObject *wrap(PyTypeObject *type, UsmMemory &&memory);

// construct.cpp: the memory that an object spans if it is an Array, a Memory or has SUAI; nullopt
// for any other object. Throws the protocol's refusal.
std::optional<UsmMemory> find_usm_memory(PyObject *object);
PyObject *usm_memory_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
PyObject *usm_memory_vectorcall(PyObject *type, PyObject *const *args, std::size_t nargsf,
                                PyObject *kwnames);
PyObject *as_usm_memory(PyObject *module, PyObject *object);
PyObject *usm_memory_rebuild(PyObject *module, PyObject *args);

// methods.cpp
extern PyMethodDef usm_memory_methods[];
extern PyGetSetDef usm_memory_attributes[];

}  // namespace entrepot::python

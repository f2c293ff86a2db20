// entrepot.memory.Memory and its three kinds, the drop-in for dpctl.memory, as plain CPython types: subclassable, and made in
// the time that the pool takes.
#pragma once
#include <Python.h>

#include "../reference.hpp"

#include <entrepot/array/array.hpp>

#include <cstddef>
#include <optional>
#include <span>

namespace entrepot::python {

// The bytes that such an object stands for: a whole Memory, or the part of it that a view touches.
struct UsmMemory {
    Memory memory;
    void *data = nullptr;
    std::size_t bytes = 0;
    UsmKind kind = UsmKind::unknown;  // the class's
    bool read_only = false;
    Queue queue;                 // in the memory's context
    LazyReference queue_object;  // the caller's own object for `queue`; empty: ours, made when it is asked for
};

// Objects of our classes. A subclass that describes itself by an interface of its own is none of these: its word counts.
bool is_usm_memory(PyObject *object) noexcept;

// An array of uint8 over the same Memory.
Array bytes_of(const UsmMemory &memory);

// The same of a buffer that the caller holds for as long as the array lives.
Array bytes_of(const Py_buffer &buffer);

// Its UsmMemory. Throws ValueError for an object that the garbage collector has emptied.
UsmMemory &usm_memory_of(PyObject *self);

// The classes, one for each kind that can be allocated.
struct UsmClass {
    const char *name;  // with its module
    UsmKind kind;
    int number;  // of the kind, as get_usm_type_enum gives it
    const char *doc;
    PyTypeObject *type = nullptr;
};
std::span<const UsmClass> usm_classes() noexcept;
extern PyTypeObject *usm_memory_base;

// The class of that kind; nullptr for memory of an unknown kind.
const UsmClass *usm_class_of(UsmKind kind) noexcept;

// type.cpp: a new object of the class or of a subclass. Throws PythonError.
PyObject *wrap(PyTypeObject *type, UsmMemory &&memory);

// construct.cpp: the bytes that an object with SUAI, an Array or one of ours spans; nullopt for other objects. Throws what the
// protocol says when it refuses. The others are what the types and the module call.
std::optional<UsmMemory> find_usm_memory(PyObject *object);
PyObject *usm_memory_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
PyObject *usm_memory_vectorcall(PyObject *type, PyObject *const *args, std::size_t nargsf, PyObject *kwnames);
PyObject *as_usm_memory(PyObject *module, PyObject *object);
PyObject *usm_memory_rebuild(PyObject *module, PyObject *args);

// methods.cpp
extern PyMethodDef usm_memory_methods[];
extern PyGetSetDef usm_memory_attributes[];

}  // namespace entrepot::python

// Declared: classes made from C declarations (records, handles, pointers to functions), and the
// data that their metaclass stores for each class.
#pragma once
#include <Python.h>

#include "../support/reference.hpp"
#include "ctype.hpp"

#include <entrepot/python/adapters.h>
#include <ffi/signature.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace entrepot::python {

// Description of a class made from a C declaration. Never freed, because the classes are not.
struct Declared {
    std::string name;
};

struct FieldObject {
    PyObject_HEAD const CTypeObject *ctype;
    PyObject *name;
    const char *text;     // UTF-8 of the name
    const char *owner;    // name of the record class; never freed
    std::size_t offset;   // in bytes, from the record's start
    int first_bit, bits;  // bits is 0 unless the field is a bit-field
    bool in_anonymous;    // inside an anonymous member: an attribute, but not counted as a field
};

struct RecordLayout : Declared {
    std::size_t size = 0, alignment = 1;
    bool is_union = false;
    std::vector<FieldObject *> fields;  // without those inside anonymous members
    std::vector<std::byte> initial;     // empty: zeros
    std::vector<ffi::Scalar> scalars;
};

struct RecordObject {
    entrepot_pointer pointer;
    PyObject *root;  // views only: the record that owns the memory
    // Roots only: dict from the address of a field to the object that the field points to. Guarded
    // by Exclusive of the root.
    PyObject *referents;
};

struct CallbackType : Declared {
    std::vector<const CTypeObject *> parameters;
    std::vector<std::string> names;
    const CTypeObject *result = nullptr;
    std::optional<ffi::Signature> signature;
};

// Description of a class with this metaclass; nullptr for other classes and for the base classes.
const Declared *declared_of(PyTypeObject *type) noexcept;
const RecordLayout *layout_of(PyObject *type) noexcept;    // nullptr if it is not a record class
const CallbackType *callback_of(PyObject *type) noexcept;  // nullptr if it is not a callback class
// Requires: `object` is an instance of a record class.
inline RecordObject *record_of(PyObject *object) noexcept {
    return reinterpret_cast<RecordObject *>(object);
}

// A base class with this metaclass. The layout is that of each class that derives from it.
struct DeclaredBase {
    PyHeapTypeObject type;
    const Declared *declared;
};
bool init_declared(PyObject *module);
// Finishes `base` as a subclass of `of`. Returns: false with a Python exception set.
bool ready_declared_base(DeclaredBase &base, PyTypeObject *of);
// A new class derived from `base`.
//
// Lifetime: `declared` outlives the class.
// Throws: PythonError
Reference make_declared(DeclaredBase &base, const Declared *declared, PyObject *name,
                        PyObject *dict);

// ---------------------------------------------------------------- records

bool is_record(PyObject *object) noexcept;
// The object that was assigned to the record's field at `place`.
//
// Requires: is_record(record)
// Returns: empty if the field no longer has the object's address `address`, because C has written
//          it: what it points to is unknown.
Reference referent_at(PyObject *record, const void *place, const void *address);
// Copies the record's `size` bytes to `to`. A later assignment to its fields, also by Python code
// that runs before the copy is used, changes neither the copy nor the result.
//
// Requires: is_record(record), and its address is not NULL.
// Returns: the objects that its fields point to, as a tuple of offset, object, offset, …; empty
//          without such objects.
// Throws: PythonError
Reference copy_record(PyObject *record, std::size_t size, void *to);
// Requires: is_record(record)
// Throws: ValueError if a field points to a freed DeviceArray, or to a list with an address in one.
void check_fields_not_freed(PyObject *record, const Subject &subject);
// Bytes of host memory at the object's address; -1 if unknown.
Py_ssize_t known_bytes(PyObject *object);
// Same as extent_of() for `Argument::held`; also handles records.
Py_ssize_t extent_of_held(PyObject *held);
// A record of class `type` at the address.
//
// Ownership: holds a reference to `owner`, which is a record or another adapter. With nullptr the
//            memory is borrowed and its length is unknown.
// Throws: PythonError
Reference record_view(PyTypeObject *type, void *address, PyObject *owner);
// New memory for `count` records. Fields have their defaults; those without a default are zero.
// Throws: PythonError
Reference new_record(PyTypeObject *type, std::size_t count = 1);
bool init_record(PyObject *module);

// ---------------------------------------------------------------- handles

bool is_handle_class(PyTypeObject *type) noexcept;
inline bool is_handle(PyObject *object) noexcept { return is_handle_class(Py_TYPE(object)); }
bool init_handle(PyObject *module);

// ---------------------------------------------------------------- pointers to functions

bool init_callback(PyObject *module);
// A function pointer of class `type` that calls a Python callable.
// Throws: PythonError, DeviceError if the system provides no executable memory.
Reference wrap_callable(PyTypeObject *type, PyObject *callable);

}  // namespace entrepot::python

// Declared: classes made from C declarations (records, handles, pointers to functions), and the
// data that their metaclass stores for each class.
#pragma once
#include <Python.h>

#include "../support/reference.hpp"
#include "form.hpp"

#include <entrepot/ffi/signature.hpp>
#include <entrepot/python/adapters.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace entrepot::python {

// The description of such a class. Never freed, because the classes are not.
struct Declared {
    std::string name;
};

struct FieldObject {
    PyObject_HEAD const FormObject *form;
    PyObject *name;
    const char *text;  // UTF-8 of the name
    const char *owner;
    std::size_t offset;
    int first_bit, bits;  // bits is 0 unless the field is a bit-field
    bool is_inside;       // inside an anonymous member: an attribute, but not counted as a field
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
    PyObject *kept;  // roots only: dict of the address of a field to the object that it points to
};

struct CallbackForm : Declared {
    std::vector<const FormObject *> parameters;
    std::vector<std::string> names;
    const FormObject *result = nullptr;
    std::optional<ffi::Signature> signature;
};

// The description of a class with this metaclass; nullptr for the base classes themselves.
const Declared *declared_of(PyTypeObject *type) noexcept;
const RecordLayout *layout_of(PyObject *type) noexcept;  // nullptr if it is not a record class
const CallbackForm *callback_of(PyObject *type) noexcept;
inline RecordObject *record_of(PyObject *object) noexcept {
    return reinterpret_cast<RecordObject *>(object);
}

// A base class with this metaclass.
struct DeclaredBase {
    PyHeapTypeObject type;
    const Declared *declared;
};
bool init_declared(PyObject *module);
bool ready_declared_base(DeclaredBase &base, PyTypeObject *of);
// A new class derived from `base`.
Reference make_declared(DeclaredBase &base, const Declared *declared, PyObject *name,
                        PyObject *dict);

// ---------------------------------------------------------------- records

bool is_record(PyObject *object) noexcept;
// The object that was assigned to the record's field at `place`, if the field still has the
// object's address. Otherwise empty: the target of the field is unknown.
Reference kept_at(PyObject *record, const void *place, const void *address);
// Throws ValueError if a field points to a freed DeviceArray, or to a list with an address in one.
void check_fields_not_freed(PyObject *record, const Subject &subject);
// Bytes of host memory at the object's address; -1 if unknown.
Py_ssize_t known_bytes(PyObject *object);
// Same as extent_of() for `Argument::held`; also handles records.
Py_ssize_t extent_of_held(PyObject *held);
// A view that keeps `owner` alive, which is a record or another adapter. With nullptr, the memory
// is not kept alive and its length is unknown.
Reference record_view(PyTypeObject *type, void *address, PyObject *owner);
// A new record with default values; fields without a default are zero.
Reference new_record(PyTypeObject *type, std::size_t count = 1);
bool init_record(PyObject *module);

// ---------------------------------------------------------------- handles

bool is_handle_class(PyTypeObject *type) noexcept;
inline bool is_handle(PyObject *object) noexcept { return is_handle_class(Py_TYPE(object)); }
bool init_handle(PyObject *module);

// ---------------------------------------------------------------- pointers to functions

bool init_callback(PyObject *module);
// A wrapper of class `type` for a Python callable.
Reference wrap_callable(PyTypeObject *type, PyObject *callable);

}  // namespace entrepot::python

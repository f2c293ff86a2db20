// Declared: classes that are made from declarations of C (records, handles, pointers to functions), and what their metaclass
// knows of each.
#pragma once
#include <Python.h>

#include "../reference.hpp"
#include "form.hpp"

#include <entrepot/ffi/signature.hpp>
#include <entrepot/python/adapters.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace entrepot::python {

// What such a class is of; lives as long as the process, as the classes do.
struct Declared {
    std::string name;
};

struct FieldObject {
    PyObject_HEAD const FormObject *form;
    PyObject *name;
    const char *text;  // of the name
    const char *owner;
    std::size_t offset;
    int first_bit, bits;  // of bit-fields; bits 0: none
    bool is_inside;       // of an anonymous member: reached, not counted
};

struct RecordLayout : Declared {
    std::size_t size = 0, alignment = 1;
    bool is_union = false;
    std::vector<FieldObject *> fields;  // without those inside of anonymous members
    std::vector<std::byte> initial;     // empty: zeros
    std::vector<ffi::Scalar> scalars;
};

struct RecordObject {
    entrepot_pointer pointer;
    PyObject *root;  // of a view: the record that has the memory
    PyObject *kept;  // dict: address → what a field there points to; of a root
};

struct CallbackForm : Declared {
    std::vector<const FormObject *> parameters;
    std::vector<std::string> names;
    const FormObject *result = nullptr;
    std::optional<ffi::Signature> signature;
};

// Of a class whose metaclass is ours; nullptr for the bases of all.
const Declared *declared_of(PyTypeObject *type) noexcept;
const RecordLayout *layout_of(PyObject *type) noexcept;  // nullptr where it is no record class
const CallbackForm *callback_of(PyObject *type) noexcept;
inline RecordObject *record_of(PyObject *object) noexcept { return reinterpret_cast<RecordObject *>(object); }

// A base class whose metaclass is ours.
struct DeclaredBase {
    PyHeapTypeObject type;
    const Declared *declared;
};
bool init_declared(PyObject *module);
bool ready_declared_base(DeclaredBase &base, PyTypeObject *of);
// A class of that base.
Reference make_declared(DeclaredBase &base, const Declared *declared, PyObject *name, PyObject *dict);

// ---------------------------------------------------------------- records

bool is_record(PyObject *object) noexcept;
// What a field of the record at that place points to, where that is what was assigned; nullptr: nobody knows what is there.
Reference kept_at(PyObject *record, const void *place, const void *address);
// Throws ValueError where a field points to a DeviceArray that has been given back, or to a list of addresses with one in it.
void check_fields_not_freed(PyObject *record, const Subject &subject);
// Bytes of host memory that the object stands for; -1: not known.
Py_ssize_t known_bytes(PyObject *object);
// As extent_of, of what an argument is held by: of a record, too.
Py_ssize_t extent_of_held(PyObject *held);
// A view that keeps `owner`, a record or another adapter; without one, of memory that is nobody's, and of unknown length.
Reference record_view(PyTypeObject *type, void *address, PyObject *owner);
// A new record of zeros and defaults.
Reference new_record(PyTypeObject *type, std::size_t count = 1);
bool init_record(PyObject *module);

// ---------------------------------------------------------------- handles

bool is_handle_class(PyTypeObject *type) noexcept;
inline bool is_handle(PyObject *object) noexcept { return is_handle_class(Py_TYPE(object)); }
bool init_handle(PyObject *module);

// ---------------------------------------------------------------- pointers to functions

bool init_callback(PyObject *module);
// A wrapper of the class around a Python callable.
Reference wrap_callable(PyTypeObject *type, PyObject *callable);

}  // namespace entrepot::python

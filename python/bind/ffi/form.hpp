// Form: a C type together with the Python representation of its values;
// entrepot.ffi makes one per type.
#pragma once
#include <Python.h>

#include <entrepot/ffi/type.hpp>

#include "../adapters/adapters.hpp"
#include "../support/reference.hpp"

#include <cstddef>
#include <ostream>
#include <vector>

namespace entrepot::python {

enum class How : std::uint8_t {
    none,         // void
    number,       // bool, int, float
    character,    // C's char: an int; an array of it is a string that ends at its NUL
    raw,          // a byte; an array of it is bytes of full length
    enumeration,  // a member of the enum; an int if no member has the value
    address,      // an adapter
    record,       // by value; inside a record, a view
    pointed,      // the address of a record, read as a view
    array,        // of `count` elements
};

struct FormObject {
    PyObject_HEAD How how;
    ffi::Kind kind;
    PyObject *type;     // enum, adapter class or record class; otherwise nullptr
    PyObject *members;  // of enums: value → member
    FormObject *element;
    Py_ssize_t count;
};

extern PyTypeObject *form_type;

// Throws TypeError if the object is not a Form.
const FormObject &form_of(PyObject *object);

std::size_t size_of(const FormObject &form);
ffi::Type ffi_type_of(const FormObject &form);
// Appends the scalars (numbers and pointers) that the type consists of. Offsets start at `offset`.
void add_scalars(const FormObject &form, std::size_t offset, std::vector<ffi::Scalar> &scalars);

// The beginning of an error message: where a value is used.
struct Subject {
    const char *owner;  // a function or a record
    const char *name;   // an argument or a field
    bool is_field = false;
};
std::ostream &operator<<(std::ostream &out, const Subject &subject);

// Writes the value as C expects it. Adds to `held` the objects that must live as long as the
// written addresses. Throws TypeError and OverflowError with the subject.
void store(const FormObject &form, PyObject *value, void *to, const Subject &subject,
           Reference &held, Use use = Use::read);

// Throws TypeError if the object is a handle or owns one: here C expects the address of a handle.
void check_no_handle(PyObject *object, const Subject &subject);

// Throws ValueError if the object's memory is known to have fewer bytes.
void check_room(PyObject *object, std::size_t bytes, const Subject &subject);

// `owner` owns the memory at `from` and is kept alive by views. If it is
// nullptr, records are copied.
Reference load(const FormObject &form, const void *from, PyObject *owner);

// An object of an adapter class for the address; None for NULL.
Reference adapter_at(PyTypeObject *type, void *address);

bool init_form(PyObject *module);

}  // namespace entrepot::python

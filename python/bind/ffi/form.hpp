// Form: a type of C together with what its values are in Python; made once for each by entrepot.ffi.
#pragma once
#include <Python.h>

#include <entrepot/ffi/type.hpp>

#include "../adapters/adapters.hpp"
#include "../reference.hpp"

#include <cstddef>
#include <ostream>
#include <vector>

namespace entrepot::python {

enum class How : std::uint8_t {
    none,         // void
    number,       // bool, int, float
    character,    // C's char: an int; an array of it is a string up to its NUL
    raw,          // a byte; an array of it is bytes, all of them
    enumeration,  // a member of the enum; the int where it has none
    address,      // an adapter
    record,       // by value; in records a view of it
    pointed,      // the address of a record: a view of that
    array,        // of `count` elements
};

struct FormObject {
    PyObject_HEAD How how;
    ffi::Kind kind;
    PyObject *type;     // enum, adapter class or record; nullptr where there is none
    PyObject *members;  // of enums: value → member
    FormObject *element;
    Py_ssize_t count;
};

extern PyTypeObject *form_type;

// Throws TypeError where it is none.
const FormObject &form_of(PyObject *object);

std::size_t size_of(const FormObject &form);
ffi::Type ffi_type_of(const FormObject &form);
// The numbers and pointers that it consists of, from `offset` on.
void add_scalars(const FormObject &form, std::size_t offset, std::vector<ffi::Scalar> &scalars);

// What a value is for, as messages begin.
struct Subject {
    const char *owner;  // a function or a record
    const char *name;   // an argument or a field
    bool is_field = false;
};
std::ostream &operator<<(std::ostream &out, const Subject &subject);

// Writes the value as C has it. What must live as long as the address that was written is added to `held`. Throws TypeError and
// OverflowError with the subject.
void store(const FormObject &form, PyObject *value, void *to, const Subject &subject, Reference &held, Use use = Use::read);

// Throws TypeError where the object is a handle, or keeps one: C takes the address of a place for handles there.
void check_no_handle(PyObject *object, const Subject &subject);

// Throws ValueError where the object's memory is known to be of fewer bytes.
void check_room(PyObject *object, std::size_t bytes, const Subject &subject);

// `owner` is what a view keeps alive: the object that has the memory; nullptr: nobody, records are copied.
Reference load(const FormObject &form, const void *from, PyObject *owner);

// An object of an adapter class that stands for the address; None for NULL.
Reference adapter_at(PyTypeObject *type, void *address);

bool init_form(PyObject *module);

}  // namespace entrepot::python

// CTypeObject: a C type and the conversion of its values to Python and back. There is one object
// for each type, and entrepot.ffi creates it. The Python name of the class is entrepot._core.Form.
//
// GIL: required by all functions.
#pragma once
#include <Python.h>

#include <ffi/type.hpp>

#include "../adapters/adapters.hpp"
#include "../support/reference.hpp"

#include <cstddef>
#include <ostream>
#include <vector>

namespace entrepot::python {

// Kind of a C type: selects the conversion of its values.
enum class CKind : std::uint8_t {
    none,         // void
    number,       // bool, int, float
    character,    // C's char: an int; an array of it is a string that ends at its NUL
    raw,          // a byte; an array of it is bytes of full length
    enumeration,  // a member of the enum; a pseudo-member if no member has the value
    address,      // an adapter
    record,       // by value; inside a record, a view
    pointed,      // the address of a record, read as a view
    array,        // of `count` elements
};

// Immutable, except that complete() sets `type` of a pointer to a record once.
//
// Ownership: it owns its references.
struct CTypeObject {
    PyObject_HEAD CKind c_kind;
    ffi::Kind kind;        // as libffi passes it; of an array: none
    PyObject *type;        // enum, adapter class or record class; otherwise nullptr
    PyObject *members;     // enumeration: dict of values to members; otherwise nullptr
    CTypeObject *element;  // array: type of an element; otherwise nullptr
    Py_ssize_t count;      // array: number of elements
};

extern PyTypeObject *ctype_type;

// Ownership: the result is borrowed from `object`.
// Throws: TypeError if the object is not a CTypeObject.
const CTypeObject &ctype_of(PyObject *object);

// In bytes, as C's sizeof. 0 for void.
std::size_t size_of(const CTypeObject &ctype);
// The type of a parameter or result. An array is passed as a pointer.
ffi::Type ffi_type_of(const CTypeObject &ctype);
// Appends the scalars (numbers and pointers) that the type consists of. Offsets start at `offset`.
void add_scalars(const CTypeObject &ctype, std::size_t offset, std::vector<ffi::Scalar> &scalars);

// The beginning of an error message: where a value is used.
struct Subject {
    const char *owner;  // a function or a record
    const char *name;   // an argument or a field
    bool is_field = false;
};
std::ostream &operator<<(std::ostream &out, const Subject &subject);

// Writes the value to `to` as C expects it. `use` is what C does with memory whose address is
// written.
//
// Requires: `to` points to size_of(ctype) bytes, at any alignment.
// Throws: TypeError, ValueError or OverflowError that begins with the subject; PythonError. Then
//         nothing has been written.
// Lifetime: the caller keeps `held` for as long as C uses the written addresses. For an array it is
//           a tuple with one item for each element, for a record the result of copy_record().
void store(const CTypeObject &ctype, PyObject *value, void *to, const Subject &subject,
           Reference &held, Use use = Use::read);

// For parameters that C takes the address of a handle for.
// Throws: TypeError if the object is a handle or owns one.
void check_no_handle(PyObject *object, const Subject &subject);

// Throws: ValueError if the object's memory is known to have fewer bytes.
void check_room(PyObject *object, std::size_t bytes, const Subject &subject);

// The value at `from` as a Python object.
//
// Requires: `from` points to size_of(ctype) bytes. `owner` is nullptr or the record that owns them.
// Ownership: a view of a record holds a reference to `owner`. Without an owner, records are copied.
// Throws: PythonError
Reference load(const CTypeObject &ctype, const void *from, PyObject *owner);

// A new object of an adapter class for the address, of unknown length; None for NULL.
// Requires: `type` is a subclass of entrepot.adapters.Pointer.
// Lifetime: the memory is borrowed from C.
// Throws: PythonError
Reference adapter_at(PyTypeObject *type, void *address);

bool init_ctype(PyObject *module);

}  // namespace entrepot::python

// The way in: which protocols an object's type speaks, remembered by type, and the import through the first that serves.
#pragma once
#include "protocol.hpp"

#include <optional>
#include <string_view>

namespace entrepot::python {

// Any object → Array, by the first protocol in order that it speaks. Throws what the protocol says when it refuses;
// TypeError where the object speaks none.
Array import_array(PyObject *object, const ImportRequest &request);
// The same as an object: a new reference; nullptr with an exception set.
PyObject *import_wrapped(PyObject *object);

// What to ask for an operand of one operation (ImportRequest::for_one_operation).
extern const ImportRequest for_an_operand;
// The same for such an operand, and for functions that are called through
// nanobind, which must not be unwound by the end of a thread (gil.hpp): a thread that ends in Python code of the object's rests
// there.
Array import_operand(PyObject *object);

// True if the producer of the object, which is not an Array, reads its memory on the host without synchronizing with us, as NumPy
// does. Work on it has ended when the call returns.
inline bool is_watched(const Array &imported) noexcept {
    return !imported.memory().is_used_in_stream_order() && imported.is_host_accessible();
}

// True if objects of the type are known to be arrays of NumPy, CuPy or a library with DLPack's function table, and so no numbers.
// False for a type that none has been imported of lately.
bool is_array_type(PyTypeObject *type) noexcept;

// By that protocol alone; throws ValueError for an unknown name, ExchangeError where the object does not speak it.
Array import_array(PyObject *object, const ImportRequest &request, std::string_view protocol);

// Makes the attribute names, once.
bool init_routes();

}  // namespace entrepot::python

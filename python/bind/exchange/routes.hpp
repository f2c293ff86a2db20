// Import of any object: which protocols its type supports, cached by type,
// and the order of attempts.
#pragma once
#include "protocol.hpp"

#include <optional>
#include <string_view>

namespace entrepot::python {

// Imports the object by the first protocol that it supports.
// Throws: the error of the protocol that refuses the object; TypeError if it supports none.
Array import_array(PyObject *object, const ImportRequest &request);
// Same as import_array, but returns a new reference; nullptr with an exception set.
PyObject *import_wrapped(PyObject *object);

// Request for an operand of one operation (ImportRequest::for_one_operation).
extern const ImportRequest for_an_operand;
// Imports such an operand, for functions that are called through nanobind. A forced unwinding of
// the thread must not pass through nanobind (support/gil.hpp). If the thread ends in the object's
// Python code, it blocks there instead.
Array import_operand(PyObject *object);

// True if the producer of the imported object reads its memory on the host without synchronization,
// as NumPy does. Operations on such memory return only after their work has finished.
inline bool is_watched(const Array &imported) noexcept {
    return !imported.memory().is_used_in_stream_order() && imported.is_host_accessible();
}

// True if objects of the type are known to be arrays, not numbers: NumPy's, CuPy's, or those of a
// library with DLPack's function table. False if no object of the type was imported recently.
bool is_array_type(PyTypeObject *type) noexcept;

// Imports by the named protocol only. Throws ValueError for an unknown name and ExchangeError if
// the object does not support the protocol.
Array import_array(PyObject *object, const ImportRequest &request, std::string_view protocol);

// Interns the attribute names. Called once.
bool init_routes();

}  // namespace entrepot::python

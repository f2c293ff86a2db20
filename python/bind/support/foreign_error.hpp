// Text of foreign objects for messages: the repr of a value, and the message of an exception.
#pragma once
#include <Python.h>

#include <string>

namespace entrepot::python {

// The value's shortened repr, or its type if the repr fails.
std::string shown(PyObject *value);

// Clears the exception that a foreign call raised because of a value, and returns its message.
// Throws: PythonError if the exception is unrelated to a value (KeyboardInterrupt, MemoryError).
std::string take_words_about_value();

}  // namespace entrepot::python

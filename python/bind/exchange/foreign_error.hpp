// What foreign objects say when they are asked: their values as messages show them, their exceptions as part of our refusals.
#pragma once
#include <Python.h>

#include <string>

namespace entrepot::python {

// The value's repr, shortened; its type where the repr fails.
std::string shown(PyObject *value);

// After a foreign call has failed because of a value: clears the exception and returns its words. An exception that has nothing
// to do with a value (KeyboardInterrupt, MemoryError) is left to fly, as PythonError.
std::string take_words_about_value();

}  // namespace entrepot::python

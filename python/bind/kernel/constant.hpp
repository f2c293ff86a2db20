// Conversion of Python objects that a kernel captures to constants of the compiler.
#pragma once
#include <Python.h>

#include <kernel/frontend/syntax.hpp>

#include <optional>
#include <string>

namespace entrepot::python {

// Accepts None, numbers, strings, tuples of these, NumPy scalars, dtypes of any library, and arrays
// that the host can read. The elements of arrays are copied.
// Returns: nullopt for any other object.
// Throws: OverflowError for an integer beyond 64 bits, PythonError
// GIL: required.
std::optional<kernel::syntax::Constant> constant_from(PyObject *object);

// The compiler's name of a function of Entrepot, of Python's builtins, or of math, cmath and NumPy;
// nullopt for any other object.
// Throws: PythonError
// GIL: required.
std::optional<std::string> builtin_name_of(PyObject *object);

// Distinct for distinct constants; part of the key of compiled code.
std::string text_of(const kernel::syntax::Constant &constant);

}  // namespace entrepot::python

// Constant: a Python object that a kernel found in its surroundings, as the compiler sees it.
#pragma once
#include <Python.h>

#include <entrepot/kernel/compiler/syntax.hpp>

#include <optional>
#include <string>

namespace entrepot::python {

// None, numbers, strings, tuples of them, NumPy scalars, dtypes of any library, arrays that the host can read (whose elements are
// copied). nullopt for anything else. Throws OverflowError for an integer beyond 64 bits.
std::optional<kernel::syntax::Constant> constant_from(PyObject *object);

// The compiler's name of a function of ours, of Python's builtins, or of math, cmath and NumPy; nullopt for anything else.
std::optional<std::string> builtin_name_of(PyObject *object);

// Different for different constants: what is behind a kernel's name in the key of its code.
std::string text_of(const kernel::syntax::Constant &constant);

}  // namespace entrepot::python

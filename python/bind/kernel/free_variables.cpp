#include "free_variables.hpp"

#include "../support/errors.hpp"
#include "../support/interned.hpp"

#include <algorithm>
#include <string_view>

namespace entrepot::python {
namespace {

const Interned builtins_name = "__builtins__", free_name = "co_freevars";

// Modules whose functions and constants do not change, so that checks on each launch are
// unnecessary.
bool is_fixed_module(PyObject *object) {
    if (!PyModule_Check(object))
        return false;
    const char *const text = PyModule_GetName(object);
    if (!text) {
        PyErr_Clear();
        return false;
    }
    const std::string_view name = text;
    return name == "math" || name == "math.integer" || name == "cmath" || name == "numpy" ||
           name == "entrepot" || name.starts_with("entrepot.");
}

}  // namespace

FreeVariables::FreeVariables(PyObject *function, Guards &guards)
    : globals_(Reference::borrow(PyFunction_GetGlobals(function))),
      builtins_(checked(PyObject_GetAttr(function, builtins_name))),
      closure_(Reference::borrow(PyFunction_GetClosure(function))),
      free_names_(checked(PyObject_GetAttr(PyFunction_GetCode(function), free_name))),
      guards_(guards) {}

Reference FreeVariables::find_in_closure(PyObject *name, bool &is_free) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(free_names_.get()); ++i) {
        if (PyUnicode_Compare(PyTuple_GET_ITEM(free_names_.get(), i), name) != 0)
            continue;
        is_free = true;
        PyObject *const cell = PyTuple_GET_ITEM(closure_.get(), i);
        Reference found(PyCell_Get(cell));
        guards_.cell(cell, found.get());
        return found;
    }
    return {};
}

Reference FreeVariables::find(PyObject *name) {
    bool is_free = false;
    Reference found = find_in_closure(name, is_free);
    if (is_free)
        return found;
    for (PyObject *dict : {globals_.get(), builtins_.get()}) {
        found = item_of(dict, name);
        if (!found && PyErr_Occurred())
            throw PythonError{};
        guards_.name(dict, name, found.get());
        if (found)
            break;
    }
    return found;
}

Reference FreeVariables::attribute_of(PyObject *object, PyObject *name) {
    Reference found(PyObject_GetAttr(object, name));
    if (!found) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            throw PythonError{};
        PyErr_Clear();
    }
    if (!is_fixed_module(object))
        guards_.attribute(object, name, found.get());
    return found;
}

}  // namespace entrepot::python

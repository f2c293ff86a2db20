// The classes of entrepot.kernel by which the compiler's front end recognizes names.
#pragma once
#include <Python.h>

#include "../support/reference.hpp"

namespace entrepot::python {

// Imported when the first kernel is created or launched. The references are never released.
struct Language {
    PyObject *builtin;  // entrepot.kernel.language.Builtin: has `name`
    PyObject *item;     // entrepot.kernel.language.Item: the class of numba-dpex's Item and NdItem
    PyObject *device_function;  // entrepot.kernel.functions.DeviceFunction: has `function`
    // entrepot.kernel.source.find(function) → (node, file, text, first_line)
    PyObject *find_source;
    PyObject *nd_range;  // entrepot.kernel.ranges.NdRange: has global_range, local_range
};
// Throws: PythonError
// GIL: required.
const Language &language();

}  // namespace entrepot::python

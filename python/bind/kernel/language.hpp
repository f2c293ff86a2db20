// The Python side of the kernel language: the classes of entrepot.kernel that the compiler's front tells names by.
#pragma once
#include <Python.h>

#include "../reference.hpp"

namespace entrepot::python {

// Imported when a kernel is first made or launched, and kept for ever.
struct Language {
    PyObject *builtin;          // entrepot.kernel.language.Builtin: has `name`
    PyObject *item;             // entrepot.kernel.language.Item: the class of numba-dpex's Item and NdItem
    PyObject *device_function;  // entrepot.kernel.functions.DeviceFunction: has `function`
    PyObject *find_source;      // entrepot.kernel.source.find(function) → (node, file, text, first_line)
    PyObject *nd_range;         // entrepot.kernel.ranges.NdRange: has global_range, local_range
};
const Language &language();

}  // namespace entrepot::python

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
    PyObject *macro;            // entrepot.kernel.macros.Macro: has expand(node, values)
    // entrepot.kernel.source.find(function) → (node, file, text, first_line)
    PyObject *find_source;
    // entrepot.kernel.source.language_of(function) → SourceLanguage: has typing, spellings, terms,
    // x_first
    PyObject *language_of;
    PyObject *nd_range;      // entrepot.kernel.ranges.NdRange: has global_range, local_range
    PyObject *struct_array;  // the class entrepot.kernel.structs.StructArray
    // entrepot.kernel.structs.split(object) → (StructLayout, Array of bytes or tuple of numbers).
    // None for an object that has no fields, a str that says why it is refused.
    PyObject *split_struct;
    // entrepot.kernel.structs.handle_of(dtype) → StructLayout, None or a str, likewise
    PyObject *struct_layout;
};
// Throws: PythonError
// GIL: required.
const Language &language();

}  // namespace entrepot::python

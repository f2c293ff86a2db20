// Quirks: the rows of the table are found by the class that defines the attribute, and remembered by type.
#include "../gil.hpp"
#include "quirks.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace entrepot::python {
namespace {

PyObject *attribute_name() {
    static PyObject *const name = PyUnicode_InternFromString("__sycl_usm_array_interface__");
    return name;
}

// The class whose body has the attribute, borrowed; nullptr where only an instance has it.
PyTypeObject *defining_class(PyTypeObject *type) {
    PyObject *const mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); ++i) {
        auto *const each = reinterpret_cast<PyTypeObject *>(PyTuple_GET_ITEM(mro, i));
        if (each->tp_dict && PyDict_Contains(each->tp_dict, attribute_name()) == 1)
            return each;
    }
    PyErr_Clear();
    return nullptr;
}

bool is_in_package(std::string_view module, std::string_view package) {
    return module.starts_with(package) && (module.size() == package.size() || module[package.size()] == '.');
}

// Empty where it is no string, as a __module__ may be.
std::string_view text_of(PyObject *string) {
    const char *const text = string && PyUnicode_Check(string) ? PyUnicode_AsUTF8(string) : nullptr;
    PyErr_Clear();
    return text ? text : "";
}

bool is_inverted(PyTypeObject *type) {
    PyTypeObject *const definer = defining_class(type);
    if (!definer)
        return false;
    PyObject *const module = PyObject_GetAttrString(reinterpret_cast<PyObject *>(definer), "__module__");
    const char *const dot = std::strrchr(definer->tp_name, '.');
    const std::string_view name = dot ? dot + 1 : definer->tp_name;
    bool found = false;
    for (const InvertedProducer &row : inverted_producers)
        found |= name == row.name && is_in_package(text_of(module), row.package);
    PyErr_Clear();
    Py_XDECREF(module);
    return found;
}

// A type's version is unique in the process and changes with the type, so an entry is never taken for another type's.
struct Known {
    PyTypeObject *type = nullptr;
    unsigned version = 0;
    bool inverted = false;
};

ENTREPOT_GIL_GUARDED std::array<Known, 32>
        known_types;  // guarded by the GIL, where there is one

}  // namespace

bool inverted_read_only(PyTypeObject *type) {
    Known &known = known_types[(reinterpret_cast<std::uintptr_t>(type) >> 4) % known_types.size()];
    if (known.type == type && known.version == type->tp_version_tag && known.version != 0) [[likely]]
        return known.inverted;
    const bool inverted = is_inverted(type);
    known = {type, type->tp_version_tag, inverted};  // a type without a version has 0 there, and is looked up again
    return inverted;
}

}  // namespace entrepot::python

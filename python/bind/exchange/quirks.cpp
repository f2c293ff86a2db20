// Quirks: the rows of the tables are found by the class that defines the attribute, and remembered by type.
#include "quirks.hpp"
#include "../gil.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace entrepot::python {
namespace {

// The class whose body has the attribute, borrowed; nullptr where only an instance has it.
PyTypeObject *defining_class(PyTypeObject *type, PyObject *attribute) {
    PyObject *const mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); ++i) {
        auto *const each = reinterpret_cast<PyTypeObject *>(PyTuple_GET_ITEM(mro, i));
        if (each->tp_dict && PyDict_Contains(each->tp_dict, attribute) == 1)
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

bool is_one_of(PyTypeObject *type, PyObject *attribute, std::span<const OddProducer> rows) {
    PyTypeObject *const definer = defining_class(type, attribute);
    if (!definer)
        return false;
    PyObject *const module = PyObject_GetAttrString(reinterpret_cast<PyObject *>(definer), "__module__");
    const char *const dot = std::strrchr(definer->tp_name, '.');
    const std::string_view name = dot ? dot + 1 : definer->tp_name;
    bool found = false;
    for (const OddProducer &row : rows)
        found |= name == row.name && is_in_package(text_of(module), row.package);
    PyErr_Clear();
    Py_XDECREF(module);
    return found;
}

// Types that were looked for among the rows of one table. A type's version is unique in the process and changes with the type, so
// an entry is never taken for another type's; a type without a version has 0 there, and is looked for again.
class KnownTypes {
public:
    bool are_in(std::span<const OddProducer> rows, PyObject *attribute, PyTypeObject *type) {
        Known &known = entries_[(reinterpret_cast<std::uintptr_t>(type) >> 4) % entries_.size()];
        if (known.type == type && known.version == type->tp_version_tag && known.version != 0) [[likely]]
            return known.found;
        const bool found = is_one_of(type, attribute, rows);
        known = {type, type->tp_version_tag, found};
        return found;
    }

private:
    struct Known {
        PyTypeObject *type = nullptr;
        unsigned version = 0;
        bool found = false;
    };
    std::array<Known, 32> entries_;
};

ENTREPOT_GIL_GUARDED KnownTypes known_of_suai, known_of_dlpack;  // guarded by the GIL, where there is one

}  // namespace

bool inverted_read_only(PyTypeObject *type) {
    static PyObject *const attribute = PyUnicode_InternFromString("__sycl_usm_array_interface__");
    return known_of_suai.are_in(inverted_producers, attribute, type);
}

bool is_immutable(PyTypeObject *type) {
    static PyObject *const attribute = PyUnicode_InternFromString("__dlpack__");
    return known_of_dlpack.are_in(immutable_producers, attribute, type);
}

}  // namespace entrepot::python

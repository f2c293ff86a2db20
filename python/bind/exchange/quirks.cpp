// Lookup of quirks by the class that defines the attribute, cached by type.
#include "quirks.hpp"

#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/interned.hpp"
#include "../support/key_caches.hpp"
#include "../support/reference.hpp"

#include <entrepot/core/error.hpp>

#include <cstring>
#include <span>
#include <string_view>

namespace entrepot::python {
namespace {

// The class in the MRO that defines the attribute, borrowed; nullptr if only an instance has it.
PyTypeObject *defining_class(const Reference &mro, PyObject *attribute) {
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro.get()); ++i) {
        auto *const each = reinterpret_cast<PyTypeObject *>(PyTuple_GET_ITEM(mro.get(), i));
        if (each->tp_dict && PyDict_Contains(each->tp_dict, attribute) == 1)
            return each;
    }
    PyErr_Clear();
    return nullptr;
}

bool is_in_package(std::string_view module, std::string_view package) {
    return module.starts_with(package) &&
           (module.size() == package.size() || module[package.size()] == '.');
}

// Empty if it is not a string, which __module__ need not be.
std::string_view text_of(PyObject *string) {
    const char *const text = string && PyUnicode_Check(string) ? PyUnicode_AsUTF8(string) : nullptr;
    PyErr_Clear();
    return text ? text : "";
}

bool is_one_of(PyTypeObject *type, PyObject *attribute, std::span<const OddProducer> rows) {
    const Reference mro = mro_of(type);
    PyTypeObject *const definer = defining_class(mro, attribute);
    if (!definer)
        return false;
    const Reference module(
        PyObject_GetAttrString(reinterpret_cast<PyObject *>(definer), "__module__"));
    const char *const dot = std::strrchr(definer->tp_name, '.');
    const std::string_view name = dot ? dot + 1 : definer->tp_name;
    bool found = false;
    for (const OddProducer &row : rows)
        found |= name == row.name && is_in_package(text_of(module.get()), row.package);
    PyErr_Clear();
    return found;
}

const Interned suai_attribute = "__sycl_usm_array_interface__", dlpack_attribute = "__dlpack__",
               mask_attribute = "mask", is_masked_name = "is_masked";

// Cached result per type for one table.
using KnownTypes = VersionCache<bool, 16>;
ENTREPOT_GIL_GUARDED KnownTypes known_of_suai, known_of_dlpack;

}  // namespace

bool inverted_read_only(PyTypeObject *type) {
    return known_of_suai.find(
        type, [type] { return is_one_of(type, suai_attribute, inverted_producers); });
}

bool is_immutable(PyTypeObject *type) {
    return known_of_dlpack.find(
        type, [type] { return is_one_of(type, dlpack_attribute, immutable_producers); });
}

// Not cached here: the routes call it once for each type and cache the result.
bool may_be_masked(PyTypeObject *type) {
    return is_one_of(type, mask_attribute, masking_producers);
}

void refuse_mask(PyObject *object) {
    const Reference module(PyImport_ImportModule("numpy.ma"));
    const Reference answer(module ? PyObject_CallMethodOneArg(module.get(), is_masked_name, object)
                                  : nullptr);
    const int is_masked = answer ? PyObject_IsTrue(answer.get()) : -1;
    if (is_masked < 0)
        throw PythonError{};
    if (is_masked)
        throw Error(ErrorKind::exchange, "a ", Py_TYPE(object)->tp_name,
                    " has a mask, which no protocol can carry: what it hides would be shown; use "
                    "x.filled() or x.compressed(), or "
                    "x.data where all elements are meant");
}

}  // namespace entrepot::python

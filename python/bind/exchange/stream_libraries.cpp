#include "stream_libraries.hpp"

#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/interned.hpp"
#include "../support/key_caches.hpp"
#include "../support/reference.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>

namespace entrepot::python {
namespace {

// dpctl as a stream library. dpnp arrays made from a DLPack export work on dpctl's cached queue of
// the device. Arrays that come from dpctl or dpnp name their queue.
bool current_queue_of_dpctl(const StreamLibrary &, const Device &device,
                            std::uintptr_t &stream) noexcept {
    if (!device.backend().is_sycl())
        return false;
    return with_gil_if(true, [&] {
        const SetErrorAside aside;
        HangOnForcedUnwind hang;  // the caller is noexcept
        const Reference dpctl = imported_module("dpctl");
        const Reference selector(PyUnicode_FromString(device.root().selector().c_str()));
        const Reference queue(
            dpctl && selector
                ? PyObject_CallMethod(dpctl.get(), "get_device_cached_queue", "O", selector.get())
                : nullptr);
        const Reference address(queue ? PyObject_CallMethod(queue.get(), "addressof_ref", nullptr)
                                      : nullptr);
        stream = address ? PyLong_AsSize_t(address.get()) : 0;  // dpctl's cache owns the queue
        const bool failed = PyErr_Occurred() != nullptr;
        PyErr_Clear();
        hang.dismiss();
        return !failed && stream != 0;
    });
}
constexpr StreamLibrary dpctl_library{
    .name = "dpctl", .current_stream = current_queue_of_dpctl, .takes_exports = true};

std::optional<unsigned> library_of_dpctl(PyTypeObject *) {
    static const unsigned number = register_stream_library(dpctl_library);  // runs no Python code
    return number;
}

const Interned torch_name = "torch", cupy_name = "cupy", dpctl_name = "dpctl";

// The classes that identify libraries, and the function that finds each library.
struct ArrayClass {
    const Interned &module;
    const char *name;
    bool on_sycl, elsewhere;  // true if it has memory on SYCL devices, or on CUDA and HIP devices
    std::optional<unsigned> (*library)(PyTypeObject *type);
};
constexpr ArrayClass classes[] = {
    {torch_name, "Tensor", true, true, library_of_producer},
    {cupy_name, "ndarray", false, true, [](PyTypeObject *) { return library_of_cupy(); }},
    {dpctl_name, "SyclQueue", true, false, library_of_dpctl},
};

bool is_class(PyTypeObject *type, const ArrayClass &row) {
    const char *const dot = std::strrchr(type->tp_name, '.');
    if (std::string_view(dot ? dot + 1 : type->tp_name) != row.name)
        return false;
    const Reference module(
        PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__module__"));
    const bool is_there =
        module && PyUnicode_Check(module.get()) && PyUnicode_Compare(module.get(), row.module) == 0;
    PyErr_Clear();
    return is_there;
}

std::optional<unsigned> find_library(PyTypeObject *type) {
    const Reference mro = mro_of(type);
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro.get()); ++i) {
        auto *const each = reinterpret_cast<PyTypeObject *>(PyTuple_GET_ITEM(mro.get(), i));
        for (const ArrayClass &row : classes)
            if (is_class(each, row))
                return row.library(each);
    }
    return library_of_producer(type);
}

ENTREPOT_GIL_GUARDED VersionCache<std::optional<unsigned>, 8> known_libraries;

}  // namespace

[[gnu::hot]] void register_imported_libraries(const Device &device) {
    ENTREPOT_GIL_GUARDED static bool is_registered[std::size(classes)] = {};
    const bool is_sycl = device.backend().is_sycl();
    for (std::size_t i = 0; i < std::size(classes); ++i) {
        const ArrayClass &row = classes[i];
        if (is_registered[i] || !(is_sycl ? row.on_sycl : row.elsewhere)) [[likely]]
            continue;
        const Reference module = item_of(PyImport_GetModuleDict(), row.module);
        if (!module)
            continue;
        const Reference type(PyObject_GetAttrString(module.get(), row.name));
        PyErr_Clear();
        if (type && PyType_Check(type.get()))
            is_registered[i] =
                row.library(reinterpret_cast<PyTypeObject *>(type.get())).has_value();
    }
}

std::optional<unsigned> library_of(PyTypeObject *type) {
    return known_libraries.find(type, [type] { return find_library(type); });
}

}  // namespace entrepot::python

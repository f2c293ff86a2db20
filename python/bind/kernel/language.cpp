#include "language.hpp"

#include <atomic>

namespace entrepot::python {
namespace {

PyObject *attribute_of(const char *module, const char *name) {
    const Reference imported = checked(PyImport_ImportModule(module));
    return checked(PyObject_GetAttrString(imported.get(), name)).release();
}

}  // namespace

const Language &language() {
    // Not by the initialiser of a static object: an import may lose the GIL to a thread that would wait here for its end.
    static std::atomic<const Language *> found{nullptr};
    if (const Language *known = found.load(std::memory_order_acquire)) [[likely]]
        return *known;
    const auto *const made =
        new Language{attribute_of("entrepot.kernel.language", "Builtin"), attribute_of("entrepot.kernel.language", "Item"),
                     attribute_of("entrepot.kernel.functions", "DeviceFunction"), attribute_of("entrepot.kernel.source", "find"),
                     attribute_of("entrepot.kernel.ranges", "NdRange")};
    found.store(made, std::memory_order_release);  // two threads make equal ones
    return *made;
}

}  // namespace entrepot::python

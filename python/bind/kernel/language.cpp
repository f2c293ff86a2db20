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
    // Not a static initializer: the import may release the GIL to a thread that would then block on
    // the static's guard.
    static std::atomic<const Language *> found{nullptr};
    if (const Language *known = found.load(std::memory_order_acquire)) [[likely]]
        return *known;
    const auto *const made =
        new Language{attribute_of("entrepot.kernel.language", "Builtin"),
                     attribute_of("entrepot.kernel.language", "Item"),
                     attribute_of("entrepot.kernel.functions", "DeviceFunction"),
                     attribute_of("entrepot.kernel.macros", "Macro"),
                     attribute_of("entrepot.kernel.source", "find"),
                     attribute_of("entrepot.kernel.source", "language_of"),
                     attribute_of("entrepot.kernel.ranges", "NdRange"),
                     attribute_of("entrepot.kernel.structs", "StructArray"),
                     attribute_of("entrepot.kernel.structs", "split"),
                     attribute_of("entrepot.kernel.structs", "handle_of")};
    // Two threads may both make one; the results are equal.
    found.store(made, std::memory_order_release);
    return *made;
}

}  // namespace entrepot::python

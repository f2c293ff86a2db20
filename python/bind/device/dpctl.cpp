#include "dpctl.hpp"

#include "../support/interned.hpp"
#include "../support/reference.hpp"

#include <atomic>

namespace entrepot::python {
namespace {

using Getter = void *(*)(PyObject *);
using Counter = std::size_t (*)(PyObject *);

struct PeerClass {
    const char *module;
    const char *name;
    const char *getter;  // in the module's __pyx_capi__, where Cython publishes C functions
    std::atomic<PyTypeObject *> type{nullptr};
    std::atomic<Getter> get{nullptr};
};

PeerClass queue_class{"dpctl._sycl_queue", "SyclQueue", "SyclQueue_GetQueueRef"};
PeerClass context_class{"dpctl._sycl_context", "SyclContext", "SyclContext_GetContextRef"};
PeerClass device_class{"dpctl._sycl_device", "SyclDevice", "SyclDevice_GetDeviceRef"};
PeerClass event_class{"dpctl._sycl_event", "SyclEvent", "SyclEvent_GetEventRef"};
PeerClass memory_class{"dpctl.memory._memory", "_Memory", "Memory_GetUsmPointer"};
PeerClass memory_bytes{"dpctl.memory._memory", "_Memory", "Memory_GetNumBytes"};
PeerClass memory_queue{"dpctl.memory._memory", "_Memory", "Memory_GetQueueRef"};

// Loads the class if its module has been imported. Returns false otherwise.
// The type is never released.
bool find(PeerClass &peer) noexcept {
    if (peer.type.load(std::memory_order_acquire))
        return true;
    const Reference module = imported_module(peer.module);
    if (!module)
        return false;
    Reference type(PyObject_GetAttrString(module.get(), peer.name));
    const Reference published(PyObject_GetAttrString(module.get(), "__pyx_capi__"));
    const Reference capsule = published && PyDict_Check(published.get())
                                  ? item_of(published.get(), peer.getter)
                                  : Reference();
    void *const getter =
        capsule ? PyCapsule_GetPointer(capsule.get(), PyCapsule_GetName(capsule.get())) : nullptr;
    PyErr_Clear();
    if (!type || !PyType_Check(type.get()) || !getter)
        return false;
    peer.get.store(reinterpret_cast<Getter>(getter), std::memory_order_release);
    peer.type.store(reinterpret_cast<PyTypeObject *>(type.release()), std::memory_order_release);
    return true;
}

void *native_of(PeerClass &peer, PyObject *object) noexcept {
    PyTypeObject *const type = Py_TYPE(object);
    if (type != peer.type.load(std::memory_order_acquire)) [[unlikely]]
        if (!find(peer) || !PyType_IsSubtype(type, peer.type.load(std::memory_order_relaxed)))
            return nullptr;
    return peer.get.load(std::memory_order_relaxed)(object);
}

const Interned interface_name = "__sycl_usm_array_interface__";

// True if the type inherits its SUAI from dpctl's base class of memory. That class is a static C
// type, so the descriptor is the same for the life of the process.
bool has_interface_of_memory(PyTypeObject *type) noexcept {
    static std::atomic<PyObject *> found{nullptr};
    PyObject *own = found.load(std::memory_order_relaxed);  // only compared, never dereferenced
    if (!own) [[unlikely]] {
        own = _PyType_Lookup(memory_class.type.load(std::memory_order_relaxed), interface_name);
        found.store(own, std::memory_order_relaxed);
    }
    return own && _PyType_Lookup(type, interface_name) == own;
}

}  // namespace

void *dpctl_queue(PyObject *object) noexcept { return native_of(queue_class, object); }
void *dpctl_context(PyObject *object) noexcept { return native_of(context_class, object); }
void *dpctl_device(PyObject *object) noexcept { return native_of(device_class, object); }
void *dpctl_event(PyObject *object) noexcept { return native_of(event_class, object); }

std::optional<DpctlMemory> dpctl_memory(PyObject *object) noexcept {
    if (!find(memory_class) || !find(memory_bytes) || !find(memory_queue) ||
        !has_interface_of_memory(Py_TYPE(object)))
        return std::nullopt;
    // The intermediate cast to void (*)() silences the compiler's warning about function types.
    const auto count = reinterpret_cast<Counter>(
        reinterpret_cast<void (*)()>(memory_bytes.get.load(std::memory_order_relaxed)));
    return DpctlMemory{memory_class.get.load(std::memory_order_relaxed)(object), count(object),
                       memory_queue.get.load(std::memory_order_relaxed)(object)};
}

}  // namespace entrepot::python

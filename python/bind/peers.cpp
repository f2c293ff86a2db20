#include "peers.hpp"

#include "reference.hpp"

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

// Whether the class is there: only once its module has been imported by somebody. The type is kept for ever.
bool find(PeerClass &peer) noexcept {
    if (peer.type.load(std::memory_order_acquire))
        return true;
    PyObject *const module = PyDict_GetItemString(PyImport_GetModuleDict(), peer.module);  // borrowed
    if (!module)
        return false;
    Reference type(PyObject_GetAttrString(module, peer.name));
    const Reference published(PyObject_GetAttrString(module, "__pyx_capi__"));
    PyObject *const capsule =
        published && PyDict_Check(published.get()) ? PyDict_GetItemString(published.get(), peer.getter) : nullptr;
    void *const getter = capsule ? PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)) : nullptr;
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

// Whether the type's SUAI is the one that dpctl's base class of memory has.
bool has_interface_of_memory(PyTypeObject *type) noexcept {
    static PyObject *const name = PyUnicode_InternFromString("__sycl_usm_array_interface__");
    static PyObject *const own = _PyType_Lookup(memory_class.type.load(std::memory_order_relaxed), name);
    return own && _PyType_Lookup(type, name) == own;
}

}  // namespace

void *dpctl_queue(PyObject *object) noexcept { return native_of(queue_class, object); }
void *dpctl_context(PyObject *object) noexcept { return native_of(context_class, object); }
void *dpctl_device(PyObject *object) noexcept { return native_of(device_class, object); }
void *dpctl_event(PyObject *object) noexcept { return native_of(event_class, object); }

std::optional<DpctlMemory> dpctl_memory(PyObject *object) noexcept {
    if (!find(memory_class) || !find(memory_bytes) || !find(memory_queue) || !has_interface_of_memory(Py_TYPE(object)))
        return std::nullopt;
    // By way of void (*)(), which compilers take as the word of somebody who knows what is really there.
    const auto count = reinterpret_cast<Counter>(reinterpret_cast<void (*)()>(memory_bytes.get.load(std::memory_order_relaxed)));
    return DpctlMemory{memory_class.get.load(std::memory_order_relaxed)(object), count(object),
                       memory_queue.get.load(std::memory_order_relaxed)(object)};
}

}  // namespace entrepot::python

#include "convert.hpp"

#include "exchange/foreign_error.hpp"
#include "exchange/interface_dict.hpp"
#include "exchange/protocol.hpp"
#include "gil.hpp"
#include "peers.hpp"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

namespace nb = nanobind;

namespace entrepot::python {
namespace {

template <class T> const T *ours(PyObject *object) {
    static PyTypeObject *const type = reinterpret_cast<PyTypeObject *>(nb::type<T>().ptr());
    return Py_TYPE(object) == type || PyType_IsSubtype(Py_TYPE(object), type) ? nb::inst_ptr<T>(object) : nullptr;
}

const Backend &sycl() {
    static const Backend &backend = registry::backend("sycl");
    return backend;
}

// ----------------------------------------------------------------- queues

// The queues that were taken in last stay wrapped, so that one that comes again and again is not made anew; where it comes as the
// same object, it is not even looked at.
class RecentQueues {
public:
    static RecentQueues &only() {
        static auto *const made = new RecentQueues;
        return *made;
    }

    // None unless the object is among them. It cannot have become another one: it is kept.
    Queue find(PyObject *object) {
        const std::lock_guard locked(mutex_);
        for (const Entry &entry : entries_)
            if (entry.object.get() == object)
                return entry.queue;
        return {};
    }

    // `object` may be nullptr: something else led to the queue.
    void keep(PyObject *object, const Queue &queue) {
        Entry displaced{Reference::borrow(object), queue};  // let go of without the lock
        const std::lock_guard locked(mutex_);
        for (const Entry &entry : entries_)
            if (entry.queue == queue && (!object || entry.object.get() == object))
                return;
        std::swap(entries_[next_++ % entries_.size()], displaced);
    }

private:
    struct Entry {
        Reference object;
        Queue queue;
    };

    GilMutex mutex_;
    std::array<Entry, 8> entries_;
    std::size_t next_ = 0;
};

// --------------------------------------------------------------- capsules

constexpr const char *queue_capsule = "SyclQueueRef", *context_capsule = "SyclContextRef";

struct CapsuleRow {
    const char *fresh;
    const char *used;
};
constexpr CapsuleRow capsules[] = {{queue_capsule, "used_SyclQueueRef"}, {context_capsule, "used_SyclContextRef"}};

const CapsuleRow *row_of(PyObject *capsule) {
    for (const CapsuleRow &row : capsules)
        if (PyCapsule_IsValid(capsule, row.fresh))
            return &row;
    return nullptr;
}

[[noreturn]] void refuse_capsule(PyObject *capsule) {
    const char *const name = PyCapsule_GetName(capsule);
    PyErr_Clear();
    for (const CapsuleRow &row : capsules)
        if (name && std::strcmp(name, row.used) == 0)
            throw Error(ErrorKind::value, "the capsule has been used already (it is named '", name,
                        "'): a capsule serves one consumer; make a new one");
    throw Error(ErrorKind::value, "a capsule named '", queue_capsule, "' or '", context_capsule, "' was expected, not '",
                name ? name : "", "'");
}

// A SYCL object in a capsule: that of the caller, which is used up, or a new one that the caller's object made.
struct Wrapped {
    Reference capsule;
    const CapsuleRow *row = nullptr;
    bool is_callers = false;

    void *pointer() const { return PyCapsule_GetPointer(capsule.get(), row->fresh); }
    bool is_queue() const { return row->fresh == queue_capsule; }
    void mark_used() const {
        if (is_callers)
            PyCapsule_SetName(capsule.get(), row->used);
    }
};

// None where the object has no _get_capsule().
Wrapped wrapped_in(PyObject *object) {
    Wrapped found;
    if (PyCapsule_CheckExact(object)) {
        found.capsule = Reference::borrow(object);
        found.is_callers = true;
    } else {
        static PyObject *const name = PyUnicode_InternFromString("_get_capsule");
        const Reference method = find_attribute(object, name);
        if (!method)
            return {};
        found.capsule = Reference(PyObject_CallNoArgs(method.get()));
        if (!found.capsule)
            throw PythonError{};
        if (!PyCapsule_CheckExact(found.capsule.get()))
            throw Error(ErrorKind::type, Py_TYPE(object)->tp_name, "._get_capsule() returned ", shown(found.capsule.get()),
                        ", which is no capsule");
    }
    found.row = row_of(found.capsule.get());
    if (!found.row)
        refuse_capsule(found.capsule.get());
    return found;
}

bool is_text(PyObject *object) { return PyUnicode_Check(object); }

Device select(PyObject *text) {
    Py_ssize_t length;
    const char *const selector = PyUnicode_AsUTF8AndSize(text, &length);
    if (!selector)
        throw PythonError{};
    return registry::select({selector, static_cast<std::size_t>(length)});
}

}  // namespace

Queue queue_from_sycl(void *native) {
    Queue queue = Queue::from_native(sycl(), native);
    RecentQueues::only().keep(nullptr, queue);
    return queue;
}

Device known_device(PyObject *object) {
    if (const Device *device = ours<Device>(object))
        return *device;
    void *const native = dpctl_device(object);
    if (!native)
        return {};
    ep_device handle;
    sycl().call(&ep_backend::device_from_native, native, &handle);
    return sycl().device(handle);
}

Queue known_queue(PyObject *object) {
    if (Queue queue = RecentQueues::only().find(object))
        return queue;
    if (const Queue *queue = ours<Queue>(object))
        return *queue;
    void *const native = dpctl_queue(object);
    if (!native)
        return {};
    Queue queue = Queue::from_native(sycl(), native);
    RecentQueues::only().keep(object, queue);
    return queue;
}

Context known_context(PyObject *object) {
    if (const Context *context = ours<Context>(object))
        return *context;
    void *const native = dpctl_context(object);
    return native ? Context::from_native(sycl(), native) : Context();
}

Device device_from(PyObject *object) {
    if (is_text(object))
        return select(object);
    if (Device known = known_device(object))
        return known;
    throw Error(ErrorKind::type,
                "a device was expected (a Device, a selector such as 'opencl:cpu:0', or dpctl's SyclDevice), not ",
                shown(object));
}

Queue queue_from(PyObject *object) {
    if (Queue known = known_queue(object)) [[likely]]
        return known;
    if (is_text(object))
        return select(object).default_queue();
    if (const Device device = known_device(object))
        return device.default_queue();
    if (const Wrapped wrapped = wrapped_in(object); wrapped.row) {
        if (!wrapped.is_queue())
            throw Error(ErrorKind::type, "a queue was expected, and ", shown(object),
                        " wraps a context: make a queue in it with "
                        "Queue(device, context=…)");
        Queue queue = queue_from_sycl(wrapped.pointer());
        wrapped.mark_used();
        return queue;
    }
    throw Error(ErrorKind::type,
                "a queue was expected (a Queue, dpctl's SyclQueue, a capsule 'SyclQueueRef', an object with _get_capsule(), or a "
                "device, whose default queue it is), not ",
                shown(object));
}

Context context_from(PyObject *object) {
    if (Context known = known_context(object))
        return known;
    if (const Queue queue = known_queue(object))
        return queue.context();
    if (is_text(object))
        return select(object).default_context();
    if (const Device device = known_device(object))
        return device.default_context();
    if (const Wrapped wrapped = wrapped_in(object); wrapped.row) {
        Context context =
            wrapped.is_queue() ? queue_from_sycl(wrapped.pointer()).context() : Context::from_native(sycl(), wrapped.pointer());
        wrapped.mark_used();
        return context;
    }
    throw Error(ErrorKind::type,
                "a context was expected (a Context, dpctl's SyclContext, a capsule 'SyclContextRef', an object with "
                "_get_capsule(), or a queue or device, whose context it is), not ",
                shown(object));
}

Event event_from(PyObject *object) {
    if (const Event *event = ours<Event>(object))
        return *event;
    if (void *const native = dpctl_event(object))
        return Event::from_native(sycl(), native);
    throw Error(ErrorKind::type, "an event was expected (an Event, or dpctl's SyclEvent), not ", shown(object));
}

}  // namespace entrepot::python

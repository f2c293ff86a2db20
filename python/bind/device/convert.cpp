#include "convert.hpp"

#include "../support/attribute.hpp"
#include "../support/foreign_error.hpp"
#include "../support/gil.hpp"
#include "../support/interned.hpp"
#include "../support/nb_cast.hpp"
#include "../support/release.hpp"
#include "dpctl.hpp"
#include "event.hpp"
#include "sycl_capsule.hpp"

#include <core/no_destructor.hpp>
#include <entrepot/exchange/stream.hpp>

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

namespace nb = nanobind;

namespace entrepot::python {
namespace {

// A backend that is found once. A static local variable would deadlock. Its guard would stay locked
// while the backend is loaded without the GIL, and a thread that waits for a guard keeps the GIL.
class KnownBackend {
public:
    constexpr explicit KnownBackend(const char *name) noexcept : name_(name) {}
    // Throws: DeviceError if the backend is absent.
    const Backend &get() {
        const Backend *known = known_.load(std::memory_order_acquire);
        if (!known) [[unlikely]]
            known_.store(known = &registry::backend(name_), std::memory_order_release);
        return *known;
    }

private:
    const char *const name_;
    std::atomic<const Backend *> known_{nullptr};
};
constinit KnownBackend sycl("sycl"), cuda("cuda"), hip("hip");

// ----------------------------------------------------------------- queues

// The most recently imported queues stay wrapped, so that a queue that returns is not wrapped
// again. If it returns as the same Python object, the object is not inspected either.
class RecentQueues {
public:
    static RecentQueues &only() {
        static NoDestructor<RecentQueues> made;
        return *made;
    }

    // Empty if unknown. The entry owns the object, so its address cannot have been reused.
    Queue find(PyObject *object) {
        const std::lock_guard locked(mutex_);
        for (const Entry &entry : entries_)
            if (entry.object.get() == object)
                return entry.queue;
        return {};
    }

    // `object` may be nullptr if the queue was not reached through an object.
    void keep(PyObject *object, const Queue &queue) {
        Entry displaced{Reference::borrow(object), queue};  // released after the lock
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

[[noreturn]] void refuse(const SyclCapsule &capsule) {
    if (capsule.is_used_up())
        throw Error(ErrorKind::value, "the capsule has been used already (it is named '",
                    capsule.name_text(), "'): a capsule serves one consumer; make a new one");
    throw Error(ErrorKind::value, "a capsule named '", queue_capsule.fresh, "' or '",
                context_capsule.fresh, "' was expected, not '", capsule.name_text(), "'");
}

// A capsule with a queue or a context; empty if the object is not and has no capsule.
SyclCapsule capsule_in(PyObject *object) {
    SyclCapsule capsule = find_sycl_capsule(object);
    if (capsule.object() && !capsule.is_queue() && !capsule.is_context())
        refuse(capsule);
    return capsule;
}

// ---------------------------------------------------- streams of CUDA and HIP

// the second: before PyTorch 2.10
const Interned stream_method = "__cuda_stream__", stream_of_torch = "cuda_stream";

// The backend of streams with __cuda_stream__: CUDA, or HIP if there is no CUDA backend, because
// libraries for HIP keep CUDA's name.
const Backend &stream_backend() {
    try {
        return cuda.get();
    } catch (const Error &absent) {
        try {
            return hip.get();
        } catch (const Error &) {
            throw absent;
        }
    }
}

[[noreturn]] void refuse_stream(PyObject *object, PyObject *answer) {
    throw Error(ErrorKind::type, Py_TYPE(object)->tp_name, ".__cuda_stream__() returned ",
                shown(answer),
                "; (0, CUstream) is expected, a pair of the protocol's version and an int");
}

std::uintptr_t handle_in(PyObject *object, PyObject *answer) {
    if (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != 2 ||
        !PyLong_Check(PyTuple_GET_ITEM(answer, 0)) || !PyLong_Check(PyTuple_GET_ITEM(answer, 1)) ||
        PyLong_AsLong(PyTuple_GET_ITEM(answer, 0)) != 0)
        refuse_stream(object, answer);
    const std::size_t handle = PyLong_AsSize_t(PyTuple_GET_ITEM(answer, 1));
    const bool failed = handle == static_cast<std::size_t>(-1) && PyErr_Occurred();
    PyErr_Clear();
    if (failed || (handle != 0 && !may_be_stream(handle)))
        refuse_stream(object, answer);
    return handle;
}

// The stream's handle; nullopt if the object is not a stream.
std::optional<std::uintptr_t> stream_handle(PyObject *object) {
    if (const Reference method = find_attribute(object, stream_method)) {
        const Reference answer(PyCallable_Check(method.get()) ? PyObject_CallNoArgs(method.get())
                                                              : Py_NewRef(method.get()));
        if (!answer)
            throw PythonError{};
        PyErr_Clear();
        return handle_in(object, answer.get());
    }
    const Reference number = find_attribute(object, stream_of_torch);
    if (!number || !PyLong_Check(number.get()))
        return std::nullopt;
    const std::size_t handle = PyLong_AsSize_t(number.get());
    PyErr_Clear();
    return handle == static_cast<std::size_t>(-1) ? std::nullopt
                                                  : std::optional<std::uintptr_t>(handle);
}

// The context of the device that the stream object names; empty, for the current one, if it names
// no device. Needed for default streams, whose handles are the same on all devices.
Context context_of_stream(PyObject *object) {
    const std::vector<Device> &devices = registry::devices(stream_backend());
    for (const char *const name : {"device_index", "device_id"}) {  // in PyTorch and in CuPy
        const Reference number(PyObject_GetAttrString(object, name));
        const long index = number && PyLong_Check(number.get()) ? PyLong_AsLong(number.get()) : -1;
        clear_answer();
        if (index >= 0 && static_cast<std::size_t>(index) < devices.size())
            return devices[static_cast<std::size_t>(index)].default_context();
    }
    return {};
}

// Empty if the object is not a stream.
Queue queue_of_cuda_stream(PyObject *object) {
    const std::optional<std::uintptr_t> handle = stream_handle(object);
    if (!handle)
        return {};
    std::uintptr_t native = *handle;
    if (native < lowest_handle)
        return Queue::from_native(stream_backend(), &native, context_of_stream(object));
    Queue queue = Queue::from_native(stream_backend(), &native);
    // Invisible to the garbage collector: while it runs, a thread without the GIL may take the
    // record out of the table of live queues. So a cycle of a stream and its Queue is never
    // collected.
    queue.keep_alive({Py_NewRef(object), release_with_gil<decref>});
    return queue;
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
    Queue queue = Queue::from_native(sycl.get(), native);
    RecentQueues::only().keep(nullptr, queue);
    return queue;
}

Device known_device(PyObject *object) {
    if (const Device *device = try_cast<Device>(object))
        return *device;
    void *const native = dpctl_device(object);
    if (!native)
        return {};
    ep_device handle;
    sycl.get().call(&ep_backend::device_from_native, native, &handle);
    return sycl.get().device(handle);
}

Queue known_queue(PyObject *object) {
    if (Queue queue = RecentQueues::only().find(object))
        return queue;
    if (const Queue *queue = try_cast<Queue>(object))
        return *queue;
    void *const native = dpctl_queue(object);
    if (!native)
        return {};
    Queue queue = Queue::from_native(sycl.get(), native);
    RecentQueues::only().keep(object, queue);
    return queue;
}

Context known_context(PyObject *object) {
    if (const Context *context = try_cast<Context>(object))
        return *context;
    void *const native = dpctl_context(object);
    return native ? Context::from_native(sycl.get(), native) : Context();
}

Device device_from(PyObject *object) {
    if (is_text(object))
        return select(object);
    if (Device known = known_device(object))
        return known;
    throw Error(ErrorKind::type,
                "a device was expected (a Device, a selector such as 'opencl:cpu:0', or dpctl's "
                "SyclDevice), not ",
                shown(object));
}

Queue queue_from(PyObject *object) {
    if (Queue known = known_queue(object)) [[likely]]
        return known;
    if (is_text(object))
        return select(object).default_queue();
    if (const Device device = known_device(object))
        return device.default_queue();
    if (const SyclCapsule capsule = capsule_in(object); capsule.object()) {
        if (!capsule.is_queue())
            throw Error(ErrorKind::type, "a queue was expected, and ", shown(object),
                        " wraps a context: make a queue in it with "
                        "Queue(device, context=…)");
        Queue queue = queue_from_sycl(capsule.pointer());
        if (!capsule.mark_used())
            refuse(capsule);
        return queue;
    }
    if (Queue stream = queue_of_cuda_stream(object))
        return stream;
    throw Error(ErrorKind::type,
                "a queue was expected (a Queue, dpctl's SyclQueue, a capsule 'SyclQueueRef', an "
                "object with _get_capsule() or "
                "__cuda_stream__(), or a device, whose default queue it is), not ",
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
    if (const SyclCapsule capsule = capsule_in(object); capsule.object()) {
        Context context = capsule.is_queue() ? queue_from_sycl(capsule.pointer()).context()
                                             : Context::from_native(sycl.get(), capsule.pointer());
        if (!capsule.mark_used())
            refuse(capsule);
        return context;
    }
    throw Error(ErrorKind::type,
                "a context was expected (a Context, dpctl's SyclContext, a capsule "
                "'SyclContextRef', an object with "
                "_get_capsule(), or a queue or device, whose context it is), not ",
                shown(object));
}

Event event_from(PyObject *object, const char *expected) {
    if (const Event *const event = event_of(object))
        return *event;
    if (void *const native = dpctl_event(object))
        return Event::from_native(sycl.get(), native);
    throw Error(ErrorKind::type, expected, ", not ", shown(object));
}

}  // namespace entrepot::python

#include "event.hpp"

#include "../support/errors.hpp"
#include "../support/free_list.hpp"
#include "../support/guarded.hpp"
#include "../support/parameters.hpp"
#include "convert.hpp"

#include <memory/release.hpp>

#include <structmember.h>

#include <cstddef>
#include <new>
#include <utility>

namespace entrepot::python {
namespace {

struct EventObject {
    PyObject_HEAD PyObject *weak_references;
    alignas(Event) std::byte storage[sizeof(Event)];

    Event &event() noexcept { return *std::launder(reinterpret_cast<Event *>(storage)); }
};

PyTypeObject *event_type = nullptr;

ObjectFreeList free_list;  // of events

Event &held(PyObject *self) noexcept { return reinterpret_cast<EventObject *>(self)->event(); }

[[gnu::hot]] void dealloc(PyObject *self) {
    PyTypeObject *const type = Py_TYPE(self);
    if (reinterpret_cast<EventObject *>(self)->weak_references)
        PyObject_ClearWeakRefs(self);
    held(self).~Event();
    if (!free_list.put(self))
        PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *repr(PyObject *self) {
    return guarded([&] {
        const Event &event = held(self);
        return PyUnicode_FromFormat("<entrepot.Event, %s>", event.capture() != 0  ? "captured"
                                                            : event.is_recorded() ? "recorded"
                                                            : event.is_done()     ? "done"
                                                                                  : "pending");
    });
}

// Also releases the owners of memory that finished work used: after waiting, a caller expects that.
PyObject *wait(PyObject *self, PyObject *) {
    return guarded([&] {
        held(self).wait();
        release_finished();
        return Py_NewRef(Py_None);
    });
}

PyObject *is_done(PyObject *self, void *) {
    return guarded([&] { return PyBool_FromLong(held(self).is_done()); });
}

const Parameters of_seconds_until("seconds_until", 1, 1, {"later"});

PyObject *seconds_until(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames) {
    return guarded([&] {
        const auto [later] = of_seconds_until.read(args, nargs, kwnames);
        return PyFloat_FromDouble(held(self).seconds_until(event_from(later)));
    });
}

PyMethodDef methods[] = {
    {"wait", wait, METH_NOARGS,
     "wait($self, /)\n--\n\n"
     "Block until the event is done.\n\n"
     "Raises\n"
     "------\n"
     "DeviceError\n"
     "    If the work before the event failed or is captured into a graph.\n\n"
     "Examples\n"
     "--------\n"
     ">>> array = ep.zeros(3, \"int32\", device=\"host\")\n"
     ">>> event = ep.fill(array, 7)\n"
     ">>> event.wait()\n"
     ">>> event.done\n"
     "True"},
    {"seconds_until", with_keywords(seconds_until), METH_FASTCALL | METH_KEYWORDS,
     "seconds_until($self, later)\n--\n\n"
     "Seconds from this event to ``later``.\n\n"
     "Both events must be done, and come from profiling queues of one backend.\n\n"
     "Parameters\n"
     "----------\n"
     "later : Event\n"
     "    The event at the end of the interval.\n\n"
     "Returns\n"
     "-------\n"
     "float\n"
     "    The time in seconds.\n\n"
     "Raises\n"
     "------\n"
     "DeviceError\n"
     "    If an event is not done or marks no work, or the events belong to two\n"
     "    backends.\n"
     "ValueError\n"
     "    If an event has no time, because its queue was made without profiling.\n"
     "TypeError\n"
     "    If ``later`` is not an event.\n\n"
     "Examples\n"
     "--------\n"
     ">>> queue = ep.Queue(\"host\", profiling=True)\n"
     ">>> start = queue.record()\n"
     ">>> array = ep.zeros(1000, \"float32\", queue=queue)\n"
     ">>> end = queue.record()\n"
     ">>> end.wait()\n"
     ">>> start.seconds_until(end) >= 0\n"
     "True"},
    {},
};

PyGetSetDef attributes[] = {
    {"done", is_done, nullptr,
     "True if the event is done; does not block.\n\n"
     "Raises DeviceError if the event marks work that is captured into a graph.",
     nullptr},
    {},
};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(EventObject, weak_references), READONLY, nullptr},
    {},
};

constexpr const char *type_doc =
    "A position in a queue. The event is done when all work before it is done.\n\n"
    "Launches, copies and ``Queue.record()`` return an Event:\n"
    "``event = kernel[1024](array)``, then ``event.wait()``.\n\n"
    "Examples\n"
    "--------\n"
    ">>> array = ep.zeros(3, \"int32\", device=\"host\")\n"
    ">>> event = ep.copy(array, np.arange(3, dtype=\"int32\"))\n"
    ">>> event.wait()\n"
    ">>> event.done\n"
    "True";

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char *>(type_doc)},
    {Py_tp_dealloc, reinterpret_cast<void *>(dealloc)},
    {Py_tp_repr, reinterpret_cast<void *>(repr)},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_tp_members, members},
    {},
};

PyType_Spec spec = {
    "entrepot.Event", sizeof(EventObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

const Event *event_of(PyObject *object) noexcept {
    return Py_IS_TYPE(object, event_type) ? &held(object) : nullptr;
}

[[gnu::hot]] PyObject *wrap_event(Event &&event) {
    PyObject *self = free_list.take();
    if (self) [[likely]]
        PyObject_Init(self, event_type);
    else if (!(self = reinterpret_cast<PyObject *>(PyObject_New(EventObject, event_type))))
        throw PythonError{};
    auto *const object = reinterpret_cast<EventObject *>(self);
    object->weak_references = nullptr;
    static_assert(std::is_nothrow_move_constructible_v<Event>,
                  "else an object without an event would be left");
    new (object->storage) Event(std::move(event));
    return self;
}

bool init_event_type(PyObject *module) {
    event_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    return event_type &&
           PyModule_AddObjectRef(module, "Event", reinterpret_cast<PyObject *>(event_type)) == 0;
}

}  // namespace entrepot::python

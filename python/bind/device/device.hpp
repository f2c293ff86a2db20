// New Python wrappers of devices, contexts and queues; each function returns a new reference.
#pragma once
#include <entrepot/device/program.hpp>

#include <nanobind/nanobind.h>

namespace entrepot::python {

inline PyObject *wrap_device(const Device &device) {
    return nanobind::cast(device).release().ptr();
}
inline PyObject *wrap_context(const Context &context) {
    return nanobind::cast(context).release().ptr();
}
inline PyObject *wrap_queue(const Queue &queue) { return nanobind::cast(queue).release().ptr(); }
// The wrapper holds a reference to `owner`, which the garbage collector sees.
PyObject *wrap_queue(Queue queue, PyObject *owner);

}  // namespace entrepot::python

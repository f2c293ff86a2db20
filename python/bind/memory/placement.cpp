#include "placement.hpp"

#include "../device/convert.hpp"
#include "../support/errors.hpp"

#include <entrepot/device/registry.hpp>

namespace entrepot::python {
namespace {

bool is_given(PyObject *object) { return object && object != Py_None; }

Queue queue_for(PyObject *device, PyObject *queue) {
    if (!is_given(queue))
        return is_given(device) ? device_from(device).default_queue() : registry::current_queue();
    Queue result = queue_from(queue);
    if (is_given(device) && device_from(device) != result.device())
        throw Error(ErrorKind::value, "the queue is of ", result.device(),
                    ", but the device asked for is ", device_from(device));
    return result;
}

}  // namespace

UsmKind kind_from(PyObject *object) {
    if (!PyUnicode_Check(object))
        throw Error(ErrorKind::type, "kind: 'host', 'device' or 'shared' was expected, not a ",
                    Py_TYPE(object)->tp_name);
    const char *name = PyUnicode_AsUTF8(object);
    if (!name)
        throw PythonError{};
    const std::optional<UsmKind> kind = usm_kind_from_name(name);
    if (!kind || *kind == UsmKind::unknown)
        throw Error(ErrorKind::value, "kind: 'host', 'device' or 'shared' was expected, not '",
                    name, "'");
    return *kind;
}

UsmKind default_kind(const Device &device) {
    return device.backend().is_host() ? UsmKind::host : UsmKind::device;
}

Placement placement_from(PyObject *device, PyObject *kind, PyObject *queue) {
    Queue where = queue_for(device, queue);
    const UsmKind what = is_given(kind) ? kind_from(kind) : default_kind(where.device());
    return {std::move(where), what};
}

}  // namespace entrepot::python

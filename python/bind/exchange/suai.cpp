// SUAI: reading and writing the dict. suai::verify checks the contents of a dict that was read.
#include <entrepot/exchange/suai.hpp>

#include "../array_object/array_object.hpp"
#include "../device/convert.hpp"
#include "../device/device.hpp"
#include "../device/dpctl.hpp"
#include "../memory/held_buffer.hpp"
#include "../memory/owner.hpp"
#include "../support/attribute.hpp"
#include "../support/errors.hpp"
#include "../support/guarded.hpp"
#include "../support/interned.hpp"
#include "exports.hpp"
#include "interface_dict.hpp"
#include "protocol.hpp"
#include "quirks.hpp"
#include "syclobj.hpp"

namespace entrepot::python {
namespace {

using suai::speaker;

constexpr const char *attribute = "__sycl_usm_array_interface__";
const Interned attribute_name = attribute;

// ------------------------------------------------------------------ import

// Reads the address of the elements and returns the owner: the object for a
// pointer, otherwise the held buffer.
Owner locate(PyObject *object, const InterfaceDict &dict, suai::Descriptor &descriptor) {
    if (PyObject *const data = dict.find(Key::data)) [[likely]] {
        const DataEntry entry = dict.data_entry(data);
        descriptor.data = entry.pointer;
        descriptor.read_only = entry.flag != inverted_read_only(Py_TYPE(object));
        return keep(object);
    }
    if (!PyObject_CheckBuffer(object))
        throw speaker.refusal("'data' is missing, and a ", Py_TYPE(object)->tp_name,
                              " has no buffer in its place");
    HeldBuffer held = hold_buffer(speaker, object, PyBUF_SIMPLE);
    descriptor.data = held.view->buf;
    descriptor.buffer_bytes = held.view->len;
    descriptor.read_only = held.view->readonly != 0;
    return std::move(held.owner);
}

Array read_dpctl(PyObject *object, const DpctlMemory &memory) {
    const auto extent = static_cast<std::int64_t>(memory.bytes);
    suai::Descriptor descriptor;
    descriptor.data = memory.data;
    descriptor.typestr = "|u1";
    descriptor.shape = Extents(&extent, 1);
    descriptor.queue = queue_from_sycl(memory.queue);
    descriptor.context = descriptor.queue.context();
    return suai::verify(std::move(descriptor), keep(object));
}

std::optional<Array> read(PyObject *object, const ImportRequest &) {
    if (const std::optional<DpctlMemory> memory = dpctl_memory(object))
        return read_dpctl(object, *memory);
    Reference value = find_attribute(object, attribute_name);
    if (!value)
        return std::nullopt;
    const InterfaceDict dict(speaker, std::move(value));
    dict.check_version(suai::version, suai::version, suai::version);

    Numbers shape, strides;
    suai::Descriptor descriptor;
    descriptor.typestr = dict.typestr();
    dict.read_shape(shape);
    descriptor.shape = shape.extents();
    if (dict.read_strides(strides, shape.count))
        descriptor.strides = strides.values.data();
    descriptor.offset = dict.offset();
    Owner owner = locate(object, dict, descriptor);

    PyObject *const syclobj = dict.find(Key::syclobj);
    SyclObject sycl = syclobj ? sycl_object_from(syclobj) : SyclObject{};
    descriptor.context = std::move(sycl.context);
    descriptor.queue = std::move(sycl.queue);
    Array array = suai::verify(std::move(descriptor), std::move(owner));
    sycl.mark_used();
    return array;
}

// ------------------------------------------------------------------ export

Reference write(const Array &array, PyObject *queue_object) {
    Reference dict = interface_dict_of(array, 1, suai::version, attribute);
    const Queue queue = unless_absent(attribute, [&] { return suai::queue_for_consumer(array); });
    set_entry(dict, Key::offset, Reference(PyLong_FromLong(0)));
    set_entry(dict, Key::syclobj,
              queue_object ? Reference::borrow(queue_object) : Reference(wrap_queue(queue)));
    return dict;
}

}  // namespace

const Protocol suai_protocol{"suai", attribute, nullptr, read};

PyObject *suai_export(PyObject *self) { return suai_export_of(array_of(self), nullptr); }

PyObject *suai_export_of(const Array &array, PyObject *queue_object) {
    return guarded([&] { return write(array, queue_object).release(); });
}

}  // namespace entrepot::python

// NumPy's array interface: reading and writing the dict and the capsule.
#include <entrepot/exchange/array_interface.hpp>

#include "../array_object/array_object.hpp"
#include "../memory/held_buffer.hpp"
#include "../memory/owner.hpp"
#include "../support/attribute.hpp"
#include "../support/errors.hpp"
#include "../support/foreign_error.hpp"
#include "../support/guarded.hpp"
#include "../support/interned.hpp"
#include "exports.hpp"
#include "host_sync.hpp"
#include "interface_dict.hpp"
#include "protocol.hpp"

#include <array>
#include <limits>
#include <memory>

namespace entrepot::python {
namespace {

using array_interface::Descriptor;
using array_interface::PyArrayInterface;
using array_interface::speaker;

const Interned dict_name = "__array_interface__", struct_name = "__array_struct__";

// ------------------------------------------------------------------ import

// Reads the address of the elements and returns the owner: the object for a
// pointer, otherwise the held buffer.
Owner locate(PyObject *object, const InterfaceDict &dict, Descriptor &descriptor) {
    PyObject *const data = dict.find(Key::data);
    descriptor.offset = dict.offset();
    if (data && !PyObject_CheckBuffer(data)) {
        const DataEntry entry = dict.data_entry(data);
        descriptor.data = entry.pointer;
        descriptor.read_only = entry.flag;
        return keep(object);
    }
    HeldBuffer held = hold_buffer(speaker, data ? data : object, PyBUF_SIMPLE);
    descriptor.data = held.view->buf;
    descriptor.buffer_bytes = held.view->len;
    descriptor.read_only = held.view->readonly != 0;
    return std::move(held.owner);
}

std::optional<Array> read_dict(PyObject *object, const ImportRequest &request) {
    Reference value = find_attribute(object, dict_name);
    if (!value)
        return std::nullopt;
    const InterfaceDict dict(speaker, std::move(value));
    // "Be careful not to use this to invalidate objects exposing future versions of the interface."
    dict.check_version(array_interface::version, std::numeric_limits<std::int64_t>::max(),
                       array_interface::version);
    dict.check_no_mask();

    Numbers shape, strides;
    Descriptor descriptor;
    descriptor.typestr = dict.typestr();
    dict.read_shape(shape);
    descriptor.shape = shape.extents();
    if (dict.read_strides(strides, shape.count))
        descriptor.strides = strides.values.data();
    Owner owner = locate(object, dict, descriptor);
    return array_interface::verify(descriptor, std::move(owner), request.queue);
}

std::optional<Array> read_struct(PyObject *object, const ImportRequest &request) {
    const Reference capsule = find_attribute(object, struct_name);
    if (!capsule)
        return std::nullopt;
    if (!PyCapsule_IsValid(capsule.get(), nullptr))
        throw speaker.refusal("__array_struct__ must be a capsule without a name, found ",
                              shown(capsule.get()));
    const auto *const interface =
        static_cast<const PyArrayInterface *>(PyCapsule_GetPointer(capsule.get(), nullptr));
    char typestr[16];
    const Descriptor descriptor = array_interface::describe(*interface, typestr);
    // The capsule may own memory that the object does not, because it was
    // made for this call. Keep both.
    const Reference both(PyTuple_Pack(2, object, capsule.get()));
    if (!both)
        throw PythonError{};
    return array_interface::verify(descriptor, keep(both.get()), request.queue);
}

// ------------------------------------------------------------------ export

// The array of `self`, once the host may access it. Throws PythonError with AttributeError if the
// host cannot reach the memory, so that the consumer tries another protocol.
const Array &host_array(PyObject *self, const char *attribute) {
    const Array &array = array_of(self);
    if (!array.is_host_accessible()) {
        PyErr_Format(PyExc_AttributeError,
                     "%s: this is %s memory of %s, which the host cannot reach; copy it with "
                     "array.copy_to_host()",
                     attribute, name_of(array.kind()).data(), array.device().selector().c_str());
        throw PythonError{};
    }
    synchronize_for_host(array);
    return array;
}

PyObject *write_dict(PyObject *self) {
    const Array &array = host_array(self, "__array_interface__");
    return interface_dict_of(array, array.itemsize(), array_interface::version,
                             "__array_interface__")
        .release();
}

// The capsule's contents: the struct and the arrays that it points to.
struct Exported {
    explicit Exported(const Array &source) : array(source) {
        const std::string_view typestr = *typestr_of(array.dtype());
        for (std::size_t axis = 0; axis < array.ndim(); ++axis)
            strides[axis] = array.strides()[axis] * array.itemsize();
        interface.two = 2;
        interface.nd = static_cast<int>(array.ndim());
        interface.typekind = typestr[1];
        interface.itemsize = static_cast<int>(array.itemsize());
        interface.flags = array_interface::flags_of(array);
        interface.shape = const_cast<std::intptr_t *>(
            reinterpret_cast<const std::intptr_t *>(array.shape().data()));
        interface.strides = strides.data();
        interface.data = array.data();
        interface.descr = nullptr;
    }

    Array array;
    std::array<std::intptr_t, Layout::max_ndim> strides;
    PyArrayInterface interface;
};

void release_exported(PyObject *capsule) {
    delete static_cast<Exported *>(PyCapsule_GetContext(capsule));
}

PyObject *write_struct(PyObject *self) {
    const Array &array = host_array(self, "__array_struct__");
    if (!typestr_of(array.dtype()))
        refuse_dtype(array.dtype(), "__array_struct__");
    auto exported = std::make_unique<Exported>(array);
    Reference capsule(PyCapsule_New(&exported->interface, nullptr, nullptr));
    if (!capsule || PyCapsule_SetContext(capsule.get(), exported.get()) != 0 ||
        PyCapsule_SetDestructor(capsule.get(), release_exported) != 0)
        throw PythonError{};
    exported.release();  // owned by the capsule from here on
    return capsule.release();
}

}  // namespace

const Protocol array_struct_protocol{"array_struct", "__array_struct__", nullptr, read_struct};
const Protocol array_interface_protocol{"array_interface", "__array_interface__", nullptr,
                                        read_dict};

PyObject *array_interface_export(PyObject *self) {
    return guarded([&] { return write_dict(self); });
}
PyObject *array_struct_export(PyObject *self) {
    return guarded([&] { return write_struct(self); });
}

}  // namespace entrepot::python

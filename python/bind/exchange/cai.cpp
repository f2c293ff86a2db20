// CAI: reading and writing the dict. cai::verify checks the contents of a dict that was read.
#include <entrepot/exchange/cai.hpp>
#include <entrepot/exchange/stream.hpp>

#include "../array_object/array_object.hpp"
#include "../memory/owner.hpp"
#include "../support/attribute.hpp"
#include "../support/errors.hpp"
#include "../support/foreign_error.hpp"
#include "../support/guarded.hpp"
#include "../support/interned.hpp"
#include "exports.hpp"
#include "interface_dict.hpp"
#include "protocol.hpp"
#include "stream_libraries.hpp"

#include <limits>

namespace entrepot::python {
namespace {

using cai::speaker;

constexpr const char *attribute = "__cuda_array_interface__";
const Interned attribute_name = attribute;

// ------------------------------------------------------------------ import

void read_data(const InterfaceDict &dict, cai::Descriptor &descriptor) {
    PyObject *const data = dict.find(Key::data);
    if (!data)
        throw speaker.refusal("'data' is missing");
    const DataEntry entry = dict.data_entry(data);
    descriptor.data = entry.pointer;
    descriptor.read_only = entry.flag;
}

// The specification says "None: no synchronization is required". But PyTorch and numba-cuda use
// None for memory on which the legacy default stream is still working. Waiting for that stream
// costs nothing until the first use, and one event then.
std::uintptr_t stream_in(const InterfaceDict &dict) {
    PyObject *const stream = dict.find(Key::stream);
    return stream ? dict.address(stream, "'stream' must be None or") : legacy_stream;
}

std::optional<Array> read(PyObject *object, const ImportRequest &request) {
    Reference value = find_attribute(object, attribute_name);
    if (!value)
        return std::nullopt;
    const InterfaceDict dict(speaker, std::move(value));
    dict.check_version(cai::oldest_version, std::numeric_limits<std::int64_t>::max(), cai::version);
    dict.check_no_mask();
    dict.check_no_offset();

    Numbers shape, strides;
    cai::Descriptor descriptor;
    descriptor.dtype = dtype_from_typestr(dict.typestr());
    dict.read_shape(shape);
    descriptor.shape = shape.extents();
    if (dict.read_strides(strides, shape.count))
        descriptor.strides = strides.values.data();
    read_data(dict, descriptor);
    descriptor.stream = stream_in(dict);
    descriptor.library = library_of(Py_TYPE(object));
    // The owner is the object, because the dict owns nothing.
    Array array = cai::verify(descriptor, keep(object), request.queue);
    if (descriptor.library && array.size() != 0)  // PyTorch's dict names no stream
        if (const Queue current = current_stream_of(*descriptor.library, array.memory().device()))
            exchange::wait_for_producer(array, current);
    return array;
}

// ------------------------------------------------------------------ export

Reference write(const Array &array) {
    register_imported_libraries(array.device());
    const std::optional<std::uintptr_t> stream =
        unless_absent(attribute, [&] { return cai::stream_for_consumer(array); });
    Reference dict = interface_dict_of(array, array.itemsize(), cai::version, attribute);
    if (array.size() == 0)  // "the pointer of a zero-size array is 0"
        set_entry(dict, Key::data,
                  Reference(Py_BuildValue("(iO)", 0, array.read_only() ? Py_True : Py_False)));
    set_entry(dict, Key::stream,
              stream ? Reference(PyLong_FromSize_t(*stream)) : Reference::borrow(Py_None));
    return dict;
}

}  // namespace

const Protocol cai_protocol{"cai", attribute, nullptr, read};

PyObject *cai_export(PyObject *self) {
    return guarded([&] { return write(array_of(self)).release(); });
}

}  // namespace entrepot::python

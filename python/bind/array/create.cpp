// empty, zeros, full, fill and copy.
#include "create.hpp"

#include "../allocate.hpp"
#include "../convert.hpp"
#include "../dtype.hpp"
#include "../errors.hpp"
#include "../exchange/routes.hpp"
#include "../gil.hpp"
#include "../owner.hpp"
#include "../parameters.hpp"
#include "../placement.hpp"
#include "../reference.hpp"
#include "../scalar.hpp"
#include "array.hpp"

#include <entrepot/array/copy.hpp>

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <span>

namespace nb = nanobind;

namespace entrepot::python {
namespace {

std::int64_t extent_from(PyObject *object) {
    const Py_ssize_t extent = PyNumber_AsSsize_t(object, PyExc_OverflowError);
    if (extent == -1 && PyErr_Occurred())
        throw PythonError{};
    return extent;
}

Layout layout_from(PyObject *shape) {
    if (!PyIndex_Check(shape))
        return Layout(extents_from(shape));
    const std::int64_t extent = extent_from(shape);
    return Layout(Extents(&extent, 1));
}

Array new_array(PyObject *shape, PyObject *dtype, PyObject *device, PyObject *kind, PyObject *queue) {
    drain_released();
    Placement where = placement_from(device, kind, queue);
    Layout layout = layout_from(shape);
    const Dtype type = dtype_from(dtype);
    Memory memory = allocate(static_cast<std::size_t>(layout.nbytes(type.itemsize())), where.kind, where.queue);
    void *const data = memory.data();
    return Array(std::move(memory), data, type, std::move(layout), false, std::move(where.queue));
}

Array new_array(nb::handle shape, nb::handle dtype, nb::handle device, nb::handle kind, nb::handle queue) {
    return new_array(shape.ptr(), dtype.ptr(), device.ptr(), kind.ptr(), queue.ptr());
}

std::span<const std::byte> bytes_of(const Scalar &item) { return std::span(item.bytes).first(item.size); }

nb::object filled(Array array, const Scalar &item) {
    {
        const ReleaseGil released;
        fill(array, bytes_of(item));
    }
    return nb::steal(wrap(std::move(array)));
}

const Parameters of_empty("empty", 2, 2, {"shape", "dtype", "device", "kind", "queue"});

PyObject *empty(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    try {
        const auto [shape, dtype, device, kind, queue] = of_empty.read(args, nargs, kwnames);
        return wrap(new_array(shape, dtype, device, kind, queue));
    } catch (...) {
        raise_current();
        return nullptr;
    }
}

nb::object zeros(nb::handle shape, nb::handle dtype, nb::handle device, nb::handle kind, nb::handle queue) {
    Array array = new_array(shape, dtype, device, kind, queue);
    {
        const ReleaseGil released;
        const Array bytes(array.memory(), array.data(), dtypes::uint8, Layout(std::array{array.nbytes()}), false, array.queue());
        fill(bytes, std::array{std::byte{0}});
    }
    return nb::steal(wrap(std::move(array)));
}

nb::object full(nb::handle shape, nb::handle value, nb::handle dtype, nb::handle device, nb::handle kind, nb::handle queue) {
    const Scalar item = scalar_from(value.ptr(), dtype_from(dtype.ptr()));
    return filled(new_array(shape, dtype, device, kind, queue), item);
}

Queue queue_or_none(nb::handle queue) { return queue.is_none() ? Queue{} : queue_from(queue.ptr()); }

Event fill_array(nb::handle array, nb::handle value, nb::handle queue) {
    const Array to = import_operand(array.ptr());
    const Scalar item = scalar_from(value.ptr(), to.dtype());
    const Queue where = queue_or_none(queue);
    const ReleaseGil released;
    return fill(to, bytes_of(item), where).event();
}

Event copy_arrays(nb::handle to, nb::handle from, nb::handle queue) {
    const Array destination = import_operand(to.ptr()), source = import_operand(from.ptr());
    const Queue where = queue_or_none(queue);
    const ReleaseGil released;
    return copy(destination, source, where).event();
}

constexpr const char *placement_doc =
    "\n\n``device`` is a Device, a selector or a dpctl device; without one, that of the innermost ``device_context``, then\n"
    "``ENTREPOT_DEVICE``, then the host. ``kind`` is 'host', 'device' (the default of devices) or 'shared'.\n\n"
    "Raises USMAllocationError when there is no such memory left, DeviceError where the device lacks that kind.";

}  // namespace

std::vector<std::int64_t> extents_from(PyObject *shape) {
    if (PyIndex_Check(shape))
        return {extent_from(shape)};
    const Reference sequence(PySequence_Fast(shape, "a shape is an int or a sequence of ints"));
    if (!sequence)
        throw PythonError{};
    const Reference items = items_of(sequence.get());
    if (!items)
        throw PythonError{};
    std::vector<std::int64_t> extents(static_cast<std::size_t>(PyTuple_GET_SIZE(items.get())));
    for (std::size_t i = 0; i < extents.size(); ++i)
        extents[i] = extent_from(PyTuple_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i)));
    return extents;
}

void init_create(nb::module_ &m) {
    using namespace nb::literals;
    const std::string place = placement_doc;
    static const std::string empty_doc = "empty($module, shape, dtype, *, device=None, kind=None, queue=None)\n--\n\n"
                                         "An Array of new, uninitialised memory, C-contiguous." +
                                         place;
    static PyMethodDef functions[] = {{"empty", with_keywords(empty), METH_FASTCALL | METH_KEYWORDS, empty_doc.c_str()}, {}};
    if (PyModule_AddFunctions(m.ptr(), functions) < 0)
        nb::raise_python_error();
    m.def("zeros", &zeros, "shape"_a, "dtype"_a, nb::kw_only(), "device"_a = nb::none(), "kind"_a = nb::none(),
          "queue"_a = nb::none(), ("An Array of new memory, all bits zero." + place).c_str());
    m.def("full", &full, "shape"_a, "value"_a, "dtype"_a, nb::kw_only(), "device"_a = nb::none(), "kind"_a = nb::none(),
          "queue"_a = nb::none(), ("An Array of new memory, every element ``value``." + place).c_str());
    m.def("fill", &fill_array, "array"_a, "value"_a, nb::kw_only(), "queue"_a = nb::none(),
          "Sets every element of ``array`` to ``value``; returns an Event that is done when it has them all.\n\n"
          "Raises ValueError for read-only arrays, OverflowError for a value that the dtype cannot hold.");
    m.def("copy", &copy_arrays, "dst"_a, "src"_a, "queue"_a = nb::none(),
          "Copies ``src`` into ``dst``, which may be in another place, and returns an Event that is done when ``dst`` has all "
          "elements.\n\n"
          "Both are Arrays or anything that asarray takes; ``src`` is broadcast. Memory stays alive until the copy is done.\n"
          "Raises ValueError: read-only destination, different dtypes, shapes that do not broadcast, overlap.");
}

}  // namespace entrepot::python

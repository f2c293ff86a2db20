// empty, zeros, full, fill and copy.
#include "create.hpp"

#include "../array_object/array_object.hpp"
#include "../core/dtype.hpp"
#include "../device/convert.hpp"
#include "../device/event.hpp"
#include "../exchange/host_sync.hpp"
#include "../exchange/routes.hpp"
#include "../memory/allocate.hpp"
#include "../memory/placement.hpp"
#include "../support/errors.hpp"
#include "../support/foreign_error.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/parameters.hpp"
#include "../support/reference.hpp"
#include "../support/release.hpp"
#include "scalar.hpp"

#include <entrepot/array/copy.hpp>
#include <memory/release.hpp>

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <span>
#include <utility>

namespace nb = nanobind;

namespace entrepot::python {
namespace {

// `wrong` is the argument or one of its items.
[[noreturn]] void refuse_extents(PyObject *given, PyObject *wrong) {
    throw Error(ErrorKind::type, "an int or a sequence of ints was expected, as a shape is, not ",
                shown(given), given == wrong ? ", a " : ", with a ", Py_TYPE(wrong)->tp_name);
}

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

Array new_array(PyObject *shape, PyObject *dtype, PyObject *device, PyObject *kind,
                PyObject *queue) {
    drain_released();
    Placement where = placement_from(device, kind, queue);
    Layout layout = layout_from(shape);
    const Dtype type = dtype_from(dtype);
    Memory memory =
        allocate(static_cast<std::size_t>(layout.nbytes(type.itemsize())), where.kind, where.queue);
    void *const data = memory.data();
    return Array(std::move(memory), data, type, std::move(layout), false, std::move(where.queue));
}

std::span<const std::byte> bytes_of(const Scalar &item) {
    return std::span(item.bytes).first(item.size);
}

PyObject *filled(Array array, const Scalar &item) {
    without_gil([&] { fill(array, bytes_of(item)); });
    return wrap(std::move(array));
}

const Parameters of_empty("empty", 2, 2, {"shape", "dtype", "device", "kind", "queue"});

PyObject *empty(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return guarded([&] {
        const auto [shape, dtype, device, kind, queue] = of_empty.read(args, nargs, kwnames);
        return wrap(new_array(shape, dtype, device, kind, queue));
    });
}

const Parameters of_zeros("zeros", 2, 2, {"shape", "dtype", "device", "kind", "queue"});

PyObject *zeros(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return guarded([&] {
        const auto [shape, dtype, device, kind, queue] = of_zeros.read(args, nargs, kwnames);
        Array array = new_array(shape, dtype, device, kind, queue);
        without_gil([&] {
            const Array bytes(array.memory(), array.data(), dtypes::uint8,
                              Layout(std::array{array.nbytes()}), false, array.queue());
            fill(bytes, std::array{std::byte{0}});
        });
        return wrap(std::move(array));
    });
}

const Parameters of_full("full", 3, 3, {"shape", "value", "dtype", "device", "kind", "queue"});

PyObject *full(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return guarded([&] {
        const auto [shape, value, dtype, device, kind, queue] = of_full.read(args, nargs, kwnames);
        const Scalar item = scalar_from(value, dtype_from(dtype));
        return filled(new_array(shape, dtype, device, kind, queue), item);
    });
}

// True if the work must be done when the call returns, as for kernels.
bool is_watched(PyObject *object, const Array &array) {
    return !is_array(object) && python::is_watched(array);
}

template <class Submit> PyObject *event_of_work(bool is_watched, Submit submit) {
    Event event = without_gil([&] {
        const Submitted done = submit();
        Event marked = done.event();
        if (is_watched)
            done.wait_unless_captured();
        return marked;
    });
    if (is_watched)
        release_finished();
    return wrap_event(std::move(event));
}

Queue queue_or_none(PyObject *queue) { return unless_none(queue) ? queue_from(queue) : Queue{}; }

const Parameters of_fill("fill", 2, 2, {"array", "value", "queue"});

PyObject *fill_array(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return guarded([&] {
        const auto [array, value, queue] = of_fill.read(args, nargs, kwnames);
        const Array to = import_operand(array);
        const Scalar item = scalar_from(value, to.dtype());
        const Queue where = queue_or_none(queue);
        return event_of_work(is_watched(array, to),
                             [&] { return fill(to, bytes_of(item), where); });
    });
}

const Parameters of_copy("copy", 3, 2, {"dst", "src", "queue"});

PyObject *copy_arrays(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return guarded([&] {
        const auto [to, from, queue] = of_copy.read(args, nargs, kwnames);
        const Array destination = import_operand(to), source = import_operand(from);
        const Queue where = queue_or_none(queue);
        return event_of_work(is_watched(to, destination) || is_watched(from, source),
                             [&] { return copy(destination, source, where); });
    });
}

constexpr const char *shape_doc = "\n\n"
                                  "Parameters\n"
                                  "----------\n"
                                  "shape : int or sequence of int\n"
                                  "    Extent of each axis, in elements.\n";

constexpr const char *placement_doc =
    "dtype : dtype_like\n"
    "    The type of an element.\n"
    "device : Device or str, optional\n"
    "    A Device, a selector or a dpctl device. Without it, memory is allocated on the\n"
    "    device of ``queue``, then of the innermost ``device_context``, then of\n"
    "    ``ENTREPOT_DEVICE``, then on the host.\n"
    "kind : str, optional\n"
    "    One of 'host' (the default on the host), 'device' (the default on other devices) and\n"
    "    'shared'.\n"
    "queue : Queue, optional\n"
    "    The array's default queue, which must be of ``device`` if both are given. The\n"
    "    default is the default queue of ``device``, else the current queue.\n\n"
    "Returns\n"
    "-------\n"
    "Array\n"
    "    C-contiguous, in new memory that it owns.\n\n"
    "Raises\n"
    "------\n"
    "USMAllocationError\n"
    "    If the memory cannot be allocated.\n"
    "DeviceError\n"
    "    If no device matches, or the device does not support the kind.\n"
    "ValueError\n"
    "    If an extent is negative, the kind is unknown, the selector is malformed, or the\n"
    "    queue is of another device.\n"
    "TypeError\n"
    "    If the dtype is unknown, or an argument has the wrong type.\n";

// For libraries that take the address of an array and ask for no order: MPI, for example.
PyObject *synchronize_from_python(PyObject *, PyObject *object) {
    return guarded([&] {
        if (!is_array(object))
            throw Error(ErrorKind::type, "an Array was expected, not ", shown(object));
        synchronize_for_host(array_of(object));
        return Py_NewRef(Py_None);
    });
}

}  // namespace

std::vector<std::int64_t> extents_from(PyObject *shape) {
    if (PyIndex_Check(shape))
        return {extent_from(shape)};
    if (!PySequence_Check(shape) && !Py_TYPE(shape)->tp_iter)
        refuse_extents(shape, shape);
    const Reference sequence = checked(PySequence_Fast(shape, ""));
    const Reference items = items_of(sequence.get());
    if (!items)
        throw PythonError{};
    std::vector<std::int64_t> extents(static_cast<std::size_t>(PyTuple_GET_SIZE(items.get())));
    for (std::size_t i = 0; i < extents.size(); ++i) {
        PyObject *const item = PyTuple_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i));
        if (!PyIndex_Check(item))
            refuse_extents(shape, item);
        extents[i] = extent_from(item);
    }
    return extents;
}

void init_create(nb::module_ &m) {
    const std::string by_place = ", *, device=None, kind=None, queue=None)\n--\n\n";
    static const std::string empty_doc =
        "empty($module, shape, dtype" + by_place +
        "An Array of new, uninitialized memory, C-contiguous." + shape_doc + placement_doc +
        "OverflowError\n"
        "    If the size in bytes exceeds 64 bits.\n\n"
        "Examples\n"
        "--------\n"
        ">>> array = ep.empty((2, 3), \"float32\", device=\"host\")\n"
        ">>> array.shape, array.nbytes\n"
        "((2, 3), 24)";
    static const std::string zeros_doc = "zeros($module, shape, dtype" + by_place +
                                         "An Array of new memory in which all bits are zero." +
                                         shape_doc + placement_doc +
                                         "OverflowError\n"
                                         "    If the size in bytes exceeds 64 bits.\n\n"
                                         "Examples\n"
                                         "--------\n"
                                         ">>> ep.zeros(3, \"int32\", device=\"host\")\n"
                                         "Array([0, 0, 0], dtype=int32, device=host, kind=host)";
    static const std::string full_doc =
        "full($module, shape, value, dtype" + by_place +
        "An Array of new memory in which every element is ``value``." + shape_doc +
        "value : bool, int, float, complex or Scalar\n"
        "    The value of each element. A Scalar must be of ``dtype``.\n" +
        placement_doc +
        "OverflowError\n"
        "    If the value does not fit ``dtype``, or the size in bytes exceeds 64 bits.\n"
        "ExchangeError\n"
        "    If Python has no number for ``dtype``, such as float8_e5m2.\n\n"
        "Examples\n"
        "--------\n"
        ">>> ep.full((2, 2), 7, \"uint8\", device=\"host\").numpy()\n"
        "array([[7, 7],\n"
        "       [7, 7]], dtype=uint8)";
    static PyMethodDef functions[] = {
        {"empty", with_keywords(empty), METH_FASTCALL | METH_KEYWORDS, empty_doc.c_str()},
        {"zeros", with_keywords(zeros), METH_FASTCALL | METH_KEYWORDS, zeros_doc.c_str()},
        {"full", with_keywords(full), METH_FASTCALL | METH_KEYWORDS, full_doc.c_str()},
        {"fill", with_keywords(fill_array), METH_FASTCALL | METH_KEYWORDS,
         "fill($module, array, value, *, queue=None)\n"
         "--\n\n"
         "Set every element of ``array`` to ``value``.\n\n"
         "Parameters\n"
         "----------\n"
         "array : array_like\n"
         "    An Array or another object that asarray accepts. If it is not an Array and the\n"
         "    host can access its memory, such as a NumPy array, the call waits.\n"
         "value : bool, int, float, complex or Scalar\n"
         "    The value of each element. A Scalar must be of the array's dtype.\n"
         "queue : Queue, optional\n"
         "    The queue that the work is submitted to. The default is the array's queue.\n\n"
         "Returns\n"
         "-------\n"
         "Event\n"
         "    Done when all elements are set.\n\n"
         "Raises\n"
         "------\n"
         "ValueError\n"
         "    If the array is read-only, or the queue cannot use its memory.\n"
         "OverflowError\n"
         "    If the value does not fit the dtype.\n"
         "TypeError\n"
         "    If the object holds no memory, or the dtype does not accept a value of that\n"
         "    type, such as a float for integers.\n"
         "ExchangeError\n"
         "    If the memory cannot be viewed, or Python has no number for the dtype.\n\n"
         "Examples\n"
         "--------\n"
         ">>> array = ep.zeros(3, \"int32\", device=\"host\")\n"
         ">>> ep.fill(array[1:], 5).wait()\n"
         ">>> array.numpy()\n"
         "array([0, 5, 5], dtype=int32)"},
        {"copy", with_keywords(copy_arrays), METH_FASTCALL | METH_KEYWORDS,
         "copy($module, dst, src, queue=None)\n"
         "--\n\n"
         "Copy ``src`` into ``dst``, which may be on another device.\n\n"
         "If an argument is not an Array and the host can access its memory, such as a NumPy\n"
         "array, the call waits.\n\n"
         "Parameters\n"
         "----------\n"
         "dst : array_like\n"
         "    The destination, an Array or another object that asarray accepts.\n"
         "src : array_like\n"
         "    The source, of the same dtype. It is broadcast to the shape of ``dst``.\n"
         "queue : Queue, optional\n"
         "    The queue that the copy is submitted to. The default is the queue of ``dst``,\n"
         "    or that of ``src`` if ``dst`` is on the host.\n\n"
         "Returns\n"
         "-------\n"
         "Event\n"
         "    Done when the copy is complete. The memory stays alive until then.\n\n"
         "Raises\n"
         "------\n"
         "ValueError\n"
         "    If the destination is read-only, dtypes differ, shapes do not broadcast, or\n"
         "    memory overlaps.\n"
         "TypeError\n"
         "    If an argument holds no memory.\n"
         "ExchangeError\n"
         "    If the memory of an argument cannot be viewed.\n\n"
         "Examples\n"
         "--------\n"
         ">>> array = ep.zeros(3, \"int32\", device=\"host\")\n"
         ">>> ep.copy(array, np.arange(3, dtype=\"int32\")).wait()\n"
         ">>> array.numpy()\n"
         "array([0, 1, 2], dtype=int32)"},
        {"_synchronize_for_host", synchronize_from_python, METH_O,
         "_synchronize_for_host($module, array, /)\n--\n\n"
         "Blocks until the host may access the array as its read-only flag allows. Records that\n"
         "foreign code has the pointer."},
        {}};
    if (PyModule_AddFunctions(m.ptr(), functions) < 0)
        nb::raise_python_error();
}

}  // namespace entrepot::python

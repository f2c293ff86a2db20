// The methods of entrepot.Array: views, copies to another device, and conversion to NumPy.
#include "methods.hpp"

#include "../array_object/array_object.hpp"
#include "../core/dtype.hpp"
#include "../device/convert.hpp"
#include "../device/device.hpp"
#include "../exchange/exports.hpp"
#include "../exchange/host_sync.hpp"
#include "../exchange/routes.hpp"
#include "../memory/placement.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/parameters.hpp"
#include "array_handle.hpp"
#include "create.hpp"
#include "scalar.hpp"

#include <entrepot/array/copy.hpp>

#include <nanobind/nanobind.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace entrepot::python {
namespace {

// Runs a method's body on the array of `self` and converts C++ exceptions into Python ones.
template <class Body> PyObject *method(PyObject *self, Body body) noexcept {
    return guarded([&] { return body(array_of(self)); });
}

// Reads extents that were passed as separate arguments or as one tuple.
std::vector<std::int64_t> extents_from_args(PyObject *args) {
    return extents_from(PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : args);
}

PyObject *transpose(PyObject *self, PyObject *args) {
    return method(
        self, [&](const Array &array) { return wrap(array.transposed(extents_from_args(args))); });
}

PyObject *reshape(PyObject *self, PyObject *args) {
    return method(
        self, [&](const Array &array) { return wrap(array.reshaped(extents_from_args(args))); });
}

PyObject *view(PyObject *self, PyObject *dtype) {
    return method(self,
                  [&](const Array &array) { return wrap(array.viewed_as(dtype_from(dtype))); });
}

PyObject *host(PyObject *self, PyObject *) {
    return method(self, [](const Array &array) { return wrap(array.host()); });
}

const Parameters of_to("to", 1, 0, {"device", "kind", "queue"});

PyObject *to(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return method(self, [&](const Array &array) {
        const auto [device, kind, queue] = of_to.read(args, nargs, kwnames);
        const bool stays = !unless_none(device) && !unless_none(queue);
        const Placement where =
            stays ? Placement{array.queue(), unless_none(kind) ? kind_from(kind) : array.kind()}
                  : placement_from(device, kind, queue);
        return wrap(without_gil([&] { return copy_to(array, where.kind, where.queue); }));
    });
}

PyObject *copy_to_host(PyObject *self, PyObject *) {
    return method(self, [](const Array &array) {
        return wrap(without_gil([&] {
            Array result = copy_to(array, UsmKind::host, registry::host().default_queue());
            result.memory().wait_for_host(Access::read);
            return result;
        }));
    });
}

// The only element as a Python number; copies it if the host cannot reach the memory.
Reference number_of(const Array &array) {
    if (array.size() != 1)
        throw Error(ErrorKind::value, "an array of ", array.size(),
                    " elements cannot be converted to a number; index one element");
    const Array there = without_gil([&] {
        Array found = array.is_host_accessible()
                          ? array
                          : copy_to(array, UsmKind::host, registry::host().default_queue());
        found.memory().wait_for_host(Access::read);
        return found;
    });
    return number_from(static_cast<const std::byte *>(there.data()), there.dtype());
}

PyObject *item(PyObject *self, PyObject *) {
    return method(self, [](const Array &array) { return number_of(array).release(); });
}

PyObject *array_complex(PyObject *self, PyObject *) {
    return method(self, [](const Array &array) {
        const Reference number = number_of(array);
        return PyObject_CallOneArg(reinterpret_cast<PyObject *>(&PyComplex_Type), number.get());
    });
}

PyObject *copy_from_host(PyObject *self, PyObject *source) {
    return method(self, [&](const Array &array) {
        const Array from = is_array(source) ? array_of(source) : import_array(source, {});
        without_gil([&] { copy(array, from).wait(); });
        return Py_NewRef(Py_None);
    });
}

// The ml_dtypes scalar type of elements that NumPy cannot name.
nb::object ml_dtype(Dtype dtype) {
    const nb::object named =
        nb::getattr(nb::module_::import_("ml_dtypes"), name_of(dtype).c_str(), nb::none());
    if (named.is_none())
        throw Error(ErrorKind::exchange, "NumPy: neither NumPy nor ml_dtypes has a type for ",
                    dtype, "; see the elements as another one, as array.view('",
                    dtype.lanes > 1 ? name_of({dtype.code, dtype.bits}) : "uint8", "') does");
    return named;
}

// A NumPy array of the same memory. Dtypes that only ml_dtypes has are passed as bits and viewed.
nb::object as_numpy(PyObject *self, const Array &array) {
    if (!array.is_host_accessible())
        throw Error(ErrorKind::exchange, "NumPy: this is ", array.kind(), " memory of ",
                    array.device(),
                    ", which the host cannot reach; copy it with array.copy_to_host()");
    synchronize_for_host(array);  // here, because NumPy hides errors of the buffer protocol
    const nb::object asarray = nb::module_::import_("numpy").attr("asarray");
    if (typestr_of(array.dtype()))
        return asarray(nb::handle(self));
    const nb::object named = ml_dtype(array.dtype());
    const char *bits = array.itemsize() == 1   ? "uint8"
                       : array.itemsize() == 2 ? "uint16"
                                               : "uint32";
    const nb::object carrier = nb::steal(wrap(array.viewed_as(*dtype_from_name(bits))));
    return asarray(carrier).attr("view")(named);
}

PyObject *numpy(PyObject *self, PyObject *) {
    return method(self, [&](const Array &array) { return as_numpy(self, array).release().ptr(); });
}

const Parameters of_array("__array__", 2, 0, {"dtype", "copy"});

const Parameters of_share("share", 0, 0, {"fabric"});

PyObject *share(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return method(self, [&](const Array &array) {
        const auto [fabric] = of_share.read(args, nargs, kwnames);
        return share_array(array, is_true(fabric));
    });
}

PyObject *broadcast_to(PyObject *self, PyObject *args) {
    return method(self, [&](const Array &array) {
        return wrap(array.broadcast_to(extents_from_args(args)).as_read_only());
    });
}

}  // namespace

// NumPy calls this after the buffer protocol and the array interface have refused. If it failed
// without raising, NumPy would create an object array with this Array as its only element.
PyObject *numpy_asks(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return method(self, [&](const Array &array) {
        const auto [dtype, copy] = of_array.read(args, nargs, kwnames);
        const nb::object view = as_numpy(self, array);
        if (!unless_none(dtype) && !(unless_none(copy) && is_true(copy)))
            return nb::object(view).release().ptr();
        const nb::object make = nb::module_::import_("numpy").attr("array");
        const auto or_none = [](PyObject *value) { return nb::handle(value ? value : Py_None); };
        return make(view, "dtype"_a = or_none(dtype), "copy"_a = or_none(copy)).release().ptr();
    });
}

PyObject *array_float(PyObject *self) {
    return method(self, [](const Array &array) { return PyNumber_Float(number_of(array).get()); });
}

PyObject *array_int(PyObject *self) {
    return method(self, [](const Array &array) { return PyNumber_Long(number_of(array).get()); });
}

int array_bool(PyObject *self) {
    return guarded([&] { return PyObject_IsTrue(number_of(array_of(self)).get()); });
}

PyMethodDef array_methods[] = {
    {"transpose", transpose, METH_VARARGS,
     "transpose($self, *axes)\n--\n\n"
     "A view with permuted axes. Without arguments, the axes are reversed.\n\n"
     "Raises ValueError if the arguments are not a permutation of the axes."},
    {"reshape", reshape, METH_VARARGS,
     "reshape($self, *shape)\n--\n\n"
     "A view of the elements in another shape; one extent may be -1.\n\n"
     "Raises ValueError if the sizes differ, or if the shape requires a copy."},
    {"broadcast_to", broadcast_to, METH_VARARGS,
     "broadcast_to($self, *shape)\n--\n\n"
     "A read-only view in which axes of extent 1 are stretched to the shape.\n\n"
     "Raises ValueError if the array does not broadcast to the shape."},
    {"view", view, METH_O,
     "view($self, dtype, /)\n--\n\n"
     "A view of the bytes as elements of another dtype.\n\n"
     "Raises ValueError if the last axis or the alignment does not allow it."},
    {"to", with_keywords(to), METH_FASTCALL | METH_KEYWORDS,
     "to($self, device=None, *, kind=None, queue=None)\n--\n\n"
     "A C-contiguous copy on another device or in another kind of memory.\n\n"
     "Without ``device``, the copy is on the same device. It is ordered with other work. The call\n"
     "waits for the copy only if the host can access this array's memory and the memory is\n"
     "borrowed or exported, such as NumPy's. That memory may be changed when the call returns.\n\n"
     "Raises USMAllocationError if the memory cannot be allocated."},
    {"host", host, METH_NOARGS,
     "host($self, /)\n--\n\n"
     "An Array of the same memory on the host device, without a copy.\n\n"
     "Raises ExchangeError for memory that the host cannot access."},
    {"numpy", numpy, METH_NOARGS,
     "numpy($self, /)\n--\n\n"
     "A numpy.ndarray of the same memory. Waits for work that writes the memory.\n\n"
     "Types such as bfloat16 and the narrower floats require ml_dtypes. Raises ExchangeError for\n"
     "memory that the host cannot access."},
    {"__array__", with_keywords(numpy_asks), METH_FASTCALL | METH_KEYWORDS,
     "__array__($self, dtype=None, copy=None)\n--\n\n"
     "NumPy's conversion protocol: ``numpy()``, converted to ``dtype`` or copied if requested.\n\n"
     "Raises ExchangeError for memory that the host cannot access."},
    {"item", item, METH_NOARGS,
     "item($self, /)\n--\n\n"
     "The only element as a bool, int, float or complex.\n\n"
     "The element is copied to the host if the host cannot access the memory. Raises ValueError\n"
     "unless the array has exactly one element, ExchangeError for a type without a Python number."},
    {"__complex__", array_complex, METH_NOARGS,
     "__complex__($self, /)\n--\n\n``complex(a.item())``."},
    {"copy_to_host", copy_to_host, METH_NOARGS,
     "copy_to_host($self, /)\n--\n\n"
     "A copy in ordinary host memory, complete on return.\n\n"
     "Raises DeviceError if earlier work on the memory failed, USMAllocationError if the copy\n"
     "cannot be allocated."},
    {"copy_from_host", copy_from_host, METH_O,
     "copy_from_host($self, obj, /)\n--\n\n"
     "Copy the elements of any object that asarray accepts, complete on return.\n\n"
     "Raises ValueError under the same conditions as entrepot.copy."},
    {"share", with_keywords(share), METH_FASTCALL | METH_KEYWORDS,
     "share($self, *, fabric=False)\n"
     "--\n\n"
     "An ArrayHandle with which another process opens the array, without a copy.\n\n"
     "The memory must come from ``entrepot.memory.shareable()``, or from cudaMalloc in\n"
     "another library. The call waits for submitted work that writes the memory. The two\n"
     "processes must order later work between them.\n\n"
     "Keep the array or the handle until the other process has opened it. After that, each\n"
     "process keeps the memory alive by itself. Memory of cudaMalloc must stay allocated\n"
     "while the other process uses it.\n\n"
     "Pass ``fabric=True`` for processes on other machines, if the device supports fabric\n"
     "handles.\n\n"
     "Raises ExchangeError for memory that cannot be shared; the message names the\n"
     "resource whose memory can."},
    {"__dlpack__", with_keywords(dlpack_export), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A DLPack capsule of the same memory (DLPack 1.3, array API).\n\n"
     "Raises BufferError (ExchangeError) with the reason if the memory cannot be exported without\n"
     "a copy."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\n"
     "Device type and device id, in DLPack's numbering."},
    {},
};

}  // namespace entrepot::python

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
#include <entrepot/device/recorded_queue.hpp>

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

// The array, or a copy if the host cannot reach the memory. The host may read it at once.
Array readable(const Array &array) {
    if (array.is_host_accessible()) {
        array.memory().wait_for_host(Access::read);
        return array;
    }
    // Drivers copy to pinned memory in the order of a queue, and need no wait before it.
    // The work of a graph has not run: waiting for it raises an error.
    const bool is_ordered = array.device().has(EP_USM_HOST_ALLOCATIONS) &&
                            array.queue().capture() == 0 && !RecordedQueue::of_this_thread();
    if (!is_ordered)
        array.memory().wait_for_host(Access::read);
    Array copied = copy_to(array, UsmKind::host,
                           is_ordered ? array.queue() : registry::host().default_queue());
    copied.memory().wait_for_host(Access::read);
    return copied;
}

// The only element as a Python number.
Reference number_of(const Array &array) {
    if (array.size() != 1)
        throw Error(ErrorKind::value, "an array of ", array.size(),
                    " elements cannot be converted to a number; index one element");
    const Array there = without_gil([&] { return readable(array); });
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

// The policy of the current context decides: entrepot.pickles. It is imported on the first pickle,
// because most programs have none.
PyObject *reduce_ex(PyObject *self, PyObject *protocol) {
    return guarded([&] {
        const Reference module = checked(PyImport_ImportModule("entrepot.pickles"));
        return PyObject_CallMethod(module.get(), "reduce", "OO", self, protocol);
    });
}

// Without these, `copy.copy` would use the reduction above, which may share the memory.
PyObject *copied(PyObject *self, PyObject *) {
    return method(self, [](const Array &array) {
        return wrap(without_gil([&] { return copy_to(array, array.kind(), array.queue()); }));
    });
}

int array_bool(PyObject *self) {
    return guarded([&] { return PyObject_IsTrue(number_of(array_of(self)).get()); });
}

PyMethodDef array_methods[] = {
    {"transpose", transpose, METH_VARARGS,
     "transpose($self, *axes)\n--\n\n"
     "A view with permuted axes.\n\n"
     "Parameters\n"
     "----------\n"
     "*axes : int or sequence of int, optional\n"
     "    The order of the axes, as separate ints or as one sequence. Negative ones count\n"
     "    from the end. Without arguments, the axes are reversed.\n\n"
     "Returns\n"
     "-------\n"
     "Array\n"
     "    A view of the same memory.\n\n"
     "Raises\n"
     "------\n"
     "ValueError\n"
     "    If the arguments are not a permutation of the axes.\n\n"
     "Examples\n"
     "--------\n"
     ">>> array = ep.zeros((2, 3, 4), \"int8\", device=\"host\")\n"
     ">>> array.transpose(0, 2, 1).shape\n"
     "(2, 4, 3)\n"
     ">>> array.transpose().shape\n"
     "(4, 3, 2)"},
    {"reshape", reshape, METH_VARARGS,
     "reshape($self, *shape)\n--\n\n"
     "A view of the elements in another shape.\n\n"
     "Parameters\n"
     "----------\n"
     "*shape : int or sequence of int\n"
     "    The new extents, in elements, as separate ints or as one sequence. One extent may\n"
     "    be -1, which is computed from the others.\n\n"
     "Returns\n"
     "-------\n"
     "Array\n"
     "    A view of the same memory.\n\n"
     "Raises\n"
     "------\n"
     "ValueError\n"
     "    If the sizes differ, or if the shape requires a copy.\n\n"
     "Examples\n"
     "--------\n"
     ">>> array = ep.asarray(np.arange(6, dtype=\"int32\"))\n"
     ">>> array.reshape(2, -1).numpy()\n"
     "array([[0, 1, 2],\n"
     "       [3, 4, 5]], dtype=int32)"},
    {"broadcast_to", broadcast_to, METH_VARARGS,
     "broadcast_to($self, *shape)\n--\n\n"
     "A read-only view in which axes of extent 1 are stretched to the shape.\n\n"
     "Parameters\n"
     "----------\n"
     "*shape : int or sequence of int\n"
     "    The new extents, in elements, as separate ints or as one sequence. Missing axes are\n"
     "    added in front.\n\n"
     "Returns\n"
     "-------\n"
     "Array\n"
     "    A read-only view of the same memory.\n\n"
     "Raises\n"
     "------\n"
     "ValueError\n"
     "    If the array does not broadcast to the shape.\n\n"
     "Examples\n"
     "--------\n"
     ">>> row = ep.asarray(np.arange(3, dtype=\"int32\"))\n"
     ">>> row.broadcast_to(2, 3).numpy()\n"
     "array([[0, 1, 2],\n"
     "       [0, 1, 2]], dtype=int32)"},
    {"view", view, METH_O,
     "view($self, dtype, /)\n--\n\n"
     "A view of the bytes as elements of another dtype.\n\n"
     "Parameters\n"
     "----------\n"
     "dtype : dtype_like\n"
     "    The new type of an element. If its size differs, so does the extent of the last\n"
     "    axis.\n\n"
     "Returns\n"
     "-------\n"
     "Array\n"
     "    A view of the same memory.\n\n"
     "Raises\n"
     "------\n"
     "ValueError\n"
     "    If the last axis or the alignment does not allow it.\n"
     "TypeError\n"
     "    If the dtype is unknown.\n\n"
     "Examples\n"
     "--------\n"
     ">>> array = ep.full(1, 1, \"float32\", device=\"host\")\n"
     ">>> hex(array.view(\"uint32\").item())\n"
     "'0x3f800000'"},
    {"to", with_keywords(to), METH_FASTCALL | METH_KEYWORDS,
     "to($self, device=None, *, kind=None, queue=None)\n--\n\n"
     "A C-contiguous copy on another device or in another kind of memory.\n\n"
     "The copy is ordered with other work. The call waits for the copy if the host can access\n"
     "this array's memory and the memory is borrowed or exported, such as NumPy's. That\n"
     "memory may be changed when the call returns. The call also waits if the bytes pass\n"
     "through the host, between two contexts that cannot copy to each other.\n\n"
     "Parameters\n"
     "----------\n"
     "device : Device or str, optional\n"
     "    The device of the copy. The default is the device of ``queue``, else this array's.\n"
     "kind : str, optional\n"
     "    One of 'host', 'device' and 'shared'. The default is this array's kind if neither\n"
     "    ``device`` nor ``queue`` is given, else 'host' on the host and 'device' elsewhere.\n"
     "queue : Queue, optional\n"
     "    The default queue of the new array, which must be of ``device`` if both are given.\n"
     "    The default is the default queue of ``device``, else this array's queue.\n\n"
     "Returns\n"
     "-------\n"
     "Array\n"
     "    The copy, in new memory that it owns.\n\n"
     "Raises\n"
     "------\n"
     "USMAllocationError\n"
     "    If the memory cannot be allocated.\n"
     "DeviceError\n"
     "    If no device matches, or the device does not support the kind.\n"
     "ValueError\n"
     "    If the kind is unknown, the selector is malformed, or the queue is of another\n"
     "    device.\n\n"
     "Examples\n"
     "--------\n"
     ">>> x = np.arange(3, dtype=\"int32\")\n"
     ">>> array = ep.asarray(x).to(\"host\")\n"
     ">>> x[0] = 7\n"
     ">>> array.numpy()\n"
     "array([0, 1, 2], dtype=int32)"},
    {"host", host, METH_NOARGS,
     "host($self, /)\n--\n\n"
     "An Array of the same memory on the host device, without a copy.\n\n"
     "Returns\n"
     "-------\n"
     "Array\n"
     "    A view whose device is the host. Each use of it waits for pending work of devices.\n\n"
     "Raises\n"
     "------\n"
     "ExchangeError\n"
     "    If the host cannot access the memory.\n\n"
     "Examples\n"
     "--------\n"
     ">>> array = ep.zeros(3, \"int32\", device=\"host\", kind=\"shared\")\n"
     ">>> array.host().kind\n"
     "'host'\n"
     ">>> array.host().data_ptr == array.data_ptr\n"
     "True"},
    {"numpy", numpy, METH_NOARGS,
     "numpy($self, /)\n--\n\n"
     "A numpy.ndarray of the same memory.\n\n"
     "Waits for work that writes the memory, and for all work on it if the array is not\n"
     "read-only. Types such as bfloat16 and the narrower floats require ml_dtypes.\n\n"
     "Returns\n"
     "-------\n"
     "numpy.ndarray\n"
     "    A view that keeps the memory alive, read-only if the array is.\n\n"
     "Raises\n"
     "------\n"
     "ExchangeError\n"
     "    If the host cannot access the memory, or NumPy has no such type.\n"
     "ModuleNotFoundError\n"
     "    If NumPy, or ml_dtypes for a type that requires it, is not installed.\n"
     "DeviceError\n"
     "    If earlier work on the memory failed.\n\n"
     "Examples\n"
     "--------\n"
     ">>> array = ep.full(3, 2, \"float32\", device=\"host\")\n"
     ">>> array.numpy() * 10\n"
     "array([20., 20., 20.], dtype=float32)"},
    {"__array__", with_keywords(numpy_asks), METH_FASTCALL | METH_KEYWORDS,
     "__array__($self, dtype=None, copy=None)\n--\n\n"
     "NumPy's conversion protocol: ``numpy()``, converted to ``dtype`` or copied if requested.\n\n"
     "Raises ExchangeError for memory that the host cannot access."},
    {"item", item, METH_NOARGS,
     "item($self, /)\n--\n\n"
     "The only element as a bool, int, float or complex.\n\n"
     "The element is copied to the host if the host cannot access the memory. The call waits\n"
     "for work that writes the memory.\n\n"
     "Returns\n"
     "-------\n"
     "bool, int, float or complex\n"
     "    The value of the element.\n\n"
     "Raises\n"
     "------\n"
     "ValueError\n"
     "    If the array does not have exactly one element.\n"
     "ExchangeError\n"
     "    If Python has no number for the type.\n\n"
     "Examples\n"
     "--------\n"
     ">>> array = ep.asarray(np.array([1.5, 2.5]))\n"
     ">>> array[1].item()\n"
     "2.5"},
    {"__complex__", array_complex, METH_NOARGS,
     "__complex__($self, /)\n--\n\n``complex(a.item())``."},
    {"copy_to_host", copy_to_host, METH_NOARGS,
     "copy_to_host($self, /)\n--\n\n"
     "A copy in ordinary host memory, complete on return.\n\n"
     "Returns\n"
     "-------\n"
     "Array\n"
     "    The copy, C-contiguous, on the host.\n\n"
     "Raises\n"
     "------\n"
     "DeviceError\n"
     "    If earlier work on the memory failed.\n"
     "USMAllocationError\n"
     "    If the copy cannot be allocated.\n\n"
     "Examples\n"
     "--------\n"
     ">>> array = ep.full((2, 2), 7, \"uint8\", device=\"host\")\n"
     ">>> array.copy_to_host().numpy()\n"
     "array([[7, 7],\n"
     "       [7, 7]], dtype=uint8)"},
    {"copy_from_host", copy_from_host, METH_O,
     "copy_from_host($self, obj, /)\n--\n\n"
     "Copy the elements of any object that asarray accepts, complete on return.\n\n"
     "Parameters\n"
     "----------\n"
     "obj : array_like\n"
     "    The source, of the same dtype. It is broadcast to the shape of this array.\n\n"
     "Raises\n"
     "------\n"
     "ValueError\n"
     "    If this array is read-only, dtypes differ, shapes do not broadcast, or memory\n"
     "    overlaps, as for ``entrepot.copy``.\n"
     "ExchangeError\n"
     "    If the memory of ``obj`` cannot be viewed.\n"
     "TypeError\n"
     "    If ``obj`` holds no memory.\n\n"
     "Examples\n"
     "--------\n"
     ">>> array = ep.empty(3, \"int32\", device=\"host\")\n"
     ">>> array.copy_from_host(np.arange(3, dtype=\"int32\"))\n"
     ">>> array.numpy()\n"
     "array([0, 1, 2], dtype=int32)"},
    {"share", with_keywords(share), METH_FASTCALL | METH_KEYWORDS,
     "share($self, *, fabric=False)\n"
     "--\n\n"
     "An ArrayHandle with which another process opens the array, without a copy.\n\n"
     "The memory must come from ``entrepot.memory.shareable()``, or from a library whose\n"
     "memory the driver can share. The driver of CUDA or HIP shares memory of cudaMalloc, and\n"
     "mapped memory and pools with handles. SYCL shares memory of devices with the aspect\n"
     "``ext_oneapi_ipc_memory``.\n\n"
     "Uses of the opened array run after the work that is pending on the memory now. The call\n"
     "waits for that work only if no event can stand for it (``ArrayHandle.host_wait``). The two\n"
     "processes must order later work between them.\n\n"
     "Keep the array or the handle until the other process has opened it. After that, each\n"
     "process keeps the memory alive by itself. Memory of cudaMalloc, of a pool and of SYCL\n"
     "must stay allocated while the other process uses it.\n\n"
     "Parameters\n"
     "----------\n"
     "fabric : bool, optional\n"
     "    Pass True for processes on other machines, if the device supports fabric handles.\n"
     "    The default is False.\n\n"
     "Returns\n"
     "-------\n"
     "ArrayHandle\n"
     "    A picklable handle, which keeps the memory alive in this process.\n\n"
     "Raises\n"
     "------\n"
     "ExchangeError\n"
     "    If the memory cannot be shared. The message names the resource whose memory can, or\n"
     "    the setting of the library's allocator that allows it.\n"
     "DeviceError\n"
     "    If work on the memory is captured or recorded into a graph.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot import memory\n"
     ">>> with memory.use_resource(memory.shareable()):\n"
     "...     array = ep.full(3, 5, \"int32\", device=\"host\")\n"
     ">>> handle = array.share()\n"
     ">>> handle.open().numpy()  # in another process as well\n"
     "array([5, 5, 5], dtype=int32)"},
    {"__reduce_ex__", reduce_ex, METH_O,
     "__reduce_ex__($self, protocol, /)\n--\n\n"
     "Reduce the array for pickle, by the policy of ``entrepot.pickling``.\n\n"
     "Raises TypeError under the default policy, 'refuse'."},
    {"__copy__", copied, METH_NOARGS,
     "__copy__($self, /)\n--\n\n"
     "Copy the elements into new memory on the same device."},
    {"__deepcopy__", copied, METH_O,
     "__deepcopy__($self, memo, /)\n--\n\n"
     "Copy the elements into new memory on the same device."},
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

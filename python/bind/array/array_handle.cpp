// entrepot.ArrayHandle: picklable. In the process that shared the memory, it also owns the memory.
#include "array_handle.hpp"

#include "../array_object/array_object.hpp"
#include "../core/dtype.hpp"
#include "../device/convert.hpp"
#include "../init.hpp"
#include "../memory/owner.hpp"
#include "../memory/placement.hpp"
#include "../support/errors.hpp"
#include "../support/foreign_error.hpp"
#include "../support/gil.hpp"

#include <entrepot/array/array_handle.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <unistd.h>

#include <atomic>
#include <string_view>

namespace nb = nanobind;
using namespace nb::literals;

namespace entrepot::python {
namespace {

struct Shared {
    ArrayHandle handle;
    Memory memory;  // in the process that shared it; empty if the handle was made from bytes
};

int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self))
        return 0;
    const Memory &memory = nb::inst_ptr<Shared>(self)->memory;
    // A shared Memory is not visited: each of its users would report its owner's one reference.
    if (memory && !memory.is_shared())
        Py_VISIT(kept_object(memory.owner()));
    return 0;
}

int clear(PyObject *self) {
    Memory left = std::move(nb::inst_ptr<Shared>(self)->memory);
    return 0;
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void *>(clear)},
                       {}};

nb::object open(const Shared &self) {
    drain_released();
    return nb::steal(wrap(without_gil([&] { return self.handle.open(); })));
}

nb::bytes bytes_of(const Shared &self) {
    const std::string bytes = self.handle.bytes();
    return nb::bytes(bytes.data(), bytes.size());
}

void construct(Shared *self, nb::handle data) {
    if (!nb::isinstance<nb::bytes>(data))
        throw Error(
            ErrorKind::type,
            "ArrayHandle: the bytes of a handle were expected, as bytes(handle) gives them, not ",
            shown(data.ptr()));
    const auto bytes = nb::borrow<nb::bytes>(data);
    new (self) Shared{
        ArrayHandle::from_bytes({static_cast<const char *>(bytes.data()), bytes.size()}), {}};
}

nb::object shape_of(const Shared &self) {
    nb::list extents;
    for (const std::int64_t extent : self.handle.layout.shape())
        extents.append(extent);
    return nb::tuple(extents);
}

std::string text_of(const Shared &self) {
    const ArrayHandle &handle = self.handle;
    return sentence_of("<entrepot.ArrayHandle, ", handle.dtype, ", shape ",
                       tuple_text(handle.layout.shape()), ", ", handle.memory.kind, " memory of ",
                       handle.memory.backend, handle.read_only ? ", read-only" : "",
                       ", shared by process ", handle.memory.pieces.front().sender.process, '>');
}

// Children of multiprocessing end by os._exit(), without the functions of atexit. They call
// finalizers: the threads of queues, which share arrays, end with the priority -5, and the wait for
// leases has -10.
void wait_for_shared_work_in_child() {
    static std::atomic<pid_t> registered{0};  // a fork clears the finalizers
    const nb::dict modules = nb::module_::import_("sys").attr("modules");
    if (registered.load(std::memory_order_relaxed) == getpid() ||
        !modules.contains("multiprocessing.util"))
        return;
    const nb::object wait = nb::module_::import_("entrepot._core").attr("_wait_for_shared_work");
    modules["multiprocessing.util"].attr("Finalize")(nb::none(), wait, "exitpriority"_a = -20);
    registered.store(getpid(), std::memory_order_relaxed);
}

}  // namespace

PyObject *share_array(const Array &array, bool fabric) {
    ArrayHandle handle =
        without_gil([&] { return ArrayHandle::of(array, fabric ? EP_IPC_FABRIC : EP_IPC_ANY); });
    if (handle.memory.pending)
        wait_for_shared_work_in_child();
    return nb::cast(Shared{std::move(handle), array.memory()}).release().ptr();
}

void init_array_handle(nb::module_ &m) {
    nb::class_<Shared>(
        m, "ArrayHandle", nb::type_slots(slots), nb::is_weak_referenceable(),
        "A picklable handle of some hundred bytes, with which another process opens an array.\n\n"
        "Handles are made by ``Array.share`` and ``Memory.share``. In the process that shared\n"
        "the array, the handle keeps the memory alive.\n\n"
        "Parameters\n"
        "----------\n"
        "data : bytes\n"
        "    The bytes that ``bytes(handle)`` returned, in any process.\n\n"
        "Raises\n"
        "------\n"
        "ValueError\n"
        "    If these are other bytes, or those of a handle of another version.\n"
        "TypeError\n"
        "    If ``data`` is not bytes.\n\n"
        "Examples\n"
        "--------\n"
        ">>> from entrepot import memory\n"
        ">>> with memory.use_resource(memory.shareable()):\n"
        "...     array = ep.full(3, 5, \"int32\", device=\"host\")\n"
        ">>> data = bytes(array.share())\n"
        ">>> handle = ep.ArrayHandle(data)  # in another process as well\n"
        ">>> handle.shape, handle.dtype\n"
        "((3,), Dtype('int32'))")
        .def("__init__", &construct, "data"_a.none(),
             nb::sig("def __init__(self, data: bytes) -> None"))
        .def("open", &open, nb::sig("def open(self) -> Array"),
             "The shared array in this process.\n\n"
             "It is the same memory at another address. May be called any number of times, in\n"
             "any process of the same user, while the process that shared the array holds the\n"
             "memory. Uses of the array wait for the work that was pending when it was shared.\n\n"
             "Returns\n"
             "-------\n"
             "Array\n"
             "    A view of the memory, read-only if the array was.\n\n"
             "Raises\n"
             "------\n"
             "ExchangeError\n"
             "    If that process has ended or released the memory. Also if this process\n"
             "    shared memory of cudaMalloc, which only other processes can open.\n"
             "ValueError\n"
             "    If the handle contradicts the memory.\n"
             "DeviceError\n"
             "    If the device is not available in this process. Also if the process that shared\n"
             "    the array has ended before its pending work was done.\n\n"
             "Examples\n"
             "--------\n"
             ">>> import pickle\n"
             ">>> from entrepot import memory\n"
             ">>> with memory.use_resource(memory.shareable()):\n"
             "...     array = ep.full(3, 5, \"int32\", device=\"host\")\n"
             ">>> data = pickle.dumps(array.share())\n"
             ">>> pickle.loads(data).open().numpy()  # in another process as well\n"
             "array([5, 5, 5], dtype=int32)")
        .def_prop_ro("shape", &shape_of, nb::sig("def shape(self) -> tuple[int, ...]"),
                     "Extent of each axis, in elements.")
        .def_prop_ro(
            "dtype", [](const Shared &self) { return nb::steal(wrap_dtype(self.handle.dtype)); },
            nb::sig("def dtype(self) -> Dtype"), "The type of an element.")
        .def_prop_ro(
            "kind",
            [](const Shared &self) { return std::string(name_of(self.handle.memory.kind)); },
            "'host', 'device' or 'shared'.")
        .def_prop_ro(
            "read_only", [](const Shared &self) { return self.handle.read_only; },
            "True if the array cannot be written.")
        .def_prop_ro(
            "has_event", [](const Shared &self) { return self.handle.memory.pending.has_value(); },
            "True if work was pending, and uses of the opened array wait for its event.")
        .def_prop_ro(
            "host_wait", [](const Shared &self) { return self.handle.memory.host_wait; },
            "Why ``Array.share`` waited on the host for pending work, as no event can stand for\n"
            "it. Empty if it did not wait, and for a handle that was made from bytes.")
        .def_prop_ro(
            "process",
            [](const Shared &self) { return self.handle.memory.pieces.front().sender.process; },
            "Process ID of the process that shared the array.")
        .def("__bytes__", &bytes_of, "The handle as bytes, which can be sent by any means.")
        .def(
            "__reduce__",
            [](nb::handle self) {
                return nb::make_tuple(self.type(),
                                      nb::make_tuple(bytes_of(nb::cast<Shared &>(self))));
            },
            nb::sig("def __reduce__(self) -> tuple[object, ...]"))
        .def("__repr__", &text_of);
}

}  // namespace entrepot::python

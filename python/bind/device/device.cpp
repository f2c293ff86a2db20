// Devices in Python: Device, Context, Queue, Event, Program, Kernel, and the
// functions that find devices.
//
// Names follow dpctl where it has the same concept, so that code written for
// dpctl works with these classes.
#include "device.hpp"

#include "../init.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/nb_cast.hpp"
#include "convert.hpp"
#include "dpctl.hpp"
#include "event.hpp"

#include <entrepot/device/recorded_queue.hpp>
#include <entrepot/device/threads.hpp>
#include <entrepot/exchange/stream.hpp>
#include <memory/release.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <climits>
#include <sstream>

namespace nb = nanobind;
using namespace nb::literals;

namespace entrepot::python {
namespace {

// Also releases the owners of memory that finished work used: after waiting, a caller expects that.
void wait(const Queue &queue) {
    queue.wait();
    release_finished();
}

// ------------------------------------------------------- native objects

template <class T> std::string text_of(const T &value) {
    std::ostringstream out;
    out << value;
    return std::move(out).str();
}

const Backend &backend_of(const Device &device) { return device.backend(); }
const Backend &backend_of(const Context &context) { return context.backend(); }
const Backend &backend_of(const Queue &queue) { return queue.backend(); }

// Only SYCL objects are passed by address and by capsule.
template <class T> void *sycl_native(const T &object, const char *what) {
    if (!backend_of(object).is_sycl())
        throw Error(ErrorKind::device, what, " is not a SYCL object: it belongs to the ",
                    backend_of(object).name(), " backend");
    return object.native();
}

// A capsule that owns a copy of the Queue or Context, so its pointer is valid
// while the capsule lives.
template <class T> nb::object make_capsule(const T &object, const char *what, const char *name) {
    void *const native = sycl_native(object, what);
    PyObject *const capsule = PyCapsule_New(
        native, name, [](PyObject *self) { delete static_cast<T *>(PyCapsule_GetContext(self)); });
    if (!capsule)
        throw PythonError{};
    PyCapsule_SetContext(capsule, new T(object));
    return nb::steal(capsule);
}

nb::object equals(bool known, bool same) {
    return known ? nb::borrow(same ? Py_True : Py_False) : nb::borrow(Py_NotImplemented);
}

// ---------------------------------------------------------------- devices

struct AffinityRow {
    const char *name;
    const char *of_dpctl;
    ep_affinity domain;
};
constexpr AffinityRow affinities[] = {
    {"numa", "numa", EP_AFFINITY_NUMA}, {"l4", "L4_cache", EP_AFFINITY_L4},
    {"l3", "L3_cache", EP_AFFINITY_L3}, {"l2", "L2_cache", EP_AFFINITY_L2},
    {"l1", "L1_cache", EP_AFFINITY_L1}, {"next", "next_partitionable", EP_AFFINITY_NEXT},
};

ep_affinity affinity_from(const std::string &name) {
    for (const AffinityRow &row : affinities)
        if (name == row.name || name == row.of_dpctl)
            return row.domain;
    throw Error(ErrorKind::value,
                "affinity: 'numa', 'l4', 'l3', 'l2', 'l1' or 'next' was expected, not '", name,
                "'");
}

std::vector<Device> sub_devices(const Device &device, std::optional<std::uint32_t> equally,
                                std::optional<std::vector<std::uint32_t>> counts,
                                std::optional<std::string> affinity) {
    if (equally.has_value() + counts.has_value() + affinity.has_value() != 1)
        throw Error(ErrorKind::type,
                    "sub_devices() takes exactly one of equally=, counts= and affinity=");
    const ReleaseGil released;
    if (equally)
        return device.partition_equally(*equally);
    return counts ? device.partition_by_counts(*counts)
                  : device.partition_by_affinity(affinity_from(*affinity));
}

std::vector<Device> create_sub_devices(const Device &device, nb::handle partition) {
    std::uint32_t each;
    std::string affinity;
    std::vector<std::uint32_t> counts;
    if (nb::try_cast(partition, each))
        return sub_devices(device, each, {}, {});
    if (nb::try_cast(partition, affinity))
        return sub_devices(device, {}, {}, affinity);
    if (nb::try_cast(partition, counts))
        return sub_devices(device, {}, counts, {});
    throw Error(ErrorKind::type, "partition: compute units of each sub-device (an int), of every "
                                 "one (a sequence), or an affinity domain (a string) "
                                 "was expected");
}

constexpr const char *type_names[] = {"cpu", "gpu", "accelerator"};

template <ep_aspect aspect> bool has(const Device &device) { return device.has(aspect); }
template <ep_device_type type> bool is(const Device &device) { return device.info().type == type; }

nb::tuple work_item_sizes(const Device &device) {
    const std::uint64_t (&sizes)[3] = device.info().max_work_items;
    return nb::make_tuple(sizes[0], sizes[1], sizes[2]);
}

std::vector<std::string> partitions(const Device &device) {
    std::vector<std::string> names;
    for (const auto &[aspect, name] :
         {std::pair{EP_PARTITION_EQUALLY, "equally"}, std::pair{EP_PARTITION_BY_COUNTS, "counts"},
          std::pair{EP_PARTITION_BY_AFFINITY, "affinity"}})
        if (device.has(aspect))
            names.emplace_back(name);
    return names;
}

nb::object parent_of(const Device &device) {
    return device.parent() ? nb::cast(device.parent()) : nb::none();
}

void bind_device(nb::module_ &m) {
    nb::class_<Device>(
        m, "Device", nb::is_weak_referenceable(),
        "A device or sub-device.\n\n"
        "It compares equal to dpctl's SyclDevice of the same device. ``str(device)`` is\n"
        "the selector that finds the device again. ``Device(selector)`` is equivalent to\n"
        "``entrepot.device(selector)``.\n\n"
        "Parameters\n"
        "----------\n"
        "device : Device or str\n"
        "    A Device, a selector, or dpctl's SyclDevice.\n\n"
        "Raises\n"
        "------\n"
        "ValueError\n"
        "    If the selector is malformed.\n"
        "DeviceError\n"
        "    If no device matches the selector.\n"
        "TypeError\n"
        "    If the object is neither a device nor a selector.\n\n"
        "Examples\n"
        "--------\n"
        ">>> device = ep.Device(\"host\")\n"
        ">>> str(device)\n"
        "'host'\n"
        ">>> device.is_cpu\n"
        "True")
        .def(
            "__init__",
            [](Device *self, nb::handle device) { new (self) Device(device_from(device.ptr())); },
            "device"_a)
        .def("__str__", [](const Device &self) { return self.selector(); })
        .def("__repr__", [](const Device &self) { return "Device('" + self.selector() + "')"; })
        .def(
            "__eq__",
            [](const Device &self, nb::handle other) {
                const Device device = known_device(other.ptr());
                return equals(bool(device), device == self);
            },
            nb::arg().none(), nb::sig("def __eq__(self, arg: object, /) -> bool"))
        .def("__hash__", [](const Device &self) { return std::hash<Device>{}(self); })
        .def("__reduce__",
             [](const Device &self) {
                 return nb::make_tuple(nb::type<Device>(), nb::make_tuple(self.selector()));
             })
        .def_prop_ro(
            "filter_string", [](const Device &self) { return self.selector(); },
            "The selector, as ``str(device)``.")
        .def_prop_ro(
            "backend", [](const Device &self) { return self.info().backend; },
            "'opencl', 'level_zero', 'cuda', 'hip', 'host' …")
        .def_prop_ro(
            "device_type", [](const Device &self) { return type_names[self.info().type]; },
            "'cpu', 'gpu' or 'accelerator'.")
        .def_prop_ro(
            "name", [](const Device &self) { return self.info().name; },
            "The driver's name for the device.")
        .def_prop_ro(
            "vendor", [](const Device &self) { return self.info().vendor; }, "The vendor's name.")
        .def_prop_ro(
            "driver_version", [](const Device &self) { return self.info().driver; },
            "The driver's version, as the driver reports it.")
        .def_prop_ro(
            "global_mem_size", [](const Device &self) { return self.info().global_memory; },
            "Memory of the device, in bytes.")
        .def_prop_ro(
            "local_mem_size", [](const Device &self) { return self.info().local_memory; },
            "Local memory of a work-group, in bytes.")
        .def_prop_ro(
            "max_mem_alloc_size", [](const Device &self) { return self.info().max_allocation; },
            "Size of the largest possible allocation, in bytes.")
        .def_prop_ro(
            "max_compute_units", [](const Device &self) { return self.info().compute_units; },
            "Number of compute units.")
        .def_prop_ro(
            "max_work_group_size", [](const Device &self) { return self.info().max_work_group; },
            "Largest number of work-items in a work-group.")
        .def_prop_ro("max_work_item_sizes3d", &work_item_sizes,
                     nb::sig("def max_work_item_sizes3d(self) -> tuple[int, int, int]"),
                     "Largest number of work-items in a work-group along each of three dimensions.")
        .def_prop_ro(
            "default_selector_score", [](const Device &self) { return self.info().score; },
            "Score of SYCL's default selector. A device with a negative score is never chosen by "
            "default.")
        .def_prop_ro("is_cpu", &is<EP_CPU>, "True if the device is a CPU.")
        .def_prop_ro("is_gpu", &is<EP_GPU>, "True if the device is a GPU.")
        .def_prop_ro("is_accelerator", &is<EP_ACCELERATOR>,
                     "True if the device is an accelerator other than a GPU.")
        .def_prop_ro("has_aspect_fp16", &has<EP_FP16>, "True if kernels can compute in float16.")
        .def_prop_ro("has_aspect_fp64", &has<EP_FP64>, "True if kernels can compute in float64.")
        .def_prop_ro("has_aspect_atomic64", &has<EP_ATOMIC64>,
                     "True if kernels can use 64-bit atomics.")
        .def_prop_ro("has_aspect_usm_host_allocations", &has<EP_USM_HOST_ALLOCATIONS>,
                     "True if memory of kind 'host' can be allocated.")
        .def_prop_ro("has_aspect_usm_device_allocations", &has<EP_USM_DEVICE_ALLOCATIONS>,
                     "True if memory of kind 'device' can be allocated.")
        .def_prop_ro("has_aspect_usm_shared_allocations", &has<EP_USM_SHARED_ALLOCATIONS>,
                     "True if memory of kind 'shared' can be allocated.")
        .def_prop_ro("has_aspect_usm_system_allocations", &has<EP_READS_HOST_MEMORY>,
                     "True if kernels can access ordinary host memory.")
        .def_prop_ro("has_aspect_queue_profiling", &has<EP_PROFILING>,
                     "True if queues can measure time.")
        .def_prop_ro(
            "partition_max_sub_devices",
            [](const Device &self) { return self.info().max_sub_devices; },
            "Largest number of sub-devices; 0 or 1 if the device cannot be divided.")
        .def_prop_ro(
            "partitions", &partitions,
            "Supported arguments of sub_devices(), any of 'equally', 'counts' and 'affinity'.")
        .def_prop_ro("parent_device", &parent_of,
                     nb::sig("def parent_device(self) -> Device | None"),
                     "The device that this sub-device is part of; None for a root device.")
        .def("get_unpartitioned_parent_device", &Device::root,
             "The root device that contains this sub-device, or the device itself.\n\n"
             "Returns\n"
             "-------\n"
             "Device\n"
             "    The root device, which has no ``parent_device``.\n\n"
             "Examples\n"
             "--------\n"
             ">>> host = ep.device(\"host\")\n"
             ">>> host.get_unpartitioned_parent_device() == host\n"
             "True")
        .def(
            "get_filter_string", [](const Device &self) { return self.selector(); },
            "The selector, as ``str(device)``.\n\n"
            "Returns\n"
            "-------\n"
            "str\n"
            "    The selector, also in ``filter_string``.\n\n"
            "Examples\n"
            "--------\n"
            ">>> ep.device(\"host\").get_filter_string()\n"
            "'host'")
        .def("can_access", &Device::can_access, "peer"_a,
             "True if kernels on this device can access memory of ``peer``.\n\n"
             "Copies do not require this.\n\n"
             "Parameters\n"
             "----------\n"
             "peer : Device\n"
             "    The device that the memory belongs to.\n\n"
             "Returns\n"
             "-------\n"
             "bool\n"
             "    True if a kernel can access the memory. False for a device of another\n"
             "    backend.\n\n"
             "Examples\n"
             "--------\n"
             ">>> host = ep.device(\"host\")\n"
             ">>> host.can_access(host)\n"
             "True")
        .def("sub_devices", &sub_devices, nb::kw_only(), "equally"_a = nb::none(),
             "counts"_a = nb::none(), "affinity"_a = nb::none(),
             "Divide the device in one of three ways.\n\n"
             "Exactly one argument is given. ``partitions`` names the ways that the device\n"
             "supports. Repeating a division returns the same devices.\n\n"
             "Parameters\n"
             "----------\n"
             "equally : int, optional\n"
             "    Each sub-device has this number of compute units.\n"
             "counts : sequence of int, optional\n"
             "    One sub-device for each entry, with that many compute units.\n"
             "affinity : str, optional\n"
             "    One sub-device for each unit of that level: 'numa', 'l4', 'l3', 'l2', 'l1'\n"
             "    or 'next'.\n\n"
             "Returns\n"
             "-------\n"
             "list of Device\n"
             "    The sub-devices. Their ``parent_device`` is this device.\n\n"
             "Raises\n"
             "------\n"
             "DeviceError\n"
             "    If the device does not support the division.\n"
             "ValueError\n"
             "    If the device does not have the compute units, or ``affinity`` is not one of\n"
             "    the levels.\n"
             "TypeError\n"
             "    Unless exactly one way is given.\n\n"
             "Examples\n"
             "--------\n"
             ">>> cpu = ep.device(\"opencl:cpu\")  # doctest: +SKIP\n"
             ">>> first, second = cpu.sub_devices(counts=[1, 1])  # doctest: +SKIP\n"
             ">>> first.max_compute_units, first.parent_device == cpu  # doctest: +SKIP\n"
             "(1, True)")
        .def("create_sub_devices", &create_sub_devices, "partition"_a,
             "Divide the device like ``sub_devices``, with dpctl's argument.\n\n"
             "Parameters\n"
             "----------\n"
             "partition : int, sequence of int, or str\n"
             "    An int divides equally, a sequence gives counts, and a string names an\n"
             "    affinity domain.\n\n"
             "Returns\n"
             "-------\n"
             "list of Device\n"
             "    The sub-devices, as ``sub_devices`` returns them.\n\n"
             "Raises\n"
             "------\n"
             "DeviceError\n"
             "    If the device does not support the division.\n"
             "ValueError\n"
             "    If the device does not have the compute units, or there is no such affinity\n"
             "    domain.\n"
             "TypeError\n"
             "    If ``partition`` has another type.\n\n"
             "Examples\n"
             "--------\n"
             ">>> cpu = ep.device(\"opencl:cpu\")  # doctest: +SKIP\n"
             ">>> len(cpu.create_sub_devices([1, 1]))  # doctest: +SKIP\n"
             "2")
        .def_prop_ro(
            "context", [](const Device &self) { return self.default_context(); },
            "The default context of the platform.\n\n"
            "A sub-device has a default context of its own if the SYCL runtime requires it.")
        .def_prop_ro(
            "sycl_context", [](const Device &self) { return self.default_context(); },
            "The default context, as ``context``.")
        .def_prop_ro(
            "sycl_device", [](const Device &self) { return self; }, "The device itself.")
        .def_prop_ro(
            "queue", [](const Device &self) { return self.default_queue(); },
            "The default queue, in order and in the default context. Every access returns the same "
            "queue.")
        .def(
            "addressof_ref",
            [](const Device &self) {
                return reinterpret_cast<std::uintptr_t>(sycl_native(self, "the device"));
            },
            "Address of the sycl::device, valid until the process exits.\n\n"
            "Returns\n"
            "-------\n"
            "int\n"
            "    The address.\n\n"
            "Raises\n"
            "------\n"
            "DeviceError\n"
            "    If the device belongs to a backend other than SYCL.\n\n"
            "Examples\n"
            "--------\n"
            ">>> address = ep.device(\"opencl:cpu\").addressof_ref()  # doctest: +SKIP");
}

// --------------------------------------------------------------- contexts

Context make_context(nb::handle object) {
    std::vector<Device> devices;
    if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr()))
        return context_from(object.ptr());
    for (nb::handle item : nb::borrow(object))
        devices.push_back(device_from(item.ptr()));
    return Context::create(devices);
}

void bind_context(nb::module_ &m) {
    nb::class_<Context>(
        m, "Context", nb::is_weak_referenceable(),
        "A driver context, which memory is bound to.\n\n"
        "Contexts of the same native context are equal, dpctl's included.\n\n"
        "Parameters\n"
        "----------\n"
        "obj : object\n"
        "    A list or tuple of devices makes a new context of these devices. On the\n"
        "    host, CUDA and HIP, each device has one context, which is returned instead.\n"
        "    Other objects are wrapped: dpctl's SyclContext, a capsule 'SyclContextRef',\n"
        "    or an object with ``_get_capsule()``. A queue gives its context, a device or\n"
        "    selector its default context.\n\n"
        "Raises\n"
        "------\n"
        "ValueError\n"
        "    If there are no devices, or devices that cannot share a context, such as\n"
        "    those of two backends. Also for a consumed capsule and a malformed selector.\n"
        "DeviceError\n"
        "    If no device matches the selector.\n"
        "TypeError\n"
        "    If the object is neither a context nor a queue or device.\n\n"
        "Examples\n"
        "--------\n"
        ">>> context = ep.Context(\"host\")\n"
        ">>> context.devices\n"
        "[Device('host')]\n"
        ">>> context == ep.device(\"host\").context\n"
        "True")
        .def(
            "__init__",
            [](Context *self, nb::handle object) { new (self) Context(make_context(object)); },
            "obj"_a)
        .def("__repr__",
             [](const Context &self) { return "<entrepot.Context: " + text_of(self) + ">"; })
        .def(
            "__eq__",
            [](const Context &self, nb::handle other) {
                const Context context = known_context(other.ptr());
                return equals(bool(context), context == self);
            },
            nb::arg().none(), nb::sig("def __eq__(self, arg: object, /) -> bool"))
        .def("__hash__", [](const Context &self) { return std::hash<Context>{}(self); })
        .def_prop_ro(
            "devices", [](const Context &self) { return self.devices(); },
            "The devices in the context.")
        .def(
            "get_devices", [](const Context &self) { return self.devices(); },
            "The devices in the context, as ``devices``.\n\n"
            "Returns\n"
            "-------\n"
            "list of Device\n"
            "    The devices.\n\n"
            "Examples\n"
            "--------\n"
            ">>> ep.Context(\"host\").get_devices()\n"
            "[Device('host')]")
        .def_prop_ro(
            "device_count", [](const Context &self) { return self.devices().size(); },
            "Number of devices in the context.")
        .def_prop_ro("is_default", &Context::is_default,
                     "True if this is the default context of its platform.")
        .def_prop_ro(
            "sycl_context", [](const Context &self) { return self; }, "The context itself.")
        .def(
            "_get_capsule",
            [](const Context &self) { return make_capsule(self, "the context", "SyclContextRef"); },
            nb::sig("def _get_capsule(self) -> object"),
            "A new capsule 'SyclContextRef' of the sycl::context, for one consumer.\n\n"
            "Raises DeviceError for contexts of other backends.")
        .def(
            "addressof_ref",
            [](const Context &self) {
                return reinterpret_cast<std::uintptr_t>(sycl_native(self, "the context"));
            },
            "Address of the sycl::context, valid while this context exists.\n\n"
            "Returns\n"
            "-------\n"
            "int\n"
            "    The address.\n\n"
            "Raises\n"
            "------\n"
            "DeviceError\n"
            "    If the context belongs to a backend other than SYCL.\n\n"
            "Examples\n"
            "--------\n"
            ">>> context = ep.Context(\"opencl:cpu\")  # doctest: +SKIP\n"
            ">>> address = context.addressof_ref()  # doctest: +SKIP");
}

// ----------------------------------------------------------------- queues

bool is_device(nb::handle object) {
    return PyUnicode_Check(object.ptr()) || known_device(object.ptr());
}

Queue make_queue(nb::handle object, nb::handle context, bool profiling) {
    if (object.is_none() || is_device(object)) {
        const Device device =
            object.is_none() ? registry::current_device() : device_from(object.ptr());
        return Queue::create(context.is_none() ? device.default_context()
                                               : context_from(context.ptr()),
                             device, {.profiling = profiling});
    }
    if (!context.is_none() || profiling)
        throw Error(ErrorKind::type, "context and profiling are for a new queue of a device; a "
                                     "queue that is wrapped has its own");
    return queue_from(object.ptr());
}

nb::object record(const Queue &queue) {
    RecordedQueue::require_running(queue, "record()");
    return nb::steal(wrap_event(queue.record()));
}

void wait_for(const Queue &queue, PyObject *other) {
    RecordedQueue::require_running(queue, "wait_for()");
    if (const Queue *const given = try_cast<Queue>(other))
        return queue.wait_for(*given);
    queue.wait_for(event_from(
        other, "an event or a queue was expected (an Event, dpctl's SyclEvent, or a Queue)"));
}

// A method of the C API: a call through nanobind costs a tenth of the driver's own time for this.
PyObject *queue_wait_for(PyObject *self, PyObject *other) {
    return guarded([&] {
        if (!nb::inst_ready(self))
            throw Error(ErrorKind::type, "wait_for: the queue was never initialized");
        wait_for(*nb::inst_ptr<Queue>(self), other);
        Py_RETURN_NONE;
    });
}

PyMethodDef wait_for_method{
    "wait_for", queue_wait_for, METH_O,
    "wait_for($self, other, /)\n--\n\n"
    "Make later work of the queue wait for ``other``.\n\n"
    "The call blocks only if ``other`` belongs to another backend, or is outside the\n"
    "graph capture that this queue is in. Waiting for captured work adds this queue\n"
    "to the capture.\n\n"
    "Parameters\n"
    "----------\n"
    "other : Event or Queue\n"
    "    An Event, dpctl's SyclEvent, or a Queue, which stands for all work that it\n"
    "    holds now.\n\n"
    "Raises\n"
    "------\n"
    "DeviceError\n"
    "    If ``other`` belongs to another capture, or is an event of a capture that\n"
    "    has ended.\n"
    "TypeError\n"
    "    If ``other`` is neither an event nor a queue.\n\n"
    "Examples\n"
    "--------\n"
    ">>> producer, consumer = ep.Queue(\"host\"), ep.Queue(\"host\")\n"
    ">>> array = ep.full(3, 7, \"int32\", queue=producer)\n"
    ">>> consumer.wait_for(producer)\n"
    ">>> consumer.wait_for(producer.record())  # the same, by an event"};

nb::object method_of(nb::handle type, PyMethodDef &method) {
    PyObject *const made = PyDescr_NewMethod(reinterpret_cast<PyTypeObject *>(type.ptr()), &method);
    if (!made)
        nb::raise_python_error();
    return nb::steal(made);
}

std::pair<int, std::uintptr_t> cuda_stream(const Queue &queue) {
    if (std::string_view(queue.backend().name()) != "cuda")
        throw Error(ErrorKind::device, "the queue is no CUDA stream: it belongs to the ",
                    queue.backend().name(), " backend");
    return {0, exchange::stream_of(queue)};
}

// A queue with the Python object that keeps its stream alive. The object is held here and not by
// Record::owners, so that the garbage collector sees the reference.
struct QueueWithOwner : Queue {
    QueueWithOwner(Queue queue, nb::object object)
        : Queue(std::move(queue)), owner(std::move(object)) {}
    QueueWithOwner(QueueWithOwner &&) = default;
    ~QueueWithOwner() { static_cast<Queue &>(*this) = Queue(); }  // before the stream is destroyed

    nb::object owner;
};

// There is no tp_clear: a cycle leads through the owner, which the collector clears.
int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self))
        Py_VISIT(nb::inst_ptr<QueueWithOwner>(self)->owner.ptr());
    return 0;
}

// The collector finalizes all objects of a cycle before it clears one, and the stream's finalizer
// destroys the stream. Clearing releases memory, which asks every queue of the context. So from
// here on this is the default queue, also if a finalizer revives it. Without one, it stays.
void finalize(PyObject *self) noexcept {
    if (!nb::inst_ready(self))
        return;
    Queue &queue = *nb::inst_ptr<QueueWithOwner>(self);
    if (!queue.may_be_destroyed())
        return;
    try {
        queue = Queue::for_context(queue.context(), queue.device());
    } catch (const std::exception &) {
    }
}

PyType_Slot slots_with_owner[] = {{Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                                  {Py_tp_finalize, reinterpret_cast<void *>(finalize)},
                                  {}};

// `with` returns the caller's object if that is a dpctl queue.
nb::object enter_with_owner(nb::handle self) {
    const auto &queue = *nb::inst_ptr<QueueWithOwner>(self);
    registry::push_current(queue);
    return dpctl_queue(queue.owner.ptr()) ? queue.owner : nb::borrow(self);
}

nb::object device_context(nb::handle device) {
    Queue queue = queue_from(device.ptr());
    return nb::steal(dpctl_queue(device.ptr()) ? wrap_queue(std::move(queue), device.ptr())
                                               : wrap_queue(queue));
}

void bind_queue(nb::module_ &m) {
    nb::class_<Queue>(
        m, "Queue", nb::is_weak_referenceable(),
        "A queue of work for a device.\n\n"
        "Within ``with queue:``, it is the current queue: calls that name no device use\n"
        "it.\n\n"
        "Parameters\n"
        "----------\n"
        "device : object, optional\n"
        "    A Device, a selector or dpctl's SyclDevice, for a new in-order queue. The\n"
        "    default is the current device. Other objects are existing queues, which are\n"
        "    wrapped and may be out of order: dpctl's SyclQueue, a capsule\n"
        "    'SyclQueueRef', or an object with ``_get_capsule()``. Wrapping a capsule\n"
        "    consumes it. A CUDA stream, an object with ``__cuda_stream__()``, can also\n"
        "    be wrapped. The Queue holds a reference to it, which the garbage collector\n"
        "    does not see.\n"
        "context : Context, optional\n"
        "    The context of a new queue. The default is the device's\n"
        "    default context.\n"
        "profiling : bool, optional\n"
        "    True if the events of the new queue record times. The default is False.\n\n"
        "Raises\n"
        "------\n"
        "DeviceError\n"
        "    If the device cannot measure time, or no device matches the selector.\n"
        "ValueError\n"
        "    If the capsule is consumed, the selector is malformed, or the device is not\n"
        "    in the context.\n"
        "TypeError\n"
        "    If the object is not a queue or device, or an option is given for a queue\n"
        "    that is wrapped.\n\n"
        "Examples\n"
        "--------\n"
        ">>> queue = ep.Queue(\"host\")\n"
        ">>> with queue:\n"
        "...     array = ep.zeros(3, \"int32\")\n"
        ">>> array.queue == queue\n"
        "True")
        .def(
            "__init__",
            [](Queue *self, nb::handle device, nb::handle context, bool profiling) {
                new (self) Queue(make_queue(device, context, profiling));
            },
            "device"_a = nb::none(), nb::kw_only(), "context"_a = nb::none(), "profiling"_a = false)
        .def("__repr__",
             [](const Queue &self) {
                 return std::string("<entrepot.Queue on ") + self.device().selector() +
                        (self.is_in_order() ? ", in order" : ", out of order") +
                        (self.is_profiling() ? ", profiling>" : ">");
             })
        .def(
            "__eq__",
            [](const Queue &self, nb::handle other) {
                const Queue queue = known_queue(other.ptr());
                return equals(bool(queue), queue == self);
            },
            nb::arg().none(), nb::sig("def __eq__(self, arg: object, /) -> bool"))
        .def("__hash__", [](const Queue &self) { return std::hash<Queue>{}(self); })
        .def("__enter__",
             [](const Queue &self) {
                 registry::push_current(self);
                 return self;
             })
        .def(
            "__exit__", [](const Queue &self, nb::args) { registry::pop_current(self); },
            nb::sig("def __exit__(self, exc_type: object, exc_value: object, traceback: object, /) "
                    "-> None"))
        .def("wait", &wait,
             "Block until all work of the queue is done.\n\n"
             "Raises\n"
             "------\n"
             "DeviceError\n"
             "    If earlier work failed, or while the queue is being captured into a graph.\n\n"
             "Examples\n"
             "--------\n"
             ">>> queue = ep.Queue(\"host\")\n"
             ">>> array = ep.full(3, 7, \"int32\", queue=queue)\n"
             ">>> queue.wait()\n"
             ">>> queue.is_idle\n"
             "True")
        .def("record", &record, nb::sig("def record(self) -> Event"),
             "Record an Event that is done when all work that the queue holds now is done.\n\n"
             "Returns\n"
             "-------\n"
             "Event\n"
             "    The event, to wait for on the host or in another queue.\n\n"
             "Raises\n"
             "------\n"
             "DeviceError\n"
             "    If the driver cannot record an event. Also in a process that was forked from\n"
             "    one that used the device.\n\n"
             "Examples\n"
             "--------\n"
             ">>> queue = ep.Queue(\"host\")\n"
             ">>> array = ep.full(3, 7, \"int32\", queue=queue)\n"
             ">>> event = queue.record()\n"
             ">>> event.wait()\n"
             ">>> event.done\n"
             "True")
        .def_prop_ro(
            "device", [](const Queue &self) { return self.device(); },
            "The device that runs the work.")
        .def_prop_ro(
            "context", [](const Queue &self) { return self.context(); },
            "The context of the memory that the work uses.")
        .def_prop_ro(
            "sycl_device", [](const Queue &self) { return self.device(); },
            "The device, as ``device``.")
        .def_prop_ro(
            "sycl_context", [](const Queue &self) { return self.context(); },
            "The context, as ``context``.")
        .def(
            "get_sycl_device", [](const Queue &self) { return self.device(); },
            "The device, as ``device``.\n\n"
            "Returns\n"
            "-------\n"
            "Device\n"
            "    The device that runs the work.\n\n"
            "Examples\n"
            "--------\n"
            ">>> ep.Queue(\"host\").get_sycl_device()\n"
            "Device('host')")
        .def(
            "get_sycl_context", [](const Queue &self) { return self.context(); },
            "The context, as ``context``.\n\n"
            "Returns\n"
            "-------\n"
            "Context\n"
            "    The context of the memory that the work uses.\n\n"
            "Examples\n"
            "--------\n"
            ">>> queue = ep.Queue(\"host\")\n"
            ">>> queue.get_sycl_context() == queue.context\n"
            "True")
        .def_prop_ro(
            "backend", [](const Queue &self) { return self.device().info().backend; },
            "The device's backend, such as 'opencl' or 'host'.")
        .def_prop_ro(
            "is_idle", [](const Queue &self) { return self.is_idle(); },
            "True if all work is done; does not block.\n\n"
            "Raises DeviceError while the queue is being captured into a graph.")
        .def_prop_ro(
            "is_captured", [](const Queue &self) { return self.capture() != 0; },
            "True if the stream is being captured into a graph.\n\n"
            "Work that is submitted during the capture runs when the graph is launched.")
        .def_prop_ro("is_in_order", &Queue::is_in_order,
                     "True if work runs in the order of submission.")
        .def_prop_ro("has_enable_profiling", &Queue::is_profiling,
                     "True if the queue's events record times.")
        .def(
            "_get_capsule",
            [](const Queue &self) { return make_capsule(self, "the queue", "SyclQueueRef"); },
            nb::sig("def _get_capsule(self) -> object"),
            "A new capsule 'SyclQueueRef' of the sycl::queue, for one consumer.\n\n"
            "Raises DeviceError for queues of other backends.")
        .def(
            "addressof_ref",
            [](const Queue &self) {
                return reinterpret_cast<std::uintptr_t>(sycl_native(self, "the queue"));
            },
            "Address of the sycl::queue, valid while this queue exists.\n\n"
            "Returns\n"
            "-------\n"
            "int\n"
            "    The address.\n\n"
            "Raises\n"
            "------\n"
            "DeviceError\n"
            "    If the queue belongs to a backend other than SYCL.\n\n"
            "Examples\n"
            "--------\n"
            ">>> queue = ep.Queue(\"opencl:cpu\")  # doctest: +SKIP\n"
            ">>> address = queue.addressof_ref()  # doctest: +SKIP")
        .def("__cuda_stream__", &cuda_stream,
             nb::sig("def __cuda_stream__(self) -> tuple[int, int]"),
             "The version of the protocol, 0, and the CUstream, which is valid while this queue "
             "exists.\n\n"
             "Raises DeviceError for queues of other backends.");
    nb::setattr(nb::type<Queue>(), "wait_for", method_of(nb::type<Queue>(), wait_for_method));
    nb::class_<QueueWithOwner, Queue>(m, "_QueueWithOwner", nb::type_slots(slots_with_owner))
        .def("__enter__", &enter_with_owner);
}

// --------------------------------------------------------------- programs

// SPIR-V and binaries are passed as bytes; source text as str or bytes.
std::string_view source_from(nb::handle source) {
    char *bytes = nullptr;
    Py_ssize_t length = 0;
    if (PyBytes_Check(source.ptr()) && PyBytes_AsStringAndSize(source.ptr(), &bytes, &length) == 0)
        return {bytes, static_cast<std::size_t>(length)};
    if (!PyUnicode_Check(source.ptr()))
        throw Error(ErrorKind::type, "source: a str or bytes was expected, not a ",
                    Py_TYPE(source.ptr())->tp_name);
    const char *const text = PyUnicode_AsUTF8AndSize(source.ptr(), &length);
    if (!text)
        throw PythonError{};
    return {text, static_cast<std::size_t>(length)};
}

Program make_program(nb::handle source, nb::handle device,
                     const std::optional<std::string> &dialect, const std::string &options,
                     nb::handle context) {
    const Device where = device.is_none() ? registry::current_device() : device_from(device.ptr());
    const Context in = context.is_none() ? Context() : context_from(context.ptr());
    const std::string_view text = source_from(source);
    const std::optional<ep_dialect> spoken =
        dialect ? std::optional(dialect_from(*dialect)) : std::nullopt;
    return Program(text, where, spoken, options, in);  // releases the GIL
}

nb::object argument_count(const Kernel &kernel) {
    return kernel.info().argument_count < 0 ? nb::none() : nb::cast(kernel.info().argument_count);
}

void bind_program(nb::module_ &m) {
    nb::class_<Program>(
        m, "Program", nb::is_weak_referenceable(),
        "A program that was built for a device.\n\n"
        "Parameters\n"
        "----------\n"
        "source : str or bytes\n"
        "    The source text. SPIR-V and binaries are bytes.\n"
        "device : Device or str, optional\n"
        "    The device to build for. The default is the current device.\n"
        "dialect : str, optional\n"
        "    'opencl-c', 'sycl', 'spirv', 'cuda', 'ptx', 'cubin', 'hip', 'hsaco' or 'c++'\n"
        "    (for the host). The default is the first dialect that the device can build.\n"
        "options : str, optional\n"
        "    Options of the compiler. The default is ''.\n"
        "context : Context, optional\n"
        "    The context of the queues that will run the kernels. The default is the\n"
        "    device's default context.\n\n"
        "Raises\n"
        "------\n"
        "KernelError\n"
        "    If the source does not build. The message has the build log.\n"
        "DeviceError\n"
        "    If the device cannot build the dialect, or no device matches the selector.\n"
        "ValueError\n"
        "    If ``dialect`` is not one of the names, or the selector is malformed.\n"
        "TypeError\n"
        "    If ``source`` is neither str nor bytes.\n\n"
        "Examples\n"
        "--------\n"
        ">>> source = '''\n"
        "... extern \"C\" void twice(const long long *range, void *const *arguments) {\n"
        "...     for (long long i = range[10]; i < range[11]; ++i)\n"
        "...         static_cast<double *>(arguments[0])[i] *= 2;\n"
        "... }'''\n"
        ">>> program = ep.Program(source, \"host\")\n"
        ">>> numbers = ep.full(3, 21, \"float64\", device=\"host\")\n"
        ">>> program.kernel(\"twice\")[3](numbers).wait()\n"
        ">>> numbers.numpy()\n"
        "array([42., 42., 42.])")
        .def(
            "__init__",
            [](Program *self, nb::handle source, nb::handle device,
               const std::optional<std::string> &dialect, const std::string &options,
               nb::handle context) {
                new (self) Program(make_program(source, device, dialect, options, context));
            },
            "source"_a.none(), "device"_a = nb::none(), nb::kw_only(), "dialect"_a = nb::none(),
            "options"_a = "", "context"_a = nb::none())
        .def("__repr__",
             [](const Program &self) {
                 return std::string("<entrepot.Program in ") + name_of(self.dialect()) + " for " +
                        self.device().selector() + ">";
             })
        .def(
            "kernel",
            [](const Program &self, const std::string &name) {
                return without_gil([&] { return self.kernel(name); });
            },
            "name"_a,
            "The kernel with that name.\n\n"
            "Parameters\n"
            "----------\n"
            "name : str\n"
            "    The name of the function in the source. In CUDA C++ it is the C++ name, and\n"
            "    may be that of a template instance.\n\n"
            "Returns\n"
            "-------\n"
            "Kernel\n"
            "    The kernel. It keeps the program alive.\n\n"
            "Raises\n"
            "------\n"
            "KernelError\n"
            "    If the program has no such kernel.\n\n"
            "Examples\n"
            "--------\n"
            ">>> source = '''\n"
            "... extern \"C\" void clear(const long long *range, void *const *arguments) {\n"
            "...     for (long long i = range[10]; i < range[11]; ++i)\n"
            "...         static_cast<int *>(arguments[0])[i] = 0;\n"
            "... }'''\n"
            ">>> ep.Program(source, \"host\").kernel(\"clear\")\n"
            "<entrepot.Kernel 'clear' for host>")
        .def_prop_ro("log", &Program::log, "The compiler's output.")
        .def_prop_ro(
            "device", [](const Program &self) { return self.device(); },
            "The device that the program was built for.")
        .def_prop_ro(
            "context", [](const Program &self) { return self.context(); },
            "The context that the program was built in.")
        .def_prop_ro(
            "dialect", [](const Program &self) { return name_of(self.dialect()); },
            "The dialect of the source.");
}

void bind_kernel(nb::module_ &m) {
    nb::class_<Kernel>(
        m, "Kernel", nb::is_weak_referenceable(),
        "A kernel of a program. It keeps the program alive.\n\n"
        "``kernel[global, local](…)`` launches it on ``global`` work-items, in\n"
        "work-groups of ``local`` work-items. Each is an int or a tuple of 1 to 3 ints.\n"
        "Without ``local`` the device chooses. The call returns an Event.\n\n"
        "Examples\n"
        "--------\n"
        ">>> source = '''\n"
        "... extern \"C\" void count(const long long *range, void *const *arguments) {\n"
        "...     for (long long i = range[10]; i < range[11]; ++i)\n"
        "...         static_cast<int *>(arguments[0])[i] = i;\n"
        "... }'''\n"
        ">>> kernel = ep.Program(source, \"host\").kernel(\"count\")\n"
        ">>> numbers = ep.zeros(5, \"int32\", device=\"host\")\n"
        ">>> kernel[5](numbers).wait()\n"
        ">>> numbers.numpy()\n"
        "array([0, 1, 2, 3, 4], dtype=int32)")
        .def("__repr__",
             [](const Kernel &self) {
                 return "<entrepot.Kernel '" + self.name() + "' for " +
                        self.program().device().selector() + ">";
             })
        .def_prop_ro("name", &Kernel::name, "The kernel's name in the source.")
        .def_prop_ro(
            "program", [](const Kernel &self) { return self.program(); },
            "The program that contains the kernel.")
        .def_prop_ro("num_arguments", &argument_count,
                     nb::sig("def num_arguments(self) -> int | None"),
                     "Number of arguments; None if unknown.")
        .def_prop_ro(
            "work_group_size", [](const Kernel &self) { return self.info().max_work_group; },
            "Largest number of work-items in a work-group.")
        .def_prop_ro(
            "preferred_work_group_size_multiple",
            [](const Kernel &self) { return self.info().preferred_multiple; },
            "Work-group sizes that are multiples of this number run best; 0 if unknown.")
        .def_prop_ro(
            "local_mem_size", [](const Kernel &self) { return self.info().local_memory; },
            "Local memory that the kernel itself declares, in bytes.")
        .def_prop_ro(
            "private_mem_size", [](const Kernel &self) { return self.info().private_memory; },
            "Private memory of a work-item, in bytes; 0 if unknown.")
        .def_prop_ro(
            "num_registers", [](const Kernel &self) { return self.info().registers; },
            "Registers of a work-item; 0 if unknown.");
}

// -------------------------------------------------------------- functions

nb::object shown_reports() {
    nb::list rows;
    for (const BackendReport &row : without_gil([] { return registry::report(); }))
        rows.append(nb::make_tuple(row.name, row.present, row.reason));
    return rows;
}

Device find_device(nb::handle selector) {
    return selector.is_none() ? registry::current_device() : device_from(selector.ptr());
}

void bind_functions(nb::module_ &m) {
    m.def("_in_device_context", &registry::is_in_device_context,
          "True inside a device_context of this thread.");
    m.def("get_num_threads", &num_threads,
          "How many threads a launch, copy or fill on the host may use.\n\n"
          "Returns\n"
          "-------\n"
          "int\n"
          "    The limit for the process. At first it is the number of processors that the\n"
          "    process may use.\n\n"
          "Examples\n"
          "--------\n"
          ">>> from entrepot import kernel as ek\n"
          ">>> ek.get_num_threads() >= 1\n"
          "True");
    m.def(
        "set_num_threads",
        [](std::int64_t count) {
            // Counts that are out of range remain so.
            set_num_threads(static_cast<unsigned>(std::clamp<std::int64_t>(count, 0, INT_MAX)));
        },
        "count"_a,
        "Sets how many threads a launch, copy or fill on the host may use.\n\n"
        "The limit holds for the whole process, and for work that begins afterwards.\n\n"
        "Parameters\n"
        "----------\n"
        "count : int\n"
        "    1 to the number of processors that the process may use.\n\n"
        "Raises\n"
        "------\n"
        "ValueError\n"
        "    If ``count`` is outside of this range.\n\n"
        "Examples\n"
        "--------\n"
        ">>> from entrepot import kernel as ek\n"
        ">>> before = ek.get_num_threads()\n"
        ">>> ek.set_num_threads(1)\n"
        ">>> ek.get_num_threads()\n"
        "1\n"
        ">>> ek.set_num_threads(before)");
    m.def(
        "devices", [] { return without_gil([] { return registry::devices(); }); },
        "All root devices of all available backends, the host last.\n\n"
        "The first call loads every backend.\n\n"
        "Returns\n"
        "-------\n"
        "list of Device\n"
        "    The devices. The host is always present.\n\n"
        "Examples\n"
        "--------\n"
        ">>> ep.devices()[-1]\n"
        "Device('host')");
    m.def("device", &find_device, "selector"_a = nb::none(),
          "The device that a selector names.\n\n"
          "Parameters\n"
          "----------\n"
          "selector : str or Device, optional\n"
          "    'opencl:cpu:0', 'gpu', 'level_zero', '0', 'cuda:0', 'hip:1', 'host',\n"
          "    'default', or 'opencl:cpu:0/1' for a sub-device. If several devices match,\n"
          "    the one with the highest score is chosen, then the one with the lowest\n"
          "    number. A Device and dpctl's SyclDevice are also accepted. The default is\n"
          "    the current device.\n\n"
          "Returns\n"
          "-------\n"
          "Device\n"
          "    The device.\n\n"
          "Raises\n"
          "------\n"
          "ValueError\n"
          "    If the selector is malformed.\n"
          "DeviceError\n"
          "    If no device matches. The message lists the available devices, and why other\n"
          "    backends are absent.\n"
          "TypeError\n"
          "    If the argument is neither a selector nor a device.\n\n"
          "Examples\n"
          "--------\n"
          ">>> ep.device(\"host\")\n"
          "Device('host')\n"
          ">>> with ep.device_context(\"host\"):\n"
          "...     ep.device()\n"
          "Device('host')");
    m.def("device_context", &device_context, "device"_a,
          nb::sig("def device_context(device: object) -> Queue"),
          "A queue for a ``with`` statement, which makes it current.\n\n"
          "``with device_context('gpu') as queue:`` makes the queue current in this thread,\n"
          "so that calls that name no device use it.\n\n"
          "Parameters\n"
          "----------\n"
          "device : object\n"
          "    A device or selector, for its default queue, or a queue.\n\n"
          "Returns\n"
          "-------\n"
          "Queue\n"
          "    The queue. For a dpctl.SyclQueue, ``as`` binds that same object.\n\n"
          "Raises\n"
          "------\n"
          "DeviceError\n"
          "    If there is no such device.\n"
          "ValueError\n"
          "    If the selector is malformed.\n"
          "TypeError\n"
          "    If the object is neither a device nor a queue.\n\n"
          "Examples\n"
          "--------\n"
          ">>> with ep.device_context(\"host\") as queue:\n"
          "...     array = ep.zeros(3, \"int32\")\n"
          ">>> array.queue == queue\n"
          "True");
    m.def("backends", &shown_reports, nb::sig("def backends() -> list[tuple[str, bool, str]]"),
          "All backends that this version knows.\n\n"
          "A row is the backend's name, True if it is available, and what was loaded or why it is\n"
          "absent.");
}

void tell_where_runtimes_lie() {
    for (nb::handle directory :
         nb::module_::import_("entrepot._runtime").attr("library_directories")())
        registry::add_library_directory(nb::cast<std::string>(directory));
}

}  // namespace

PyObject *wrap_queue(Queue queue, PyObject *owner) {
    return nb::cast(QueueWithOwner(std::move(queue), nb::borrow(owner))).release().ptr();
}

void init_device(nb::module_ &m) {
    bind_device(m);
    bind_context(m);
    if (!init_event_type(m.ptr()))
        nb::raise_python_error();
    bind_queue(m);
    bind_program(m);
    bind_kernel(m);
    bind_functions(m);
    tell_where_runtimes_lie();
}

}  // namespace entrepot::python

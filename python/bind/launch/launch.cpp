// kernel[global, local](…): launches from Python.
#include "../array/create.hpp"
#include "../array/scalar.hpp"
#include "../array_object/array_object.hpp"
#include "../core/dtype.hpp"
#include "../device/convert.hpp"
#include "../device/device.hpp"
#include "../device/event.hpp"
#include "../exchange/routes.hpp"
#include "../init.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/nb_cast.hpp"
#include "../support/parameters.hpp"
#include "launcher.hpp"
#include "recorded_calls.hpp"

#include <entrepot/array/graph.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace nb = nanobind;

namespace entrepot::python {
namespace {

PyTypeObject *launcher_type = nullptr;

ep_range range_from(nb::handle global, nb::handle local) {
    const std::vector<std::int64_t> items = extents_from(global.ptr());
    const std::vector<std::int64_t> group =
        local.is_none() ? std::vector<std::int64_t>(items.size(), 0) : extents_from(local.ptr());
    if (items.empty() || items.size() > 3)
        throw Error(ErrorKind::value, "launch: a range has 1 to 3 dimensions, not ", items.size());
    if (group.size() != items.size())
        throw Error(ErrorKind::value, "launch: the global range ", tuple_text(items), " has ",
                    items.size(), " dimensions and the local range ", tuple_text(group), " has ",
                    group.size());
    ep_range range{static_cast<std::uint32_t>(items.size()), {1, 1, 1}, {1, 1, 1}};
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i] < 0 || group[i] < 0)
            throw Error(ErrorKind::value, "launch: the ranges ", tuple_text(items), " and ",
                        tuple_text(group), " have a negative extent");
        range.global[i] = static_cast<std::uint64_t>(items[i]);
        range.local[i] = static_cast<std::uint64_t>(group[i]);
    }
    if (local.is_none())
        range.local[0] = range.local[1] = range.local[2] = 0;
    return range;
}

// kernel[global] with an int, or kernel[global, local], each an int or a tuple. Python passes
// kernel[(2, 3)] as kernel[2, 3].
ep_range range_of_index(nb::handle index) {
    if (!PyTuple_Check(index.ptr()))
        return range_from(index, nb::none());
    if (PyTuple_GET_SIZE(index.ptr()) != 2)
        throw Error(
            ErrorKind::type,
            "launch: kernel[global, local] was expected, each an int or a tuple and local perhaps "
            "None, not ",
            PyTuple_GET_SIZE(index.ptr()),
            " entries; several dimensions without a local range are kernel[(2, 3, 4), None]");
    return range_from(PyTuple_GET_ITEM(index.ptr(), 0), PyTuple_GET_ITEM(index.ptr(), 1));
}

[[noreturn]] void refuse_call(const Kernel &kernel, const nb::args &, const nb::kwargs &) {
    throw Error(ErrorKind::type, "launch: the kernel ", kernel.name(),
                " was called without a range, which says how many work-items there are: "
                "kernel[global, local](arguments…)");
}

// The arguments of one launch, and their owners until it is submitted. A few need no allocation.
class Arguments {
public:
    explicit Arguments(std::span<PyObject *const> objects) : all_(objects.size()) {
        for (PyObject *const object : objects)
            add(object);
    }
    ~Arguments() {
        for (Py_buffer &view : structs_)
            PyBuffer_Release(&view);
    }
    Arguments(const Arguments &) = delete;
    Arguments &operator=(const Arguments &) = delete;

    const LaunchArguments &all() const noexcept { return all_; }

    // True if any argument is_watched().
    bool any_watched() const noexcept { return is_watched_; }

    // Compute follows data: the queue of the first array on a device; empty
    // if there is no such array.
    Queue queue() const {
        for (const ArrayUse &use : all_.uses())
            if (!use.array->device().backend().is_host())
                return use.array->queue();
        return {};
    }

private:
    void add(PyObject *argument) {
        if (is_array(argument))
            all_.add(array_of(argument));
        else if (const std::optional<TypedScalar> number = typed_scalar_from(argument))
            all_.add(number->scalar);
        else if (const auto *const local = try_cast<LocalMemory>(argument))
            all_.add(*local);
        else if (is_ctypes(argument))
            add_bytes(argument);
        else
            add_imported(argument);
    }

    // True for ctypes instances, which are passed by value, as in C.
    static bool is_ctypes(PyObject *argument) {
        // Not a static initializer: an import can release the GIL to a thread
        // that waits for the static.
        static std::atomic<PyObject *> base{nullptr};
        if (!base.load(std::memory_order_acquire)) [[unlikely]]
            base = nb::object(nb::module_::import_("_ctypes").attr("_SimpleCData").attr("__base__"))
                       .release()
                       .ptr();
        return PyObject_TypeCheck(
            argument, reinterpret_cast<PyTypeObject *>(base.load(std::memory_order_acquire)));
    }

    void add_bytes(PyObject *argument) {
        Py_buffer view;
        if (PyObject_GetBuffer(argument, &view, PyBUF_SIMPLE) < 0)
            throw PythonError{};
        structs_.push_back(view);
        all_.add(std::span(static_cast<const std::byte *>(view.buf),
                           static_cast<std::size_t>(view.len)));
    }

    void add_imported(PyObject *argument) {
        if (PyLong_Check(argument) || PyFloat_Check(argument) || PyComplex_Check(argument))
            throw Error(ErrorKind::type, "launch: argument ", all_.given().size(), " is a Python ",
                        Py_TYPE(argument)->tp_name,
                        ", which does not say its type: give entrepot.Scalar(value, dtype), a "
                        "NumPy scalar or a ctypes instance");
        imported_.push_back(std::make_unique<Array>(import_operand(argument)));
        is_watched_ |= is_watched(*imported_.back());
        all_.add(*imported_.back());
    }

    LaunchArguments all_;
    std::vector<std::unique_ptr<Array>> imported_;
    std::vector<Py_buffer> structs_;
    bool is_watched_ = false;
};

Queue launch_queue(const Kernel &kernel, const Arguments &arguments, PyObject *queue) {
    if (queue)
        return queue_from(queue);
    if (Queue of_data = arguments.queue())
        return of_data;
    const Queue &current = registry::current_queue();
    return current.device() == kernel.program().device()
               ? current
               : kernel.program().device().default_queue();
}

// nullopt for an ordinary launch, whose groups do not cooperate.
std::optional<ep_cooperation> cooperation_from(const ep_range &range, bool cooperative,
                                               PyObject *cluster) {
    if (!cooperative && !cluster)
        return std::nullopt;
    ep_cooperation cooperation{cooperative, {}};
    if (!cluster)
        return cooperation;
    const std::vector<std::int64_t> groups = extents_from(cluster);
    if (groups.size() != range.ndim ||
        std::ranges::any_of(groups, [](std::int64_t extent) { return extent < 1; }))
        throw Error(ErrorKind::value,
                    "launch: a cluster has 1 or more groups in each of the range's ", range.ndim,
                    " dimensions, not ", tuple_text(groups));
    std::ranges::copy(groups, cooperation.cluster);
    return cooperation;
}

const Parameters of_call("launch", 0, 0, {"queue", "cooperative", "cluster"});

// Adds a launch to the recording of this thread.
Event record(Recording &recording, PyObject *launcher, const Queue &queue,
             const Arguments &arguments, std::span<PyObject *const> given,
             const ep_cooperation *cooperation, std::span<const RecordedCalls::Keyword> keywords) {
    const Kernel &kernel = *nb::inst_ptr<Kernel>(launcher_of(launcher).kernel);
    if (arguments.any_watched())
        throw Error(ErrorKind::device, "launch of ", kernel.name(), watched_in_a_recording);
    const std::size_t before = recording.size();
    launch(kernel, queue, launcher_of(launcher).range, arguments.all(), cooperation);
    RecordedCalls::add(recording, before, launcher, given, keywords);
    return Event::recorded(queue.backend());
}

[[gnu::hot]] Event submit(PyObject *self, std::span<PyObject *const> given, PyObject *kwnames) {
    const Launcher &launcher = launcher_of(self);
    const auto [queue, cooperative, cluster] =
        of_call.read(given.data() + given.size(), 0, kwnames);
    const Kernel &kernel = *nb::inst_ptr<Kernel>(launcher.kernel);
    const Arguments arguments(given);
    const Queue where = launch_queue(kernel, arguments, unless_none(queue));
    const std::optional<ep_cooperation> cooperation =
        cooperation_from(launcher.range, is_true(cooperative), unless_none(cluster));
    if (Recording *const recording = Recording::of_this_thread()) [[unlikely]] {
        const RecordedCalls::Keyword keywords[] = {{"cooperative", cooperative},
                                                   {"cluster", cluster}};
        return record(*recording, self, where, arguments, given,
                      cooperation ? &*cooperation : nullptr, keywords);
    }
    const ReleaseGil released;  // on the host, the kernel may run synchronously
    launch(kernel, where, launcher.range, arguments.all(), cooperation ? &*cooperation : nullptr);
    Event event = where.lazy_event();
    if (arguments.any_watched() && where.capture() == 0) [[unlikely]]
        event.wait();
    return event;
}

[[gnu::hot]] PyObject *call(PyObject *self, PyObject *const *args, std::size_t nargsf,
                            PyObject *kwnames) {
    return guarded([&] {
        const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(nargsf));
        return wrap_event(submit(self, {args, count}, kwnames));
    });
}

nb::object launcher_for(nb::handle_t<Kernel> kernel, nb::handle index) {
    if (!nb::inst_ready(kernel))
        throw Error(ErrorKind::type,
                    "launch: this Kernel was never made: Program.kernel makes them");
    return nb::steal(new_launcher(launcher_type, call, kernel.ptr(), range_of_index(index)));
}

constexpr const char *launcher_doc =
    "A kernel with its nd-range. Calling it with the kernel's arguments submits the\n"
    "kernel.\n\n"
    "The call waits if an argument is not an Array and the host can access its\n"
    "memory, such as a NumPy array.\n\n"
    "Parameters\n"
    "----------\n"
    "*args : object\n"
    "    The kernel's arguments: Arrays, other objects that asarray accepts,\n"
    "    LocalMemory, and scalars that state their type (Scalar, NumPy's, ctypes').\n"
    "queue : Queue, optional\n"
    "    The queue to use. The default is the queue of the first array on a device\n"
    "    (compute follows data). Without such an array it is the current queue, or\n"
    "    else the default queue of the kernel's device.\n"
    "cooperative : bool, optional\n"
    "    True if all groups run at once and may wait for each other. The default is\n"
    "    False. The host runs up to 256 groups at once, and SYCL devices run 1.\n"
    "cluster : int or tuple of int, optional\n"
    "    The number of groups in a cluster, an int or a tuple like the range. The\n"
    "    groups of a cluster share their local memory (CUDA).\n\n"
    "Returns\n"
    "-------\n"
    "Event\n"
    "    Done when the kernel has run.\n\n"
    "Raises\n"
    "------\n"
    "KernelError\n"
    "    If the range or the arguments contradict the kernel.\n"
    "TypeError\n"
    "    If a scalar has no type.\n"
    "ValueError\n"
    "    If ``cluster`` is not one positive number for each dimension of the range.\n"
    "DeviceError\n"
    "    If the device does not support the keywords.\n\n"
    "Examples\n"
    "--------\n"
    ">>> source = '''\n"
    "... extern \"C\" void add(const long long *range, void *const *arguments) {\n"
    "...     for (long long i = range[10]; i < range[11]; ++i)\n"
    "...         static_cast<int *>(arguments[0])[i] += *static_cast<int *>(arguments[1]);\n"
    "... }'''\n"
    ">>> add = ep.Program(source, \"host\").kernel(\"add\")\n"
    ">>> numbers = np.arange(4, dtype=\"int32\")\n"
    ">>> ten = np.int32(10)\n"
    ">>> event = add[4](numbers, ten)  # already done: the call waits for NumPy arrays\n"
    ">>> numbers\n"
    "array([10, 11, 12, 13], dtype=int32)";

std::size_t local_bytes(nb::handle shape, nb::handle dtype) {
    const std::vector<std::int64_t> extents = extents_from(shape.ptr());
    return static_cast<std::size_t>(Layout(extents).nbytes(dtype_from(dtype.ptr()).itemsize()));
}

}  // namespace

void init_launch(nb::module_ &m) {
    using namespace nb::literals;
    nb::class_<LocalMemory>(
        m, "LocalMemory",
        "A kernel argument: memory that a work-group shares, whose size is set at launch.\n\n"
        "Parameters\n"
        "----------\n"
        "shape : int or tuple of int\n"
        "    Each work-group gets memory for ``shape`` elements of ``dtype``. A bare int\n"
        "    without ``dtype`` is a number of bytes.\n"
        "dtype : dtype_like, optional\n"
        "    The type of an element. The default is 'uint8'.\n\n"
        "Raises\n"
        "------\n"
        "ValueError\n"
        "    If the shape is negative.\n"
        "OverflowError\n"
        "    If the number of bytes is too large for an integer of 64 bits.\n"
        "TypeError\n"
        "    If the shape is not made of ints, or ``dtype`` is unknown.\n\n"
        "Examples\n"
        "--------\n"
        ">>> ep.LocalMemory((4, 8), \"float32\").nbytes\n"
        "128\n"
        ">>> ep.LocalMemory(256).nbytes\n"
        "256")
        .def(
            "__init__",
            [](LocalMemory *self, nb::handle shape, nb::handle dtype) {
                new (self) LocalMemory{local_bytes(shape, dtype)};
            },
            "shape"_a, "dtype"_a = "uint8",
            "Each work-group gets memory for ``shape`` elements of ``dtype``.\n\n"
            "A bare int without ``dtype`` is a number of bytes.")
        .def_prop_ro(
            "nbytes", [](const LocalMemory &self) { return self.bytes; },
            "Bytes for each work-group.");
    launcher_type = add_launcher_type(m.ptr(), "entrepot._core.Launcher", launcher_doc);
    if (!launcher_type)
        nb::raise_python_error();
    nb::setattr(
        nb::type<Kernel>(), "__getitem__",
        nb::cpp_function(
            &launcher_for, nb::name("__getitem__"), nb::scope(nb::type<Kernel>()), nb::is_method(),
            "range"_a, nb::sig("def __getitem__(self, range: object) -> Launcher"),
            "The kernel with a range: kernel[global, local].\n\n"
            "``global`` is the number of work-items and ``local`` the number of work-items in\n"
            "a work-group. Each is an int or a tuple of 1 to 3 ints, of which the last\n"
            "dimension is the fastest. Without ``local`` the device chooses. kernel[n] means\n"
            "kernel[n, None]."));
    nb::setattr(
        nb::type<Kernel>(), "__call__",
        nb::cpp_function(
            &refuse_call, nb::name("__call__"), nb::scope(nb::type<Kernel>()), nb::is_method(),
            nb::sig("def __call__(self, *args: object, **kwargs: object) -> NoReturn"),
            "Raises TypeError: a kernel is launched with its range, kernel[global, local](…)."));
}

}  // namespace entrepot::python

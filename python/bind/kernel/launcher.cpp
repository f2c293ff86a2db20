// kernel[global, local](…): launches of compiled Python functions. The fast path looks up nothing
// but the code.
#include "kernel.hpp"

#include "../device/convert.hpp"
#include "../device/event.hpp"
#include "../launch/launcher.hpp"
#include "../launch/recorded_calls.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/parameters.hpp"
#include "ranges.hpp"

#include <kernel/runtime/launch.hpp>
#include <memory/release.hpp>

namespace entrepot::python {
namespace {

PyTypeObject *launcher_type = nullptr;

// ------------------------------------------------------------------------ calls

const Parameters of_call("launch", 0, 0, {"queue", "depends_on", "wait"});

// Throws: TypeError if a name is one of the kernel's parameters, because its arguments are
//   positional.
void refuse_named_argument(const kernel::syntax::Function &function, PyObject *kwnames) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); ++i)
        for (const kernel::syntax::Parameter &parameter : function.parameters)
            if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i),
                                                 parameter.name.c_str()) == 0)
                throw Error(
                    ErrorKind::type, "kernel '", function.name, "' was given '", parameter.name,
                    "' by name, and takes its arguments by their places: write ", function.name,
                    "[…](", &parameter == &function.parameters.front() ? "" : "…, ", parameter.name,
                    "); by name a launch takes queue, depends_on and wait");
}

decltype(of_call)::Values options_from(const kernel::syntax::Function &function,
                                       PyObject *const *values, PyObject *kwnames) {
    try {
        return of_call.read(values, 0, kwnames);
    } catch (const Error &) {
        refuse_named_argument(function, kwnames);
        throw;
    }
}

void wait_for_events(const Queue &queue, PyObject *events) {
    if (!PyList_Check(events) && !PyTuple_Check(events)) {
        const Event event = event_from(events);
        return queue.wait_for(event);
    }
    const Reference items = items_of(events);
    for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items.get()); ++i) {
        const Event event = event_from(PyTuple_GET_ITEM(items.get(), i));
        queue.wait_for(event);
    }
}

const Interned defaults_name = "__defaults__";

// The given arguments, then the default values of the parameters that are not given.
//
// Lifetime: owns references to the default values, and borrows the other arguments.
class Completed {
public:
    Completed(std::span<PyObject *const> given, std::size_t wanted, PyObject *function)
        : all_(given) {
        if (given.size() < wanted && function) [[unlikely]]
            add_defaults(wanted, function);
    }
    std::span<PyObject *const> all() const noexcept { return all_; }

private:
    [[gnu::noinline]] void add_defaults(std::size_t wanted, PyObject *function) {
        defaults_ = checked(PyObject_GetAttr(function, defaults_name));
        const std::span<PyObject *const> defaults =
            defaults_.get() == Py_None
                ? std::span<PyObject *const>()
                : std::span(&PyTuple_GET_ITEM(defaults_.get(), 0),
                            static_cast<std::size_t>(PyTuple_GET_SIZE(defaults_.get())));
        const std::size_t missing = wanted - all_.size();
        if (missing > defaults.size())
            return;  // reported with the number of arguments
        completed_.assign(all_.begin(), all_.end());
        completed_.insert(completed_.end(), defaults.end() - missing, defaults.end());
        all_ = completed_;
    }

    std::span<PyObject *const> all_;
    std::vector<PyObject *> completed_;
    Reference defaults_;
};

// Throws: DeviceError if the launch waits for the kernel or copies arguments, so it cannot be
//   recorded.
void require_recordable(const kernel::syntax::Function &function,
                        const kernel::Specialization &made, const CallArguments &arguments,
                        PyObject *wait) {
    if (unless_none(wait) && is_true(wait))
        throw Error(ErrorKind::device, "launch of '", function.name,
                    "' with wait=True while this thread records it into a graph, where it does not "
                    "run: wait for the event that replay() returns");
    if (arguments.is_watched())
        throw Error(ErrorKind::device, "launch of '", function.name, "'", watched_in_a_recording);
    if (made.reports)
        throw Error(ErrorKind::device, "launch of '", function.name,
                    "' with checked indices, which waits for the kernel to report: record it "
                    "without debug checks");
}

// Submits a launch. Without `wait`, waits only if the caller may access an argument's memory
// without synchronizing through Entrepot.
[[gnu::hot]] Event submit(PyObject *self, std::span<PyObject *const> given, PyObject *kwnames) {
    const Launcher &launcher = launcher_of(self);
    Recording *const recording = Recording::of_this_thread();
    auto *const kernel = reinterpret_cast<PythonKernel *>(launcher.kernel);
    const VersionPtr version = current_version(kernel);
    const auto [queue_given, depends_on, wait] =
        options_from(*version->code->function(), given.data() + given.size(), kwnames);
    const Completed completed(given, version->code->function()->parameters.size(),
                              kernel->function);
    CallArguments arguments(completed.all(), *version->code->function(), kernel->signatures);
    kernel::Specializations &code = version->code->of(arguments.structs());
    const kernel::syntax::Function &function = *code.function();
    arguments.name_by(function);
    const bool follows_data = unless_none(queue_given) == nullptr;
    const Queue queue = follows_data ? arguments.queue() : queue_from(queue_given);
    arguments.allocate_copies(queue);
    if (unless_none(depends_on))
        recording ? require_recorded_events(depends_on) : wait_for_events(queue, depends_on);
    kernel::PlanCache &plans = code.plans();
    // Its arrays are on one device.
    kernel::PlanCache::Lease plan = plans.find(queue, launcher.range, arguments.all());
    if (!plan && follows_data)
        arguments.require_one_context();
    const kernel::Specialization &made =
        plan ? plan->made()
             : specialization_for(*version, code, arguments.with_aliases(), launcher.range, queue);
    if (recording) [[unlikely]] {
        require_recordable(function, made, arguments, wait);
        const std::size_t before = recording->size();
        kernel::launch(made, function, queue, launcher.range, arguments.all());
        RecordedCalls::add(*recording, before, self, given);
        return Event::recorded(queue.backend());
    }
    const bool waits = unless_none(wait) ? is_true(wait) : arguments.is_watched();
    const ReleaseGil released;  // the host may run the kernel at once
    arguments.copy_to_device(made.compiled, queue);
    if (plan) {
        plan->launch(queue, arguments.all());
        plan.release();
    } else {
        kernel::launch(made, function, queue, launcher.range, arguments.all(), &plans);
    }
    arguments.copy_back(made.compiled, queue);
    if (!waits)
        return queue.lazy_event();
    queue.wait_at(queue.position());
    release_finished();
    return {};
}

[[gnu::hot]] PyObject *call(PyObject *self, PyObject *const *args, std::size_t nargsf,
                            PyObject *kwnames) {
    return guarded([&] {
        const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(nargsf));
        return wrap_event(submit(self, {args, count}, kwnames));
    });
}

constexpr const char *type_doc =
    "A kernel with its range. Calling it with the kernel's arguments submits the kernel.\n\n"
    "Parameters\n"
    "----------\n"
    "*arguments : array_like, scalar or LocalAccessor\n"
    "    The arguments of the kernel: Arrays, other objects that asarray accepts, numbers\n"
    "    and LocalAccessors.\n"
    "queue : Queue, optional\n"
    "    The queue to use. The default is the queue of the arrays (compute follows data).\n"
    "depends_on : Event or sequence of Event, optional\n"
    "    The events that the kernel waits for.\n"
    "wait : bool, optional\n"
    "    True if the call waits for the kernel. By default, it waits if an argument is not an\n"
    "    Array and the host can access its memory, such as a NumPy array.\n\n"
    "Returns\n"
    "-------\n"
    "Event\n"
    "    Done when the kernel is.\n\n"
    "Raises\n"
    "------\n"
    "KernelError\n"
    "    If the kernel, its range or its arguments are not supported.\n"
    "TypeError\n"
    "    If an argument has another type.\n"
    "ValueError\n"
    "    If an extent of the range is negative.\n"
    "IndexError\n"
    "    If indices are checked and one is out of bounds.\n"
    "ExchangeError\n"
    "    If the memory of an argument cannot be viewed.\n\n"
    "Examples\n"
    "--------\n"
    ">>> from entrepot import kernel as ek\n"
    ">>> @ek.kernel\n"
    "... def double(numbers):\n"
    "...     numbers[ek.get_global_id(0)] *= 2\n"
    ">>> numbers = ep.full(4, 3, \"int32\", device=\"host\")\n"
    ">>> double[4](numbers).wait()\n"
    ">>> numbers.numpy().tolist()\n"
    "[6, 6, 6, 6]";

}  // namespace

PyObject *launcher_for(PyObject *kernel, PyObject *index) {
    ENTREPOT_ASSERT(PyObject_TypeCheck(kernel, python_kernel_type));
    return new_launcher(launcher_type, call, kernel, range_of(index));
}

bool init_launcher_type(PyObject *module) {
    launcher_type = add_launcher_type(module, "entrepot._core.KernelLauncher", type_doc);
    return launcher_type != nullptr;
}

}  // namespace entrepot::python

// kernel[global, local](…): launches of compiled Python functions. On the way to one nothing is looked up but the code.
#include "kernel.hpp"

#include "../bound.hpp"
#include "../convert.hpp"
#include "../free_list.hpp"
#include "../gil.hpp"
#include "../guarded.hpp"
#include "../parameters.hpp"
#include "ranges.hpp"

#include <entrepot/kernel/runtime/launch.hpp>
#include <entrepot/memory/release.hpp>

#include <structmember.h>

namespace entrepot::python {
namespace {

PyTypeObject *launcher_type = nullptr;
FreeList free_list;  // of launchers

struct Launcher {
    PyObject_HEAD vectorcallfunc called;
    PyObject *kernel;
    ep_range range;
};

Launcher *launcher_of(PyObject *self) { return reinterpret_cast<Launcher *>(self); }

int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(launcher_of(self)->kernel);
    return 0;
}

int clear(PyObject *self) {
    Py_CLEAR(launcher_of(self)->kernel);
    return 0;
}

void dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_XDECREF(launcher_of(self)->kernel);
    PyTypeObject *const type = Py_TYPE(self);
    if (!free_list.give(self))
        PyObject_GC_Del(self);
    Py_DECREF(type);
}

// ------------------------------------------------------------------------ calls

const Parameters of_call("launch", 0, 0, {"queue", "depends_on", "wait"});

// Throws where one of the names is the kernel's: its arguments are told by their places.
void refuse_named_argument(const kernel::syntax::Function &function, PyObject *kwnames) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); ++i)
        for (const kernel::syntax::Parameter &parameter : function.parameters)
            if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), parameter.name.c_str()) == 0)
                throw Error(ErrorKind::type, "kernel '", function.name, "' was given '", parameter.name,
                            "' by name, and takes its arguments by their places: write ", function.name, "[…](",
                            &parameter == &function.parameters.front() ? "" : "…, ", parameter.name,
                            "); by name a launch takes queue, depends_on and wait");
}

decltype(of_call)::Values options_from(const kernel::syntax::Function &function, PyObject *const *values, PyObject *kwnames) {
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
        return without_gil([&] { queue.wait_for(event); });
    }
    const Reference items = items_of(events);
    for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items.get()); ++i) {
        const Event event = event_from(PyTuple_GET_ITEM(items.get(), i));
        without_gil([&] { queue.wait_for(event); });
    }
}

// Waits if it is to: where the caller says nothing, after work on memory that he may look at behind our back.
Event submit(Launcher *launcher, std::span<PyObject *const> given, PyObject *kwnames) {
    auto *const kernel = reinterpret_cast<PythonKernel *>(launcher->kernel);
    const VersionPtr version = current_version(kernel);
    const kernel::syntax::Function &function = *version->code->function();
    const auto [queue_given, depends_on, wait] = options_from(function, given.data() + given.size(), kwnames);
    CallArguments arguments(given, function, kernel->signatures);
    const Queue queue = unless_none(queue_given) ? queue_from(queue_given) : arguments.queue();
    arguments.bring_to(queue);
    const kernel::Specialisation &made = specialisation_for(*version, arguments.all(), launcher->range, queue);
    if (unless_none(depends_on))
        wait_for_events(queue, depends_on);
    const bool waits = unless_none(wait) ? is_true(wait) : arguments.is_watched();
    const ReleaseGil released;  // on the host, the kernel may run at once
    kernel::launch(made, function, queue, launcher->range, arguments.all());
    arguments.bring_back(made.compiled, queue);
    if (!waits)
        return queue.promise();
    queue.wait_at(queue.position());
    release_finished();
    return {};
}

PyObject *call(PyObject *self, PyObject *const *args, std::size_t nargsf, PyObject *kwnames) {
    return guarded([&] {
        const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(nargsf));
        return moved_into_object(submit(launcher_of(self), {args, count}, kwnames));
    });
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Launcher, called), READONLY, nullptr},
    {},
};

constexpr const char *type_doc =
    "A kernel with its range: call it with the kernel's arguments, and it is submitted; the call returns its Event.\n\n"
    "Arguments are Arrays or anything that asarray takes, numbers, and LocalAccessor. ``queue=``; without it that of the\n"
    "arrays: compute follows data. ``depends_on=`` an Event, or several. ``wait=``; without it the call waits where an\n"
    "argument is memory that the host can look at and that is no Array, such as NumPy's.\n\n"
    "Raises KernelError where the kernel, its range or its arguments are refused, TypeError for other arguments than it takes.";

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char *>(type_doc)},
    {Py_tp_dealloc, reinterpret_cast<void *>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_members, members},
    {},
};

PyType_Spec spec = {"entrepot._core.KernelLauncher", sizeof(Launcher), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE |
                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

}  // namespace

PyObject *launcher_for(PyObject *kernel, PyObject *index) {
    const ep_range range = range_of(index);
    PyObject *self = free_list.take();
    if (self) [[likely]]
        PyObject_Init(self, launcher_type);
    else if (!(self = reinterpret_cast<PyObject *>(PyObject_GC_New(Launcher, launcher_type))))
        throw PythonError{};
    Launcher *const launcher = launcher_of(self);
    launcher->called = call;
    launcher->kernel = Py_NewRef(kernel);
    launcher->range = range;
    PyObject_GC_Track(self);
    return self;
}

bool init_launcher_type(PyObject *module) {
    launcher_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    return launcher_type && PyModule_AddObjectRef(module, "KernelLauncher", reinterpret_cast<PyObject *>(launcher_type)) == 0;
}

}  // namespace entrepot::python

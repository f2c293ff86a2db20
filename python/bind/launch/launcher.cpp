#include "launcher.hpp"

#include "../support/errors.hpp"
#include "../support/free_list.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"

#include <structmember.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace entrepot::python {
namespace {

ObjectFreeList free_list;  // for all launcher types, whose objects have the same layout

Launcher &mutable_launcher_of(PyObject *self) noexcept {
    return *reinterpret_cast<Launcher *>(self);
}

// No tp_clear, as for tuples: every cycle through a launcher passes through its kernel, which has
// one. So a launcher stays usable while the collector clears its cycle.
int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(launcher_of(self).kernel);
    return 0;
}

void dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_XDECREF(launcher_of(self).kernel);
    PyTypeObject *const type = Py_TYPE(self);
    if (!free_list.put(self))
        PyObject_GC_Del(self);
    Py_DECREF(type);
}

std::string extents(const std::uint64_t *items, std::uint32_t count) {
    std::string text;
    for (std::uint32_t i = 0; i < count; ++i)
        text += (i > 0 ? ", " : "") + std::to_string(items[i]);
    return count > 1 ? "(" + text + ")" : text;
}

// <kernel>[global, local], as it is written.
PyObject *repr(PyObject *self) {
    return guarded([&]() -> PyObject * {
        const Launcher &launcher = launcher_of(self);
        const ep_range &range = launcher.range;
        std::string index = extents(range.global, range.ndim);
        if (range.local[0] != 0)
            index += ", " + extents(range.local, range.ndim);
        return PyUnicode_FromFormat("%R[%s]", launcher.kernel, index.c_str());
    });
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Launcher, called), READONLY, nullptr},
    {},
};

}  // namespace

PyTypeObject *add_launcher_type(PyObject *module, const char *name, const char *doc) {
    PyType_Slot slots[] = {
        {Py_tp_doc, const_cast<char *>(doc)},
        {Py_tp_dealloc, reinterpret_cast<void *>(dealloc)},
        {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
        {Py_tp_repr, reinterpret_cast<void *>(repr)},
        {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
        {Py_tp_members, members},
        {},
    };
    PyType_Spec spec = {name, sizeof(Launcher), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                            Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        slots};
    auto *const type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    return type && PyModule_AddType(module, type) == 0 ? type : nullptr;
}

PyObject *new_launcher(PyTypeObject *type, vectorcallfunc called, PyObject *kernel,
                       const ep_range &range) {
    ENTREPOT_ASSERT(holds_gil());
    ENTREPOT_ASSERT(range.ndim >= 1 && range.ndim <= 3);
    PyObject *self = free_list.take();
    if (self) [[likely]]
        PyObject_Init(self, type);
    else if (!(self = reinterpret_cast<PyObject *>(PyObject_GC_New(Launcher, type))))
        throw PythonError{};
    Launcher &launcher = mutable_launcher_of(self);
    launcher.called = called;
    launcher.kernel = Py_NewRef(kernel);
    launcher.range = range;
    PyObject_GC_Track(self);
    return self;
}

}  // namespace entrepot::python
